"""Appends a producer's records to a partition: checks, sequence numbers, offsets.

Source: ReplicaManager.appendToLocalLog, UnifiedLog.append, Apache Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.state.errors import ApiError
from mockbroker.state.logs.batch_checks import AppendRules, Bounds, append_rules, bounds_of, check_batch, refused
from mockbroker.state.logs.log import UNBOUNDED
from mockbroker.state.logs.producers import Marker
from mockbroker.state.topics.topic import Partition
from protocol.error_codes import ErrorCode
from protocol.records import (
    DEFAULT_LIMIT_BYTES,
    BatchHeader,
    CorruptRecordError,
    DecompressionBudget,
    DecompressionLimitError,
    RecordError,
    UnsupportedCompressionError,
    assign_offsets,
    build_transaction_marker,
    validate,
)

if TYPE_CHECKING:
    from protocol.records.appending import Appended

NO_TIME = -1


class AppendResult(NamedTuple):
    """The offsets of appended records (the last one exclusive), and the append time; -1 for CreateTime.

    For a duplicate batch the time is its newest timestamp, as in Kafka, for either timestamp type.
    """

    base_offset: int
    end_offset: int
    append_time_ms: int


def append(
    partition: Partition,
    records: bytes,
    now_ms: int,
    *,
    size: int | None,
    clock_jumped: bool = False,
    has_transactional_id: bool = True,
    budget: DecompressionBudget | None = None,
    max_segment_bytes: int = UNBOUNDED,
) -> AppendResult:
    """Check records and append them; a duplicate batch gets the result of the first append.

    Args:
        now_ms: in wall-clock time.
        size: of the one batch of magic 2, as since Produce v3, by ``only_batch``; None: a message set of magic 0 or 1.
        clock_jumped: True if a command has moved the clock. If not, and the clock is soon after 1970, as in a
            simulation, records with future timestamps are accepted.
        has_transactional_id: True if the producer sent one; without it, transactional batches are refused.
        budget: limit of decompressed bytes; None: the limit of readers for each batch.
        max_segment_bytes: upper limit of a segment, besides the topic's.
    Raises ApiError: TRANSACTIONAL_ID_AUTHORIZATION_FAILED; RefusedAppendError: CORRUPT_MESSAGE, INVALID_RECORD,
        UNSUPPORTED_COMPRESSION_TYPE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_TIMESTAMP, KAFKA_STORAGE_ERROR,
        UNKNOWN_SERVER_ERROR, and those of ``PartitionProducers.check``.
    """
    log, rules = partition.log, append_rules(partition.topic)
    limit = DEFAULT_LIMIT_BYTES if budget is None else budget
    try:
        bounds = bounds_of(rules, now_ms, clock_jumped=clock_jumped)
        if size is None:
            headers = check_message_set(records, rules, bounds)
        else:
            records, header = check_batch(records, size, rules, bounds, now_ms, limit)
            headers = [header]
        first = headers[0]
        if len(records) > rules.segment_bytes:
            raise ApiError(ErrorCode.RECORD_LIST_TOO_LARGE)
        if first.is_transactional and not has_transactional_id:
            raise ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        before = partition.producers.check(first) if first.producer_id >= 0 else None
        if before is not None:
            return AppendResult(before.base_offset, before.end_offset, before.max_timestamp)
        appended = write(
            partition, records, rules, now_ms, max_segment_bytes=max_segment_bytes, headers=headers, limit=limit
        )
    except RecordError as error:
        raise refused(ApiError(code_of(error)), log.start_offset) from None
    except ApiError as error:
        raise refused(error, log.start_offset) from None
    written = AppendResult(appended.base_offset, appended.last_offset + 1, now_ms if rules.by_append_time else NO_TIME)
    if first.producer_id >= 0:
        partition.producers.note(first, written.base_offset, appended.max_timestamp)
    return written


def check_message_set(records: bytes, rules: AppendRules, bounds: Bounds) -> list[BatchHeader]:
    """The headers of messages of magic 0 or 1, checked as by releases before 4.0.

    Raises RecordError, ApiError.
    """
    headers = validate(records, min_magic=0, max_magic=1, allow_zstd=False, log_append_time=rules.by_append_time)
    _, newest_ms = bounds
    for header in headers:
        if header.size > rules.max_bytes:
            raise ApiError(ErrorCode.MESSAGE_TOO_LARGE)
        if header.max_timestamp > newest_ms:
            raise ApiError(ErrorCode.INVALID_TIMESTAMP)
    return headers


def code_of(error: RecordError) -> ErrorCode:
    """The error code for records that cannot be read."""
    if isinstance(error, CorruptRecordError) and not isinstance(error, DecompressionLimitError):
        return ErrorCode.CORRUPT_MESSAGE
    if isinstance(error, UnsupportedCompressionError):
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    return ErrorCode.INVALID_RECORD  # also for a limit, which is not retriable, unlike corruption in transit


def append_marker(partition: Partition, marker: Marker, now_ms: int, transaction_version: int) -> int:
    """Append the marker that ends a producer's transaction; returns the offset after it.

    Args:
        now_ms: in wall-clock time.
        transaction_version: of the producer; determines which epochs a marker may have.

    Raises ApiError: errors of ``PartitionProducers.check_marker``.
    """
    producers = partition.producers
    producers.check_marker(marker, transaction_version)
    data = build_transaction_marker(**marker._asdict(), timestamp=now_ms)
    appended = write(partition, data, append_rules(partition.topic), now_ms)
    producers.note_marker(marker, appended.last_offset, now_ms)
    if partition.replica_states is None:
        producers.transactions.ended.clear()  # every replica has it
    producers.transactions.forget_before(partition.log.start_offset)
    return appended.last_offset + 1


def write(
    partition: Partition,
    records: bytes,
    rules: AppendRules,
    now_ms: int,
    *,
    max_segment_bytes: int = UNBOUNDED,
    **checked: Any,
) -> Appended:
    """Append checked records to the log, with offsets. Raises RecordError."""
    log, epoch = partition.log, partition.leader_epoch
    append_time_ms = now_ms if rules.by_append_time else None
    appended = assign_offsets(records, log.end_offset, epoch, append_time_ms, **checked)
    log.append(
        appended.records,
        appended.last_offset,
        appended.max_timestamp,
        epoch,
        now_ms=now_ms,
        segment_bytes=min(rules.segment_bytes, max_segment_bytes),
        segment_ms=rules.segment_ms,
    )
    return appended
