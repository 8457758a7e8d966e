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
    sim.cluster.replication_control.create("orders", assignment=[[0, 1, 2]])
    sim.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})
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


def test_a_leader_that_stays_keeps_its_epoch_where_no_replica_is_dropped(sim):
    move(sim, [0, 2, 3, 1])
    partition = sim.cluster.topics["orders"].partitions[0]
    assert (partition.leader, partition.leader_epoch, partition.isr) == (0, 0, (0, 2, 3, 1))


def test_a_leader_that_stays_gets_a_new_epoch_where_a_replica_is_dropped(sim):
    move(sim, [0, 3])
    partition = sim.cluster.topics["orders"].partitions[0]
    assert (partition.leader, partition.leader_epoch, partition.isr) == (0, 1, (0, 3))
    assert partition.log.leader_epochs.entries == [(0, 0), (1, 1)]


def under_way(sim: Simulation) -> list[tuple[int, list[int], list[int], list[int]]]:
    """The moves of orders: partition, replicas, and those of them that are added and removed."""
    topics = sim.ask(ListPartitionReassignmentsRequest(topics=None)).topics
    return [
        (one.partition_index, one.replicas, one.adding_replicas, one.removing_replicas)
        for topic in topics
        for one in topic.partitions
    ]


def test_a_move_to_a_broker_that_is_down_goes_on_until_it_is_back(sim):
    sim.cluster.cluster_control.stop(3, sim.now_ms)
    move(sim, [3, 2])
    partition = sim.cluster.topics["orders"].partitions[0]
    assert (partition.leader, partition.isr) == (0, (2, 0, 1))
    assert under_way(sim) == [(0, [3, 2, 0, 1], [3], [0, 1])]
    sim.cluster.cluster_control.start(3, sim.now_ms)
    assert (partition.leader, partition.replicas, partition.isr) == (3, (3, 2), (3, 2))
    assert under_way(sim) == []


def test_a_move_that_is_called_off_leaves_the_replicas_that_there_were(sim):
    sim.cluster.cluster_control.stop(3, sim.now_ms)
    move(sim, [3, 2])
    assert move(sim, None).error_code == ErrorCode.NONE
    partition = sim.cluster.topics["orders"].partitions[0]
    assert (partition.replicas, partition.isr, under_way(sim)) == ((2, 0, 1), (2, 0, 1), [])
    assert move(sim, None).error_code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def throttle(sim: Simulation, rate: int | None, *, side: str = "follower", broker: int = 3) -> None:
    sim.cluster.configs.write("topic", "orders", {f"{side}.replication.throttled.replicas": "*"})
    text = None if rate is None else str(rate)
    sim.cluster.configs.write("broker", str(broker), {f"{side}.replication.throttled.rate": text})


@pytest.mark.parametrize(("side", "broker"), [("follower", 3), ("leader", 0)])
def test_a_throttled_move_takes_the_time_that_its_bytes_need(sim, side, broker):
    partition = sim.cluster.topics["orders"].partitions[0]
    throttle(sim, partition.log.size_bytes, side=side, broker=broker)
    move(sim, [3, 1])
    sim.advance(999)
    assert under_way(sim) == [(0, [3, 1, 0, 2], [3], [0, 2])]
    assert partition.isr == (1, 0, 2)
    sim.advance(1)
    assert (under_way(sim), partition.replicas, partition.leader) == ([], (3, 1), 3)


def test_another_throttle_counts_for_what_is_left(sim):
    partition = sim.cluster.topics["orders"].partitions[0]
    throttle(sim, partition.log.size_bytes)
    move(sim, [3, 1])
    sim.advance(500)
    throttle(sim, partition.log.size_bytes * 5)
    sim.advance(99)
    assert under_way(sim)
    sim.advance(1)
    assert not under_way(sim)


def test_without_its_throttle_a_move_is_over_at_once(sim):
    throttle(sim, 1)
    move(sim, [3, 1])
    assert under_way(sim)
    throttle(sim, None)
    assert not under_way(sim)


def test_copies_to_one_throttled_broker_come_one_behind_the_other(sim):
    sim.cluster.replication_control.create(
        "more", assignment=[[1], [2]], configs={"follower.replication.throttled.replicas": "*"}
    )
    for index, broker in ((0, 1), (1, 2)):
        produce(sim, batch(b"one"), topic="more", index=index, broker=broker)
    size = sim.cluster.topics["more"].partitions[0].log.size_bytes
    sim.cluster.configs.write("broker", "3", {"follower.replication.throttled.rate": str(size)})
    for index in (0, 1):
        move(sim, [3], topic="more", index=index)
    sim.advance(1000)
    assert [one[0] for one in under_way(sim)] == [1]
    sim.advance(1000)
    assert not under_way(sim)


def test_a_fork_goes_on_with_a_move_that_is_under_way(sim):
    partition = sim.cluster.topics["orders"].partitions[0]
    throttle(sim, partition.log.size_bytes)
    move(sim, [3, 1])
    fork = Simulation(racks="a,b,c,a")
    fork.engine.begin_with(sim.engine.origin(), fork.now_ms)
    moved = fork.cluster.topics["orders"].partitions[0]
    assert moved.registration.adding_replicas == (3,)
    fork.advance(1000)
    assert moved.replicas == (3, 1)


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
    assert bool(refused.error_message) is (replicas is not None), "as Kafka, which says nothing of a move that is not"
    assert sim.cluster.topics["orders"].partitions[0].replicas == before


def test_a_move_to_brokers_that_are_up_is_over_at_once(sim):
    move(sim, [3, 1])
    assert sim.ask(ListPartitionReassignmentsRequest(topics=None)).topics == []
