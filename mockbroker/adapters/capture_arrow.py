"""A capture as Arrow: a row a frame, in messages of what came within a twentieth of a second, or of a megabyte.

What is no frame stands in a row as the line that :mod:`.capture` writes of it. ``fixtures/captures/README.md`` has the
form; :mod:`kafka_rack.wire_capture.arrow_recording` makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from kafka_rack.wire_capture.arrow_messages import mark_in
from kafka_rack.wire_capture.arrow_recording import ArrowRecording
from mockbroker.adapters.capture_lines import EventLines

if TYPE_CHECKING:
    from mockbroker.adapters.capture import Tap, UnansweredRequests


class ArrowForm(EventLines):
    """Turns what is noted into messages of Arrow's stream."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._file_id = uuid4().hex
        self._recording = ArrowRecording(self._file_id)

    def file_start(self, told: Sequence[dict[str, Any]], conversations: Sequence[UnansweredRequests]) -> list[bytes]:
        """The head of a file, and the connections that are open with the requests that wait for their answers."""
        self._begin()
        return [self._recording.first(), *self.head_events(told, conversations), *self.flush()]

    def event(self, line: bytes) -> list[bytes]:
        return self._recording.event(line.removesuffix(b"\n"))

    def frame(self, at_us: int, tap: Tap, is_request: bool, data: bytes) -> list[bytes]:
        """A frame passes."""
        return self._recording.frame(at_us, tap.number, is_request, data)

    def checkpoint(self, at_us: int) -> list[bytes]:
        """What the file has told so far, if it is time to repeat it."""
        return self._recording.checkpoint(at_us)

    def flush(self) -> list[bytes]:
        """The message of all rows that are held."""
        return self._recording.flush()

    def lines_in(self, piece: bytes) -> int:
        """How many rows a message has."""
        mark = mark_in(piece, self._file_id)
        return mark.rows if mark is not None else 0
