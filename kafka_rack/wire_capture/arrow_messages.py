"""Captures as Arrow's stream of messages, as far as bytes go: where each begins, and how it says so. Without Arrow.

Each message with rows has a mark among its metadata: the file's id, where in the file the message begins, its rows, the
bytes of its body, and whether its first row is a checkpoint. So whoever looks at any part of a file finds the messages
in it, and takes none for one that only stands in a frame.
Source: https://arrow.apache.org/docs/format/Columnar.html#encapsulated-message-format
"""

from __future__ import annotations

import re
from typing import NamedTuple

CONTINUATION = b"\xff\xff\xff\xff"
"""With which each message begins, and so a file."""
PREFIX_BYTES = 8
"""The continuation and the length of the metadata behind it."""
END_OF_STREAM = CONTINUATION + bytes(4)
FORMAT_KEY, ID_KEY = "kafka-rack.format", "kafka-rack.id"
"""In the metadata of the schema."""
MARK_KEY = "kafka-rack"
"""In the metadata of each message with rows."""
FORMAT = 2
MAX_METADATA_BYTES = 1 << 16
"""Of a message; those of captures have less than 2 KiB."""
MAX_BODY_BYTES = 1 << 30
"""Of a message that is read."""
FILE_ID = re.compile(rb"kafka-rack-capture-([0-9a-f]{32})")


class Mark(NamedTuple):
    """What a message with rows says of itself.

    >>> mark = Mark("0" * 32, 288, 2, 72, is_checkpoint=True)
    >>> mark.text
    '00000000000000000000000000000000:0000000000000288:0000000002:0000000072:c'
    >>> mark_in(b"..." + mark.text.encode() + b"...", "0" * 32) == mark
    True
    """

    file_id: str
    offset: int
    rows: int
    body_bytes: int
    is_checkpoint: bool

    @property
    def text(self) -> str:
        kind = "c" if self.is_checkpoint else "r"
        return f"{self.file_id}:{self.offset:016d}:{self.rows:010d}:{self.body_bytes:010d}:{kind}"


MARK_REST = re.compile(rb":(\d{16}):(\d{10}):(\d{10}):([cr])")
MARK_BYTES = len(Mark("0" * 32, 0, 0, 0, is_checkpoint=False).text)


def mark_at(data: bytes, at: int, file_id: str) -> Mark | None:
    """The mark of which the id stands at a place."""
    found = MARK_REST.match(data, at + len(file_id))
    if found is None:
        return None
    offset, rows, body_bytes, kind = found.groups()
    return Mark(file_id, int(offset), int(rows), int(body_bytes), is_checkpoint=kind == b"c")


def mark_in(metadata: bytes, file_id: str) -> Mark | None:
    """The mark in a message's metadata; None if there is none."""
    at = metadata.find(file_id.encode())
    return mark_at(metadata, at, file_id) if at >= 0 else None


def metadata_bytes(prefix: bytes) -> int | None:
    """The length of the metadata behind a message's first bytes; None if no message begins so."""
    if len(prefix) < PREFIX_BYTES or not prefix.startswith(CONTINUATION):
        return None
    found = int.from_bytes(prefix[4:8], "little")
    return found if 0 < found <= MAX_METADATA_BYTES and found % 8 == 0 else None


def id_text(file_id: str) -> str:
    """What the schema's metadata have as the file's id.

    >>> id_in(b"..." + id_text("0" * 32).encode() + b"...") == "0" * 32
    True
    """
    return f"kafka-rack-capture-{file_id}"


def id_in(schema: bytes) -> str | None:
    """The file's id in its first message's metadata; None if that is of no capture."""
    found = FILE_ID.search(schema)
    return found[1].decode() if found is not None else None
