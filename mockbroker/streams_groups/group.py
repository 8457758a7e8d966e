"""A Streams group at its coordinator: its topology, its members, and the processes that hold each task.

Source: StreamsGroup, StreamsCoordinatorRecordHelpers, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from msgspec import structs

from mockbroker.groups.kind import GroupTimer
from mockbroker.groups.modern.group import ModernGroup, RecordTypes, stale
from mockbroker.groups.modern.members import MemberState, parts_of
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.streams_groups.members import StreamsMember
from mockbroker.streams_groups.tasks import ROLES, Task, TaskSet, tasks_as
from mockbroker.streams_groups.topology import ConfiguredTopology, Topology, readers_of_topics
from protocol.embedded import streams_group_log
from protocol.embedded.streams_group_log import StreamsGroupMetadataValue as Metadata

NO_TASKS = TaskSet()
UNKNOWN_EPOCH = -1
TaskOffsets = Mapping[Task, int]


@dataclass(slots=True, eq=False)
class StreamsGroup(ModernGroup[StreamsMember]):
    """A group of KIP-1071.

    ``topology`` is from its first member, ``metadata`` the last record of the group's epoch.

    These fields do not survive a restart: ``configured``, the topology with partition counts; ``task_offsets`` and
    ``task_end_offsets``, the progress of members' stores; ``shutdown_by``, the member that requested a shutdown;
    ``endpoint_epoch``, which grows as tasks move between endpoints; ``creation_errors``, why a topic of the group
    could not be created, and until when that is reported.
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
    creation_errors: dict[str, tuple[str, int]] = field(default_factory=dict)

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

    def assignment_epochs(self, member: StreamsMember) -> Callable[[str, int], tuple[str, int | None]]:
        if self.topology is None:
            raise stale(member, "Topology is not available for offset commit validation.")
        readers = self.readers

        def assigned_in(topic: str, partition: int) -> tuple[str, int | None]:
            subtopology = readers.get(topic)
            if subtopology is None:
                raise stale(member, f"Topic {topic} is not in the topology.")
            task = (subtopology, partition)
            epoch = member.assigned.active.get(task, member.pending_revocation.active.get(task))
            return f"Task {subtopology}-{partition}", epoch

        return assigned_in

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

    def restart_sessions(self, now_ms: int) -> None:
        self.forget_unrecorded()
        self.cancel_timer(GroupTimer.INITIAL_REBALANCE)
        ModernGroup.restart_sessions(self, now_ms)
