"""One log's directory, ``<topic>-<partition>``: segments, their indexes and what else Kafka keeps beside them.

Nothing here knows of clusters. What is appended is with the operating system when ``append`` returns; ``flush_job``
says what has to be synced for it to be on the disk. A directory may have mirrors, which are those of a partition's
other replicas: every file in them is a hard link to the one in the directory, so that bytes are written and synced
once.

Source: LogSegment, LogSegments, LocalLog, LogFileUtils and Cleaner, Apache Kafka 4.4.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mockbroker.adapters.storage.batch_scan import MAX_RELATIVE_OFFSET, check_batch, split
from mockbroker.adapters.storage.checkpoint_files import (
    LEADER_EPOCHS,
    PARTITION_METADATA,
    CheckpointError,
    checkpoint_text,
    partition_metadata_text,
    read_checkpoint,
)
from mockbroker.adapters.storage.files import Files, StorageError
from mockbroker.adapters.storage.index_files import IndexWriter
from mockbroker.adapters.storage.mirrors import link_all
from mockbroker.adapters.storage.names import (
    CLEANED,
    DELETED,
    INDEX,
    LOG,
    SEGMENT_SUFFIXES,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    file_name,
    offset_of,
    remove_directory,
)
from mockbroker.adapters.storage.recovery import OpenedSegment, RecoveredLog, recover_directory
from protocol.error_codes import ErrorCode
from protocol.records import CorruptRecordError

log = logging.getLogger("mockbroker.storage")

INDEX_INTERVAL_BYTES = 4096
READ_BYTES = 1 << 20


class CorruptLogError(StorageError):
    """Bytes on the disk are not those that were written: a checksum is wrong, or there are too few.

    Readers are told CORRUPT_MESSAGE.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = ErrorCode.CORRUPT_MESSAGE


class WrittenBatch(NamedTuple):
    """A batch for a new segment."""

    data: bytes
    last_offset: int
    max_timestamp: int


class FlushJob(NamedTuple):
    """What has to be synced for all that was written up to a moment to be on the disk."""

    paths: tuple[Path, ...]
    sync: Callable[[Path], None]

    def run(self) -> None:
        """Sync it; for any thread. Raises OSError."""
        for path in self.paths:
            self.sync(path)


Done = Callable[[BaseException | None], None]


def at_once(job: FlushJob, done: Done) -> None:
    """Carry out a flush where it is asked for: what stores do that nobody gives a thread to."""
    try:
        job.run()
    except OSError as error:
        done(error)
    else:
        done(None)


class LogFiles:
    """A log's directory, open for writing. ``open`` makes one.

    ``bases`` are the base offsets of the segments, ``sizes`` the bytes of their records. ``interval_bytes`` lie between
    two entries of an index, in segments that begin from now on.
    """

    def __init__(
        self, directory: Path, mirrors: Sequence[Path], files: Files, interval_bytes: int, segments: list[OpenedSegment]
    ) -> None:
        self.directory, self.mirrors = directory, list(mirrors)
        self._files, self.interval_bytes = files, interval_bytes
        self.bases = [one.base_offset for one in segments]
        self.sizes = [one.size for one in segments]
        self._index: IndexWriter | None = segments[-1].index if segments else None
        self._index_is_lost = False  # its files could not be written
        self._dirty: dict[Path, None] = {}
        self._deleted: list[str] = []
        self._has_directory = directory.is_dir()

    @classmethod
    def open(
        cls,
        directory: Path,
        mirrors: Sequence[Path] = (),
        *,
        files: Files | None = None,
        clean: bool = False,
        recovery_point: int = 0,
        interval_bytes: int = INDEX_INTERVAL_BYTES,
    ) -> tuple[LogFiles, RecoveredLog]:
        """Open a directory, which need not be there yet, and bring it into order.

        Args:
            mirrors: directories that are to have the same files.
            clean: whether its last owner closed it, so that nothing has to be checked.
            recovery_point: what is before this offset had reached the disk.

        Raises: OSError, StorageError.
        """
        files = Files() if files is None else files
        found = recover_directory(
            directory, files, clean=clean, recovery_point=recovery_point, interval_bytes=interval_bytes
        )
        made = cls(directory, mirrors, files, interval_bytes, found.segments)
        if found.segments:
            made._link()
        return made, found

    # appending

    def append(self, data: bytes, last_offset: int, max_timestamp: int) -> int:
        """Write a batch to the last segment; gives its position there.

        Raises StorageError: it cannot be written, and nothing of it is there.
        """
        position = self.sizes[-1]
        path = self.path(self.bases[-1], LOG)
        self._files.append(path, data, position)
        self.sizes[-1] = position + len(data)
        self._dirty[path] = None
        assert self._index is not None
        self._index.add(position, len(data), last_offset, max_timestamp)
        return position

    def needs_roll(self, last_offset: int) -> bool:
        """Whether a batch that ends there lies too far from the last segment's base offset for its index."""
        return not self.bases or last_offset - self.bases[-1] > MAX_RELATIVE_OFFSET

    def roll(self, base_offset: int) -> None:
        """Begin a segment. Raises StorageError: it cannot be made, and the last one goes on."""
        if self.bases and self.bases[-1] == base_offset:
            return
        try:
            self._make_directory()
            for suffix in (TIME_INDEX, INDEX, LOG):  # the log last: indexes alone are thrown away
                path = self.path(base_offset, suffix)
                self._files.create(path)
                self._dirty[path] = None
        except OSError as error:
            for suffix in (LOG, INDEX, TIME_INDEX):
                self.path(base_offset, suffix).unlink(missing_ok=True)
            raise StorageError(f"cannot make {path}: {error.strerror or error}") from error
        self.finish_index()
        self.bases.append(base_offset)
        self.sizes.append(0)
        self._index = IndexWriter(base_offset, self.interval_bytes)
        self._index_is_lost = False
        self._link()

    def write_index(self) -> None:
        """Write out the entries of the last segment's indexes that were not yet. Without room they come later."""
        if self._index is None or not self._index.has_entries:
            return
        entries = self._index.take()
        if self._index_is_lost:
            return
        for suffix, data in ((INDEX, entries.offsets), (TIME_INDEX, entries.times)):
            path = self.path(self.bases[-1], suffix)
            try:
                self._files.append(path, data, path.stat().st_size)
                self._dirty[path] = None
            except (StorageError, OSError) as error:
                log.warning("%s is not complete: %s; it is made anew when the log is opened", path, error)
                self._files.remove(path)
                self._index_is_lost = True
                return

    def finish_index(self) -> None:
        """Have the last segment's indexes end as those of a segment that nobody writes to any more."""
        if self._index is not None:
            self._index.finish()
            self.write_index()

    # reading

    def read(self, base_offset: int, position: int, size: int) -> bytes:
        """Bytes of a segment, as they are. Raises CorruptLogError: there are fewer; StorageError."""
        path = self.path(base_offset, LOG)
        data = self._files.read(path, position, size)
        if len(data) < size:
            raise CorruptLogError(f"{path} ends {size - len(data)} bytes before its records do")
        return data

    def checked(self, data: bytes, base_offset: int, position: int) -> bytes:
        """A batch that was read there, if its checksum is right. Raises CorruptLogError."""
        try:
            check_batch(data)
        except CorruptRecordError as error:
            raise CorruptLogError(f"{self.path(base_offset, LOG)}, byte {position}: {error}") from None
        return data

    def all_batches(self) -> Iterator[bytes]:
        """Every batch, from the first segment on, checked. Raises CorruptLogError, StorageError."""
        for base_offset, size in zip(self.bases, self.sizes, strict=True):
            try:
                for data in split(self.read(base_offset, 0, size)):
                    yield self.checked(data, base_offset, 0)
            except CorruptRecordError as error:
                raise CorruptLogError(f"{self.path(base_offset, LOG)}: {error}") from None

    # what leaves

    def truncate(self, base_offset: int, position: int, index: IndexWriter) -> None:
        """Have a segment end at a position, and be the last one.

        Args:
            index: what was told of the batches that stay.
        """
        place = self.bases.index(base_offset)
        self.delete_segments(self.bases[place + 1 :])
        path = self.path(base_offset, LOG)
        try:
            self._files.truncate(path, position)
            for suffix in (INDEX, TIME_INDEX):
                self._files.create(self.path(base_offset, suffix))
        except OSError as error:
            raise StorageError(f"cannot cut {path}: {error.strerror or error}") from error
        self.sizes[-1] = position
        self._index, self._index_is_lost = index, False
        self._dirty[path] = None
        self.write_index()

    def new_index(self, base_offset: int) -> IndexWriter:
        return IndexWriter(base_offset, self.interval_bytes)

    def delete_segments(self, bases: Iterable[int]) -> None:
        """Rename what belongs to segments; ``remove_deleted`` removes it."""
        for base_offset in list(bases):
            place = self.bases.index(base_offset)
            del self.bases[place], self.sizes[place]
            for suffix in (*SEGMENT_SUFFIXES, SNAPSHOT):
                self._mark_deleted(self.path(base_offset, suffix))
        if not self.bases:
            self._index = None
        self._link()

    def remove_deleted(self) -> None:
        """Remove the files that are no longer part of the log, here and in the mirrors."""
        names, self._deleted = self._deleted, []
        for name in names:
            for directory in (self.directory, *self.mirrors):
                self._files.remove(directory / name)

    @property
    def has_deleted(self) -> bool:
        return bool(self._deleted)

    def swap(self, old: Sequence[int], base_offset: int, batches: Iterable[WrittenBatch]) -> list[int]:
        """Have one segment in place of others, which follow each other; gives the positions of its batches.

        It is written beside them and takes their place once it is on the disk, so that one of both is there whenever
        this breaks off. Raises StorageError: it cannot be written, and they stay.
        """
        index = self.new_index(base_offset)
        positions, data = [], bytearray()
        for batch in batches:
            positions.append(len(data))
            index.add(len(data), len(batch.data), batch.last_offset, batch.max_timestamp)
            data += batch.data
        index.finish()
        entries = index.take()
        written = ((TIME_INDEX, entries.times), (INDEX, entries.offsets), (LOG, bytes(data)))
        try:
            for suffix, content in written:
                self._files.replace(self.path(base_offset, suffix + CLEANED), content, sync=True)
            for suffix, _ in written:
                self._files.rename(self.path(base_offset, suffix + CLEANED), self.path(base_offset, suffix + SWAP))
        except (OSError, StorageError) as error:
            for suffix, _ in written:
                for way in (CLEANED, SWAP):
                    self.path(base_offset, suffix + way).unlink(missing_ok=True)
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"cannot write a cleaned segment: {error.strerror or error}") from error
        for base in old:
            for suffix in (LOG, INDEX, TIME_INDEX):
                self._mark_deleted(self.path(base, suffix))
            if base != base_offset:
                self._mark_deleted(self.path(base, SNAPSHOT))
        for suffix, _ in written:
            self._files.rename(self.path(base_offset, suffix + SWAP), self.path(base_offset, suffix))
        first = self.bases.index(old[0])
        self.bases[first : first + len(old)] = [base_offset]
        self.sizes[first : first + len(old)] = [len(data)]
        self._link()
        return positions

    def clear(self) -> None:
        """Throw away all of it."""
        for directory in (*self.mirrors, self.directory):
            if not directory.is_dir():
                continue
            away = directory.with_name(f"{directory.name[:200]}.{os.urandom(16).hex()}-delete")
            try:
                for one in list(directory.iterdir()):
                    self._files.release(one)
                directory.rename(away)
                remove_directory(away)
            except OSError as error:
                log.warning("cannot remove %s: %s", directory, error.strerror or error)
        self.bases, self.sizes, self._index = [], [], None
        self._dirty.clear()
        self._deleted.clear()
        self._has_directory = False

    # what stands beside segments

    def write_file(self, name: str, data: bytes, *, sync: bool = False) -> None:
        """Have a file of the directory hold these bytes. Raises StorageError."""
        try:
            self._make_directory()
        except OSError as error:
            raise StorageError(f"cannot make {self.directory}: {error.strerror or error}") from error
        self._files.replace(self.directory / name, data, sync=sync)
        self._dirty[self.directory / name] = None
        self._link()

    def write_topic_id(self, topic_id: bytes) -> None:
        """Write ``partition.metadata``. Raises StorageError."""
        self.write_file(PARTITION_METADATA, partition_metadata_text(topic_id))

    def write_leader_epochs(self, entries: Iterable[tuple[int, int]]) -> None:
        """Write where leader epochs begin. Raises StorageError."""
        self.write_file(LEADER_EPOCHS, checkpoint_text(entries))

    def leader_epochs(self) -> list[tuple[int, int]]:
        """(leader epoch, start offset), rising; none where the file cannot be read."""
        try:
            return [(int(epoch), int(offset)) for epoch, offset in read_checkpoint(self.directory / LEADER_EPOCHS, 2)]
        except (CheckpointError, ValueError, OSError) as error:
            log.warning("%s/%s is passed over: %s", self.directory, LEADER_EPOCHS, error)
            return []

    def write_snapshot(self, offset: int, data: bytes) -> None:
        """Write what is known of producers at an offset. Raises StorageError."""
        self.write_file(file_name(offset, SNAPSHOT), data)

    def snapshots(self) -> list[int]:
        """The offsets that there are snapshots of, rising."""
        if not self.directory.is_dir():
            return []
        names = (one.name for one in self.directory.iterdir())
        return sorted(offset for name in names if (offset := offset_of(name, SNAPSHOT)) is not None)

    def read_file(self, name: str) -> bytes:
        """What a file holds, nothing where there is none. Raises StorageError."""
        try:
            return (self.directory / name).read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise StorageError(f"cannot read {self.directory / name}: {error.strerror or error}") from error

    def delete_snapshot(self, offset: int) -> None:
        self._files.remove(self.directory / file_name(offset, SNAPSHOT))
        self._link()

    # to the disk

    def flush_job(self) -> FlushJob | None:
        """What is to be synced for all that is written by now; None where there is nothing."""
        self.write_index()
        if not self._dirty:
            return None
        paths = tuple(self._dirty)
        self._dirty = {}
        return FlushJob((*paths, self.directory, *self.mirrors), self._files.sync)

    def flush_failed(self, job: FlushJob) -> None:
        """A job was not carried out: what it was for is still to be done."""
        for path in job.paths:
            if path not in (self.directory, *self.mirrors):
                self._dirty.setdefault(path)

    def flush(self) -> None:
        """Sync what was not; this takes the disk's time. Raises StorageError."""
        job = self.flush_job()
        if job is None:
            return
        try:
            job.run()
        except OSError as error:
            self.flush_failed(job)
            raise StorageError(f"cannot sync {self.directory}: {error.strerror or error}") from error

    def close(self) -> None:
        """Give up what is open. Nothing is synced."""
        self.write_index()
        self.remove_deleted()
        for base_offset in self.bases:
            for suffix in SEGMENT_SUFFIXES:
                self._files.release(self.path(base_offset, suffix))

    def place(self, directories: Sequence[Path]) -> None:
        """Have the log in these directories, and in no others. Raises StorageError."""
        wanted = list(directories)
        if not wanted or {self.directory, *self.mirrors} == set(wanted):
            return
        before = [self.directory, *self.mirrors]
        if not self.bases:
            self.directory, self.mirrors = wanted[0], wanted[1:]
            self._has_directory = False
            return
        self.remove_deleted()
        if self.directory in wanted:
            self.mirrors = [one for one in wanted if one != self.directory]
            self._link()
        else:
            self.mirrors = wanted
            self._link()
            for base_offset in self.bases:
                for suffix in SEGMENT_SUFFIXES:
                    self._files.release(self.path(base_offset, suffix))
            linked = [one for one in wanted if one in self.mirrors]
            if not linked:
                return  # another file system: the log stays where it is
            self._dirty = {linked[0] / path.name: None for path in self._dirty}
            self.directory, self.mirrors = linked[0], linked[1:]
        for directory in before:
            if directory != self.directory and directory not in self.mirrors:
                remove_directory(directory)

    # inside

    def path(self, base_offset: int, suffix: str) -> Path:
        """The path of one file of a segment."""
        return self.directory / file_name(base_offset, suffix)

    def _make_directory(self) -> None:
        if not self._has_directory:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._has_directory = True

    def _mark_deleted(self, path: Path) -> None:
        name = path.name + DELETED
        try:
            self._files.rename(path, path.with_name(name))
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageError(f"cannot rename {path}: {error.strerror or error}") from error
        self._dirty.pop(path, None)
        self._deleted.append(name)

    def _link(self) -> None:
        """Have the mirrors show what the directory has. Those that cannot are given up."""
        for mirror in list(self.mirrors):
            try:
                link_all(self.directory, mirror)
            except OSError as error:
                self.mirrors.remove(mirror)
                log.warning(
                    "%s is not kept: no hard links to %s are possible there (%s)",
                    mirror,
                    self.directory,
                    error.strerror or error,
                )
