"""Compaction: retains the last record of each key at its offset. Nothing here changes a log.

Only whole segments are cleaned, never the active one. Tombstones and transaction markers get a delete horizon at their
first cleaning and are removed by the first cleaning after it. Records of aborted transactions are removed at once. The
last batch of each producer is retained, without records if necessary, for its sequence numbers.

Source: LogCleanerManager.cleanableOffsets, Cleaner, CleanedTransactionMetadata and MemoryRecords.filterTo, Apache Kafka
4.4; KIP-58, KIP-354, KIP-534.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from mockbroker.state.logs.batch_checks import batch_like, encoded
from mockbroker.state.logs.log import BASE_OFFSET, NO_TIMESTAMP, LogSegment, StoredBatch
from mockbroker.state.logs.producers import AbortedTransaction
from protocol.records import BatchHeader, ControlType, Record, control_type, iter_batches, iter_records
from protocol.records.batches import (
    BATCH_HEADER_SIZE,
    CONTROL_FLAG,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    TRANSACTIONAL_FLAG,
)


def cleanable_end(
    segments: Sequence[LogSegment], dirty_offset: int, stable_offset: int, now_ms: int, config: Callable[[str], Any]
) -> tuple[int, bool]:
    """The end of the part of a log that may be cleaned, and whether it is due now.

    Args:
        segments: all segments of the log, the active one last.
        dirty_offset: the first offset that was not cleaned yet.
        stable_offset: records from here on are not cleaned, as they may still be aborted.
        now_ms: in wall-clock time.
        config: the topic's configs, by name.
    """
    inactive = segments[:-1]
    dirty = [one for one in inactive if one.base_offset >= dirty_offset]
    end_offset = min(stable_offset, segments[-1].base_offset)
    min_lag_ms = config("min.compaction.lag.ms")
    if min_lag_ms > 0:
        young = (one.base_offset for one in dirty if one.largest_timestamp > now_ms - min_lag_ms)
        end_offset = min(end_offset, next(young, end_offset))
    end_offset = max(dirty_offset, end_offset)
    until = next((one.base_offset for one in inactive if one.base_offset >= end_offset), segments[-1].base_offset)
    clean_bytes = sum(one.size_bytes for one in segments if one.base_offset < dirty_offset)
    dirty_bytes = sum(one.size_bytes for one in segments if dirty_offset <= one.base_offset < until)
    oldest = min((one.first_timestamp for one in dirty if one.first_timestamp > 0), default=None)
    overdue = oldest is not None and oldest < now_ms - max(0, config("max.compaction.lag.ms"))
    total = clean_bytes + dirty_bytes
    is_due = dirty_bytes > 0 and (overdue or dirty_bytes / total > config("min.cleanable.dirty.ratio"))
    return end_offset, is_due


@dataclass(slots=True)
class TransactionsSeen:
    """The transactions in batches that are visited in order."""

    aborted: list[AbortedTransaction]
    ongoing_aborted: dict[int, bool] = field(default_factory=dict)
    """Producer id -> True if a batch of its transaction was visited."""
    ongoing_committed: set[int] = field(default_factory=set)
    needed_markers: set[int] = field(default_factory=set)
    """The offsets of markers of aborted transactions with visited batches."""

    def is_discarded(self, header: BatchHeader, records: Sequence[Record]) -> bool:
        """True for a batch of an aborted transaction, or a marker of a transaction without remaining batches."""
        kind = control_type(records[0]) if header.is_control and records else None
        while self.aborted and self.aborted[0].first_offset <= header.last_offset:
            self.ongoing_aborted.setdefault(self.aborted.pop(0).producer_id, False)
        producer_id = header.producer_id
        if header.is_control:
            if kind is ControlType.ABORT:
                was_seen = self.ongoing_aborted.pop(producer_id, False)
                if was_seen:
                    self.needed_markers.add(header.last_offset)
                return not was_seen
            if kind is ControlType.COMMIT:
                was_there = producer_id in self.ongoing_committed
                self.ongoing_committed.discard(producer_id)
                return not was_there
            return kind is None
        if not header.is_transactional:
            return False
        if producer_id in self.ongoing_aborted:
            self.ongoing_aborted[producer_id] = True
            return True
        self.ongoing_committed.add(producer_id)
        return False


@dataclass(slots=True, frozen=True)
class Cleaning:
    """One cleaning of a log.

    Args:
        last_offsets: the last offset of each key in the dirty part.
        latest_offset: the last offset that ``last_offsets`` covers.
        now_ms: in wall-clock time.
        delete_retention_ms: how long tombstones and markers remain after their first cleaning.
        high_watermark: the batch that ends here is retained, if only without records.
        is_last_of_producer: returns True for a producer's last batch.
    """

    last_offsets: dict[bytes, int]
    latest_offset: int
    now_ms: int
    delete_retention_ms: int
    high_watermark: int
    is_last_of_producer: Callable[[BatchHeader], bool]

    def clean(
        self, batches: Iterable[StoredBatch], aborted: Sequence[AbortedTransaction]
    ) -> tuple[list[StoredBatch], set[int]]:
        """The cleaned batches, and the markers of aborted transactions that had batches among them."""
        seen = TransactionsSeen(in_order(aborted))
        cleaned = [kept for batch in batches if (kept := self._cleaned(batch, seen)) is not None]
        return cleaned, seen.needed_markers

    def _cleaned(self, batch: StoredBatch, seen: TransactionsSeen) -> StoredBatch | None:
        header = next(iter_batches(batch.data))
        if header.magic < 2:
            return batch
        records = list(iter_records(batch.data, crc=False))
        discarded = seen.is_discarded(header, records)
        horizon_ms = header.delete_horizon_ms
        over = horizon_ms is not None and horizon_ms <= self.now_ms
        if discarded and (over or not header.is_control):
            kept = []
        else:
            kept = records if header.is_control else [one for one in records if self._stays(one, horizon_ms)]
        if not kept:
            is_last = header.producer_id >= 0 and self.is_last_of_producer(header)
            return emptied(batch, header) if is_last or header.last_offset + 1 == self.high_watermark else None
        needs_horizon = horizon_ms is None and (
            (header.is_control and discarded) or (not header.is_control and any(one.value is None for one in kept))
        )
        if len(kept) == len(records) and not needs_horizon:
            return batch
        return rebuilt(batch, header, kept, self.now_ms + self.delete_retention_ms if needs_horizon else horizon_ms)

    def _stays(self, record: Record, horizon_ms: int | None) -> bool:
        if record.offset > self.latest_offset:
            return True
        if record.key is None:
            return False
        if record.offset < self.last_offsets.get(record.key, -1):
            return False
        return record.value is not None or horizon_ms is None or self.now_ms < horizon_ms


def last_offsets(
    batches: Iterable[StoredBatch], start: int, end: int, aborted: Sequence[AbortedTransaction]
) -> dict[bytes, int]:
    """The last offset of each key among the records from ``start`` to before ``end``, without aborted ones."""
    seen = TransactionsSeen(in_order(aborted))
    found: dict[bytes, int] = {}
    for batch in batches:
        if batch.base_offset >= end:
            break
        header = next(iter_batches(batch.data))
        records = list(iter_records(batch.data, crc=False))
        if seen.is_discarded(header, records) or header.is_control:
            continue
        found.update((one.key, one.offset) for one in records if one.key is not None and one.offset >= start)
    return found


def in_order(aborted: Sequence[AbortedTransaction]) -> list[AbortedTransaction]:
    return sorted(aborted, key=lambda one: one.first_offset)


def rebuilt(batch: StoredBatch, header: BatchHeader, kept: list[Record], horizon_ms: int | None) -> StoredBatch:
    """The batch with fewer records, or with a delete horizon, at the same offsets."""
    appended = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG else None
    data = batch_like(header, kept, header.codec, append_time_ms=appended, delete_horizon_ms=horizon_ms)
    (made,) = iter_batches(data)
    if header.is_control:
        data = encoded(replace(made, attributes=made.attributes | CONTROL_FLAG), data[BATCH_HEADER_SIZE:])
    return replace(batch, max_timestamp=made.max_timestamp, data=data)


def emptied(batch: StoredBatch, header: BatchHeader) -> StoredBatch:
    """The batch without records, with its producer, sequence numbers and offsets."""
    empty = replace(
        header,
        length=BATCH_HEADER_SIZE - LOG_OVERHEAD,
        attributes=header.attributes & (LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG),
        base_timestamp=NO_TIMESTAMP,
        record_count=0,
    )
    return replace(batch, max_timestamp=header.max_timestamp, data=encoded(empty, b""))


def merged(segments: Sequence[LogSegment], max_bytes: int, cleaned: Sequence[StoredBatch]) -> list[LogSegment]:
    """The segments that replace these, with the cleaned batches: adjacent ones of ``max_bytes`` in all become one.

    >>> [one.base_offset for one in merged([LogSegment(0), LogSegment(3), LogSegment(5, size_bytes=9)], 5, [])]
    [0, 5]
    """
    made: list[LogSegment] = []
    spare_bytes = -1
    for segment in segments:
        spare_bytes -= segment.size_bytes
        if spare_bytes < 0:
            made.append(LogSegment(segment.base_offset, segment.created_ms))
            spare_bytes = max_bytes - segment.size_bytes
        made[-1].modified_ms = segment.modified_ms
    for batch in cleaned:
        segment = made[bisect_right(made, batch.base_offset, key=BASE_OFFSET) - 1]
        segment.written(len(batch.data), batch.max_timestamp, segment.modified_ms)
    return made
