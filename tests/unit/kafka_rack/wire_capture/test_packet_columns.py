"""Packets that are read many at once: everything is as it is packet by packet, on any wire and in any file."""

from __future__ import annotations

import gzip
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.wire_capture import captures, packet_columns, packet_ranges, segment_columns
from kafka_rack.wire_capture.captures import Options, beginning
from kafka_rack.wire_capture.files import DecompressedFile, look_at
from kafka_rack.wire_capture.packet_columns import read_many
from kafka_rack.wire_capture.packets import Packet, read_format, read_packets
from kafka_rack.wire_capture.segment_columns import columns_in
from kafka_rack.wire_capture.segments import network_start, segment_in
from kafka_rack.wire_capture.splits import walk
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES
from tests.unit.kafka_rack.wire_capture import wire
from tests.unit.kafka_rack.wire_capture.test_packet_planning import comparable, planned, snapped

NAMES = ("aiokafka", "kafka-python", "java41-txn", "franz-go", "zk39-ibp0101")
PACKETS = sorted(path.name for path in CAPTURES.glob("*.pcap*.gz"))
WIRES = ("whole", "disturbed", "begun before", "lost", "cut short")
PORTS = Options(frozenset([9092]))


@pytest.fixture
def one_by_one(monkeypatch):
    """As where there is no numpy."""

    def read_as_ever():
        monkeypatch.setattr(captures, "packet_reader", lambda: read_packets)
        monkeypatch.setattr(packet_ranges, "packet_reader", lambda: read_packets)

    return read_as_ever


def rows_in_order(file, options=None):
    rows = Rows()
    for _ in decode_into(rows, file, None, options or Options()):
        pass
    return {table: list(map(repr, rows.of(table))) for table in TABLES}


def place_at(file, options, end):
    place = beginning(file, options)
    walk(file, place, options, end)
    return comparable(place)


def segments_many(path, limit=None):
    """Segments as they come many at once, with what was told, and how many packets came by themselves."""
    damaged, found, alone = [], [], 0
    with DecompressedFile(str(path)) as source:
        file_format = read_format(source)
        for one in read_many(source, file_format, limit, damaged):
            if isinstance(one, Packet):
                alone += 1
                segment = segment_in(one, file_format, damaged)
                found += [segment] if segment is not None else []
            else:
                found += [one.segment(row) for row in range(len(one.offset))]
        return found, damaged, source.position, file_format, alone


def segments_one_by_one(path, limit=None):
    damaged, found = [], []
    with DecompressedFile(str(path)) as source:
        file_format = read_format(source)
        for packet in read_packets(source, file_format, limit, damaged):
            segment = segment_in(packet, file_format, damaged)
            found += [segment] if segment is not None else []
        return found, damaged, source.position, file_format


def seen_on(kind, segments, rng):
    if kind == "begun before":
        return segments[len(segments) // 3 :]
    if kind == "disturbed":
        return wire.disturbed(segments, rng)
    if kind == "lost":
        return [one for one in segments if rng.random() < 0.95]
    if kind == "cut short":
        return [snapped(one, rng) for one in segments]
    return segments


@given(
    seed=st.integers(0, 1 << 32),
    name=st.sampled_from(NAMES),
    kind=st.sampled_from(WIRES),
    version=st.sampled_from([4, 6]),
    cut=st.sampled_from([50, 300, 1448, 60_000]),
    link=st.sampled_from([0, 1, 12, 14, 101, 108, 113, 228, 276, "pcapng"]),
    order=st.sampled_from("<>"),
    noise=st.binary(max_size=40),
    window=st.sampled_from([400, 5_000, 1 << 21]),
    odd=st.sampled_from([1, 900, 1 << 16]),
    ports=st.booleans(),
)
def test_segments_rows_and_places_are_those_of_a_reader_of_one_packet_after_the_other(
    tmp_path_factory, seed, name, kind, version, cut, link, order, noise, window, odd, ports
):
    rng = Random(seed)
    segments = wire.conversations(wire.recorded(CAPTURES / f"{name}.jsonl.gz", version, 40), rng, cut=cut)
    segments = seen_on(kind, segments, rng)
    if link == "pcapng":
        content = wire.pcapng(segments, rng, link_types=rng.sample([0, 1, 101, 108, 113, 276], 3), order=order)
    else:
        link = {4: 228, 6: 229}[version] if link == 228 else link
        content = wire.pcap(segments, rng, link_type=link, order=order, ticks=rng.choice([10**6, 10**9]))
    if len(noise) > 8:
        at = rng.randrange(24, len(content))
        content = content[:at] + noise + content[at + rng.choice([0, len(noise)]) :]
    path = tmp_path_factory.mktemp("wire") / "seen.pcap"
    path.write_bytes(content)
    file, options = look_at(path), PORTS if ports else Options()
    limit = rng.choice([None, rng.randrange(len(content))])
    end = rng.randrange(len(content))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packet_columns, "WINDOW_BYTES", window)
        patched.setattr(packet_columns, "ODD_BYTES", odd)
        many = rows_in_order(file, options), place_at(file, options, end), segments_many(path, limit)[:4]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(captures, "packet_reader", lambda: read_packets)
        assert many == (rows_in_order(file, options), place_at(file, options, end), segments_one_by_one(path, limit))


@pytest.mark.parametrize("name", PACKETS)
def test_captures_of_real_clients_give_the_same_rows_in_the_same_order(tmp_path, one_by_one, name):
    path = tmp_path / name.removesuffix(".gz")
    path.write_bytes(gzip.decompress((CAPTURES / name).read_bytes()))
    file = look_at(path)
    many = rows_in_order(file), place_at(file, Options(), file.size)
    one_by_one()
    assert many == (rows_in_order(file), place_at(file, Options(), file.size))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("ticks", [10**6, 10**9])
def test_plain_packets_all_come_many_at_once(tmp_path, order, ticks):
    frames = wire.recorded(CAPTURES / "aiokafka.jsonl.gz", 4, 60)
    path = tmp_path / "plain.pcap"
    path.write_bytes(wire.pcap(wire.conversations(frames, Random(1)), Random(2), order=order, ticks=ticks))
    assert segments_many(path)[4] == 0


@pytest.mark.parametrize(
    ("link", "max_tags", "all_at_once"),
    [(1, 4, True), (1, 1, False), (1, 0, False), (113, 4, True), (113, 0, False), (276, 4, True), (276, 0, False)],
)
def test_packets_with_tags_and_options_come_many_at_once_too(tmp_path, monkeypatch, link, max_tags, all_at_once):
    frames = wire.recorded(CAPTURES / "aiokafka.jsonl.gz", 4, 60)
    path = tmp_path / "tagged.pcap"
    path.write_bytes(wire.pcap(wire.conversations(frames, Random(1)), Random(2), link_type=link))
    with DecompressedFile(str(path)) as source:
        packets = [one.data for one in read_packets(source, read_format(source), None, [])]
    internet_starts = [network_start(link, one) for one in packets]
    assert len({*internet_starts}) > 1, "some with tags"
    assert len({one[at] for one, at in zip(packets, internet_starts, strict=True)}) > 1, "some with options"
    monkeypatch.setattr(segment_columns, "MAX_TAGS", max_tags)
    with DecompressedFile(str(path)) as source:
        columns = [*read_many(source, read_format(source), None, [])]
    assert all_at_once == (not any(one.alone for one in columns))
    assert segments_many(path)[:4] == segments_one_by_one(path)


@pytest.mark.parametrize("kind", ["whole", "disturbed", "lost"])
def test_workers_are_given_the_same_segments(tmp_path, one_by_one, kind):
    rng = Random(5)
    segments = wire.conversations(wire.recorded(CAPTURES / "kafka-python.jsonl.gz", 6, 80), rng, cut=300)
    path = tmp_path / "a.pcapng"
    path.write_bytes(wire.pcapng(seen_on(kind, segments, rng), rng))

    def given_to_workers():
        _, _, here = planned(path, 4, tmp_path, workers=3)
        return [
            [columns.segment(row) for columns in map(columns_in, chunks) for row in range(len(columns.offset))]
            for chunks in here.chunks[:3]
        ]

    many = given_to_workers()
    one_by_one()
    assert many == given_to_workers()
    assert all(many)
