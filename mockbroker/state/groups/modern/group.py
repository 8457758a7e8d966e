"""A group whose coordinator assigns, as it runs: its epoch, its members, and the target that they move towards.

It changes by records alone: ``write`` appends them to the log, then applies them here; a new coordinator applies them
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
    """What a deadline of a member is about."""

    SESSION = "its next sign of life"
    REBALANCE = "it has given up what it is to give up"
    JOIN = "a member of the classic protocol has joined again"
    SYNC = "a member of the classic protocol has asked for its assignment"
    INITIAL_REBALANCE = "the first members of a group have come; it is the group's own, of no member"


class GroupConfigs(NamedTuple):
    """Values in force: ``broker`` of a broker's setting by its name, ``group`` of a group's by its id and the name."""

    broker: Callable[[str], Any]
    group: Callable[[str, str], Any]


@dataclass(slots=True, eq=False)
class ModernGroup(Generic[SomeMember]):
    """A group of a new kind.

    ``epoch`` grows with each change of members, subscriptions or topics; ``assignment_epoch`` is the one for which
    ``targets`` were worked out, by member id. ``counts`` says how many subscribe to each topic, ``static_ids`` has the
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
        """Have records of this group kept, and apply them."""
        self.groups.write(self.id, records)
        for record in records:
            self.apply(record)

    def apply(self, record: CoordinatorRecord) -> None:
        """Take one of this group's records in, as it is written or from the log. Each kind has its own."""
        raise NotImplementedError

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that delete all that is kept of the group but its offsets. Each kind has its own."""
        raise NotImplementedError

    def apply_group_epoch(self, record: CoordinatorRecord) -> None:
        """The group has reached an epoch."""
        if record.value is not None:
            self.epoch, self.metadata_hash = record.value.epoch, record.value.metadata_hash

    def apply_member(self, record: CoordinatorRecord) -> None:
        """A member has said something of itself, or is gone."""
        if record.value is None:
            self.drop_member(record.key.member_id)
        else:
            self.put_member(self._member_or_new(record.key.member_id).with_metadata(record.value))

    def apply_assignment(self, record: CoordinatorRecord) -> None:
        """A member is so far, or has nothing any more."""
        member_id = record.key.member_id
        if record.value is not None:
            self.put_member(self._member_or_new(member_id).with_assignment(record.value))
        elif member_id in self.members:
            self.put_member(self.members[member_id].without_assignment())

    def apply_target(self, record: CoordinatorRecord) -> None:
        """A member is to have this, or has no target any more."""
        if record.value is None:
            self.targets.pop(record.key.member_id, None)
        else:
            self.targets[record.key.member_id] = {
                one.topic_id: frozenset(one.partitions) for one in record.value.topic_partitions
            }

    def apply_target_epoch(self, record: CoordinatorRecord) -> None:
        """The targets were worked out for an epoch of the group."""
        value = record.value
        self.assignment_epoch = -1 if value is None else value.assignment_epoch
        self.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp

    def _member_or_new(self, member_id: str) -> SomeMember:
        return self.members.get(member_id) or cast(SomeMember, self.member_class(id=member_id))

    def put_member(self, member: SomeMember) -> None:
        """A member is as this one says from now on."""
        before = self.members.get(member.id)
        self.members[member.id] = member
        self.member_changed(before, member)
        if before is not None and before.instance_id is not None:
            self.static_ids.pop(before.instance_id, None)
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member.id

    def drop_member(self, member_id: str) -> None:
        """A member is gone."""
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self.member_changed(member, None)
        if member.instance_id is not None:
            self.static_ids.pop(member.instance_id, None)

    def member_changed(self, before: SomeMember | None, after: SomeMember | None) -> None:
        """Keep up what is known by topic, partition or task. Each kind has its own."""
        raise NotImplementedError

    def restore(self, records: Iterable[CoordinatorRecord], now_ms: int) -> None:
        """Resume from the group's records in the log; its members have whole sessions."""
        for record in records:
            self.apply(record)
        self.restart_sessions(now_ms)

    # metadata

    def metadata_expired(self) -> bool:
        """Whether topics may have changed since the metadata hash was worked out."""
        return self._metadata_version != self.groups.topics.version()

    def metadata_refreshed(self) -> None:
        """The metadata hash is that of the topics as they are now."""
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
        """The member of this id. Raises ApiError: UNKNOWN_MEMBER_ID."""
        member = self.members.get(member_id)
        if member is None:
            problem = f"Member {member_id} is not a member of group {self.id}."
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, problem)
        return member

    def static_member(self, instance_id: str | None) -> SomeMember | None:
        """The static member of this instance id, None if there is none."""
        member_id = None if instance_id is None else self.static_ids.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def check_static_member(self, member_id: str, instance_id: str) -> SomeMember:
        """The static member of an instance id, where it has this member id.

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
        """Raises ApiError: GROUP_MAX_SIZE_REACHED, for one that is no member of a full group."""
        limit = self.groups.configs.broker(f"group.{self.kind}.max.size")
        if len(self.members) >= limit and member_id not in self.members:
            problem = f"The {self.kind} group has reached its maximum capacity of {limit} members."
            raise ApiError(ErrorCode.GROUP_MAX_SIZE_REACHED, problem)

    def wrong_epoch(self, member: SomeMember, told: int) -> ApiError:
        """FENCED_MEMBER_EPOCH, of a member that names an epoch in which it is not."""
        size = "greater" if told > member.epoch else "smaller"
        problem = (
            f"The {self.kind} group member has a {size} member epoch ({told}) than the one known by the group"
            f" coordinator ({member.epoch}). The member must abandon all its partitions and rejoin."
        )
        return ApiError(ErrorCode.FENCED_MEMBER_EPOCH, problem)

    def counts_after(self, before: SomeMember | None, after: SomeMember | None) -> Counts:
        """How many subscribe to each topic once a member has changed, come or gone."""
        counts = dict(self.counts)
        if before is not None:
            count_names(counts, before.topics, -1)
        if after is not None:
            count_names(counts, after.topics, 1)
        return counts

    @property
    def assignor_name(self) -> str | None:
        """The assignor in force, None for a kind that has but one."""
        return None

    def topics_of(self, member: SomeMember) -> frozenset[str]:
        """The names of the topics that a member subscribes to."""
        return member.topics

    def assigned_to(self, member: SomeMember) -> Mapping[bytes, Collection[int]]:
        """What a member holds, by topic id."""
        return self.target_of(member.id)

    def target_of(self, member_id: str) -> Partitions:
        """What a member is to read, nothing if it has no target."""
        return self.targets.get(member_id, NO_ASSIGNMENT)

    def subscribed_topics(self, topics_of: TopicsOf) -> Collection[str]:
        """The topics that members subscribe to."""
        return self.counts.keys()

    def accept_commit(
        self, member_id: str, instance_id: str | None, generation: int, now_ms: int, *, version: int
    ) -> CommitCheck | None:
        """Refuse a commit of offsets, unless the kind has any. Raises ApiError: GROUP_ID_NOT_FOUND."""
        raise self.without_offsets()

    def accept_transactional_commit(
        self, member_id: str, instance_id: str | None, generation: int
    ) -> CommitCheck | None:
        """Refuse a transaction's offsets, unless the kind has any. Raises ApiError: GROUP_ID_NOT_FOUND."""
        raise self.without_offsets()

    def accept_fetch(self, member_id: str | None, generation: int) -> None:
        """Refuse to tell offsets, unless the kind has any. Raises ApiError: GROUP_ID_NOT_FOUND."""
        raise self.without_offsets()

    def without_offsets(self) -> ApiError:
        """That members of this kind of group do not commit offsets of their own."""
        return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {self.id} is not a consumer group.")

    def begun_offsets(self, cluster: Any) -> list[tuple[str, int, int, int | None]] | None:
        """Topic, index, first offset and lag of each partition of a group that commits no offsets; None: it does."""
        return None

    def retention_begun_ms(self, committed_ms: int) -> int | None:
        """Since when an offset is kept for nothing: since its commit. Of topics that are read none is asked about."""
        return committed_ms

    def coordinator_moved(self) -> None:
        """Another broker coordinates the group; nobody waits for an answer at the old one."""

    def delete(self) -> None:
        """End the group. Raises ApiError: NON_EMPTY_GROUP."""
        if self.members:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    # time

    def on_timer(self, timer: MemberTimer, member_id: str, now_ms: int) -> None:
        """One of a member's deadlines was reached. Each kind has its own."""
        raise NotImplementedError

    def set_timer(self, timer: MemberTimer, member_id: str, deadline_ms: int) -> None:
        self.groups.timers.set((self.id, timer, member_id), deadline_ms)

    def has_timer(self, timer: MemberTimer, member_id: str) -> bool:
        return (self.id, timer, member_id) in self.groups.timers

    def cancel_timer(self, timer: MemberTimer, member_id: str) -> None:
        self.groups.timers.cancel((self.id, timer, member_id))

    def cancel_timers_of(self, member_id: str) -> None:
        """None of a member's deadlines counts any more."""
        for timer in MemberTimer:
            self.cancel_timer(timer, member_id)

    def cancel_timers(self) -> None:
        """None of the group's deadlines counts any more."""
        for member_id in self.members:
            self.cancel_timers_of(member_id)

    def put_off_session(self, member_id: str, now_ms: int, timeout_ms: int | None = None) -> None:
        """A member has given a sign of life; its session is as long as the group's settings say, unless given."""
        if timeout_ms is None:
            timeout_ms = self.groups.configs.group(self.id, f"{self.kind}.session.timeout.ms")
        self.set_timer(MemberTimer.SESSION, member_id, now_ms + timeout_ms)

    def restart_sessions(self, now_ms: int) -> None:
        """Give every member a whole session from now."""
        for member_id in self.members:
            self.put_off_session(member_id, now_ms)

    def may_assign(self, now_ms: int) -> bool:
        """Whether the time has come to work out another target, after the last one."""
        interval_ms: int = self.groups.configs.group(self.id, f"{self.kind}.assignment.interval.ms")
        if not self.assignment_timestamp_ms or not interval_ms:
            return True
        return self.groups.clock.at(now_ms) >= self.assignment_timestamp_ms + interval_ms
