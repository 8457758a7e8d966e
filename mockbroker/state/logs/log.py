"""One partition's log: record batches as opaque bytes, found by offset and by timestamp.

A batch is kept as the bytes that fetches give out, offsets already in place. Nothing here looks inside.
Lookups are bisections over parallel lists, so a log of a million batches costs a lookup some twenty comparisons.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from mockbroker.state.errors import ApiError
from mockbroker.state.logs.leader_epochs import LeaderEpochCache
from protocol.error_codes import ErrorCode


class Batch(NamedTuple):
    """A stored batch: the offsets it covers, both ends counted, the newest timestamp in it, and its bytes."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int
    data: bytes


@dataclass(slots=True, eq=False)
class Log:
    """Batches in offset order. ``end_offset`` is the next offset; ``size_bytes`` counts what is kept.

    One log serves all replicas of a partition: each of them has it up to its own log end offset.
    """

    start_offset: int = 0
    end_offset: int = 0
    size_bytes: int = 0
    leader_epochs: LeaderEpochCache = field(default_factory=LeaderEpochCache)
    _base_offsets: list[int] = field(default_factory=list)
    _max_timestamps: list[int] = field(default_factory=list)
    _newest_so_far: list[int] = field(default_factory=list)  # running maximum of the timestamps, so that they bisect
    _epoch_of: list[int] = field(default_factory=list)
    _data: list[bytes] = field(default_factory=list)

    def __len__(self) -> int:
        """How many batches are kept."""
        return len(self._data)

    def append(self, data: bytes, last_offset: int, max_timestamp: int, leader_epoch: int) -> int:
        """Keep a batch whose offsets run from ``end_offset`` to ``last_offset``; gives its first offset."""
        base_offset = self.end_offset
        assert last_offset >= base_offset, (last_offset, base_offset)
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
        first = bisect_right(self._base_offsets, offset) - 1
        taken = first
        room = max_bytes
        end = len(data) if before is None or before >= self.end_offset else self._batches_before(before)
        for index in range(first, end):
            room -= len(data[index])
            if room < 0 and not (at_least_one and index == first):
                break
            taken = index + 1
        return data[first:taken]

    def batches(self, offset: int = 0) -> Iterator[Batch]:
        """The batches from the one that holds ``offset``."""
        for index in range(max(0, bisect_right(self._base_offsets, offset) - 1), len(self._data)):
            yield self._batch(index)

    def first_batch_since(self, timestamp: int) -> Batch | None:
        """The first batch that holds a record with this timestamp or a later one, if there is any."""
        index = bisect_left(self._newest_so_far, timestamp)
        return self._batch(index) if index < len(self._data) else None

    def newest_batch(self) -> Batch | None:
        """The batch with the newest timestamp, the first of several; None in an empty log."""
        if not self._data:
            return None
        return self._batch(bisect_left(self._newest_so_far, self._newest_so_far[-1]))

    def delete_before(self, offset: int) -> int:
        """Move the log's start to ``offset`` and forget batches that lie wholly before it; gives the new start.

        Raises ApiError: OFFSET_OUT_OF_RANGE, past the end of the log.
        """
        if offset > self.end_offset or offset < 0:
            raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset}, but the log ends at {self.end_offset}")
        self.start_offset = max(self.start_offset, offset)
        self.leader_epochs.truncate_from_start(self.start_offset)
        if self.start_offset == self.end_offset:
            gone = len(self._data)
        else:
            gone = max(0, bisect_right(self._base_offsets, self.start_offset) - 1)
        if gone:
            self.size_bytes -= sum(map(len, self._data[:gone]))
            for column in (self._base_offsets, self._max_timestamps, self._epoch_of, self._data):
                del column[:gone]
            self._newest_so_far = running_maximum(self._max_timestamps)
        return self.start_offset

    def truncate(self, offset: int) -> None:
        """Cut off what stands at ``offset`` and behind it; the offset is where a batch starts, or the end."""
        kept = bisect_left(self._base_offsets, offset)
        self.size_bytes -= sum(map(len, self._data[kept:]))
        for column in (self._base_offsets, self._max_timestamps, self._newest_so_far, self._epoch_of, self._data):
            del column[kept:]
        self.end_offset = min(self.end_offset, max(offset, self.start_offset))
        self.leader_epochs.truncate_from_end(self.end_offset)

    def keep_at_most(self, size_bytes: int, before: int | None = None) -> None:
        """Forget the oldest batches while more than ``size_bytes`` are kept; the last one always stays.

        So does what reaches ``before`` or lies behind it, for which a partition gives its high watermark.
        Source: UnifiedLog.deletableSegments, Apache Kafka 4.4.
        """
        spare = self.size_bytes - size_bytes
        if spare <= 0:
            return
        gone = 0
        end = self.end_offset if before is None else before
        while gone < len(self._data) - 1 and spare > 0 and self._base_offsets[gone + 1] <= end:
            spare -= len(self._data[gone])
            gone += 1
        if gone:
            self.delete_before(self._base_offsets[gone])

    def batch_start(self, offset: int) -> int:
        """Where the batch starts that holds ``offset``; the offset itself at either end of the log."""
        if not self._data or offset >= self.end_offset:
            return offset
        return max(self.start_offset, self._base_offsets[max(0, bisect_right(self._base_offsets, offset) - 1)])

    def _batches_before(self, offset: int) -> int:
        """How many batches lie wholly before an offset within the log."""
        return max(0, bisect_right(self._base_offsets, offset) - 1)

    def _batch(self, index: int) -> Batch:
        following = self._base_offsets[index + 1] if index + 1 < len(self._base_offsets) else self.end_offset
        return Batch(
            self._base_offsets[index],
            following - 1,
            self._max_timestamps[index],
            self._epoch_of[index],
            self._data[index],
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
