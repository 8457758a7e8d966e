"""Flows: each byte once, the same in whatever pieces a capture is read."""

from __future__ import annotations

import pytest

from kafka_rack.locality.captures import capture_flows
from kafka_rack.locality.flows import Flows
from kafka_rack.locality.prices import Prices
from kafka_rack.locality.result import listed
from kafka_rack.locality.tables import TABLES
from kafka_rack.locality.traffic import TrafficSums, grouped, rewindowed
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


def test_a_list_has_its_largest_rows_and_the_sum_of_all_others(capture):
    traffic = traffic_of(capture_flows(capture("java41-range"), Options()).flows)
    clients = grouped(traffic, Prices())["clients"]
    found = listed(clients, 1)
    assert (len(found["top"]), found["others"]["rows"]) == (1, len(clients) - 1)
    assert found["top"][0]["bytes"] + found["others"]["bytes"] == sum(row["bytes"] for row in clients)
    assert listed(clients, 1_000)["others"] is None
