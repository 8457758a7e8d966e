"""A partition's log whose records are on disk: what is kept in memory of a batch is where it stands.

What is appended is with the operating system before the append returns, so that it outlives the process. It reaches the
disk when the operating system sees fit, or when the topic's ``flush.messages`` and ``flush.ms`` say so.

Source: UnifiedLog, Apache Kafka 4.4.
"""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mockbroker.adapters.storage.files import Files, StorageError
from mockbroker.adapters.storage.index_files import (
    ABORTED_SIZE,
    aborted_entries,
    parse_aborted,
    parse_snapshot,
    snapshot_bytes,
)
from mockbroker.adapters.storage.names import SNAPSHOT, TXN_INDEX, file_name
from mockbroker.adapters.storage.segment_files import INDEX_INTERVAL_BYTES, FlushJob, LogFiles, WrittenBatch
from mockbroker.state.logs.log import UNBOUNDED, Log, StoredBatch, running_maximum
from mockbroker.state.logs.log_transactions import AbortedTransaction
from mockbroker.state.logs.producers import PartitionProducers, replay
from mockbroker.state.logs.segments import LogSegment

if TYPE_CHECKING:
    from mockbroker.adapters.storage.recovery import RecoveredLog

log = logging.getLogger("mockbroker.storage")

MAX_SEGMENT_BYTES = 2**31 - 1
"""Positions in an index have 4 bytes."""
READ_BYTES = 1 << 20
NEVER = -1


class StoredBytes:
    """Where the bytes of a batch stand: the base offset of the segment, the position in it, and how many they are."""

    __slots__ = ("position", "segment", "size")

    def __init__(self, segment: int, position: int, size: int) -> None:
        self.segment, self.position, self.size = segment, position, size

    def __len__(self) -> int:
        return self.size


@dataclass(slots=True)
class FlushState:
    """How far a log is on the disk, by offsets.

    ``flushed_to`` is behind the last record that is. What ends at ``wanted_to`` or before, and is not, is to be
    acknowledged once it is; a flush up to ``failed_to`` has failed. ``unflushed_ms`` is since when something is not
    on the disk, -1 while all is. ``is_running``: a flush is under way.
    """

    flushed_to: int = 0
    wanted_to: int = 0
    failed_to: int = 0
    unflushed_ms: int = NEVER
    is_running: bool = False


class LogOwner:
    """What a log asks of the store that has it; this one answers as a log by itself would."""

    files: Files

    def __init__(self) -> None:
        self.files = Files()

    def interval_bytes(self, one: DiskLog) -> int:
        """How far entries of a log's indexes lie apart."""
        return INDEX_INTERVAL_BYTES

    def appended(self, one: DiskLog, now_ms: int) -> None:
        """A batch was appended."""

    def changed(self, one: DiskLog) -> None:
        """Something else of a log has changed."""

    def start_advanced(self, one: DiskLog) -> None:
        """A log starts within a segment, which has to be written down."""

    def disk_failed(self, one: DiskLog, error: StorageError) -> None:
        """A log could not be written."""


class DiskLog(Log):
    """A log over a directory. Its columns are those of ``Log``, with ``StoredBytes`` in place of the batches' bytes."""

    __slots__ = (
        "_aborted_of",
        "_owner",
        "_producers",
        "_told",
        "_was_clean",
        "_epoch_written",
        "files",
        "flush",
        "topic_id",
    )

    def __init__(self, owner: LogOwner, topic_id: bytes, files: LogFiles) -> None:
        super().__init__()
        self._owner, self.topic_id, self.files = owner, topic_id, files
        self.flush = FlushState()
        self._epoch_written = NEVER  # the latest in the file, -1 where that is to be written anew
        self._producers: PartitionProducers | None = None
        self._was_clean = False  # and nothing was appended since
        self._aborted_of: dict[int, bytes] = {}  # what the transaction index of a segment holds, by its base offset
        self._told: set[tuple[int, int]] = set()  # damaged batches that were told of

    @classmethod
    def open(
        cls,
        owner: LogOwner,
        topic_id: bytes,
        directory: Path,
        mirrors: Iterable[Path] = (),
        *,
        clean: bool = False,
        recovery_point: int = 0,
        start_offset: int = 0,
        cleaned_offset: int = 0,
    ) -> DiskLog:
        """The log of a directory, which need not be there yet. Raises OSError, StorageError."""
        files, found = LogFiles.open(
            directory, list(mirrors), files=owner.files, clean=clean, recovery_point=recovery_point
        )
        message = found.message(directory.name)
        if message is not None:
            log.warning("%s", message)
        one = cls(owner, topic_id, files)
        one._take(found, clean=clean)
        if start_offset > one.end_offset:
            one._begin_at(start_offset)
        one.start_offset = max(start_offset, files.bases[0] if files.bases else 0)
        one.leader_epochs.truncate_from_start(one.start_offset)
        one.cleaned_offset = min(cleaned_offset, one.end_offset)
        one.flush.flushed_to = one.flush.wanted_to = one.end_offset if clean else min(recovery_point, one.end_offset)
        return one

    # appending

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
        """As ``Log.append``; raises StorageError where it cannot be written, and then nothing has changed."""
        segment_bytes = min(segment_bytes, MAX_SEGMENT_BYTES)
        try:
            segments = self.segments
            if (
                not segments
                or segments[-1].is_full(len(data), max_timestamp, now_ms, segment_bytes, segment_ms)
                or self.files.needs_roll(last_offset)
            ):
                self.roll(now_ms)
            if leader_epoch != self._epoch_written:
                self._write_epochs(leader_epoch)
            position = self.files.append(data, last_offset, max_timestamp)
        except StorageError as error:
            self._owner.disk_failed(self, error)
            raise
        stored = StoredBytes(self.files.bases[-1], position, len(data))
        self._was_clean = False
        base_offset = super().append(
            cast(bytes, stored),
            last_offset,
            max_timestamp,
            leader_epoch,
            now_ms=now_ms,
            segment_bytes=UNBOUNDED,
            segment_ms=UNBOUNDED,
        )
        self._owner.appended(self, now_ms)
        return base_offset

    def roll(self, now_ms: int) -> None:
        """As ``Log.roll``, with a snapshot of producers before the new segment. Raises StorageError."""
        if self.segments and not self.segments[-1].size_bytes:
            return
        if not self.files.bases:
            self.files.write_topic_id(self.topic_id)
        if self.end_offset:
            self.write_aborted()
            self.files.write_snapshot(self.end_offset, snapshot_bytes(self.producers_now()))
        self.files.interval_bytes = self._owner.interval_bytes(self)
        self.files.roll(self.end_offset)
        super().roll(now_ms)

    def _write_epochs(self, leader_epoch: int) -> None:
        """Write down the epochs as they are with a batch of this one at the end of the log."""
        epochs = self.leader_epochs.copy()
        epochs.assign(leader_epoch, self.end_offset)
        self.files.write_leader_epochs(epochs.entries)
        self._epoch_written = leader_epoch

    # reading

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool = True, before: int | None = None) -> list[bytes]:
        """As ``Log.read``; batches behind a damaged one come without it. Raises CorruptLogError: the first one is."""
        stored = super().read(offset, max_bytes, at_least_one=at_least_one, before=before)
        return self._load(cast("list[StoredBytes]", stored)) if stored else []

    def read_cut(self, offset: int, passed: int, size_bytes: int, before: int) -> bytes:
        first = self._index_of(offset)
        index = first + passed
        if index >= self._readable_end(first, before):
            return b""
        return self._load([self._stored(index)])[0][:size_bytes]

    def batches(self, offset: int = 0) -> Iterator[StoredBatch]:
        """As ``Log.batches``, read in larger pieces. Raises CorruptLogError at a damaged batch."""
        index = self._index_of(offset)
        while index < len(self._data):
            data = self._load(self._together(index))
            for one in data:
                if index >= len(self._data):
                    return
                yield self._batch(index)._replace(data=one)
                index += 1

    def first_batch_since(self, timestamp: int) -> StoredBatch | None:
        found = super().first_batch_since(timestamp)
        return None if found is None else self._loaded(found)

    def newest_batch(self) -> StoredBatch | None:
        found = super().newest_batch()
        return None if found is None else self._loaded(found)

    def _loaded(self, batch: StoredBatch) -> StoredBatch:
        return batch._replace(data=self._load([cast(StoredBytes, batch.data)])[0])

    def _stored(self, index: int) -> StoredBytes:
        return cast(StoredBytes, self._data[index])

    def _together(self, index: int) -> list[StoredBytes]:
        """The batches from one on that are read at a time: in one segment, and about a MiB."""
        first = self._stored(index)
        found = [first]
        size = first.size
        for place in range(index + 1, len(self._data)):
            one = self._stored(place)
            size += one.size
            if one.segment != first.segment or size > READ_BYTES:
                break
            found.append(one)
        return found

    def _load(self, stored: list[StoredBytes]) -> list[bytes]:
        """The bytes of batches of one segment that follow each other, up to the first that is damaged."""
        first, last = stored[0], stored[-1]
        found: list[bytes] = []
        fault: StorageError | None = None
        try:
            data = self.files.read(first.segment, first.position, last.position + last.size - first.position)
            for one in stored:
                start = one.position - first.position
                found.append(self.files.checked(data[start : start + one.size], one.segment, one.position))
        except StorageError as error:
            fault = error
        if fault is not None:
            place = (stored[len(found)].segment, stored[len(found)].position)
            if place not in self._told:
                self._told.add(place)
                log.error("%s: %s; it is not served", self.files.directory.name, fault.message)
            if not found:
                raise fault
        return found

    # what leaves

    def advance_start(self, offset: int) -> None:
        super().advance_start(offset)
        if self.segments and offset > self.segments[0].base_offset:
            self._owner.start_advanced(self)

    def delete_segments(self, count: int, now_ms: int) -> None:
        try:
            if count == len(self.segments):
                self.roll(now_ms)
        except StorageError as error:  # there is no room for a new one, so the last one stays
            self._owner.disk_failed(self, error)
            count -= 1
            if not count:
                return
        gone = [one.base_offset for one in self.segments[:count]]
        super().delete_segments(count, now_ms)
        self.files.delete_segments(gone)
        for base_offset in gone:
            self._aborted_of.pop(base_offset, None)
        self._owner.changed(self)

    def compact(self, cleaned: list[StoredBatch], segments: list[LogSegment], end_offset: int) -> int:
        """As ``Log.compact``, segment by segment; where the disk does not take one, what comes before it is done."""
        bounds = [*(one.base_offset for one in segments), end_offset]
        stored: list[StoredBatch] = []
        place = done = 0
        for number, segment in enumerate(segments):
            bound = bounds[number + 1]
            first = place
            while place < len(cleaned) and cleaned[place].base_offset < bound:
                place += 1
            old = [base for base in self.files.bases if segment.base_offset <= base < bound]
            written = [WrittenBatch(one.data, one.last_offset, one.max_timestamp) for one in cleaned[first:place]]
            try:
                positions = self.files.swap(old, segment.base_offset, written)
            except StorageError as error:
                self._owner.disk_failed(self, error)
                break
            for one, position in zip(cleaned[first:place], positions, strict=True):
                where = StoredBytes(segment.base_offset, position, len(one.data))
                stored.append(one._replace(data=cast(bytes, where)))
            done = number + 1
        reached = bounds[done]
        if done:
            super().compact(stored, segments[:done], reached)
        self._aborted_of.clear()
        self._owner.changed(self)
        return reached

    def truncate(self, offset: int) -> None:
        super().truncate(offset)
        self._producers = None
        self._was_clean = False
        if not self.segments:
            return
        last = self.segments[-1]
        index = self.files.new_index(last.base_offset)
        first = bisect_left(self._base_offsets, last.base_offset)
        for place in range(first, len(self._data)):
            stored = self._stored(place)
            index.add(stored.position, stored.size, self._last_offset(place), self._max_timestamps[place])
        self.files.truncate(last.base_offset, last.size_bytes, index)
        reached = self._last_offset(len(self._data) - 1) + 1 if last.size_bytes else last.base_offset
        if reached < self.end_offset:  # what came before was compacted away: a segment's name says where the log ends
            self.files.roll(self.end_offset)
            self.segments.append(LogSegment(self.end_offset, last.created_ms, last.modified_ms))
        for snapshot in self.files.snapshots():
            if snapshot > self.end_offset:
                self.files.delete_snapshot(snapshot)
        self.flush.flushed_to = min(self.flush.flushed_to, self.end_offset)
        self.flush.wanted_to = min(self.flush.wanted_to, self.end_offset)
        self._aborted_of.clear()
        self._epoch_written = NEVER
        self._owner.changed(self)

    # producers

    def recover_producers(self) -> PartitionProducers:
        """What the partition knows of its producers: by the latest snapshot, and by the batches behind it.

        After an unclean end more batches are gone through than need be, so that the last five of a producer are known.
        """
        offset, producers = self._snapshot_to_begin_with()
        for base_offset in self.files.bases:
            data = self.files.read_file(file_name(base_offset, TXN_INDEX))
            producers.transactions.aborted += [one for one in parse_aborted(data) if one.last_offset < offset]
        replay(producers, self._sound_batches(offset))
        producers.transactions.ended.clear()  # every replica has them
        producers.transactions.forget_before(self.start_offset)
        self._producers = producers
        return producers

    def producers_now(self) -> PartitionProducers:
        """What is known of producers, worked out if nobody has asked yet."""
        return self._producers if self._producers is not None else self.recover_producers()

    def write_aborted(self) -> None:
        """Bring the transaction indexes in line with what is known. Raises StorageError."""
        if self._producers is None:
            return
        aborted = self._producers.transactions.aborted
        if not aborted and not any(self._aborted_of.values()):
            return
        bases = self.files.bases
        by_base: dict[int, list[AbortedTransaction]] = {}
        for one in aborted:
            place = bisect_right(bases, one.last_offset) - 1
            if place >= 0:
                by_base.setdefault(bases[place], []).append(one)
        for base_offset in bases:
            ended = by_base.get(base_offset, [])
            written = self._aborted_of.get(base_offset, b"")
            if base_offset != bases[-1] and len(written) == ABORTED_SIZE * len(ended):
                continue  # nothing ends in an older segment any more; what is cut off or left out changes its size
            data = aborted_entries(ended)
            if data != written:
                self.files.write_file(file_name(base_offset, TXN_INDEX), data)
                self._aborted_of[base_offset] = data

    def _snapshot_to_begin_with(self) -> tuple[int, PartitionProducers]:
        bases = self.files.bases
        limit = self.end_offset if self._was_clean else bases[max(0, len(bases) - 2)] if bases else 0
        for offset in reversed(self.files.snapshots()):
            if offset <= limit:
                found = parse_snapshot(self.files.read_file(file_name(offset, SNAPSHOT)))
                if found is not None:
                    return offset, found
                log.warning("%s: the snapshot at %d is damaged", self.files.directory.name, offset)
        return (bases[0] if bases else 0), PartitionProducers()

    def _sound_batches(self, offset: int) -> Iterator[StoredBatch]:
        """The batches from an offset on that are not damaged."""
        index = self._index_of(offset)
        while index < len(self._data):
            try:
                data = self._load(self._together(index))
            except StorageError:
                index += 1
                continue
            for one in data:
                yield self._batch(index)._replace(data=one)
                index += 1

    # to the disk

    def is_flushed(self, end_offset: int) -> bool:
        """Whether what ends there is on the disk, as far as somebody waits for that. Raises StorageError: it cannot."""
        flush = self.flush
        if end_offset <= flush.flushed_to or end_offset > flush.wanted_to:
            return True
        if end_offset <= flush.failed_to:
            raise StorageError(f"{self.files.directory.name} could not be written to the disk")
        return False

    def flush_job(self) -> FlushJob | None:
        """What has to be synced. Raises StorageError: an index has no room."""
        self.write_aborted()
        return self.files.flush_job()

    def write_closing_state(self) -> None:
        """Write what an opening after a clean end goes by. Raises StorageError."""
        if not self.segments:
            return
        self.files.finish_index()
        self.write_aborted()
        self.files.write_leader_epochs(self.leader_epochs.entries)
        if self.end_offset and not (self._was_clean and self.files.snapshots()):
            self.files.write_snapshot(self.end_offset, snapshot_bytes(self.producers_now()))

    # opening

    def _take(self, found: RecoveredLog, *, clean: bool) -> None:
        """Have the columns of what stands in the files."""
        self._was_clean = clean and not found.repairs
        epochs = self.leader_epochs
        for epoch, offset in self.files.leader_epochs() if found.segments else ():
            if epoch > epochs.latest_epoch() and 0 <= offset < found.end_offset:
                epochs.assign(epoch, offset)
        last_offsets: list[int] = []
        has_gaps = False
        columns: Any = (self._base_offsets, self._max_timestamps, self._epoch_of, self._data, last_offsets)
        bases, timestamps, epoch_of, data, _ = columns
        latest = epochs.latest_epoch()
        for opened in found.segments:
            segment = LogSegment(opened.base_offset, opened.modified_ms, opened.modified_ms, opened.size)
            for batch in opened.batches:
                has_gaps = has_gaps or (bool(last_offsets) and batch.base_offset != last_offsets[-1] + 1)
                bases.append(batch.base_offset)
                last_offsets.append(batch.last_offset)
                timestamps.append(batch.max_timestamp)
                epoch_of.append(batch.leader_epoch)
                data.append(StoredBytes(opened.base_offset, batch.position, batch.size))
                if batch.leader_epoch > latest:
                    epochs.assign(batch.leader_epoch, batch.base_offset)
                    latest = batch.leader_epoch
            if opened.batches:
                segment.first_timestamp = opened.batches[0].max_timestamp
                segment.max_timestamp = max(one.max_timestamp for one in opened.batches)
            self.segments.append(segment)
            self.size_bytes += opened.size
        self._newest_so_far = running_maximum(self._max_timestamps)
        self.end_offset = found.end_offset
        if has_gaps:
            self._last_offsets = last_offsets
        for segment in self.segments:
            index = self.files.read_file(file_name(segment.base_offset, TXN_INDEX))
            if index:
                self._aborted_of[segment.base_offset] = index

    def _begin_at(self, offset: int) -> None:
        """Begin anew at an offset, where the log starts behind all that is left of it."""
        log.warning("%s ends before its start, %d: nothing of it is kept", self.files.directory.name, offset)
        self.files.delete_segments(list(self.files.bases))
        for column in (self._base_offsets, self._max_timestamps, self._newest_so_far, self._epoch_of, self._data):
            column.clear()
        self._last_offsets = None
        self.segments.clear()
        self.size_bytes = 0
        self.end_offset = offset
