"""A capture's lines of JSON as Arrow, and back: the same frames and events, so the same rows of every table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import msgspec

from kafka_rack.wire_capture.arrow_files import RowMessage
from kafka_rack.wire_capture.arrow_frames import Messages, rows_of
from kafka_rack.wire_capture.arrow_recording import ArrowRecording
from kafka_rack.wire_capture.arrow_rows import BATCH_BYTES
from kafka_rack.wire_capture.checkpoints import (
    MAX_INLINE_BYTES,
    START,
    UNREADABLE,
    Checkpoint,
    LinesAt,
    WaitingRequest,
    checkpoint_of,
    lines_in,
    nowhere,
    request_line,
)
from kafka_rack.wire_capture.files import CaptureFile, DamagedCapture, DecompressedFile, capture_name, lines_of
from kafka_rack.wire_capture.frames import Problem
from kafka_rack.wire_capture.lines import DECODER, fault_of, texts
from kafka_rack.wire_capture.recording import Recording


class Converted:
    """What a conversion counts, and what of its input could not be read."""

    def __init__(self) -> None:
        self.frames = self.events = 0
        self.problems: list[Problem] = []


def to_arrow(file: CaptureFile, target: IO[bytes], file_id: str, *, batch_bytes: int = BATCH_BYTES) -> Converted:
    """Write a file of lines as Arrow.

    Lines that are neither frames nor checkpoints, also those that cannot be read, stand in the Arrow file as they are.
    The checkpoints of format 2 have new ones in their place. What is damaged in the file itself is a problem.

    Args:
        file_id: 32 hexadecimal digits, which no other file has.
    """
    counted, recording = Converted(), ArrowRecording(file_id, batch_bytes=batch_bytes)
    target.write(recording.first())
    large = RequestPositions(nowhere if file.compressed else lines_in(file.path))
    for offset, line in lines_with_offsets(file, counted.problems):
        for message in converted_line(recording, line, offset, large, counted):
            target.write(message)
    for message in recording.flush():
        target.write(message)
    return counted


def lines_with_offsets(file: CaptureFile, problems: list[Problem]) -> Iterator[tuple[int, bytes]]:
    """The lines of a file without their ends, each with where it begins."""
    name = capture_name(file.path)
    try:
        with DecompressedFile(file.path) as source:
            for begins, text in texts(source, None, name, problems):
                offset = begins
                for line in lines_of(text):
                    yield offset, line
                    offset += len(line) + 1
    except DamagedCapture as damage:
        problems.append(Problem(name, file.path, damage.offset, damage.reason))


class RequestPositions:
    """Requests that a checkpoint only points to: where the lines of the last of them stand in the Arrow file."""

    def __init__(self, lines_at: LinesAt) -> None:
        self._lines_at = lines_at
        self._positions: dict[int, int] = {}

    def stands(self, offset: int, position: int) -> None:
        self._positions[offset] = position

    def pointed_anew(self, checkpoint: Checkpoint) -> Checkpoint:
        """A checkpoint whose requests are pointed to in the Arrow file, or stand in it with all their bytes."""
        requests = [request for one in checkpoint.connections for request in one.waiting]
        far = {request.at for request in requests if request.at is not None}
        self._positions = {offset: position for offset, position in self._positions.items() if offset in far}
        lines = self._lines_at(far.difference(self._positions))
        for one in checkpoint.connections:
            anew = [self._anew(request, one.conn, lines.get(request.at or 0, b"")) for request in one.waiting]
            one.waiting = [request for request in anew if request is not None]
        return checkpoint

    def _anew(self, request: WaitingRequest, number: int, line: bytes) -> WaitingRequest | None:
        if request.at is None:
            return request
        if request.at in self._positions:
            return WaitingRequest(request.frame, at=self._positions[request.at])
        found = request_line(line)
        if found is None or found.data is None or found.conn != number:
            return None
        return WaitingRequest(request.frame, found.t, found.data)


def converted_line(
    recording: ArrowRecording, line: bytes, offset: int, large: RequestPositions, counted: Converted
) -> list[bytes]:
    """Put a line into the recording; gives the messages that are complete."""
    if line.startswith(START) and (checkpoint := checkpoint_of(line)) is not None:
        return recording.go_on_from(large.pointed_anew(checkpoint))
    try:
        found = DECODER.decode(line)
    except UNREADABLE:
        return recording.event(line) if line.strip() else []
    if found.dir is None or fault_of(found) is not None:
        counted.events += 1
        return recording.event(line)
    data, number = found.data, found.conn
    assert data is not None
    assert number is not None
    counted.frames += 1
    if len(data) > MAX_INLINE_BYTES:
        large.stands(offset, recording.position)
    return recording.frame(found.t, number, found.dir == "req", data) + recording.checkpoint(found.t)


def to_lines(
    file: CaptureFile,
    target: IO[bytes],
) -> Converted:
    """Write an Arrow file as lines of JSON. Checkpoints have new ones in their place, of what was told before."""
    counted, recording, name = Converted(), Recording(), capture_name(file.path)
    messages = Messages(file.path, name, counted.problems, 0, None, can_go_back=not file.compressed)
    for message in messages.each():
        for line, frame in lines_of_message(message, name, file.path, counted.problems):
            if line.startswith(START) and checkpoint_of(line) is not None:
                continue
            target.write(line)
            if frame is None:
                counted.events += 1
                recording.event(line)
                continue
            counted.frames += 1
            recording.frame(*frame, len(line))
            checkpoint = recording.checkpoint(frame[0])
            if checkpoint is not None:
                target.write(checkpoint)
    return counted


def lines_of_message(
    message: RowMessage, name: str, path: str, problems: list[Problem]
) -> Iterator[tuple[bytes, tuple[int, int, bool, bytes] | None]]:
    """The lines of a message with their ends, and the frames of those that have one."""
    rows = rows_of([message], name, path, problems)
    if rows is None:
        return
    columns = [rows.batch.column(one).to_pylist() for one in ("connection", "is_request", "data", "line")]
    for ts, number, is_request, data, line in zip(rows.times().to_pylist(), *columns, strict=True):
        if line is not None:
            yield line + b"\n", None
        else:
            direction = "req" if is_request else "resp"
            values = {"t": ts, "conn": number, "dir": direction, "n": len(data or b""), "data": data}
            yield msgspec.json.encode(values) + b"\n", (ts, number, bool(is_request), data or b"")
