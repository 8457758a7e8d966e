"""The two forms of a recorder's file, lines of JSON and Arrow: what reading and planning ask of either."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

from kafka_rack.storage import location
from kafka_rack.wire_capture import checkpoints
from kafka_rack.wire_capture.checkpoints import Checkpoint
from kafka_rack.wire_capture.files import Kind
from kafka_rack.wire_capture.frames import Frame
from kafka_rack.wire_capture.lines import read_lines

TAIL_BYTES = 1 << 16


class RecordedForm(NamedTuple):
    """What is asked of a file by its path, which is not compressed where there are offsets.

    ``read`` is :func:`.lines.read_lines` or what is like it. ``has_checkpoints``: whether the file says so.
    ``next_checkpoint``: the first from an offset on and before another; ``last_checkpoint``: where the last begins
    before one. ``whole_bytes``: of a file of a size, those of whole lines or messages. ``first_bytes``: what tells a
    file from another, nothing if it is not there yet. The last two raise OSError and DamagedCapture.
    """

    read: Callable[..., Generator[Frame, None, int]]
    has_checkpoints: Callable[[str], bool]
    next_checkpoint: Callable[[str, int, int], tuple[int, Checkpoint] | None]
    last_checkpoint: Callable[[str, int], int | None]
    whole_bytes: Callable[[str, int], int]
    first_bytes: Callable[[str], bytes]


def form_of(kind: Kind) -> RecordedForm:
    """The form of a kind of file that is not of packets. Raises ImportError: Arrow is not there."""
    if kind != "arrow":
        return LINES
    from kafka_rack.wire_capture import arrow_files, arrow_frames

    return RecordedForm(
        arrow_frames.read_rows,
        arrow_files.has_checkpoints,
        arrow_files.next_checkpoint,
        arrow_files.last_checkpoint,
        arrow_files.whole_bytes,
        arrow_files.first_bytes,
    )


def whole_lines(path: str, size: int) -> int:
    """Up to where a file of a size holds whole lines."""
    with location(path).open("rb") as opened:
        end = size
        while end > 0:
            start = max(0, end - TAIL_BYTES)
            opened.seek(start)
            found: int = opened.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0


def first_line(path: str) -> bytes:
    """A file's first line, as far as that tells it from another; nothing if it has no end yet."""
    with location(path).open("rb") as opened:
        first: bytes = opened.readline(TAIL_BYTES)
    return first if first.endswith(b"\n") else b""


LINES = RecordedForm(
    read_lines,
    checkpoints.has_checkpoints,
    checkpoints.next_checkpoint,
    checkpoints.last_checkpoint,
    whole_lines,
    first_line,
)
