"""Logs of a directory that stays as it is: segments are looked through when a log is first asked for, and records are
read from their files each time.

What a broker would repair when it starts is left out here instead: a torn end, a compaction that was broken off, what
lies before the log's start.
"""

from __future__ import annotations

import logging
import mmap
import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from mockbroker.adapters.storage.batch_scan import Scan, ScannedBatch, check_batch, scan
from mockbroker.adapters.storage.checkpoint_files import LEADER_EPOCHS, read_checkpoint
from mockbroker.adapters.storage.kafka_directory import KafkaDirectory
from mockbroker.adapters.storage.names import CLEANED, LOG, SWAP, offset_of
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.leader_epochs import LeaderEpochCache
from mockbroker.state.logs.log import Log, running_maximum
from mockbroker.state.logs.memory import MemoryLogStore
from mockbroker.state.logs.segments import NO_TIMESTAMP, LogSegment
from protocol.error_codes import ErrorCode
from protocol.records import CorruptRecordError

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

log = logging.getLogger("mockbroker.storage")

MAX_OPEN = 128  # files at a time


@dataclass(slots=True)
class FileReader:
    """Reads from files, of which the last ones stay open."""

    _descriptors: OrderedDict[Path, int] = field(default_factory=OrderedDict)

    def read(self, path: Path, position: int, size: int) -> bytes:
        """Raises OSError."""
        descriptor = self._descriptors.get(path)
        if descriptor is None:
            descriptor = self._descriptors[path] = os.open(path, os.O_RDONLY)
            if len(self._descriptors) > MAX_OPEN:
                os.close(self._descriptors.popitem(last=False)[1])
        else:
            self._descriptors.move_to_end(path)
        return os.pread(descriptor, size, position)

    def close(self) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()


@dataclass(slots=True)
class FiledBatches(Sequence[bytes]):
    """The batches of a log, each read when it is asked for, its checksum compared.

    Raises ApiError: KAFKA_STORAGE_ERROR, where the bytes cannot be read or are not those that were written.
    """

    reader: FileReader
    places: list[tuple[Path, int, int]]  # file, position, size

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self._read(*place) for place in self.places[index]]
        return self._read(*self.places[index])

    def _read(self, path: Path, position: int, size: int) -> bytes:
        try:
            data = self.reader.read(path, position, size)
            if len(data) == size:
                check_batch(data)
                return data
            reason = f"{len(data)} bytes of {size}"
        except OSError as error:
            reason = error.strerror or str(error)
        except CorruptRecordError as error:
            reason = str(error)
        text = f"{path}: the batch at byte {position} cannot be served: {reason}"
        log.error("%s", text)
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, text)


class ReadOnlyLog(Log):
    """A log that takes nothing."""

    __slots__ = ()

    def append(self, *_: Any, **__: Any) -> int:
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "the data directory is served read-only")

    def truncate(self, offset: int) -> None:
        assert offset >= self.end_offset, (offset, self.end_offset)

    def delete_old_segments(self, **_: Any) -> bool:
        return False


@dataclass(slots=True, eq=False)
class ReadOnlyLogStore:
    """The logs of a Kafka broker's directory; those of partitions that it lacks are in memory."""

    directory: KafkaDirectory
    _reader: FileReader = field(default_factory=FileReader)
    _logs: dict[tuple[bytes, int], Log] = field(default_factory=dict)
    _others: MemoryLogStore = field(default_factory=MemoryLogStore)

    def attach(self, cluster: Cluster) -> None:
        """Nothing is asked of the cluster."""

    def open(self, topic_id: bytes, partition: int) -> Log:
        key = (topic_id, partition)
        found = self._logs.get(key)
        if found is None:
            path = self.directory.partitions.get(key)
            if path is None:
                return self._others.open(topic_id, partition)
            name = (path.name.rpartition("-")[0], partition)
            found = self._logs[key] = read_log(
                path,
                self._reader,
                start_offset=self.directory.start_offsets.get(name, 0),
                recovery_point=None if self.directory.is_clean else self.directory.recovery_points.get(name, 0),
            )
        return found

    def has(self, topic_id: bytes, partition: int) -> bool:
        return (topic_id, partition) in self.directory.partitions or self._others.has(topic_id, partition)

    def filled(self) -> Iterator[tuple[bytes, int]]:
        return iter(sorted(self.directory.partitions))

    def delete(self, topic_id: bytes) -> None:
        self._others.delete(topic_id)

    def fork(self) -> ReadOnlyLogStore:
        """The same logs, which nothing changes; those in memory go on by themselves."""
        return ReadOnlyLogStore(self.directory, self._reader, self._logs, self._others.fork())

    def close(self) -> None:
        self._reader.close()
        self.directory.close()


def read_log(path: Path, reader: FileReader, *, start_offset: int = 0, recovery_point: int | None = None) -> Log:
    """The log in a partition's directory as a broker would have it that starts there.

    Args:
        start_offset: where it begins at the earliest.
        recovery_point: batches from the segment on that has it are checked, and the first that is torn ends the log;
            None after an orderly shutdown.

    Raises OSError, CheckpointError.
    """
    files = segment_files(path)
    bases = sorted(files)
    first_checked = None if recovery_point is None else max((one for one in bases if one <= recovery_point), default=0)
    batches: list[tuple[Path, ScannedBatch]] = []
    segments: list[LogSegment] = []
    end_offset = 0
    for base_offset in bases:
        file = files[base_offset]
        check = first_checked is not None and base_offset >= first_checked
        found = scanned(file, base_offset, check=check, flushed_to=recovery_point or 0)
        batches += [(file, one) for one in found.batches]
        segments.append(segment_of(base_offset, found, file))
        end_offset = found.batches[-1].last_offset + 1 if found.batches else base_offset
        if found.fault is not None:
            log.warning("%s: what comes behind byte %d is not served: %s", file, found.size, found.fault)
            if check:
                break
    start_offset = max(start_offset, bases[0] if bases else 0)
    kept = [
        segment
        for segment, following in zip(segments, [*bases[1:], None], strict=False)
        if following is None or following > start_offset
    ]
    if kept:
        batches = [one for one in batches if one[1].base_offset >= kept[0].base_offset]
    epochs = LeaderEpochCache()
    for epoch, began in read_checkpoint(path / LEADER_EPOCHS, 2):
        if int(began) <= end_offset:
            epochs.assign(int(epoch), int(began))
    for _, batch in batches:
        if batch.leader_epoch >= 0 and (not epochs.entries or batch.leader_epoch > epochs.entries[-1][0]):
            epochs.assign(batch.leader_epoch, batch.base_offset)
    start_offset = min(start_offset, end_offset)
    epochs.truncate_from_start(start_offset)
    timestamps = [one.max_timestamp for _, one in batches]
    data: Any = FiledBatches(reader, [(file, one.position, one.size) for file, one in batches])
    return ReadOnlyLog(
        start_offset,
        end_offset,
        sum(one.size for _, one in batches),
        epochs,
        kept,
        0,
        [one.base_offset for _, one in batches],
        timestamps,
        running_maximum(timestamps),
        [one.leader_epoch for _, one in batches],
        data,
        [one.last_offset for _, one in batches],
    )


def segment_files(path: Path) -> dict[int, Path]:
    """The files of a log's segments by their base offsets; a compaction that was only to be finished counts as done."""
    names = sorted(one.name for one in path.iterdir())
    files = {offset: path / name for name in names if (offset := offset_of(name, LOG)) is not None}
    begun = [offset for name in names if (offset := offset_of(name, LOG + CLEANED)) is not None]
    swaps = {offset: path / name for name in names if (offset := offset_of(name, LOG + SWAP)) is not None}
    for base_offset, file in swaps.items():
        if begun and base_offset >= min(begun):
            continue
        batches = scanned(file, base_offset).batches
        end_offset = batches[-1].last_offset + 1 if batches else base_offset + 1
        files = {offset: one for offset, one in files.items() if not base_offset <= offset < end_offset}
        files[base_offset] = file
    return files


def scanned(path: Path, base_offset: int, *, check: bool = False, flushed_to: int = 0) -> Scan:
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return scan(b"", base_offset)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return scan(data, base_offset, check=check, flushed_to=flushed_to)


def segment_of(base_offset: int, found: Scan, file: Path) -> LogSegment:
    times = [one.max_timestamp for one in found.batches]
    modified_ms = file.stat().st_mtime_ns // 1_000_000
    first = times[0] if times else NO_TIMESTAMP
    return LogSegment(base_offset, modified_ms, modified_ms, found.size, first, max(times, default=NO_TIMESTAMP))
