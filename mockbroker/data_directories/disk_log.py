"""A partition's log whose records are in a file; the position of each batch is in memory."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mockbroker.data_directories.batch_scan import in_file, position_of
from mockbroker.data_directories.files import StorageError
from mockbroker.state.logs.log import BASE_OFFSET, UNBOUNDED, Log, StoredBatch

if TYPE_CHECKING:
    from mockbroker.data_directories.log_file import LogFile
    from mockbroker.state.logs.log import LogSegment

log = logging.getLogger("mockbroker.storage")

READ_BATCHES = 16
"""The number of batches that are read at once."""
MIN_DEAD_BYTES = 1 << 16
"""The bytes before a log's start offset from which the file is worth rewriting."""


class DiskLog(Log):
    """A log in a file: a ``Log`` whose batches have ``StoredBytes`` instead of bytes.

    Args:
        on_append: called after a batch was written to the file.
    """

    __slots__ = ("_on_append", "file")

    def __init__(self, file: LogFile, on_append: Callable[[LogFile], None]) -> None:
        super().__init__(start_offset=file.start, end_offset=file.start)
        self.file, self._on_append = file, on_append

    def take(
        self, found: list[StoredBatch], modified_ms: int, segment_bytes: int = UNBOUNDED, segment_ms: int = UNBOUNDED
    ) -> None:
        """Fill an empty log with the batches of its file, in segments of this size and time.

        Args:
            modified_ms: the file's modification time.
        """
        if found or self.start_offset:
            self.end_offset = min([self.start_offset, *(one.base_offset for one in found[:1])])
            self.roll(modified_ms)
        for batch in found:
            self.end_offset = batch.base_offset
            self._store(batch, modified_ms, segment_bytes, segment_ms)
        self.end_offset = max(self.end_offset, self.start_offset)
        self.leader_epochs.truncate_from_start(self.start_offset)
        dead = sum(one.base_offset <= self.start_offset for one in self.segments[1:])
        if dead:
            self.delete_segments(dead, modified_ms)

    def append(
        self, data: bytes, last_offset: int, max_timestamp: int, leader_epoch: int, *, now_ms: int = 0, **rules: int
    ) -> int:
        """As ``Log.append``; raises StorageError if the write fails, and then nothing has changed."""
        stored = in_file(self.file.append(data), len(data))
        base_offset = super().append(stored, last_offset, max_timestamp, leader_epoch, now_ms=now_ms, **rules)
        self._on_append(self.file)
        return base_offset

    def advance_start(self, offset: int) -> None:
        self.file.move_start(offset)
        super().advance_start(offset)

    def delete_segments(self, count: int, now_ms: int) -> None:
        """As ``Log.delete_segments``; rewrites the file once half of it is deleted."""
        super().delete_segments(count, now_ms)
        first = self._position_of(0)
        if not self._batches or first >= max(self.file.size - first, MIN_DEAD_BYTES):
            try:
                self._rewrite([], 0)
            except StorageError as error:
                log.warning("%s; what it has deleted stays in the file", error.message)

    def compact(self, cleaned: list[StoredBatch], segments: list[LogSegment], end_offset: int) -> None:
        """As ``Log.compact``. Raises StorageError if the write fails, and then nothing has changed."""
        self._rewrite([one.data for one in cleaned], bisect_left(self._batches, end_offset, key=BASE_OFFSET))
        sizes = [len(one.data) for one in cleaned]
        places = map(in_file, accumulate(sizes, initial=0), sizes)
        super().compact(
            [replace(one, data=data) for one, data in zip(cleaned, places, strict=True)], segments, end_offset
        )

    def truncate(self, offset: int) -> None:
        """As ``Log.truncate``. Raises StorageError, and then nothing has changed."""
        self.file.truncate(self._position_of(bisect_left(self._batches, offset, key=BASE_OFFSET)))
        super().truncate(offset)

    def batches(self, offset: int = 0) -> Iterator[StoredBatch]:
        for first in range(self._index_of(offset), len(self), READ_BATCHES):
            some = self._batches[first : first + READ_BATCHES]
            for one, data in zip(some, self.bytes_of(first, first + len(some)), strict=True):
                yield replace(one, data=data)

    def batch(self, index: int) -> StoredBatch:
        return replace(self._batches[index], data=self.bytes_of(index, index + 1)[0])

    def bytes_of(self, first: int, end: int) -> list[bytes]:
        """As ``Log.bytes_of``, read from the file. Raises StorageError."""
        if first >= end:
            return []
        ends = [*accumulate((len(one.data) for one in self._batches[first:end]), initial=0)]
        data = self.file.read(self._position_of(first), ends[-1])
        return [data[start:end] for start, end in pairwise(ends)]

    def copy(self) -> Log:
        copied = super().copy()
        copied._batches = list(self.batches())
        return copied

    def _position_of(self, index: int) -> int:
        """The position of a batch in the file, or the file's end."""
        return position_of(self._batches[index]) if index < len(self) else self.file.size

    def _rewrite(self, pieces: list[bytes], first: int) -> None:
        """Rewrite the file: these bytes, then the batches from ``first`` on. Raises StorageError."""
        rest_at = self._position_of(first)
        self.file.rewrite(pieces, rest_at)
        moved = sum(map(len, pieces)) - rest_at
        self._batches = [replace(one, data=in_file(position_of(one) + moved, len(one.data))) for one in self._batches]
