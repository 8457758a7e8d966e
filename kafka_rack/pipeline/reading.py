"""A capture file, or a part of one, to rows: the whole of the pipeline's work without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from kafka_rack.pipeline.captures import Options, Place, read_frames, whole_file
from kafka_rack.pipeline.decoding import FrameDecoder
from kafka_rack.pipeline.files import CaptureFile, capture_name, find_files
from kafka_rack.pipeline.learning import learn_from
from kafka_rack.pipeline.rows import Rows
from kafka_rack.pipeline.tables import TABLES
from kafka_rack.pipeline.values import Frame, Problem


class Filters(msgspec.Struct, frozen=True):
    """Which frames are wanted; what is None does not count. Times are microseconds since 1970, ``until`` excluded."""

    apis: frozenset[str] | None = None
    clients: frozenset[str] | None = None
    since: int | None = None
    until: int | None = None

    def want(self, frame: Frame) -> bool:
        """Whether a frame is wanted; a response counts by its request's API and client, and by its own time."""
        asked = frame.asked
        if self.apis is not None and (asked.kind.api_name if asked is not None else "unknown") not in self.apis:
            return False
        if self.clients is not None and (asked is None or asked.kind.client_id not in self.clients):
            return False
        return (self.since is None or frame.ts >= self.since) and (self.until is None or frame.ts < self.until)

    @property
    def take_all(self) -> bool:
        return all(limit is None for limit in (self.apis, self.clients, self.since, self.until))


def decode_into(
    rows: Rows,
    file: CaptureFile,
    place: Place | None,
    options: Options,
    *,
    end: int | None = None,
    only: Iterable[str] = TABLES,
    filters: Filters | None = None,
    most_frames: int = 20_000,
) -> Iterator[Rows]:
    """Decode a file from ``place`` to before ``end``; ``rows`` comes each time it is full, and at the end.

    Who takes it clears it. Problems are rows too.
    """
    problems: list[Problem] = []
    if place is None:
        place, frames = whole_file(file, options, problems, end)
    else:
        frames = read_frames(file, place, options, problems, end)
    decoder = FrameDecoder(place.state, rows, only)
    everything = filters is None or filters.take_all
    for frame in frames:
        if everything or (filters is not None and filters.want(frame)):
            decoder.decode(frame)
        else:
            learn_from(frame, place.state.known)
        if rows.frames >= most_frames:
            yield rows
            decoder.go_on()
    if "problems" in decoder.wanted:
        for problem in problems:
            rows.add("problems", "unknown", tuple(problem))
    yield rows


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
