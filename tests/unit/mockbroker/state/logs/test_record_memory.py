"""What all logs may hold together, and what becomes of more."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.logs.record_memory import MIN_SEGMENT_BYTES, RECOUNT_MS
from mockbroker.state.settings import KafkaSettings
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import batch, fetch, produce

LIMIT_BYTES = 20 * MIN_SEGMENT_BYTES
BATCH_BYTES = MIN_SEGMENT_BYTES // 4


def simulation(policy: str) -> Simulation:
    """One broker with the topics orders and events, and room for 20 segments."""
    settings = {"records.max.bytes": LIMIT_BYTES, "records.max.bytes.policy": policy}
    sim = Simulation(racks="a", seed=0, settings=settings)
    for name in ("orders", "events"):
        sim.cluster.replication_control.create(name, 2, 1)
    return sim


def held(sim: Simulation) -> int:
    return sum(one.log.size_bytes for topic in sim.cluster.topics.values() for one in topic.partitions)


def fill(sim: Simulation, topic: str, count: int, index: int = 0) -> list[int]:
    """Produce so many batches, a millisecond apart; gives the errors."""
    errors = []
    for _ in range(count):
        errors.append(produce(sim, batch(bytes(BATCH_BYTES)), topic=topic, index=index).error_code)
        sim.advance(ms=1)
    return errors


def test_the_oldest_segments_of_all_topics_go_when_records_take_too_much(caplog):
    sim = simulation("drop")
    fill(sim, "events", 20)
    fill(sim, "orders", 200)
    assert held(sim) <= LIMIT_BYTES
    memory = sim.cluster.log_cleanup.memory
    assert memory.size_bytes == held(sim)
    assert memory.dropped_bytes + held(sim) == 220 * len(batch(bytes(BATCH_BYTES)))
    assert fetch(sim, topic="events", offset=19).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    newest = fetch(sim, offset=199)
    assert (newest.error_code, newest.log_start_offset > 100) == (0, True)
    assert "the oldest segments go" in caplog.text


def test_a_single_segment_of_many_partitions_goes_too():
    sim = simulation("drop")
    sim.cluster.replication_control.create("wide", 200, 1)
    for index in range(200):
        assert fill(sim, "wide", 1, index) == [0]
    assert held(sim) <= LIMIT_BYTES
    assert fetch(sim, topic="wide", index=199).records
    assert fetch(sim, topic="wide", index=0).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_producers_are_refused_as_by_a_full_disk_until_there_is_room(caplog):
    sim = simulation("refuse")
    errors = fill(sim, "orders", 100)
    assert set(errors) == {0, ErrorCode.KAFKA_STORAGE_ERROR}
    assert errors == sorted(errors), "none that comes later finds room"
    assert held(sim) <= LIMIT_BYTES
    assert sim.cluster.log_cleanup.memory.refused == errors.count(ErrorCode.KAFKA_STORAGE_ERROR)
    assert fetch(sim).log_start_offset == 0
    assert "producers are refused" in caplog.text
    sim.cluster.replication_control.delete(sim.cluster.topics["orders"])
    sim.advance(ms=RECOUNT_MS)
    assert fill(sim, "events", 1) == [0]


def test_what_is_held_counts_anew_when_a_cluster_begins_anew():
    sim = simulation("drop")
    fill(sim, "orders", 10)
    assert sim.cluster.log_cleanup.memory.size_bytes == held(sim) > 0
    sim.reset()
    assert sim.cluster.log_cleanup.memory.size_bytes == held(sim) == 0


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="expected drop or refuse, got 'forget'"):
        KafkaSettings({"records.max.bytes.policy": "forget"})
