"""A capture file to rows, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafka_rack.wire_capture.captures import Options, read_frames
from kafka_rack.wire_capture.files import CaptureFile, capture_name, find_files
from kafka_rack.wire_capture.frames import MAX_PROBLEMS_HELD, Frame, Problem, ReadingState
from kafka_rack.wire_tables.frame_decoding import FrameDecoder
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES

AT_ONCE = 1_000
"""Frames, before problems are looked at."""


def decode_into(
    rows: Rows,
    file: CaptureFile,
    options: Options,
    *,
    only: Iterable[str] = TABLES,
    max_frames: int = 100_000,
) -> Iterator[Rows]:
    """Decode a file, as ``decode_frames`` does."""
    problems: list[Problem] = []
    state, frames = read_frames(file, options, problems)
    return decode_frames(rows, frames, state, problems, only=only, max_frames=max_frames)


def decode_frames(
    rows: Rows,
    frames: Iterable[Frame],
    state: ReadingState,
    problems: list[Problem],
    *,
    only: Iterable[str] = TABLES,
    max_frames: int = 10_000,
) -> Iterator[Rows]:
    """Decode frames; yields ``rows`` each time it is full, and at the end. The caller clears it.

    Args:
        state: the state of the reading that yields the frames.
        problems: what that reading could not read; these become rows too.
        only: the tables to decode.
        max_frames: the number of frames whose rows are held.
    """
    decoder = FrameDecoder(state, rows, only)
    frames = iter(frames)
    while decoder.decode_some(frames, max(1, min(AT_ONCE, max_frames - rows.frames))):
        if len(problems) >= MAX_PROBLEMS_HELD or rows.frames >= max_frames:
            add_problems(rows, problems)
            yield rows
            decoder.go_on()
    add_problems(rows, problems)
    yield rows


def add_problems(rows: Rows, problems: list[Problem]) -> None:
    """Move problems into rows."""
    for problem in problems:
        rows.add("problems", "unknown", tuple(problem))
    problems.clear()


def decode_paths(paths: Iterable[str], options: Options | None = None, only: Iterable[str] = TABLES) -> Rows:
    """All rows of some captures, in memory.

    >>> decode_paths([]).as_dicts("frames")
    []
    """
    rows = Rows()
    found, refused = find_files(paths)
    for path, reason in refused:
        rows.add("problems", "unknown", (capture_name(path), path, 0, reason))
    for file in found:
        for _ in decode_into(rows, file, options or Options(), only=only, max_frames=1 << 62):
            pass
    return rows
