"""The route's steps without Spark: the tables of one process, from whichever files and pieces."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest

from kafka_rack.pipeline import route
from kafka_rack.wire_capture.captures import Options
from tests.fixture_data import CAPTURES
from tests.pipeline.packet_files import classic, rotate
from tests.pipeline.steps import comparable, tables_by_steps, tables_in_one
from tests.pipeline.written_capture import SECOND, Written, batch_of

TOPIC_ID = bytes(range(16))
NUMBERS = frozenset({"capture", "file", "offset", "conn", "frame", "response_frame"})
"""What tells one file from another."""


@pytest.mark.parametrize(
    "name", ["java41-share.jsonl.gz", "zk39-ibp0101.jsonl.gz", "aiokafka.pcap.gz", "kafka-python.pcapng.gz"]
)
def test_the_steps_give_the_tables_of_one_process(name):
    paths = [CAPTURES / name]
    assert comparable(tables_by_steps(paths)) == comparable(tables_in_one(paths))


@pytest.mark.parametrize("name", ["aiokafka.pcap.gz", "java41-range.pcap.gz"])
def test_a_capture_that_tcpdump_rotated_gives_the_tables_of_the_whole(name, tmp_path):
    parts, whole = rotate(tmp_path, name, 5), [tmp_path / "whole.pcap"]
    whole[0].write_bytes(gzip.decompress((CAPTURES / name).read_bytes()))
    assert comparable(tables_by_steps(parts), NUMBERS) == comparable(tables_in_one(whole), NUMBERS)


def test_what_was_captured_at_both_ends_counts_once(tmp_path):
    """The second capture is that of a machine whose clock is 20 ms ahead, and it lacks the first packets."""
    head, packets = classic("aiokafka.pcap.gz")
    later = []
    for packet in packets[20:]:
        seconds, fraction = struct.unpack_from("<II", packet)
        us = seconds * 1_000_000 + fraction + 20_000
        later.append(struct.pack("<II", us // 1_000_000, us % 1_000_000) + packet[8:])
    (tmp_path / "at-client.pcap").write_bytes(head + b"".join(packets))
    (tmp_path / "at-broker.pcap").write_bytes(head + b"".join(later))
    (tmp_path / "whole.pcap").write_bytes(head + b"".join(packets))
    both = tables_by_steps([tmp_path / "at-client.pcap", tmp_path / "at-broker.pcap"])
    assert {row["capture"] for row in both["frames"]} == {"at-client.pcap"}
    assert comparable(both, NUMBERS) == comparable(tables_in_one([tmp_path / "whole.pcap"]), NUMBERS)


def test_captures_of_other_clusters_tell_nothing_of_each_other(tmp_path):
    """Both have brokers 0 to 2 at the same addresses; of one the racks are others."""
    lines = gzip.decompress((CAPTURES / "aiokafka.jsonl.gz").read_bytes())
    (tmp_path / "a.jsonl").write_bytes(lines)
    (tmp_path / "b.jsonl").write_bytes(gzip.decompress((CAPTURES / "kcat.jsonl.gz").read_bytes()))
    paths = sorted(tmp_path.glob("*.jsonl"))
    assert comparable(tables_by_steps(paths)) == comparable(tables_in_one(paths))


def test_what_cannot_be_read_is_told_with_its_place(tmp_path):
    lines = gzip.decompress((CAPTURES / "kcat.jsonl.gz").read_bytes()).splitlines(keepends=True)
    (tmp_path / "torn.jsonl").write_bytes(b"".join([*lines[:9], b"\xff{\n", *lines[9:20], b'{"t": 1}\n']))
    (tmp_path / "none.pcap").write_bytes(b"no packets at all")
    paths: list[Path] = sorted(tmp_path.iterdir())
    found, wanted = tables_by_steps(paths), tables_in_one(paths)
    assert [row["offset"] for row in found["problems"]] == [0, len(b"".join(lines[:9])), *found_offsets(wanted)[1:]]
    assert comparable({**found, "problems": []}) == comparable({**wanted, "problems": []})


def found_offsets(tables) -> list[int]:
    return [row["offset"] for row in tables["problems"] if row["capture"] == "torn"]


def test_a_damaged_gzip_of_lines_gives_what_is_good_before_the_damage(tmp_path):
    damaged = bytearray((CAPTURES / "kcat.jsonl.gz").read_bytes())
    damaged[len(damaged) // 2 :] = bytes(len(damaged) // 4)
    (tmp_path / "damaged.jsonl.gz").write_bytes(damaged)
    paths = [tmp_path / "damaged.jsonl.gz"]
    found, expected = tables_by_steps(paths), tables_in_one(paths)
    assert len(found["frames"]) > 10
    assert comparable(found) == comparable(expected)
    assert any(row["file"] == str(paths[0]) and row["reason"].startswith("gzip: ") for row in found["problems"])


def test_names_leaders_and_racks_come_from_connections_of_others(tmp_path):
    """The consumer fetches by topic id and never requests Metadata; an admin client on another connection does."""
    written = Written()
    written.metadata(written.open(1), 0, "orders", [2], in_sync=[0, 2], topic_id=TOPIC_ID)
    written.fetch_by_id(written.open(2, "10.0.0.9:5000"), SECOND, "reader", TOPIC_ID, 0, batch_of(500))
    found = tables_by_steps([written.save(tmp_path)])
    (row,) = found["fetches"]
    assert (row["topic"], row["leader"], row["leader_rack"], row["isr"]) == ("orders", 2, "az-c", [0, 2])
    assert row["broker_rack"] == "az-c"


def test_a_worker_that_lacks_the_drivers_native_codec_decodes_with_a_warning(monkeypatch):
    monkeypatch.setattr(route, "backend", lambda: "native")
    step = route.pieces_to_rows(Options(), {}, {})
    assert list(step([])) == []
    monkeypatch.setattr(route, "backend", lambda: "python")
    with pytest.warns(UserWarning, match="lacks kafka-rack-native") as warned:
        assert list(step([])) == []
    assert len(warned) == 1
