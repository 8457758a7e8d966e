"""A group whose coordinator assigns: its epoch, its members, and their targets.

Only records change it: ``write`` appends them to the log, then applies them here; a new coordinator applies them
again.

Source: ModernGroup, TargetAssignmentMetadata, GroupCoordinatorRecordHelpers and StreamsCoordinatorRecordHelpers, Apache
Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ClassVar, Generic, cast

from mockbroker.groups.kind import CoordinatedGroup, GroupTimer
from mockbroker.groups.modern.members import (
    STATIC_LEAVE_EPOCH,
    MemberState,
    ModernMember,
    SomeMember,
    messages_of,
    parts_of,
)
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from mockbroker.state.image import TopicPartition
from protocol.error_codes import ErrorCode

FIRST_COMMIT_VERSION = 9  # of OffsetCommit, by members that do not use the classic protocol


class RecordTypes:
    """The keys and values of one kind of group's records, by name without the prefix of the kind.

    Every kind has Metadata of the group, MemberMetadata, CurrentMemberAssignment, TargetAssignmentMember and
    TargetAssignmentMetadata.
    """

    def __init__(self, declared: ModuleType, prefix: str) -> None:
        own = {name.removeprefix(prefix): kind for name, kind in vars(declared).items() if name.startswith(prefix)}
        self.keys = {name.removesuffix("Key"): kind for name, kind in own.items() if name.endswith("Key")}
        self.values = {name.removesuffix("Value"): kind for name, kind in own.items() if name.endswith("Value")}
        self.names = {kind: name for name, kind in self.keys.items()}


@dataclass(slots=True, eq=False)
class ModernGroup(CoordinatedGroup[SomeMember], Generic[SomeMember]):
    """A group whose coordinator assigns.

    ``epoch`` increases with each change of members, subscriptions or topics; ``assignment_epoch`` is the one for which
    ``targets``, by member id, were computed.

    A kind sets ``types``, the types of its records; ``group_records``, the records to delete with the group;
    ``no_target``, the target of a member without one; ``commits_offsets``, which is False if its members commit no
    offsets; and the releases since which an older epoch can commit the partitions held since then (KIP-1251), and the
    target's epoch follows the group's when the last member leaves.
    """

    member_class: ClassVar[type[ModernMember]]
    types: ClassVar[RecordTypes]
    group_records: ClassVar[Sequence[str]] = ("TargetAssignmentMetadata", "Metadata")
    no_target: ClassVar[Any] = frozenset()
    commits_offsets: ClassVar[bool] = True
    older_epochs_commit_since: ClassVar[str] = "4.3"
    empty_groups_assigned_since: ClassVar[str] = "4.0"
    epoch: int = field(init=False)
    metadata_hash: int = 0
    assignment_epoch: int = field(init=False)
    assignment_timestamp_ms: int = 0
    targets: dict[str, Any] = field(default_factory=dict)
    _metadata_version: int | None = None  # of the topics that the metadata hash was last compared with

    def __post_init__(self) -> None:
        self.epoch = self.assignment_epoch = int(self.groups.is_since("4.3"))  # the first heartbeat always increments 0

    # records to write

    def record(self, name: str, value: Any | None, *key: str) -> CoordinatorRecord:
        """A record of the group, or what its key names within it; a value of None deletes."""
        return CoordinatorRecord(self.types.keys[name](self.id, *key), value)

    def epoch_record(self, epoch: int, metadata_hash: int) -> CoordinatorRecord:
        """The record of the group's epoch."""
        return self.record("Metadata", self.types.values["Metadata"](epoch=epoch, metadata_hash=metadata_hash))

    def member_record(self, member: SomeMember) -> CoordinatorRecord:
        """The record of a member's metadata."""
        return self.record("MemberMetadata", member.metadata(self.types.values["MemberMetadata"]), member.id)

    def assignment_record(self, member: SomeMember) -> CoordinatorRecord:
        """The record of a member's current assignment."""
        value = member.assignment(self.types.values["CurrentMemberAssignment"])
        return self.record("CurrentMemberAssignment", value, member.id)

    def target_record(self, member_id: str, target: Any) -> CoordinatorRecord:
        """The record of a member's target."""
        value = self.target_value(self.types.values["TargetAssignmentMember"], target)
        return self.record("TargetAssignmentMember", value, member_id)

    def target_epoch_record(self, epoch: int, wall_ms: int) -> CoordinatorRecord:
        """The record of the group epoch for which the targets were computed, with the wall clock time."""
        kind = self.types.values["TargetAssignmentMetadata"]
        return self.record("TargetAssignmentMetadata", kind(assignment_epoch=epoch, assignment_timestamp=wall_ms))

    def target_records(
        self, epoch: int, targets: Mapping[str, Any], before: Mapping[str, Any], now_ms: int
    ) -> list[CoordinatorRecord]:
        """The records of all targets that differ from those before, and of their epoch."""
        changed = [one for one in sorted(targets.items()) if before.get(one[0]) != one[1]]
        return [
            *(self.target_record(member_id, target) for member_id, target in changed),
            self.target_epoch_record(epoch, self.groups.clock.at(now_ms)),
        ]

    def member_records(self, member: SomeMember, target: Any) -> list[CoordinatorRecord]:
        """All records of a member."""
        return [self.member_record(member), self.target_record(member.id, target), self.assignment_record(member)]

    def no_member(self, member_id: str) -> list[CoordinatorRecord]:
        """The records that delete a member."""
        names = ("CurrentMemberAssignment", "TargetAssignmentMember", "MemberMetadata")
        return [self.record(name, None, member_id) for name in names]

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that delete the group's state except its offsets."""
        gone = [record for member_id in sorted(self.members) for record in self.no_member(member_id)]
        return [*gone, *(self.record(name, None) for name in self.group_records)]

    def target_value(self, kind: type[Any], target: Any) -> Any:
        """A target as the value of a record."""
        return kind(topic_partitions=messages_of(kind.TopicPartition, target))

    # records to apply

    def write(self, records: Sequence[CoordinatorRecord]) -> None:
        """Append records of this group to the log, and apply them."""
        self.groups.write(self.id, records)
        for record in records:
            self.apply(record)

    def apply(self, record: CoordinatorRecord) -> None:
        """Apply one of this group's records, new or from the log; those that delete a member come together."""
        key: Any = record.key
        value: Any = record.value
        match self.types.names[type(key)]:
            case "Metadata":
                self.set_metadata(value)
            case "MemberMetadata" if value is None:
                self.members.pop(key.member_id, None)
                self.targets.pop(key.member_id, None)
            case "MemberMetadata":
                self.members[key.member_id] = self.member_or_new(key.member_id).with_metadata(value)
            case "CurrentMemberAssignment" if value is not None:
                self.members[key.member_id] = self.member_or_new(key.member_id).with_assignment(value)
            case "TargetAssignmentMember" if value is not None:
                self.targets[key.member_id] = self.target_in(value)
            case "TargetAssignmentMetadata":
                self.assignment_epoch, self.assignment_timestamp_ms = value.assignment_epoch, value.assignment_timestamp
            case name:
                self.apply_other(name, key, value)

    def apply_other(self, name: str, key: Any, value: Any | None) -> None:
        """Apply a record that not every kind has; ignore the topic metadata that Kafka up to 4.0 stored."""

    def set_metadata(self, value: Any) -> None:
        """Set the group's epoch, and what else its record has."""
        self.epoch, self.metadata_hash = value.epoch, value.metadata_hash

    def target_in(self, value: Any) -> Any:
        """The target in a record."""
        return parts_of(value.topic_partitions)

    def member_or_new(self, member_id: str) -> SomeMember:
        """The member with this id, or a new one."""
        return self.members.get(member_id) or cast(SomeMember, self.member_class(id=member_id))

    def restore(self, records: Iterable[CoordinatorRecord], now_ms: int) -> None:
        """Resume from the group's records in the log; its members get full sessions, and time to revoke partitions."""
        for record in records:
            self.apply(record)
        for member in self.members.values():
            self.extend_session(member.id, now_ms)
            self.schedule_revocation(member, now_ms)

    # metadata

    def metadata_expired(self) -> bool:
        """True if topics may have changed since the metadata hash was computed."""
        return self._metadata_version != self.groups.topics.version()

    def next_epoch(self, members: Iterable[SomeMember], written: list[CoordinatorRecord], *, has_changed: bool) -> int:
        """The group's epoch after a heartbeat; it increases, with a record, if members or topics have changed.

        Args:
            members: those after the heartbeat.
        """
        epoch = self.epoch
        if has_changed or self.metadata_expired():
            metadata_hash = self.hash_for(members)
            if has_changed or metadata_hash != self.metadata_hash:
                epoch += 1
                written.append(self.epoch_record(epoch, metadata_hash))
            self.metadata_refreshed()
        return epoch

    def hash_for(self, members: Iterable[SomeMember]) -> int:
        """The metadata hash of the topics to which these members subscribe."""
        return self.groups.topics.hash_of(self.topics_read_by(members))

    def metadata_refreshed(self) -> None:
        """Record that the metadata hash is up to date with the topics."""
        self._metadata_version = self.groups.topics.version()

    def config(self, name: str) -> Any:
        """The effective value of one of the group's configs."""
        return self.groups.cluster.configs.group(self.id, name)

    # requests of admins

    @property
    def is_ready(self) -> bool:
        """True if nothing but the assignment is missing."""
        return True

    @property
    def state_name(self) -> str:
        """Empty, NotReady, Assigning, Reconciling or Stable."""
        if not self.members:
            return "Empty"
        if not self.is_ready:
            return "NotReady"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.is_reconciled(self.assignment_epoch) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    @property
    def protocol_type(self) -> str:
        """The name of the protocol, as of the kind of group."""
        return self.kind

    @property
    def assignor_name(self) -> str:
        """The effective assignor."""
        raise NotImplementedError

    def topics_of(self, member: SomeMember) -> frozenset[str]:
        """The names of the topics that a member subscribes to."""
        return member.topics

    def topics_read_by(self, members: Iterable[SomeMember]) -> set[str]:
        """The names of the topics to which any of these members subscribes."""
        return set().union(*map(self.topics_of, members))

    def assigned_to(self, member: SomeMember) -> Collection[tuple[bytes, int]]:
        """The partitions that a member holds."""
        held: Collection[tuple[bytes, int]] = member.assigned
        return held

    def target_of(self, member_id: str) -> Any:
        """The target of a member, empty if it has none."""
        return self.targets.get(member_id, self.no_target)

    def subscribed_topics(self) -> Collection[str]:
        """The topics that members subscribe to. Raises ApiError: GROUP_ID_NOT_FOUND, for a kind without offsets."""
        self._check_commits_offsets()
        return self.topics_read_by(self.members.values())

    def begun_offsets(self, cluster: Any) -> list[tuple[str, int, int, int | None]] | None:
        """Topic, index, first offset and lag of each partition of a group that commits no offsets; None if it does."""
        return None

    def retention_begun_ms(self, committed_ms: int) -> int | None:
        """The time at which an offset's retention began: its commit. Not called for topics that are being read."""
        return committed_ms

    def delete(self) -> None:
        """End the group. Raises ApiError: NON_EMPTY_GROUP."""
        if self.members:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    # members

    def leave(self, request: Any, now_ms: int) -> None:
        """Remove the member that sent its last heartbeat (epoch -1), or mark a static one as temporarily absent (-2).

        Raises ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
        """
        instance_id = getattr(request, "instance_id", None)
        member = self.check_member(request.member_id, instance_id)
        if instance_id is not None and request.member_epoch == STATIC_LEAVE_EPOCH:
            self.write([self.assignment_record(member.absent())])
        else:
            self.fence([member], now_ms)

    def fence(self, members: Sequence[SomeMember], now_ms: int) -> None:
        """Remove members, after they left or missed a deadline."""
        epoch = self.epoch + 1
        gone = [record for member in members for record in self.no_member(member.id)]
        staying = [one for one in self.members.values() if one not in members]
        gone += self.records_with(staying, epoch)
        if not staying and self.groups.is_since(self.empty_groups_assigned_since):
            gone.append(self.target_epoch_record(epoch, 0))
        for member in members:
            self.cancel_timers_of(member.id)
        self.write(gone)

    def records_with(self, members: Sequence[SomeMember], epoch: int) -> list[CoordinatorRecord]:
        """The records of the group in its next epoch, in which it has only these members."""
        return [self.epoch_record(epoch, self.hash_for(members))]

    def check_capacity(self, member_id: str) -> None:
        """Raises ApiError: GROUP_MAX_SIZE_REACHED, for a new member of a full group."""
        limit = self.groups.config(f"group.{self.kind}.max.size")
        if len(self.members) >= limit and member_id not in self.members:
            problem = f"The {self.kind} group has reached its maximum capacity of {limit} members."
            raise ApiError(ErrorCode.GROUP_MAX_SIZE_REACHED, problem)

    def may_assign(self, now_ms: int) -> bool:
        """True if enough time has passed since the last target to compute another."""
        interval_ms: int = self.config(f"{self.kind}.assignment.interval.ms")
        if not self.assignment_timestamp_ms or not interval_ms:
            return True
        return self.groups.clock.at(now_ms) >= self.assignment_timestamp_ms + interval_ms

    # offsets

    def accept_commit(
        self, request: Any, offsets: Collection[TopicPartition], now_ms: int, version: int | None
    ) -> None:
        """Accept a commit in the member's epoch, or in an older one for partitions assigned to it then (KIP-1251).

        A transaction's offsets (``version`` None) are accepted too if the request names no member.

        Raises ApiError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, for a member of the classic protocol
            ILLEGAL_GENERATION, UNSUPPORTED_VERSION; GROUP_ID_NOT_FOUND, for a kind without offsets.
        """
        self._check_commits_offsets()
        epoch = request.generation_id_or_member_epoch
        names_member = epoch != -1 or bool(request.member_id) or request.group_instance_id is not None
        if (epoch < 0 and not self.members) or (version is None and not names_member):
            return
        member = self.member(request.member_id)
        if version is not None and version < FIRST_COMMIT_VERSION and not member.is_classic:
            problem = f"OffsetCommit version 9 or above must be used by members using the {self.kind} group protocol"
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, problem)
        if epoch > member.epoch or not self.groups.is_since(self.older_epochs_commit_since):
            self._check_epoch(member, epoch)
        for topic, index in offsets if epoch < member.epoch else ():
            assigned = self.assignment_epoch_of(member, topic, index)
            if assigned is None or epoch < assigned:
                problem = f"{topic}-{index} is assigned to the member since epoch {assigned}"
                raise stale(member, f"Received {epoch_name(member)} {epoch}, but {problem}.")

    def accept_fetch(self, member_id: str | None, generation: int) -> None:
        """Let a member read offsets in its epoch, and any client that names no member; of a kind without offsets, any.

        Raises ApiError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, for a member of the classic protocol
            ILLEGAL_GENERATION; UNKNOWN_SERVER_ERROR, for an epoch without a member.
        """
        if not self.commits_offsets or (member_id is None and generation < 0):
            return
        if member_id is None:  # Kafka looks null up in a table that rejects it
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        self._check_epoch(self.member(member_id), generation)

    def _check_commits_offsets(self) -> None:
        if not self.commits_offsets:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {self.id} is not a consumer group.")

    def _check_epoch(self, member: SomeMember, epoch: int) -> None:
        if epoch != member.epoch:
            problem = f"The received {epoch_name(member)} {epoch} does not match the expected member epoch"
            raise stale(member, f"{problem} {member.epoch}.")

    def assignment_epoch_of(self, member: SomeMember, topic: str, index: int) -> int | None:
        """The epoch since which a member holds a partition, None if it does not. Kinds with offsets override this."""
        raise NotImplementedError

    # time

    def on_timer(self, timer: GroupTimer, member_id: str, now_ms: int) -> None:
        """Remove a member that has missed a deadline."""
        self.fence([self.members[member_id]], now_ms)

    def answer_waiting(self, error: ErrorCode) -> None:
        """No call waits."""

    def extend_session(self, member_id: str, now_ms: int, timeout_ms: int | None = None) -> None:
        """Extend a member's session after a heartbeat, by ``timeout_ms`` or else the group's session time-out."""
        if timeout_ms is None:
            timeout_ms = self.config(f"{self.kind}.session.timeout.ms")
        self.set_timer(GroupTimer.SESSION, member_id, now_ms + timeout_ms)

    def schedule_revocation(self, member: SomeMember, now_ms: int) -> None:
        """Give a member its rebalance time-out to revoke what it has to revoke, if it has to."""
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            self.set_timer(GroupTimer.REBALANCE, member.id, now_ms + member.rebalance_timeout_ms)
        else:
            self.cancel_timer(GroupTimer.REBALANCE, member.id)


def epoch_name(member: ModernMember) -> str:
    return "generation id" if member.is_classic else "member epoch"


def stale(member: ModernMember, problem: str) -> ApiError:
    """The error for a request with an epoch that is not the member's."""
    return ApiError(ErrorCode.ILLEGAL_GENERATION if member.is_classic else ErrorCode.STALE_MEMBER_EPOCH, problem)
