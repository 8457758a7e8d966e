from __future__ import annotations

import pytest

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode


@pytest.fixture
def cluster() -> Cluster:
    """Brokers 0-5 on racks a, b, c, a, b, c; topic orders with 6 partitions of 3 replicas."""
    cluster = Cluster.create([Broker(index, "abc"[index % 3]) for index in range(6)])
    cluster.replication_control.create("orders", 6, 3)
    return cluster


def refusal(cluster: Cluster, *arguments: object, **keywords: object) -> int:
    with pytest.raises(ApiError) as caught:
        cluster.replication_control.create(*arguments, **keywords)  # type: ignore[arg-type]
    return caught.value.code


def test_each_partition_has_one_replica_in_each_rack(cluster):
    for partition in cluster.topics["orders"].partitions:
        racks = {cluster.brokers[replica].rack for replica in partition.replicas}
        assert racks == {"a", "b", "c"}
    assert sorted(partition.leader for partition in cluster.topics["orders"].partitions) == list(range(6))


def test_a_stopped_leader_hands_over_to_the_next_replica_in_sync(cluster):
    partition = next(one for one in cluster.topics["orders"].partitions if one.leader == 1)
    replicas = partition.replicas
    cluster.cluster_control.stop(1, 0)
    assert partition.leader == replicas[1]
    assert partition.isr == replicas[1:]
    assert partition.leader_epoch == 1
    assert partition.replicas == replicas


def test_a_stopped_follower_only_leaves_the_isr(cluster):
    partition = cluster.topics["orders"].partitions[0]
    follower = partition.replicas[2]
    cluster.cluster_control.stop(follower, 0)
    assert (partition.leader, partition.isr, partition.leader_epoch) == (
        partition.replicas[0],
        partition.replicas[:2],
        0,
    )


def test_the_preferred_leader_leads_again_once_it_is_back(cluster):
    before = [(one.leader, one.isr) for one in cluster.topics["orders"].partitions]
    for broker_id in (1, 4):
        cluster.cluster_control.stop(broker_id, 0)
    assert all(cluster.brokers[one.leader].rack != "b" for one in cluster.topics["orders"].partitions)
    for broker_id in (1, 4):
        cluster.cluster_control.start(broker_id, 0)
    assert [(one.leader, one.isr) for one in cluster.topics["orders"].partitions] == before


def test_the_last_replica_stays_eligible_and_no_other_may_lead(cluster):
    partition = cluster.topics["orders"].partitions[0]
    first, second, third = partition.replicas
    for broker_id in (second, third, first):
        cluster.cluster_control.stop(broker_id, 0)
    assert (partition.leader, partition.isr, partition.eligible_leader_replicas) == (-1, (), (first,))
    cluster.cluster_control.start(second, 0)
    assert (partition.leader, partition.isr, partition.last_known_elr) == (-1, (), (first,))
    cluster.cluster_control.start(first, 0)
    assert (partition.leader, partition.isr) == (first, (first, second))


def test_unclean_election_lets_any_replica_lead():
    cluster = Cluster.create([Broker(0, "a"), Broker(1, "b")], settings={"unclean.leader.election.enable": "true"})
    partition = cluster.replication_control.create("orders", 1, 2).partitions[0]
    cluster.cluster_control.stop(1, 0)
    cluster.cluster_control.stop(0, 0)
    cluster.cluster_control.start(1, 0)
    assert (partition.leader, partition.isr) == (1, (1,))


def test_stopping_twice_changes_nothing_and_unknown_ones_are_refused(cluster):
    assert cluster.cluster_control.stop(1, 0)
    version = cluster.version
    assert not cluster.cluster_control.stop(1, 0)
    assert cluster.version == version
    with pytest.raises(KeyError):
        cluster.cluster_control.stop(9, 0)
    with pytest.raises(KeyError):
        cluster.liveness.brokers_in("z")


def test_the_controller_is_the_lowest_broker_that_is_up(cluster):
    assert cluster.support.controller_id == 0
    cluster.cluster_control.stop(0, 0)
    assert cluster.support.controller_id == 1


def test_a_group_keeps_its_coordinator_while_that_is_up_and_has_it_back_with_its_leadership(cluster):
    first = cluster.internal_topics.coordinator("readers")
    cluster.cluster_control.stop((first.id + 1) % 6, 0)
    assert cluster.internal_topics.coordinator("readers") is first
    cluster.cluster_control.stop(first.id, 0)
    second = cluster.internal_topics.coordinator("readers")
    assert second.online
    assert second.rack != first.rack
    cluster.cluster_control.start(first.id, 0)
    assert cluster.internal_topics.coordinator("readers") is first


def test_groups_are_spread_over_the_brokers(cluster):
    assert len({cluster.internal_topics.coordinator(f"group-{index}").id for index in range(60)}) == 6


def test_a_bad_topic_is_refused_with_kafkas_error(cluster):
    assert refusal(cluster, "orders") == ErrorCode.TOPIC_ALREADY_EXISTS
    for name in ("", ".", "..", "a b", "a/b", "x" * 250):
        assert refusal(cluster, name) == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert refusal(cluster, "new", 0) == ErrorCode.INVALID_PARTITIONS
    assert refusal(cluster, "new", 2**31 - 1) == ErrorCode.INVALID_PARTITIONS
    assert refusal(cluster, "new", 1, 7) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert refusal(cluster, "new", 1, 0) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert refusal(cluster, "new", assignment=[[0, 0]]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert refusal(cluster, "new", assignment=[[0], [9]]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert refusal(cluster, "new", configs={"no.such": "1"}) == ErrorCode.INVALID_CONFIG
    assert refusal(cluster, "new", configs={"retention.ms": "soon"}) == ErrorCode.INVALID_CONFIG
    assert "new" not in cluster.topics


def test_the_default_replication_factor_is_no_wider_than_the_cluster():
    cluster = Cluster.create([Broker(0, None), Broker(1, None)], settings={"num.partitions": "4"})
    topic = cluster.replication_control.create("orders")
    assert (len(topic.partitions), topic.replication_factor) == (4, 2)


def test_checking_a_topic_creates_nothing(cluster):
    cluster.replication_control.create("new", 3, validate_only=True)
    assert "new" not in cluster.topics


def test_a_topic_only_grows(cluster):
    cluster.replication_control.widen("orders", 8)
    partitions = cluster.topics["orders"].partitions
    assert [one.index for one in partitions] == list(range(8))
    assert all(len(one.replicas) == 3 for one in partitions)
    with pytest.raises(ApiError) as caught:
        cluster.replication_control.widen("orders", 8)
    assert caught.value.code == ErrorCode.INVALID_PARTITIONS


def test_brokers_where_only_some_name_a_rack_can_still_hold_topics():
    cluster = Cluster.create([Broker(0, "a"), Broker(1, None), Broker(2, "b")])
    assert cluster.replication_control.create("orders", 3, 3).replication_factor == 3


def test_equal_seeds_give_equal_clusters():
    def make() -> Cluster:
        cluster = Cluster.create([Broker(0, "a")], seed=5)
        cluster.replication_control.create("orders")
        return cluster

    assert (make().id, make().topics["orders"].id) == (make().id, make().topics["orders"].id)
