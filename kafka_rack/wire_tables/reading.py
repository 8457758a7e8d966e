"""A capture file, or a part of one, to rows: the whole of the pipeline's work without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafka_rack.wire_capture.captures import Options, ResumePoint, beginning, read_frames, whole_file
from kafka_rack.wire_capture.files import CaptureFile, capture_name, find_files
from kafka_rack.wire_capture.filters import FrameFilters
from kafka_rack.wire_capture.frames import MAX_PROBLEMS_HELD, Frame, Problem, ReadingState
from kafka_rack.wire_capture.learning import learn_from
from kafka_rack.wire_tables.frame_decoding import FrameDecoder
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES


def decode_into(
    rows: Rows,
    file: CaptureFile,
    place: ResumePoint | None,
    options: Options,
    *,
    end: int | None = None,
    only: Iterable[str] = TABLES,
    filters: FrameFilters | None = None,
    max_frames: int = 100_000,
) -> Iterator[Rows]:
    """Decode a file from ``place`` to before ``end``; ``rows`` comes each time it is full, and at the end.

    Who takes it clears it. Problems are rows too.
    """
    decoder: FrameDecoder
    problems: list[Problem] = []

    def take_frames(frames: list[Frame]) -> None:
        decoder.take_frames(frames)

    everything = filters is None or filters.take_all
    if place is None and file.kind != "packets":
        place = beginning(file, options)
    if place is None:
        place, frames = whole_file(file, options, problems, end, take_frames if everything else None)
        decoder = decoder_of(place.state, rows, only)
    else:
        decoder = decoder_of(place.state, rows, only)
        together = (decoder.take_many, take_frames) if everything else (None, None)
        frames = read_frames(file, place, options, problems, end, *together)
    for frame in frames:
        if everything or filters is None or filters.want(frame):
            decoder.decode(frame)
        else:
            for asked in filter(filters.want_unanswered, frame.passed_over):
                decoder.unanswered(frame.connection, asked)
            learn_from(frame, place.state.known)
        if rows.frames >= max_frames:
            decoder.finish()
            yield rows
            decoder.go_on()
        if len(problems) >= MAX_PROBLEMS_HELD:
            decoder.finish()
            add_problems(rows, decoder, problems)
            yield rows
            decoder.go_on()
    decoder.finish()
    problems += place.state.known.problems(place.state.capture, file.path)
    add_problems(rows, decoder, problems)
    yield rows


def add_problems(rows: Rows, decoder: FrameDecoder, problems: list[Problem]) -> None:
    """Problems become rows, if these are wanted, and are held no longer."""
    if "problems" in decoder.wanted:
        for problem in problems:
            rows.add("problems", "unknown", tuple(problem))
    problems.clear()


def decoder_of(state: ReadingState, rows: Rows, only: Iterable[str] = TABLES) -> FrameDecoder:
    """What decodes many frames at once where there is numpy, else one after the other."""
    try:
        from kafka_rack.wire_tables.column_decoding import ColumnDecoder
    except ImportError:
        return FrameDecoder(state, rows, only)
    return ColumnDecoder(state, rows, only)


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
        for _ in decode_into(rows, file, None, options or Options(), only=only, max_frames=1 << 62):
            pass
    return rows
