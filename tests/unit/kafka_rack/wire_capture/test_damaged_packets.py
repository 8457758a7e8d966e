"""Damaged files of packets: what is wrong is told with its place, and what is good around it is read."""

from __future__ import annotations

import gzip
import struct
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import DecompressedFile, find_files
from kafka_rack.wire_capture.packets import read_format, read_packets
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import Rows
from tests.fixture_data import CAPTURES
from tests.unit.kafka_rack.wire_capture import wire

FRAMES = wire.recorded(CAPTURES / "kafka-python.jsonl.gz", 4, 150)
SEGMENTS = wire.conversations(FRAMES, Random(1))
FILES = {
    "pcap": wire.pcap(SEGMENTS, Random(2)),
    "big.pcap": wire.pcap(SEGMENTS, Random(2), order=">", ticks=10**9),
    "pcapng": wire.pcapng(SEGMENTS, Random(2)),
}


class Whole(dict):
    """By file; short when a test fails."""

    def __repr__(self):
        return "the files as they are when whole"


def packets(path):
    """Packets by their data, what was told, and where packets begin."""
    damaged = []
    with DecompressedFile(str(path)) as source:
        found = list(read_packets(source, read_format(source), damaged))
    return Counter(packet.data for packet in found), damaged, [packet.offset for packet in found]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    found = Whole({name: packets(folder / name) for name in FILES})
    assert all(len(offsets) == len(SEGMENTS) and not damaged for _, damaged, offsets in found.values())
    return found


@given(
    name=st.sampled_from(sorted(FILES)),
    number=st.integers(1, len(SEGMENTS) - 1),
    shift=st.integers(-3, 20),
    noise=st.binary(min_size=1, max_size=400),
    instead=st.booleans(),
)
def test_noise_costs_the_packets_that_it_hits_and_no_others(
    whole, tmp_path_factory, name, number, shift, noise, instead
):
    """Noise in the place of bytes or between them; at most those that it touches, and their neighbours, are gone."""
    content, (good, _, offsets) = FILES[name], whole[name]
    at = max(offsets[number] + shift, offsets[0])
    path = tmp_path_factory.mktemp("noise") / name
    path.write_bytes(content[:at] + noise + content[at + len(noise) * instead :])
    found, damaged, _ = packets(path)
    ends = [*offsets[1:], len(content)]
    hit = sum(begin < at + len(noise) * instead + 1 and end > at for begin, end in zip(offsets, ends, strict=True))
    assert (good - found).total() <= hit + 1
    assert damaged or (good - found).total() <= hit
    assert all(offset >= 0 and reason for offset, reason in damaged)


@given(name=st.sampled_from(sorted(FILES)), size=st.integers(24, 1 << 20))
def test_a_file_that_is_cut_off_gives_all_its_whole_packets(whole, tmp_path_factory, name, size):
    content, (_, _, offsets) = FILES[name], whole[name]
    size %= len(content)
    path = tmp_path_factory.mktemp("cut") / name
    path.write_bytes(content[: max(size, 24)])
    if size < offsets[0]:
        return
    found, damaged, _ = packets(path)
    inside = [number for number, end in enumerate([*offsets[1:], len(content)]) if end <= size]
    assert found.total() in (len(inside), len(inside) + 1)  # a pcapng may end in a block without a packet
    assert len(damaged) <= 1
    assert all(offset >= offsets[len(inside)] - 1000 for offset, _ in damaged)


@given(name=st.sampled_from(["pcap", "big.pcap"]), at=st.integers(24, 1 << 20), value=st.integers(0, (1 << 32) - 1))
def test_a_packet_that_claims_another_size_swallows_none(whole, tmp_path_factory, name, at, value):
    content, (good, _, offsets) = FILES[name], whole[name]
    number = at % (len(offsets) - 1)
    changed = bytearray(content)
    struct.pack_into((">" if "big" in name else "<") + "I", changed, offsets[number] + 8, value)
    path = tmp_path_factory.mktemp("size") / name
    path.write_bytes(changed)
    found, _, _ = packets(path)
    assert (good - found).total() <= 2


def test_gzip_that_is_damaged_is_told_once_and_gives_all_before(tmp_path):
    squeezed = gzip.compress(FILES["pcap"])
    for size in range(100, len(squeezed) - 8, len(squeezed) // 7):
        path = tmp_path / "cut.pcap.gz"
        path.write_bytes(squeezed[:size])
        (file,), _ = find_files([str(path)])
        rows = Rows()
        list(decode_into(rows, file, Options()))
        gzip_told = [row for row in rows.as_dicts("problems") if "gzip" in row["reason"]]
        assert len(gzip_told) == 1
        assert not any("header" in row["reason"] for row in rows.as_dicts("problems"))
