"""Captures of Kafka's wire to frames, in plain Python: files, JSON lines, packets, connections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from kafka_rack.wire_capture.captures import Options
    from kafka_rack.wire_capture.frames import Frame, Problem


def read(
    path: str | Path | Iterable[str | Path], options: Options | None = None, problems: list[Problem] | None = None
) -> Iterator[Frame]:
    """The frames of captures: of a file, of all in a folder, or of several of these, file by file.

    A response comes with the request that it answers, where that was seen. ``options`` say what packets do not: ports
    and brokers. What cannot be read is appended to ``problems``, and all around it is read.

    Raises FileNotFoundError: a path that is not there.

    >>> first = next(read("fixtures/captures/aiokafka.jsonl.gz"))
    >>> first.is_request, first.asked.kind.api_name, first.asked.kind.api_version
    (True, 'ApiVersions', 0)
    """
    from pathlib import Path

    from kafka_rack.wire_capture.captures import Options, read_frames
    from kafka_rack.wire_capture.files import capture_name, find_files
    from kafka_rack.wire_capture.frames import Problem
    from kafka_rack.wire_capture.learning import learn_from

    found_problems = problems if problems is not None else []
    paths = [path] if isinstance(path, (str, Path)) else path
    found, refused = find_files([str(one) for one in paths])
    found_problems += [Problem(capture_name(one), one, 0, reason) for one, reason in refused]
    for file in found:
        state, frames = read_frames(file, options or Options(), found_problems)
        for frame in frames:
            learn_from(frame, state.known)
            if frame.index >= 0:
                yield frame
