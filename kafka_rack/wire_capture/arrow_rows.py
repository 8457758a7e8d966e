"""Captures as Arrow: what columns their rows have, and rows to messages, as a recorder writes them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kafka_rack.wire_capture.arrow_messages import (
    FORMAT,
    FORMAT_KEY,
    ID_KEY,
    MARK_KEY,
    Mark,
    id_text,
)

COLUMNS = (
    ("ts", pa.timestamp("us", tz="UTC")),
    ("connection", pa.int64()),
    ("is_request", pa.bool_()),
    ("data", pa.large_binary()),
    ("api_key", pa.int16()),
    ("api_version", pa.int16()),
    ("line", pa.large_binary()),
)
"""A row is a frame, of which only API and version may be null, or has a ``line``: what a file of lines has there."""
SCHEMA = pa.schema(COLUMNS)
BATCH_BYTES = 1 << 20
"""Of rows that go into a message of their own, about."""
ROW_BYTES = 36
"""What a row takes beside its frame or its line."""


class MessageBytes:
    """What Arrow writes, as it comes."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._size += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Nothing is held open."""

    def taken(self) -> bytes:
        """What was written since this was asked before."""
        found = b"".join(self._pieces)
        self._pieces.clear()
        return found


class RowBatches:
    """Rows to the messages of one file. ``offset`` is where in it the next message begins.

    Args:
        file_id: 32 hexadecimal digits, which no other file has.
    """

    def __init__(self, file_id: str) -> None:
        self._file_id, self._sink = file_id, MessageBytes()
        metadata = {FORMAT_KEY: str(FORMAT), ID_KEY: id_text(file_id)}
        self._schema = SCHEMA.with_metadata(metadata)
        self._stream = pa.ipc.new_stream(pa.PythonFile(self._sink, "w"), self._schema)
        self._first: bytes = self._schema.serialize().to_pybytes()
        self._unread_bytes = len(self._first)  # Arrow writes the schema with the first rows
        self.offset = len(self._first)
        self._begin()

    def _begin(self) -> None:
        self._columns: tuple[list[Any], ...] = tuple([] for _ in COLUMNS)
        self.rows = self.bytes = 0
        self._is_checkpoint = False

    @property
    def position(self) -> int:
        """Where the next row stands: where its message begins and its number in it together."""
        return self.offset + self.rows

    def first(self) -> bytes:
        """The message that a file begins with."""
        return self._first

    def frame(
        self, ts: int, number: int, is_request: bool, data: bytes, api_key: int | None, api_version: int | None
    ) -> None:
        self._add(ts, number, is_request, data, api_key, api_version, None)
        self.bytes += len(data) + ROW_BYTES

    def line(self, ts: int | None, number: int | None, line: bytes, *, is_checkpoint: bool = False) -> None:
        """What is no frame, as a line without its end. A checkpoint is the first row of its message."""
        self._add(ts, number, None, None, None, None, line)
        self.bytes += len(line) + ROW_BYTES
        self._is_checkpoint |= is_checkpoint

    def _add(self, *values: Any) -> None:
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)
        self.rows += 1

    def message(self) -> bytes:
        """The message of all rows since the last."""
        arrays = [pa.array(values, kind) for values, (_, kind) in zip(self._columns, COLUMNS, strict=True)]
        batch = pa.record_batch(arrays, schema=self._schema)
        body_bytes = pa.ipc.read_message(batch.serialize()).body.size
        mark = Mark(self._file_id, self.offset, self.rows, body_bytes, self._is_checkpoint)
        self._stream.write_batch(batch, custom_metadata={MARK_KEY: mark.text})
        message = self._sink.taken()[self._unread_bytes :]
        self._unread_bytes = 0
        self.offset += len(message)
        self._begin()
        return message
