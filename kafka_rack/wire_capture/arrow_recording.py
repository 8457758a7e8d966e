"""A capture in Arrow's format as it is written: frames and events to messages, checkpoints among them."""

from __future__ import annotations

from kafka_rack.wire_capture.arrow_rows import BATCH_BYTES, RowBatches
from kafka_rack.wire_capture.checkpoints import UNREADABLE, Checkpoint
from kafka_rack.wire_capture.lines import DECODER
from kafka_rack.wire_capture.recording import Recording


class ArrowRecording:
    """One file. Methods give the messages that are complete, of about ``batch_bytes`` each.

    Args:
        file_id: 32 hexadecimal digits, which no other file has.
    """

    def __init__(self, file_id: str, *, batch_bytes: int = BATCH_BYTES) -> None:
        self._rows, self._recording = RowBatches(file_id), Recording()
        self._batch_bytes = batch_bytes

    def first(self) -> bytes:
        """The message that the file begins with."""
        return self._rows.first()

    def event(self, line: bytes) -> list[bytes]:
        """A line that is no frame, without its end."""
        self._recording.offset = self._rows.position
        self._recording.event(line)
        try:
            found = DECODER.decode(line)
            self._rows.line(found.t or None, found.conn, line)
        except UNREADABLE:
            self._rows.line(None, None, line)
        return self._full()

    def frame(self, ts: int, number: int, is_request: bool, data: bytes) -> list[bytes]:
        """A frame of a connection; its API and version are noted as far as the file tells them."""
        self._recording.offset = self._rows.position
        asked = self._recording.frame(ts, number, is_request, data, 0).asked
        api_key, api_version = (asked.kind.api_key, asked.kind.api_version) if asked is not None else (None, None)
        self._rows.frame(ts, number, is_request, data, api_key, api_version)
        return self._full()

    def checkpoint(self, ts: int) -> list[bytes]:
        """What the file has told so far, if it is time to repeat it: the first row of the next message."""
        self._recording.offset = self._rows.position
        if not self._recording.is_due():
            return []
        complete = self.flush()
        self._add_checkpoint(ts)
        return complete

    @property
    def position(self) -> int:
        """Where the next row stands."""
        return self._rows.position

    def go_on_from(self, checkpoint: Checkpoint) -> list[bytes]:
        """A checkpoint stands here, whatever was told before; see :meth:`.recording.Recording.go_on_from`."""
        complete = self.flush()
        self._recording.go_on_from(checkpoint)
        self._add_checkpoint(checkpoint.t)
        return complete

    def _add_checkpoint(self, ts: int) -> None:
        self._recording.offset = self._rows.position
        line = self._recording.repeat(ts)
        self._rows.line(ts, None, line.removesuffix(b"\n"), is_checkpoint=True)

    def _full(self) -> list[bytes]:
        return self.flush() if self._rows.bytes >= self._batch_bytes else []

    def flush(self) -> list[bytes]:
        """The message of all rows that are held, if there are any."""
        return [self._rows.message()] if self._rows.rows else []
