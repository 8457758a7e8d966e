"""The groups of a cluster by id: commands for members, offset committers and administrators, and group timers.

A group is built from the records in its shard whenever another broker becomes its coordinator. Every command takes
plain values and the time, and raises ApiError for a caller's error.

Kafka checks for old offsets every ``offsets.retention.check.interval.ms``; so does this module, and when the wall clock
has jumped.

Source: GroupCoordinatorService, GroupCoordinatorShard.cleanupGroupMetadata, GroupMetadataManager and
OffsetMetadataManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from mockbroker.groups.classic.group import ClassicGroup, ClassicGroupState
from mockbroker.groups.classic.members import PendingJoin, refused_join
from mockbroker.groups.consumer.classic_members import ClassicMembers
from mockbroker.groups.consumer.group import ConsumerGroup
from mockbroker.groups.kind import GROUP_CLASSES, Sender, check_group_id
from mockbroker.groups.modern.group import ModernGroup
from mockbroker.groups.modern.topics import GroupTopics
from mockbroker.groups.offsets import GroupOffsets, offset_records
from mockbroker.parts import load
from mockbroker.state.coordinator_shard import NEVER, CoordinatorRecord, CoordinatorShard
from mockbroker.state.errors import ApiError
from mockbroker.state.image import TopicPartition
from mockbroker.state.releases import is_since
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from protocol.apis.classic_group import (
    JoinGroupRequest,
)
from protocol.embedded.group_log import OffsetCommitKey, OffsetCommitValue
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

SomeGroup = TypeVar("SomeGroup", bound=ModernGroup[Any])
AnyGroup = ClassicGroup | ModernGroup[Any]

COORDINATOR_RETRY_MS = 1000  # the delay of a deadline while there is no coordinator
MINUTE_MS = 60_000
STATES_ASKED_FOR = {"NotReady": "not_ready"}
"""States that a ListGroups filter names differently than the answer."""


class Groups:
    """Groups and their offsets.

    Time advances for groups while any broker is up, and for each group while it has a coordinator. ``notify`` is called
    with the key of a waiting call once its answer is available.

    Offsets and stable generations are in the shards (``coordinator_shard``); the live groups are here.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.notify, self.clock = cluster.notify, cluster.clock
        # by group id, kind, and member id or empty
        self.timers, self._expiry = (
            cluster.timers.subsystem(name, on_timer, runs=lambda: bool(cluster.liveness.online_brokers))
            for name, on_timer in (("groups", self._on_timer), ("offset expiry", self._on_expiry))
        )
        self._groups: dict[str, AnyGroup] = {}
        self.topics = GroupTopics(cluster)

    def config(self, name: str) -> Any:
        """The effective value of a brokers' config."""
        return self.cluster.configs.broker(None, name)

    def is_since(self, release: str) -> bool:
        """True if brokers are of this release or a later one."""
        return is_since(self.cluster.release, release)

    def restore(self, now_ms: int) -> None:
        """Load the groups in the shards."""
        for shard in self.cluster.internal_topics.shards(OFFSETS_TOPIC):
            self._load(shard, now_ms)

    def _load(self, shard: CoordinatorShard, now_ms: int) -> None:
        """Load the groups of a shard: those with a generation, members, or offsets, pending or not."""
        for group_id in sorted(shard.keys()):
            records = [one for one in shard.records_of(group_id) if not isinstance(one.key, OffsetCommitKey)]
            declared = type(records[0].key).__module__.rpartition(".")[2] if records else "group_log"
            group: AnyGroup = load(GROUP_CLASSES[declared])(group_id, self)
            self.register(group)
            group.restore(records, now_ms)

    # records

    def write(self, group_id: str, records: Sequence[CoordinatorRecord]) -> None:
        """Write records of a group. Raises ApiError: see ``InternalTopics.write``."""
        self.cluster.internal_topics.write(OFFSETS_TOPIC, group_id, records)

    # groups of any kind

    def find(self, group_id: str) -> AnyGroup | None:
        """A group of any kind, None if there is none."""
        return self._groups.get(group_id)

    def find_or_make(self, kind: type[SomeGroup], group_id: str, *, create: bool) -> SomeGroup:
        """The group of this id and kind; if ``create`` is set and the id is free, a new one, not yet registered.

        A classic group without members can be replaced by a kind that allows it.

        Raises ApiError: GROUP_ID_NOT_FOUND, if the id is free or belongs to another kind.
        """
        group = self._groups.get(group_id)
        is_empty_classic = isinstance(group, ClassicGroup) and group.state is ClassicGroupState.EMPTY
        if create and (group is None or (kind.replaces_empty_classic and is_empty_classic)):
            return kind(group_id, self)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"{kind.kind.capitalize()} group {group_id} not found.")
        return self.get_as(kind, group_id)

    def get_as(self, kind: type[SomeGroup], group_id: str) -> SomeGroup:
        """The group with this id, if it is of this kind. Raises ApiError: GROUP_ID_NOT_FOUND."""
        group = self.get(group_id)
        if not isinstance(group, kind):
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a {kind.kind} group.")
        return group

    def register(self, group: AnyGroup) -> None:
        """Register a group under its id. A group of another kind with this id is removed, except for its offsets."""
        before = self._groups.get(group.id)
        if before is not group and before is not None:
            before.cancel_timers()
            self.write(group.id, before.tombstones())
        self._groups[group.id] = group
        self._look_later()

    # members

    def check_joining(self, group_id: str, session_timeout_ms: int) -> None:
        """Reject a JoinGroup that any broker rejects. Raises ApiError: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT."""
        check_group_id(group_id)
        shortest, longest = (self.cluster.settings[f"group.{end}.session.timeout.ms"] for end in ("min", "max"))
        if not shortest <= session_timeout_ms <= longest:
            raise ApiError(
                ErrorCode.INVALID_SESSION_TIMEOUT,
                f"session timeout {session_timeout_ms} ms, but {shortest} to {longest} ms are allowed",
            )

    def join(self, request: JoinGroupRequest, sender: Sender, now_ms: int, rng: Random) -> PendingJoin:
        """Handle a JoinGroup. A member without an id creates the group if necessary.

        Raises ApiError: those of ``ClassicGroup.join``; the caller has called ``check_joining``.
        """
        group_id = request.group_id
        other = self._groups.get(group_id)
        if isinstance(other, ConsumerGroup) and other.members:
            try:
                return self.of_members(group_id).join(request, sender, now_ms, rng)
            except ApiError as error:
                return PendingJoin(refused_join("", ErrorCode(error.code)))
        if not isinstance(other, ClassicGroup):
            if other is not None and (other.members or not other.replaces_empty_classic):
                return PendingJoin(refused_join("", ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
            if request.member_id:
                raise unknown_member(group_id)
            new = ClassicGroup(group_id, self, state_since_ms=self.clock.at(now_ms))
            self.register(new)
            new.commit_generation()
        return self.of_members(group_id).join(request, sender, now_ms, rng)

    def leave(self, group_id: str, leaving: Sequence[tuple[str, str | None]], now_ms: int) -> list[ErrorCode]:
        """Remove members by (member id, instance id); returns their error codes."""
        try:
            group = self.of_members(group_id)
        except ApiError as error:
            return [ErrorCode(error.code)] * len(leaving)
        return group.leave(leaving, now_ms)

    def of_members(self, group_id: str) -> ClassicGroup | ClassicMembers:
        """The group that handles requests of members of the classic protocol. Raises ApiError: UNKNOWN_MEMBER_ID."""
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return ClassicMembers(group)
        if not isinstance(group, ClassicGroup):
            raise unknown_member(group_id)
        return group

    # offsets

    def commit(
        self,
        request: Any,
        offsets: Mapping[TopicPartition, OffsetCommitValue],
        now_ms: int,
        version: int,
        producer: tuple[int, int] | None = None,
    ) -> None:
        """Commit a member's offsets, or any client's while the group is empty (generation -1), which creates the group.

        Args:
            request: an OffsetCommit or TxnOffsetCommit, of which the group and the member are read.
            version: of the request; the consumer protocol requires 9 or later of OffsetCommit.
            producer: the id and epoch of a producer whose transaction will commit the offsets.

        Raises ApiError: GROUP_ID_NOT_FOUND for a generation of a group that does not exist, and those of
            ``accept_commit`` of the group.
        """
        group_id = request.group_id
        group = self.get(group_id) if request.generation_id_or_member_epoch >= 0 else self._groups.get(group_id)
        if group is None:
            group = ClassicGroup(group_id, self, state_since_ms=self.clock.at(now_ms))
            self.register(group)
        group.accept_commit(request, offsets, now_ms, version if producer is None else None)
        self.write(group_id, offset_records(group_id, offsets, *(producer or ())))

    def check_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """Let a member read offsets; a group that does not exist lets any client.

        Raises ApiError: those of ``ModernGroup.accept_fetch``.
        """
        group = self._groups.get(group_id)
        if group is not None:
            group.accept_fetch(member_id, epoch)

    def offsets(self, group_id: str) -> GroupOffsets:
        """A group's offsets, for reading; empty for a group that does not exist."""
        return GroupOffsets(self.cluster.internal_topics.shard(OFFSETS_TOPIC, group_id), group_id)

    def delete_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """Delete offsets of topics that the group does not currently read.

        Returns: NONE or GROUP_SUBSCRIBED_TO_TOPIC for each partition.

        Raises ApiError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP if members are not consumers.
        """
        subscribed = self.get(group_id).subscribed_topics()
        errors = {
            (topic, partition): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            if subscribed is None or topic in subscribed
            else ErrorCode.NONE
            for topic, partition in partitions
        }
        known = self.offsets(group_id).all_partitions()
        gone = [partition for partition, error in errors.items() if error is ErrorCode.NONE and partition in known]
        self.write(group_id, offset_records(group_id, dict.fromkeys(gone)))
        return errors

    def forget_topic(self, topic: str) -> None:
        """Delete every group's offsets of a deleted topic."""
        for group_id in self._groups:
            gone = [partition for partition in self.offsets(group_id).all_partitions() if partition[0] == topic]
            self.write(group_id, offset_records(group_id, dict.fromkeys(gone)))

    # admins

    def get(self, group_id: str) -> AnyGroup:
        """An existing group, for reading. Raises ApiError: GROUP_ID_NOT_FOUND."""
        group = self._groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def select(self, states: Collection[str] = (), types: Collection[str] = ()) -> list[AnyGroup]:
        """The groups, by id, that are in one of the states and of one of the types; an empty collection matches all."""
        wanted_states = {state.lower() for state in states}
        wanted_types = {kind.lower() for kind in types}
        return [
            group
            for _, group in sorted(self._groups.items())
            if (not wanted_states or STATES_ASKED_FOR.get(group.state_name, group.state_name.lower()) in wanted_states)
            and (not wanted_types or group.kind in wanted_types)
        ]

    def delete(self, group_id: str) -> None:
        """Delete a group without members, and its offsets.

        Raises ApiError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """
        group = self.get(group_id)
        group.delete()
        self.remove(group)

    # time

    def expire(self, now_ms: int) -> None:
        """Delete offsets that are too old by the wall clock, and groups that have nothing left.

        Offsets of topics that a group reads, or that a transaction may change, remain.
        """
        retention_ms = int(self.config("offsets.retention.minutes")) * MINUTE_MS
        wall_ms = self.clock.at(now_ms)
        for group in self.select():
            offsets, read = self.offsets(group.id), topics_read(group)
            known = offsets.all_partitions()
            old = [
                at
                for at, value in sorted(offsets.committed().items())
                if read is not None
                and at[0] not in read
                and is_over(group, value, wall_ms, retention_ms)
                and not offsets.is_unstable(at)
            ]
            self.write(group.id, offset_records(group.id, dict.fromkeys(old)))
            if len(old) == len(known) and group.expires_without_offsets and not group.members:
                self.remove(group)

    def remove(self, group: AnyGroup) -> None:
        """Remove a group and its offsets; the caller has checked that this is allowed."""
        group.cancel_timers()
        del self._groups[group.id]
        known = self.offsets(group.id).all_partitions()
        self.write(group.id, [*offset_records(group.id, dict.fromkeys(known)), *group.tombstones()])

    def forget_all(self) -> None:
        """Remove all groups after their topic was deleted: members that wait get NOT_COORDINATOR."""
        for group_id in sorted(self._groups):
            self._unload(group_id)

    def coordinator_moved(self, group_ids: Iterable[str], shard: CoordinatorShard, now_ms: int) -> None:
        """Load a shard's groups at their new coordinator; calls that wait at the old one get NOT_COORDINATOR."""
        for group_id in group_ids:
            self._unload(group_id)
        self._load(shard, now_ms)

    def _unload(self, group_id: str) -> None:
        group = self._groups.pop(group_id)
        group.answer_waiting(ErrorCode.NOT_COORDINATOR)  # members try again: GroupMetadataManager.onUnloaded
        group.cancel_timers()

    # inside

    def _on_timer(self, key: tuple[str, Any, str], now_ms: int) -> None:
        group_id, timer, member_id = key
        if self.cluster.internal_topics.has_coordinator(OFFSETS_TOPIC, group_id):
            self._groups[group_id].on_timer(timer, member_id, now_ms)
        else:
            self.timers.set(key, now_ms + COORDINATOR_RETRY_MS)

    def _on_expiry(self, _key: None, now_ms: int) -> None:
        self.expire(now_ms)
        if self._groups:
            self._look_later(now_ms)

    def _look_later(self, now_ms: int | None = None) -> None:
        """Schedule the next check for expired offsets after the interval, unless it is already scheduled."""
        if None not in self._expiry:
            interval_ms: int = self.config("offsets.retention.check.interval.ms")
            self._expiry.set(None, (self.cluster.now_ms if now_ms is None else now_ms) + interval_ms)


def unknown_member(group_id: str) -> ApiError:
    return ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Group {group_id} not found.")


def is_over(group: AnyGroup, value: OffsetCommitValue, wall_ms: int, retention_ms: int) -> bool:
    """True if an offset is too old to retain: by the expiry time of its commit, else by the broker's retention."""
    begun_ms = group.retention_begun_ms(value.commit_timestamp)
    if begun_ms is None:
        return False
    return wall_ms >= (begun_ms + retention_ms if value.expire_timestamp == NEVER else value.expire_timestamp)


def topics_read(group: AnyGroup) -> Collection[str] | None:
    """The topics that members read, None if they are not consumers or their subscriptions cannot be read."""
    try:
        return group.subscribed_topics()
    except ApiError:
        return None
