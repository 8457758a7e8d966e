"""The common parts of every kind of group, for the coordinator and admin tools.

Classic groups are one kind; those of the consumer, share and streams protocols are others. Requests of one kind's
members go to its own class; the methods that both ``ClassicGroup`` and ``ModernGroup`` have apply to any kind. A new
kind of group:

- is a ``modern.group.ModernGroup`` in a package of its own (``consumer/`` is an example), and has its line in
  ``GROUP_CLASSES``, or in an optional part's;
- is found or made by ``Groups.find_or_make(SomeGroup, group_id, create=...)``, which raises what Kafka raises for an id
  that is free or belongs to another kind. A new group is not visible until ``Groups.register``, so a
  request that fails has no effect;
- is changed only by Kafka's own records: ``group.write(records)`` appends them to the coordinator's log and applies
  each to the live group. A new coordinator passes them to ``apply`` again, so only the effects of ``apply``
  survive; a fork retains the records of the group itself, and deletes those of members and expressions;
- has its deadlines in ``groups.timers`` under (group id, kind of deadline, member id); ``on_timer`` receives them.

Source: Group and GroupMetadataManager.getOrMaybeCreateConsumerGroup and its like, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from mockbroker.parts import merged
from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.groups.coordinator import Groups

GROUP_CLASSES: dict[str, str] = {
    "group_log": "mockbroker.groups.classic.group:ClassicGroup",
    "consumer_group_log": "mockbroker.groups.consumer.group:ConsumerGroup",
} | merged("group_classes")
"""The class of each kind, by the module of ``protocol.embedded`` that declares these."""


class Sender(NamedTuple):
    """The member's client that sends a request, and the version of the request.

    ``may_see`` returns True for a topic that the client may describe.
    """

    version: int
    client_id: str
    client_host: str
    may_see: Callable[[str], bool] = lambda _: True


MEMBER_FIELDS = {
    "member_id": "id",
    "group_instance_id": "instance_id",
    "session_timeout": "session_timeout_ms",
    "rebalance_timeout": "rebalance_timeout_ms",
    "member_epoch": "epoch",
    "previous_member_epoch": "previous_epoch",
    "rack_id": "rack",
    "subscribed_topic_regex": "expression",
    "server_assignor": "assignor",
    "classic_member_metadata": "classic",
}
"""The names in members of those fields of records and messages that are named differently there."""


class GroupMember:
    """A member of a group of any kind: a dataclass."""

    __slots__ = ()
    id: str
    instance_id: str | None

    @classmethod
    def common_with(cls, message: Any) -> list[tuple[str, str]]:
        """The fields of a class of messages that members have too, with the name of each in the member."""
        own: Any = cls
        return common_fields(own, message)

    @classmethod
    def like(cls, other: GroupMember, **others: Any) -> Self:
        """A member of this class with the fields that a member of another class has too, and others."""
        classes: Any = (cls, other)
        own, known = ({one.name for one in fields(one_class)} for one_class in classes)
        return cls(**{name: getattr(other, name) for name in own & known} | others)

    def message(self, kind: type[Any], **others: Any) -> Any:
        """A record or part of a response of this class, with the fields that the member has too, and others."""
        return kind(**{name: getattr(self, own) for name, own in self.common_with(kind)} | others)


Member = TypeVar("Member", bound=GroupMember)


@cache
def common_fields(member: Any, message: type[Any]) -> list[tuple[str, str]]:
    own = {one.name for one in fields(member)}
    names = ((name, MEMBER_FIELDS.get(name, name)) for name in message.__struct_fields__)
    return [(name, in_member) for name, in_member in names if in_member in own]


class GroupTimer(Enum):
    """The kinds of deadlines of groups and their members."""

    SESSION = "the next heartbeat of a member"
    REBALANCE = "a member has revoked what it has to revoke"
    JOIN = "all members of a classic group, or one in a consumer group, have joined again"
    SYNC = "all members of a classic group, or one in a consumer group, have requested their assignment"
    INITIAL_REBALANCE = "the first members of a Streams group have joined"


@dataclass(slots=True, eq=False)
class CoordinatedGroup(Generic[Member]):
    """A group of any kind, with its deadlines.

    ``kind`` is its GroupType, spelled as Kafka does. ``replaces_empty_classic``: a member may turn a
    classic group without members into one of this kind. ``expires_without_offsets``: a group without members and
    offsets is removed at the next check for expired offsets.
    """

    kind: ClassVar[str]
    replaces_empty_classic: ClassVar[bool] = False
    expires_without_offsets: ClassVar[bool] = True
    id: str
    groups: Groups
    members: dict[str, Member] = field(default_factory=dict)

    def member(self, member_id: str) -> Member:
        """The member with this id. Raises ApiError: UNKNOWN_MEMBER_ID."""
        member = self.members.get(member_id)
        if member is None:
            problem = f"Member {member_id} is not a member of group {self.id}."
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, problem)
        return member

    def static_member(self, instance_id: str | None) -> Member | None:
        """The static member with this instance id, None if there is none."""
        if instance_id is None:
            return None
        return next((one for one in self.members.values() if one.instance_id == instance_id), None)

    def check_member(self, member_id: str, instance_id: str | None) -> Member:
        """The member with this id, which has the instance id if there is one.

        Raises ApiError: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID, another member has the instance id.
        """
        if instance_id is None:
            return self.member(member_id)
        member = self.static_member(instance_id)
        if member is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if member.id != member_id:
            problem = f"Static member {member_id} with instance id {instance_id} was fenced by member {member.id}."
            raise ApiError(ErrorCode.FENCED_INSTANCE_ID, problem)
        return member

    def leaving_member(self, member_id: str, instance_id: str | None) -> Member:
        """The member of a LeaveGroup; an administrator names a static member by its instance id alone.

        Raises ApiError: those of ``check_member``.
        """
        member = None if member_id else self.static_member(instance_id)
        return member or self.check_member(member_id, instance_id)

    def set_timer(self, timer: GroupTimer, member_id: str, deadline_ms: int) -> None:
        self.groups.timers.set((self.id, timer, member_id), deadline_ms)

    def has_timer(self, timer: GroupTimer, member_id: str) -> bool:
        return (self.id, timer, member_id) in self.groups.timers

    def cancel_timer(self, timer: GroupTimer, member_id: str = "") -> None:
        self.groups.timers.cancel((self.id, timer, member_id))

    def cancel_timers_of(self, member_id: str) -> None:
        """Cancel all deadlines of a member."""
        for timer in GroupTimer:
            self.cancel_timer(timer, member_id)

    def cancel_timers(self) -> None:
        """Cancel all deadlines of the group and its members."""
        for key in [one for one in self.groups.timers if one[0] == self.id]:
            self.groups.timers.cancel(key)


def check_group_id(group_id: str) -> None:
    """Reject the empty group id, which only commits and fetches may use. Raises ApiError: INVALID_GROUP_ID."""
    if not group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
