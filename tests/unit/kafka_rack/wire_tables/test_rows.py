"""Rows as numbers: pieces, what is forgotten between them, and packets that are read once or twice."""

from __future__ import annotations

from kafka_rack.wire_capture import captures
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables import rows
from kafka_rack.wire_tables.reading import decode_into, decode_paths
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES

LINES, PACKETS = CAPTURES / "java41-kip848.jsonl.gz", CAPTURES / "java41-range.pcap.gz"


def whole(path):
    found = decode_paths([str(path)])
    return {table: sorted(map(repr, found.of(table))) for table in TABLES}


def test_pieces_after_which_all_that_was_shared_is_forgotten_give_the_same_rows(monkeypatch):
    wanted = whole(LINES)
    monkeypatch.setattr(rows, "MAX_SHARED", 3)
    held = Rows()
    found = {table: [] for table in TABLES}
    for piece in decode_into(held, find_files([str(LINES)])[0][0], Options(), max_frames=20):
        for table in TABLES:
            found[table] += map(repr, piece.of(table))
        piece.clear()
    assert held.forgotten > 3
    assert {table: sorted(lines) for table, lines in found.items()} == wanted


def test_packets_too_many_to_keep_are_read_twice_and_give_the_same_rows(monkeypatch):
    wanted = whole(PACKETS)
    monkeypatch.setattr(captures, "MAX_KEPT_BYTES", 1000)
    assert whole(PACKETS) == wanted
