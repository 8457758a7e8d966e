"""Coordinators' topics: who leads them coordinates, and what they say is what coordinators keep."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.errors import ApiError
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, partition_of_key
from protocol.apis.classic_group import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.group_offsets import OffsetCommitRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.topics import CreatePartitionsRequest, DeleteTopicsRequest
from protocol.codec import codec
from protocol.embedded.group_log import GroupMetadataKey
from protocol.embedded.transaction_log import TransactionLogKey, TransactionLogValue
from protocol.embedded.versioned import read_versioned
from protocol.error_codes import ErrorCode
from protocol.records import Record, build_batch, control_type, coordinator_epoch, iter_records
from tests.internal_topics import fetch_from, offsets_in, records_of
from tests.transaction_driver import TransactionalProducer, fetched

GROUP = "readers"
TOPICS_BY_KEY_TYPE = ((0, OFFSETS_TOPIC), (1, TRANSACTIONS_TOPIC))


@pytest.fixture
def sim(sim: Simulation) -> Simulation:
    """Three brokers on racks a, b and c; topic orders with two partitions."""
    sim.cluster.replication_control.create("orders", 2)
    return sim


def coordinator_answer(sim: Simulation, key: str = GROUP, key_type: int = 0, broker: int = 0) -> Any:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    return sim.ask(request, version=6, broker=broker).coordinators[0]


def commit(sim: Simulation, offset: int, *, broker: int | None = None, group: str = GROUP) -> int:
    """Commit an offset of orders-0; the error."""
    place = OffsetCommitRequest.Topic.Partition(partition_index=0, committed_offset=offset, committed_metadata="")
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequest.Topic(name="orders", partitions=[place])],
    )
    if broker is None:
        broker = sim.cluster.internal_topics.coordinator(group).id
    code: int = sim.ask(request, version=8, broker=broker).topics[0].partitions[0].error_code
    return code


# the topics


def test_a_cluster_that_nobody_asked_for_coordinators_has_none_of_the_topics(sim):
    assert list(sim.cluster.topics) == ["orders"]


@pytest.mark.parametrize(("key_type", "topic"), TOPICS_BY_KEY_TYPE)
def test_the_first_question_for_a_coordinator_makes_the_topic_and_names_its_leader(sim, key_type, topic):
    answer = coordinator_answer(sim, GROUP, key_type)
    partition = sim.cluster.topics[topic].partitions[partition_of_key(GROUP, 50)]
    assert (answer.error_code, answer.node_id) == (0, partition.leader)
    assert sorted(sim.cluster.topics) == sorted([topic, "orders"])


def test_the_topics_have_kafkas_partitions_replicas_and_configs(sim):
    for key_type, _ in TOPICS_BY_KEY_TYPE:
        coordinator_answer(sim, GROUP, key_type)
    for _, name in TOPICS_BY_KEY_TYPE:
        topic = sim.cluster.topics[name]
        assert len(topic.partitions) == 50
        assert {len({sim.cluster.brokers[one].rack for one in part.replicas}) for part in topic.partitions} == {3}
    settings = [
        [sim.cluster.topics[name].config(config) for config in ("cleanup.policy", "min.insync.replicas")]
        for name in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)
    ]
    # GroupCoordinatorService and TransactionCoordinator, Apache Kafka 4.4
    assert [[",".join(policy) if not isinstance(policy, str) else policy, isr] for policy, isr in settings] == [
        ["compact", 1],
        ["compact", 2],
    ]


def test_a_small_cluster_has_as_many_replicas_as_brokers():
    sim = Simulation(racks="a", settings={"offsets.topic.num.partitions": 4})
    assert coordinator_answer(sim).node_id == coordinator_answer(sim, key_type=1).node_id == 0
    assert [one.replicas for one in sim.cluster.topics[OFFSETS_TOPIC].partitions] == [(0,)] * 4
    assert sim.cluster.topics[TRANSACTIONS_TOPIC].config("min.insync.replicas") == 1


def test_metadata_shows_them_as_internal(sim):
    coordinator_answer(sim)
    topics = {one.name: one.is_internal for one in sim.ask(MetadataRequest(topics=None)).topics}
    assert topics == {OFFSETS_TOPIC: True, "orders": False}


def test_metadata_makes_one_that_it_is_asked_for_as_coordinators_do(sim):
    request = MetadataRequest(topics=[MetadataRequest.Topic(name=OFFSETS_TOPIC)], allow_auto_topic_creation=True)
    sim.ask(request)
    assert len(sim.ask(request).topics[0].partitions) == 50


def test_clients_do_not_write_to_them_but_may_widen_and_delete_them(sim):
    coordinator_answer(sim)
    data = ProduceRequest.Topic.Partition(index=0, records=build_batch([Record(key=b"k", value=b"v")]))
    request = ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[ProduceRequest.Topic(name=OFFSETS_TOPIC, partition_data=[data])]
    )
    leader = sim.cluster.topics[OFFSETS_TOPIC].partitions[0].leader
    answer = sim.ask(request, version=9, broker=leader)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    wider = CreatePartitionsRequest(
        topics=[CreatePartitionsRequest.Topic(name=OFFSETS_TOPIC, count=51, assignments=None)], timeout_ms=1000
    )
    assert sim.ask(wider, version=3).results[0].error_code == 0
    assert len(sim.cluster.topics[OFFSETS_TOPIC].partitions) == 51
    deleted = DeleteTopicsRequest(topic_names=[OFFSETS_TOPIC], timeout_ms=1000)
    assert sim.ask(deleted, version=5).responses[0].error_code == 0


def test_a_wider_topic_leaves_every_group_where_it_is(sim):
    groups = [f"group-{number}" for number in range(20)]
    before = [sim.cluster.internal_topics.partition_of(OFFSETS_TOPIC, group).index for group in groups]
    sim.cluster.replication_control.widen(OFFSETS_TOPIC, 77)
    assert [sim.cluster.internal_topics.partition_of(OFFSETS_TOPIC, group).index for group in groups] == before


def test_with_the_topic_of_offsets_the_groups_are_gone(sim):
    assert commit(sim, 5) == 0
    sim.cluster.replication_control.delete(sim.cluster.topics[OFFSETS_TOPIC])
    assert sim.cluster.groups.find(GROUP) is None
    assert coordinator_answer(sim).error_code == 0


def test_with_the_topic_of_transactions_the_transactional_ids_are_gone(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == producer.send(b"a") == 0
    sim.cluster.replication_control.delete(sim.cluster.topics[TRANSACTIONS_TOPIC])
    assert not sim.cluster.transactions.values()
    assert producer.end() == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    sim.advance(100_000)  # nothing is left to time out


# who coordinates


def test_the_coordinator_goes_where_the_leader_goes(sim):
    assert commit(sim, 5) == 0
    first = sim.cluster.internal_topics.coordinator(GROUP).id
    partition = sim.cluster.internal_topics.partition_of(OFFSETS_TOPIC, GROUP)
    follower = next(one for one in partition.replicas if one != first)
    sim.move_leader(OFFSETS_TOPIC, partition.index, follower)
    assert coordinator_answer(sim).node_id == follower
    assert commit(sim, 6, broker=first) == ErrorCode.NOT_COORDINATOR
    assert commit(sim, 6, broker=follower) == 0


def test_a_partition_without_a_leader_has_its_keys_without_a_coordinator(sim):
    coordinator_answer(sim)
    partition = sim.cluster.internal_topics.partition_of(OFFSETS_TOPIC, GROUP)
    index = partition.index
    sim.move_replicas(OFFSETS_TOPIC, index, [1])
    sim.stop_broker(1)
    assert coordinator_answer(sim).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert commit(sim, 1, broker=0) == ErrorCode.NOT_COORDINATOR
    with pytest.raises(ApiError) as raised:
        sim.cluster.internal_topics.coordinator(GROUP)
    assert raised.value.code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    sim.start_broker(1)
    assert commit(sim, 1) == 0


def test_a_moved_coordinator_brings_a_replica_along_where_there_was_none():
    sim = Simulation(racks="a,b,c,a,b,c")
    sim.cluster.replication_control.create("orders", 2)
    partition = sim.cluster.internal_topics.partition_of(OFFSETS_TOPIC, GROUP)
    stranger = next(one for one in range(6) if one not in partition.replicas)
    assert sim.move_coordinator(GROUP, stranger)
    assert (partition.leader, len(partition.replicas)) == (stranger, 3)
    assert commit(sim, 5, broker=stranger) == 0


def test_a_transactions_time_waits_for_its_coordinator(sim):
    producer = TransactionalProducer(sim, timeout_ms=1000)
    assert producer.init() == producer.send(b"a") == 0
    partition = sim.cluster.internal_topics.partition_of(TRANSACTIONS_TOPIC, producer.id)
    home = next(one for one in range(3) if one != sim.cluster.find_partition("orders", 0).leader)
    sim.move_replicas(TRANSACTIONS_TOPIC, partition.index, [home])
    sim.stop_broker(home)
    sim.advance(60_000)
    assert fetched(sim, isolation_level=0).last_stable_offset == 0
    sim.start_broker(home)
    sim.advance(1000)
    assert fetched(sim, isolation_level=0).last_stable_offset == 2


def test_a_new_coordinator_knows_the_members_that_were_written_alone(sim):
    """ClassicGroups are unloaded, and loaded from their last GroupMetadata record: GroupMetadataManager, Kafka 4.4."""
    join = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequest.Protocol(name="range", metadata=b"orders")],
    )
    first = sim.cluster.internal_topics.coordinator(GROUP).id
    ticket = sim.send(join, version=3, broker=first)
    sim.advance(3_000)  # group.initial.rebalance.delay.ms
    member_id = sim.replies[ticket].member_id
    sim.ask(SyncGroupRequest(group_id=GROUP, generation_id=1, member_id=member_id), version=2, broker=first)
    late = sim.send(join, version=3, broker=first)
    assert len(sim.cluster.groups.get(GROUP).members) == 2
    second = (first + 1) % 3
    assert sim.move_coordinator(GROUP, second)
    assert sim.replies[late].error_code == ErrorCode.NOT_COORDINATOR
    group = sim.cluster.groups.get(GROUP)
    assert (group.state_name, group.generation, list(group.members)) == ("Stable", 1, [member_id])
    heartbeat = HeartbeatRequest(group_id=GROUP, generation_id=1, member_id=member_id)
    assert sim.ask(heartbeat, version=2, broker=second).error_code == 0


# what they say


def test_what_was_committed_before_anybody_read_is_there_once_per_key(sim):
    for offset in (1, 2, 3):
        assert commit(sim, offset) == 0
    records = records_of(sim, OFFSETS_TOPIC, GROUP)
    assert offsets_in(records) == [(GROUP, "orders", 0, 3)]


def test_whoever_reads_on_sees_each_commit_and_each_deletion(sim):
    assert commit(sim, 1) == 0
    before = len(records_of(sim, OFFSETS_TOPIC, GROUP))
    assert commit(sim, 2) == commit(sim, 3) == 0
    sim.cluster.groups.delete(GROUP)
    records = records_of(sim, OFFSETS_TOPIC, GROUP)
    assert offsets_in(records[before:]) == [(GROUP, "orders", 0, offset) for offset in (2, 3, None)]
    assert [one.offset for one in records] == list(range(len(records)))


def test_a_consumer_that_waits_for_commits_is_woken_by_one(sim):
    records_of(sim, OFFSETS_TOPIC, GROUP)
    partition = sim.cluster.internal_topics.partition_of(OFFSETS_TOPIC, GROUP)
    fetch = fetch_from(OFFSETS_TOPIC, partition.index, 0, max_wait_ms=10_000, min_bytes=1)
    ticket = sim.send(fetch, version=11, broker=partition.leader)
    assert ticket not in sim.replies
    assert commit(sim, 7) == 0
    records = list(iter_records(sim.replies[ticket].responses[0].partitions[0].records))
    assert (GROUP, "orders", 0, 7) in offsets_in(records)


@pytest.mark.parametrize("committed", [True, False])
def test_offsets_of_a_transaction_are_read_with_the_marker_that_ends_it(sim, committed):
    producer = TransactionalProducer(sim)
    records_of(sim, OFFSETS_TOPIC, GROUP)
    assert producer.init() == producer.add_offsets(GROUP) == producer.commit_offset(4, group=GROUP) == 0
    assert offsets_in(records_of(sim, OFFSETS_TOPIC, GROUP, committed_only=True)) == []
    assert producer.end(commit=committed) == 0
    records = records_of(sim, OFFSETS_TOPIC, GROUP)
    assert offsets_in(records) == [(GROUP, "orders", 0, 4)]
    assert control_type(records[-1]) == int(committed)
    partition = sim.cluster.internal_topics.partition_of(OFFSETS_TOPIC, GROUP)
    assert partition.last_stable_offset(partition.high_watermark) == partition.high_watermark
    value = sim.cluster.groups.offsets(GROUP).get(("orders", 0))
    assert value.offset == (4 if committed else -1)


def test_offsets_that_are_pending_at_the_first_look_end_with_their_transaction(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == producer.add_offsets(GROUP) == producer.commit_offset(4, group=GROUP) == 0
    assert offsets_in(records_of(sim, OFFSETS_TOPIC, GROUP, committed_only=True)) == []
    assert producer.end() == 0
    assert offsets_in(records_of(sim, OFFSETS_TOPIC, GROUP, committed_only=True)) == [(GROUP, "orders", 0, 4)]


def test_a_transactional_ids_states_are_read_in_order(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == 0
    records_of(sim, TRANSACTIONS_TOPIC, producer.id)
    assert producer.send(b"a") == producer.end() == 0
    records = records_of(sim, TRANSACTIONS_TOPIC, producer.id)
    keys = {codec(TransactionLogKey, 0).decode(one.key, 2)[0].transactional_id for one in records if one.key}
    assert keys == {producer.id}
    states = [read_versioned(TransactionLogValue, one.value).transaction_status for one in records if one.value]
    assert states == [0, 1, 2, 4]  # empty, ongoing, prepare commit, complete commit: TransactionState, Apache Kafka 4.4


def test_markers_have_the_leader_epoch_of_the_coordinators_partition(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == 0
    partition = sim.cluster.internal_topics.partition_of(TRANSACTIONS_TOPIC, producer.id)
    follower = next(one for one in partition.replicas if one != partition.leader)
    sim.move_leader(TRANSACTIONS_TOPIC, partition.index, follower)
    assert partition.leader_epoch == 1
    assert producer.send(b"a") == producer.end() == 0
    marker = list(iter_records(fetched(sim, isolation_level=0).records))[-1]
    assert coordinator_epoch(marker) == 1


def test_a_fork_goes_on_with_what_was_read(sim):
    assert commit(sim, 1) == 0
    records_of(sim, OFFSETS_TOPIC, GROUP)
    fork = sim.fork()
    assert commit(fork, 2) == 0
    assert offsets_in(records_of(fork, OFFSETS_TOPIC, GROUP)) == [(GROUP, "orders", 0, offset) for offset in (1, 2)]
    assert offsets_in(records_of(sim, OFFSETS_TOPIC, GROUP)) == [(GROUP, "orders", 0, 1)]


def test_what_changes_while_nobody_leads_is_there_afterwards(sim):
    assert commit(sim, 1) == 0
    partition = sim.cluster.internal_topics.partition_of(OFFSETS_TOPIC, GROUP)
    sim.move_replicas(OFFSETS_TOPIC, partition.index, [1])
    records_of(sim, OFFSETS_TOPIC, GROUP)
    sim.stop_broker(1)
    end_offset = partition.log.end_offset
    sim.cluster.groups.delete(GROUP)
    assert partition.log.end_offset == end_offset
    sim.start_broker(1)
    assert offsets_in(records_of(sim, OFFSETS_TOPIC, GROUP))[-1] == (GROUP, "orders", 0, None)


def test_a_log_that_is_read_stays_small(sim):
    records_of(sim, OFFSETS_TOPIC, GROUP)
    log = sim.cluster.internal_topics.partition_of(OFFSETS_TOPIC, GROUP).log
    largest = 0
    for offset in range(6000):
        assert commit(sim, offset) == 0
        if offset % 500 == 0:
            sim.advance(15_000)  # log.cleaner.backoff.ms
            largest = max(largest, log.size_bytes)
    assert log.end_offset == 6000
    assert largest < 3 * (1 << 18)


def test_classic_groups_are_written_in_version_3(sim):
    """MetadataVersion.groupMetadataValueVersion: the highest that is not flexible, which all readers know."""
    records_of(sim, OFFSETS_TOPIC, GROUP)
    join = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequest.Protocol(name="range", metadata=b"orders")],
    )
    broker = sim.cluster.internal_topics.coordinator(GROUP).id
    ticket = sim.send(join, version=3, broker=broker)
    sim.advance(3_000)  # group.initial.rebalance.delay.ms
    member_id = sim.replies[ticket].member_id
    sim.ask(SyncGroupRequest(group_id=GROUP, generation_id=1, member_id=member_id), version=2, broker=broker)
    kind = GroupMetadataKey.api_key.to_bytes(2)
    written = [one.value for one in records_of(sim, OFFSETS_TOPIC, GROUP) if one.key and one.key[:2] == kind]
    assert written
    assert {value[:2] for value in written} == {b"\0\3"}


@pytest.mark.parametrize("committed", [True, False])
def test_transactions_that_ended_before_the_first_look_leave_no_markers(sim, committed):
    producer = TransactionalProducer(sim)
    assert producer.init() == 0
    for offset in (4, 5):
        assert producer.add_offsets(GROUP) == producer.commit_offset(offset, group=GROUP) == 0
        assert producer.end(commit=committed) == 0
    records = records_of(sim, OFFSETS_TOPIC, GROUP)
    assert [one.offset for one in records if one.is_control] == []
    assert offsets_in(records) == ([(GROUP, "orders", 0, 5)] if committed else [])
    assert [one.offset for one in records] == list(range(len(records)))
