"""Replicas move by AlterPartitionReassignments, and clients are told of their new racks."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from protocol.apis.metadata import MetadataRequest
from protocol.apis.reassignments import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import batch, fetch, produce, values


@pytest.fixture
def sim() -> Simulation:
    """Brokers 0-3 in racks a, b, c, a; orders has one partition on 0, 1 and 2, led by 0, with one record."""
    sim = Simulation(racks="a,b,c,a")
    sim.cluster.create_topic("orders", assignment=[[0, 1, 2]])
    sim.cluster.create_topic("events", 1, configs={"diskless.enable": "true"})
    produce(sim, batch(b"one"))
    return sim


def move(sim: Simulation, replicas: list[int] | None, *, topic: str = "orders", index: int = 0, version=1, **fields):
    wanted = AlterPartitionReassignmentsRequest.Topic.Partition(partition_index=index, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        topics=[AlterPartitionReassignmentsRequest.Topic(name=topic, partitions=[wanted])], **fields
    )
    return sim.ask(request, version=version).responses[0].partitions[0]


def test_a_moved_partition_is_led_and_served_from_its_new_brokers(sim):
    assert move(sim, [3, 1]).error_code == ErrorCode.NONE
    shown = sim.ask(MetadataRequest(topics=[MetadataRequest.Topic(name="orders")])).topics[0].partitions[0]
    assert (shown.leader_id, shown.replica_nodes, shown.isr_nodes, shown.leader_epoch) == (3, [3, 1], [3, 1], 1)
    assert values(fetch(sim, broker=3).records) == [b"one"]
    assert fetch(sim, broker=0).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_leader_that_stays_first_keeps_its_epoch_while_no_replica_is_dropped(sim):
    move(sim, [0, 3, 1, 2])
    partition = sim.cluster.topics["orders"].partitions[0]
    assert (partition.leader, partition.leader_epoch, partition.isr) == (0, 0, (0, 3, 1, 2))


def test_a_dropped_replica_begins_a_leader_epoch_even_if_the_leader_stays(sim):
    move(sim, [0, 3])
    partition = sim.cluster.topics["orders"].partitions[0]
    assert (partition.leader, partition.leader_epoch, partition.isr) == (0, 1, (0, 3))


def test_a_move_to_brokers_that_are_down_leaves_the_leader_to_one_that_is_up(sim):
    sim.cluster.stop_broker(3, sim.now_ms)
    move(sim, [3, 2])
    partition = sim.cluster.topics["orders"].partitions[0]
    assert (partition.leader, partition.isr) == (2, (2,))


@pytest.mark.parametrize(
    ("replicas", "where", "code"),
    [
        ([9], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([0, 0], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([0], {"topic": "nobody"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([0], {"index": 5}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([0], {"topic": "events"}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([0, 1], {"allow_replication_factor_change": False}, ErrorCode.INVALID_REPLICATION_FACTOR),
        (None, {}, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
    ],
)
def test_a_move_that_cannot_be_is_refused_and_changes_nothing(sim, replicas, where, code):
    before = sim.cluster.topics["orders"].partitions[0].replicas
    refused = move(sim, replicas, **where)
    assert refused.error_code == code
    assert refused.error_message
    assert sim.cluster.topics["orders"].partitions[0].replicas == before


def test_no_move_is_ever_under_way(sim):
    move(sim, [3, 1])
    assert sim.ask(ListPartitionReassignmentsRequest(topics=None)).topics == []
