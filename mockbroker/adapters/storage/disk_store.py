"""The logs of a cluster in a data directory: opening, checkpoints, flushing, and what leaves.

One log serves all replicas of a partition. Its files are those of the first replica's log directory, and the other
replicas' directories have hard links to them.

Source: LogManager, Apache Kafka 4.4.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mockbroker.adapters.storage.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    RECOVERY_POINTS,
    START_OFFSETS,
    CheckpointError,
    read_offsets,
    read_topic_id,
    write_offsets,
)
from mockbroker.adapters.storage.data_directory import DataDirectory
from mockbroker.adapters.storage.disk_log import NEVER, DiskLog, LogOwner
from mockbroker.adapters.storage.files import StorageError
from mockbroker.adapters.storage.names import LOG, offset_of, remove_directory
from mockbroker.adapters.storage.opening import ALWAYS, BY_SYSTEM
from mockbroker.adapters.storage.segment_files import Done, FlushJob, at_once
from mockbroker.core.disk_syncs import DiskSyncs
from mockbroker.state.brokers.log_dirs import directory_id, log_dirs
from mockbroker.state.image.topics import NO_DIRECTORY
from mockbroker.state.logs.log import Log
from mockbroker.state.logs.memory import MemoryLogStore
from mockbroker.state.topics.topic import INTERNAL_TOPICS

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Partition

log = logging.getLogger("mockbroker.storage")

CHECKPOINT_MS = 60_000
"""log.flush.offset.checkpoint.interval.ms; what is flushed more often than that is written down so often."""
HIGH_WATERMARK_MS = 5_000
"""replica.high.watermark.checkpoint.interval.ms."""
CLOSING_THREADS = 8
DELETE, STRAY = "-delete", "-stray"
METADATA_TOPIC = "__cluster_metadata"
NO_SEGMENT = (-1, 0)

Place = tuple[str, int]


class DiskLogStore(LogOwner):
    """Keeps logs in a data directory.

    Args:
        data: the directory; it is closed with the store.
        fsync: ``always`` or ``os``.

    ``run_flush`` carries out a flush and says when it is done, ``on_flushed`` is called then. ``syncs`` knows what
    answers wait for.
    """

    def __init__(self, data: DataDirectory, *, fsync: str = BY_SYSTEM) -> None:
        super().__init__()
        self.data, self.files = data, data.files
        self.run_flush: Callable[[FlushJob, Done], None] = at_once
        self.on_flushed: Callable[[], None] = lambda: None
        self.syncs = DiskSyncs()
        self._awaited: dict[DiskLog, list[tuple[int, int]]] = {}  # end offsets, and the numbers of their syncs
        self._syncs_always = fsync == ALWAYS
        self._cluster: Cluster | None = None
        self._logs: dict[bytes, dict[int, DiskLog]] = {}
        self._found: dict[bytes, dict[int, list[Path]]] = {}  # directories of logs that were not opened yet
        self._unnamed: list[Path] = []  # of partitions whose topic's id is not written down
        self._changed: dict[DiskLog, None] = {}
        self._deleting: dict[DiskLog, int] = {}  # when its deleted files go
        self._placed_at = -1
        self._fault: str | None = None  # why the disk was not written to last
        self._checkpoints_ms = self._high_watermarks_ms = 0
        self._written: dict[Path, dict[Place, int]] = {}  # checkpoints as they are
        self._scan()

    # as a LogStore

    def attach(self, cluster: Cluster) -> None:
        """Know names, replicas and configs; what the cluster knows no topic of is put aside, as Kafka does.

        Raises: DataDirectoryError: the directory is another cluster's. StorageError, OSError.
        """
        self._cluster = cluster
        for broker_id in cluster.brokers:
            for number, path in enumerate(log_dirs(cluster)):
                directory = self.data.log_directory(broker_id, number)
                self.data.write_meta(directory, cluster.id, broker_id, directory_id(cluster, broker_id, path))
        topics = cluster.image.topics
        by_name = {topic.name: topic.id for topic in topics.values()}
        for directory in self._unnamed:
            topic_id = by_name.get(place_of(directory)[0])
            if topic_id is not None:
                self._found.setdefault(topic_id, {}).setdefault(place_of(directory)[1], []).append(directory)
            else:
                put_aside(directory)
        self._unnamed.clear()
        for topic_id in [one for one in (*self._found, *self._logs) if one not in topics]:
            for directories in self._found.pop(topic_id, {}).values():
                for directory in directories:
                    put_aside(directory)
            for one in self._logs.pop(topic_id, {}).values():
                self._changed.pop(one, None)
                one.files.close()
                for directory in (*one.files.mirrors, one.files.directory):
                    put_aside(directory)
        self._place_all()

    def open(self, topic_id: bytes, partition: int) -> DiskLog:
        """The log of a partition, a new one where there is none. Raises OSError, StorageError."""
        logs = self._logs.setdefault(topic_id, {})
        one = logs.get(partition)
        if one is None:
            directories = self._found.get(topic_id, {}).pop(partition, None)
            if directories is None:
                wanted = self._directories(topic_id, partition)
                one = DiskLog.open(self, topic_id, wanted[0], wanted[1:], clean=True)
            else:
                one = self._open_found(topic_id, directories)
            logs[partition] = one
        return one

    def has(self, topic_id: bytes, partition: int) -> bool:
        """Whether there is a log of this partition already, open or as files."""
        return partition in self._logs.get(topic_id, ()) or partition in self._found.get(topic_id, ())

    def filled(self) -> Iterator[tuple[bytes, int]]:
        """Topic id and partition of each log that has records, in one order."""
        places = [
            (topic_id, partition)
            for topic_id, logs in self._logs.items()
            for partition, one in logs.items()
            if one.segments
        ]
        places += [
            (topic_id, partition)
            for topic_id, found in self._found.items()
            for partition, directories in found.items()
            if newest_segment(directories[0]) > NO_SEGMENT
        ]
        yield from sorted(places)

    def delete(self, topic_id: bytes) -> None:
        """Remove the logs of a topic."""
        for one in self._logs.pop(topic_id, {}).values():
            self._changed.pop(one, None)
            self._deleting.pop(one, None)
            one.files.clear()
        for directories in self._found.pop(topic_id, {}).values():
            for directory in directories:
                remove_directory(directory)
        try:  # a topic of this name is not to begin with what these say
            self.write_checkpoints()
            self._write_high_watermarks()
        except StorageError as error:
            log.warning("%s", error.message)

    def fork(self) -> MemoryLogStore:
        """A store in memory with the same logs: a fork is another cluster, which has no directory."""
        store = MemoryLogStore()
        for topic_id, partition in self.filled():
            store.fill(topic_id, partition, in_memory(self.open(topic_id, partition)))
        return store

    # as a log's owner

    def interval_bytes(self, one: DiskLog) -> int:
        return super().interval_bytes(one) if self._cluster is None else self._config(one, "index.interval.bytes")

    def appended(self, one: DiskLog, now_ms: int) -> None:
        """Have it flushed if the topic asks for that.

        What coordinators keep is on the disk before they answer, or else before they go on. Raises StorageError.
        """
        if self._fault is not None:
            log.warning("%s can be written to again", self.data.path)
            self._fault = None
        self._changed[one] = None
        if one.flush.unflushed_ms == NEVER:
            one.flush.unflushed_ms = now_ms
        if self._syncs_always and self._name(one.topic_id) in INTERNAL_TOPICS:
            if self.syncs.is_deferred:
                self._awaited.setdefault(one, []).append((one.end_offset, self.syncs.begin()))
                self.flush(one)
            else:
                self._flush_here(one)
        elif self._syncs_always or one.end_offset - one.flush.wanted_to >= self._config(one, "flush.messages"):
            self.flush(one)

    def changed(self, one: DiskLog) -> None:
        self._changed[one] = None

    def start_advanced(self, one: DiskLog) -> None:
        """Write down where logs start that do not start with a segment, at once: no reader is to go back behind it."""
        try:
            self._write_start_offsets()
        except StorageError as error:
            self.disk_failed(one, error)

    def disk_failed(self, one: DiskLog, error: StorageError) -> None:
        """Tell of it once."""
        if self._fault is None:
            log.error("%s; producers are told KAFKA_STORAGE_ERROR until it can be written again", error.message)
        self._fault = error.message

    # to the disk

    def flush(self, one: DiskLog) -> None:
        """Have all of a log reach the disk; who waits for it is woken."""
        one.flush.wanted_to = max(one.flush.wanted_to, one.end_offset)
        if not one.flush.is_running:
            self._start_flush(one)

    def _flush_here(self, one: DiskLog) -> None:
        """Have all of a log reach the disk before this returns. Raises StorageError."""
        try:
            one.files.flush()
        except StorageError as error:
            self.disk_failed(one, error)
            raise
        one.flush.unflushed_ms = NEVER
        one.flush.wanted_to = one.flush.flushed_to = one.end_offset

    def _start_flush(self, one: DiskLog) -> None:
        end_offset = one.end_offset
        try:
            job = one.flush_job()
        except StorageError as error:
            self._flush_ended(one, None, end_offset, error)
            return
        one.flush.unflushed_ms = NEVER
        if job is None:
            self._flush_ended(one, None, end_offset, None)
            return
        one.flush.is_running = True
        self.run_flush(job, partial(self._flush_done, one, job, end_offset))

    def _end_syncs(self, one: DiskLog, failure: StorageError | None) -> None:
        """Answers that waited for this much of a log wait no longer."""
        awaited = self._awaited.pop(one, None)
        if awaited is None:
            return
        reached = max(one.flush.flushed_to, one.flush.failed_to)
        for end_offset, number in awaited:
            if end_offset <= reached:
                self.syncs.end(number, failure)
        left = [each for each in awaited if each[0] > reached]
        if left:
            self._awaited[one] = left

    def _flush_done(self, one: DiskLog, job: FlushJob, end_offset: int, error: BaseException | None) -> None:
        self._flush_ended(one, job, end_offset, error)
        partition = self._partition(one)
        if partition is not None and self._cluster is not None:
            self._cluster.notify(partition)
        self.on_flushed()

    def _flush_ended(self, one: DiskLog, job: FlushJob | None, end_offset: int, error: BaseException | None) -> None:
        flush = one.flush
        flush.is_running = False
        failure = None
        if error is None:
            flush.flushed_to = max(flush.flushed_to, min(end_offset, one.end_offset))
        else:
            flush.failed_to = max(flush.failed_to, end_offset)
            if job is not None:
                one.files.flush_failed(job)
            reason = error.strerror if isinstance(error, OSError) else getattr(error, "message", None)
            failure = StorageError(f"cannot sync {one.files.directory}: {reason or error}")
            self.disk_failed(one, failure)
        self._end_syncs(one, failure)
        if flush.wanted_to > max(flush.flushed_to, flush.failed_to):
            self._start_flush(one)

    def tick(self, now_ms: int) -> None:
        """What is done now and then: indexes are written out, old files removed, checkpoints written."""
        self._place_all()
        changed, self._changed = self._changed, {}
        for one in changed:
            try:
                one.files.write_index()
                one.write_aborted()
            except StorageError as error:
                self.disk_failed(one, error)
            if one.files.has_deleted:
                self._deleting.setdefault(one, now_ms + self._config(one, "file.delete.delay.ms"))
            waited_since = one.flush.unflushed_ms
            if waited_since != NEVER:
                wall_ms = now_ms + (self._cluster.clock.offset_ms if self._cluster else 0)
                if wall_ms - waited_since >= self._config(one, "flush.ms"):
                    self.flush(one)
                else:
                    self._changed[one] = None
        for one in [one for one, at_ms in self._deleting.items() if at_ms <= now_ms]:
            del self._deleting[one]
            one.files.remove_deleted()
        try:
            if now_ms >= self._high_watermarks_ms:
                self._high_watermarks_ms = now_ms + HIGH_WATERMARK_MS
                self._write_high_watermarks()
            if now_ms >= self._checkpoints_ms:
                self._checkpoints_ms = now_ms + CHECKPOINT_MS
                self.write_checkpoints()
        except StorageError as error:
            log.warning("%s", error.message)

    def write_checkpoints(self) -> None:
        """Write down recovery points, start offsets and how far logs are cleaned. Raises StorageError."""
        self._write(RECOVERY_POINTS, lambda one: one.flush.flushed_to)
        self._write(CLEANER_OFFSETS, lambda one: one.cleaned_offset or None)
        self._write_start_offsets()

    def _write_start_offsets(self) -> None:
        self._write(START_OFFSETS, lambda one: one.start_offset if starts_within_segment(one) else None)

    def _write_high_watermarks(self) -> None:
        def high_watermark(one: DiskLog) -> int | None:
            partition = self._partition(one)
            return None if partition is None else partition.high_watermark

        self._write(HIGH_WATERMARKS, high_watermark)

    def _write(self, name: str, value_of: Callable[[DiskLog], int | None]) -> None:
        """Write a checkpoint in each log directory, as far as it has changed; None: no line."""
        rows: dict[Path, dict[Place, int]] = {path.parent: {} for path in self._written if path.name == name}
        for topic_id, logs in self._logs.items():
            topic = self._name(topic_id)
            for partition, one in logs.items():
                if not one.segments:
                    continue
                value = value_of(one)
                for directory in (one.files.directory, *one.files.mirrors):
                    of_directory = rows.setdefault(directory.parent, {})
                    if value is not None and topic is not None:
                        of_directory[topic, partition] = value
        for found in self._found.values():  # what was not opened yet keeps what was said of it
            for directory in [one for directories in found.values() for one in directories]:
                before = self._offsets(directory.parent / name).get(place_of(directory))
                if before is not None:
                    rows.setdefault(directory.parent, {})[place_of(directory)] = before
        for parent, offsets in rows.items():
            path = parent / name
            if self._written.get(path) != offsets:
                write_offsets(self.files, path, offsets)
                self._written[path] = offsets

    def close(self, *, clean: bool = True) -> None:
        """Write what an opening goes by, have all reach the disk, and give the directory back."""
        for topic_id, partition in list(self.filled()) if clean else ():
            self.open(topic_id, partition)
        logs = [one for of_topic in self._logs.values() for one in of_topic.values()]
        try:
            if clean:
                jobs = []
                for one in logs:
                    one.write_closing_state()
                    job = one.flush_job()
                    if job is not None:
                        jobs.append(job)
                if jobs:
                    with ThreadPoolExecutor(CLOSING_THREADS) as threads:
                        for _ in threads.map(FlushJob.run, jobs):
                            pass
                for one in logs:
                    one.flush.flushed_to = one.end_offset
                self.write_checkpoints()
                self._write_high_watermarks()
        except (StorageError, OSError) as error:
            log.error("%s is not closed in order: %s", self.data.path, error)  # noqa: TRY400 - a line says it all
            clean = False
        for one in logs:
            one.files.close()
        self.data.close(clean=clean)

    # where

    def _scan(self) -> None:
        """Find the directories of partitions, and what the last owner has left to be removed."""
        for parent in self.data.log_directories():
            for directory in sorted(parent.iterdir()):
                if not directory.is_dir():
                    continue
                topic, _, number = directory.name.rpartition("-")
                if directory.name.endswith(DELETE):
                    remove_directory(directory)
                elif directory.name.endswith(STRAY) or not topic or not number.isdecimal() or topic == METADATA_TOPIC:
                    continue
                else:
                    self._found_directory(directory, int(number))
        for of_topic in self._found.values():
            for directories in of_topic.values():
                directories.sort(key=newest_segment, reverse=True)

    def _found_directory(self, directory: Path, partition: int) -> None:
        try:
            topic_id = read_topic_id(directory)
        except (CheckpointError, OSError) as error:
            log.warning("%s", error)
            topic_id = None
        if topic_id is None:
            self._unnamed.append(directory)
        else:
            self._found.setdefault(topic_id, {}).setdefault(partition, []).append(directory)

    def _open_found(self, topic_id: bytes, directories: list[Path]) -> DiskLog:
        place = place_of(directories[0])

        def largest(checkpoint: str) -> int:
            return max((self._offsets(one.parent / checkpoint).get(place, 0) for one in directories), default=0)

        one = DiskLog.open(
            self,
            topic_id,
            directories[0],
            directories[1:],
            clean=self.data.is_clean,
            recovery_point=largest(RECOVERY_POINTS),
            start_offset=largest(START_OFFSETS),
            cleaned_offset=largest(CLEANER_OFFSETS),
        )
        self._changed[one] = None
        return one

    def _offsets(self, path: Path) -> dict[Place, int]:
        """A checkpoint as it was found; an unreadable one says nothing, so that all is checked."""
        found = self._written.get(path)
        if found is None:
            try:
                found = read_offsets(path)
            except (CheckpointError, OSError) as error:
                log.warning("%s is passed over: %s", path, error)
                found = {}
            self._written[path] = found
        return found

    def _place_all(self) -> None:
        """Have each log in the directories of the brokers that have a replica."""
        cluster = self._cluster
        if cluster is None or cluster.version == self._placed_at:
            return
        self._placed_at = cluster.version
        for topic_id, logs in self._logs.items():
            if topic_id not in cluster.image.topics:
                continue
            for partition, one in logs.items():
                try:
                    one.files.place(self._directories(topic_id, partition))
                except (StorageError, OSError) as error:
                    log.warning("%s cannot be moved: %s", one.files.directory, error)

    def _directories(self, topic_id: bytes, partition: int) -> list[Path]:
        """Where the replicas of a partition are to be."""
        cluster = self._cluster
        assert cluster is not None, "a store that no cluster is attached to has only the logs that were found"
        topic = cluster.image.topics[topic_id]
        registration = topic.partitions[partition]
        name = f"{topic.name}-{partition}"
        if not registration.replicas:
            return [self.data.diskless_directory / name]
        paths = log_dirs(cluster)
        found = []
        for broker_id in registration.replicas:
            held = registration.directory_of(broker_id)
            number = partition % len(paths)
            if held not in (None, NO_DIRECTORY):
                ids = [directory_id(cluster, broker_id, path) for path in paths]
                number = ids.index(held) if held in ids else number
            found.append(self.data.log_directory(broker_id, number) / name)
        return found

    def _partition(self, one: DiskLog) -> Partition | None:
        topic = None if self._cluster is None else self._cluster.topic_by_id.get(one.topic_id)
        number = place_of(one.files.directory)[1]
        return None if topic is None or number >= len(topic.partitions) else topic.partitions[number]

    def _name(self, topic_id: bytes) -> str | None:
        topic = None if self._cluster is None else self._cluster.image.topics.get(topic_id)
        return None if topic is None else topic.name

    def _config(self, one: DiskLog, name: str) -> int:
        assert self._cluster is not None
        topic = self._cluster.topic_by_id.get(one.topic_id)
        return int(self._cluster.configs.topic_default(name) if topic is None else topic.config(name))


def starts_within_segment(one: DiskLog) -> bool:
    return bool(one.segments) and one.start_offset > one.segments[0].base_offset


def newest_segment(directory: Path) -> tuple[int, int]:
    """The base offset and the size of a directory's last segment, by which the newest of several is told."""
    found = [
        (offset, one.stat().st_size)
        for one in os.scandir(directory)
        if (offset := offset_of(one.name, LOG)) is not None
    ]
    return max(found, default=NO_SEGMENT)


def place_of(directory: Path) -> Place:
    """The topic and the partition that a directory is named by."""
    topic, _, number = directory.name.rpartition("-")
    return topic, int(number)


def put_aside(directory: Path) -> None:
    """Rename the directory of a partition that no topic has."""
    aside = directory.with_name(f"{directory.name[:200]}.{os.urandom(16).hex()}{STRAY}")
    log.warning("%s belongs to no topic; it is put aside as %s", directory, aside.name)
    directory.rename(aside)


def in_memory(one: DiskLog) -> Log:
    """A log in memory with the same batches."""
    data = [batch.data for batch in one.batches(one.segments[0].base_offset)] if one.segments else []
    snapshot = one.snapshot()
    columns = (*snapshot.columns[:-1], data)
    return snapshot._replace(columns=columns).log()
