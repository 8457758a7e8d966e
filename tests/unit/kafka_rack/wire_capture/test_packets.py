"""Kafka's frames out of packets, however they are cut, mixed up, repeated or lost."""

from __future__ import annotations

import gzip
import random
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_tables.reading import decode_paths
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.headers import request_frame, response_frame
from tests.unit.kafka_rack.wire_capture.packet_files import (
    CLIENT,
    COOKED,
    COOKED_V2,
    ETHERNET,
    NULL,
    RAW,
    SERVER,
    Sent,
    pcap,
    pcapng,
)

SYN, SYN_ACK, FIN = 0x02, 0x12, 0x11
VERSION = 12
START = 1_700_000_000_000_000


def request(number, topics=1):
    names = [MetadataRequest.Topic(name=f"topic-{number}-{at}") for at in range(topics)]
    return request_frame(MetadataRequest(topics=names), VERSION, correlation_id=number, client_id="packets")


def response(number, brokers=1):
    told = [
        MetadataResponse.Broker(node_id=at, host="127.0.0.1", port=9092 + at, rack=f"r{at}") for at in range(brokers)
    ]
    return response_frame(MetadataResponse(brokers=told), VERSION, correlation_id=number)


def conversation(calls=4, cut=None, *, handshake=True, client=CLIENT, server=SERVER, first=1000):
    """Calls as segments of ``cut`` bytes, each response behind its request."""
    segments, at = [], {client: first, server: 2 * first % (1 << 32)}
    ts = START
    if handshake:
        segments.append(Sent(ts, client, server, at[client] - 1, flags=SYN))
        segments.append(Sent(ts, server, client, at[server] - 1, flags=SYN_ACK))
    for number in range(calls):
        for source, target, data in ((client, server, request(number, 9)), (server, client, response(number, 3))):
            for begin in range(0, len(data), cut or len(data)):
                ts += 100
                piece = data[begin : begin + (cut or len(data))]
                segments.append(Sent(ts, source, target, at[source] % (1 << 32), piece))
                at[source] += len(piece)
    return segments


def decode(tmp_path, content, name="test.pcap", options=None):
    path = tmp_path / name
    path.write_bytes(content)
    rows = decode_paths([str(path)], options)
    return rows.as_dicts("frames"), rows.as_dicts("problems")


def whole(frames, calls=4):
    """Whether exactly these calls were read, each without a fault."""
    found = sorted((row["correlation_id"], row["direction"], row["error"]) for row in frames)
    return found == sorted((number, side, None) for number in range(calls) for side in ("request", "response"))


@pytest.mark.parametrize("link_type", [ETHERNET, NULL, RAW, COOKED, COOKED_V2])
@pytest.mark.parametrize("hosts", [("127.0.0.1", "127.0.0.1"), ("fd00::1", "fd00::2")])
@pytest.mark.parametrize("order", ["<", ">"])
def test_each_link_type_and_address_family_gives_the_frames(tmp_path, link_type, hosts, order):
    segments = conversation(client=(hosts[0], 40000), server=(hosts[1], 9092))
    for writer in (pcap, pcapng):
        frames, problems = decode(tmp_path, writer(segments, link_type, order))
        assert whole(frames)
        assert problems == []
        assert frames[0]["ts"] == START + 100
        assert frames[0]["broker_rack"] == "r0"


def test_nanoseconds_are_cut_to_microseconds(tmp_path):
    frames, _ = decode(tmp_path, pcap(conversation(), nanoseconds=True))
    assert frames[0]["ts"] == START + 100


@pytest.mark.parametrize("cut", [1, 3, 17])
def test_frames_across_packets_are_whole(tmp_path, cut):
    frames, problems = decode(tmp_path, pcap(conversation(cut=cut)))
    assert whole(frames)
    assert problems == []


def test_several_frames_share_a_packet(tmp_path):
    requests = b"".join(request(number) for number in range(4))
    responses = b"".join(response(number) for number in range(4))
    segments = [
        Sent(START, CLIENT, SERVER, 9, flags=SYN),
        Sent(START + 1, CLIENT, SERVER, 10, requests),
        Sent(START + 2, SERVER, CLIENT, 500, responses),
    ]
    assert whole(decode(tmp_path, pcap(segments))[0])


@given(seed=st.integers(0, 2**32), first=st.sampled_from([1000, (1 << 32) - 300]))
def test_reordered_repeated_and_overlapping_segments_change_nothing(tmp_path_factory, seed, first):
    rng = random.Random(seed)
    segments = conversation(cut=rng.choice([7, 20, 50]), first=first)
    mixed = []
    for at, one in enumerate(segments):
        mixed.append((at + (rng.uniform(0, 6) if at > 1 else 0), one))
        if one.data and rng.random() < 0.3:
            mixed.append((at + rng.uniform(0, 20), one))
        if one.data and rng.random() < 0.2:
            following = next((other for other in segments[at + 1 :] if other.source == one.source and other.data), None)
            if following is not None:
                longer = Sent(one.ts, one.source, one.target, one.sequence, one.data + following.data)
                mixed.append((at + rng.uniform(0, 9), longer))
    mixed.sort(key=lambda pair: pair[0])
    frames, problems = decode(tmp_path_factory.mktemp("mixed"), pcap([one for _, one in mixed]))
    assert whole(frames)
    assert problems == []


def test_a_lost_segment_costs_its_frames_and_is_told(tmp_path):
    segments = conversation(calls=6, cut=30)
    lost = next(one for one in segments if one.source == SERVER and one.data and one.ts > START + 3000)
    frames, problems = decode(tmp_path, pcap([one for one in segments if one is not lost]))
    missing = 12 - len(frames)
    assert missing == 1
    assert all(row["error"] is None for row in frames)
    assert any(f"{len(lost.data)} bytes of responses" in row["reason"] for row in problems)


@pytest.mark.parametrize("skipped", [1, 2, 5, 9])
def test_a_capture_that_starts_in_the_middle_finds_the_next_frame(tmp_path, skipped):
    segments = [one for one in conversation(calls=8, cut=40) if one.data][skipped:]
    frames, _ = decode(tmp_path, pcap(segments))
    requests = [row for row in frames if row["direction"] == "request"]
    assert [row["correlation_id"] for row in requests] == list(range(8 - len(requests), 8))
    assert len(requests) >= 6
    assert all(row["error"] is None for row in requests)
    paired = [row["correlation_id"] for row in frames if row["direction"] == "response" and row["error"] is None]
    assert set(paired) >= {row["correlation_id"] for row in requests}


def test_other_traffic_is_left_alone(tmp_path):
    other, server = ("10.0.0.9", 51000), ("10.0.0.8", 80)
    page = [
        Sent(START, other, server, 5, flags=SYN),
        Sent(START + 1, other, server, 6, b"GET / HTTP/1.1\r\nHost: example\r\n\r\n"),
        Sent(START + 2, server, other, 90, b"HTTP/1.1 200 OK\r\n\r\n"),
    ]
    frames, problems = decode(tmp_path, pcap(page + conversation()))
    assert whole(frames)
    assert problems == []


def test_given_ports_and_brokers_name_the_broker_before_it_names_itself(tmp_path):
    options = Options.parse("9092", "7:zone-z=:9092")
    frames, _ = decode(tmp_path, pcap(conversation()), options=options)
    assert {(row["broker"], row["broker_rack"]) for row in frames[:1]} == {(7, "zone-z")}


@pytest.mark.parametrize("where", [":9092", "127.0.0.1:9092"])
def test_given_brokers_stay_what_they_are_said_to_be(tmp_path, where):
    """Metadata in the capture calls it broker 0 on rack r0; connections that begin after it too."""
    second = conversation(client=("127.0.0.1", 40001), first=9000)
    segments = [*conversation(), *(replace(one, ts=one.ts + 100_000) for one in second)]
    for said, rack in (("7:zone-z", "zone-z"), ("0:zone-y", "zone-y"), ("0", "r0")):
        frames, _ = decode(tmp_path, pcap(segments), options=Options.parse(None, f"{said}={where}"))
        assert {(row["broker"], row["broker_rack"]) for row in frames} == {(int(said[0]), rack)}


def test_ports_that_are_not_given_are_not_read(tmp_path):
    assert decode(tmp_path, pcap(conversation()), options=Options.parse("9999", None)) == ([], [])


@pytest.mark.parametrize("writer", [pcap, pcapng])
def test_every_prefix_gives_its_good_part(tmp_path, writer):
    content = writer(conversation(calls=2))
    before = 0
    for size in range(24, len(content), 37):
        frames, _ = decode(tmp_path, content[:size])
        assert len(frames) >= before
        assert [row["frame"] for row in frames] == list(range(len(frames)))
        before = len(frames)


@given(at=st.integers(24, 2000), byte=st.integers(0, 255))
def test_any_damaged_byte_leaves_the_rest_readable(tmp_path_factory, at, byte):
    content = bytearray(pcap(conversation(calls=8)))
    content[at % len(content)] = byte
    frames, _ = decode(tmp_path_factory.mktemp("damaged"), bytes(content))
    assert len({row["frame"] for row in frames}) == len(frames)


def test_a_cut_off_file_says_where(tmp_path):
    content = pcap(conversation())
    _, problems = decode(tmp_path, content[:-5])
    assert problems[0]["reason"].split(":")[0] == "the file ends within a packet"
    assert problems[0]["offset"] > 0
    squeezed = gzip.compress(content)
    _, problems = decode(tmp_path, squeezed[: len(squeezed) - 20], "test.pcap.gz")
    assert problems


def test_a_snapped_packet_counts_as_loss(tmp_path):
    segments = conversation(calls=2)
    content = pcap(segments)
    data = bytearray(content[:24])
    at = 24
    number = 0
    while at < len(content):
        seconds, us, size, wire = struct.unpack_from("<IIII", content, at)
        kept = size - 10 if number == 3 else size
        data += struct.pack("<IIII", seconds, us, kept, wire) + content[at + 16 : at + 16 + kept]
        at += 16 + size
        number += 1
    frames, problems = decode(tmp_path, bytes(data))
    assert len(frames) == 3
    assert any("10 bytes of responses" in row["reason"] for row in problems)


def test_a_response_that_reads_as_a_request_makes_no_server_of_the_client(tmp_path):
    """The answer to request 3 begins as Produce of version 3 would; a capture may begin with it."""
    segments = [one for one in conversation(calls=8) if one.data]
    at = next(number for number, one in enumerate(segments) if one.source == SERVER and one.data[4:8] == b"\0\0\0\3")
    frames, _ = decode(tmp_path, pcap(segments[at:]))
    assert {row["client_addr"] for row in frames} == {"127.0.0.1:40000"}
    assert [row["correlation_id"] for row in frames if row["direction"] == "request"] == [4, 5, 6, 7]


@pytest.mark.parametrize(
    "first",
    [
        # ZooKeeper's connect request: length, protocol version, zxid, timeout, session, password, read only
        struct.pack(">iiqiqi16s?", 45, 0, 0, 30_000, 0, 16, bytes(16), False),
        # PostgreSQL's startup: length, version 3.0, names and values
        struct.pack(">ihh", 120, 3, 0) + b"user\0postgres\0database\0orders\0client_encoding\0UTF8\0".ljust(112, b"\0"),
    ],
)
def test_other_protocols_that_begin_like_a_request_are_left_alone(tmp_path, first):
    other, server = ("10.0.0.9", 51000), ("10.0.0.8", 2181)
    session = [
        Sent(START, other, server, 5, flags=SYN),
        Sent(START + 1, server, other, 90, flags=SYN_ACK),
        Sent(START + 2, other, server, 6, first),
        Sent(START + 3, server, other, 91, first),
    ]
    frames, problems = decode(tmp_path, pcap(session + conversation()))
    assert whole(frames)
    assert problems == []


def test_a_syn_that_comes_again_late_opens_nothing(tmp_path):
    """As where two points of a bridge are captured and their clocks differ."""
    segments = conversation()
    frames, problems = decode(tmp_path, pcap([*segments[:5], segments[0], *segments[5:]]))
    assert whole(frames)
    assert problems == []


def test_ports_that_are_used_again_make_another_connection(tmp_path):
    """After a connection that was refused, after one that was reset, and after other traffic."""
    refused = [Sent(START - 900, CLIENT, SERVER, 77, flags=SYN), Sent(START - 800, SERVER, CLIENT, 0, flags=0x14)]
    chat = [
        Sent(START - 700, CLIENT, SERVER, 7000, flags=SYN),
        Sent(START - 600, CLIENT, SERVER, 7001, b"hello there, this is no Kafka"),
    ]
    first = [*conversation(calls=3), Sent(START + 5000, CLIENT, SERVER, 0, flags=0x14)]
    again = [replace(one, ts=one.ts + 10_000) for one in conversation(3, first=90_000)]
    frames, problems = decode(tmp_path, pcap([*refused, *chat, *first, *again]))
    assert sorted(row["correlation_id"] for row in frames) == sorted([0, 1, 2] * 4)
    assert len({row["conn"] for row in frames}) == 2
    assert problems == []


def test_bytes_missing_before_the_end_of_a_connection_are_told(tmp_path):
    segments = conversation()
    last = segments[-1]
    end = replace(last, ts=last.ts + 10, sequence=last.sequence + len(last.data), data=b"", flags=FIN)
    frames, problems = decode(tmp_path, pcap([*segments[:-1], end]))
    assert len(frames) == 7
    (problem,) = problems
    assert problem["reason"] == f"{len(last.data)} bytes of responses on connection 127.0.0.1:40000 are missing"


def test_a_hole_waits_its_own_time_and_not_that_of_one_before_it(tmp_path):
    """The second hole is filled 2.9 s after it came, 3.4 s after the first did."""
    segments = conversation(calls=6)
    requests = [one for one in segments if one.source == CLIENT and one.data]
    others = [one for one in segments if one.source != CLIENT and one.data]
    s = 1_000_000
    order = [
        *segments[:2],
        replace(requests[1], ts=START),
        replace(requests[3], ts=START + s // 2),
        replace(requests[0], ts=START + s),
        replace(requests[2], ts=START + 34 * s // 10),
        replace(requests[4], ts=START + 34 * s // 10),
        replace(requests[5], ts=START + 34 * s // 10),
        *[replace(one, ts=START + 4 * s) for one in others],
    ]
    frames, problems = decode(tmp_path, pcap(order))
    assert whole(frames, 6)
    assert problems == []
