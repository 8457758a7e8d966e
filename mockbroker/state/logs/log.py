"""One partition's log: record batches as opaque bytes, found by offset and by timestamp.

A batch is kept as the bytes that fetches give out, offsets already in place. Nothing here looks inside.
Lookups are bisections over parallel lists, so a log of a million batches costs a lookup some twenty comparisons.
Records leave a log by whole segments, and the one that is written to leaves only with all others. A fetch reads from
one segment alone; after compaction there are gaps between batches.

Source: UnifiedLog.deletableSegments, LogSegment.shouldRoll; LeaderEpochFileCache (KIP-101, KIP-279, KIP-320), Apache
Kafka 4.4.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

UNBOUNDED = 2**63 - 1
BASE_OFFSET = attrgetter("base_offset")


NO_TIMESTAMP = -1  # of a segment


@dataclass(slots=True)
class LogSegment:
    """One segment, from ``base_offset`` to where the next one begins.

    ``first_timestamp`` is the newest in its first batch, ``max_timestamp`` the newest of all, -1 without any;
    ``created_ms`` and ``modified_ms`` are by the wall clock.
    """

    base_offset: int
    created_ms: int = 0
    modified_ms: int = 0
    size_bytes: int = 0
    first_timestamp: int = NO_TIMESTAMP
    max_timestamp: int = NO_TIMESTAMP

    @property
    def largest_timestamp(self) -> int:
        """The time that its age counts from: the newest timestamp, or when it was last written where it has none."""
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
        """A batch of this size and newest timestamp was appended."""
        if not self.size_bytes:
            self.first_timestamp = timestamp
        self.size_bytes += size_bytes
        self.modified_ms = now_ms
        self.max_timestamp = max(self.max_timestamp, timestamp)

    def copy(self) -> LogSegment:
        return LogSegment(
            self.base_offset,
            self.created_ms,
            self.modified_ms,
            self.size_bytes,
            self.first_timestamp,
            self.max_timestamp,
        )


def deletable(
    segments: Sequence[LogSegment],
    end_offset: int,
    before: int,
    is_old: Callable[[LogSegment, LogSegment | None], bool],
) -> int:
    """How many of the oldest segments may go: they are old, one after the other, and end at ``before`` at most."""
    count = 0
    for place, segment in enumerate(segments):
        following = segments[place + 1] if place + 1 < len(segments) else None
        upper_bound = end_offset if following is None else following.base_offset
        if upper_bound > before or (following is None and not segment.size_bytes) or not is_old(segment, following):
            break
        count += 1
    return count


def grouped(segments: Sequence[LogSegment], max_bytes: int) -> list[list[LogSegment]]:
    """Segments that become one when they are compacted: neighbours of ``max_bytes`` at most together.

    >>> [[one.base_offset for one in group] for group in grouped([LogSegment(0), LogSegment(5, size_bytes=9)], 5)]
    [[0], [5]]
    """
    groups: list[list[LogSegment]] = []
    size_bytes = 0
    for segment in segments:
        if groups and size_bytes + segment.size_bytes <= max_bytes:
            groups[-1].append(segment)
            size_bytes += segment.size_bytes
        else:
            groups.append([segment])
            size_bytes = segment.size_bytes
    return groups


UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class EpochEnd(NamedTuple):
    """A leader epoch, and the offset behind its last record; both -1 where nothing is known."""

    leader_epoch: int
    end_offset: int


UNDEFINED = EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)


@dataclass(slots=True, eq=False)
class LeaderEpochCache:
    """Leader epochs and the offsets at which they began, both rising. An epoch may have no record.

    >>> cache = LeaderEpochCache()
    >>> cache.assign(2, 0)
    >>> cache.assign(5, 30)
    >>> cache.entries
    [(2, 0), (5, 30)]
    >>> cache.end_offset_for(3, log_end_offset=40)
    EpochEnd(leader_epoch=2, end_offset=30)
    """

    _epochs: list[int] = field(default_factory=list)
    _start_offsets: list[int] = field(default_factory=list)

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(leader epoch, start offset), rising."""
        return list(zip(self._epochs, self._start_offsets, strict=True))

    def copy(self) -> LeaderEpochCache:
        return LeaderEpochCache(list(self._epochs), list(self._start_offsets))

    def assign(self, leader_epoch: int, start_offset: int) -> None:
        """An epoch begins, as its leader is elected or as a batch of it is appended.

        Entries with this epoch or a later one, or with this offset or a later one, give way; the latest epoch again,
        at the same offset or a later one, changes nothing.
        """
        assert min(leader_epoch, start_offset) >= 0, (leader_epoch, start_offset)
        epochs, start_offsets = self._epochs, self._start_offsets
        if epochs and leader_epoch == epochs[-1] and start_offset >= start_offsets[-1]:
            return
        while epochs and (epochs[-1] >= leader_epoch or start_offsets[-1] >= start_offset):
            epochs.pop()
            start_offsets.pop()
        epochs.append(leader_epoch)
        start_offsets.append(start_offset)

    def truncate_from_start(self, offset: int) -> None:
        """Forget the epochs that ended before ``offset``; the one in force there begins there from now on."""
        passed = bisect_right(self._start_offsets, offset)
        if passed:
            del self._epochs[: passed - 1], self._start_offsets[: passed - 1]
            self._start_offsets[0] = offset

    def truncate_from_end(self, offset: int) -> None:
        """Forget the epochs that began at ``offset`` or later."""
        kept = bisect_left(self._start_offsets, offset)
        del self._epochs[kept:], self._start_offsets[kept:]

    def latest_epoch(self) -> int:
        """The epoch that began last, -1 without any."""
        return self._epochs[-1] if self._epochs else UNDEFINED_EPOCH

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch in force at an offset, -1 before the first."""
        passed = bisect_right(self._start_offsets, offset)
        return self._epochs[passed - 1] if passed else UNDEFINED_EPOCH

    def end_offset_for(self, leader_epoch: int, log_end_offset: int) -> EpochEnd:
        """The largest epoch known up to this one, and where the next begins; the latest ends with the log.

        For an epoch before the first one known: itself, and where the first begins, since it can have no later record.
        For one after the latest: UNDEFINED, since a caller that names it knows more than this log.
        """
        if leader_epoch == UNDEFINED_EPOCH:
            return UNDEFINED
        epochs = self._epochs
        if epochs and leader_epoch == epochs[-1]:
            return EpochEnd(leader_epoch, log_end_offset)
        following = bisect_right(epochs, leader_epoch)
        if following == len(epochs):
            return UNDEFINED
        return EpochEnd(epochs[following - 1] if following else leader_epoch, self._start_offsets[following])


class StoredBatch(NamedTuple):
    """A stored batch: the offsets it covers, both ends counted, the newest timestamp in it, and its bytes."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int
    data: bytes


class LogSnapshot(NamedTuple):
    """A log as it was at a moment: the first ``batches`` entries of columns that only grow from then on."""

    start_offset: int
    end_offset: int
    size_bytes: int
    leader_epochs: LeaderEpochCache
    batches: int
    columns: tuple[list[Any], ...]
    last_offsets: list[int] | None
    segments: list[LogSegment]
    cleaned_offset: int

    def log(self) -> Log:
        """A log that goes on from here by itself; the batches themselves are shared."""
        base_offsets, max_timestamps, newest_so_far, epoch_of, data = (
            column[: self.batches] for column in self.columns
        )
        return Log(
            self.start_offset,
            self.end_offset,
            self.size_bytes,
            self.leader_epochs.copy(),
            [segment.copy() for segment in self.segments],
            self.cleaned_offset,
            base_offsets,
            max_timestamps,
            newest_so_far,
            epoch_of,
            data,
            None if self.last_offsets is None else self.last_offsets[: self.batches],
        )


@dataclass(slots=True, eq=False)
class Log:
    """Batches in offset order. ``end_offset`` is the next offset; ``size_bytes`` counts what is kept.

    One log serves all replicas of a partition: each of them has it up to its own log end offset. ``segments`` has the
    one that is written to at its end, and none before the first append. Before ``cleaned_offset`` it was compacted.
    """

    start_offset: int = 0
    end_offset: int = 0
    size_bytes: int = 0
    leader_epochs: LeaderEpochCache = field(default_factory=LeaderEpochCache)
    segments: list[LogSegment] = field(default_factory=list)
    cleaned_offset: int = 0
    _base_offsets: list[int] = field(default_factory=list)
    _max_timestamps: list[int] = field(default_factory=list)
    _newest_so_far: list[int] = field(default_factory=list)  # running maximum of the timestamps, so that they bisect
    _epoch_of: list[int] = field(default_factory=list)
    _data: list[bytes] = field(default_factory=list)
    _last_offsets: list[int] | None = None  # of batches; None while each ends where the next one begins
    _has_snapshot: bool = False  # then what is taken off the columns is taken off copies of them

    def __len__(self) -> int:
        """How many batches are kept."""
        return len(self._data)

    def snapshot(self) -> LogSnapshot:
        """The log as it is now, without copying it."""
        self._has_snapshot = True
        return LogSnapshot(
            self.start_offset,
            self.end_offset,
            self.size_bytes,
            self.leader_epochs.copy(),
            len(self._data),
            (self._base_offsets, self._max_timestamps, self._newest_so_far, self._epoch_of, self._data),
            self._last_offsets,
            [segment.copy() for segment in self.segments],
            self.cleaned_offset,
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
        """Keep a batch whose offsets run from ``end_offset`` to ``last_offset``; gives its first offset.

        Args:
            now_ms: by the wall clock.
            segment_bytes, segment_ms: how large and how old a segment becomes before a new one begins.
        """
        base_offset = self.end_offset
        assert last_offset >= base_offset, (last_offset, base_offset)
        segments = self.segments
        if not segments or segments[-1].is_full(len(data), max_timestamp, now_ms, segment_bytes, segment_ms):
            self.roll(now_ms)
        segments[-1].written(len(data), max_timestamp, now_ms)
        if self._last_offsets is not None:
            self._last_offsets.append(last_offset)
        self._base_offsets.append(base_offset)
        self._max_timestamps.append(max_timestamp)
        newest = self._newest_so_far
        newest.append(max_timestamp if not newest or max_timestamp > newest[-1] else newest[-1])
        self._epoch_of.append(leader_epoch)
        self._data.append(data)
        self.leader_epochs.assign(leader_epoch, base_offset)
        self.size_bytes += len(data)
        self.end_offset = last_offset + 1
        return base_offset

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool = True, before: int | None = None) -> list[bytes]:
        """Whole batches from the one that holds ``offset``, as many as fit into ``max_bytes``.

        With ``at_least_one`` the first is given even if it alone is larger. ``before`` leaves out batches with
        records at that offset or later.
        At the end of the log there is nothing to give. Raises ApiError: OFFSET_OUT_OF_RANGE.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset}, but the log has {self.start_offset} to {self.end_offset}",
            )
        if offset == self.end_offset:
            return []
        data = self._data
        first = self._index_of(offset)
        taken = first
        room = max_bytes
        end = self._readable_end(first, before)
        for index in range(first, end):
            room -= len(data[index])
            if room < 0 and not (at_least_one and index == first):
                break
            taken = index + 1
        return self.bytes_of(first, taken)

    def read_cut(self, offset: int, passed: int, size_bytes: int, before: int) -> bytes:
        """The first bytes of the batch that comes ``passed`` batches after the one that holds ``offset``.

        Nothing where there is none that lies wholly before ``before``.
        """
        first = self._index_of(offset)
        index = first + passed
        return self.bytes_of(index, index + 1)[0][:size_bytes] if index < self._readable_end(first, before) else b""

    def in_one_segment(self, offset: int, before: int) -> bool:
        """Whether an offset and a later one, which may be the end of the log, lie in one segment."""
        segments = self.segments
        return bisect_right(segments, offset, key=BASE_OFFSET) == bisect_right(segments, before, key=BASE_OFFSET)

    def batches(self, offset: int = 0) -> Iterator[StoredBatch]:
        """The batches from the one that holds ``offset``."""
        for index in range(self._index_of(offset), len(self._data)):
            yield self._batch(index)

    def first_batch_since(self, timestamp: int) -> StoredBatch | None:
        """The first batch that holds a record with this timestamp or a later one, if there is any."""
        index = bisect_left(self._newest_so_far, timestamp)
        return self._batch(index) if index < len(self._data) else None

    def newest_batch(self) -> StoredBatch | None:
        """The batch with the newest timestamp, the first of several; None in an empty log."""
        if not self._data:
            return None
        return self._batch(bisect_left(self._newest_so_far, self._newest_so_far[-1]))

    def advance_start(self, offset: int) -> None:
        """Move the log's start to ``offset``, which lies within it; the batches stay until their segment goes."""
        assert self.start_offset <= offset <= self.end_offset, (self.start_offset, offset, self.end_offset)
        self.start_offset = offset
        self.leader_epochs.truncate_from_start(offset)

    def roll(self, now_ms: int) -> None:
        """Begin a new segment where the log ends, unless the last one is empty."""
        if not self.segments or self.segments[-1].size_bytes:
            self.segments.append(LogSegment(self.end_offset, now_ms, now_ms))

    def delete_segments(self, count: int, now_ms: int) -> None:
        """Forget the oldest segments; where that is all, a new one begins. The log starts where the next one does."""
        if count == len(self.segments):
            self.roll(now_ms)
        start_offset = self.segments[count].base_offset
        gone = bisect_left(self._base_offsets, start_offset)
        self._unshare()
        self.size_bytes -= sum(map(len, self._data[:gone]))
        for column in (self._base_offsets, self._max_timestamps, self._epoch_of, self._data):
            del column[:gone]
        if self._last_offsets is not None:
            del self._last_offsets[:gone]
        self._drop_newest(gone)
        del self.segments[:count]
        if start_offset > self.start_offset:
            self.advance_start(start_offset)

    def delete_old_segments(
        self, *, before: int, now_ms: int, size_bytes: int | None = None, oldest_ms: int | None = None
    ) -> bool:
        """Forget the segments that lie before the log's start, then what is over a size, then what is too old.

        Args:
            before: what reaches it or lies behind it stays; a partition gives its high watermark.
            now_ms: by the wall clock.
            size_bytes: what is left has this size at least, rounded up to whole segments; None: any size.
            oldest_ms: segments with nothing as new as this go; None: of any age.

        Gives whether anything went. Source: UnifiedLog.deleteOldSegments, Apache Kafka 4.4.
        """
        segments = self.segments
        passed = deletable(
            segments,
            self.end_offset,
            before,
            lambda _, following: following is not None and following.base_offset <= self.start_offset,
        )
        if passed:
            self.delete_segments(passed, now_ms)
        count = 0
        if size_bytes is not None and self.size_bytes >= size_bytes:
            spare = self.size_bytes - size_bytes
            sizes: dict[int, int] = {}
            total = 0
            for segment in segments:
                total += segment.size_bytes
                sizes[segment.base_offset] = total
                if total > spare:
                    break
            count = deletable(segments, self.end_offset, before, lambda one, _: sizes[one.base_offset] <= spare)
            if count:
                self.delete_segments(count, now_ms)
        expired = 0
        if oldest_ms is not None:
            expired = deletable(segments, self.end_offset, before, lambda one, _: one.largest_timestamp < oldest_ms)
            if expired:
                self.delete_segments(expired, now_ms)
        return passed + count + expired > 0

    def compact(self, cleaned: list[StoredBatch], segments: list[LogSegment], end_offset: int) -> None:
        """Have these batches, in these segments, in place of all before ``end_offset``, where a segment begins."""
        kept = bisect_left(self._base_offsets, end_offset)
        last_offsets = [self._last_offset(index) for index in range(kept, len(self._data))]
        self._last_offsets = [one.last_offset for one in cleaned] + last_offsets
        self._base_offsets = [one.base_offset for one in cleaned] + self._base_offsets[kept:]
        self._max_timestamps = [one.max_timestamp for one in cleaned] + self._max_timestamps[kept:]
        self._epoch_of = [one.leader_epoch for one in cleaned] + self._epoch_of[kept:]
        self._data = [one.data for one in cleaned] + self._data[kept:]
        self._newest_so_far = running_maximum(self._max_timestamps)
        self._has_snapshot = False
        self.size_bytes = sum(map(len, self._data))
        self.segments[:] = segments + [one for one in self.segments if one.base_offset >= end_offset]
        self.cleaned_offset = end_offset

    def truncate(self, offset: int) -> None:
        """Cut off what stands at ``offset`` and behind it; the offset is where a batch starts, or the end."""
        kept = bisect_left(self._base_offsets, offset)
        self._unshare()
        self.size_bytes -= sum(map(len, self._data[kept:]))
        for column in (self._base_offsets, self._max_timestamps, self._newest_so_far, self._epoch_of, self._data):
            del column[kept:]
        if self._last_offsets is not None:
            del self._last_offsets[kept:]
        self.end_offset = min(self.end_offset, max(offset, self.start_offset))
        self.leader_epochs.truncate_from_end(self.end_offset)
        self.cleaned_offset = min(self.cleaned_offset, self.end_offset)
        while len(self.segments) > 1 and self.segments[-1].base_offset >= self.end_offset:
            self.segments.pop()
        if self.segments:
            last = self.segments[-1]
            first = bisect_left(self._base_offsets, last.base_offset)
            times = self._max_timestamps[first:]
            last.size_bytes = sum(map(len, self._data[first:]))
            last.max_timestamp = max(times, default=NO_TIMESTAMP)
            last.first_timestamp = times[0] if times else NO_TIMESTAMP

    def batch_start(self, offset: int) -> int:
        """Where the batch starts that holds ``offset``; the offset itself at either end of the log."""
        index = self._index_of(offset)
        if index == len(self._data) or self._base_offsets[index] > offset or offset >= self.end_offset:
            return offset
        return max(self.start_offset, self._base_offsets[index])

    def _drop_newest(self, gone: int) -> None:
        """Have the running maximum without the first ones; from where a later one reaches theirs it stands."""
        newest = self._newest_so_far
        if not gone:
            return
        before = newest[gone - 1]
        del newest[:gone]
        so_far: int | None = None
        for place, timestamp in enumerate(self._max_timestamps):
            so_far = timestamp if so_far is None or timestamp > so_far else so_far
            if so_far >= before:
                return
            newest[place] = so_far

    def _unshare(self) -> None:
        """Have columns that no snapshot shows."""
        if self._has_snapshot:
            self._base_offsets = list(self._base_offsets)
            self._max_timestamps = list(self._max_timestamps)
            self._newest_so_far = list(self._newest_so_far)
            self._epoch_of = list(self._epoch_of)
            self._data = list(self._data)
            if self._last_offsets is not None:
                self._last_offsets = list(self._last_offsets)
            self._has_snapshot = False

    def _index_of(self, offset: int) -> int:
        """The place of the batch that holds an offset, or of the next one where that offset is gone."""
        index = bisect_right(self._base_offsets, offset) - 1
        if self._last_offsets is not None and index >= 0 and self._last_offsets[index] < offset:
            index += 1
        return max(0, index)

    def _readable_end(self, first: int, before: int | None) -> int:
        """Behind the last batch that is read together with one: in the same segment, and wholly before an offset."""
        end = len(self._data) if before is None or before >= self.end_offset else self._batches_before(before)
        if len(self.segments) > 1 and first < len(self._data):
            place = bisect_right(self.segments, self._base_offsets[first], key=BASE_OFFSET)
            if place < len(self.segments):
                end = min(end, bisect_left(self._base_offsets, self.segments[place].base_offset))
        return end

    def _batches_before(self, offset: int) -> int:
        """How many batches lie wholly before an offset within the log."""
        return self._index_of(offset)

    def bytes_of(self, first: int, end: int) -> list[bytes]:
        """The bytes of the batches from one place to another, the latter not counted."""
        return self._data[first:end]

    def _last_offset(self, index: int) -> int:
        if self._last_offsets is not None:
            return self._last_offsets[index]
        following = self._base_offsets[index + 1] if index + 1 < len(self._base_offsets) else self.end_offset
        return following - 1

    def _batch(self, index: int) -> StoredBatch:
        return StoredBatch(
            self._base_offsets[index],
            self._last_offset(index),
            self._max_timestamps[index],
            self._epoch_of[index],
            self.bytes_of(index, index + 1)[0],
        )


def running_maximum(values: list[int]) -> list[int]:
    """The largest value so far, at each place.

    >>> running_maximum([3, 1, 4, 2])
    [3, 3, 4, 4]
    """
    result: list[int] = []
    for value in values:
        result.append(value if not result or value > result[-1] else result[-1])
    return result
