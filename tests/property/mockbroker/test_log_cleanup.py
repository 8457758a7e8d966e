"""Retention and compaction beside plain models: what is left can be read, at the offsets that it always had."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from mockbroker.core.simulation import Simulation
from protocol.records import CompressionCodec, Record, build_batch, iter_records
from tests.unit.mockbroker.handlers.records import fetch, produce

TOPIC = "keyed"
BACKOFF_MS = 15_000
FIRST_CHECK_MS = 30_000
DELETE_RETENTION_MS = 60_000


class Written(NamedTuple):
    """A record as it was written."""

    offset: int
    key: bytes
    value: bytes | None


class Step(NamedTuple):
    """A batch, and how much later the next one comes."""

    pairs: list[tuple[bytes, bytes | None]]
    codec: CompressionCodec
    producer: int | None
    then_ms: int


PAIRS = st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.none() | st.binary(max_size=3))
STEPS = st.lists(
    st.builds(
        Step,
        st.lists(PAIRS, min_size=1, max_size=3),
        st.sampled_from([CompressionCodec.NONE, CompressionCodec.GZIP]),
        st.none() | st.sampled_from([7, 8]),
        st.sampled_from([0, 1, 3000, 20_000, 80_000]),
    ),
    min_size=1,
    max_size=14,
)


def cluster_of(**configs: str) -> Simulation:
    sim = Simulation("a")
    sim.cluster.replication_control.create(
        TOPIC, 1, 1, configs={name.replace("_", "."): value for name, value in configs.items()}
    )
    return sim


def write(sim: Simulation, step: Step, sequences: dict[int, int]) -> list[Written]:
    fields = {}
    if step.producer is not None:
        sequence = sequences.get(step.producer, 0)
        sequences[step.producer] = sequence + len(step.pairs)
        fields = {"producer_id": step.producer, "producer_epoch": 0, "base_sequence": sequence}
    records = [Record(key=key, value=value, timestamp=sim.now_ms) for key, value in step.pairs]
    entry = produce(sim, build_batch(records, codec=step.codec, **fields), topic=TOPIC)
    assert entry.error_code == 0
    return [Written(entry.base_offset + place, key, value) for place, (key, value) in enumerate(step.pairs)]


def read_all(sim: Simulation) -> list[Written]:
    """What a consumer reads who begins where the log starts."""
    log = sim.cluster.topics[TOPIC].partitions[0].log
    offset, found = log.start_offset, []
    while offset < log.end_offset:
        entry = fetch(sim, offset, topic=TOPIC)
        assert entry.error_code == 0
        if not entry.records:
            break
        found += [
            Written(one.offset, one.key, one.value) for one in iter_records(entry.records) if one.offset >= offset
        ]
        last = list(log.batches(offset))
        read = len(entry.records)
        while read > 0:
            batch = last.pop(0)
            read -= len(batch.data)
            offset = batch.last_offset + 1
    return found


@given(STEPS)
def test_what_compaction_leaves_is_the_last_of_each_key_where_it_was_written(steps):
    sim = cluster_of(
        cleanup_policy="compact",
        segment_ms="2000",
        min_cleanable_dirty_ratio="0",
        delete_retention_ms=str(DELETE_RETENTION_MS),
    )
    log = sim.cluster.topics[TOPIC].partitions[0].log
    written: list[Written] = []
    sequences: dict[int, int] = {}
    for step in steps:
        written += write(sim, step, sequences)
        sim.advance(step.then_ms)
        assert log.end_offset == written[-1].offset + 1
    sim.advance(BACKOFF_MS)
    cleaned = log.cleaned_offset
    assert cleaned == log.segments[-1].base_offset
    last = {one.key: one.offset for one in written if one.offset < cleaned}
    wanted = [one for one in written if one.offset >= cleaned or last[one.key] == one.offset]
    found = read_all(sim)
    assert [one for one in wanted if one not in found and one.value is not None] == [], "only tombstones may be gone"
    assert [one for one in found if one not in wanted] == []
    assert found == sorted(found)
    assert (
        log.size_bytes == sum(len(batch.data) for batch in log.batches()) == sum(one.size_bytes for one in log.segments)
    )


@given(STEPS, st.sampled_from([7, 8]))
def test_sequences_go_on_after_a_producers_records_were_compacted(steps, producer):
    sim = cluster_of(cleanup_policy="compact", segment_ms="2000", min_cleanable_dirty_ratio="0")
    sequences: dict[int, int] = {}
    for step in steps:
        write(sim, step, sequences)
        sim.advance(step.then_ms)
    sim.advance(BACKOFF_MS)
    partition = sim.cluster.topics[TOPIC].partitions[0]
    known = {one: state.batches[-1].last_sequence for one, state in partition.producers.by_id.items()}
    partition._producers = None  # as after a restart, which reads the log
    assert {one: state.batches[-1].last_sequence for one, state in partition.producers.by_id.items()} == known
    write(sim, Step([(b"a", b"more")], CompressionCodec.NONE, producer, 0), sequences)


@given(STEPS, st.integers(0, 35_000), st.none() | st.integers(0, 800))
def test_retention_leaves_whole_segments_and_nothing_that_should_have_gone(steps, retention_ms, retention_bytes):
    sim = cluster_of(
        segment_ms="2000",
        retention_ms=str(retention_ms),
        retention_bytes=str(-1 if retention_bytes is None else retention_bytes),
    )
    log = sim.cluster.topics[TOPIC].partitions[0].log
    segments: list[list[tuple[int, int, list[Written]]]] = []  # of (time, size, records)
    sequences: dict[int, int] = {}
    for step in steps:
        size_before, now_ms = log.size_bytes, sim.now_ms
        records = write(sim, step, sequences)
        if not segments or now_ms - segments[-1][0][0] > 2000:
            segments.append([])
        segments[-1].append((now_ms, log.size_bytes - size_before, records))
        sim.advance(min(step.then_ms, 2001))
    assert read_all(sim) == [record for one in segments for _, _, records in one for record in records]
    sim.advance(FIRST_CHECK_MS - sim.now_ms)
    total = sum(size for one in segments for _, size, _ in one)
    while segments and retention_bytes is not None:
        total -= sum(size for _, size, _ in segments[0])
        if total < retention_bytes:
            break
        segments.pop(0)
    while segments and FIRST_CHECK_MS - max(time for time, _, _ in segments[0]) > retention_ms:
        segments.pop(0)
    assert read_all(sim) == [record for one in segments for _, _, records in one for record in records]
    assert log.start_offset == (segments[0][0][2][0].offset if segments else log.end_offset)
