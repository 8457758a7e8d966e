"""A partition's log whose records are in a file; the position of each batch is in memory."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, cast

from mockbroker.data_directories.files import StorageError
from mockbroker.state.logs.log import UNBOUNDED, Log, StoredBatch, running_maximum

if TYPE_CHECKING:
    from mockbroker.data_directories.batch_scan import Scan
    from mockbroker.data_directories.log_file import LogFile
    from mockbroker.state.logs.log import LogSegment

log = logging.getLogger("mockbroker.storage")

MIN_DEAD_BYTES = 1 << 16
"""The bytes before a log's start offset from which the file is worth rewriting."""


class SegmentRules(NamedTuple):
    """When a segment is full: ``segment.bytes`` and ``segment.ms`` of the log's topic."""

    max_bytes: int = UNBOUNDED
    max_ms: int = UNBOUNDED


class StoredBytes:
    """The position and size of a batch in the file."""

    __slots__ = ("position", "size")

    def __init__(self, position: int, size: int) -> None:
        self.position, self.size = position, size

    def __len__(self) -> int:
        return self.size


class DiskLog(Log):
    """A log in a file. Its columns are those of ``Log``, with ``StoredBytes`` instead of the batches' bytes.

    Args:
        on_append: called with the log and the wall-clock time in ms after a batch was written to the file.
    """

    __slots__ = ("_on_append", "file", "synced_to", "unsynced_ms")

    def __init__(self, file: LogFile, on_append: Callable[[DiskLog, int], None]) -> None:
        super().__init__(start_offset=file.start, end_offset=file.start)
        self.file, self._on_append = file, on_append
        self.synced_to = 0  # the offset up to which a sync was requested
        self.unsynced_ms: int | None = None  # time of the first append for which no sync was requested

    def take(self, found: Scan, rules: SegmentRules, modified_ms: int) -> None:
        """Fill an empty log with the batches of its file, in segments by these rules.

        Args:
            modified_ms: the file's modification time.
        """
        last_offsets = []
        latest_epoch = self.leader_epochs.latest_epoch()
        self.end_offset = 0
        for batch in found.batches:
            segments = self.segments
            if not segments or segments[-1].is_full(batch.size, batch.max_timestamp, modified_ms, *rules):
                self.end_offset = batch.base_offset if segments else min(batch.base_offset, self.start_offset)
                self.roll(modified_ms)
            segments[-1].written(batch.size, batch.max_timestamp, modified_ms)
            self._base_offsets.append(batch.base_offset)
            last_offsets.append(batch.last_offset)
            self._max_timestamps.append(batch.max_timestamp)
            self._epoch_of.append(batch.leader_epoch)
            self._data.append(cast(bytes, StoredBytes(batch.position, batch.size)))
            if batch.leader_epoch > latest_epoch:
                latest_epoch = batch.leader_epoch
                self.leader_epochs.assign(latest_epoch, batch.base_offset)
            self.end_offset = batch.last_offset + 1
        if any(last + 1 != first for last, first in zip(last_offsets, self._base_offsets[1:], strict=False)):
            self._last_offsets = last_offsets
        self._newest_so_far = running_maximum(self._max_timestamps)
        self.size_bytes = found.size
        self.end_offset = max(self.end_offset, self.start_offset)
        self.leader_epochs.truncate_from_start(self.start_offset)
        if self.start_offset and not self.segments:
            self.roll(modified_ms)
        dead = sum(one.base_offset <= self.start_offset for one in self.segments[1:])
        if dead:
            self.delete_segments(dead, modified_ms)

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
        """As ``Log.append``; raises StorageError if the write fails, and then nothing has changed."""
        stored = StoredBytes(self.file.append(data), len(data))
        base_offset = super().append(
            cast(bytes, stored),
            last_offset,
            max_timestamp,
            leader_epoch,
            now_ms=now_ms,
            segment_bytes=segment_bytes,
            segment_ms=segment_ms,
        )
        self._on_append(self, now_ms)
        return base_offset

    def advance_start(self, offset: int) -> None:
        self.file.move_start(offset)
        super().advance_start(offset)

    def delete_segments(self, count: int, now_ms: int) -> None:
        """As ``Log.delete_segments``; rewrites the file once half of it is deleted."""
        super().delete_segments(count, now_ms)
        first = self._position_of(0)
        if not self._data or first >= max(self.file.size - first, MIN_DEAD_BYTES):
            try:
                self._rewrite([], 0)
            except StorageError as error:
                log.warning("%s; what it has deleted stays in the file", error.message)

    def compact(self, cleaned: list[StoredBatch], segments: list[LogSegment], end_offset: int) -> None:
        """As ``Log.compact``. Raises StorageError if the write fails, and then nothing has changed."""
        try:
            self._rewrite([one.data for one in cleaned], bisect_left(self._base_offsets, end_offset))
        except StorageError as error:
            log.warning("%s; the log is not compacted", error.message)
            raise
        stored: list[StoredBatch] = []
        position = 0
        for one in cleaned:
            stored.append(one._replace(data=cast(bytes, StoredBytes(position, len(one.data)))))
            position += len(one.data)
        super().compact(stored, segments, end_offset)

    def truncate(self, offset: int) -> None:
        """As ``Log.truncate``. Raises StorageError, and then nothing has changed."""
        self.file.truncate(self._position_of(bisect_left(self._base_offsets, offset)))
        super().truncate(offset)

    def bytes_of(self, first: int, end: int) -> list[bytes]:
        """As ``Log.bytes_of``, read from the file. Raises StorageError."""
        if first >= end:
            return []
        position = start = self._stored(first).position
        last = self._stored(end - 1)
        data = self.file.read(start, last.position + last.size - start)
        found = []
        for index in range(first, end):
            size = len(self._data[index])
            found.append(data[position - start : position - start + size])
            position += size
        return found

    def in_memory(self) -> Log:
        """A log in memory with the same batches."""
        snapshot = self.snapshot()
        columns = (*snapshot.columns[:-1], self.bytes_of(0, len(self._data)))
        return snapshot._replace(columns=columns).log()

    def _stored(self, index: int) -> StoredBytes:
        return cast(StoredBytes, self._data[index])

    def _position_of(self, index: int) -> int:
        """The position of a batch in the file, or the file's end."""
        return self._stored(index).position if index < len(self._data) else self.file.size

    def _rewrite(self, pieces: list[bytes], first: int) -> None:
        """Rewrite the file: these bytes, then the batches from ``first`` on. Raises StorageError."""
        rest_at = self._position_of(first)
        self.file.rewrite(pieces, rest_at)
        moved = sum(map(len, pieces)) - rest_at
        stored = cast("list[StoredBytes]", self._data)
        self._data = cast("list[bytes]", [StoredBytes(one.position + moved, one.size) for one in stored])
