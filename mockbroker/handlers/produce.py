"""Produce (key 0): append record batches to partitions.

Writes partitions' logs and their producer state; wakes waiting fetches. With acks=all the answer waits until every
in-sync replica has the records, at most for the request's timeout, and, if the log's files require it, until the
records are on disk.
Errors, per partition: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS,
INVALID_REQUIRED_ACKS, those of ``appending.append``, in a transaction those of ``produce_transactions``, and after a
wait REQUEST_TIMED_OUT and NOT_ENOUGH_REPLICAS_AFTER_APPEND. With acks=0 there is no answer, and an error closes the
connection.
Source: KIP-98, KIP-467, KIP-516, KIP-951; KafkaApis.handleProduceRequest, DelayedProduce and
Partition.checkEnoughReplicasReachOffset, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call, Verdict, Wait
from mockbroker.handlers.error_responses import by_topic
from mockbroker.handlers.leadership import find_partition, name_leader, node_endpoints, served_by, when_done
from mockbroker.handlers.transferred import produced_parts
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.appending import append
from mockbroker.state.logs.batch_checks import (
    ATTRIBUTES_AT,
    MAGIC_AT,
    RefusedAppendError,
    batch_size,
    only_batch,
    refused,
)
from mockbroker.state.security.operations import Operation
from mockbroker.state.topics.topic import Partition
from protocol.apis.produce import ProduceRequest, ProduceResponse
from protocol.error_codes import ErrorCode, error_name
from protocol.records import CompressionCodec
from protocol.records.batches import CODEC_MASK, TRANSACTIONAL_FLAG

if TYPE_CHECKING:
    from mockbroker.handlers.produce_transactions import TransactionErrors

BATCH_VERSION = 3  # from here on exactly one batch of magic 2
ZSTD_VERSION = 7
CURRENT_LEADER_VERSION = 10  # KIP-951
TOPIC_ID_VERSION = 13
ALL_IN_SYNC, NO_ACKS, LEADER_ACKS = -1, 0, 1
NO_OFFSET = -1
NO_TIME = -1
MAGIC_OF_BATCHES = 2
ADMIN_CLIENT = "__admin_client"  # the one client.id that may write to internal topics

PartitionResponse = ProduceResponse.Topic.Partition


class AppendedRecords(NamedTuple):
    """Appended records: the offset after them, the leader epoch of the append, and their entry of the answer."""

    partition: Partition
    end_offset: int
    leader_epoch: int
    entry: PartitionResponse


def each_once(
    request: ProduceRequest, answer: ProduceResponse, _error: ApiError, version: int
) -> ProduceResponse | None:
    """The answer to a failed request, with each partition once; None if the producer expects no answer."""
    if request.acks == NO_ACKS:
        return None
    key = "topic_id" if version >= TOPIC_ID_VERSION else "name"
    entries = {(getattr(topic, key), one.index): one for topic in answer.responses for one in topic.partition_responses}
    answer.responses = by_topic(ProduceResponse.Topic, entries, key, "partition_responses")
    return answer


@handles(
    ProduceRequest,
    access=Needs(topic="Write", note="records of a transaction: Write on the transactional id too"),
    errors=Errors(injected="lookup", failed={"base_offset": -1}, odd=each_once),
)
def produce(call: Call, request: ProduceRequest) -> ProduceResponse | Verdict | Wait | None:
    """Append the records to each partition."""
    by_topic_id = call.version >= TOPIC_ID_VERSION
    response = ProduceResponse()
    entries: list[PartitionResponse] = []
    written: list[AppendedRecords] = []
    errors = transaction_errors(call, request)
    refusals: dict[int, ApiError] = {}
    for topic in without_doubles(call, request, refusals):
        answered = ProduceResponse.Topic(name=topic.name, topic_id=topic.topic_id)
        for wanted in topic.partition_data:
            partition: Partition | None = None
            try:
                partition = find_partition(call, topic.topic_id if by_topic_id else topic.name, wanted.index)
                done = append_records(call, partition, wanted, request, errors)
                written.append(done)
                entry = done.entry
                if id(wanted) in refusals:
                    raise refusals[id(wanted)]
            except ApiError as found:
                error = refusals.get(id(wanted), found) if partition is not None else found
                entry = error_entry(wanted.index, error)
                is_elsewhere = error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
                if is_elsewhere and partition is not None and call.version >= CURRENT_LEADER_VERSION:
                    name_leader(call, partition, entry)
            answered.partition_responses.append(entry)
        if answered.partition_responses:  # Kafka's answer has only topics with partitions
            response.responses.append(answered)
            entries += answered.partition_responses
    call.parts = produced_parts(call, response, {id(one.entry): one.end_offset for one in written})
    failures = [error_name(one.error_code) for one in entries if one.error_code]
    if request.acks == NO_ACKS:
        return Verdict(closes=f"produce with acks=0 failed: {failures[0]}") if failures else None
    if failures:
        response.node_endpoints = node_endpoints(call, entries, ProduceResponse.NodeEndpoint)
    if request.acks != ALL_IN_SYNC:
        return response
    until_ms = call.now_ms + max(0, request.timeout_ms)
    return when_done(
        call, response, written, until_ms, is_replicated, lambda one: fail(one.entry, ErrorCode.REQUEST_TIMED_OUT)
    )


def is_replicated(call: Call, one: AppendedRecords) -> bool:
    """True if the wait for one partition is over: every in-sync replica has the records, or its leader has changed."""
    partition = one.partition
    if partition.topic.diskless:
        return True
    if partition.topic.id not in call.cluster.topic_by_id:
        fail(one.entry, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return True
    if call.own_copy(partition) is not partition:
        return False  # the broker does not know it, and no follower fetches from it
    if partition.leader != call.broker.id or was_truncated(one):
        fail(one.entry, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return True
    if partition.high_watermark < one.end_offset:
        return False
    if len(partition.isr) < partition.effective_min_isr():
        fail(one.entry, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    return True


def was_truncated(one: AppendedRecords) -> bool:
    """True if a leader without the records led meanwhile, even if the original leader leads again."""
    partition, log = one.partition, one.partition.log
    if partition.leader_epoch == one.leader_epoch:
        return False
    return log.leader_epochs.end_offset_for(one.leader_epoch, log.end_offset).end_offset < one.end_offset


def fail(entry: PartitionResponse, code: int) -> None:
    entry.error_code, entry.base_offset, entry.log_append_time_ms = code, NO_OFFSET, NO_TIME


def without_doubles(call: Call, request: ProduceRequest, refusals: dict[int, ApiError]) -> list[ProduceRequest.Topic]:
    """Each topic once, and only the last records for a partition that is named twice, as in Kafka's maps.

    Kafka has a separate map for records that are not a batch: if a request has both for a partition, the valid records
    are written and the answer is the error. ``refusals`` receives these errors, by the identity of the written entry.
    """
    if len(request.topic_data) == 1 and len(request.topic_data[0].partition_data) == 1:
        return request.topic_data
    topics: dict[tuple[str, bytes], ProduceRequest.Topic] = {}
    for topic in request.topic_data:
        known = topics.setdefault((topic.name, topic.topic_id), topic)
        if known is not topic:
            known.partition_data.extend(topic.partition_data)
    for topic in topics.values():
        if len(topic.partition_data) < 2:
            continue
        by_index: dict[int, ProduceRequest.Topic.Partition] = {}
        refused: dict[int, ApiError] = {}
        doubled = {index for index, times in Counter(one.index for one in topic.partition_data).items() if times > 1}
        for one in topic.partition_data:
            if one.index in doubled and call.version >= BATCH_VERSION and one.records is not None:
                try:
                    only_batch(one.records, allow_zstd=call.version >= ZSTD_VERSION)
                except ApiError as error:
                    refused[one.index] = error
                    by_index.setdefault(one.index, one)
                    continue
            by_index[one.index] = one
        refusals.update((id(by_index[index]), error) for index, error in refused.items())
        topic.partition_data = list(by_index.values())
    return list(topics.values())


def transaction_errors(call: Call, request: ProduceRequest) -> TransactionErrors:
    """The errors of partitions with records of a transaction, from their first batches. Raises ApiError."""
    found = False
    for topic in request.topic_data:
        for partition in topic.partition_data:
            found = begins_transaction(partition.records, call.version, found=found)
    if not found:
        return {}
    name = request.transactional_id
    if name is None or not call.access.may_transactional_id(Operation.WRITE, name):
        raise ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    from mockbroker.handlers.produce_transactions import transaction_errors_of

    return transaction_errors_of(call, request, name)


def begins_transaction(records: bytes | None, version: int, *, found: bool = False) -> bool:
    """True if a partition's first batch, or an earlier one (``found``), belongs to a transaction; reads a few bytes.

    Raises ApiError, for the whole request: CORRUPT_MESSAGE if the end of a batch is unknown, and UNKNOWN_SERVER_ERROR
    for a codec that the version's check of codecs does not know.
    """
    if not records:
        return found
    try:
        if batch_size(records, 0) is None or records[MAGIC_AT] != MAGIC_OF_BATCHES:
            return found
    except ApiError:
        if found:
            return found
        raise
    attributes = records[ATTRIBUTES_AT]
    if BATCH_VERSION <= version < ZSTD_VERSION and attributes & CODEC_MASK > CompressionCodec.ZSTD:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return found or attributes & TRANSACTIONAL_FLAG != 0


def append_records(
    call: Call,
    partition: Partition,
    wanted: ProduceRequest.Topic.Partition,
    request: ProduceRequest,
    errors: TransactionErrors,
) -> AppendedRecords:
    """Append one partition's records. Raises ApiError."""
    acks = request.acks
    records = wanted.records or b""
    size = only_batch(records, allow_zstd=call.version >= ZSTD_VERSION) if call.version >= BATCH_VERSION else None
    if acks not in (ALL_IN_SYNC, NO_ACKS, LEADER_ACKS):
        raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS)
    if errors:
        from mockbroker.handlers.produce_transactions import check_in_transaction

        check_in_transaction(errors, partition)
    if partition.topic.is_internal and call.session.client_id != ADMIN_CLIENT:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION)
    served_by(call, partition)
    if acks == ALL_IN_SYNC and not partition.topic.diskless:
        min_isr = partition.effective_min_isr()
        in_sync = len(call.leadership(partition).isr)
        if in_sync < min_isr:
            raise refused(ApiError(ErrorCode.NOT_ENOUGH_REPLICAS), partition.log.start_offset)
    owner = call.own_copy(partition)
    written = append(
        owner,
        records,
        call.now_ms + call.cluster.clock.offset_ms,
        size=size,
        clock_jumped=call.cluster.clock.offset_ms != 0,
        has_transactional_id=request.transactional_id is not None,
        budget=call.decompression,
        max_segment_bytes=call.cluster.log_cleanup.memory.segment_bytes,
    )
    if owner is partition:
        call.cluster.replication.appended(partition, call.now_ms)
    entry = PartitionResponse(
        index=wanted.index,
        base_offset=written.base_offset,
        log_append_time_ms=written.append_time_ms,
        log_start_offset=partition.log.start_offset,
    )
    return AppendedRecords(partition, written.end_offset, owner.leader_epoch, entry)


def error_entry(index: int, error: ApiError) -> PartitionResponse:
    """A partition's error; with a message only where Kafka has one: for single records and for transactions."""
    entry = PartitionResponse(index=index, error_code=int(error.code), base_offset=NO_OFFSET)
    if isinstance(error, RefusedAppendError):
        entry.log_start_offset = error.log_start_offset
        entry.error_message = error.message
        entry.record_errors = [
            PartitionResponse.RecordError(batch_index=place, batch_index_error_message=words)
            for place, words in error.record_errors
        ]
    return entry
