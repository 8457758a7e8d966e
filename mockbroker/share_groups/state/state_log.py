"""What keeps the logs of ``__share_group_state`` small: old states are written once more, and what is before the last
snapshot of every share partition is deleted.

Both are done at times, for the partitions whose log somebody looks at. The topic is not compacted: an update is worth
nothing without the snapshot before it.

Source: ShareCoordinatorService, ShareCoordinatorShard.snapshotColdPartitions, ShareCoordinatorOffsetsManager, Apache
Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from mockbroker.share_groups.share_states import SHARE_TOPIC, SharePartitionKey, coordinator_key, share_of, states_of
from mockbroker.share_groups.state.coordinator import snapshot_record
from mockbroker.state.timers import Timers
from mockbroker.state.topics.topic import NO_LEADER
from protocol.codec import codec
from protocol.embedded.share_state_log import ShareSnapshotKey, ShareUpdateKey

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.image.coordinator_records import CoordinatorRecord
    from mockbroker.state.topics.topic import Partition

Job = Literal["prune", "repeat"]
INTERVALS: dict[Job, str] = {
    "prune": "share.coordinator.state.topic.prune.interval.ms",
    "repeat": "share.coordinator.cold.partition.snapshot.interval.ms",
}
TYPE_BYTES = 2  # in front of a key


@dataclass(slots=True, eq=False)
class ShareStateLog:
    """The logs that are written, by partition: where the last snapshot of each share partition is."""

    cluster: Cluster
    _snapshots: dict[Partition, dict[SharePartitionKey, int]] = field(default_factory=dict)
    _redundant: dict[Partition, int] = field(default_factory=dict)  # what is before this offset nobody needs
    _timers: Timers[Job] = field(init=False)

    def __post_init__(self) -> None:
        self._timers = self.cluster.timers.subsystem("share state log", self._on_timer)

    def key_of(self, key: ShareSnapshotKey | ShareUpdateKey) -> str:
        """The coordinator's key of the share partition that a record is about."""
        return coordinator_key(share_partition_of(key))

    def snapshots(self) -> Iterator[tuple[str, CoordinatorRecord]]:
        """The states that the image has, as records, each with its coordinator's key."""
        for key, state in states_of(self.cluster.image).items():
            yield coordinator_key(key), snapshot_record(key, state)

    def restore(self, partition: Partition) -> None:
        """Go on with a log that has records already."""
        from protocol.records import iter_records

        for batch in partition.log.batches(partition.log.start_offset):
            for record in iter_records(batch.data, crc=False):
                assert record.key is not None
                kind = ShareSnapshotKey if read_type(record.key) == key_type(ShareSnapshotKey) else ShareUpdateKey
                key, _ = codec(kind, 0).decode(record.key, TYPE_BYTES)
                self.appended(partition, key, record.offset, is_deleted=record.value is None)

    def appended(
        self, partition: Partition, key: ShareSnapshotKey | ShareUpdateKey, offset: int, *, is_deleted: bool
    ) -> None:
        """A record is in the log."""
        for job in INTERVALS:
            if job not in self._timers:
                self._set_timer(job)
        if isinstance(key, ShareUpdateKey):
            return
        snapshots = self._snapshots.setdefault(partition, {})
        share_partition = share_partition_of(key)
        snapshots[share_partition] = offset
        self._redundant[partition] = min(snapshots.values())
        if is_deleted:
            del snapshots[share_partition]

    def forget(self, partition: Partition) -> None:
        """A log is gone."""
        self._snapshots.pop(partition, None)
        self._redundant.pop(partition, None)

    def forget_all(self) -> None:
        """The topic is gone, and with it all that coordinators kept."""
        share_of(self.cluster).coordinator.forget(list(states_of(self.cluster.image)))

    def _on_timer(self, job: Job, now_ms: int) -> None:
        self.cluster.now_ms = now_ms
        for partition in list(self._redundant):
            if partition.leader == NO_LEADER:
                continue
            if job == "prune":
                self._prune(partition)
            else:
                self._repeat(partition)
        if self._redundant:
            self._set_timer(job)

    def _prune(self, partition: Partition) -> None:
        """Delete what is before the last snapshots."""
        offset = self._redundant[partition]
        if offset <= partition.high_watermark and partition.advance_start(offset):
            self.cluster.notify(partition)

    def _repeat(self, partition: Partition) -> None:
        """Write the states again whose snapshot is old, unless that was done with all of them."""
        states, coordinator = states_of(self.cluster.image), share_of(self.cluster).coordinator
        topics = self.cluster.internal_topics
        keys = [key for key in states if topics.partition_of(SHARE_TOPIC, coordinator_key(key)) is partition]
        if all(states[key].create_ms != states[key].write_ms for key in keys):
            return
        wall_ms = self.cluster.clock.at(self.cluster.now_ms)
        for key in keys:
            if wall_ms - states[key].write_ms >= self._interval_ms("repeat"):
                coordinator.repeat(key)

    def _set_timer(self, job: Job) -> None:
        self._timers.set(job, self.cluster.now_ms + self._interval_ms(job))

    def _interval_ms(self, job: Job) -> int:
        interval_ms: int = self.cluster.configs.broker(None, INTERVALS[job])
        return interval_ms


def share_partition_of(key: ShareSnapshotKey | ShareUpdateKey) -> SharePartitionKey:
    """The share partition that a record is about."""
    return SharePartitionKey(key.group_id, key.topic_id, key.partition)


def read_type(key: bytes) -> int:
    """The type in front of a key's bytes."""
    return int.from_bytes(key[:TYPE_BYTES], signed=True)


def key_type(kind: type) -> int:
    """The type that stands in front of keys of a class."""
    number: int = kind.api_key  # type: ignore[attr-defined]
    return number
