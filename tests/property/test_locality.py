"""Bytes by rack are those of the whole capture, in whatever way it is cut and its parts are put together."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.locality.captures import capture_flows, excerpts_of
from kafka_rack.locality.evidence import Evidence
from kafka_rack.locality.flows import Flows
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.locality.result import collect_result
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import TABLES, TablesInMemory
from kafka_rack.locality.traffic import TrafficSums, rewindowed
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import Rows
from tests.pipeline.written_capture import Written, batch_of

SETTINGS = Settings(rules=RackRules.read("az-c@client:reader-0\naz-b@broker:7\n", "racks"), window_us=1_000_000)
RECORDS = batch_of(300)
IN_SYNC = ([0], [0, 1], [0, 1, 2], [1, 2])
MAX_EVENTS = 24

moments = st.integers(0, 3_000_000)
waits = st.integers(1, 900_000)
told_in_turn = st.tuples(st.just("metadata"), moments, waits, st.just(0), st.sampled_from([[0], [0, 1]]))
read_across = st.tuples(st.just("fetch"), moments, waits, st.just(0), st.just("az-b"))
"""Of these it matters what was told last before."""
events = st.one_of(
    told_in_turn,
    read_across,
    st.tuples(st.just("metadata"), moments, waits, st.integers(0, 1), st.sampled_from(IN_SYNC)),
    st.tuples(st.just("fetch"), moments, waits, st.integers(0, 2), st.sampled_from(["", "az-a", "az-b"])),
    st.tuples(st.just("follow"), moments, waits, st.integers(0, 2), st.booleans()),
    st.tuples(st.just("produce"), moments, waits, st.integers(0, 2), st.booleans()),
)


class HeldRows:
    """The rows of some frames, kept."""

    def __init__(self, *parts):
        self.held = {table: [row for part in parts for row in part.held[table]] for table in TABLES}

    @classmethod
    def of(cls, rows):
        found = cls()
        found.held = {table: rows.as_dicts(table) for table in TABLES}
        return found

    def rows(self, table, columns):
        return (tuple(row[column] for column in columns) for row in self.held[table])


def write(happened, folder):
    """A capture in which calls overlap: each event has a connection of its own, and waits for its answer."""
    written = Written()
    call = written.call
    for number, (kind, at, wait, which, what) in enumerate(happened):
        written.call = partial(call, took=wait)
        conn = written.open(which, f"10.0.{which}.1:{5000 + number}")
        if kind == "metadata":
            written.metadata(conn, at, f"topic-{which}", [0], in_sync=what)
        elif kind == "fetch":
            written.fetch(conn, at, f"reader-{which}", "topic-0", 0, RECORDS, rack=what)
        elif kind == "follow":
            written.fetch(conn, at, "broker-2-fetcher-0", f"topic-{which}", 0, RECORDS, replica=2, answered=what)
        else:
            written.produce(conn, at, f"reader-{which}", f"topic-{which}", 0, RECORDS)
    written.save(folder)
    return find_files([str(folder)])[0][0]


def frames_of(file):
    """The rows of each frame by itself."""
    return [HeldRows.of(piece) for piece in pieces(file)]


def pieces(file):
    rows = Rows()
    for piece in decode_into(rows, file, Options(), only=TABLES, max_frames=1):
        yield piece
        piece.clear()


def read_at_once(happened):
    """The frames of a capture, and what comes of it where it is read in one go."""
    with TemporaryDirectory() as folder:
        file = write(happened, Path(folder))
        frames = frames_of(file)
        whole = capture_flows(file, Options(), SETTINGS.window_us).flows
    return frames, result_of(summed([whole], whole.evidence), whole.evidence)


def result_of(traffic, evidence):
    excerpts = excerpts_of(rewindowed(traffic, SETTINGS.window_us), SETTINGS)
    spans = [(evidence.first, evidence.last)]
    return collect_result(excerpts, SETTINGS.prices, spans, SETTINGS.window_us)


def summed(parts, evidence):
    sums = TrafficSums(evidence.conclude(SETTINGS.rules), SETTINGS.rules)
    for part in parts:
        sums.add_flows(part, evidence.covered)
    return sums.amounts


@given(st.lists(events, min_size=1, max_size=MAX_EVENTS), st.data())
def test_a_capture_may_be_cut_anywhere(happened, data):
    frames, expected = read_at_once(happened)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(frames)), max_size=6)) | {0, len(frames)})

    # Neighbours, each read once, are merged in whatever order they come.
    parts = []
    for start, end in pairwise(cuts):
        flows = Flows(SETTINGS.window_us)
        for frame in frames[start:end]:
            flows.add(TablesInMemory(frame))
        parts.append(flows)
    merged = Flows(SETTINGS.window_us)
    for number in data.draw(st.permutations(range(len(parts)))):
        merged.merge(parts[number])
    assert result_of(summed([merged], merged.evidence), merged.evidence) == expected


@given(st.lists(events, min_size=1, max_size=MAX_EVENTS), st.data())
def test_frames_may_be_in_any_part_where_all_evidence_comes_first(happened, data):
    frames, expected = read_at_once(happened)
    where = data.draw(st.lists(st.integers(0, 3), min_size=len(frames), max_size=len(frames)))
    parts = [
        TablesInMemory(HeldRows(*(frame for frame, own in zip(frames, where, strict=True) if own == number)))
        for number in range(4)
    ]
    evidence = Evidence()
    for number in data.draw(st.permutations(range(4))):
        own = Evidence()
        own.add(parts[number])
        evidence.merge(own)
    flows = [Flows(SETTINGS.window_us, evidence) for _ in parts]
    for counted, part in zip(flows, parts, strict=True):
        counted.count(part)
    assert result_of(summed(flows, evidence), evidence) == expected
