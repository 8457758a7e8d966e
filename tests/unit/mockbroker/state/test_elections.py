"""Eligible leaders (KIP-966), preferred leaders that return in time, and elections that somebody asks for."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.features import FeatureUpdate, update_features
from mockbroker.state.topics.topic import Partition
from protocol.apis.elect_leaders import ElectLeadersRequest
from protocol.apis.metadata import DescribeTopicPartitionsRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import TOPIC, batch, produce

PREFERRED, UNCLEAN = 0, 1
SAFE_DOWNGRADE = 2


def cluster_of(replicas: list[int], min_isr: int = 1, **settings: object) -> tuple[Simulation, Partition]:
    sim = Simulation("a,b,c", settings={name.replace("_", "."): value for name, value in settings.items()})
    topic = sim.cluster.replication_control.create(
        TOPIC, assignment=[replicas], configs={"min.insync.replicas": str(min_isr)}
    )
    return sim, topic.partitions[0]


def elect(sim: Simulation, election_type: int, index: int = 0) -> int:
    topics = [ElectLeadersRequest.TopicPartitions(topic=TOPIC, partitions=[index])]
    broker = sim.cluster.liveness.online_brokers[0].id
    answer = sim.ask(
        ElectLeadersRequest(election_type=election_type, topic_partitions=topics), version=2, broker=broker
    )
    return answer.replica_election_results[0].partition_result[0].error_code


def test_who_leaves_an_isr_below_its_minimum_is_eligible_still():
    sim, partition = cluster_of([0, 1, 2], min_isr=2)
    sim.cluster.cluster_control.stop(2, 0)
    assert (partition.isr, partition.eligible_leader_replicas) == ((0, 1), ())
    sim.cluster.cluster_control.stop(1, 0)
    assert (partition.isr, partition.eligible_leader_replicas, partition.leader) == ((0,), (1,), 0)
    sim.cluster.cluster_control.stop(0, 0)
    assert (partition.isr, partition.eligible_leader_replicas, partition.leader, partition.last_known_elr) == (
        (),
        (0, 1),
        -1,
        (0,),
    )


def test_an_eligible_leader_leads_without_what_came_while_it_was_down():
    sim, partition = cluster_of([0, 1], min_isr=2)
    assert produce(sim, batch(b"kept"), acks=-1).error_code == ErrorCode.NONE
    sim.cluster.cluster_control.stop(1, 0)
    assert produce(sim, batch(b"lost"), acks=1).error_code == ErrorCode.NONE
    assert (partition.log.end_offset, partition.high_watermark) == (2, 1)
    sim.cluster.cluster_control.stop(0, 0)
    sim.cluster.cluster_control.start(1, 0)
    assert (partition.leader, partition.isr, partition.eligible_leader_replicas) == (1, (1,), (0,))
    assert (partition.log.end_offset, partition.high_watermark) == (1, 1)
    sim.cluster.cluster_control.start(0, 0)
    assert (partition.leader, set(partition.isr), partition.eligible_leader_replicas) == (0, {0, 1}, ())


def test_a_broker_that_crashed_is_no_longer_eligible_but_leads_again_as_the_last_leader():
    sim, partition = cluster_of([1, 2], min_isr=2)
    sim.cluster.cluster_control.stop(2, 0)
    sim.crash_broker(1)
    sim.advance(9000)
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ((1, 2), (1,))
    sim.cluster.cluster_control.start(1, sim.now_ms)
    assert (partition.leader, partition.isr, partition.eligible_leader_replicas) == (-1, (), (2,))
    sim.cluster.cluster_control.start(2, sim.now_ms)
    assert partition.leader == 1
    assert set(partition.isr) == {1, 2}


def test_the_last_leader_leads_again_after_a_crash_where_nobody_else_may():
    sim, partition = cluster_of([1])
    sim.crash_broker(1)
    sim.advance(9000)
    assert (partition.leader, partition.isr) == (-1, ())
    sim.cluster.cluster_control.start(1, sim.now_ms)
    assert (partition.leader, partition.isr, partition.last_known_elr) == (1, (1,), ())


def test_describe_topic_partitions_names_eligible_and_last_leaders_and_no_error():
    sim, _ = cluster_of([2])
    sim.cluster.cluster_control.stop(2, 0)
    wanted = [DescribeTopicPartitionsRequest.Topic(name=TOPIC)]
    shown = sim.ask(DescribeTopicPartitionsRequest(topics=wanted), version=0).topics[0].partitions[0]
    assert (shown.error_code, shown.leader_id, shown.isr_nodes) == (0, -1, [])
    assert (shown.eligible_leader_replicas, shown.last_known_elr, shown.offline_replicas) == ([2], [2], [2])


def test_without_the_feature_the_last_replica_stays_in_the_isr():
    sim, partition = cluster_of([1])
    down = FeatureUpdate("eligible.leader.replicas.version", 0, SAFE_DOWNGRADE)
    update_features(sim.cluster, [down], validate_only=False)
    sim.cluster.cluster_control.stop(1, 0)
    assert (partition.leader, partition.isr, partition.eligible_leader_replicas) == (-1, (1,), ())
    sim.cluster.cluster_control.start(1, 0)
    assert partition.leader == 1


def test_another_min_insync_replicas_ends_who_is_eligible():
    sim, partition = cluster_of([0, 1, 2], min_isr=3)
    sim.cluster.cluster_control.stop(2, 0)
    assert partition.eligible_leader_replicas == (2,)
    sim.cluster.configs.write("topic", TOPIC, {"min.insync.replicas": "2"})
    assert partition.eligible_leader_replicas == ()


def test_elections_from_eligible_leaders_are_in_the_records_of_the_image():
    sim, partition = cluster_of([0, 1], min_isr=2)
    sim.cluster.cluster_control.stop(1, 0)
    fork = Simulation("a,b,c")
    fork.engine.begin_with(sim.engine.origin(), 0)
    assert partition.eligible_leader_replicas == (1,)
    assert set(fork.cluster.topics[TOPIC].partitions[0].isr) == {0, 1}


LATER = {"leader_imbalance_check_interval_seconds": 300}


def test_a_preferred_leader_returns_with_the_next_check_of_the_balance():
    sim, partition = cluster_of([0, 1], **LATER)
    sim.cluster.cluster_control.stop(0, 0)
    sim.cluster.cluster_control.start(0, 0)
    assert (partition.leader, set(partition.isr)) == (1, {0, 1})
    sim.advance(299_999)
    assert partition.leader == 1
    sim.advance(1)
    assert partition.leader == 0


def test_a_preferred_leader_never_returns_by_itself_where_that_is_off():
    sim, partition = cluster_of([0, 1], auto_leader_rebalance_enable=False)
    sim.cluster.cluster_control.stop(0, 0)
    sim.cluster.cluster_control.start(0, 0)
    sim.advance(3_600_000)
    assert partition.leader == 1
    assert elect(sim, PREFERRED) == ErrorCode.NONE
    assert partition.leader == 0


def test_an_election_that_is_not_needed_is_told_so():
    sim, _ = cluster_of([0, 1], **LATER)
    assert elect(sim, PREFERRED) == ErrorCode.ELECTION_NOT_NEEDED
    assert elect(sim, UNCLEAN) == ErrorCode.ELECTION_NOT_NEEDED
    assert elect(sim, PREFERRED, index=7) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_preferred_leader_that_is_down_is_not_available():
    sim, _ = cluster_of([0, 1], **LATER)
    sim.cluster.cluster_control.stop(0, 0)
    assert elect(sim, PREFERRED) == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


def test_an_unclean_election_takes_whoever_is_up_and_nobody_where_none_is():
    sim, partition = cluster_of([1, 2], **LATER)
    sim.cluster.cluster_control.stop(2, 0)
    sim.cluster.cluster_control.stop(1, 0)
    assert elect(sim, UNCLEAN) == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    sim.cluster.cluster_control.start(2, 0)
    assert partition.leader == -1
    assert elect(sim, UNCLEAN) == ErrorCode.NONE
    assert (partition.leader, partition.isr) == (2, (2,))


def test_an_election_that_was_asked_for_ends_what_a_command_held():
    sim, partition = cluster_of([0, 1])
    sim.move_leader(TOPIC, 0, 1)
    assert elect(sim, PREFERRED) == ErrorCode.NONE
    assert partition.leader == 0


@pytest.mark.parametrize("election_type", [PREFERRED, UNCLEAN])
def test_of_all_partitions_only_those_that_needed_an_election_are_told_of(election_type):
    sim, _ = cluster_of([0, 1])
    answer = sim.ask(ElectLeadersRequest(election_type=election_type, topic_partitions=None), version=2)
    assert [(one.topic, one.partition_result) for one in answer.replica_election_results] == [(TOPIC, [])]
