"""The share coordinator: persists the state of share partitions, and fences replaced leaders.

The group coordinator initializes a share partition, each new leader reads its state and writes it whenever members
acknowledge records, and it is deleted with the group. States are changed only by Kafka's own records.

Source: ShareCoordinatorShard, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import structs

from mockbroker.share_groups.share_states import (
    NO_OFFSET,
    NOT_HOSTED,
    SHARE_TOPIC,
    SharePartitionKey,
    ShareState,
    after_update,
    combined,
    coordinator_key,
    replay,
)
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
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

UPDATES_PER_SNAPSHOT = "share.coordinator.snapshot.update.records.per.snapshot"
FENCED_LEADER_EPOCH_MESSAGE = "The leader epoch in the request is older than the epoch on the broker."
FENCED_STATE_EPOCH_MESSAGE = "The coordinator rejected the request because the state epoch did not match."


@dataclass(slots=True, eq=False)
class ShareCoordinator:
    """The states of a cluster's share partitions, for all coordinators.

    ``states`` is replayed from the logs of ``__share_group_state``. ``_updates`` counts the updates towards the next
    snapshot: as in Kafka, a snapshot written for another reason does not reset the count.
    """

    cluster: Cluster
    states: dict[SharePartitionKey, ShareState] = field(default_factory=dict)
    _updates: dict[SharePartitionKey, int] = field(default_factory=dict)

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
        self._write_snapshot(key, before, value, self._wall_ms())

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
        self.forget([key])

    def forget(self, keys: Iterable[SharePartitionKey]) -> None:
        """Delete the states of share partitions, without a check that the topic exists."""
        known = [key for key in keys if self.states.get(key) is not None]
        for key in known:
            self._append(key, ShareSnapshotKey, None)
            self._updates.pop(key, None)

    def forget_topic(self, topic_id: bytes) -> None:
        """A topic was deleted."""
        self.forget([key for key in self.states if key.topic_id == topic_id])

    def repeat(self, key: SharePartitionKey) -> None:
        """Write a share partition's unchanged state again, so that older records can be deleted."""
        state = self.states[key]
        value: Any = state.value
        again = structs.replace(value, snapshot_epoch=value.snapshot_epoch + 1)
        self._write_snapshot(key, state, again, value.create_timestamp)

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
        start_offset = max(written.start_offset, known.start_offset)
        complete = written.delivery_complete_count
        if written.start_offset == known.start_offset:
            complete = max(complete, known.delivery_complete_count)
        elif written.start_offset < known.start_offset:
            complete = known.delivery_complete_count
        update = ShareUpdateValue(
            snapshot_epoch=known.snapshot_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=complete,
            state_batches=combined(batches, start_offset),
        )
        updates = self._updates.get(key, state.updates)
        if updates >= self._updates_per_snapshot():
            value = after_update(state, update).value
            value.snapshot_epoch += 1
            self._write_snapshot(key, state, value, self._wall_ms())
        else:
            self._append(key, ShareUpdateKey, update)
            self._updates[key] = updates + 1

    def _append(self, key: SharePartitionKey, kind: type[ShareSnapshotKey | ShareUpdateKey], value: Any | None) -> None:
        """Write a record of a share partition, and apply it."""
        record = CoordinatorRecord(kind(**key._asdict()), value)
        self.cluster.internal_topics.write(SHARE_TOPIC, coordinator_key(key), [record])
        replay(self.states, record)

    def _updates_per_snapshot(self) -> int:
        limit: int = self.cluster.configs.broker(None, UPDATES_PER_SNAPSHOT)
        return limit

    def _wall_ms(self) -> int:
        return self.cluster.clock.at(self.cluster.now_ms)

    def _write_snapshot(
        self, key: SharePartitionKey, before: ShareState | None, value: ShareSnapshotValue, create_ms: int
    ) -> None:
        """Write a snapshot; one that is repeated because of its age has two times."""
        value.create_timestamp, value.write_timestamp = create_ms, self._wall_ms()
        updates = 0 if before is None else self._updates.get(key, before.updates)
        self._append(key, ShareSnapshotKey, value)
        self._updates[key] = 0 if updates >= self._updates_per_snapshot() else updates


def check_numbers(**numbers: int) -> None:
    """Raises ApiError: INVALID_REQUEST, for a negative number."""
    for name, number in numbers.items():
        if number < 0:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"The {name.replace('_', ' ')} cannot be a negative number.")
