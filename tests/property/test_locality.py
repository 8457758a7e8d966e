"""Bytes by rack are those of the whole capture, in whatever pieces it is read."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.locality.flows import Flows
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.locality.result import collect_result
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import TABLES
from kafka_rack.locality.traffic import TrafficSums, grouped, rewindowed
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


def result_of(file, cuts):
    """What comes of a capture where rows are taken after each of some numbers of frames."""
    rows, flows = Rows(), Flows(SETTINGS.window_us)
    for number, piece in enumerate(decode_into(rows, file, Options(), only=TABLES, max_frames=1)):
        if number in cuts:
            flows.add(piece)
            piece.clear()
    flows.add(rows)
    sums = TrafficSums(flows.evidence.conclude(SETTINGS.rules), SETTINGS.rules)
    sums.add_flows(flows)
    tables = grouped(rewindowed(sums.amounts, SETTINGS.window_us), SETTINGS.prices)
    return collect_result(tables, SETTINGS.prices, [(flows.evidence.first, flows.evidence.last)], SETTINGS.window_us)


@given(st.lists(events, min_size=1, max_size=MAX_EVENTS), st.sets(st.integers(0, 2 * MAX_EVENTS), max_size=6))
def test_a_capture_may_be_read_in_any_pieces(happened, cuts):
    with TemporaryDirectory() as folder:
        file = write(happened, Path(folder))
        assert result_of(file, cuts) == result_of(file, ())
