"""Captures of any size, made of the real ones: each copy with connections and times of its own.

A round is every client's capture once, one behind the other in time; all connections are closed at the end of each
capture, as they would be in one long recording, so that what a reader has to remember does not grow with the file. The
record batches of a copy have times of their own too, and so checksums: none comes again in another copy.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from protocol.records.batches import BATCH_HEADER_SIZE, CRC_COVERS_FROM, LOG_OVERHEAD
from protocol.records.checksum import crc32c
from tests.fixture_data import CAPTURES, capture_names

MB = 1_000_000
LINE = re.compile(rb'\{"t":(\d+),(.*?)"conn":(\d+)(.*\n)')
CONNECTIONS = 1_000_000
"""Connection numbers that a round may use."""
ONE_CAPTURE = 10_000
GAP_US = 1_000_000
MAGIC_AT = 16


class Line(NamedTuple):
    """A line apart from its time and connection, which each copy has of its own; the time counts from 0.

    ``frame``: its bytes, and whether they are a request; ``batches``: where record batches stand in them.
    """

    ts: int
    before: bytes
    connection: int
    after: bytes
    frame: tuple[bytes, bool] | None
    batches: tuple[tuple[int, int], ...] = ()


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
    with target.open("wb", buffering=1 << 20) as file:
        file.write(first_line())
        for number in range(rounds):
            shift = number * span
            file.writelines(copies(lines, start + shift, shift // 1_000, number * CONNECTIONS))
    return Input(target, target.stat().st_size, frames * rounds)


def first_line() -> bytes:
    return gzip.decompress((CAPTURES / "java41-range.jsonl.gz").read_bytes()).splitlines(keepends=True)[0]


def copies(lines: list[Line], start: int, shift_ms: int, connections: int) -> Iterator[bytes]:
    """The lines of a round; records are so much later than in the first round."""
    for first in lines:
        line = later(first, shift_ms) if first.batches and shift_ms else first
        ts, connection = start + line.ts, connections + line.connection
        yield b'{"t":%d,%b"conn":%d%b' % (ts, line.before, connection, line.after)


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
                batches = tuple(batches_in(frame[0])) if frame is not None else ()
                yield Line(int(ts), before, int(connection), after, frame, batches)


def batches_in(data: bytes) -> Iterator[tuple[int, int]]:
    """Where record batches of magic 2 begin and end in a frame, known by their checksums."""
    at = data.find(b"\2", MAGIC_AT)
    while at >= 0:
        start = at - MAGIC_AT
        end = start + LOG_OVERHEAD + int.from_bytes(data[start + 8 : start + LOG_OVERHEAD], "big", signed=True)
        if start + BATCH_HEADER_SIZE <= end <= len(data) and checksum(data, start, end) == data[at + 1 : at + 5]:
            yield start, end
            at = data.find(b"\2", end + MAGIC_AT)
        else:
            at = data.find(b"\2", at + 1)


def later(line: Line, shift_ms: int) -> Line:
    """A line whose records are so much later."""
    assert line.frame is not None
    data, is_request = line.frame
    changed = with_later_records(data, line.batches, shift_ms)
    return line._replace(after=line.after.replace(b64encode(data), b64encode(changed)), frame=(changed, is_request))


def with_later_records(data: bytes, batches: tuple[tuple[int, int], ...], shift_ms: int) -> bytes:
    """A frame whose batches are later."""
    changed = bytearray(data)
    for start, end in batches:
        for at in (start + 27, start + 35):  # the first and the last time
            time_ms = int.from_bytes(changed[at : at + 8], "big", signed=True)
            if time_ms >= 0:
                changed[at : at + 8] = (time_ms + shift_ms).to_bytes(8, "big")
        changed[start + MAGIC_AT + 1 : start + CRC_COVERS_FROM] = checksum(bytes(changed), start, end)
    return bytes(changed)


def checksum(data: bytes, start: int, end: int) -> bytes:
    return crc32c(data[start + CRC_COVERS_FROM : end]).to_bytes(4, "big")
