"""The limit on the size of all logs."""

from __future__ import annotations

from unittest import mock

from mockbroker.core.simulation import Simulation
from mockbroker.state.cluster import Cluster
from mockbroker.state.logs.cleanup import MIN_SEGMENT_BYTES
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import batch, fetch, produce

LIMIT_BYTES = 20 * MIN_SEGMENT_BYTES
BATCH_BYTES = MIN_SEGMENT_BYTES // 4


def simulation() -> Simulation:
    """One broker with the topics orders and events, and room for 20 segments."""
    sim = Simulation(racks="a", seed=0, settings={"records.max.bytes": LIMIT_BYTES})
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
    sim = simulation()
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
    sim = simulation()
    sim.cluster.replication_control.create("wide", 200, 1)
    for index in range(200):
        assert fill(sim, "wide", 1, index) == [0]
    assert held(sim) <= LIMIT_BYTES
    assert fetch(sim, topic="wide", index=199).records
    assert fetch(sim, topic="wide", index=0).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_all_logs_are_counted_only_where_the_limit_may_be_reached():
    sim = simulation()
    fill(sim, "orders", 1)
    with mock.patch.object(Cluster, "filled_partitions", wraps=sim.cluster.filled_partitions) as counted:
        fill(sim, "orders", 50)
        assert not counted.called
        fill(sim, "orders", 50)
        assert counted.called
    assert held(sim) <= LIMIT_BYTES


def test_what_is_held_counts_anew_when_a_cluster_begins_anew():
    sim = simulation()
    fill(sim, "orders", 10)
    assert sim.cluster.log_cleanup.memory.size_bytes == held(sim) > 0
    sim.reset()
    assert sim.cluster.log_cleanup.memory.size_bytes == held(sim) == 0
