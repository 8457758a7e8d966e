"""AddPartitionsToTxn (key 24), AddOffsetsToTxn (25), EndTxn (26), WriteTxnMarkers (27), TxnOffsetCommit (28).

They read and write cluster.transactions, cluster.groups and, for WriteTxnMarkers, partitions' logs.
Errors: INVALID_REQUEST, NOT_COORDINATOR, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED (INVALID_PRODUCER_EPOCH before
v2), CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE; per partition of AddPartitionsToTxn UNKNOWN_TOPIC_OR_PARTITION,
TOPIC_AUTHORIZATION_FAILED, OPERATION_NOT_ATTEMPTED, TRANSACTION_ABORTABLE; of WriteTxnMarkers
UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, INVALID_PRODUCER_EPOCH,
TRANSACTION_COORDINATOR_FENCED, UNKNOWN_SERVER_ERROR for negative producers; of TxnOffsetCommit
UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_GROUP_ID, OFFSET_METADATA_TOO_LARGE, those of
``produce_transactions`` and of ``Groups.commit``.
Source: KIP-98, KIP-447, KIP-890, KIP-1319; KafkaApis and GroupCoordinatorService.commitTransactionalOffsets, Apache
Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call, Wait
from mockbroker.groups.kind import check_group_id
from mockbroker.handlers.error_responses import by_topic, reported
from mockbroker.handlers.find_coordinator import check_coordinator
from mockbroker.handlers.group_offsets import Offsets, commit, store_offsets
from mockbroker.handlers.leadership import find_partition, served_by, when_done
from mockbroker.handlers.produce_transactions import code_if_missing, transaction_errors
from mockbroker.state.errors import ApiError
from mockbroker.state.image import TopicPartition
from mockbroker.state.logs.appending import append_marker
from mockbroker.state.logs.producers import Marker
from mockbroker.state.security.operations import Operation
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from mockbroker.state.topics.topic import INTERNAL_TOPICS, Partition
from mockbroker.state.transactions.coordinator import BUMP, NO_BUMP
from mockbroker.state.transactions.states import Producer
from mockbroker.subjects import nothing_named
from protocol.apis.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    EndTxnRequest,
    EndTxnResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from protocol.error_codes import ErrorCode

BROKERS_VERSION = 4  # of AddPartitionsToTxn: many transactions at once, for brokers
FENCED = Errors(older={ErrorCode.PRODUCER_FENCED: (2, ErrorCode.INVALID_PRODUCER_EPOCH)})
BUMPING_VERSION = 5  # of EndTxn
TOPIC_ID_VERSION = 6  # of TxnOffsetCommit
ABORTABLE_VERSION = 4  # of TxnOffsetCommit
REQUEST_TIMEOUT_MS = 30_000  # request.timeout.ms, for the markers' replication

MarkerResult = WriteTxnMarkersResponse.Marker.Topic.Partition


class AppendedMarker(NamedTuple):
    """A marker in a log: the offset after it, and its entry of the answer."""

    partition: Partition
    end_offset: int
    result: MarkerResult

    @property
    def is_replicated(self) -> bool:
        return self.partition.high_watermark >= self.end_offset


@handles(
    AddPartitionsToTxnRequest,
    access=Needs(topic="Write", transactional_id="Write", note="since version 4: ClusterAction on the cluster alone"),
    subjects=nothing_named,
)
def add_partitions_to_txn(call: Call, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    """Add partitions to one transaction, since v4 to several, or verify that they were added."""
    if call.version < BROKERS_VERSION:
        one = AddPartitionsToTxnRequest.Transaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
        )
        topics = request.v3_and_below_topics
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=added(call, one, topics, topics))
    last = {one.transactional_id: one.topics for one in request.transactions}
    first = {one.transactional_id: one.topics for one in reversed(request.transactions)}
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResponse.Transaction(
                transactional_id=one.transactional_id,
                topic_results=added(call, one, last[one.transactional_id], first[one.transactional_id]),
            )
            for one in request.transactions
        ]
    )


def added(
    call: Call,
    transaction: AddPartitionsToTxnRequest.Transaction,
    topics: Sequence[AddPartitionsToTxnTopic],
    answered: Sequence[AddPartitionsToTxnTopic],
) -> list[AddPartitionsToTxnTopicResult]:
    """The result for each partition; adds none of them if one does not exist.

    ``answered`` are the topics of an answer with the same code for all partitions. They differ from ``topics`` if a
    request has a transactional id twice: all its entries add the partitions of the last entry, and answer with those
    of the first, as in Kafka.
    """
    by_topic: dict[str, dict[int, None]] = {}
    for topic in topics:
        by_topic.setdefault(topic.name, {}).update(dict.fromkeys(topic.partitions))
    once = [AddPartitionsToTxnTopic(name=name, partitions=list(found)) for name, found in by_topic.items() if found]
    partitions = [(topic.name, index) for topic in once for index in topic.partitions]
    errors: dict[TopicPartition, int] = {one: unfit for one in partitions if (unfit := error_of(call, one))}
    if errors:
        return results_of(once, errors, ErrorCode.OPERATION_NOT_ATTEMPTED)
    transactions, verifies = call.cluster.transactions, transaction.verify_only
    producer = producer_of(transaction)
    try:
        if transaction.transactional_id:
            check_coordinator(call, transaction.transactional_id, TRANSACTIONS_TOPIC)
        if verifies:
            errors.update(transactions.verify(producer, partitions))
        else:
            client_version = BUMP if call.version >= BROKERS_VERSION else NO_BUMP
            transactions.add_partitions(producer, partitions, client_version=client_version)
    except ApiError as error:
        errors, code = {}, error.code
        if code == ErrorCode.PRODUCER_FENCED and call.version < FENCED.older[code][0]:
            code = FENCED.older[code][1]
    else:
        code = ErrorCode.NONE
    return results_of(once if verifies else answered, errors, code)


def producer_of(request: AddPartitionsToTxnRequest.Transaction | AddOffsetsToTxnRequest | EndTxnRequest) -> Producer:
    return Producer(request.transactional_id, request.producer_id, request.producer_epoch)


def error_of(call: Call, one: TopicPartition) -> ErrorCode:
    """The error of a partition that cannot be in a transaction, NONE if it can."""
    name, index = one
    if call.version < BROKERS_VERSION and (name in INTERNAL_TOPICS or not call.access.may_topic(Operation.WRITE, name)):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if name == OFFSETS_TOPIC:
        known = 0 <= index < len(call.cluster.internal_topics.topic(name).partitions)
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        find_partition(call, name, index)
    except ApiError as error:
        return ErrorCode(error.code)
    return ErrorCode.NONE


def results_of(
    topics: Iterable[AddPartitionsToTxnTopic], errors: dict[TopicPartition, int], others: int
) -> list[AddPartitionsToTxnTopicResult]:
    """The error of each partition, ``others`` for those without one in ``errors``."""
    result = AddPartitionsToTxnTopicResult
    return [
        result(
            name=topic.name,
            results_by_partition=[
                result.Partition(partition_index=one, partition_error_code=errors.get((topic.name, one), others))
                for one in topic.partitions
            ],
        )
        for topic in topics
    ]


@handles(AddOffsetsToTxnRequest, access=Needs(group="Read", transactional_id="Write"), errors=FENCED)
def add_offsets_to_txn(call: Call, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    """Add the partition that stores a group's offsets."""
    if request.transactional_id:
        check_coordinator(call, request.transactional_id, TRANSACTIONS_TOPIC)
    call.cluster.transactions.add_partitions(producer_of(request), [offsets_of(call, request.group_id)])
    return AddOffsetsToTxnResponse()


def offsets_of(call: Call, group_id: str) -> TopicPartition:
    """The partition that stores a group's offsets. Raises ApiError: COORDINATOR_NOT_AVAILABLE."""
    return (OFFSETS_TOPIC, call.cluster.internal_topics.partition_of(OFFSETS_TOPIC, group_id).index)


@handles(EndTxnRequest, access=Needs(transactional_id="Write"), errors=FENCED)
def end_txn(call: Call, request: EndTxnRequest) -> EndTxnResponse:
    """Commit or abort; since v5 the producer continues with the id and epoch of the answer."""
    bumps = call.version >= BUMPING_VERSION
    if request.transactional_id:
        check_coordinator(call, request.transactional_id, TRANSACTIONS_TOPIC)
    producer_id, epoch = call.cluster.transactions.end(
        producer_of(request), commit=request.committed, client_version=BUMP if bumps else NO_BUMP
    )
    return EndTxnResponse(producer_id=producer_id, producer_epoch=epoch) if bumps else EndTxnResponse()


@handles(
    WriteTxnMarkersRequest,
    access=Needs(cluster="Alter", or_cluster="ClusterAction"),
    subjects=nothing_named,
)
def write_txn_markers(call: Call, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse | Wait:
    """Append markers to partitions' logs, for brokers and admins; the answer waits for their replication."""
    results: dict[int, dict[TopicPartition, MarkerResult]] = {}  # the answer has each producer and partition once
    written: list[AppendedMarker] = []
    for marker in request.markers:
        of_producer = results.setdefault(marker.producer_id, {})
        for topic in marker.topics:
            for index in topic.partition_indexes:
                result = of_producer[topic.name, index] = MarkerResult(partition_index=index)
                with reported(result):
                    written.append(AppendedMarker(*write_marker(call, marker, topic.name, index), result))
    response = WriteTxnMarkersResponse(
        markers=[
            WriteTxnMarkersResponse.Marker(
                producer_id=producer_id, topics=by_topic(WriteTxnMarkersResponse.Marker.Topic, of_producer)
            )
            for producer_id, of_producer in results.items()
            if of_producer
        ]
    )
    until_ms = call.now_ms + REQUEST_TIMEOUT_MS
    return when_done(call, response, written, until_ms, lambda _, one: one.is_replicated, time_out)


def write_marker(call: Call, marker: WriteTxnMarkersRequest.Marker, name: str, index: int) -> tuple[Partition, int]:
    """Write one marker; returns its partition, as this leader has it, and the offset after it. Raises ApiError."""
    cluster = call.cluster
    partition = find_partition(call, name, index)
    if not partition.topic.diskless and call.broker.id not in partition.replicas:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    served_by(call, partition)
    if not partition.topic.diskless and len(partition.isr) < partition.effective_min_isr():
        raise ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)
    if marker.producer_id < 0 or marker.producer_epoch < 0:
        raise ApiError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"expected a producer id and epoch of at least 0, got {marker.producer_id} and {marker.producer_epoch}",
        )
    owner = call.own_copy(partition)
    ending = Marker(marker.transaction_result, marker.producer_id, marker.producer_epoch, marker.coordinator_epoch)
    wall_ms, version = cluster.clock.at(call.now_ms), marker.transaction_version
    end_offset = append_marker(owner, ending, wall_ms, version)
    if owner is partition:
        cluster.replication.appended(partition, call.now_ms)
        if name == OFFSETS_TOPIC:
            cluster.internal_topics.end_transaction(partition, ending)
    return owner, end_offset


def time_out(one: AppendedMarker) -> None:
    one.result.error_code = ErrorCode.REQUEST_TIMED_OUT


@handles(
    TxnOffsetCommitRequest,
    access=Needs(group="Read", topic="Read", transactional_id="Write"),
    errors=Errors(injected="request"),
)
def txn_offset_commit(call: Call, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    """Store offsets that take effect once the transaction commits; every partition has its own error."""

    def store(offsets: Offsets) -> None:
        check_group_id(request.group_id)
        if OFFSETS_TOPIC not in call.cluster.topics:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"topic {OFFSETS_TOPIC} was not created yet")
        check_coordinator(call, request.group_id)
        check_producer(call, request)
        commit(call, request, offsets, (request.producer_id, request.producer_epoch))

    return store_offsets(call, request, TxnOffsetCommitResponse, store, new_codes_since=TOPIC_ID_VERSION)


def check_producer(call: Call, request: TxnOffsetCommitRequest) -> None:
    """Raises ApiError, unless the group's offsets are in the producer's transaction, to which it may add them."""
    topics = call.cluster.internal_topics
    topics.check_takes_writes(OFFSETS_TOPIC, request.group_id)
    producer_id, epoch = request.producer_id, request.producer_epoch
    shard = topics.shard(OFFSETS_TOPIC, request.group_id)
    known_epoch = shard.producer_epochs.get(producer_id, epoch)
    if epoch < known_epoch:
        raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH)
    if epoch == known_epoch and producer_id in shard.pending:
        return
    producer = Producer(request.transactional_id, producer_id, epoch)
    place = offsets_of(call, request.group_id)
    missing = code_if_missing(call.version, ABORTABLE_VERSION)
    code = transaction_errors(call, producer, [place], missing).get(place)
    if code is ErrorCode.NETWORK_EXCEPTION:  # older clients do not retry on it
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if code is not None:
        raise ApiError(code)
