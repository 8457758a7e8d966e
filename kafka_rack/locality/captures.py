"""Captures to the result of ``locality`` in this process: one pass over their frames, without Spark.

The job of the same name does this with Spark in many processes: docs/cost.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from zlib import crc32

from kafka_rack.collector import collector_paused
from kafka_rack.locality.amounts import Pace, window_for
from kafka_rack.locality.completeness import Completeness
from kafka_rack.locality.flows import Flows
from kafka_rack.locality.ledger import Ledger
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.locality.result import collect_result
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import TABLES
from kafka_rack.locality.traffic import TrafficSums, grouped, prices_in_month, rewindowed
from kafka_rack.wire_capture.captures import Options, joined_captures
from kafka_rack.wire_capture.files import CaptureFile, capture_name, find_files, unread_inputs
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import Rows

MAX_FRAMES = 20_000
"""The most frames whose rows are in memory at a time."""
NO_CALLS = "nobody called while it was recorded, or it is no capture of Kafka's wire"
MAX_MARKS = 16
CLOCKS_DIFFER_US = 5_000_000
"""The largest difference of the clocks of two captures."""
OnRows = Callable[[CaptureFile, Rows], None]


class NothingToMeasure(Exception):
    """No input has a frame."""

    def __init__(self, completeness: Completeness | None = None) -> None:
        lacks = completeness.lacks() if completeness is not None else []
        super().__init__(f"not one frame could be read: {'; '.join(lacks) or NO_CALLS}")


@dataclass(slots=True)
class Measured:
    """A run's result, and the inputs without a readable frame."""

    result: dict[str, Any]
    unread: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Sightings:
    """A connection in one capture. ``marks`` are the smallest few hashes of its frames."""

    first: int
    last: int
    frames: int = 0
    marks: set[int] = field(default_factory=set)

    def add(self, ts: int, mark: int) -> None:
        self.first, self.last, self.frames = min(self.first, ts), max(self.last, ts), self.frames + 1
        self.marks.add(mark)
        if len(self.marks) > MAX_MARKS:
            self.marks.remove(max(self.marks))

    def is_same(self, other: Sightings) -> bool:
        """True if both are the same connection: a frame is in both, at about the same time."""
        meet = self.first <= other.last + CLOCKS_DIFFER_US and other.first <= self.last + CLOCKS_DIFFER_US
        return meet and not self.marks.isdisjoint(other.marks)


@dataclass(slots=True)
class CaptureFlows:
    """The flows of a capture, with its connections by the client's address and their number."""

    flows: Flows
    connections: dict[tuple[str, int], Sightings] = field(default_factory=dict)

    def merge(self, other: CaptureFlows) -> None:
        """Add other connections of the same capture."""
        self.flows.merge(other.flows)
        self.connections |= other.connections

    def see(self, rows: Rows) -> None:
        """Add the frames of some connections."""
        columns = ("conn", "client_addr", "ts", "direction", "correlation_id", "api_key", "frame_bytes")
        for conn, address, ts, *frame in rows.rows("frames", columns):
            if address is not None:
                seen = self.connections.get((address, conn))
                if seen is None:
                    seen = self.connections[address, conn] = Sightings(ts, ts)
                seen.add(ts, crc32(repr(frame).encode()))


def capture_flows(
    file: CaptureFile,
    options: Options,
    window_us: int | None = None,
    *,
    on_rows: OnRows = lambda file, rows: None,
    is_alone: bool = True,
) -> CaptureFlows:
    """The flows of a whole capture, as ``flows_of`` adds them up; ``on_rows`` is called with each piece of its rows."""
    with collector_paused():
        pieces = decode_into(Rows(), file, options, only=TABLES, max_frames=MAX_FRAMES)
        return flows_of(pieces, window_us, on_rows=partial(on_rows, file), is_alone=is_alone)


def flows_of(
    pieces: Iterable[Rows],
    window_us: int | None = None,
    *,
    on_rows: Callable[[Rows], None] = lambda rows: None,
    is_alone: bool = True,
) -> CaptureFlows:
    """Add up the rows of a capture, clearing each piece.

    Args:
        on_rows: called with each piece.
        is_alone: no other capture has the same connections, so they are not compared.
    """
    found = CaptureFlows(Flows(window_us))
    for rows in pieces:
        found.flows.add(rows)
        if not is_alone:
            found.see(rows)
        on_rows(rows)
        rows.clear()
    return found


def seen_twice(captures: Sequence[CaptureFlows]) -> list[set[int]]:
    """Numbers of each capture's connections that another capture has too, from the other end, with as many frames."""
    dropped: list[set[int]] = [set() for _ in captures]
    known: dict[str, list[tuple[int, int, Sightings]]] = {}
    for at, capture in enumerate(captures):
        for (address, conn), seen in capture.connections.items():
            others = known.setdefault(address, [])
            for place, (other_at, other_conn, other) in enumerate(others):
                if other_at != at and seen.is_same(other):
                    if seen.frames > other.frames:
                        dropped[other_at].add(other_conn)
                        others[place] = (at, conn, seen)
                    else:
                        dropped[at].add(conn)
                    break
            else:
                others.append((at, conn, seen))
    return dropped


def ledgers_of(captures: Sequence[CaptureFlows], rules: RackRules | None = None) -> Iterator[Ledger]:
    """The ledger of each capture, with its own racks. A connection in two captures counts once."""
    for capture, dropped in zip(captures, seen_twice(captures), strict=True):
        evidence = capture.flows.evidence
        ledger = Ledger(completeness=evidence.completeness())
        ledger.completeness.connections_twice = len(dropped)
        if evidence.frames:
            sums = TrafficSums(evidence.conclude(rules), rules, without=dropped)
            sums.add_flows(capture.flows)
            ledger.add(sums.amounts, evidence.factors)
        yield ledger


def ledger_of(captures: Sequence[CaptureFlows], rules: RackRules | None = None) -> Ledger:
    """The ledger of all of them."""
    ledger = Ledger()
    for own in ledgers_of(captures, rules):
        ledger.merge(own)
    return ledger


def measure(
    paths: Sequence[str],
    settings: Settings | None = None,
    options: Options | None = None,
    *,
    out: str | None = None,
    on_rows: OnRows = lambda file, rows: None,
) -> Measured:
    """The contents of ``locality.json`` for captures and folders of captures.

    Raises: FileNotFoundError: a missing path. NothingToMeasure.
    """
    settings, options = settings or Settings(), options or Options()
    files, refused = find_files(paths)
    captures = joined_captures(files)
    is_alone = len(captures) == 1
    found = {
        capture.path: capture_flows(capture, options, settings.window_us, on_rows=on_rows, is_alone=is_alone)
        for capture in captures
    }
    ledger, read = read_ledger(found, settings, dict(refused))
    parts = [part for capture in captures if capture.path in read for part in capture.parts]
    return Measured(result_of(ledger, read, settings, out), unread_inputs(paths, parts))


def read_ledger(
    found: Mapping[str, CaptureFlows], settings: Settings, refused: Mapping[str, str]
) -> tuple[Ledger, list[str]]:
    """The ledger of captures, by path, and the paths of those with a frame.

    Args:
        refused: inputs that were not read, with the reason.
    """
    ledger = ledger_of([*found.values()], settings.rules)
    ledger.completeness.refused.update(refused)
    return ledger, [path for path, capture in found.items() if capture.flows.evidence.frames]


def result_of(ledger: Ledger, read: Sequence[str], settings: Settings, out: str | None) -> dict[str, Any]:
    """The contents of ``locality.json``: a ledger, priced, with the paths of its captures. Raises NothingToMeasure."""
    spans = ledger.completeness.spans
    if not read:
        raise NothingToMeasure(ledger.completeness)
    window_us = settings.window_us or window_for(max(last for _, last in spans) - min(first for first, _ in spans))
    prices = prices_in_month(ledger.flows, settings.prices, Pace(ledger.completeness.covered_us))
    return collect_result(
        grouped(rewindowed(ledger.flows, window_us), prices),
        prices,
        spans,
        window_us,
        ledger.completeness,
        top=settings.top,
        names=[capture_name(path) for path in read],
        racks_file=settings.racks_file,
        out=out,
    )
