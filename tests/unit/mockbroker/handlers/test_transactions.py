from __future__ import annotations

from typing import Any

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.features import feature_level
from mockbroker.state.topics.coordinator_keys import TRANSACTIONS_TOPIC
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.producer_ids import InitProducerIdRequest
from protocol.apis.transaction_admin import ListTransactionsRequest
from protocol.apis.transactions import EndTxnRequest, WriteTxnMarkersRequest
from protocol.error_codes import ErrorCode
from tests.transaction_driver import (
    NEW,
    OLD,
    TOPIC,
    TransactionalProducer,
    committed_offset,
    fetched,
    visible,
)
from tests.unit.mockbroker.handlers.records import batch, produce


@pytest.fixture
def sim() -> Simulation:
    """Three brokers; topic "orders" has two partitions on each of them."""
    sim = Simulation()
    sim.cluster.replication_control.create(TOPIC, 2, 3)
    return sim


@pytest.fixture(params=[OLD, NEW], ids=["old client", "new client"])
def producer(sim, request) -> TransactionalProducer:
    """A producer that has its id."""
    producer = TransactionalProducer(sim, version=request.param)
    assert producer.init() == 0
    return producer


def test_a_reader_of_committed_records_waits_for_the_end_and_others_do_not(sim, producer):
    assert producer.send(b"a") == 0
    assert visible(fetched(sim)) == []
    assert fetched(sim, isolation_level=0).records
    assert producer.end() == 0
    assert visible(fetched(sim)) == [b"a"]


def test_what_was_aborted_is_given_out_with_its_name(sim, producer):
    assert producer.send(b"a") == producer.end(commit=False) == 0
    entry = fetched(sim)
    assert [(one.producer_id, one.first_offset) for one in entry.aborted_transactions] == [(producer.producer_id, 0)]
    assert visible(entry) == []


@pytest.mark.parametrize(
    ("records", "max_bytes", "first_offsets"),
    [
        (1, 69, [0]),
        (1, 147, [0]),
        (1, 216, [0, 2]),
        (1, 294, [0, 2]),
        (2, 155, [0, 3]),
        (2, 232, [0, 3]),
        (2, 310, [0, 3, 6]),
    ],
)
def test_later_aborted_transactions_are_named_up_to_the_next_index_entry(records, max_bytes, first_offsets):
    """As LocalLog.read of Kafka 4.4 answers, where each batch but the first has an entry in the index."""
    sim = Simulation()
    sim.cluster.replication_control.create(TOPIC, 1, 1, configs={"index.interval.bytes": 10})
    producer = TransactionalProducer(sim, version=OLD)
    producer.init()
    for _ in range(6):
        assert producer.send(*[b"x"] * records) == producer.end(commit=False) == 0
    entry = fetched(sim, max_bytes=max_bytes)
    assert len(entry.records) == max_bytes
    assert [one.first_offset for one in entry.aborted_transactions] == first_offsets


def test_what_stands_behind_an_open_transaction_is_not_stable(sim, producer):
    produce(sim, batch(b"before"), broker=sim.cluster.find_partition(TOPIC, 0).leader)
    assert producer.send(b"open") == 0
    produce(sim, batch(b"behind"), broker=sim.cluster.find_partition(TOPIC, 0).leader)
    entry = fetched(sim)
    assert (visible(entry), entry.last_stable_offset, entry.high_watermark) == ([b"before"], 1, 3)


def test_a_group_resumes_where_the_committed_transaction_says(sim, producer):
    assert producer.commit_offset(7) == 0
    assert committed_offset(sim) == (-1, 0)
    assert committed_offset(sim, stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert producer.end() == 0
    assert committed_offset(sim, stable=True) == (7, 0)
    assert producer.commit_offset(9) == producer.end(commit=False) == 0
    assert committed_offset(sim, stable=True) == (7, 0)


def test_another_instance_fences_the_one_before(sim, producer):
    assert producer.send(b"lost") == 0
    other = TransactionalProducer(sim, version=producer.version)
    assert [other.init(), other.init()] == [ErrorCode.CONCURRENT_TRANSACTIONS, 0]
    assert producer.send(b"late", adds=False) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.end() == ErrorCode.PRODUCER_FENCED
    assert producer.init(continues=True) == ErrorCode.PRODUCER_FENCED
    assert other.send(b"kept") == other.end() == 0
    assert visible(fetched(sim)) == [b"kept"]


def test_the_broker_adds_partitions_for_a_client_that_leaves_it_to_it_alone(sim):
    old, new = (TransactionalProducer(sim, f"t{version}", version=version) for version in (OLD, NEW))
    for producer in (old, new):
        assert producer.init() == 0
    assert old.send(b"a", adds=False) == ErrorCode.INVALID_TXN_STATE
    assert new.send(b"a", adds=False) == 0


def test_verification_can_be_turned_off_for_clients_that_add_partitions_themselves():
    sim = Simulation(settings={"transaction.partition.verification.enable": False})
    sim.cluster.replication_control.create(TOPIC, 2, 3)
    producer = TransactionalProducer(sim, version=OLD)
    assert producer.init() == producer.send(b"a", adds=False) == 0


def test_a_broker_that_does_not_reach_the_coordinator_has_the_client_try_again(sim, producer):
    leader = sim.cluster.find_partition(TOPIC, 0).leader
    sim.move_coordinator(producer.id, (leader + 1) % 3)
    assert producer.add(0) == 0
    sim.cluster.cluster_control.cut_link(leader, producer.coordinator, sim.now_ms)
    assert producer.send(b"a", adds=False) == ErrorCode.NOT_ENOUGH_REPLICAS
    sim.cluster.cluster_control.restore_link(leader, producer.coordinator, sim.now_ms)
    assert producer.send(b"a", adds=False) == 0


@pytest.mark.parametrize("indexes", [[0], [0, 1]])
def test_without_a_transactional_id_nothing_of_a_transactional_request_is_written(sim, indexes):
    for index in indexes:
        sim.move_leader(TOPIC, index, 0)
    fields: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    partitions = [
        ProduceRequest.Topic.Partition(index=index, records=batch(b"a", transactional=index == indexes[-1], **fields))
        for index in indexes
    ]
    request = ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[ProduceRequest.Topic(name=TOPIC, partition_data=partitions)]
    )
    entries = sim.ask(request, version=12).responses[0].partition_responses
    assert {one.error_code for one in entries} == {ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}
    assert [sim.cluster.find_partition(TOPIC, index).log.end_offset for index in indexes] == [0] * len(indexes)


def test_batches_of_two_producers_in_one_request_are_refused(sim):
    for index in (0, 1):
        sim.move_leader(TOPIC, index, 0)
    partitions = [
        ProduceRequest.Topic.Partition(
            index=index,
            records=batch(b"a", producer_id=7 + index, producer_epoch=0, base_sequence=0, transactional=True),
        )
        for index in (0, 1)
    ]
    request = ProduceRequest(
        transactional_id="t", acks=1, topic_data=[ProduceRequest.Topic(name=TOPIC, partition_data=partitions)]
    )
    entries = sim.ask(request, version=12).responses[0].partition_responses
    assert {one.error_code for one in entries} == {ErrorCode.INVALID_PRODUCER_ID_MAPPING}


@pytest.mark.parametrize("version", range(6))
def test_only_the_coordinator_ends_transactions_and_old_versions_hear_of_an_old_epoch(sim, producer, version):
    request = EndTxnRequest(transactional_id=producer.id, producer_id=producer.producer_id, producer_epoch=9)
    answer = sim.ask(request, version=version, broker=(producer.coordinator + 1) % 3)
    assert answer.error_code == ErrorCode.NOT_COORDINATOR
    answer = sim.ask(request, version=version, broker=producer.coordinator)
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (fenced, -1, -1)


def test_a_marker_by_hand_is_answered_once_it_is_replicated(sim, producer):
    assert producer.send(b"a") == 0
    partition = sim.cluster.find_partition(TOPIC, 0)
    follower = partition.isr[-1]
    sim.cluster.cluster_control.set_follower_lag(follower, 1, sim.now_ms)
    marker = WriteTxnMarkersRequest.Marker(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        topics=[WriteTxnMarkersRequest.Marker.Topic(name=TOPIC, partition_indexes=[0])],
    )
    ticket = sim.send(WriteTxnMarkersRequest(markers=[marker]), version=1, broker=partition.leader)
    assert ticket not in sim.replies
    sim.advance(30_000)
    (found,) = sim.replies[ticket].markers
    assert found.topics[0].partitions[0].error_code in (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT)


@pytest.mark.parametrize("diskless", [False, True])
def test_a_marker_by_hand_takes_enough_replicas_in_sync_but_where_there_is_no_disk(sim, producer, diskless):
    configs = {"min.insync.replicas": "3", "diskless.enable": str(diskless).lower()}
    sim.cluster.replication_control.create("strict", 1, configs=configs)
    partition = sim.cluster.find_partition("strict", 0)
    sim.stop_broker(2)
    leader = 0 if diskless else partition.leader
    marker = WriteTxnMarkersRequest.Marker(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        topics=[WriteTxnMarkersRequest.Marker.Topic(name="strict", partition_indexes=[0])],
    )
    (found,) = sim.ask(WriteTxnMarkersRequest(markers=[marker]), version=1, broker=leader).markers
    expected = ErrorCode.NONE if diskless else ErrorCode.NOT_ENOUGH_REPLICAS
    assert found.topics[0].partitions[0].error_code == expected


def test_clients_hear_of_version_2_from_version_3_of_apiversions_on(sim):
    def features(version: int) -> list[Any]:
        request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        answer = sim.ask(request, version=version)
        return [(one.name, one.max_version_level) for one in answer.finalized_features]

    assert ("transaction.version", 2) in features(3)
    assert features(3) == features(4)
    assert features(2) == []


def test_a_feature_that_may_be_at_level_0_is_shown_as_supported_from_version_4_of_apiversions_on(sim):
    def supported(version: int) -> list[Any]:
        request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        return [one.name for one in sim.ask(request, version=version).supported_features if one.min_version == 0]

    assert supported(3) == []
    assert "transaction.version" in supported(4)


@pytest.mark.zookeeper
def test_the_time_of_zookeeper_knows_no_features():
    sim = Simulation(release="3.9", settings={"zookeeper.connect": "zk:2181"})
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    assert sim.ask(request, version=3).finalized_features == []
    assert feature_level(sim.cluster, "transaction.version") == 0


def test_a_broker_of_zookeepers_time_has_transactions_without_bumps():
    sim = Simulation(release="3.9", settings={"zookeeper.connect": "zk:2181"})
    sim.cluster.replication_control.create(TOPIC, 2, 3)
    sim.tell()
    producer = TransactionalProducer(sim, version=OLD)
    assert producer.init() == producer.send(b"a") == producer.commit_offset(7) == producer.end() == 0
    assert producer.send(b"lost") == producer.end(commit=False) == 0
    assert (visible(fetched(sim)), committed_offset(sim)) == ([b"a"], (7, 0))
    assert producer.send(b"lost too") == 0
    other = TransactionalProducer(sim, version=OLD)
    assert [other.init(), other.init()] == [ErrorCode.CONCURRENT_TRANSACTIONS, 0]
    assert (other.epoch, visible(fetched(sim))) == (2, [b"a"])


def test_a_fault_keeps_the_offsets_of_the_topic_that_it_names_out_of_a_transaction(sim, producer):
    match = {"api": "TxnOffsetCommit", "topic": TOPIC, "group": "readers"}
    handle = sim.faults.add(match=match, effect={"error": "NOT_COORDINATOR"})
    assert producer.commit_offset(7) == ErrorCode.NOT_COORDINATOR
    assert sim.cluster.groups.offsets("readers").all_partitions() == []
    handle.remove()
    assert producer.commit_offset(7) == producer.end() == 0
    assert committed_offset(sim) == (7, 0)


def test_transactional_ids_are_matched_by_an_expression_as_a_whole():
    sim = Simulation()
    for name in ("orders-1", "orders-2", "payments-1"):
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1000)
        coordinator = sim.cluster.internal_topics.coordinator(name, TRANSACTIONS_TOPIC).id
        assert sim.ask(request, broker=coordinator).error_code == ErrorCode.NONE

    def listed(pattern: str) -> list[str]:
        found = [
            one.transactional_id
            for broker in range(3)
            for one in sim.ask(
                ListTransactionsRequest(transactional_id_pattern=pattern), version=2, broker=broker
            ).transaction_states
        ]
        return sorted(found)

    assert listed("orders-[0-9]") == ["orders-1", "orders-2"]
    assert listed("orders") == []
    refused = sim.ask(ListTransactionsRequest(transactional_id_pattern="(a"), version=2)
    assert refused.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
