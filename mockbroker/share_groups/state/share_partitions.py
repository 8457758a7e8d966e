"""The share partitions that run, and the share sessions of each broker.

A share partition runs from the first ShareFetch of its group at the partition's leader until another broker leads, the
topic is deleted, or no member of the group has a session at the leader. The locks of members, which the share
coordinator does not have, are lost with it. Nothing here survives a restart.

Source: SharePartitionManager and ShareGroupConfigProvider, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from mockbroker.handlers.list_offsets import first_record_since
from mockbroker.share_groups.share_states import NO_OFFSET, SharePartitionKey
from mockbroker.share_groups.state.acknowledging import release, release_expired
from mockbroker.share_groups.state.coordinator import ShareCoordinator
from mockbroker.share_groups.state.partition import SharePartition
from mockbroker.share_groups.state.sessions import SessionKey, ShareSession, ShareSessions
from mockbroker.state.configs.values import DURATION
from mockbroker.state.errors import ApiError
from mockbroker.state.timers import Timers
from protocol.embedded.share_state_log import ShareUpdateValue, StateBatch
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Partition

FENCING = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
"""Errors after which a share partition must be loaded again."""
CODE_OF_COORDINATOR_ERROR = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""The errors that members get for the share coordinator's; UNKNOWN_SERVER_ERROR for others."""
TIMESTAMP_RESET = "by_duration:"
MS_OF_UNIT = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1000}


@dataclass(slots=True, eq=False)
class SharePartitions:
    """The share partitions by group and partition, and share sessions by broker."""

    cluster: Cluster
    coordinator: ShareCoordinator = field(init=False)
    _running: dict[SharePartitionKey, SharePartition] = field(default_factory=dict)
    _sessions: dict[int, ShareSessions] = field(default_factory=dict)
    _timers: Timers[SharePartitionKey] = field(init=False)

    def __post_init__(self) -> None:
        self.coordinator = ShareCoordinator(self.cluster)
        self._timers = self.cluster.timers.subsystem("share partitions", self._on_timer)

    def get(self, key: SharePartitionKey) -> SharePartition | None:
        """A running share partition, None if it does not run."""
        return self._running.get(key)

    def get_or_load(self, key: SharePartitionKey, partition: Partition) -> SharePartition:
        """A share partition, loaded from its coordinator's state if it does not run.

        Raises ApiError: the share coordinator's errors, translated for members.
        """
        found = self._running.get(key)
        if found is not None:
            return found
        loaded = SharePartition(
            key,
            partition.leader,
            partition.leader_epoch,
            partial(self.cluster.configs.group, key.group_id),
            self._persist,
            self._locked,
        )
        try:
            state = self.coordinator.read(key, partition.leader_epoch)
        except ApiError as error:
            raise for_members(error) from None
        start_offset = state.start_offset
        if start_offset == NO_OFFSET:
            start_offset = self._first_offset(key.group_id, partition)
        try:
            loaded.load(start_offset, state.state_epoch, state.state_batches)
        except ValueError as error:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from None
        self._running[key] = loaded
        return loaded

    def fence(self, key: SharePartitionKey) -> None:
        """Stop a share partition: the next request loads it again."""
        if self._running.pop(key, None) is not None:
            self._timers.cancel(key)
            self.cluster.notify(key)

    def _fence_all(self, is_meant: Callable[[SharePartition], bool]) -> None:
        for one in [one for one in self._running.values() if is_meant(one)]:
            self.fence(one.key)

    def fence_on(self, key: SharePartitionKey, error: ApiError) -> None:
        """Stop a share partition if an error shows that its state is out of date."""
        if error.code in FENCING:
            self.fence(key)

    # sessions

    def sessions_of(self, broker_id: int) -> ShareSessions:
        """The share sessions of a broker; they end when it stops."""
        sessions = self._sessions.get(broker_id)
        if sessions is None:
            max_sessions = self.cluster.configs.broker(broker_id, "group.share.max.share.sessions")
            sessions = self._sessions[broker_id] = ShareSessions(max_sessions)
        return sessions

    def end_session(self, broker_id: int, key: SessionKey) -> None:
        """End a member's session, and make the records available again that the member had acquired through it."""
        session = self.sessions_of(broker_id).pop(key, None)
        if session is not None:
            self._release(session)

    def connection_closed(self, broker_id: int, connection: int) -> None:
        """End the session of a closed connection, and the group's share partitions that have no session left."""
        sessions = self._sessions.get(broker_id)
        opened = None if sessions is None else sessions.connection_closed(connection)
        if sessions is None or opened is None:
            return
        session = sessions.get(opened)
        if session is not None and session.connection == connection:
            self.end_session(broker_id, opened)
        group_id = opened[0]
        if all(key[0] != group_id for key in sessions):
            self._fence_all(lambda one: one.key.group_id == group_id and one.leader == broker_id)

    # other events

    def leader_changed(self, partition: Partition) -> None:
        """Stop the share partitions of a partition with another leader, or none."""
        place = (partition.topic.id, partition.index)
        self._fence_all(lambda one: one.key[1:] == place and one.leader != partition.leader)

    def broker_stopped(self, broker_id: int) -> None:
        """Stop the share partitions that a stopped broker led, and end its sessions.

        Records of diskless partitions, which no broker leads, are available again if acquired by these sessions.
        """
        self._fence_all(lambda one: one.leader == broker_id)
        sessions = self._sessions.pop(broker_id, None)
        for session in () if sessions is None else list(sessions.values()):
            self._release(session)

    def forget_topic(self, topic_id: bytes) -> None:
        """Discard all state of a deleted topic."""
        self._forget(lambda key: key.topic_id == topic_id)
        groups: list[Any] = self.cluster.groups.select(types=("share",))
        for group in groups:
            if any(one[0] == topic_id for one in group.initialized or ()):
                group.forget_topics([topic_id])

    def forget_group(self, group_id: str, topic_ids: Collection[bytes] = ()) -> None:
        """Discard all state of a deleted group, or of a group in these topics."""
        self._forget(lambda key: key.group_id == group_id and (not topic_ids or key.topic_id in topic_ids))

    def _forget(self, is_meant: Callable[[SharePartitionKey], bool]) -> None:
        for key in sorted(filter(is_meant, self._running.keys() | self.coordinator.states.keys())):
            self.fence(key)
            self.coordinator.forget(key)

    # internals

    def _release(self, session: ShareSession) -> None:
        group_id, member_id = session.key
        for topic_id, index in session.partitions:
            key = SharePartitionKey(group_id, topic_id, index)
            one = self._running.get(key)
            if one is not None:
                try:
                    release(one, member_id)
                except ApiError as error:
                    self.fence_on(key, error)
                self.cluster.notify(key)

    def _persist(self, partition: SharePartition, state_batches: list[StateBatch]) -> None:
        update = ShareUpdateValue(
            leader_epoch=partition.leader_epoch,
            start_offset=partition.start_offset,
            delivery_complete_count=partition.delivery_complete_count,
            state_batches=state_batches,
        )
        try:
            self.coordinator.write(partition.key, partition.state_epoch, update)
        except ApiError as error:
            raise for_members(error) from None

    def _locked(self, partition: SharePartition, until_ms: int) -> None:
        self._timers.set(partition.key, min(until_ms, self._timers.deadlines.get(partition.key, until_ms)))

    def _first_offset(self, group_id: str, partition: Partition) -> int:
        """The start offset of a group without one, by ``share.auto.offset.reset``."""
        reset = str(self.cluster.configs.group(group_id, "share.auto.offset.reset"))
        if reset == "earliest":
            return partition.log.start_offset
        if reset.startswith(TIMESTAMP_RESET):
            since_ms = self.cluster.clock.at(self.cluster.now_ms) - duration_ms(reset.removeprefix(TIMESTAMP_RESET))
            found = first_record_since(partition.log, since_ms)
            return partition.high_watermark if found is None else min(found[1], partition.high_watermark)
        return partition.high_watermark

    def _on_timer(self, key: SharePartitionKey, now_ms: int) -> None:
        one = self._running.get(key)
        if one is None:
            return
        try:
            changed = release_expired(one, now_ms)
        except ApiError:
            changed = True
        if changed:
            self.cluster.notify(key)


def duration_ms(text: str) -> int:
    """The milliseconds of an ISO 8601 duration.

    >>> duration_ms("PT+1H30M"), duration_ms("P1DT0.5S")
    (5400000, 86400500)
    """
    found = DURATION.fullmatch(text)
    assert found is not None, "the config was checked"
    return round(sum(float(value) * MS_OF_UNIT[unit] for unit, value in found.groupdict().items() if value))


def for_members(error: ApiError) -> ApiError:
    """A share coordinator's error, translated for members."""
    code = CODE_OF_COORDINATOR_ERROR.get(ErrorCode(error.code), ErrorCode.UNKNOWN_SERVER_ERROR)
    return ApiError(code, error.message)
