"""The route's steps without Spark: the tables of one process, from whichever files and pieces."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest

from tests.fixture_data import CAPTURES
from tests.pipeline.steps import comparable, tables_by_steps, tables_in_one

NUMBERS = frozenset({"capture", "file", "offset", "conn", "frame", "response_frame"})
"""What tells one file from another."""


def packets_in(data: bytes) -> list[bytes]:
    """The packets of a classic capture with their headers."""
    found, at = [], 24
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        found.append(data[at : at + 16 + size])
        at += 16 + size
    return found


def classic(name: str) -> tuple[bytes, list[bytes]]:
    """A capture's head, and its packets."""
    data = gzip.decompress((CAPTURES / name).read_bytes())
    assert data.startswith(b"\xd4\xc3\xb2\xa1")
    return data[:24], packets_in(data)


@pytest.mark.parametrize(
    "name", ["java41-share.jsonl.gz", "zk39-ibp0101.jsonl.gz", "aiokafka.pcap.gz", "kafka-python.pcapng.gz"]
)
def test_the_steps_give_the_tables_of_one_process(name):
    paths = [CAPTURES / name]
    assert comparable(tables_by_steps(paths)) == comparable(tables_in_one(paths))


@pytest.mark.parametrize("name", ["aiokafka.pcap.gz", "java41-range.pcap.gz"])
def test_a_capture_that_tcpdump_rotated_gives_the_tables_of_the_whole(name, tmp_path):
    head, packets = classic(name)
    for part in range(5):
        mine = packets[len(packets) * part // 5 : len(packets) * (part + 1) // 5]
        (tmp_path / f"x.pcap{part or ''}").write_bytes(head + b"".join(mine))
    (tmp_path / "whole.pcap").write_bytes(head + b"".join(packets))
    parts, whole = sorted(tmp_path.glob("x.pcap*")), [tmp_path / "whole.pcap"]
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
