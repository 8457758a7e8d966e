"""Flows: each byte once, the same in whatever pieces a capture is read and whatever parts are put together."""

from __future__ import annotations

import random

import pytest

from kafka_rack.locality.captures import capture_flows, excerpts_of
from kafka_rack.locality.flows import Flows
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import TABLES, TablesInMemory
from kafka_rack.locality.traffic import TrafficSums, rewindowed
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import Rows
from tests.fixture_data import CAPTURES

WINDOW_US = 60_000_000


def traffic_of(parts):
    """The sums of a capture by traffic key, out of its parts' flows."""
    evidence = None
    for part in parts:
        evidence = part.evidence if evidence is None else evidence.merge(part.evidence)
    sums = TrafficSums(evidence.conclude())
    for part in parts:
        sums.add_flows(part, evidence.covered)
    return rewindowed(sums.amounts, WINDOW_US)


def flows_in_parts(file, max_frames):
    """The flows of each so many frames of a capture."""
    parts, rows = [], Rows()
    for piece in decode_into(rows, file, Options(), only=TABLES, max_frames=max_frames):
        parts.append(Flows())
        parts[-1].add(TablesInMemory(piece))
        piece.clear()
    return parts


@pytest.fixture
def capture():
    """Gives a capture by its name."""
    return lambda name: find_files([str(CAPTURES / f"{name}.jsonl.gz")])[0][0]


@pytest.mark.parametrize("name", ["interbroker-41-start", "java41-range", "java41-share", "zk39-ibp24"])
def test_cuts_of_a_capture_never_show(capture, name):
    file = capture(name)
    parts = flows_in_parts(file, 50)
    assert len(parts) > 12
    random.Random(5).shuffle(parts)  # the order in which tasks end
    assert traffic_of(parts) == traffic_of([capture_flows(file, Options()).flows])


def test_neither_do_pieces_in_which_it_is_read_nor_windows_that_grow(capture):
    file, rows = capture("java41-range"), Rows()
    small = Flows()
    for piece in decode_into(rows, file, Options(), only=TABLES, max_frames=7):
        small.add(TablesInMemory(piece))
        piece.clear()
    assert traffic_of([small]) == traffic_of([capture_flows(file, Options(), WINDOW_US).flows])


def test_parts_that_were_merged_are_as_good_as_parts(capture):
    file = capture("interbroker-41-start")
    merged = Flows()
    for part in flows_in_parts(file, 50):
        merged.merge(part)
    assert traffic_of([merged]) == traffic_of([capture_flows(file, Options()).flows])


def test_a_result_holds_no_more_rows_than_it_shows(capture):
    traffic = rewindowed(traffic_of([capture_flows(capture("java41-range"), Options()).flows]), WINDOW_US)
    clients = excerpts_of(traffic, Settings(top=1))["clients"]
    assert (len(clients.rows), clients.others > 1) == (1, True)
    everybody = excerpts_of(traffic, Settings(top=1_000))["clients"]
    assert sum(row["bytes"] for row in everybody.rows[1:]) == clients.other_sums["bytes"]
