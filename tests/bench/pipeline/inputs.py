"""Captures of any size, made of the real ones: each copy with connections and times of its own.

A round is every client's capture once, one behind the other in time; all connections are closed at the end of each
capture, as they would be in one long recording, so that what a reader has to remember does not grow with the file. It
has checkpoints, as captures of ours do.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kafka_rack.wire_capture.recording import Recording
from tests.fixture_data import CAPTURES, capture_names

MB = 1_000_000
LINE = re.compile(rb'\{"t":(\d+),(.*?)"conn":(\d+)(.*\n)')
CONNECTIONS = 1_000_000
"""Connection numbers that a round may use."""
ONE_CAPTURE = 10_000
GAP_US = 1_000_000


class Line(NamedTuple):
    """A line apart from its time and connection, which each copy has of its own; the time counts from 0.

    ``frame``: its bytes, and whether they are a request.
    """

    ts: int
    before: bytes
    connection: int
    after: bytes
    frame: tuple[bytes, bool] | None


class Input(NamedTuple):
    """A capture that was made."""

    path: Path
    size_bytes: int
    frames: int

    @property
    def size_mb(self) -> float:
        return self.size_bytes / MB


def room_for(folder: Path, size_bytes: int) -> None:
    """End in one line where the disk has not as much free, and a fiftieth of all of it besides."""
    usage = shutil.disk_usage(folder)
    wanted = size_bytes + usage.total // 50
    if usage.free < wanted:
        raise SystemExit(
            f"{folder}: {usage.free / MB:,.0f} MB are free, but {wanted / MB:,.0f} MB are wanted; "
            "TMPDIR names another place"
        )


def rounds_for(size_mb: float) -> int:
    """How many whole rounds come nearest to a size; one at least."""
    size = sum(len(line.before) + len(line.after) + 28 for line in one_round()[0])
    return max(1, round(size_mb * MB / size))


def capture_of(target: Path, rounds: int) -> Input:
    """Lines of JSON: a first line, then the rounds."""
    lines, span = one_round()
    frames = sum(line.frame is not None for line in lines)
    start = 1_700_000_000_000_000
    recording = Recording()
    with target.open("wb", buffering=1 << 20) as file:
        file.write(first_line())
        recording.event(first_line())
        for number in range(rounds):
            file.writelines(copies(lines, start + number * span, number * CONNECTIONS, recording))
    return Input(target, target.stat().st_size, frames * rounds)


def first_line() -> bytes:
    """That of a capture of format 2."""
    first = gzip.decompress((CAPTURES / "java41-range.jsonl.gz").read_bytes()).splitlines()[0]
    return json.dumps({**json.loads(first), "format": 2}).encode() + b"\n"


def copies(lines: list[Line], start: int, connections: int, recording: Recording) -> Iterator[bytes]:
    """The lines of a round, and its checkpoints."""
    for line in lines:
        ts, connection = start + line.ts, connections + line.connection
        copy = b'{"t":%d,%b"conn":%d%b' % (ts, line.before, connection, line.after)
        yield copy
        if line.frame is None:
            recording.event(copy)
        else:
            data, is_request = line.frame
            recording.frame(ts, connection, is_request, data, len(copy))
        checkpoint = recording.checkpoint(ts)
        if checkpoint is not None:
            yield checkpoint


def one_round() -> tuple[list[Line], int]:
    """The lines of a round and how long it takes in microseconds."""
    lines: list[Line] = []
    ts = 0
    for number, name in enumerate(capture_names()):
        found = list(lines_of(name))
        first, last = min(line.ts for line in found), max(line.ts for line in found)
        shift, offset = ts - first, number * ONE_CAPTURE
        still_open = set()
        for line in found:
            lines.append(line._replace(ts=line.ts + shift, connection=line.connection + offset))
            if b'"ev":"open"' in line.before:
                still_open.add(line.connection)
            elif b'"ev":"close"' in line.before:
                still_open.discard(line.connection)
        end = b',"partial_req":0,"partial_resp":0}\n'
        lines += [Line(last + shift, b'"ev":"close",', gone + offset, end, None) for gone in sorted(still_open)]
        ts = last + shift + GAP_US
    return lines, ts


def lines_of(name: str) -> Iterator[Line]:
    """The lines of a capture that are about a connection."""
    with gzip.open(CAPTURES / f"{name}.jsonl.gz") as file:
        for text in file:
            found = LINE.fullmatch(text)
            if found is not None:
                ts, before, connection, after = found.groups()
                told = json.loads(text)
                frame = (b64decode(told["data"]), told["dir"] == "req") if "dir" in told else None
                yield Line(int(ts), before, int(connection), after, frame)
