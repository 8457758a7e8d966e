"""ListOffsets (key 2): the start and end offsets of a partition's log, and the offset for a timestamp.

Errors, per partition: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH,
UNSUPPORTED_VERSION, TOPIC_AUTHORIZATION_FAILED, INVALID_REQUEST for a partition that the request names twice.
Source: KIP-79, KIP-98, KIP-734, KIP-405, KIP-1005, KIP-1023; UnifiedLog.fetchOffsetByTimestamp, Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.error_responses import by_topic, reported
from mockbroker.handlers.leadership import (
    NO_EPOCH,
    READ_COMMITTED,
    check_isolation_level,
    find_partition,
    readable_end,
    served_by,
)
from mockbroker.state.errors import ApiError
from mockbroker.state.image import TopicPartition
from mockbroker.state.logs.log import Log, StoredBatch
from mockbroker.state.security.operations import Operation
from protocol.apis.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from protocol.error_codes import ErrorCode

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3  # v7
EARLIEST_LOCAL = -4  # v8
LATEST_TIERED = -5  # v9
EARLIEST_PENDING_UPLOAD = -6  # v11
EPOCH_VERSION = 4
CONSUMER, DEBUGGING_REPLICA = -1, -2  # as the replica id
NO_TIMESTAMP = -1
NO_OFFSET = -1
FIRST_VERSION_OF = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}

PartitionResponse = ListOffsetsResponse.Topic.Partition
Found = tuple[int, int, int]
"""Timestamp, offset and leader epoch."""


@handles(ListOffsetsRequest, access=Needs(topic="Describe", handler="all"), errors=Errors(injected="lookup"))
def list_offsets(call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """An offset for each requested partition; one entry, with an error, for a partition that is named twice."""
    check_isolation_level(request.isolation_level)
    entries: dict[TopicPartition, PartitionResponse] = {}
    access, denied = call.access, []
    for topic in request.topics:
        if not access.may_topic(Operation.DESCRIBE, topic.name):
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            failed = [
                PartitionResponse(partition_index=one.partition_index, error_code=code) for one in topic.partitions
            ]
            denied.append(ListOffsetsResponse.Topic(name=topic.name, partitions=failed))
            continue
        for wanted in topic.partitions:
            place = topic.name, wanted.partition_index
            if place in entries:
                entries[place] = PartitionResponse(partition_index=place[1], error_code=ErrorCode.INVALID_REQUEST)
            else:
                entries[place] = partition_entry(call, topic.name, wanted, request)
    return ListOffsetsResponse(topics=by_topic(ListOffsetsResponse.Topic, entries) + denied)


def partition_entry(
    call: Call, topic: str, wanted: ListOffsetsRequest.Topic.Partition, request: ListOffsetsRequest
) -> PartitionResponse:
    """A partition's part of the answer."""
    entry = PartitionResponse(partition_index=wanted.partition_index)
    timestamp = wanted.timestamp
    with reported(entry):
        if call.version < FIRST_VERSION_OF.get(timestamp, 0) or timestamp < EARLIEST_PENDING_UPLOAD:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
        partition = find_partition(call, topic, wanted.partition_index)
        served_by(call, partition, wanted.current_leader_epoch, followers_too=request.replica_id == DEBUGGING_REPLICA)
        if request.replica_id == CONSUMER:
            end_offset = readable_end(call, partition, committed_only=request.isolation_level == READ_COMMITTED)
        else:
            end_offset = partition.log.end_offset
        if call.version == 0:
            offsets = old_offsets(partition.log, end_offset, timestamp)
            entry.old_style_offsets = offsets[: max(0, wanted.max_num_offsets)]
        else:
            entry.timestamp, entry.offset, epoch = offset_for(partition.log, end_offset, timestamp)
            if call.version >= EPOCH_VERSION:
                entry.leader_epoch = partition.leader_epoch if timestamp == LATEST else epoch
    return entry


def offset_for(log: Log, end_offset: int, timestamp: int) -> Found:
    """Timestamp, offset and leader epoch for a timestamp or one of the special negative values.

    Args:
        end_offset: the offset after the last record that consumers of this isolation level can read.
    """
    if timestamp == LATEST:
        return (NO_TIMESTAMP, end_offset, log.leader_epochs.latest_epoch())
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return (NO_TIMESTAMP, log.start_offset, log.leader_epochs.epoch_for_offset(log.start_offset))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return (NO_TIMESTAMP, NO_OFFSET, NO_EPOCH)  # nothing is tiered
    found = newest_record(log) if timestamp == MAX_TIMESTAMP else first_record_since(log, timestamp)
    if found is None or found[1] >= end_offset:
        return (NO_TIMESTAMP, NO_OFFSET, NO_EPOCH)
    return found


def old_offsets(log: Log, end_offset: int, timestamp: int) -> list[int]:
    """The answer of v0: segments' start offsets and the log's end offset, newest first, for one segment."""
    if timestamp == EARLIEST:
        return [log.start_offset]
    if timestamp == LATEST:
        return [end_offset, log.start_offset] if end_offset > log.start_offset else [end_offset]
    oldest = next(log.batches(log.start_offset), None)
    return [log.start_offset] if oldest is not None and oldest.max_timestamp <= timestamp else []


def newest_record(log: Log) -> Found | None:
    """Timestamp, offset and leader epoch of the log's newest record, the first of several; None in an empty log.

    As in Kafka, the record may be before the log's start, if its batch is still stored.
    """
    batch = log.newest_batch()
    if batch is None:
        return None
    newest, offset = max(opened(batch), key=lambda pair: (pair[0], -pair[1]))
    return (newest, offset, batch.leader_epoch)


def first_record_since(log: Log, timestamp: int) -> Found | None:
    """Timestamp, offset and leader epoch of the first record at or after this timestamp, if any.

    It skips records before the log's start, as LogSegment.findOffsetByTimestamp does.
    """
    since, start = log.first_batch_since(timestamp), log.start_offset
    for batch in () if since is None else log.batches(max(start, since.base_offset)):
        if batch.max_timestamp >= timestamp:
            first = next((one for one in opened(batch) if one[0] >= timestamp and one[1] >= start), None)
            if first is not None:
                return (*first, batch.leader_epoch)
    return None


def opened(batch: StoredBatch) -> Iterator[tuple[int, int]]:
    """Timestamp and offset of each record of a batch: the only place where a request decodes stored records."""
    from protocol.records import iter_records

    records = iter_records(batch.data, crc=False)
    return ((record.timestamp, record.offset) for record in records)
