"""Pruning of the logs of ``__share_group_state``: old states are written again, and records before the last snapshot of
every share partition are deleted.

Both happen at intervals. The topic is not compacted, because an update is useless without the snapshot before it.

Source: ShareCoordinatorService, ShareCoordinatorShard.snapshotColdPartitions, ShareCoordinatorOffsetsManager, Apache
Kafka 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from mockbroker.share_groups.share_states import (
    SHARE_TOPIC,
    SharePartitionKey,
    coordinator_key,
    replay,
    share_of,
    share_partition_of,
)
from mockbroker.state.timers import Timers
from mockbroker.state.topics.topic import NO_LEADER
from protocol.embedded.share_state_log import ShareUpdateKey

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.coordinator_shard import CoordinatorRecord
    from mockbroker.state.topics.topic import Partition

Job = Literal["prune", "repeat"]
INTERVALS: dict[Job, str] = {
    "prune": "share.coordinator.state.topic.prune.interval.ms",
    "repeat": "share.coordinator.cold.partition.snapshot.interval.ms",
}


@dataclass(slots=True, eq=False)
class ShareStateLog:
    """The offset of the last snapshot of each share partition, by partition of the topic."""

    cluster: Cluster
    _snapshots: dict[Partition, dict[SharePartitionKey, int]] = field(default_factory=dict)
    _redundant: dict[Partition, int] = field(default_factory=dict)  # records before this offset are redundant
    _timers: Timers[Job] = field(init=False)

    def __post_init__(self) -> None:
        self._timers = self.cluster.timers.subsystem("share state log", self._on_timer)

    def restore(self, partition: Partition) -> None:
        """Replay a log that has records already."""
        from mockbroker.state.coordinator_log import record_of
        from protocol.records import iter_records

        states = share_of(self.cluster).coordinator.states
        for batch in partition.log.batches(partition.log.start_offset):
            for one in iter_records(batch.data, crc=False):
                for record in record_of(SHARE_TOPIC, one):
                    self.appended(partition, record, one.offset)
                    replay(states, record)

    def appended(self, partition: Partition, record: CoordinatorRecord, offset: int) -> None:
        """Track a record that was appended."""
        for job in INTERVALS:
            if job not in self._timers:
                self._set_timer(job)
        if isinstance(record.key, ShareUpdateKey):
            return
        snapshots = self._snapshots.setdefault(partition, {})
        share_partition = share_partition_of(record.key)
        snapshots[share_partition] = offset
        self._redundant[partition] = min(snapshots.values())
        if record.value is None:
            del snapshots[share_partition]

    def forget_all(self) -> None:
        """The topic was deleted, and with it all that coordinators have written."""
        self._snapshots.clear()
        self._redundant.clear()
        share_of(self.cluster).coordinator.states.clear()

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
        """Delete the records before the last snapshots."""
        offset = self._redundant[partition]
        if offset <= partition.high_watermark and partition.advance_start(offset):
            self.cluster.notify(partition)

    def _repeat(self, partition: Partition) -> None:
        """Write the states again whose snapshot is old, unless that was done with all of them."""
        coordinator = share_of(self.cluster).coordinator
        states, topics = coordinator.states, self.cluster.internal_topics
        keys = [key for key in states if topics.partition_of(SHARE_TOPIC, coordinator_key(key)) is partition]
        if all(states[key].value.create_timestamp != states[key].value.write_timestamp for key in keys):
            return
        wall_ms = self.cluster.clock.at(self.cluster.now_ms)
        for key in keys:
            if wall_ms - states[key].value.write_timestamp >= self._interval_ms("repeat"):
                coordinator.repeat(key)

    def _set_timer(self, job: Job) -> None:
        self._timers.set(job, self.cluster.now_ms + self._interval_ms(job))

    def _interval_ms(self, job: Job) -> int:
        interval_ms: int = self.cluster.configs.broker(None, INTERVALS[job])
        return interval_ms
