"""Frames that the native reader of packets gives, held equal to those of Python: captures, networks, damage."""

from __future__ import annotations

import gzip
from dataclasses import replace
from random import Random
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_rack.wire_capture import captures
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from protocol.fuzz import damaged
from tests.fixture_data import CAPTURES
from tests.unit.kafka_rack.wire_capture import wire
from tests.unit.kafka_rack.wire_capture.packet_files import CLIENT, SERVER, Sent, pcap

SOME = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=60)
FILES = sorted(path for path in CAPTURES.iterdir() if ".pcap" in path.name)
NAMES = ("aiokafka", "kcat", "java41-produce", "java41-txn", "franz-go", "zk39-ibp0101")
BROKERS = "1:a=:9092,2=10.1.0.2:9092"


def described(asked):
    return asked and (asked.frame, asked.ts, asked.correlation_id, asked.data, asked.kind.head)


def frames_in(paths, options):
    """All that the frames of a capture have, what could not be read, and the state afterwards."""
    found, _ = find_files(map(str, paths))
    problems, frames, ends = [], [], []
    for file in captures.joined_captures(found):
        state, read = captures.read_frames(file, options, problems)
        for frame in read:
            connection = frame.connection
            frames.append(
                (
                    *(
                        frame.index,
                        frame.ts,
                        frame.is_request,
                        frame.data,
                        described(frame.asked),
                        frame.correlation_id,
                    ),
                    *(frame.error, frame.offset, [*map(described, frame.passed_over)]),
                    *(connection.number, connection.client, connection.broker, connection.rack),
                )
            )
        waiting = {number: (one.asked_bytes, [*one.asked]) for number, one in state.connections.items()}
        ends.append((state.frames, state.known, waiting))
    return frames, problems, ends


def same_frames(paths, options=Options()):  # noqa: B008  it is frozen
    """The frames of both readers, which are the same, and how many packets the native one left to Python."""
    with mock.patch.object(captures, "core", None):
        expected = frames_in(paths, options)
    with mock.patch.object(captures, "segment_in", wraps=captures.segment_in) as segment_in:
        assert frames_in(paths, options) == expected
    return expected[0], segment_in.call_count


def write(tmp_path_factory, content, name="seen.pcap"):
    path = tmp_path_factory.mktemp("packets") / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_captures_give_the_same_frames_of_which_python_reads_few(path):
    frames, left_to_python = same_frames([path])
    assert left_to_python < len(frames) / 2


@SOME
@given(
    seed=st.integers(0, 1 << 32),
    name=st.sampled_from(NAMES),
    version=st.sampled_from([4, 6]),
    cut=st.sampled_from([50, 200, 1448, 60_000]),
    disturbances=st.sets(st.sampled_from(["order", "loss", "snap", "start", "noise"]), max_size=3),
    kind=st.sampled_from([0, 1, 12, 101, 113, 276, "pcapng"]),
    order=st.sampled_from("<>"),
    options=st.sampled_from([Options(), Options.parse("9092", None), Options.parse(None, BROKERS)]),
)
def test_networks_give_the_same_frames(tmp_path_factory, seed, name, version, cut, disturbances, kind, order, options):
    rng = Random(seed)
    frames = wire.recorded(CAPTURES / f"{name}.jsonl.gz", version, 60)
    segments = wire.conversations(frames, rng, cut=cut, handshake="start" not in disturbances)
    if "order" in disturbances:
        segments = wire.disturbed(segments, rng)
    if "loss" in disturbances:
        segments = [one for one in segments if rng.random() > 0.03]
    if "snap" in disturbances:
        segments = [
            replace(one, kept=rng.randrange(len(one.data))) if one.data and rng.random() < 0.05 else one
            for one in segments
        ]
    if "start" in disturbances:
        segments = segments[rng.randrange(len(segments)) :]
    if "noise" in disturbances:
        segments = [
            replace(one, data=rng.randbytes(len(one.data))) if one.data and rng.random() < 0.02 else one
            for one in segments
        ]
    if kind == "pcapng":
        content = wire.pcapng(segments, rng, order=order)
    else:
        content = wire.pcap(segments, rng, link_type=kind, order=order, ticks=rng.choice([10**6, 10**9]))
    assert same_frames([write(tmp_path_factory, content)], options)


@SOME
@given(st.data(), st.sampled_from(FILES))
def test_damaged_files_give_the_same_frames(tmp_path_factory, data, file):
    content = gzip.decompress(file.read_bytes())[:40_000]
    assert same_frames([write(tmp_path_factory, data.draw(damaged(content)), file.name.removesuffix(".gz"))])


@pytest.mark.parametrize("packet", [0, 1, 40])
def test_a_packet_of_another_time_gives_the_same_frames(tmp_path_factory, packet):
    content = bytearray(gzip.decompress(FILES[1].read_bytes())[:40_000])
    at = 24
    for _ in range(packet):
        at += 16 + int.from_bytes(content[at + 8 : at + 12], "little")
    content[at + 3] ^= 1
    assert same_frames([write(tmp_path_factory, bytes(content))])


def test_rotated_files_give_the_same_frames(tmp_path):
    content = gzip.decompress(FILES[0].read_bytes())
    at, cuts = 24, [24]
    while at < len(content):
        at += 16 + int.from_bytes(content[at + 8 : at + 12], "little")
        cuts.append(at)
    middle = cuts[len(cuts) // 2]
    for name, part in (("a.pcap", content[24:middle]), ("a.pcap1", content[middle:])):
        (tmp_path / name).write_bytes(content[:24] + part)
    frames, left_to_python = same_frames([tmp_path])
    assert left_to_python < len(frames) / 2


REQUESTS = (b"\0\3\0\1%b\0\1a\0\0\0\0", b"\0\0\0\3%b\0\1a\xff\xff\0\0\0\0\0\0\0\0\0\0", b"\0\7\0\0%b\0\0\0\1")
"""Metadata, Produce without acks, ControlledShutdown without a client id."""
ODD = (b"\0\0\0\x08\0\7\0\0%b", b"\0\0\0\x09\0\3\0\1%b\0", b"\0\0\0\5\0\1\2\3\4", b"\xff\xff\xff\xff%b", b"%b")
"""The shortest request, one that is too short, and what is no frame."""


@SOME
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 7)), max_size=40), st.integers(1, 40))
def test_frames_of_any_kind_in_any_order_are_the_same(tmp_path_factory, steps, cut):
    at = {CLIENT: 1001, SERVER: 5001}
    segments = [Sent(5, CLIENT, SERVER, 1000, flags=2), Sent(6, SERVER, CLIENT, 5000, flags=18)]
    streams = []
    for is_request, number, sort in [(True, 9, 0), *steps]:
        number_bytes = number.to_bytes(4, "big")
        body = REQUESTS[sort % 3] if is_request else b"%b\0\0"
        data = len(body % number_bytes).to_bytes(4, "big") + body % number_bytes
        if sort >= len(REQUESTS):
            odd = ODD[sort - len(REQUESTS)]
            data = odd.replace(b"%b", number_bytes)
        streams.append((is_request, data))
    for is_request, data in streams:
        source, target = (CLIENT, SERVER) if is_request else (SERVER, CLIENT)
        for start in range(0, len(data), cut):
            segments.append(Sent(7, source, target, at[source], data[start : start + cut]))
            at[source] += len(data[start : start + cut])
    assert same_frames([write(tmp_path_factory, pcap(segments))])
