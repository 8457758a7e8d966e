"""The share coordinator: persists the state of share partitions, and fences replaced leaders.

The group coordinator initializes a share partition, each new leader reads its state and writes it whenever members
acknowledge records, and it is deleted with the group. States are changed only by Kafka's own records.

Source: ShareCoordinatorShard, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.share_groups.share_states import (
    NO_OFFSET,
    NOT_HOSTED,
    SHARE_TOPIC,
    SharePartitionKey,
    ShareState,
    StateBatch,
    combined,
    coordinator_key,
    replay,
)
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from protocol.embedded.share_state_log import ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

UPDATES_PER_SNAPSHOT = "share.coordinator.snapshot.update.records.per.snapshot"
FENCED_LEADER_EPOCH_MESSAGE = "The leader epoch in the request is older than the epoch on the broker."
FENCED_STATE_EPOCH_MESSAGE = "The coordinator rejected the request because the state epoch did not match."


class SharePartitionWrite(NamedTuple):
    """A leader's write to the state of a share partition; -1 leaves an offset unchanged."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    state_batches: list[StateBatch]


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
        snapshot_epoch = 0 if before is None else before.snapshot_epoch + 1
        complete = -1 if start_offset == NO_OFFSET else 0
        self._write_snapshot(key, before, ShareState(snapshot_epoch, state_epoch, 0, start_offset, complete))

    def read(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        """The state of a share partition for a leader of this epoch; leaders of older epochs can no longer write it.

        Raises ApiError: INVALID_REQUEST, FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION.
        """
        check_numbers(partition_id=key.partition, leader_epoch=leader_epoch)
        state = self.states.get(key)
        if state is None:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Read operation on uninitialized share partition not allowed.")
        if state.newest_leader_epoch > leader_epoch:
            raise ApiError(ErrorCode.FENCED_LEADER_EPOCH, FENCED_LEADER_EPOCH_MESSAGE)
        self._check_partition(key)
        if state.newest_leader_epoch != leader_epoch:
            written = SharePartitionWrite(
                state.state_epoch, leader_epoch, state.start_offset, state.delivery_complete_count, []
            )
            self._write(key, state, written, leader_epoch)
        return state

    def summary(self, key: SharePartitionKey) -> ShareState:
        """The state for admins, with offset -1 if the share partition is not initialized.

        Raises ApiError: INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION.
        """
        check_numbers(partition_id=key.partition)
        self._check_partition(key)
        return self.states.get(key) or ShareState(0, 0, 0, NO_OFFSET, -1)

    def write(self, key: SharePartitionKey, written: SharePartitionWrite) -> None:
        """Persist a leader's write. Raises ApiError: INVALID_REQUEST, FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH,
        UNKNOWN_TOPIC_OR_PARTITION.
        """
        check_numbers(partition_id=key.partition, leader_epoch=written.leader_epoch, state_epoch=written.state_epoch)
        state = self.states.get(key)
        if state is None:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Write operation on uninitialized share partition not allowed.")
        if state.newest_leader_epoch > written.leader_epoch:
            raise ApiError(ErrorCode.FENCED_LEADER_EPOCH, FENCED_LEADER_EPOCH_MESSAGE)
        if state.newest_state_epoch > written.state_epoch:
            raise ApiError(ErrorCode.FENCED_STATE_EPOCH, FENCED_STATE_EPOCH_MESSAGE)
        self._check_partition(key)
        self._write(key, state, written, state.leader_epoch)

    def delete(self, key: SharePartitionKey) -> None:
        """Delete a share partition's state, if any. Raises ApiError: INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION."""
        check_numbers(partition_id=key.partition)
        self._check_partition(key)
        self.forget([key])

    def forget(self, keys: Iterable[SharePartitionKey]) -> None:
        """Delete the states of share partitions, without a check that the topic exists."""
        known = [key for key in keys if self.states.get(key) is not None]
        for key in known:
            self._append(key, snapshot_key(key), None)
            self._updates.pop(key, None)

    def forget_topic(self, topic_id: bytes) -> None:
        """A topic was deleted."""
        self.forget([key for key in self.states if key.topic_id == topic_id])

    def repeat(self, key: SharePartitionKey) -> None:
        """Write a share partition's unchanged state again, so that older records can be deleted."""
        state = self.states[key]
        again = replace(state, snapshot_epoch=state.snapshot_epoch + 1)
        self._write_snapshot(key, state, again, create_ms=state.create_ms)

    def _check_partition(self, key: SharePartitionKey) -> None:
        topic = self.cluster.topic_by_id.get(key.topic_id)
        if topic is None or key.partition >= len(topic.partitions):
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NOT_HOSTED)

    def _write(
        self, key: SharePartitionKey, state: ShareState, written: SharePartitionWrite, leader_epoch: int
    ) -> None:
        """Write an update, or a snapshot once there are enough updates."""
        start_offset = max(written.start_offset, state.start_offset)
        complete = written.delivery_complete_count
        if written.start_offset == state.start_offset:
            complete = max(complete, state.delivery_complete_count)
        elif written.start_offset < state.start_offset:
            complete = state.delivery_complete_count
        if self._updates.get(key, state.updates) >= self._updates_per_snapshot():
            batches = combined([*state.state_batches, *written.state_batches], start_offset)
            self._write_snapshot(
                key,
                state,
                ShareState(
                    state.snapshot_epoch + 1, state.state_epoch, leader_epoch, start_offset, complete, tuple(batches)
                ),
            )
            return
        update = ShareUpdateValue(
            snapshot_epoch=state.snapshot_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=complete,
            state_batches=[
                ShareUpdateValue.StateBatch(**batch._asdict())
                for batch in combined(written.state_batches, start_offset)
            ],
        )
        update_key = ShareUpdateKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition)
        self._append(key, update_key, update)
        self._updates[key] = self._updates.get(key, state.updates) + 1

    def _append(self, key: SharePartitionKey, record_key: Any, value: Any | None) -> None:
        """Write a record of a share partition, and apply it."""
        record = CoordinatorRecord(record_key, value)
        self.cluster.internal_topics.write(SHARE_TOPIC, coordinator_key(key), [record])
        replay(self.states, record)

    def _updates_per_snapshot(self) -> int:
        limit: int = self.cluster.configs.broker(None, UPDATES_PER_SNAPSHOT)
        return limit

    def _write_snapshot(
        self, key: SharePartitionKey, before: ShareState | None, state: ShareState, create_ms: int | None = None
    ) -> None:
        """Write a snapshot of a state, created now unless ``create_ms`` is set."""
        now_ms = self.cluster.clock.at(self.cluster.now_ms)
        made_now = replace(state, create_ms=now_ms if create_ms is None else create_ms, write_ms=now_ms)
        updates = 0 if before is None else self._updates.get(key, before.updates)
        self._append(key, snapshot_key(key), snapshot_value(made_now))
        self._updates[key] = 0 if updates >= self._updates_per_snapshot() else updates


def snapshot_value(state: ShareState) -> ShareSnapshotValue:
    """The value of a record that has all of a state."""
    return ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.create_ms,
        write_timestamp=state.write_ms,
        state_batches=[ShareSnapshotValue.StateBatch(**batch._asdict()) for batch in state.state_batches],
    )


def snapshot_key(key: SharePartitionKey) -> ShareSnapshotKey:
    return ShareSnapshotKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition)


def check_numbers(**numbers: int) -> None:
    """Raises ApiError: INVALID_REQUEST, for a negative number."""
    for name, number in numbers.items():
        if number < 0:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"The {name.replace('_', ' ')} cannot be a negative number.")
