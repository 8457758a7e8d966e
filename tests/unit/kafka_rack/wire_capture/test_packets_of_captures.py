"""Captures of real clients as packets of every kind: the frames are those of the recorder, and nothing is made up."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.wire_tables.reading import decode_paths
from tests.fixture_data import CAPTURES
from tests.unit.kafka_rack.wire_capture import wire

NAMES = ("aiokafka", "kafka-python", "kcat", "java41-produce", "java41-txn", "franz-go", "zk39-ibp0101")


def address(endpoint):
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def told(frames):
    """Of each frame what its header gives, without reading its body."""
    return Counter(
        (
            address(frame.client),
            "request" if frame.is_request else "response",
            int.from_bytes(frame.data[4:8] if frame.is_request else frame.data[:4], "big", signed=True),
            len(frame.data) + 4,
        )
        for frame in frames
    )


def found(rows):
    keys = ("client_addr", "direction", "correlation_id", "frame_bytes")
    return Counter(tuple(row[key] for key in keys) for row in rows.as_dicts("frames"))


def read(tmp_path_factory, content, name="seen.pcap"):
    path = tmp_path_factory.mktemp("wire") / name
    path.write_bytes(content)
    return decode_paths([str(path)])


def captured(name, version, limit=60):
    return wire.recorded(CAPTURES / f"{name}.jsonl.gz", version, limit)


@given(
    seed=st.integers(0, 1 << 32),
    name=st.sampled_from(NAMES),
    version=st.sampled_from([4, 6]),
    cut=st.sampled_from([50, 200, 1448, 60_000]),
    disturbed=st.booleans(),
    kind=st.sampled_from([0, 1, 12, 14, 101, 108, 113, 228, 276, "pcapng"]),
    order=st.sampled_from("<>"),
)
def test_any_link_order_cut_and_disturbance_gives_the_recorders_frames(
    tmp_path_factory, seed, name, version, cut, disturbed, kind, order
):
    """Sequence numbers that wrap, repeats with other cuts, overlaps, keep-alives, options and tags among it."""
    rng = Random(seed)
    frames = captured(name, version)
    segments = wire.conversations(frames, rng, cut=cut)
    if disturbed:
        segments = wire.disturbed(segments, rng)
    if kind == "pcapng":
        links = rng.sample([0, 1, 101, 108, 113, 276], 3)
        content = wire.pcapng(segments, rng, link_types=links, order=order)
    else:
        link = {4: 228, 6: 229}[version] if kind == 228 else kind
        content = wire.pcap(segments, rng, link_type=link, order=order, ticks=rng.choice([10**6, 10**9]))
    rows = read(tmp_path_factory, content)
    assert found(rows) == told(frames)
    assert rows.as_dicts("problems") == []


def test_two_captures_in_one_file_give_the_frames_of_both(tmp_path_factory):
    rng = Random(7)
    both = [*captured("aiokafka", 4, 150), *captured("kcat", 6, 150)]
    first = min(frame.ts for frame in both)
    start = {frame.client: frame.ts for frame in reversed(both)}
    moved = [wire.replace(frame, ts=first + frame.ts - start[frame.client]) for frame in both]
    rows = read(tmp_path_factory, wire.pcapng(wire.conversations(moved, rng), rng))
    assert found(rows) == told(both)


def test_times_of_every_clock_are_those_of_the_recorder(tmp_path_factory):
    """Ticks of 2^-20 s round; the others hold each microsecond."""
    frames = [frame for frame in captured("aiokafka", 4) if frame.is_request]
    rng = Random(3)
    whole = wire.conversations(frames, rng, together=0)
    for content in (wire.pcapng(whole, rng), wire.pcap(whole, rng, ticks=10**9, order=">")):
        rows = read(tmp_path_factory, content).as_dicts("frames")
        times = {(row["client_addr"], row["correlation_id"]): row["ts"] for row in rows}
        for frame in frames:
            found_at = times[address(frame.client), int.from_bytes(frame.data[4:8], "big")]
            assert 0 <= found_at - frame.ts <= 1


@given(seed=st.integers(0, 1 << 32), name=st.sampled_from(NAMES), loss=st.sampled_from([0.005, 0.03, 0.2]))
def test_loss_costs_frames_and_never_makes_some_up(tmp_path_factory, seed, name, loss):
    """Packets are missing, others are cut off by the recorder; every frame that comes out was sent. What each client
    sends first is there: without it, and with little more, nothing tells that a connection is Kafka's.
    """
    rng = Random(seed)
    frames = captured(name, 4, 120)
    kept: list[wire.Seg] = []
    begun = set()
    for one in wire.conversations(frames, rng, cut=600):
        fate = rng.random()
        if one.data and one.source[1] != 9092 and one.source not in begun:
            begun.add(one.source)
            fate = 1
        if one.data and fate < loss / 2:
            kept.append(wire.replace(one, kept=rng.randrange(len(one.data))))
        elif fate >= loss or not one.data:
            kept.append(one)
    rows = read(tmp_path_factory, wire.pcap(kept, rng))
    sent = told(frames)
    missing = sent - found(rows)
    assert found(rows) - sent == Counter()
    assert not missing or rows.as_dicts("problems")


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_that_begins_in_the_middle_makes_nothing_up(tmp_path_factory, name):
    for seed in range(12):
        rng = Random(seed)
        frames = captured(name, 4, 120)
        segments = wire.conversations(frames, rng, cut=600, handshake=False)
        rows = read(tmp_path_factory, wire.pcap(segments[rng.randrange(len(segments) // 2) :], rng))
        assert found(rows) - told(frames) == Counter()
