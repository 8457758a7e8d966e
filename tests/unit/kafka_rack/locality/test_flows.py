"""Flows: each byte once, the same in whatever pieces a capture is read."""

from __future__ import annotations

import pytest

from kafka_rack.locality.captures import capture_flows, excerpts_of
from kafka_rack.locality.flows import Flows
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import TABLES
from kafka_rack.locality.traffic import TrafficSums, rewindowed
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import Rows
from tests.fixture_data import CAPTURES

WINDOW_US = 60_000_000


def traffic_of(flows):
    """The sums of a capture by traffic key."""
    sums = TrafficSums(flows.evidence.conclude())
    sums.add_flows(flows)
    return rewindowed(sums.amounts, WINDOW_US)


@pytest.fixture
def capture():
    """Gives a capture by its name."""
    return lambda name: find_files([str(CAPTURES / f"{name}.jsonl.gz")])[0][0]


@pytest.mark.parametrize("name", ["interbroker-41-start", "java41-range", "java41-share", "zk39-ibp24"])
def test_the_pieces_in_which_a_capture_is_read_never_show(capture, name):
    """Nor do windows that grow."""
    file, rows, small = capture(name), Rows(), Flows()
    for piece in decode_into(rows, file, Options(), only=TABLES, max_frames=7):
        small.add(piece)
        piece.clear()
    assert traffic_of(small) == traffic_of(capture_flows(file, Options(), WINDOW_US).flows)


def test_a_result_holds_no_more_rows_than_it_shows(capture):
    traffic = rewindowed(traffic_of(capture_flows(capture("java41-range"), Options()).flows), WINDOW_US)
    clients = excerpts_of(traffic, Settings(top=1))["clients"]
    assert (len(clients.rows), clients.others > 1) == (1, True)
    everybody = excerpts_of(traffic, Settings(top=1_000))["clients"]
    assert sum(row["bytes"] for row in everybody.rows[1:]) == clients.other_sums["bytes"]
