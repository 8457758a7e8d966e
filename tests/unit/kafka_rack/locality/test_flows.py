"""Flows: each byte once, the same in whatever pieces a capture is read and whatever parts are put together."""

from __future__ import annotations

import gzip
import random

import pytest

from kafka_rack.locality.captures import excerpts_of, flows_of
from kafka_rack.locality.flows import Flows
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import TABLES, TablesInMemory
from kafka_rack.locality.traffic import TrafficSums, rewindowed
from kafka_rack.wire_capture.blocks import CaptureBlock
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import Rows
from tests.fixture_data import CAPTURES
from tests.pipeline.line_blocks import line_blocks

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


def flows_of_block(block, window_us=None, max_frames=20_000):
    flows, rows = Flows(window_us), Rows()
    part = {"start": block.start, "end": block.end}
    for piece in decode_into(rows, block.file, Options(), **part, only=TABLES, max_frames=max_frames):
        flows.add(TablesInMemory(piece))
        piece.clear()
    return flows


@pytest.fixture
def cut(tmp_path):
    """Gives a capture's whole file, and its blocks when it is cut into many."""

    def blocks(name):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(gzip.decompress((CAPTURES / f"{name}.jsonl.gz").read_bytes()))
        (file,) = find_files([str(path)])[0]
        found = line_blocks(file, 24)
        assert len(found) > 12
        return file, found

    return blocks


@pytest.mark.parametrize("name", ["interbroker-41-start", "java41-range", "java41-share", "zk39-ibp24"])
def test_cuts_of_a_capture_never_show(cut, name):
    file, blocks = cut(name)
    parts = [flows_of_block(block) for block in blocks]
    random.Random(5).shuffle(parts)  # the order in which tasks end
    assert traffic_of(parts) == traffic_of([flows_of(file, Options())])


def test_neither_do_pieces_in_which_it_is_read_nor_windows_that_grow(cut):
    file, _ = cut("java41-range")
    small = flows_of_block(CaptureBlock(file, 0, file.size), max_frames=7)
    assert traffic_of([small]) == traffic_of([flows_of(file, Options(), WINDOW_US)])


def test_parts_that_were_merged_are_as_good_as_parts(cut):
    file, blocks = cut("interbroker-41-start")
    merged = Flows()
    for block in blocks:
        merged.merge(flows_of_block(block))
    assert traffic_of([merged]) == traffic_of([flows_of(file, Options())])


def test_a_result_holds_no_more_rows_than_it_shows(cut):
    file, _ = cut("java41-range")
    traffic = rewindowed(traffic_of([flows_of(file, Options())]), WINDOW_US)
    clients = excerpts_of(traffic, Settings(top=1))["clients"]
    assert (len(clients.rows), clients.others > 1) == (1, True)
    everybody = excerpts_of(traffic, Settings(top=1_000))["clients"]
    assert sum(row["bytes"] for row in everybody.rows[1:]) == clients.other_sums["bytes"]
