"""The messages of a capture in Arrow's format: read in order, and found from any place of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import pyarrow as pa

from kafka_rack.wire_capture.arrow_messages import (
    END_OF_STREAM,
    MARK_BYTES,
    MAX_BODY_BYTES,
    MAX_METADATA_BYTES,
    PREFIX_BYTES,
    Mark,
    id_in,
    mark_at,
    mark_in,
    metadata_bytes,
)
from kafka_rack.wire_capture.arrow_rows import SCHEMA
from kafka_rack.wire_capture.checkpoints import BACK_BYTES, ENCODER, Checkpoint, LinesAt, RequestLine, checkpoint_of
from kafka_rack.wire_capture.files import DamagedCapture, DecompressedFile

SEARCH_BYTES = 1 << 20
"""Of a file that are looked at together for marks."""


class NoMessage(Exception):
    """No whole message with rows begins at ``offset``. ``at_end``: since the file ends within it."""

    def __init__(self, offset: int, reason: str, *, at_end: bool = False) -> None:
        super().__init__(offset, reason, at_end)
        self.offset, self.reason, self.at_end = offset, reason, at_end


class RowMessage(NamedTuple):
    """A message with rows; ``content`` is all of it."""

    mark: Mark
    content: bytes

    @property
    def end(self) -> int:
        return self.mark.offset + len(self.content)

    def batch(self) -> pa.RecordBatch:
        """Its rows. Raises ValueError: what it holds is not what a capture has."""
        try:
            message = pa.ipc.read_message(pa.py_buffer(self.content))
            batch = pa.ipc.read_record_batch(message, SCHEMA)
            batch.validate(full=True)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(str(error).splitlines()[0] if str(error) else type(error).__name__) from None
        if batch.num_rows != self.mark.rows:
            raise ValueError(f"expected {self.mark.rows} rows, got {batch.num_rows}")
        return batch


def read_head(source: DecompressedFile) -> str:
    """Read a file's first message; gives its id. Raises NoMessage, DamagedCapture."""
    prefix = source.read(PREFIX_BYTES)
    size = metadata_bytes(prefix)
    if size is None:
        raise NoMessage(0, f"expected a message of Arrow's stream, got {prefix.hex() or 'nothing'}")
    head = source.read(size)
    file_id = id_in(head)
    if len(head) < size or file_id is None:
        raise NoMessage(0, "expected the schema of a capture", at_end=len(head) < size)
    return file_id


def file_id_of(path: str) -> str | None:
    """The id of a plain file; None if it cannot be read."""
    try:
        with DecompressedFile(path) as source:
            return read_head(source)
    except (DamagedCapture, NoMessage):
        return None


def has_checkpoints(path: str) -> bool:
    """Whether a plain file is a capture: each of this form has checkpoints."""
    return file_id_of(path) is not None


def first_bytes(path: str) -> bytes:
    """What tells a file from another: its id; nothing where it has none yet."""
    return (file_id_of(path) or "").encode()


def read_message(source: DecompressedFile, file_id: str) -> RowMessage | None:
    """The message that begins where a file stands, None at its end. Raises NoMessage, DamagedCapture."""
    begins = source.position
    prefix = source.read(PREFIX_BYTES)
    if not prefix:
        return None
    size = metadata_bytes(prefix)
    if size is None:
        if prefix == END_OF_STREAM and not source.peek(1):
            return None
        reason = f"expected a message of Arrow's stream, got {prefix.hex()}"
        raise NoMessage(begins, reason, at_end=len(prefix) < PREFIX_BYTES)
    metadata = source.read(size)
    if len(metadata) < size:
        raise NoMessage(begins, "the file ends within a message of Arrow's stream", at_end=True)
    mark = mark_in(metadata, file_id)
    if mark is None or mark.offset != begins:
        raise NoMessage(begins, "a message of Arrow's stream that is none of this capture's rows")
    if mark.body_bytes > MAX_BODY_BYTES:
        raise NoMessage(begins, f"rows of {mark.body_bytes} bytes, but at most {MAX_BODY_BYTES} are read together")
    body = source.read(mark.body_bytes)
    if len(body) < mark.body_bytes:
        raise NoMessage(begins, "the file ends within a message of Arrow's stream", at_end=True)
    return RowMessage(mark, prefix + metadata + body)


def marks_in(path: str, file_id: str, start: int, end: int | None) -> Iterator[Mark]:
    """The marks of a plain file's messages that begin at ``start`` or later and before ``end``, if any, in order.

    Raises DamagedCapture.
    """
    text, base, held = file_id.encode(), start, b""
    with DecompressedFile(path, start) as source:
        while end is None or base < end + MAX_METADATA_BYTES:
            found = source.read(SEARCH_BYTES)
            held += found
            at = held.find(text)
            while at >= 0:
                mark = mark_at(held, at, file_id)
                if mark is not None and 0 < base + at - mark.offset < MAX_METADATA_BYTES and mark.offset >= start:
                    if end is not None and mark.offset >= end:
                        return
                    yield mark
                at = held.find(text, at + 1)
            if not found:
                return
            keep = min(len(held), MARK_BYTES - 1)
            base, held = base + len(held) - keep, held[len(held) - keep :]


def message_at(path: str, mark: Mark) -> RowMessage | None:
    """The message of a mark; None if it is not whole."""
    try:
        with DecompressedFile(path, mark.offset) as source:
            return read_message(source, mark.file_id)
    except (DamagedCapture, NoMessage):
        return None


def checkpoint_in(message: RowMessage | None) -> Checkpoint | None:
    """The checkpoint that a message begins with."""
    if message is None or not message.mark.is_checkpoint:
        return None
    try:
        line = message.batch().column("line")[0].as_py()
    except (ValueError, IndexError):
        return None
    return checkpoint_of(line) if line is not None else None


def next_checkpoint(path: str, start: int, end: int) -> tuple[int, Checkpoint] | None:
    """The first checkpoint that begins at ``start`` or later and before ``end``, with its offset; None if none does."""
    file_id = file_id_of(path)
    try:
        for mark in marks_in(path, file_id, start, end) if file_id is not None else ():
            checkpoint = checkpoint_in(message_at(path, mark)) if mark.is_checkpoint else None
            if checkpoint is not None:
                return mark.offset, checkpoint
    except DamagedCapture:
        return None
    return None


def last_checkpoint(path: str, before: int) -> int | None:
    """Where the last checkpoint begins before an offset; None if there is none."""
    for mark in marks_back(path, before):
        if mark.is_checkpoint and checkpoint_in(message_at(path, mark)) is not None:
            return mark.offset
    return None


def marks_back(path: str, before: int) -> Iterator[Mark]:
    """The marks of the messages that begin before an offset, the last one first."""
    file_id = file_id_of(path)
    edges = [before]
    while edges[-1] > 0:
        edges.append(max(0, edges[-1] - (BACK_BYTES << len(edges))))
    if file_id is not None:
        for end, start in pairwise(edges):
            try:
                found = list(marks_in(path, file_id, start, end))
            except DamagedCapture:
                found = []
            yield from reversed(found)


def whole_bytes(path: str, size: int) -> int:
    """Up to where a file of a size holds whole messages."""
    for mark in marks_back(path, size):
        message = message_at(path, mark)
        if message is not None and message.end <= size:
            return message.end
    return 0


def requests_in(path: str) -> LinesAt:
    """Reads requests that stand at some positions, as lines; those that cannot be read are left out."""

    def lines_at(positions: Iterable[int]) -> Mapping[int, bytes]:
        found: dict[int, bytes] = {}
        message: RowMessage | None = None
        for position in sorted(positions):
            if message is None or not message.mark.offset <= position < message.end:
                mark = next(marks_back(path, position + 1), None)
                message = message_at(path, mark) if mark is not None else None
            line = request_of(message, position)
            if line is not None:
                found[position] = ENCODER.encode(line)
        return found

    return lines_at


def request_of(message: RowMessage | None, position: int) -> RequestLine | None:
    """The request at a position in a message; None if there is none."""
    if message is None or position - message.mark.offset >= message.mark.rows:
        return None
    try:
        row = message.batch().slice(position - message.mark.offset, 1)
    except ValueError:
        return None
    values = [row.column(name)[0] for name in ("ts", "connection", "data")]
    ts, connection, data = (value.value if value.type == SCHEMA.field("ts").type else value.as_py() for value in values)
    return RequestLine(ts, connection, data) if None not in (ts, connection, data) else None
