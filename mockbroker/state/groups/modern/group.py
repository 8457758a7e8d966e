"""A group whose coordinator assigns, as it runs: its epoch, its members, and the target that they move towards.

It changes by records alone: ``write`` has them kept, then applies them here; a restart applies them again.

Source: ModernGroup and TargetAssignmentMetadata, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from mockbroker.state.errors import ApiError
from mockbroker.state.groups.kind import CommitCheck, CoordinatedGroup, TopicsOf
from mockbroker.state.groups.modern.members import ModernMember, Partitions
from mockbroker.state.groups.modern.rules import GroupRules
from mockbroker.state.groups.modern.subscriptions import Counts
from mockbroker.state.groups.modern.topics import GroupTopics
from mockbroker.state.image.coordinator_records import CoordinatorRecord
from mockbroker.state.timers import Timers
from mockbroker.state.wall_clock import WallClock
from protocol.error_codes import ErrorCode

NO_ASSIGNMENT: Partitions = {}

SomeMember = TypeVar("SomeMember", bound=ModernMember)


class Timer(Enum):
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
class GroupContext:
    """What the groups of a cluster share.

    ``notify`` wakes a call that waits, ``commit`` keeps records, ``configs`` has settings; ``register`` has
    a group found by its id from now on, in place of one that had the id before; ``rules`` are the release's.
    """

    settings: Mapping[str, Any]
    timers: Timers[Any]
    notify: Callable[[Hashable], None]
    commit: Callable[[Sequence[object]], None]
    clock: WallClock
    topics: GroupTopics
    configs: GroupConfigs
    register: Callable[[CoordinatedGroup], None]
    rules: GroupRules


@dataclass(slots=True, eq=False)
class ModernGroup(Generic[SomeMember]):
    """A group of a new kind.

    ``epoch`` grows with each change of members, subscriptions or topics; ``assignment_epoch`` is the one for which
    ``targets`` were worked out, by member id. ``counts`` says how many subscribe to each topic.
    """

    kind: ClassVar[str]
    replaces_empty_classic: ClassVar[bool] = False
    expires_without_offsets: ClassVar[bool] = True
    protocol_type: ClassVar[str | None]
    id: str
    context: GroupContext
    epoch: int = field(init=False)
    metadata_hash: int = 0
    assignment_epoch: int = field(init=False)
    assignment_timestamp_ms: int = 0
    members: dict[str, SomeMember] = field(default_factory=dict)
    targets: dict[str, Partitions] = field(default_factory=dict)
    counts: Counts = field(default_factory=dict)
    _metadata_version: int | None = None  # of the topics that the metadata hash was last compared with

    def __post_init__(self) -> None:
        self.epoch = self.assignment_epoch = self.context.rules.first_epoch

    # records

    def write(self, records: Sequence[CoordinatorRecord]) -> None:
        """Have records of this group kept, and apply them."""
        self.context.commit(records)
        for record in records:
            self.apply(record)

    def apply(self, record: CoordinatorRecord) -> None:
        """Take one of this group's records in, as it is written or from the image. Each kind has its own."""
        raise NotImplementedError

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that delete all that is kept of the group but its offsets. Each kind has its own."""
        raise NotImplementedError

    def restore(self, records: Iterable[CoordinatorRecord], now_ms: int) -> None:
        """Go on from what the image has of the group; its members have whole sessions."""
        for record in records:
            self.apply(record)
        self.restart_sessions(now_ms)

    # metadata

    def metadata_expired(self) -> bool:
        """Whether topics may have changed since the metadata hash was worked out."""
        return self._metadata_version != self.context.topics.version()

    def metadata_refreshed(self) -> None:
        """The metadata hash is that of the topics as they are now."""
        self._metadata_version = self.context.topics.version()

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

    def expires(self, committed_ms: int, oldest_ms: int) -> bool:
        """Whether an offset committed then is too old to keep; of topics that are read none is asked about."""
        return committed_ms <= oldest_ms

    def coordinator_moved(self) -> None:
        """Another broker coordinates the group; nobody waits for an answer at the old one."""

    def delete(self) -> None:
        """End the group. Raises ApiError: NON_EMPTY_GROUP."""
        if self.members:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    # time

    def on_timer(self, timer: Timer, member_id: str, now_ms: int) -> None:
        """One of a member's deadlines was reached. Each kind has its own."""
        raise NotImplementedError

    def set_timer(self, timer: Timer, member_id: str, deadline_ms: int) -> None:
        self.context.timers.set((self.id, timer, member_id), deadline_ms)

    def has_timer(self, timer: Timer, member_id: str) -> bool:
        return (self.id, timer, member_id) in self.context.timers

    def cancel_timer(self, timer: Timer, member_id: str) -> None:
        self.context.timers.cancel((self.id, timer, member_id))

    def cancel_timers_of(self, member_id: str) -> None:
        """None of a member's deadlines counts any more."""
        for timer in Timer:
            self.cancel_timer(timer, member_id)

    def cancel_timers(self) -> None:
        """None of the group's deadlines counts any more."""
        for member_id in self.members:
            self.cancel_timers_of(member_id)

    def put_off_session(self, member_id: str, now_ms: int, timeout_ms: int | None = None) -> None:
        """A member has given a sign of life; its session is as long as the group's settings say, unless given."""
        if timeout_ms is None:
            timeout_ms = self.context.configs.group(self.id, f"{self.kind}.session.timeout.ms")
        self.set_timer(Timer.SESSION, member_id, now_ms + timeout_ms)

    def restart_sessions(self, now_ms: int) -> None:
        """Give every member a whole session from now."""
        for member_id in self.members:
            self.put_off_session(member_id, now_ms)

    def may_assign(self, now_ms: int) -> bool:
        """Whether the time has come to work out another target, after the last one."""
        interval_ms: int = self.context.configs.group(self.id, f"{self.kind}.assignment.interval.ms")
        if not self.assignment_timestamp_ms or not interval_ms:
            return True
        return self.context.clock.at(now_ms) >= self.assignment_timestamp_ms + interval_ms
