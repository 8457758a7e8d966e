"""Appending what a producer sent to a partition: checks, sequence numbers, offsets.

Source: ReplicaManager.appendToLocalLog, UnifiedLog.append, Apache Kafka.
"""

from __future__ import annotations

from typing import NamedTuple

from mockbroker.state.errors import ApiError
from mockbroker.state.logs.producers import BatchMetadata
from mockbroker.state.topics.topic import Partition
from protocol.error_codes import ErrorCode
from protocol.records import (
    CorruptRecordError,
    RecordError,
    UnsupportedCompressionError,
    assign_offsets,
    validate,
)

LOG_APPEND_TIME = "LogAppendTime"
NO_TIME = -1


class AppendResult(NamedTuple):
    """Where records went, the offset behind them, and when; -1 where the producer's timestamps stand."""

    base_offset: int
    end_offset: int
    append_time_ms: int


def append(partition: Partition, records: bytes, now_ms: int, *, one_batch: bool, allow_zstd: bool) -> AppendResult:
    """Check records and append them; a batch that was appended before gives what it was given then.

    Args:
        one_batch: exactly one batch of magic 2, as from Produce v3 on; else a message set of magic 0 or 1.

    Raises ApiError: CORRUPT_MESSAGE, INVALID_RECORD, UNSUPPORTED_COMPRESSION_TYPE, MESSAGE_TOO_LARGE, and those of
        ``PartitionProducers.check``.
    """
    topic, log = partition.topic, partition.log
    log_append_time = topic.config("message.timestamp.type") == LOG_APPEND_TIME
    try:
        headers = validate(
            records,
            min_magic=2 if one_batch else 0,
            max_magic=2 if one_batch else 1,
            one_batch=one_batch,
            allow_zstd=allow_zstd,
            log_append_time=log_append_time,
        )
        largest = topic.config("max.message.bytes")
        for header in headers:
            if header.size > largest:
                raise ApiError(
                    ErrorCode.MESSAGE_TOO_LARGE, f"a batch of {header.size} bytes, but the topic takes {largest}"
                )
        first = headers[0]
        by_producer = first.producer_id >= 0
        if by_producer:
            before = partition.producers.check(
                first.producer_id, first.producer_epoch, first.base_sequence, first.last_sequence
            )
            if before is not None:
                return AppendResult(before.base_offset, before.end_offset, before.append_time_ms)
        append_time_ms = now_ms if log_append_time else None
        appended = assign_offsets(records, log.end_offset, partition.leader_epoch, append_time_ms, headers=headers)
    except CorruptRecordError as error:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    except UnsupportedCompressionError as error:
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, str(error)) from None
    except RecordError as error:
        raise ApiError(ErrorCode.INVALID_RECORD, str(error)) from None
    log.append(appended.records, appended.last_offset, appended.max_timestamp, partition.leader_epoch)
    written = AppendResult(appended.base_offset, appended.last_offset + 1, now_ms if log_append_time else NO_TIME)
    if by_producer:
        partition.producers.note(
            first.producer_id,
            first.producer_epoch,
            BatchMetadata(first.base_sequence, first.last_sequence, written.base_offset, written.append_time_ms),
            appended.max_timestamp,
        )
    keep_bytes = topic.config("retention.bytes")
    if keep_bytes >= 0 and topic.config("cleanup.policy") == "delete":
        log.keep_at_most(keep_bytes, before=partition.high_watermark)
    return written
