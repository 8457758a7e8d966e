"""A group whose coordinator assigns: its epoch, its members, and their targets.

Only records change it: ``write`` appends them to the log, then applies them here; a new coordinator applies them
again.

Source: ModernGroup and TargetAssignmentMetadata, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from mockbroker.state.groups.kind import CommitCheck, TopicsOf
from mockbroker.state.groups.modern.members import ModernMember, Partitions
from mockbroker.state.groups.modern.subscriptions import Counts, count_names
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.groups.coordinator import Groups

NO_ASSIGNMENT: Partitions = {}

SomeMember = TypeVar("SomeMember", bound=ModernMember)


class MemberTimer(Enum):
    """The kind of a member's deadline."""

    SESSION = "its next sign of life"
    REBALANCE = "it has given up what it is to give up"
    JOIN = "a member of the classic protocol has joined again"
    SYNC = "a member of the classic protocol has asked for its assignment"
    INITIAL_REBALANCE = "the first members of a group have come; it is the group's own, of no member"


class GroupConfigs(NamedTuple):
    """Effective values: ``broker`` returns a broker's setting by name, ``group`` a group's by group id and name."""

    broker: Callable[[str], Any]
    group: Callable[[str, str], Any]


@dataclass(slots=True, eq=False)
class ModernGroup(Generic[SomeMember]):
    """A group whose coordinator assigns.

    ``epoch`` increases with each change of members, subscriptions or topics; ``assignment_epoch`` is the one for which
    ``targets``, by member id, were computed. ``counts`` has the number of subscribers of each topic, ``static_ids`` the
    member id of each static member by its instance id.
    """

    kind: ClassVar[str]
    member_class: ClassVar[type[ModernMember]]
    replaces_empty_classic: ClassVar[bool] = False
    expires_without_offsets: ClassVar[bool] = True
    protocol_type: ClassVar[str | None]
    id: str
    groups: Groups
    epoch: int = field(init=False)
    metadata_hash: int = 0
    assignment_epoch: int = field(init=False)
    assignment_timestamp_ms: int = 0
    members: dict[str, SomeMember] = field(default_factory=dict)
    targets: dict[str, Partitions] = field(default_factory=dict)
    counts: Counts = field(default_factory=dict)
    static_ids: dict[str, str] = field(default_factory=dict)
    _metadata_version: int | None = None  # of the topics that the metadata hash was last compared with

    def __post_init__(self) -> None:
        self.epoch = self.assignment_epoch = self.groups.rules.first_epoch

    # records

    def write(self, records: Sequence[CoordinatorRecord]) -> None:
        """Append records of this group to the log, and apply them."""
        self.groups.write(self.id, records)
        for record in records:
            self.apply(record)

    def apply(self, record: CoordinatorRecord) -> None:
        """Apply one of this group's records, new or from the log. Each kind overrides this."""
        raise NotImplementedError

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that delete the group's state except its offsets. Each kind overrides this."""
        raise NotImplementedError

    def apply_group_epoch(self, record: CoordinatorRecord) -> None:
        """Set the group's epoch."""
        if record.value is not None:
            self.epoch, self.metadata_hash = record.value.epoch, record.value.metadata_hash

    def apply_member(self, record: CoordinatorRecord) -> None:
        """Set a member's metadata, or remove the member."""
        if record.value is None:
            self.drop_member(record.key.member_id)
        else:
            self.put_member(self._member_or_new(record.key.member_id).with_metadata(record.value))

    def apply_assignment(self, record: CoordinatorRecord) -> None:
        """Set a member's current assignment, or clear it."""
        member_id = record.key.member_id
        if record.value is not None:
            self.put_member(self._member_or_new(member_id).with_assignment(record.value))
        elif member_id in self.members:
            self.put_member(self.members[member_id].without_assignment())

    def apply_target(self, record: CoordinatorRecord) -> None:
        """Set a member's target, or remove it."""
        if record.value is None:
            self.targets.pop(record.key.member_id, None)
        else:
            self.targets[record.key.member_id] = {
                one.topic_id: frozenset(one.partitions) for one in record.value.topic_partitions
            }

    def apply_target_epoch(self, record: CoordinatorRecord) -> None:
        """Set the epoch for which the targets were computed."""
        value = record.value
        self.assignment_epoch = -1 if value is None else value.assignment_epoch
        self.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp

    def _member_or_new(self, member_id: str) -> SomeMember:
        return self.members.get(member_id) or cast(SomeMember, self.member_class(id=member_id))

    def put_member(self, member: SomeMember) -> None:
        """Add or replace a member."""
        before = self.members.get(member.id)
        self.members[member.id] = member
        self.member_changed(before, member)
        if before is not None and before.instance_id is not None:
            self.static_ids.pop(before.instance_id, None)
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member.id

    def drop_member(self, member_id: str) -> None:
        """Remove a member."""
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self.member_changed(member, None)
        if member.instance_id is not None:
            self.static_ids.pop(member.instance_id, None)

    def member_changed(self, before: SomeMember | None, after: SomeMember | None) -> None:
        """Update the indexes by topic, partition or task. Each kind overrides this."""
        raise NotImplementedError

    def restore(self, records: Iterable[CoordinatorRecord], now_ms: int) -> None:
        """Resume from the group's records in the log; its members get full sessions."""
        for record in records:
            self.apply(record)
        self.restart_sessions(now_ms)

    # metadata

    def metadata_expired(self) -> bool:
        """True if topics may have changed since the metadata hash was computed."""
        return self._metadata_version != self.groups.topics.version()

    def metadata_refreshed(self) -> None:
        """Record that the metadata hash is up to date with the topics."""
        self._metadata_version = self.groups.topics.version()

    # what admins and offset committers ask

    @property
    def state_name(self) -> str:
        """Empty, Assigning, Reconciling or Stable."""
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.is_reconciled(self.assignment_epoch) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    @property
    def member_count(self) -> int:
        return len(self.members)

    def member(self, member_id: str) -> SomeMember:
        """The member with this id. Raises ApiError: UNKNOWN_MEMBER_ID."""
        member = self.members.get(member_id)
        if member is None:
            problem = f"Member {member_id} is not a member of group {self.id}."
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, problem)
        return member

    def static_member(self, instance_id: str | None) -> SomeMember | None:
        """The static member with this instance id, None if there is none."""
        member_id = None if instance_id is None else self.static_ids.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def check_static_member(self, member_id: str, instance_id: str) -> SomeMember:
        """The static member with this instance id, if it has this member id.

        Raises ApiError: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID, another member has the instance id.
        """
        member = self.static_member(instance_id)
        if member is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if member.id != member_id:
            problem = f"Static member {member_id} with instance id {instance_id} was fenced by member {member.id}."
            raise ApiError(ErrorCode.FENCED_INSTANCE_ID, problem)
        return member

    def check_capacity(self, member_id: str) -> None:
        """Raises ApiError: GROUP_MAX_SIZE_REACHED, for a new member of a full group."""
        limit = self.groups.configs.broker(f"group.{self.kind}.max.size")
        if len(self.members) >= limit and member_id not in self.members:
            problem = f"The {self.kind} group has reached its maximum capacity of {limit} members."
            raise ApiError(ErrorCode.GROUP_MAX_SIZE_REACHED, problem)

    def wrong_epoch(self, member: SomeMember, told: int) -> ApiError:
        """FENCED_MEMBER_EPOCH, for a request with an epoch that is not the member's."""
        size = "greater" if told > member.epoch else "smaller"
        problem = (
            f"The {self.kind} group member has a {size} member epoch ({told}) than the one known by the group"
            f" coordinator ({member.epoch}). The member must abandon all its partitions and rejoin."
        )
        return ApiError(ErrorCode.FENCED_MEMBER_EPOCH, problem)

    def counts_after(self, before: SomeMember | None, after: SomeMember | None) -> Counts:
        """The number of subscribers of each topic after a member has changed, joined or left."""
        counts = dict(self.counts)
        if before is not None:
            count_names(counts, before.topics, -1)
        if after is not None:
            count_names(counts, after.topics, 1)
        return counts

    @property
    def assignor_name(self) -> str | None:
        """The effective assignor, None for a kind with only one."""
        return None

    def topics_of(self, member: SomeMember) -> frozenset[str]:
        """The names of the topics that a member subscribes to."""
        return member.topics

    def assigned_to(self, member: SomeMember) -> Mapping[bytes, Collection[int]]:
        """The partitions that a member holds, by topic id."""
        return self.target_of(member.id)

    def target_of(self, member_id: str) -> Partitions:
        """The target of a member, empty if it has none."""
        return self.targets.get(member_id, NO_ASSIGNMENT)

    def subscribed_topics(self, topics_of: TopicsOf) -> Collection[str]:
        """The topics that members subscribe to."""
        return self.counts.keys()

    def accept_commit(
        self, member_id: str, instance_id: str | None, generation: int, now_ms: int, *, version: int
    ) -> CommitCheck | None:
        """Reject a commit of offsets, unless the kind has offsets. Raises ApiError: GROUP_ID_NOT_FOUND."""
        raise self.without_offsets()

    def accept_transactional_commit(
        self, member_id: str, instance_id: str | None, generation: int
    ) -> CommitCheck | None:
        """Reject a transaction's offsets, unless the kind has offsets. Raises ApiError: GROUP_ID_NOT_FOUND."""
        raise self.without_offsets()

    def accept_fetch(self, member_id: str | None, generation: int) -> None:
        """Reject a fetch of offsets, unless the kind has offsets. Raises ApiError: GROUP_ID_NOT_FOUND."""
        raise self.without_offsets()

    def without_offsets(self) -> ApiError:
        """The error for requests about offsets to a kind of group whose members do not commit any."""
        return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {self.id} is not a consumer group.")

    def begun_offsets(self, cluster: Any) -> list[tuple[str, int, int, int | None]] | None:
        """Topic, index, first offset and lag of each partition of a group that commits no offsets; None if it does."""
        return None

    def retention_begun_ms(self, committed_ms: int) -> int | None:
        """The time at which an offset's retention began: its commit. Not called for topics that are being read."""
        return committed_ms

    def coordinator_moved(self) -> None:
        """Accept that another broker coordinates the group; no call waits at the old one."""

    def delete(self) -> None:
        """End the group. Raises ApiError: NON_EMPTY_GROUP."""
        if self.members:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    # time

    def on_timer(self, timer: MemberTimer, member_id: str, now_ms: int) -> None:
        """Handle one of a member's deadlines. Each kind overrides this."""
        raise NotImplementedError

    def set_timer(self, timer: MemberTimer, member_id: str, deadline_ms: int) -> None:
        self.groups.timers.set((self.id, timer, member_id), deadline_ms)

    def has_timer(self, timer: MemberTimer, member_id: str) -> bool:
        return (self.id, timer, member_id) in self.groups.timers

    def cancel_timer(self, timer: MemberTimer, member_id: str) -> None:
        self.groups.timers.cancel((self.id, timer, member_id))

    def cancel_timers_of(self, member_id: str) -> None:
        """Cancel all deadlines of a member."""
        for timer in MemberTimer:
            self.cancel_timer(timer, member_id)

    def cancel_timers(self) -> None:
        """Cancel all deadlines of the group."""
        for member_id in self.members:
            self.cancel_timers_of(member_id)

    def put_off_session(self, member_id: str, now_ms: int, timeout_ms: int | None = None) -> None:
        """Extend a member's session after a heartbeat, by ``timeout_ms`` or else the group's session time-out."""
        if timeout_ms is None:
            timeout_ms = self.groups.configs.group(self.id, f"{self.kind}.session.timeout.ms")
        self.set_timer(MemberTimer.SESSION, member_id, now_ms + timeout_ms)

    def restart_sessions(self, now_ms: int) -> None:
        """Start a full session for every member."""
        for member_id in self.members:
            self.put_off_session(member_id, now_ms)

    def may_assign(self, now_ms: int) -> bool:
        """True if enough time has passed since the last target to compute another."""
        interval_ms: int = self.groups.configs.group(self.id, f"{self.kind}.assignment.interval.ms")
        if not self.assignment_timestamp_ms or not interval_ms:
            return True
        return self.groups.clock.at(now_ms) >= self.assignment_timestamp_ms + interval_ms
