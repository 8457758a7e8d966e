"""A Streams group at its coordinator: its topology, its members, and the processes that hold each task.

Source: StreamsGroup, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from mockbroker.state.groups.kind import TopicsOf
from mockbroker.state.groups.modern.group import MemberTimer, ModernGroup
from mockbroker.state.groups.modern.members import MemberState
from mockbroker.state.image.image import TopicPartition
from mockbroker.streams_groups import records
from mockbroker.streams_groups.members import StreamsMember
from mockbroker.streams_groups.records import GroupMetadata
from mockbroker.streams_groups.tasks import Task, TaskSet, tasks_of
from mockbroker.streams_groups.topology import ConfiguredTopology, Topology, readers_of_topics
from protocol.embedded.streams_group_log import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMetadataKey,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTopologyKey,
)
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.groups.kind import CommitCheck

FIRST_COMMIT_VERSION = 9  # of OffsetCommit, by members that speak the streams protocol
NO_TASKS = TaskSet()
TaskOffsets = Mapping[str, Mapping[int, int]]


@dataclass(slots=True, eq=False)
class StreamsGroup(ModernGroup[StreamsMember]):
    """A group of KIP-1071.

    ``topology`` is from its first member. ``task_targets`` has the target of each member, ``active_holders`` the
    process of each active task, ``standby_holders`` and ``warmup_holders`` those of the others.

    These fields do not survive a restart: ``configured``, the topology with partition counts; ``task_offsets`` and
    ``task_end_offsets``, the progress of members' stores; ``shutdown_by``, the member that requested a shutdown;
    ``endpoint_epoch``, which grows as tasks move between endpoints; ``creation_errors``, why a topic of the group
    could not be created, and until when that is reported.
    """

    kind: ClassVar[str] = "streams"
    member_class: ClassVar[type[StreamsMember]] = StreamsMember
    replaces_empty_classic: ClassVar[bool] = True
    protocol_type: ClassVar[str | None] = "streams"
    topology: Topology | None = None
    metadata: GroupMetadata = field(default_factory=GroupMetadata)
    task_targets: dict[str, TaskSet] = field(default_factory=dict)
    active_holders: dict[Task, str] = field(default_factory=dict)
    standby_holders: dict[Task, set[str]] = field(default_factory=dict)
    warmup_holders: dict[Task, set[str]] = field(default_factory=dict)
    configured: ConfiguredTopology | None = None
    task_offsets: dict[str, TaskOffsets] = field(default_factory=dict)
    task_end_offsets: dict[str, TaskOffsets] = field(default_factory=dict)
    shutdown_by: str | None = None
    endpoint_epoch: int = 0
    creation_errors: dict[str, tuple[str, int]] = field(default_factory=dict)

    # records

    def apply(self, record: CoordinatorRecord) -> None:
        APPLY[type(record.key)](self, record)
        if not self.members:
            self.shutdown_by = None

    def tombstones(self) -> list[CoordinatorRecord]:
        return records.no_group(self.id, sorted(self.members))

    def member_changed(self, before: StreamsMember | None, after: StreamsMember | None) -> None:
        self._release(before)
        if after is not None:
            self._take(after)
        elif before is not None:
            self.task_offsets.pop(before.id, None)
            self.task_end_offsets.pop(before.id, None)

    def _take(self, member: StreamsMember) -> None:
        """Record the member's process as a holder of its tasks."""
        for held in (member.assigned, member.pending_revocation):
            for task in tasks_in(held.active):
                self.active_holders[task] = member.process_id
            for tasks, holders in ((held.standby, self.standby_holders), (held.warmup, self.warmup_holders)):
                for task in tasks_in(tasks):
                    holders.setdefault(task, set()).add(member.process_id)

    def _release(self, member: StreamsMember | None) -> None:
        """Remove the member's process as a holder of its tasks, except where another process is recorded now."""
        if member is None:
            return
        for held in (member.assigned, member.pending_revocation):
            for task in tasks_in(held.active):
                if self.active_holders.get(task) == member.process_id:
                    del self.active_holders[task]
            for tasks, holders in ((held.standby, self.standby_holders), (held.warmup, self.warmup_holders)):
                for task in tasks_in(tasks):
                    processes = holders.get(task, set())
                    processes.discard(member.process_id)
                    if not processes:
                        holders.pop(task, None)

    def forget_what_is_not_kept(self) -> None:
        """Reset the fields that records do not have, as in a group that was just loaded."""
        self.configured = None
        self.task_offsets, self.task_end_offsets = {}, {}
        self.shutdown_by = None
        self.endpoint_epoch = 0
        self._metadata_version = None

    # requests of members and admins

    @property
    def assignor_name(self) -> str:
        """The only assignor."""
        return "sticky"

    @property
    def state_name(self) -> str:
        """Empty, NotReady until all topics of the topology exist, Assigning, Reconciling or Stable."""
        if not self.members:
            return "Empty"
        if self.topology is None or self.topology.epoch != self.metadata.validated_topology_epoch:
            return "NotReady"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.is_reconciled(self.assignment_epoch) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    def topics_of(self, member: StreamsMember) -> frozenset[str]:
        """The topics that the topology reads: any member may have tasks of each."""
        return frozenset() if self.topology is None else frozenset(readers_of_topics(self.topology))

    def assigned_to(self, member: StreamsMember) -> Mapping[bytes, Collection[int]]:
        """The partitions that a member's active tasks read, by topic id."""
        found: dict[bytes, Collection[int]] = {}
        for topic, subtopology in readers_of_topics(self.topology).items() if self.topology is not None else ():
            tasks = member.assigned.active.get(subtopology)
            known = self.groups.topics.by_name.get(topic)
            if tasks and known is not None:
                found[known.id] = [number for number in sorted(tasks) if number < len(known.partitions)]
        return found

    def subscribed_topics(self, topics_of: TopicsOf) -> Collection[str]:
        """The topics that the topology reads, while the group has members."""
        if self.topology is None or not self.members:
            return ()
        return readers_of_topics(self.topology).keys()

    # offsets

    def accept_commit(
        self, member_id: str, instance_id: str | None, generation: int, now_ms: int, *, version: int
    ) -> CommitCheck | None:
        """Check a member's commit: its current epoch passes; an older one passes for tasks assigned by then.

        Raises ApiError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION.
        """
        if generation < 0 and not self.members:
            return None
        member = self.member(member_id)
        if version < FIRST_COMMIT_VERSION:
            problem = "OffsetCommit version 9 or above must be used by members using the streams group protocol"
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, problem)
        return self._check_of(member, generation)

    def accept_transactional_commit(
        self, member_id: str, instance_id: str | None, generation: int
    ) -> CommitCheck | None:
        """Check the offsets of a transaction like a commit; a request without a member always passes.

        Raises ApiError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
        """
        if generation < 0 and not self.members:
            return None
        if generation == -1 and not member_id and instance_id is None:
            return None
        return self._check_of(self.member(member_id), generation)

    def accept_fetch(self, member_id: str | None, generation: int) -> None:
        """Check a member's epoch before it reads offsets; a request without a member and epoch passes.

        Raises ApiError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH; UNKNOWN_SERVER_ERROR for an epoch without a member id.
        """
        if member_id is None and generation < 0:
            return
        if member_id is None:  # Kafka looks null up in a map that does not allow it
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        member = self.member(member_id)
        if generation != member.epoch:
            problem = f"The received member epoch {generation} does not match the expected member epoch {member.epoch}."
            raise ApiError(ErrorCode.STALE_MEMBER_EPOCH, problem)

    def _check_of(self, member: StreamsMember, epoch: int) -> CommitCheck | None:
        if epoch == member.epoch:
            return None
        if epoch > member.epoch:
            raise stale(f"Received member epoch {epoch} is newer than current member epoch {member.epoch}.")
        if self.topology is None:
            raise stale("Topology is not available for offset commit validation.")
        readers = readers_of_topics(self.topology)

        def check(at: TopicPartition) -> None:
            topic, partition = at
            subtopology = readers.get(topic)
            if subtopology is None:
                raise stale(f"Topic {topic} is not in the topology.")
            given = member.assigned.active.get(subtopology, {}).get(partition)
            if given is None:
                given = member.pending_revocation.active.get(subtopology, {}).get(partition)
            if given is None:
                raise stale(f"Task {subtopology}-{partition} is not assigned or pending revocation for member.")
            if epoch < given:
                raise stale(
                    f"Received member epoch {epoch} is older than assignment epoch {given}"
                    f" for task {subtopology}-{partition}."
                )

        return check

    # time

    def on_timer(self, timer: MemberTimer, member_id: str, now_ms: int) -> None:
        """Remove a member that missed a deadline, or assign tasks after the initial rebalance delay."""
        if timer is MemberTimer.INITIAL_REBALANCE:
            from mockbroker.streams_groups.assigning import assign_after_delay

            assign_after_delay(self, now_ms)
            return
        member = self.members[member_id]
        if timer is not MemberTimer.REBALANCE or member.state is MemberState.UNREVOKED_PARTITIONS:
            self.fence(member)

    def restart_sessions(self, now_ms: int) -> None:
        """Restart the session of every member, as a coordinator does that has just loaded the group."""
        self.forget_what_is_not_kept()
        self.cancel_timer(MemberTimer.INITIAL_REBALANCE, "")
        for member in self.members.values():
            self.put_off_session(member.id, now_ms)
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                self.set_timer(MemberTimer.REBALANCE, member.id, now_ms + member.rebalance_timeout_ms)

    def cancel_timers(self) -> None:
        ModernGroup.cancel_timers(self)
        self.cancel_timer(MemberTimer.INITIAL_REBALANCE, "")

    def fence(self, member: StreamsMember) -> None:
        """Remove a member."""
        self.cancel_timers_of(member.id)
        epoch = self.epoch + 1
        gone = records.no_member(self.id, member.id)
        gone.append(records.group_epoch(self.id, epoch, self.metadata))
        if len(self.members) == 1:
            gone.append(records.target_epoch(self.id, epoch, 0))
        self.write(gone)


def tasks_in(tasks: Mapping[str, Iterable[int]]) -> list[Task]:
    return [(name, number) for name, numbers in tasks.items() for number in numbers]


def stale(problem: str) -> ApiError:
    return ApiError(ErrorCode.STALE_MEMBER_EPOCH, problem)


def _set_epoch(group: StreamsGroup, record: CoordinatorRecord) -> None:
    group.apply_group_epoch(record)
    if record.value is not None:
        group.metadata = records.recorded_metadata(record.value)


def _set_topology(group: StreamsGroup, record: CoordinatorRecord) -> None:
    group.topology = record.value


def _set_target(group: StreamsGroup, record: CoordinatorRecord) -> None:
    if record.value is None:
        group.task_targets.pop(record.key.member_id, None)
    else:
        value = record.value
        group.task_targets[record.key.member_id] = TaskSet(
            tasks_of(value.active_tasks), tasks_of(value.standby_tasks), tasks_of(value.warmup_tasks)
        )


APPLY: dict[type, Callable[[StreamsGroup, CoordinatorRecord], None]] = {
    StreamsGroupMetadataKey: _set_epoch,
    StreamsGroupTopologyKey: _set_topology,
    StreamsGroupMemberMetadataKey: StreamsGroup.apply_member,
    StreamsGroupCurrentMemberAssignmentKey: StreamsGroup.apply_assignment,
    StreamsGroupTargetAssignmentMemberKey: _set_target,
    StreamsGroupTargetAssignmentMetadataKey: StreamsGroup.apply_target_epoch,
}
