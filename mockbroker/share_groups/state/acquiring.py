"""Acquiring records for members: new records, and those that are available again.

Kafka acquires whole batches of the log, so a member may get more records than it requested, unless it sets a strict
limit (``record_limit``, KIP-1206). Records that reached half of the maximum delivery count are acquired in smaller
numbers, and those on their last delivery alone, so that a record that cannot be processed holds up no others.

Source: SharePartition.acquire, Apache Kafka 4.4.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from mockbroker.share_groups.state.in_flight import ACQUIRED, AVAILABLE, InFlightBatch, InFlightState
from mockbroker.share_groups.state.partition import SharePartition

MIN_THROTTLED_DELIVERIES = 2


class LogBatch(NamedTuple):
    """A batch that was read: its offsets (both inclusive), and whether its transaction was aborted."""

    base_offset: int
    last_offset: int
    is_aborted: bool = False


class Acquired(NamedTuple):
    """Offsets that a member has acquired (both inclusive), and their delivery count."""

    first_offset: int
    last_offset: int
    delivery_count: int

    @property
    def records(self) -> int:
        return self.last_offset - self.first_offset + 1


@dataclass(slots=True)
class Acquisition:
    """A member's request to acquire records that were read, and the offsets acquired so far.

    No batch is acquired after ``left`` records, with ``limits_records`` no record; ``batch_size`` is the maximum number
    of records of an in-flight batch, as far as the log's batches allow.
    """

    partition: SharePartition
    member_id: str
    left: int
    batch_size: int
    limits_records: bool
    now_ms: int
    log_batches: Sequence[LogBatch]
    acquired: list[Acquired] = field(default_factory=list)
    first_base: int = 0
    last_offset: int = 0

    def run(self, fetch_offset: int) -> list[Acquired]:
        """Acquire records that were read from an offset on; returns the acquired offsets in order."""
        partition, log_batches = self.partition, self.log_batches
        if self.left <= 0 or not log_batches or log_batches[-1].last_offset < partition.start_offset:
            return []
        self.first_base, self.last_offset = log_batches[0].base_offset, log_batches[-1].last_offset
        capacity: int = partition.config("share.partition.max.record.locks") - partition.in_flight_records
        if capacity <= 0 and fetch_offset <= partition.end_offset:  # at the limit of records in flight
            capacity = partition.end_offset - fetch_offset + 1
            self.last_offset = min(self.last_offset, partition.end_offset)
        self.left = min(self.left, capacity)
        if self.left <= 0:
            return []
        if fetch_offset < self.first_base:  # the log no longer contains some records
            partition.archive(fetch_offset, self.first_base - 1, AVAILABLE)
        known = partition.batches.overlapping(self.first_base, self.last_offset)
        base_offset = max(self.first_base, partition.start_offset)
        if known and known[0].first_offset <= self.first_base:
            base_offset = known[0].first_offset
        if known:
            self._acquire_known(known, base_offset)
        else:
            self._acquire_new(base_offset, self.last_offset)
        if known and self.acquired:
            partition.note_gap_seen(self.acquired[-1].last_offset + 1)
        aborted = [batch for batch in log_batches if batch.is_aborted]
        return without_aborted(partition, self.acquired, aborted) if self.acquired and aborted else self.acquired

    def _add(self, acquired: Sequence[Acquired]) -> None:
        self.acquired += acquired
        self.left -= sum(one.records for one in acquired)

    def _acquire_known(self, known: Sequence[InFlightBatch], base_offset: int) -> None:
        """Acquire available records of in-flight batches, of gaps between them, and of offsets after them."""
        partition = self.partition
        gap_start = base_offset
        for batch in known:
            if self.left <= 0:
                return
            if partition.gap_start is not None:
                if gap_start < batch.first_offset:
                    self._acquire_new(gap_start, batch.first_offset - 1)
                gap_start = batch.last_offset + 1
                if self.left <= 0:
                    return
            is_throttled = self._throttles(batch)
            if is_throttled and self.acquired:
                return
            if batch.by_offset is None and batch.whole.state is not AVAILABLE:
                continue
            is_cut = self.limits_records and len(batch) > self.left
            is_within = self.first_base <= batch.first_offset and batch.last_offset <= self.last_offset
            if is_within and batch.by_offset is None and not is_cut and not is_throttled:
                batch.whole.acquire(self.member_id, partition.lock_until(self.now_ms))
                self._add([Acquired(batch.first_offset, batch.last_offset, batch.whole.delivery_count)])
                continue
            part = self._acquire_part(batch)
            self._add(joined(part))
            if is_throttled and part:
                return
        after = known[-1].last_offset + 1
        if self.left > 0 and after <= self.last_offset:
            self._acquire_new(after, self.last_offset)

    def _acquire_new(self, first_offset: int, last_offset: int) -> None:
        """Acquire records that were never acquired before."""
        partition, max_records = self.partition, self.left
        if not partition.batches:
            first_offset = max(first_offset, partition.end_offset)
        last = last_offset
        if max_records < last_offset - first_offset + 1:
            last = last_of_batch(self.log_batches, first_offset + max_records - 1)
            if partition.gap_start is not None:
                last = min(last, last_offset)
        ends = [last]
        if not self.limits_records and last - first_offset + 1 > self.batch_size:
            ends = batch_ends(self.log_batches, first_offset, last, self.batch_size)
        is_cut = self.limits_records and last - first_offset + 1 > max_records
        until_ms = partition.lock_until(self.now_ms)
        acquired: list[Acquired] = []
        first = first_offset
        for end in ends:
            batch = InFlightBatch(first, end, InFlightState(ACQUIRED, 1, self.member_id, until_ms))
            acquired_last = first + max_records - 1 if is_cut else end
            if is_cut:
                for offset, state in batch.split().items():
                    if offset > acquired_last:
                        state.become(InFlightState(AVAILABLE, 0))
            partition.batches.add(batch)
            acquired.append(Acquired(first, acquired_last, 1))
            first = batch.last_offset + 1
        if partition.batches[0].first_offset == first_offset:
            partition.start_offset = first_offset
        partition.end_offset = max(partition.end_offset, last)
        partition.note_gap_seen(acquired[-1].last_offset + 1)
        self._add(acquired)

    def _throttles(self, batch: InFlightBatch) -> bool:
        """True if available records of a batch have a delivery count from which fewer are acquired at a time."""
        counts = [
            state.delivery_count
            for first, _, state in batch.states()
            if state.state is AVAILABLE and (batch.by_offset is None or self.first_base <= first <= self.last_offset)
        ]
        return max(counts, default=0) >= throttled_deliveries(self.partition.config("share.delivery.count.limit"))

    def _acquire_part(self, batch: InFlightBatch) -> list[Acquired]:
        """Acquire available records of a batch, offset by offset."""
        partition = self.partition
        limit: int = partition.config("share.delivery.count.limit")
        throttled = throttled_deliveries(limit)
        states = batch.split()
        most: int | None = None
        acquired: list[Acquired] = []
        for offset, state in states.items():
            if offset < self.first_base or state.state is not AVAILABLE:
                continue
            if offset > self.last_offset:
                break
            is_last_delivery = limit > MIN_THROTTLED_DELIVERIES and state.delivery_count == limit - 1
            if is_last_delivery and acquired:
                break
            if state.delivery_count >= throttled and most is None:
                most = max(1, len(states) >> (state.delivery_count - throttled + 1))
            state.acquire(self.member_id, partition.lock_until(self.now_ms))
            acquired.append(Acquired(offset, offset, state.delivery_count))
            if is_last_delivery or len(acquired) == most or (self.limits_records and len(acquired) == self.left):
                break
        return acquired


def last_of_batch(log_batches: Sequence[LogBatch], offset: int) -> int:
    """The last offset of the log batch that contains an offset; the offset itself if there is no such batch."""
    index = bisect_right(log_batches, offset, key=attrgetter("base_offset"))
    return max(offset, log_batches[index - 1].last_offset) if index else offset


def batch_ends(log_batches: Iterable[LogBatch], first_offset: int, last_offset: int, batch_size: int) -> list[int]:
    """The last offsets of in-flight batches: each has about ``batch_size`` records and whole batches of the log.

    >>> batch_ends([LogBatch(0, 4), LogBatch(5, 9), LogBatch(10, 14)], 0, 14, 8)
    [9, 14]
    """
    ends: list[int] = []
    first = first_offset
    for batch in log_batches:
        if batch.base_offset > last_offset:
            break
        if batch.base_offset - first >= batch_size:
            ends.append(batch.base_offset - 1)
            first = batch.base_offset
    return [*ends, last_offset]


def throttled_deliveries(max_delivery_count: int) -> int:
    """The delivery count from which records are acquired in smaller numbers."""
    return max(MIN_THROTTLED_DELIVERIES, (max_delivery_count + 1) // 2)


def joined(acquired: Iterable[Acquired]) -> list[Acquired]:
    """Merges adjacent offsets with the same delivery count.

    >>> [tuple(one) for one in joined([Acquired(0, 0, 1), Acquired(1, 1, 1), Acquired(2, 2, 2)])]
    [(0, 1, 1), (2, 2, 2)]
    """
    result: list[Acquired] = []
    for one in acquired:
        before = result[-1] if result else None
        if before is not None and before[1:] == (one.first_offset - 1, one.delivery_count):
            result[-1] = Acquired(before.first_offset, one.last_offset, one.delivery_count)
        else:
            result.append(one)
    return result


def without_aborted(
    partition: SharePartition, acquired: Iterable[Acquired], aborted: Sequence[LogBatch]
) -> list[Acquired]:
    """The acquired offsets without those of aborted transactions, which are archived."""
    for batch in aborted:
        partition.archive(batch.base_offset, batch.last_offset, ACQUIRED)
    return [
        left
        for one in acquired
        for left in joined(
            Acquired(first, last, state.delivery_count)
            for batch in partition.batches.overlapping(one.first_offset, one.last_offset)
            for first, last, state in batch.parts(one.first_offset, one.last_offset)
            if state.state is ACQUIRED
        )
    ]
