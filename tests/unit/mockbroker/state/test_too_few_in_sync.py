"""Coordinators while too few replicas of their partition are in sync; what Kafka answers is in fixtures/answers."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from protocol.apis.classic_group import JoinGroupRequest, SyncGroupRequest
from protocol.apis.group_offsets import OffsetCommitRequest, OffsetFetchRequest
from protocol.apis.groups import DeleteGroupsRequest
from protocol.error_codes import ErrorCode
from tests.transaction_driver import TransactionalProducer, fetched


@pytest.fixture
def sim(sim: Simulation) -> Simulation:
    """Three brokers on racks a, b and c; topic orders with two partitions."""
    sim.cluster.replication_control.create("orders", 2)
    return sim


def two_down(sim: Simulation, topic: str, key: str) -> int:
    """Leave one broker of three; gives it, which coordinates the key then."""
    left: int = sim.cluster.internal_topics.coordinator(key, topic).id
    for broker in range(3):
        if broker != left:
            sim.stop_broker(broker)
    return left


def all_up(sim: Simulation) -> None:
    for broker in range(3):
        sim.start_broker(broker)


# transactions


def test_a_transaction_ends_only_once_enough_replicas_are_in_sync(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == producer.send(b"a") == 0
    two_down(sim, TRANSACTIONS_TOPIC, producer.id)
    assert producer.end() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert fetched(sim, isolation_level=0).last_stable_offset == 0
    all_up(sim)
    assert producer.end() == 0
    assert fetched(sim, isolation_level=0).last_stable_offset == 2


def test_one_rack_of_three_may_be_down(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == producer.send(b"a") == 0
    sim.stop_rack("b")
    assert producer.end() == 0


def test_a_transaction_does_not_time_out_while_that_could_not_be_written(sim):
    producer = TransactionalProducer(sim, timeout_ms=1000)
    assert producer.init() == producer.send(b"a") == 0
    two_down(sim, TRANSACTIONS_TOPIC, producer.id)
    sim.advance(60_000)
    assert sim.cluster.transactions.get(producer.id).producer_epoch == 0
    all_up(sim)
    sim.advance(60_000)
    assert fetched(sim, isolation_level=0).last_stable_offset == 2


def test_an_id_that_could_not_be_written_is_the_same_later(sim):
    producer = TransactionalProducer(sim)
    sim.cluster.internal_topics.topic(TRANSACTIONS_TOPIC)
    two_down(sim, TRANSACTIONS_TOPIC, producer.id)
    assert producer.init() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    begun = sim.cluster.transactions.get(producer.id)
    assert producer.id not in sim.cluster.transactions.values()
    all_up(sim)
    assert producer.init() == 0
    assert sim.cluster.transactions.get(producer.id).producer_id == begun.producer_id


@pytest.mark.parametrize(("racks", "min_isr"), [("a", 1), ("a,b", 1), ("a,b,c", 2), ("a,b,c,a", 2)])
def test_a_small_cluster_may_lack_as_many_replicas_as_one_with_all_of_them(racks, min_isr):
    sim = Simulation(racks=racks)
    topics = sim.cluster.internal_topics
    assert topics.topic(TRANSACTIONS_TOPIC).config("min.insync.replicas") == min_isr
    assert topics.topic(OFFSETS_TOPIC).config("min.insync.replicas") == 1


def test_a_cluster_of_two_keeps_its_transactions_with_one_down():
    sim = Simulation(racks="a,b")
    sim.cluster.replication_control.create("orders", 2)
    producer = TransactionalProducer(sim)
    assert producer.init() == 0
    other = 1 - sim.cluster.internal_topics.coordinator(producer.id, TRANSACTIONS_TOPIC).id
    sim.stop_broker(other)
    assert producer.send(b"a") == producer.end() == 0


def test_another_min_isr_counts_at_once(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == producer.send(b"a") == 0
    two_down(sim, TRANSACTIONS_TOPIC, producer.id)
    sim.cluster.configs.write("topic", TRANSACTIONS_TOPIC, {"min.insync.replicas": "1"})
    assert producer.end() == 0


# groups


GROUP = "readers"


@pytest.fixture
def strict() -> Simulation:
    """Three brokers that ask for two replicas in sync of each topic, and an offset of orders-0 that is 1."""
    sim = Simulation(settings={"min.insync.replicas": 2})
    sim.cluster.replication_control.create("orders", 2)
    assert sim.ask(commit_request(1), version=8, broker=coordinator(sim)).topics[0].partitions[0].error_code == 0
    return sim


def coordinator(sim: Simulation) -> int:
    number: int = sim.cluster.internal_topics.coordinator(GROUP).id
    return number


def commit_request(offset: int) -> OffsetCommitRequest:
    place = OffsetCommitRequest.Topic.Partition(partition_index=0, committed_offset=offset, committed_metadata="")
    topics = [OffsetCommitRequest.Topic(name="orders", partitions=[place])]
    return OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, topics=topics)


def offset_of(sim: Simulation, broker: int) -> int:
    wanted = OffsetFetchRequest(group_id=GROUP, topics=[OffsetFetchRequest.Topic(name="orders", partition_indexes=[0])])
    offset: int = sim.ask(wanted, version=5, broker=broker).topics[0].partitions[0].committed_offset
    return offset


def test_a_commit_is_refused_and_counts_only_when_it_is_sent_again(strict):
    left = two_down(strict, OFFSETS_TOPIC, GROUP)
    refused = strict.ask(commit_request(2), version=8, broker=left)
    assert refused.topics[0].partitions[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert offset_of(strict, left) == 1
    all_up(strict)
    assert offset_of(strict, coordinator(strict)) == 1
    strict.ask(commit_request(2), version=8, broker=coordinator(strict))
    assert offset_of(strict, coordinator(strict)) == 2


def test_a_group_is_not_deleted(strict):
    left = two_down(strict, OFFSETS_TOPIC, GROUP)
    answer = strict.ask(DeleteGroupsRequest(groups_names=[GROUP]), version=2, broker=left)
    assert answer.results[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert offset_of(strict, left) == 1


def test_members_join_and_get_their_assignment(strict):
    left = two_down(strict, OFFSETS_TOPIC, GROUP)
    answer = strict.ask(sync_request(joined(strict, left)), version=3, broker=left)
    assert (answer.error_code, answer.assignment) == (0, b"all of it")


def joined(sim: Simulation, broker: int) -> str:
    wanted = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequest.Protocol(name="range", metadata=b"")],
    )
    answer = sim.ask(wanted, version=3, broker=broker)
    assert answer.error_code == 0
    given: str = answer.member_id
    return given


def sync_request(member_id: str) -> SyncGroupRequest:
    assignment = SyncGroupRequest.Assignment(member_id=member_id, assignment=b"all of it")
    return SyncGroupRequest(group_id=GROUP, generation_id=1, member_id=member_id, assignments=[assignment])


def test_with_kafkas_defaults_groups_go_on_with_one_broker_of_three(sim):
    left = two_down(sim, OFFSETS_TOPIC, GROUP)
    assert sim.ask(commit_request(2), version=8, broker=left).topics[0].partitions[0].error_code == 0
    assert offset_of(sim, left) == 2
