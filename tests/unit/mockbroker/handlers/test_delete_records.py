"""DeleteRecords: the start of logs moves, on request."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from protocol.apis.delete_records import DeleteRecordsRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch, produce


@pytest.fixture
def sim() -> Simulation:
    """Brokers 0 to 2; broker 0 leads the one partition, 1 and 2 follow."""
    sim = Simulation(racks="a,b,c")
    sim.cluster.replication_control.create(TOPIC, assignment=[[0, 1, 2]])
    for value in (b"a", b"b", b"c"):
        produce(sim, batch(value))
    return sim


def delete(sim: Simulation, *offsets: int, index: int = 0, broker: int = 0, topic: str = TOPIC, timeout_ms: int = 1000):
    entry = DeleteRecordsRequest.Topic.Partition
    wanted = [entry(partition_index=index, offset=offset) for offset in offsets]
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsRequest.Topic(name=topic, partitions=wanted)], timeout_ms=timeout_ms
    )
    return sim.send(request, version=2, broker=broker)


def answered(sim: Simulation, *offsets: int, **where):
    (entry,) = sim.replies[delete(sim, *offsets, **where)].topics[0].partitions
    return (entry.error_code, entry.low_watermark)


def earliest(sim: Simulation) -> int:
    wanted = [ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=-2)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.Topic(name=TOPIC, partitions=wanted)])
    return sim.ask(request, version=5).topics[0].partitions[0].offset


def test_what_is_before_an_offset_can_no_longer_be_read(sim):
    assert answered(sim, 2) == (0, 2)
    assert fetch(sim, 1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch(sim, 2).log_start_offset == earliest(sim) == 2
    assert answered(sim, 1) == (0, 2), "the start never goes back"


def test_minus_one_stands_for_all_there_is(sim):
    assert answered(sim, -1) == (0, 3)
    assert (fetch(sim, 3).error_code, earliest(sim)) == (0, 3)


def test_of_a_partition_named_twice_the_last_offset_counts(sim):
    assert answered(sim, 3, 1) == (0, 1)


@pytest.mark.parametrize("offset", [4, -2])
def test_an_offset_that_is_not_there_is_out_of_range(sim, offset):
    assert answered(sim, offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert earliest(sim) == 0


def test_only_the_leader_deletes_and_only_what_there_is(sim):
    assert answered(sim, 1, broker=1) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert answered(sim, 1, index=5) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert answered(sim, 1, topic="nowhere") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_records_of_a_topic_that_is_only_compacted_stay(sim):
    sim.cluster.replication_control.create("keyed", assignment=[[0]], configs={"cleanup.policy": "compact"})
    sim.cluster.replication_control.create("both", assignment=[[0]], configs={"cleanup.policy": "compact,delete"})
    assert answered(sim, 0, topic="keyed") == (ErrorCode.POLICY_VIOLATION, -1)
    assert answered(sim, 0, topic="both") == (0, 0)


def test_the_answer_waits_for_followers_that_are_cut_off(sim):
    sim.cluster.cluster_control.cut_link(0, 2, 0)
    call = delete(sim, 2)
    assert call not in sim.replies
    sim.cluster.cluster_control.restore_link(0, 2, 0)
    sim.advance(ms=0)
    assert sim.replies[call].topics[0].partitions[0].low_watermark == 2
    sim.cluster.cluster_control.cut_link(0, 2, sim.now_ms)
    call = delete(sim, 3, timeout_ms=200)
    sim.advance(ms=200)
    (entry,) = sim.replies[call].topics[0].partitions
    assert (entry.error_code, entry.low_watermark) == (ErrorCode.REQUEST_TIMED_OUT, 2)  # where all of them are


def test_the_start_is_found_again_by_a_fork_and_after_a_restart(sim):
    answered(sim, 2)
    origin = sim.engine.origin()
    answered(sim, 3)
    sim.engine.begin_with(origin, sim.now_ms)
    assert sim.cluster.topics[TOPIC].partitions[0].log.start_offset == 2
