"""Files of packets planned by many workers: the same blocks as a single walk gives, wherever and by whom it is read."""

from __future__ import annotations

import gzip
import pickle
import struct
from dataclasses import replace
from random import Random

import msgspec
import pytest

from kafka_rack.wire_capture import connections, frames, packet_ranges
from kafka_rack.wire_capture.captures import Options, beginning, brokers_told
from kafka_rack.wire_capture.files import look_at
from kafka_rack.wire_capture.frames import RequestKind
from kafka_rack.wire_capture.packet_planning import plan_packets
from kafka_rack.wire_capture.splits import walk
from kafka_rack.wire_tables.reading import decode_into, decode_paths
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES
from tests.unit.kafka_rack.wire_capture import wire
from tests.unit.kafka_rack.wire_capture.packet_files import CLIENT, SERVER, Sent, pcap

PACKETS = sorted(path.name for path in CAPTURES.glob("*.pcap*.gz"))


class Here:
    """Workers in this process; what they exchange is packed as it would be for others."""

    def __init__(self, count):
        self.count = count
        self.rounds = self.walks = 0

    def read(self, ranges, read):
        self.rounds += 1
        chunks = [one for wanted in reversed(ranges) for one in pickle.loads(pickle.dumps(read))(wanted)]
        self.chunks = [
            [data for _, data in sorted(one for one in chunks if one[0][0] == worker)]
            for worker in range(self.count + 1)
        ]
        return self.chunks[self.count]

    def walk(self, walk, targets):
        self.walks += 1
        self.told = [[] for _ in range(targets)]
        for worker in range(self.count):
            for target, data in pickle.loads(pickle.dumps(walk))(iter(self.chunks[worker])):
                self.told[target].insert(0, data)
        return self.told[-1]

    def at(self, targets, work):
        return [pickle.loads(pickle.dumps(work))(target, list(self.told[target])) for target in targets]


def planned(path, blocks, tmp_path, *, workers=3, options=None):
    file = look_at(path)
    here = Here(workers)
    block_bytes = -(-file.size // blocks)
    return plan_packets(file, options or Options(), block_bytes, here, tmp_path / "places"), block_bytes, here


def rows_of(blocks, options=None):
    rows = Rows()
    for block in pickle.loads(pickle.dumps(blocks)):
        pieces = decode_into(rows, block.file, block.opened(), options or Options(), end=block.end)
        for _ in pieces:
            pass
    return tables(rows)


def tables(rows):
    return {table: sorted(map(repr, rows.of(table))) for table in TABLES}


def plain(value):
    """Anything that reading carries along, as what can be compared; dictionaries with their order."""
    if isinstance(value, RequestKind):
        return value.head
    if isinstance(value, msgspec.Struct):
        return type(value).__name__, {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return [(plain(key), plain(inner)) for key, inner in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return bytes(value) if isinstance(value, bytearray) else value


def comparable(place):
    """A place without orders that mean nothing."""
    traffic = place.traffic
    place.state.connections = dict(sorted(place.state.connections.items()))
    traffic.servers = dict(sorted(traffic.servers.items()))
    place.told = traffic.told = None
    known = place.state.known
    for name in ("topics", "leaders", "racks", "endpoints"):
        setattr(known, name, dict(sorted(getattr(known, name).items())))
    return plain(place)


@pytest.mark.parametrize(
    ("name", "linger_bytes"), [*((name, 16 << 20) for name in PACKETS), *((name, 1000) for name in PACKETS[:2])]
)
def test_places_and_rows_are_those_of_a_single_walk(tmp_path, monkeypatch, name, linger_bytes):
    monkeypatch.setattr(connections, "LINGER_BYTES", linger_bytes)
    monkeypatch.setattr(frames, "CHECK_BYTES", 4 * linger_bytes)
    blocks = 7
    path = tmp_path / name.removesuffix(".gz")
    path.write_bytes(gzip.decompress((CAPTURES / name).read_bytes()))
    found, block_bytes, _ = planned(path, blocks, tmp_path)
    file, options = look_at(path), Options()
    place, packed = beginning(file, options), []
    for number in range(1, blocks + 1):
        walk(file, place, options, min(number * block_bytes, file.size))
        packed.append(pickle.dumps(place))
    told = brokers_told(place.state.known, options)
    assert len(found) == blocks
    for block, single in zip(found[1:], packed, strict=False):
        expected = pickle.loads(single)
        expected.hear_of_brokers(told)
        assert comparable(block.opened()) == comparable(expected)
    assert rows_of(found) == tables(decode_paths([str(path)]))


@pytest.mark.parametrize("bound", ["MAX_ALL_ASKED_BYTES", "MAX_OBSERVED_BYTES"])
def test_where_there_is_no_room_for_all_a_single_walk_says_what_is_left_out(tmp_path, monkeypatch, bound):
    monkeypatch.setattr(frames, "CHECK_BYTES", 4000)
    path = tmp_path / "aiokafka.pcap"
    path.write_bytes(gzip.decompress((CAPTURES / "aiokafka.pcap.gz").read_bytes()))
    assert planned(path, 3, tmp_path)[0] is not None
    monkeypatch.setattr(frames, bound, 300)
    assert planned(path, 3, tmp_path)[0] is None
    single, packed = decode_paths([str(path)]), []
    place, file = beginning(look_at(path), Options()), look_at(path)
    for number in range(1, 4):
        packed.append(pickle.dumps(place))
        walk(file, place, Options(), min(number * 50_000, file.size))
    ends = [*(pickle.loads(one).start for one in packed[1:]), file.size]
    told = brokers_told(place.state.known, Options())
    rows = Rows()
    for end, one in zip(ends, packed, strict=True):
        found = pickle.loads(one)
        found.hear_of_brokers(told)
        for _ in decode_into(rows, file, found, Options(), end=end):
            pass
    assert tables(rows) == tables(single)
    assert tables(rows)["problems"]


@pytest.mark.parametrize(
    ("kind", "name", "blocks", "ports"),
    [
        ("whole", "zk39-ibp0101", 2, False),
        ("disturbed", "franz-go", 5, False),
        ("begun before", "java41-txn", 9, False),
        ("begun before", "aiokafka", 4, True),
        ("cut short", "aiokafka", 7, False),
        ("lost", "kafka-python", 6, False),
        ("two sections", "kafka-python", 4, False),
        ("two sections", "java41-txn", 7, False),
    ],
)
def test_whatever_happened_on_the_wire_rows_are_those_of_a_single_reader(tmp_path, kind, name, blocks, ports):
    rng = Random(blocks)
    segments = wire.conversations(wire.recorded(CAPTURES / f"{name}.jsonl.gz", 4, 80), rng, cut=300)
    if kind == "begun before":
        segments = segments[len(segments) // 3 :]
    if kind in ("disturbed", "two sections"):
        segments = wire.disturbed(segments, rng)
    if kind == "lost":
        segments = [one for one in segments if rng.random() < 0.9]
    if kind == "cut short":
        segments = [snapped(one, rng) for one in segments]
    path = tmp_path / ("a.pcapng" if kind == "two sections" else "a.pcap")
    path.write_bytes(wire.pcapng(segments, rng) if kind == "two sections" else wire.pcap(segments, rng))
    options = Options(frozenset([9092]) if ports else frozenset())
    found, _, _ = planned(path, blocks, tmp_path, options=options)
    assert rows_of(found, options) == tables(decode_paths([str(path)], options))


def snapped(one, rng):
    """A segment of which the file may hold fewer bytes than were sent."""
    return replace(one, kept=rng.randrange(len(one.data))) if one.data and rng.random() < 0.05 else one


def pcap_of_requests(count, payload=b"", clients=1):
    """Metadata requests of several clients, each with an answer that cannot be read, and bytes behind its header."""
    segments = []
    at = {}
    for number in range(count):
        client = (CLIENT[0], CLIENT[1] + number % clients)
        if client not in at:
            segments += [Sent(number, client, SERVER, 999, flags=2), Sent(number, SERVER, client, 4999, flags=18)]
            at[client] = [1000, 5000]
        request = struct.pack(">hhih", 3, 1, number, 1) + b"c" + struct.pack(">i", 0)
        response = struct.pack(">i", number) + payload
        for target, source, sequence, data in (
            (SERVER, client, at[client][0], request),
            (client, SERVER, at[client][1], response),
        ):
            framed = struct.pack(">i", len(data)) + data
            segments.append(Sent(10_000 * number, source, target, sequence, framed))
            at[client][target == client] += len(framed)
    return pcap(segments)


def test_a_false_start_within_a_packet_is_found_by_where_the_range_before_ends(tmp_path):
    """Each answer holds packets, as a file of them that is copied over the wire does."""
    inner = pcap([Sent(1_700_000_000_000_000 + number, CLIENT, SERVER, 7, b"y" * 50) for number in range(8)])[24:]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap_of_requests(60, inner))
    found, _, here = planned(path, 9, tmp_path)
    assert here.rounds > 1
    assert rows_of(found) == tables(decode_paths([str(path)]))


def test_brokers_that_show_late_are_found_by_walking_again(tmp_path, monkeypatch):
    """What comes before a connection is known to be Kafka's depends on whether another one showed its server."""
    monkeypatch.setattr(packet_ranges, "HEAD_BYTES", 100)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap_of_requests(40, bytes(20), clients=5))
    found, _, here = planned(path, 5, tmp_path)
    assert here.walks == 2
    assert rows_of(found) == tables(decode_paths([str(path)]))


def test_one_connection_of_nearly_all_bytes_is_spread_over_all_blocks(tmp_path):
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap_of_requests(300, bytes(300)))
    found, block_bytes, here = planned(path, 10, tmp_path)
    assert here.rounds == here.walks == 1
    assert all(block.end - block.start < 2 * block_bytes for block in found)
    assert rows_of(found) == tables(decode_paths([str(path)]))


def test_what_cannot_be_read_to_its_end_is_left_to_a_single_walk(tmp_path):
    path = tmp_path / "a.pcap"
    path.write_bytes(b"\xa1\xb2\xc3\xd4 no header")
    assert planned(path, 2, tmp_path)[0] is None
