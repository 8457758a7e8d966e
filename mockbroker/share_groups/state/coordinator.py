"""The share coordinator: persists the state of share partitions, and fences replaced leaders.

The group coordinator initializes a share partition, each new leader reads its state and writes it whenever members
acknowledge records, and it is deleted with the group. States are changed only by Kafka's own records.

At intervals old states are written again, and the records before the last snapshot of every share partition deleted.
The topic is not compacted, because an update is useless without the snapshot before it.

Source: ShareCoordinatorShard, ShareCoordinatorService and ShareCoordinatorOffsetsManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from msgspec import structs

from mockbroker.share_groups.share_states import (
    NO_OFFSET,
    NOT_HOSTED,
    SHARE_TOPIC,
    SharePartitionKey,
    ShareState,
    after_snapshot,
    after_update,
    combined,
    coordinator_key,
    share_partition_of,
)
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from mockbroker.state.timers import Timers
from mockbroker.state.topics.topic import NO_LEADER
from protocol.embedded.share_state_log import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
    StateBatch,
)
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Partition

Job = Literal["prune", "repeat"]
INTERVALS: dict[Job, str] = {
    "prune": "share.coordinator.state.topic.prune.interval.ms",
    "repeat": "share.coordinator.cold.partition.snapshot.interval.ms",
}
UPDATES_PER_SNAPSHOT = "share.coordinator.snapshot.update.records.per.snapshot"
FENCED_LEADER_EPOCH_MESSAGE = "The leader epoch in the request is older than the epoch on the broker."
FENCED_STATE_EPOCH_MESSAGE = "The coordinator rejected the request because the state epoch did not match."


@dataclass(slots=True, eq=False)
class ShareCoordinator:
    """The states of a cluster's share partitions, for all coordinators, replayed from the logs.

    ``_snapshots`` has the offset of the last snapshot of each share partition.
    """

    cluster: Cluster
    states: dict[SharePartitionKey, ShareState] = field(default_factory=dict)
    _snapshots: dict[SharePartitionKey, int] = field(default_factory=dict)
    _timers: Timers[Job] = field(init=False)

    def __post_init__(self) -> None:
        self._timers = self.cluster.timers.subsystem("share coordinator", self._on_timer)

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None:
        """Initialize or reinitialize a share partition. Raises ApiError: INVALID_REQUEST, FENCED_STATE_EPOCH,
        UNKNOWN_TOPIC_OR_PARTITION.
        """
        check_numbers(partition_id=key.partition, state_epoch=state_epoch)
        before = self.states.get(key)
        if before is not None and before.newest_state_epoch > state_epoch:
            raise ApiError(ErrorCode.FENCED_STATE_EPOCH, FENCED_STATE_EPOCH_MESSAGE)
        self._check_partition(key)
        value = ShareSnapshotValue(
            snapshot_epoch=0 if before is None else before.value.snapshot_epoch + 1,
            state_epoch=state_epoch,
            start_offset=start_offset,
            delivery_complete_count=-1 if start_offset == NO_OFFSET else 0,
        )
        self._write_snapshot(key, value, self._wall_ms())

    def read(self, key: SharePartitionKey, leader_epoch: int) -> ShareSnapshotValue:
        """The state of a share partition for a leader of this epoch; leaders of older epochs can no longer write it.

        Raises ApiError: INVALID_REQUEST, FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION.
        """
        check_numbers(partition_id=key.partition, leader_epoch=leader_epoch)
        state = self._state(key, leader_epoch, "Read")
        self._check_partition(key)
        if state.newest_leader_epoch != leader_epoch:
            self._write(key, state, leader_epoch, state.value)
        return state.value

    def summary(self, key: SharePartitionKey) -> ShareSnapshotValue:
        """The state for admins, with offset -1 if the share partition is not initialized.

        Raises ApiError: INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION.
        """
        check_numbers(partition_id=key.partition)
        self._check_partition(key)
        return self.states[key].value if key in self.states else ShareSnapshotValue(start_offset=NO_OFFSET)

    def write(self, key: SharePartitionKey, state_epoch: int, update: ShareUpdateValue) -> None:
        """Persist a leader's update; -1 leaves an offset unchanged.

        Raises ApiError: INVALID_REQUEST, FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH, UNKNOWN_TOPIC_OR_PARTITION.
        """
        check_numbers(partition_id=key.partition, leader_epoch=update.leader_epoch, state_epoch=state_epoch)
        state = self._state(key, update.leader_epoch, "Write")
        if state.newest_state_epoch > state_epoch:
            raise ApiError(ErrorCode.FENCED_STATE_EPOCH, FENCED_STATE_EPOCH_MESSAGE)
        self._check_partition(key)
        self._write(key, state, state.value.leader_epoch, update, update.state_batches)

    def delete(self, key: SharePartitionKey) -> None:
        """Delete a share partition's state, if any. Raises ApiError: INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION."""
        check_numbers(partition_id=key.partition)
        self._check_partition(key)
        self.forget(key)

    def forget(self, key: SharePartitionKey) -> None:
        """Delete a share partition's state, if any, without a check that the topic exists."""
        if key in self.states:
            self._append(key, ShareSnapshotKey, None)

    # logs

    def restore(self, partition: Partition) -> None:
        """Replay a log that has records already."""
        from mockbroker.state.coordinator_log import record_of
        from protocol.records import iter_records

        for batch in partition.log.batches(partition.log.start_offset):
            for one in iter_records(batch.data, crc=False):
                for record in record_of(SHARE_TOPIC, one):
                    self.appended(partition, record, one.offset)
                    self.replay(record)

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record to the states."""
        key = share_partition_of(record.key)
        if record.value is None:
            self.states.pop(key, None)
        elif isinstance(record.value, ShareSnapshotValue):
            self.states[key] = after_snapshot(self.states.get(key), record.value, self._max_updates())
        else:
            self.states[key] = after_update(self.states.get(key), record.value)

    def appended(self, partition: Partition, record: CoordinatorRecord, offset: int) -> None:
        """Track the offset of a record that was appended to a log."""
        for job in INTERVALS:
            if job not in self._timers:
                self._set_timer(job)
        if record.value is None:
            self._snapshots.pop(share_partition_of(record.key), None)
        elif isinstance(record.key, ShareSnapshotKey):
            self._snapshots[share_partition_of(record.key)] = offset

    def forget_all(self) -> None:
        """The topic was deleted, and with it all that coordinators have written."""
        self.states.clear()
        self._snapshots.clear()

    def _on_timer(self, job: Job, now_ms: int) -> None:
        self.cluster.now_ms = now_ms
        topics = self.cluster.internal_topics
        topic = self.cluster.topics.get(SHARE_TOPIC)
        if topic is None:
            return
        stored: dict[Partition, list[SharePartitionKey]] = {one: [] for one in topic.partitions if one.log.end_offset}
        for key in self.states:
            stored.setdefault(topics.partition_of(SHARE_TOPIC, coordinator_key(key)), []).append(key)
        for partition, keys in stored.items():
            if partition.leader == NO_LEADER:
                continue
            if job == "repeat":
                self._repeat(keys)
                continue
            offset = min(
                (self._snapshots[key] for key in keys if key in self._snapshots), default=partition.log.end_offset - 1
            )
            if offset <= partition.high_watermark and partition.advance_start(offset):
                self.cluster.notify(partition)
        self._set_timer(job)

    def _repeat(self, keys: Iterable[SharePartitionKey]) -> None:
        """Write the states again whose snapshot is old, unless that was done with all of them."""
        values: list[Any] = [self.states[key].value for key in keys]
        if all(value.create_timestamp != value.write_timestamp for value in values):
            return
        for key, value in zip(keys, values, strict=True):
            if self._wall_ms() - value.write_timestamp >= self._interval_ms("repeat"):
                again = structs.replace(value, snapshot_epoch=value.snapshot_epoch + 1)
                self._write_snapshot(key, again, value.create_timestamp)

    def _set_timer(self, job: Job) -> None:
        self._timers.set(job, self.cluster.now_ms + self._interval_ms(job))

    def _interval_ms(self, job: Job) -> int:
        return int(self.cluster.configs.broker(None, INTERVALS[job]))

    # internals

    def _state(self, key: SharePartitionKey, leader_epoch: int, operation: str) -> ShareState:
        """The state of a share partition for a leader of this epoch. Raises ApiError."""
        state = self.states.get(key)
        if state is None:
            problem = f"{operation} operation on uninitialized share partition not allowed."
            raise ApiError(ErrorCode.INVALID_REQUEST, problem)
        if state.newest_leader_epoch > leader_epoch:
            raise ApiError(ErrorCode.FENCED_LEADER_EPOCH, FENCED_LEADER_EPOCH_MESSAGE)
        return state

    def _check_partition(self, key: SharePartitionKey) -> None:
        topic = self.cluster.topic_by_id.get(key.topic_id)
        if topic is None or key.partition >= len(topic.partitions):
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NOT_HOSTED)

    def _write(
        self,
        key: SharePartitionKey,
        state: ShareState,
        leader_epoch: int,
        written: ShareUpdateValue | ShareSnapshotValue,
        batches: Sequence[StateBatch] = (),
    ) -> None:
        """Write an update, or a snapshot once there are enough updates."""
        known = state.value
        start_offset, complete = max(
            (written.start_offset, written.delivery_complete_count), (known.start_offset, known.delivery_complete_count)
        )
        update = ShareUpdateValue(
            snapshot_epoch=known.snapshot_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=complete,
            state_batches=combined(batches, start_offset),
        )
        if state.updates < self._max_updates():
            self._append(key, ShareUpdateKey, update)
            return
        value = after_update(state, update).value
        value.snapshot_epoch += 1
        self._write_snapshot(key, value, self._wall_ms())

    def _write_snapshot(self, key: SharePartitionKey, value: ShareSnapshotValue, create_ms: int) -> None:
        """Write a snapshot; one that is repeated because of its age has two times."""
        value.create_timestamp, value.write_timestamp = create_ms, self._wall_ms()
        self._append(key, ShareSnapshotKey, value)

    def _append(self, key: SharePartitionKey, kind: type[ShareSnapshotKey | ShareUpdateKey], value: Any | None) -> None:
        """Write a record of a share partition, and apply it."""
        record = CoordinatorRecord(kind(**key._asdict()), value)
        self.cluster.internal_topics.write(SHARE_TOPIC, coordinator_key(key), [record])
        self.replay(record)

    def _max_updates(self) -> int:
        return int(self.cluster.configs.broker(None, UPDATES_PER_SNAPSHOT))

    def _wall_ms(self) -> int:
        return self.cluster.clock.at(self.cluster.now_ms)


def check_numbers(**numbers: int) -> None:
    """Raises ApiError: INVALID_REQUEST, for a negative number."""
    for name, number in numbers.items():
        if number < 0:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"The {name.replace('_', ' ')} cannot be a negative number.")
