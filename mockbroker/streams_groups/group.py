"""A Streams group at its coordinator: its topology, and its members with their tasks.

Source: StreamsGroup, StreamsGroupMember, TasksTuple, TasksTupleWithEpochs, StreamsCoordinatorRecordHelpers, Apache
Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

from msgspec import structs

from mockbroker.groups.kind import GroupTimer
from mockbroker.groups.modern.group import ModernGroup, RecordTypes
from mockbroker.groups.modern.members import (
    STATIC_LEAVE_EPOCH,
    MemberState,
    ModernMember,
    messages_of,
    parts_of,
    with_epochs,
)
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.streams_groups.topology import ConfiguredTopology, Topology, readers_of_topics
from protocol.embedded import streams_group_log
from protocol.embedded.streams_group_log import StreamsGroupMetadataValue as Metadata

UNKNOWN_EPOCH = -1
Task = tuple[str, int]
"""A subtopology's id with the number of a partition."""
TaskOffsets = Mapping[Task, int]
Endpoint = tuple[str, int]
"""Host and port of a member for interactive queries."""
Tasks = frozenset[Task]
ActiveTasks = Mapping[Task, int]
"""Tasks with the epoch in which each was assigned."""


class TaskSet(NamedTuple):
    """The target tasks of a member, by role."""

    active: Tasks = frozenset()
    standby: Tasks = frozenset()
    warmup: Tasks = frozenset()


class HeldTasks(NamedTuple):
    """The current tasks of a member, by role."""

    active: ActiveTasks = MappingProxyType({})
    standby: Tasks = frozenset()
    warmup: Tasks = frozenset()

    @property
    def without_epochs(self) -> TaskSet:
        return TaskSet(frozenset(self.active), self.standby, self.warmup)


NO_TASKS, HOLDS_NOTHING = TaskSet(), HeldTasks()
ROLES = ("active_tasks", "standby_tasks", "warmup_tasks")
"""The names of fields in messages."""


def tasks_as(kind: type[Any], tasks: TaskSet | HeldTasks, **others: Any) -> dict[str, list[Any]]:
    """The fields of a message with tasks of each role, as messages of this class."""
    return {role: messages_of(kind, of_role, **others) for role, of_role in zip(ROLES, tasks, strict=True)}


@dataclass(slots=True, frozen=True, kw_only=True)
class StreamsMember(ModernMember):
    """``assigned`` are the tasks of the member, ``pending_revocation`` those that it must revoke first.

    Members with one ``process_id`` are threads of one process; a task and its standby go to different processes.
    """

    previous_epoch: int = 0
    topology_epoch: int = -1
    process_id: str = ""
    endpoint: Endpoint | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)
    assigned: HeldTasks = HOLDS_NOTHING
    pending_revocation: HeldTasks = HOLDS_NOTHING

    def endpoint_as(self, kind: type[Any]) -> Any | None:
        """The endpoint as a message of this class."""
        return None if self.endpoint is None else kind(host=self.endpoint[0], port=self.endpoint[1])

    def metadata(self, kind: type[Any]) -> Any:
        tags = [kind.KeyValue(key=key, value=value) for key, value in sorted(self.client_tags.items())]
        return self.message(kind, client_tags=tags, user_endpoint=self.endpoint_as(kind.Endpoint))

    def with_metadata(self, value: Any) -> Self:
        endpoint = value.user_endpoint
        return self.updated(
            value,
            endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
            client_tags={tag.key: tag.value for tag in value.client_tags},
        )

    def assignment(self, kind: type[Any]) -> Any:
        assigned, pending = (tasks_as(kind.TaskIds, held) for held in (self.assigned, self.pending_revocation))
        return self.message(kind, **assigned, **{f"{role}_pending_revocation": pending[role] for role in ROLES})

    def with_assignment(self, value: Any) -> Self:
        assigned, pending = (
            HeldTasks(
                with_epochs(getattr(value, f"active_tasks{suffix}"), value.member_epoch),
                parts_of(getattr(value, f"standby_tasks{suffix}")),
                parts_of(getattr(value, f"warmup_tasks{suffix}")),
            )
            for suffix in ("", "_pending_revocation")
        )
        return self.updated(value, state=MemberState(value.state), assigned=assigned, pending_revocation=pending)

    def absent(self) -> Self:
        assigned = self.assigned._replace(active=dict.fromkeys(self.assigned.active, 0))
        return replace(self, epoch=STATIC_LEAVE_EPOCH, pending_revocation=HOLDS_NOTHING, assigned=assigned)


@dataclass(slots=True, eq=False)
class StreamsGroup(ModernGroup[StreamsMember]):
    """A group of KIP-1071.

    ``topology`` is from its first member, ``metadata`` the last record of the group's epoch.

    These fields do not survive a restart: ``configured``, the topology with partition counts; ``task_offsets`` and
    ``task_end_offsets``, the progress of members' stores; ``shutdown_by``, the member that requested a shutdown;
    ``endpoint_epoch``, which grows as tasks move between endpoints.
    """

    kind: ClassVar[str] = "streams"
    member_class: ClassVar[type[StreamsMember]] = StreamsMember
    types: ClassVar[RecordTypes] = RecordTypes(streams_group_log, "StreamsGroup")
    group_records: ClassVar[tuple[str, ...]] = ("TargetAssignmentMetadata", "Metadata", "Topology")
    no_target: ClassVar[TaskSet] = NO_TASKS
    replaces_empty_classic: ClassVar[bool] = True
    older_epochs_commit_since: ClassVar[str] = "4.2"  # StreamsGroup.validateOffsetCommit
    topology: Topology | None = None
    metadata: Metadata = field(default_factory=Metadata)
    configured: ConfiguredTopology | None = None
    task_offsets: dict[str, TaskOffsets] = field(default_factory=dict)
    task_end_offsets: dict[str, TaskOffsets] = field(default_factory=dict)
    shutdown_by: str | None = None
    endpoint_epoch: int = 0

    # records

    def metadata_record(
        self, epoch: int, metadata_hash: int, validated_topology_epoch: int, assignment_configs: Mapping[str, str]
    ) -> CoordinatorRecord:
        """The record of the group's epoch, its validated topology, and the assignor's configs of the last target."""
        before: Any = self.metadata
        configs = [
            Metadata.LastAssignmentConfig(key=key, value=value) for key, value in sorted(assignment_configs.items())
        ]
        value = structs.replace(
            before,
            epoch=epoch,
            metadata_hash=metadata_hash,
            validated_topology_epoch=validated_topology_epoch,
            last_assignment_configs=configs,
        )
        return self.record("Metadata", value)

    @property
    def assignment_configs(self) -> dict[str, str]:
        """The assignor's configs that the last target was computed with."""
        return {one.key: one.value for one in self.metadata.last_assignment_configs or ()}

    def target_value(self, kind: type[Any], target: TaskSet) -> Any:
        return kind(**tasks_as(kind.TaskIds, target))

    def apply(self, record: CoordinatorRecord) -> None:
        ModernGroup.apply(self, record)
        if record.value is None:
            self.task_offsets.pop(record.key.member_id, None)
            self.task_end_offsets.pop(record.key.member_id, None)
        if not self.members:
            self.shutdown_by = None

    def apply_other(self, name: str, key: Any, value: Any | None) -> None:
        if name == "Topology":
            self.topology = value

    def set_metadata(self, value: Any) -> None:
        ModernGroup.set_metadata(self, value)
        self.metadata = value

    def target_in(self, value: Any) -> TaskSet:
        return TaskSet(*(parts_of(getattr(value, role)) for role in ROLES))

    def forget_unrecorded(self) -> None:
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
    def is_ready(self) -> bool:
        """True if all topics of the topology exist."""
        return self.topology is not None and self.topology.epoch == self.metadata.validated_topology_epoch

    @property
    def readers(self) -> dict[str, str]:
        """The subtopology that reads each topic."""
        return {} if self.topology is None else readers_of_topics(self.topology)

    def topics_of(self, member: StreamsMember) -> frozenset[str]:
        """The topics that the topology reads: any member may have tasks of each."""
        return frozenset(self.readers)

    def assigned_to(self, member: StreamsMember) -> Collection[tuple[bytes, int]]:
        """The partitions that a member's active tasks read."""
        by_name = self.groups.topics.by_name
        return [
            (by_name[topic].id, number)
            for topic, subtopology in self.readers.items()
            for name, number in member.assigned.active
            if name == subtopology and topic in by_name and number < len(by_name[topic].partitions)
        ]

    def subscribed_topics(self) -> Collection[str]:
        """The topics that the topology reads, while the group has members."""
        return self.readers.keys() if self.members else ()

    def assignment_epoch_of(self, member: StreamsMember, topic: str, index: int) -> int | None:
        task = (self.readers.get(topic, ""), index)
        return member.assigned.active.get(task, member.pending_revocation.active.get(task))

    def records_with(self, members: Sequence[StreamsMember], epoch: int) -> list[CoordinatorRecord]:
        metadata: Any = self.metadata
        return [self.record("Metadata", structs.replace(metadata, epoch=epoch))]

    # time

    def on_timer(self, timer: GroupTimer, member_id: str, now_ms: int) -> None:
        """Remove a member that missed a deadline, or assign tasks after the initial rebalance delay."""
        if timer is GroupTimer.INITIAL_REBALANCE:
            from mockbroker.streams_groups.assigning import assign_after_delay

            assign_after_delay(self, now_ms)
        elif timer is not GroupTimer.REBALANCE or self.members[member_id].state is MemberState.UNREVOKED_PARTITIONS:
            ModernGroup.on_timer(self, timer, member_id, now_ms)
