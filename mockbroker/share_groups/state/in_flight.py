"""Records in flight: acquired, or available for another delivery, singly or in batches.

A batch has one state for all of its records until a part of it changes; from then on each offset has its own state.

Source: InFlightBatch, InFlightState and RecordState, Apache Kafka 4.4.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

NO_MEMBER = ""


class RecordState(IntEnum):
    """The delivery state of a record; the numbers are those of Kafka's records and requests."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4

    @property
    def is_terminal(self) -> bool:
        """True if the record is never delivered again."""
        return self in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED = RecordState


@dataclass(slots=True, eq=False)
class InFlightState:
    """The state of a record, or of all records of a batch.

    ``lock_until_ms`` is when the acquisition lock of the member expires, None if no member holds it.
    """

    state: RecordState
    delivery_count: int
    member_id: str = NO_MEMBER
    lock_until_ms: int | None = None

    def acquire(self, member_id: str, lock_until_ms: int) -> None:
        """Let a member acquire the record, for one more delivery."""
        assert self.state is AVAILABLE, self
        self.state, self.member_id, self.lock_until_ms = ACQUIRED, member_id, lock_until_ms
        self.delivery_count += 1

    def release(self, state: RecordState, max_delivery_count: int) -> None:
        """Release the record from its member. Instead of AVAILABLE it is archived at the maximum delivery count."""
        assert self.state is ACQUIRED, self
        if state is AVAILABLE and self.delivery_count >= max_delivery_count:
            state = ARCHIVED
        self.state, self.member_id, self.lock_until_ms = state, NO_MEMBER, None

    def archive(self) -> None:
        """Archive the record, even if a member has acquired it."""
        self.become(InFlightState(ARCHIVED, self.delivery_count))

    def become(self, other: InFlightState) -> None:
        """Copy the state of another."""
        self.state, self.delivery_count = other.state, other.delivery_count
        self.member_id, self.lock_until_ms = other.member_id, other.lock_until_ms


@dataclass(slots=True, eq=False)
class InFlightBatch:
    """Offsets that were acquired together, both inclusive.

    ``whole`` is the state of all offsets, unless ``by_offset`` has one for each.
    """

    first_offset: int
    last_offset: int
    whole: InFlightState
    by_offset: dict[int, InFlightState] | None = None

    def __len__(self) -> int:
        return self.last_offset - self.first_offset + 1

    def split(self) -> dict[int, InFlightState]:
        """Create a state for each offset; returns them in the order of the offsets."""
        if self.by_offset is None:
            self.by_offset = {offset: replace(self.whole) for offset in range(self.first_offset, self.last_offset + 1)}
        return self.by_offset

    def states(self) -> Iterator[tuple[int, int, InFlightState]]:
        """Each state with the first and last offset that it applies to."""
        if self.by_offset is None:
            yield self.first_offset, self.last_offset, self.whole
        else:
            for offset, state in self.by_offset.items():
                yield offset, offset, state

    def parts(self, first_offset: int, last_offset: int) -> list[tuple[int, int, InFlightState]]:
        """The ``states`` between two offsets, both inclusive; splits a batch that is not all between them."""
        if self.by_offset is None and not (first_offset <= self.first_offset and self.last_offset <= last_offset):
            self.split()
        return [one for one in self.states() if first_offset <= one[0] and one[1] <= last_offset]


class InFlight(list[InFlightBatch]):
    """The disjoint batches of a share partition, in the order of their offsets.

    >>> batches = InFlight()
    >>> batches.add(InFlightBatch(5, 9, InFlightState(RecordState.AVAILABLE, 1)))
    >>> batches.floor(7).first_offset, batches.floor(4), len(batches)
    (5, None, 1)
    """

    def add(self, batch: InFlightBatch) -> None:
        """Insert a batch; replaces one with the same first offset."""
        start, end = self._until(batch.first_offset), self._until(batch.first_offset + 1)
        self[start:end] = [batch]

    def floor(self, offset: int) -> InFlightBatch | None:
        """The last batch that begins at or before the offset."""
        index = self._until(offset + 1)
        return self[index - 1] if index else None

    def overlapping(self, first_offset: int, last_offset: int) -> list[InFlightBatch]:
        """The batches with some of the offsets between two, both inclusive."""
        start = self._until(first_offset)
        if start and self[start - 1].last_offset >= first_offset:
            start -= 1
        return self[start : self._until(last_offset + 1)]

    def drop_until(self, offset: int) -> None:
        """Remove the batches that end at or before an offset."""
        end = self._until(offset + 1)
        del self[: end - 1 if end and self[end - 1].last_offset > offset else end]

    def _until(self, first_offset: int) -> int:
        """The number of batches that begin before an offset."""
        return bisect_left(self, first_offset, key=lambda batch: batch.first_offset)
