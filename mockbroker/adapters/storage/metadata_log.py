"""The metadata log on disk: what a controller of Kafka has in ``__cluster_metadata-0``.

Each commit is one batch, so that all of it is there or nothing. Once there are
``metadata.log.max.record.bytes.between.snapshots`` since the last snapshot, or it is older than
``metadata.log.max.snapshot.interval.ms``, another is written beside the log, and a new segment begins where it ends.
Old snapshots, and what of the log lies before the oldest, go by ``metadata.max.retention.bytes`` and ``.ms``.

Source: KafkaRaftLog, SnapshotGenerator, FileQuorumStateStore, KafkaRaftClient.onBecomeLeader, Apache Kafka 4.4.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from mockbroker.adapters.storage.checkpoint_files import (
    RECOVERY_POINTS,
    CheckpointError,
    read_offsets,
    write_offsets,
)
from mockbroker.adapters.storage.data_directory import DataDirectoryError
from mockbroker.adapters.storage.files import Files, StorageError
from mockbroker.adapters.storage.metadata_snapshots import (
    UNREADABLE,
    SnapshotId,
    control_bytes,
    read_snapshot,
    snapshots_in,
    write_snapshot,
)
from mockbroker.adapters.storage.recovery import RecoveredLog
from mockbroker.adapters.storage.segment_files import CorruptLogError, Done, FlushJob, LogFiles, at_once
from mockbroker.core.disk_syncs import DiskSyncs
from mockbroker.state.image.image import Image
from mockbroker.state.image.metadata_records import (
    MetadataBatches,
    MetadataReplay,
    copy_of_metadata,
    metadata_records,
    records_in,
)
from protocol import ProtocolError
from protocol.embedded.control_records import LeaderChangeMessage
from protocol.embedded.quorum_state import QuorumStateData
from protocol.json_form import to_json
from protocol.records import ControlType, RecordError, iter_batches

log = logging.getLogger("mockbroker.storage")

TOPIC = "__cluster_metadata"
DIRECTORY = f"{TOPIC}-0"
QUORUM_STATE = "quorum-state"
QUORUM_STATE_VERSION = 0  # of clusters whose voters are set by controller.quorum.voters
NO_TIMESTAMP = -1


class MetadataLogError(DataDirectoryError):
    """A metadata log that a cluster cannot go on from; the text says what is wrong."""


class MetadataRules(NamedTuple):
    """When snapshots are written, segments begin and old ones go; Kafka's settings say so."""

    snapshot_bytes: int = 20 << 20
    snapshot_ms: int = 3_600_000
    retention_bytes: int = 100 << 20
    retention_ms: int = 7 * 24 * 3_600_000
    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3_600_000

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> MetadataRules:
        return cls(
            settings["metadata.log.max.record.bytes.between.snapshots"],
            settings["metadata.log.max.snapshot.interval.ms"],
            settings["metadata.max.retention.bytes"],
            settings["metadata.max.retention.ms"],
            settings["metadata.log.segment.bytes"],
            settings["metadata.log.segment.ms"],
        )


class FoundMetadata(NamedTuple):
    """What a metadata log had: the image, None in a new one, how many records gave it, and what was put right."""

    image: Image | None
    records: int
    end_offset: int
    repairs: list[str]


def in_thread(work: Callable[[], None]) -> Thread:
    """Have work done beside the cluster."""
    thread = Thread(target=work, name="metadata snapshot", daemon=True)
    thread.start()
    return thread


@dataclass(slots=True, eq=False)
class MetadataLog:
    """A metadata log that is written to; ``open`` makes one. It is a RecordLog.

    Args:
        sync: have each commit reach the disk before it counts.
        now_ms: by the wall clock.
        run: does the work of a snapshot.
    """

    directory: Path
    rules: MetadataRules
    sync: bool
    now_ms: Callable[[], int]
    run: Callable[[Callable[[], None]], Thread | None]
    _files: Files
    _log: LogFiles
    _batches: MetadataBatches
    _image: Image | None = None
    _snapshots: list[SnapshotId] = field(default_factory=list)
    _bytes_since: int = 0
    _snapshot_at_ms: int = 0
    _last_timestamp_ms: int = NO_TIMESTAMP
    _segment_began_ms: int = 0
    _thread: Thread | None = None
    _written: list[SnapshotId] = field(default_factory=list)  # by the thread
    run_flush: Callable[[FlushJob, Done], None] = at_once
    on_flushed: Callable[[], None] = lambda: None
    syncs: DiskSyncs = field(default_factory=DiskSyncs)
    _awaited: list[int] = field(default_factory=list)  # syncs that the next flush is for
    _is_flushing: bool = False

    @classmethod
    def open(
        cls,
        controller: Path,
        node_id: int,
        *,
        rules: MetadataRules | None = None,
        files: Files | None = None,
        sync: bool = False,
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
        run: Callable[[Callable[[], None]], Thread | None] = in_thread,
    ) -> tuple[MetadataLog, FoundMetadata]:
        """Open the log below a controller's directory, which need not be there yet, and begin an epoch.

        Args:
            node_id: the controller's, which leads from now on.

        Raises: MetadataLogError: it is damaged beyond its end. StorageError, OSError.
        """
        files = Files() if files is None else files
        directory = controller / DIRECTORY
        controller.mkdir(parents=True, exist_ok=True)
        try:
            recovery_point = read_offsets(controller / RECOVERY_POINTS).get((TOPIC, 0), 0)
        except CheckpointError as error:
            log.warning("%s is passed over", error)
            recovery_point = 0
        opened, recovered = LogFiles.open(directory, files=files, recovery_point=recovery_point)
        repairs = [*recovered.faults, *recovered.repairs]
        replay = MetadataReplay()
        kept = snapshots_in(directory)
        base = load_snapshot(directory, kept, replay, repairs)
        end_offset, epoch, read_bytes = replay_log(opened, recovered, base, replay)
        made = cls(
            directory,
            MetadataRules() if rules is None else rules,
            sync,
            now_ms,
            run,
            files,
            opened,
            MetadataBatches(lambda data, last_offset: None, now_ms, epoch + 1, end_offset),
        )
        made._snapshots = [one for one in kept if one.offset <= end_offset]
        made._bytes_since = read_bytes
        made._begin(node_id, base.offset)
        is_new = not kept and not end_offset
        return made, FoundMetadata(None if is_new else replay.image, replay.count, end_offset, repairs)

    @property
    def end_offset(self) -> int:
        return self._batches.end_offset

    @property
    def leader_epoch(self) -> int:
        return self._batches.leader_epoch

    def watch(self, image: Image) -> None:
        """Write snapshots of this image from now on: it is what all that was appended has led to, whenever more is."""
        self._image = image

    def append(self, records: Sequence[object], /) -> None:
        """Write what is committed together, as far as it is metadata. Raises StorageError: nothing is written."""
        self._look_after()
        self._batches.append(records)

    def flush(self) -> None:
        """Have all of it reach the disk. Raises StorageError."""
        self._log.flush()

    def close(self) -> None:
        """Finish what is under way; the log is as it is to be afterwards. Raises StorageError."""
        if self._thread is not None:
            self._thread.join()
        self._log.finish_index()
        self.flush()
        self._remember_recovery_point()

    # how it begins, inside

    def _begin(self, node_id: int, snapshot_offset: int) -> None:
        """Lead the log in an epoch of its own, as a controller that has just started."""
        now_ms = self.now_ms()
        self._snapshot_at_ms = self._segment_began_ms = now_ms
        if not self._log.bases:
            self._log.roll(max(self.end_offset, snapshot_offset))
        if self._log.leader_epochs()[-1:] != [(self.leader_epoch, self.end_offset)]:
            entries = [one for one in self._log.leader_epochs() if one[1] < self.end_offset]
            self._log.write_leader_epochs([*entries, (self.leader_epoch, self.end_offset)])
        self._batches.write = self._write
        voters = [LeaderChangeMessage.Voter(voter_id=node_id)]
        change = LeaderChangeMessage(version=0, leader_id=node_id, voters=voters, granting_voters=voters)
        batch = control_bytes(ControlType.LEADER_CHANGE, change, self.end_offset, self.leader_epoch, now_ms)
        self._write(batch, self.end_offset)
        self._batches.end_offset += 1
        state = QuorumStateData(
            leader_id=node_id,
            leader_epoch=self.leader_epoch,
            current_voters=[QuorumStateData.Voter(voter_id=node_id)],
        )
        text = {**to_json(state, QUORUM_STATE_VERSION), "data_version": QUORUM_STATE_VERSION}
        self._files.replace(self.directory / QUORUM_STATE, json.dumps(text, separators=(",", ":")).encode(), sync=True)

    def _write(self, data: bytes, last_offset: int) -> None:
        now_ms = self.now_ms()
        size = self._log.sizes[-1]
        is_full = size + len(data) > self.rules.segment_bytes
        is_old = now_ms - self._segment_began_ms > self.rules.segment_ms
        if size and (is_full or is_old or self._log.needs_roll(last_offset)):
            self._roll()
        self._log.append(data, last_offset, now_ms)
        if self.sync and self.syncs.is_deferred:
            self._awaited.append(self.syncs.begin())
            if not self._is_flushing:
                self._begin_flush()
        elif self.sync:
            self._log.flush()
        self._bytes_since += len(data)
        self._last_timestamp_ms = now_ms

    def _begin_flush(self) -> None:
        """Have what is written by now reach the disk, in a thread where there is one."""
        awaited, self._awaited = self._awaited, []
        try:
            job = self._log.flush_job()
        except StorageError as error:
            self._end_syncs(awaited, error)
            return
        if job is None:
            self._end_syncs(awaited, None)
            return
        self._is_flushing = True
        self.run_flush(job, partial(self._flushed, job, awaited))

    def _flushed(self, job: FlushJob, awaited: Sequence[int], error: BaseException | None) -> None:
        self._is_flushing = False
        failure = None
        if error is not None:
            self._log.flush_failed(job)
            reason = error.strerror if isinstance(error, OSError) else None
            failure = StorageError(f"cannot sync {self.directory}: {reason or error}")
            log.error("%s", failure.message)
        self._end_syncs(awaited, failure)
        if self._awaited:
            self._begin_flush()
        self.on_flushed()

    def _end_syncs(self, awaited: Sequence[int], failure: StorageError | None) -> None:
        for number in awaited:
            self.syncs.end(number, failure)

    def _roll(self) -> None:
        self._log.roll(self.end_offset)
        self._segment_began_ms = self.now_ms()

    # snapshots, inside

    def _look_after(self) -> None:
        """Begin a snapshot if one is due, and let go what is older than is kept."""
        if self._thread is not None and not self._thread.is_alive():
            self._thread = None
        if self._written:
            self._snapshots += self._written
            self._written.clear()
            self._clean()
            self._remember_recovery_point()
        if self._thread is not None or self._image is None or not self._bytes_since:
            return
        is_large = self._bytes_since >= self.rules.snapshot_bytes
        is_old = 0 < self.rules.snapshot_ms <= self.now_ms() - self._snapshot_at_ms
        if is_large or is_old:
            self._begin_snapshot(self._image)

    def _begin_snapshot(self, image: Image) -> None:
        frozen = copy_of_metadata(image)
        snapshot = SnapshotId(self.end_offset, self.leader_epoch)
        timestamp_ms = self._last_timestamp_ms
        try:
            self._roll()
            self._log.flush()
        except StorageError as error:
            log.warning("no snapshot of the metadata: %s", error)
            return
        self._bytes_since, self._snapshot_at_ms = 0, self.now_ms()

        def work() -> None:
            try:
                write_snapshot(self._files, self.directory, snapshot, metadata_records(frozen), timestamp_ms)
            except StorageError as error:
                log.warning("no snapshot of the metadata: %s", error)
            else:
                self._written.append(snapshot)

        self._thread = self.run(work)

    def _clean(self) -> None:
        """Remove the snapshots that are too old or too much, but for the last, and the log before the first left."""
        while len(self._snapshots) > 1 and self._is_spare(self._snapshots[0]):
            self._files.remove(self.directory / self._snapshots.pop(0).name)
        first = self._snapshots[0].offset
        following = [*self._log.bases[1:], self.end_offset]
        passed = [base for base, end in zip(self._log.bases[:-1], following, strict=False) if end <= first]
        if passed:
            self._log.delete_segments(passed)
            self._log.remove_deleted()
            entries = self._log.leader_epochs()
            begun = [one for one in entries if one[1] <= self._log.bases[0]]
            self._log.write_leader_epochs(
                [*((one[0], self._log.bases[0]) for one in begun[-1:]), *(one for one in entries if one not in begun)]
            )

    def _is_spare(self, snapshot: SnapshotId) -> bool:
        sizes = [path.stat().st_size for path in (self.directory / one.name for one in self._snapshots)]
        if self.rules.retention_bytes >= 0 and sum(sizes) + sum(self._log.sizes) > self.rules.retention_bytes:
            return True
        written_ms = (self.directory / snapshot.name).stat().st_mtime_ns // 1_000_000
        return 0 <= self.rules.retention_ms < self.now_ms() - written_ms

    def _remember_recovery_point(self) -> None:
        """What is before the last segment has reached the disk, and all of it once the log is closed."""
        flushed = self._snapshots[-1].offset if self._snapshots else 0
        write_offsets(self._files, self.directory.parent / RECOVERY_POINTS, {(TOPIC, 0): flushed})


def load_snapshot(directory: Path, kept: list[SnapshotId], replay: MetadataReplay, repairs: list[str]) -> SnapshotId:
    """Bring the last snapshot that can be read into the image; gives it, or one of nothing at offset 0."""
    for snapshot in reversed(kept):
        try:
            records = list(read_snapshot((directory / snapshot.name).read_bytes()))
        except (*UNREADABLE, OSError) as error:
            repairs.append(f"{snapshot.name} is damaged and passed over ({error})")
            continue
        for record in records:
            replay.take(record)
        return snapshot
    return SnapshotId(0, 0)


def replay_log(
    opened: LogFiles, recovered: RecoveredLog, base: SnapshotId, replay: MetadataReplay
) -> tuple[int, int, int]:
    """Bring what the log has behind a snapshot into the image.

    Returns: the offset behind the log, the last leader epoch, and how many bytes were read.

    Raises: MetadataLogError: records are missing, or damaged. A log that ends before the snapshot begins anew there.
    """
    end_offset = recovered.end_offset
    if end_offset < base.offset:
        opened.delete_segments(list(opened.bases))
        opened.remove_deleted()
        opened.roll(base.offset)
        return base.offset, base.epoch, 0
    following, epoch, read_bytes = base.offset, base.epoch, 0
    for offset, data in batches_from(opened, recovered, base.offset):
        (header,) = iter_batches(data)
        epoch = max(epoch, header.partition_leader_epoch)
        if offset > following:
            break
        following = header.last_offset + 1
        read_bytes += len(data)
        try:
            records = records_in(data)
        except (RecordError, ProtocolError) as error:
            raise MetadataLogError(f"{opened.directory}, offset {offset}: {error}") from None
        for record in records[max(0, base.offset - offset) :]:
            replay.take(record)
    if following != end_offset:
        raise MetadataLogError(
            f"{opened.directory}: the log goes on at offset {following}, but what is there from that on is missing or "
            f"damaged; it ends at {end_offset}"
        )
    return end_offset, epoch, read_bytes


def batches_from(opened: LogFiles, recovered: RecoveredLog, offset: int) -> Iterator[tuple[int, bytes]]:
    """The batches of a log that have something at an offset or behind it, with their first offsets.

    Raises MetadataLogError: one of them is damaged.
    """
    for segment in recovered.segments:
        for batch in segment.batches:
            if batch.last_offset < offset:
                continue
            try:
                data = opened.read(segment.base_offset, batch.position, batch.size)
                yield batch.base_offset, opened.checked(data, segment.base_offset, batch.position)
            except CorruptLogError as error:
                raise MetadataLogError(str(error)) from None
