"""The groups of a cluster by id: what members, offset committers and admins ask of them, and the groups' clock.

Groups belong to the cluster, not to a broker, so they outlive a stopped coordinator. Every command takes plain values
and the time, and raises ApiError for what the asker did wrong.

Source: GroupCoordinatorService, GroupMetadataManager and OffsetMetadataManager, Apache Kafka 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mockbroker.state.errors import ApiError
from mockbroker.state.groups.classic.answers import JoinAnswer, PendingAnswer, SyncAnswer
from mockbroker.state.groups.classic.group import ClassicGroup
from mockbroker.state.groups.classic.members import Joining
from mockbroker.state.groups.classic.records import new_group, tombstone
from mockbroker.state.groups.classic.timers import TimerKey
from mockbroker.state.groups.kind import CoordinatedGroup, TopicsOf
from mockbroker.state.groups.offsets import Committed, GroupOffsets, commits, deletions, transaction_end
from mockbroker.state.image.image import TopicPartition
from mockbroker.state.image.writer import ImageWriter
from mockbroker.state.timers import Timers, TimerService, always
from protocol.error_codes import ErrorCode


@dataclass(slots=True, eq=False)
class Groups:
    """Groups and their offsets.

    ``notify`` is called with what a call waits for once that has its answer. Time runs for groups while
    ``has_coordinators``: without a broker nobody minds them.

    What a restart finds again, offsets and stable generations, goes to the image; the groups that run are kept here.
    """

    settings: Mapping[str, Any]
    notify: Callable[[Hashable], None]
    writer: ImageWriter
    timers: TimerService = field(default_factory=TimerService)
    has_coordinators: Callable[[], bool] = always
    _groups: dict[str, CoordinatedGroup] = field(default_factory=dict)
    _timers: Timers[TimerKey] = field(init=False)

    def __post_init__(self) -> None:
        self._timers = self.timers.subsystem("groups", self._on_timer, runs=self.has_coordinators)

    def restore(self, now_ms: int) -> None:
        """Run the groups that are in the image: those with a generation, and those with offsets, pending or not."""
        image = self.writer.image
        for group_id in sorted(
            image.groups.keys() | image.offsets.keys() | set().union(*image.pending_offsets.values())
        ):
            group = self._get_or_create(group_id, now_ms)
            if group_id in image.groups:
                group.restore(image.groups[group_id], now_ms)

    # members

    def join(self, group_id: str, joining: Joining, now_ms: int, rng: Random) -> PendingAnswer[JoinAnswer]:
        """Take a JoinGroup in. A member without an id creates the group if need be.

        Raises ApiError: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, and those of ``ClassicGroup.join``.
        """
        check_group_id(group_id)
        shortest, longest = (self.settings[f"group.{end}.session.timeout.ms"] for end in ("min", "max"))
        if not shortest <= joining.session_timeout_ms <= longest:
            raise ApiError(
                ErrorCode.INVALID_SESSION_TIMEOUT,
                f"session timeout {joining.session_timeout_ms} ms, but {shortest} to {longest} ms are allowed",
            )
        if joining.member_id:
            group = self._group_of_member(group_id)
        else:
            is_new = group_id not in self._groups
            group = self._get_or_create(group_id, now_ms)
            if is_new:
                self.writer.commit([new_group(group_id, now_ms)])
        return group.join(joining, now_ms, rng)

    def sync(
        self,
        group_id: str,
        member_id: str,
        instance_id: str | None,
        generation: int,
        protocol_type: str | None,
        protocol_name: str | None,
        assignments: Mapping[str, bytes],
        now_ms: int,
    ) -> PendingAnswer[SyncAnswer]:
        """Take a SyncGroup in. Raises ApiError: INVALID_GROUP_ID, and those of ``ClassicGroup.sync``."""
        check_group_id(group_id)
        group = self._group_of_member(group_id)
        return group.sync(member_id, instance_id, generation, protocol_type, protocol_name, assignments, now_ms)

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation: int, now_ms: int) -> None:
        """Take a member's sign of life. Raises ApiError: INVALID_GROUP_ID, and those of ``ClassicGroup.heartbeat``."""
        check_group_id(group_id)
        self._group_of_member(group_id).heartbeat(member_id, instance_id, generation, now_ms)

    def leave(self, group_id: str, leaving: Sequence[tuple[str, str | None]], now_ms: int) -> list[ErrorCode]:
        """Remove members, given as (member id, instance id); one error code each. Raises ApiError: INVALID_GROUP_ID."""
        check_group_id(group_id)
        group = self._groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            return [ErrorCode.UNKNOWN_MEMBER_ID] * len(leaving)
        return group.leave(leaving, now_ms)

    # offsets

    def commit(
        self,
        group_id: str,
        generation: int,
        member_id: str,
        instance_id: str | None,
        offsets: Mapping[TopicPartition, Committed],
        now_ms: int,
    ) -> dict[TopicPartition, ErrorCode]:
        """Commit a member's offsets, or anyone's while the group is empty (generation -1), which creates the group.

        Returns: NONE or OFFSET_METADATA_TOO_LARGE for each partition.

        Raises ApiError: GROUP_ID_NOT_FOUND for a generation of a group that does not exist, and those of
            ``ClassicGroup.accept_commit``.
        """
        group = self._groups.get(group_id)
        if group is None:
            if generation >= 0:
                raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
            group = self._get_or_create(group_id, now_ms)
        group.accept_commit(member_id, instance_id, generation, now_ms)
        longest = self.settings["offset.metadata.max.bytes"]
        fitting = {partition: offset for partition, offset in offsets.items() if len(offset.metadata) <= longest}
        self.writer.commit(commits(group_id, fitting, now_ms))
        return {
            partition: ErrorCode.NONE if partition in fitting else ErrorCode.OFFSET_METADATA_TOO_LARGE
            for partition in offsets
        }

    def stage(
        self,
        group_id: str,
        producer_id: int,
        generation: int,
        member_id: str,
        instance_id: str | None,
        offsets: Mapping[TopicPartition, Committed],
        now_ms: int,
    ) -> None:
        """Keep offsets that a producer's transaction is to commit; a group that does not exist is created.

        Raises ApiError: ILLEGAL_GENERATION for a generation of a group that does not exist, and those of
            ``ClassicGroup.accept_transactional_commit``.
        """
        if generation >= 0 and group_id not in self._groups:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION, f"Group {group_id} not found.")
        self._get_or_create(group_id, now_ms).accept_transactional_commit(member_id, instance_id, generation)
        self.writer.commit(commits(group_id, offsets, now_ms, producer_id))

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        """Commit or drop what the producer's transaction staged, in every group."""
        self.writer.commit([transaction_end(producer_id, committed=committed)])

    def offsets(self, group_id: str) -> GroupOffsets:
        """A group's offsets, to read; none for a group that does not exist."""
        return GroupOffsets(self.writer.image, group_id)

    def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], topics_of: TopicsOf
    ) -> dict[TopicPartition, ErrorCode]:
        """Drop offsets of topics that the group does not read now.

        Args:
            topics_of: the topics in a member's subscription (the metadata of its protocol), None if it cannot be read.

        Returns: NONE or GROUP_SUBSCRIBED_TO_TOPIC for each partition.

        Raises ApiError: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP for members that are no consumers.
        """
        check_group_id(group_id)
        subscribed = self.get(group_id).subscribed_topics(topics_of)
        errors = {
            (topic, partition): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            if subscribed is None or topic in subscribed
            else ErrorCode.NONE
            for topic, partition in partitions
        }
        known = self.offsets(group_id).all_partitions()
        gone = [partition for partition, error in errors.items() if error is ErrorCode.NONE and partition in known]
        self.writer.commit(deletions(group_id, gone))
        return errors

    def forget_topic(self, topic: str) -> None:
        """Drop every group's offsets of a deleted topic."""
        for group_id in self._groups:
            known = self.offsets(group_id).all_partitions()
            self.writer.commit(deletions(group_id, [partition for partition in known if partition[0] == topic]))

    # admins

    def get(self, group_id: str) -> CoordinatedGroup:
        """A group to look at. Raises ApiError: GROUP_ID_NOT_FOUND."""
        group = self._groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def select(self, states: Collection[str] = (), types: Collection[str] = ()) -> list[CoordinatedGroup]:
        """The groups, by id, that are in one of the states and of one of the types; none given means any."""
        wanted_states = {state.lower() for state in states}
        wanted_types = {kind.lower() for kind in types}
        return [
            group
            for _, group in sorted(self._groups.items())
            if (not wanted_states or group.state_name.lower() in wanted_states)
            and (not wanted_types or group.kind in wanted_types)
        ]

    def delete(self, group_id: str) -> None:
        """Delete a group without members, and its offsets.

        Raises ApiError: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """
        check_group_id(group_id)
        self.get(group_id).delete()
        del self._groups[group_id]
        known = self.offsets(group_id).all_partitions()
        self.writer.commit([*deletions(group_id, known), tombstone(group_id)])

    # time

    def restart_sessions(self, group_ids: Iterable[str], now_ms: int) -> None:
        """Give every member of these groups a whole session, as a coordinator does when it takes a group over."""
        for group_id in group_ids:
            if group_id in self._groups:
                self._groups[group_id].restart_sessions(now_ms)

    # inside

    def _on_timer(self, key: TimerKey, now_ms: int) -> None:
        group_id, timer, member_id = key
        self._groups[group_id].on_timer(timer, member_id, now_ms)

    def _group_of_member(self, group_id: str) -> ClassicGroup:
        """The group that a member says it is in; of one that does not exist it cannot be a member."""
        group = self._groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Group {group_id} not found.")
        return group

    def _get_or_create(self, group_id: str, now_ms: int) -> ClassicGroup:
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = ClassicGroup(
                group_id, self.settings, self._timers, self.notify, self.writer.commit, state_since_ms=now_ms
            )
        if not isinstance(group, ClassicGroup):
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Group {group_id} is no classic group.")
        return group


def check_group_id(group_id: str) -> None:
    """Refuse the empty group id, which only commits and fetches may use. Raises ApiError: INVALID_GROUP_ID."""
    if not group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID, "the group id is empty")
