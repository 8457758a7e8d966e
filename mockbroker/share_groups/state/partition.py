"""One share partition at its partition's leader: the records in flight, and the next ones to acquire.

It loads the state that the share coordinator has, writes each change back, and is discarded when another broker leads
the partition. ``acquiring`` lets members acquire records, ``acknowledging`` releases them.

Source: SharePartition, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from mockbroker.share_groups.share_states import NO_OFFSET, SharePartitionKey
from mockbroker.share_groups.state.in_flight import (
    AVAILABLE,
    InFlight,
    InFlightBatch,
    InFlightState,
    RecordState,
)
from protocol.embedded.share_state_log import StateBatch


@dataclass(slots=True, eq=False)
class SharePartition:
    """The records in flight, and the range of offsets that were acquired.

    ``start_offset`` is the first offset whose delivery is not complete; ``end_offset`` the last acquired one, or the
    next one to acquire if nothing is in flight.
    ``_gap``: offsets without a state at the share coordinator, before others with one, are new records. It has the
    ``end_offset`` for which it applies, and the first unread offset.

    Args:
        config: returns the current value of one of the group's configs.
        persist: persists batches and the fields below at the share coordinator; raises ApiError.
        on_lock: called with the time at which a lock expires.
    """

    key: SharePartitionKey
    leader: int
    leader_epoch: int
    config: Callable[[str], Any]
    persist: Callable[[SharePartition, list[StateBatch]], None]
    on_lock: Callable[[SharePartition, int], None]
    state_epoch: int = 0
    start_offset: int = 0
    end_offset: int = 0
    batches: InFlight = field(default_factory=InFlight)
    _gap: tuple[int, int] = (NO_OFFSET, NO_OFFSET)

    def load(self, start_offset: int, state_epoch: int, state_batches: Iterable[StateBatch]) -> None:
        """Load the state of the share coordinator. Raises ValueError: batches that contradict each other."""
        self.start_offset, self.state_epoch = start_offset, state_epoch
        gap_start, previous_last = NO_OFFSET, start_offset - 1
        for one in state_batches:
            first, last, state = one.first_offset, one.last_offset, RecordState(one.delivery_state)
            if first < start_offset or last < first:
                raise ValueError(f"expected batches from offset {start_offset} on, got {first} to {last}")
            if gap_start == NO_OFFSET and first > previous_last + 1:
                gap_start = previous_last + 1
            previous_last = last
            self.batches.add(InFlightBatch(first, last, InFlightState(state, one.delivery_count)))
        if not self.batches:
            self.end_offset = start_offset
            return
        self.end_offset = self.batches[-1].last_offset
        if gap_start != NO_OFFSET:
            self._gap = (self.end_offset, gap_start)
        self.move_start()

    # the next records

    @property
    def in_flight_records(self) -> int:
        return self.end_offset - self.start_offset + 1 if self.batches else 0

    @property
    def gap_start(self) -> int | None:
        """The first unread offset of the gap, None if none applies."""
        end_offset, gap_start = self._gap
        return gap_start if end_offset == self.end_offset else None

    def can_acquire(self) -> bool:
        """True if a member may acquire records: before the end, or new ones within the limit of records in flight."""
        if self.next_fetch_offset() != self.end_offset + 1:
            return True
        return self.in_flight_records < int(self.config("share.partition.max.record.locks"))

    def next_fetch_offset(self) -> int:
        """The next offset to read: the first available record, or the one after all acquired records."""
        if not self.batches or self.start_offset > self.batches[-1].last_offset:
            return self.end_offset
        gap_start = self.gap_start
        for batch in self.batches:
            if gap_start is not None:
                if batch.first_offset > gap_start:
                    return gap_start
                gap_start = max(batch.last_offset + 1, gap_start)
            for first, _, state in batch.states():
                if state.state is AVAILABLE:
                    return first
        return self.end_offset + 1

    def note_gap_seen(self, offset: int) -> None:
        """Shrink the gap window to the offsets from ``offset`` on, as the earlier ones were read."""
        has_gap = self.gap_start is not None and offset <= self.end_offset
        self._gap = (self.end_offset, offset) if has_gap else (NO_OFFSET, NO_OFFSET)

    def lock_until(self, now_ms: int) -> int:
        """The time at which a lock acquired now expires."""
        until_ms: int = now_ms + self.config("share.record.lock.duration.ms")
        self.on_lock(self, until_ms)
        return until_ms

    # the start offset

    @property
    def delivery_complete_count(self) -> int:
        """The number of records after the start whose delivery is complete."""
        return sum(
            max(0, last - max(self.start_offset, first) + 1)
            for batch in self.batches
            for first, last, state in batch.states()
            if state.state.is_terminal
        )

    def move_start(self) -> None:
        """Move the start past all complete deliveries."""
        first = self.batches.floor(self.start_offset)
        if first is None:
            return  # new records follow the start
        state = first.whole if first.by_offset is None else first.by_offset.get(self.start_offset)
        if state is None or not state.state.is_terminal:
            return
        last_done = self._last_done()
        if last_done == NO_OFFSET:
            return
        end_offset = self.batches[-1].last_offset + 1
        self.batches.drop_until(last_done)
        if not self.batches:
            self.start_offset = self.end_offset = end_offset
            return
        self.start_offset = max(self.start_offset, self.batches[0].first_offset, last_done + 1)
        if self.gap_start is not None:
            self.start_offset = min(self.gap_start, self.start_offset)

    def _last_done(self) -> int:
        """The last offset up to which all deliveries are complete."""
        last_done, gap_start = NO_OFFSET, self.gap_start
        for batch in self.batches:
            if gap_start is not None and batch.last_offset >= gap_start:
                break
            for _, last, state in batch.states():
                if not state.state.is_terminal:
                    return last_done
                last_done = last
        return last_done

    def log_starts_at(self, offset: int) -> None:
        """Archive available records that were deleted from the log before an offset, and move the start to it."""
        if offset <= self.start_offset:
            return
        self.archive(self.start_offset, offset - 1, AVAILABLE)
        self.end_offset = max(self.end_offset, offset) if self.batches else offset
        self.start_offset = offset

    def archive(self, first_offset: int, last_offset: int, state: RecordState) -> None:
        """Archive the records in a state between two offsets, both inclusive."""
        for batch in self.batches.overlapping(first_offset, last_offset):
            if batch.by_offset is None and batch.whole.state is not state:
                continue
            for _, _, one in batch.parts(first_offset, last_offset):
                if one.state is state:
                    one.archive()
