"""A partition's log: record batches as opaque bytes, found by offset and by timestamp.

Batches are stored as the bytes that fetches return, with their offsets. Their records are not read here. Lookups are
bisections: about twenty comparisons in a log of a million batches. Whole segments are deleted, the active one only
together with all others. A fetch reads from one segment only; compaction leaves gaps between batches.

Source: UnifiedLog.deletableSegments, LogSegment.shouldRoll; LeaderEpochFileCache (KIP-101, KIP-279, KIP-320), Apache
Kafka 4.4.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from operator import attrgetter, itemgetter
from typing import NamedTuple

from msgspec import Struct

from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

UNBOUNDED = 2**63 - 1
BASE_OFFSET = attrgetter("base_offset")
EPOCH, START_OFFSET = itemgetter(0), itemgetter(1)


NO_TIMESTAMP = -1  # of a segment


@dataclass(slots=True)
class LogSegment:
    """A segment, from ``base_offset`` to the start of the next one.

    ``first_timestamp`` is the newest in its first batch, ``max_timestamp`` the newest of all, -1 if none;
    ``created_ms`` and ``modified_ms`` are wall-clock times.
    """

    base_offset: int
    created_ms: int = 0
    modified_ms: int = 0
    size_bytes: int = 0
    first_timestamp: int = NO_TIMESTAMP
    max_timestamp: int = NO_TIMESTAMP

    @property
    def largest_timestamp(self) -> int:
        """The time from which its age counts: the newest timestamp, or the time of the last write if it has none."""
        return self.max_timestamp if self.max_timestamp >= 0 else self.modified_ms

    def is_full(self, size_bytes: int, timestamp: int, now_ms: int, max_bytes: int, max_ms: int) -> bool:
        """True if a batch of this size and newest timestamp begins a new segment.

        >>> segment = LogSegment(0, size_bytes=90, first_timestamp=1000)
        >>> segment.is_full(10, 1000, 0, max_bytes=100, max_ms=60), segment.is_full(11, 1000, 0, 100, 60)
        (False, True)
        >>> segment.is_full(1, 1061, 0, 100, 60)
        True
        """
        if self.size_bytes > max_bytes - size_bytes:
            return True
        if not self.size_bytes:
            return False
        waited = timestamp - self.first_timestamp if self.first_timestamp >= 0 else now_ms - self.created_ms
        return waited > max_ms

    def written(self, size_bytes: int, timestamp: int, now_ms: int) -> None:
        """Record an appended batch of this size and newest timestamp."""
        if not self.size_bytes:
            self.first_timestamp = timestamp
        self.size_bytes += size_bytes
        self.modified_ms = now_ms
        self.max_timestamp = max(self.max_timestamp, timestamp)


UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class EpochEnd(NamedTuple):
    """A leader epoch, and the offset after its last record; both -1 if unknown."""

    leader_epoch: int
    end_offset: int


UNDEFINED = EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)


@dataclass(slots=True, eq=False)
class LeaderEpochCache:
    """Entries of a leader epoch and its start offset, both ascending. An epoch may have no record.

    >>> cache = LeaderEpochCache()
    >>> cache.assign(2, 0)
    >>> cache.assign(5, 30)
    >>> cache.entries
    [(2, 0), (5, 30)]
    >>> cache.end_offset_for(3, log_end_offset=40)
    EpochEnd(leader_epoch=2, end_offset=30)
    """

    entries: list[tuple[int, int]] = field(default_factory=list)

    def assign(self, leader_epoch: int, start_offset: int) -> None:
        """Start an epoch, when its leader is elected or a batch of it is appended.

        Removes entries with this epoch or offset, or later ones; assigning the latest epoch again at the same or a
        later offset changes nothing.
        """
        assert min(leader_epoch, start_offset) >= 0, (leader_epoch, start_offset)
        entries = self.entries
        if entries and leader_epoch == entries[-1][0] and start_offset >= entries[-1][1]:
            return
        while entries and (entries[-1][0] >= leader_epoch or entries[-1][1] >= start_offset):
            entries.pop()
        entries.append((leader_epoch, start_offset))

    def truncate_from_start(self, offset: int) -> None:
        """Remove the epochs that ended before ``offset``; the one effective there now starts there."""
        passed = bisect_right(self.entries, offset, key=START_OFFSET)
        if passed:
            self.entries[:passed] = [(self.entries[passed - 1][0], offset)]

    def truncate_from_end(self, offset: int) -> None:
        """Remove the epochs that started at ``offset`` or later."""
        del self.entries[bisect_left(self.entries, offset, key=START_OFFSET) :]

    def latest_epoch(self) -> int:
        """The latest epoch, -1 if none."""
        return self.entries[-1][0] if self.entries else UNDEFINED_EPOCH

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch effective at an offset, -1 before the first."""
        passed = bisect_right(self.entries, offset, key=START_OFFSET)
        return self.entries[passed - 1][0] if passed else UNDEFINED_EPOCH

    def end_offset_for(self, leader_epoch: int, log_end_offset: int) -> EpochEnd:
        """The largest known epoch up to this one, and the start of the next; the latest ends with the log.

        For an epoch before the first known one: itself, and the start of the first, since it can have no later record.
        For one after the latest: UNDEFINED, since the caller knows more than this log.
        """
        if leader_epoch == UNDEFINED_EPOCH:
            return UNDEFINED
        entries = self.entries
        if leader_epoch == self.latest_epoch():
            return EpochEnd(leader_epoch, log_end_offset)
        following = bisect_right(entries, leader_epoch, key=EPOCH)
        if following == len(entries):
            return UNDEFINED
        return EpochEnd(entries[following - 1][0] if following else leader_epoch, entries[following][1])


class StoredBatch(Struct, frozen=True, gc=False):
    """A stored batch: its offsets (both inclusive), its newest timestamp, and its bytes."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int
    data: bytes


@dataclass(slots=True, eq=False)
class Log:
    """Batches in offset order. ``end_offset`` is the next offset; ``size_bytes`` is the size of the stored batches.

    One log serves all replicas of a partition, each up to its own log end offset. ``segments`` ends with the active
    one, and is empty before the first append. The log is compacted before ``cleaned_offset``.
    """

    start_offset: int = 0
    end_offset: int = 0
    size_bytes: int = 0
    leader_epochs: LeaderEpochCache = field(default_factory=LeaderEpochCache)
    segments: list[LogSegment] = field(default_factory=list)
    cleaned_offset: int = 0
    _batches: list[StoredBatch] = field(default_factory=list)
    _newest: list[int] = field(default_factory=list)
    """The newest timestamp up to each batch, as far as it was needed."""

    def __len__(self) -> int:
        """The number of stored batches."""
        return len(self._batches)

    @property
    def last_size_bytes(self) -> int:
        """The size of the last batch."""
        return len(self._batches[-1].data)

    def copy(self) -> Log:
        """An equal log in memory that changes independently."""
        return Log(
            self.start_offset,
            self.end_offset,
            self.size_bytes,
            LeaderEpochCache(self.leader_epochs.entries.copy()),
            list(map(copy, self.segments)),
            self.cleaned_offset,
            self._batches.copy(),
        )

    def append(
        self,
        data: bytes,
        last_offset: int,
        max_timestamp: int,
        leader_epoch: int,
        *,
        now_ms: int = 0,
        segment_bytes: int = UNBOUNDED,
        segment_ms: int = UNBOUNDED,
    ) -> int:
        """Store a batch whose offsets run from ``end_offset`` to ``last_offset``; returns its first offset.

        Args:
            now_ms: in wall-clock time.
            segment_bytes, segment_ms: maximum size and age of a segment before a new one begins.
        """
        base_offset = self.end_offset
        assert last_offset >= base_offset, (last_offset, base_offset)
        batch = StoredBatch(base_offset, last_offset, max_timestamp, leader_epoch, data)
        self._store(batch, now_ms, segment_bytes, segment_ms)
        return base_offset

    def _store(self, batch: StoredBatch, now_ms: int, segment_bytes: int, segment_ms: int) -> None:
        """Store a batch that begins at ``end_offset``."""
        segments, size_bytes = self.segments, len(batch.data)
        if not segments or segments[-1].is_full(size_bytes, batch.max_timestamp, now_ms, segment_bytes, segment_ms):
            self.roll(now_ms)
        segments[-1].written(size_bytes, batch.max_timestamp, now_ms)
        self._batches.append(batch)
        if batch.leader_epoch > self.leader_epochs.latest_epoch():
            self.leader_epochs.assign(batch.leader_epoch, batch.base_offset)
        self.size_bytes += size_bytes
        self.end_offset = batch.last_offset + 1

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool = True, before: int | None = None) -> list[bytes]:
        """Whole batches from the one that contains ``offset``, as many as fit into ``max_bytes``.

        With ``at_least_one`` the first is returned even if it is larger. ``before`` excludes batches with records at
        that offset or later.
        Empty at the end of the log. Raises ApiError: OFFSET_OUT_OF_RANGE.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset}, but the log has {self.start_offset} to {self.end_offset}",
            )
        if offset == self.end_offset:
            return []
        batches = self._batches
        first = taken = self._index_of(offset)
        left_bytes = max_bytes
        for index in range(first, self._readable_end(first, before)):
            left_bytes -= len(batches[index].data)
            if left_bytes < 0 and not (at_least_one and index == first):
                break
            taken = index + 1
        return self.bytes_of(first, taken)

    def read_cut(self, offset: int, passed: int, size_bytes: int, before: int) -> bytes:
        """The first bytes of the batch that comes ``passed`` batches after the one that contains ``offset``.

        Empty unless that batch exists and ends before ``before``.
        """
        first = self._index_of(offset)
        index = first + passed
        return self.bytes_of(index, index + 1)[0][:size_bytes] if index < self._readable_end(first, before) else b""

    def in_one_segment(self, offset: int, before: int) -> bool:
        """True if an offset and a later one, which may be the end of the log, are in the same segment."""
        segments = self.segments
        return bisect_right(segments, offset, key=BASE_OFFSET) == bisect_right(segments, before, key=BASE_OFFSET)

    def batches(self, offset: int = 0) -> Iterator[StoredBatch]:
        """The batches from the one that contains ``offset`` on."""
        for index in range(self._index_of(offset), len(self._batches)):
            yield self.batch(index)

    def first_batch_since(self, timestamp: int) -> StoredBatch | None:
        """The first batch with a record of this timestamp or a later one, None if there is none."""
        index = bisect_left(self._newest_timestamps(), timestamp)
        return self.batch(index) if index < len(self._batches) else None

    def newest_batch(self) -> StoredBatch | None:
        """The batch with the newest timestamp, the first of several; None in an empty log."""
        newest = self._newest_timestamps()
        return self.batch(bisect_left(newest, newest[-1])) if newest else None

    def advance_start(self, offset: int) -> None:
        """Move the log's start to ``offset``, which is within it; its batches remain until their segment is deleted."""
        assert self.start_offset <= offset <= self.end_offset, (self.start_offset, offset, self.end_offset)
        self.start_offset = offset
        self.leader_epochs.truncate_from_start(offset)

    def roll(self, now_ms: int) -> None:
        """Begin a new segment at the log's end, unless the last one is empty."""
        if not self.segments or self.segments[-1].size_bytes:
            self.segments.append(LogSegment(self.end_offset, now_ms, now_ms))

    def delete_segments(self, count: int, now_ms: int) -> None:
        """Delete the oldest segments and move the log's start; if none is left, a new one begins."""
        if count == len(self.segments):
            self.roll(now_ms)
        start_offset = self.segments[count].base_offset
        gone = bisect_left(self._batches, start_offset, key=BASE_OFFSET)
        self.size_bytes -= size_of(self._batches[:gone])
        del self._batches[:gone]
        self._newest.clear()
        del self.segments[:count]
        if start_offset > self.start_offset:
            self.advance_start(start_offset)

    def delete_old_segments(
        self, before: int, now_ms: int, size_bytes: int | None = None, oldest_ms: int | None = None
    ) -> bool:
        """Delete the oldest segments that are before the log's start, over a size, or too old.

        before: segments that reach this offset remain; the high watermark of the partition.
        now_ms: in wall-clock time.
        size_bytes: minimum size that remains, rounded up to whole segments; None: no limit of size.
        oldest_ms: segments whose newest timestamp is older are deleted; None: no limit of age.

        Returns True if any were deleted. Source: UnifiedLog.deleteOldSegments, Apache Kafka 4.4.
        """
        spare_bytes = -1 if size_bytes is None else self.size_bytes - size_bytes
        count = 0
        for segment, following in zip_longest(self.segments, self.segments[1:]):
            upper_bound = self.end_offset if following is None else following.base_offset
            is_passed = following is not None and upper_bound <= self.start_offset
            is_old = oldest_ms is not None and segment.largest_timestamp < oldest_ms
            if upper_bound > before or not (is_passed or is_old or segment.size_bytes <= spare_bytes):
                break
            if following is None and not segment.size_bytes:
                break
            spare_bytes -= segment.size_bytes
            count += 1
        if count:
            self.delete_segments(count, now_ms)
        return count > 0

    def compact(self, cleaned: list[StoredBatch], segments: list[LogSegment], end_offset: int) -> None:
        """Replace all batches before ``end_offset``, where a segment begins, by these batches in these segments."""
        self._batches[: bisect_left(self._batches, end_offset, key=BASE_OFFSET)] = cleaned
        self._newest.clear()
        self.size_bytes = size_of(self._batches)
        self.segments[:] = segments + [one for one in self.segments if one.base_offset >= end_offset]
        self.cleaned_offset = end_offset

    def truncate(self, offset: int) -> None:
        """Delete everything from ``offset`` on, which is the start of a batch or the end of the log."""
        first = bisect_left(self._batches, offset, key=BASE_OFFSET)
        self.size_bytes -= size_of(self._batches[first:])
        del self._batches[first:], self._newest[first:]
        self.end_offset = min(self.end_offset, max(offset, self.start_offset))
        self.leader_epochs.truncate_from_end(self.end_offset)
        self.cleaned_offset = min(self.cleaned_offset, self.end_offset)
        while len(self.segments) > 1 and self.segments[-1].base_offset >= self.end_offset:
            self.segments.pop()
        if self.segments:
            last = self.segments[-1]
            batches = self._batches[bisect_left(self._batches, last.base_offset, key=BASE_OFFSET) :]
            last.size_bytes = size_of(batches)
            last.max_timestamp = max((batch.max_timestamp for batch in batches), default=NO_TIMESTAMP)
            last.first_timestamp = batches[0].max_timestamp if batches else NO_TIMESTAMP

    def batch_start(self, offset: int) -> int:
        """The start of the batch that contains ``offset``; the offset itself at either end of the log."""
        index = self._index_of(offset)
        if index == len(self._batches) or self._batches[index].base_offset > offset:
            return offset
        return max(self.start_offset, self._batches[index].base_offset)

    def batch(self, index: int) -> StoredBatch:
        return self._batches[index]

    def bytes_of(self, first: int, end: int) -> list[bytes]:
        """The bytes of the batches from one index to another, exclusive."""
        return [batch.data for batch in self._batches[first:end]]

    def _newest_timestamps(self) -> list[int]:
        newest = self._newest
        for batch in islice(self._batches, len(newest), None):
            newest.append(max(batch.max_timestamp, newest[-1]) if newest else batch.max_timestamp)
        return newest

    def _index_of(self, offset: int) -> int:
        """The index of the batch that contains an offset, or of the next batch if the offset was compacted."""
        index = bisect_right(self._batches, offset, key=BASE_OFFSET) - 1
        if index >= 0 and self._batches[index].last_offset < offset:
            index += 1
        return max(0, index)

    def _readable_end(self, first: int, before: int | None) -> int:
        """The index after the last batch that may be read with ``first``: same segment, records before an offset."""
        end = len(self._batches) if before is None or before >= self.end_offset else self._index_of(before)
        if len(self.segments) > 1 and first < len(self._batches):
            place = bisect_right(self.segments, self._batches[first].base_offset, key=BASE_OFFSET)
            if place < len(self.segments):
                end = min(end, bisect_left(self._batches, self.segments[place].base_offset, key=BASE_OFFSET))
        return end


def size_of(batches: Sequence[StoredBatch]) -> int:
    return sum(len(batch.data) for batch in batches)
