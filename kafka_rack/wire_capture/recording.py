"""What a recorder has told in its file so far, as a reader will know it: the source of the file's checkpoints."""

from __future__ import annotations

from contextlib import suppress

from kafka_rack.wire_capture import frames
from kafka_rack.wire_capture.checkpoints import MAX_INLINE_BYTES, UNREADABLE, Checkpoint, checkpoint_line, nowhere, take
from kafka_rack.wire_capture.frames import CapturedConnection, Frame, ObservedCluster, ReadingState
from kafka_rack.wire_capture.json_fields import LATEST
from kafka_rack.wire_capture.learning import learn_from
from kafka_rack.wire_capture.lines import DECODER, event

CHECKPOINT_BYTES = 4 << 20
"""From one checkpoint of a file to the next, at least."""
CHECKPOINT_SHARE = 64
"""A checkpoint is followed by so many times its own bytes, at least, before there is another."""


class Recording:
    """Reads along while a file is written. ``offset`` is that of the line that comes next."""

    __slots__ = ("offset", "_after", "_due", "_state", "_t_max", "_t_min")

    def __init__(self) -> None:
        self._state = ReadingState()
        self.offset = self._after = 0
        self._due = CHECKPOINT_BYTES
        self._t_min, self._t_max = LATEST, 0

    def event(self, line: bytes) -> None:
        """A line without a frame is written."""
        with suppress(*UNREADABLE):  # by a reader neither
            self._state.check(self.offset, [], "")
            found = DECODER.decode(line)
            event(found, self._state, self.offset)
            if found.conn is not None:
                self._pass(found.t)
        self.offset += len(line)

    def frame(self, ts: int, number: int, is_request: bool, data: bytes, line_bytes: int) -> Frame:
        """A frame of a connection is written, in a line of so many bytes; gives it, joined to its request."""
        state = self._state
        state.check(self.offset, [], "")
        connection = state.connections.get(number)
        if connection is None:
            connection = state.connections[number] = CapturedConnection(number)
        frame = state.frame(ts, connection, is_request, data, self.offset)
        learn_from(frame, state.known)
        self._pass(ts)
        asked = frame.asked
        if is_request and asked is not None and len(data) > MAX_INLINE_BYTES:
            asked.data = data[: MAX_INLINE_BYTES + 1]  # of what a checkpoint leaves out no more is wanted
        self.offset += line_bytes
        return frame

    def checkpoint(self, ts: int) -> bytes | None:
        """The line that comes next, if it is time for a checkpoint."""
        return self.repeat(ts) if self.is_due() else None

    def is_due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return self.offset >= self._due

    def repeat(self, ts: int) -> bytes:
        """The line that comes next, as a checkpoint."""
        line = checkpoint_line(self._state, ts, min(self._t_min, self._t_max), self._t_max, self._after)
        self._t_min, self._t_max, self._after = LATEST, 0, self.offset
        self._state.checked = self.offset // frames.CHECK_BYTES
        self.offset += len(line)
        self._due = self.offset + max(CHECKPOINT_BYTES, CHECKPOINT_SHARE * len(line))
        return line

    def go_on_from(self, checkpoint: Checkpoint) -> None:
        """Know what a checkpoint tells: its requests stand in this file, or in it with all their bytes."""
        take(checkpoint, self._state, ObservedCluster(), nowhere)

    def _pass(self, ts: int) -> None:
        self._t_min = min(self._t_min, ts)
        self._t_max = max(self._t_max, ts)
