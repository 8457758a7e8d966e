"""A capture file, or a part of one, to rows: the whole of the pipeline's work without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafka_rack.wire_capture.captures import Options, Place, read_frames, whole_file
from kafka_rack.wire_capture.files import CaptureFile, capture_name, find_files
from kafka_rack.wire_capture.filters import Filters
from kafka_rack.wire_capture.frames import Problem, State
from kafka_rack.wire_capture.learning import learn_from
from kafka_rack.wire_tables.decoding import FrameDecoder
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES


def decode_into(
    rows: Rows,
    file: CaptureFile,
    place: Place | None,
    options: Options,
    *,
    end: int | None = None,
    only: Iterable[str] = TABLES,
    filters: Filters | None = None,
    most_frames: int = 50_000,
) -> Iterator[Rows]:
    """Decode a file from ``place`` to before ``end``; ``rows`` comes each time it is full, and at the end.

    Who takes it clears it. Problems are rows too.
    """
    problems: list[Problem] = []
    if place is None:
        place, frames = whole_file(file, options, problems, end)
    else:
        frames = read_frames(file, place, options, problems, end)
    decoder = decoder_of(place.state, rows, only)
    everything = filters is None or filters.take_all
    for frame in frames:
        if everything or filters is None or filters.want(frame):
            decoder.decode(frame)
        else:
            for asked in filter(filters.want_unanswered, frame.passed_over):
                decoder.unanswered(frame.connection, asked)
            learn_from(frame, place.state.known)
        if rows.frames >= most_frames:
            decoder.finish()
            yield rows
            decoder.go_on()
    decoder.finish()
    if "problems" in decoder.wanted:
        for problem in problems:
            rows.add("problems", "unknown", tuple(problem))
    yield rows


def decoder_of(state: State, rows: Rows, only: Iterable[str] = TABLES) -> FrameDecoder:
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
        for _ in decode_into(rows, file, None, options or Options(), only=only, most_frames=1 << 62):
            pass
    return rows
