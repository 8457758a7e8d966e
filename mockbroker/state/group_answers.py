"""What a group tells its members, and the calls that wait to be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mockbroker.state.group_states import State
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.group import Group
    from mockbroker.state.group_members import Member

NO_GENERATION = -1
NO_LEADER = ""

Answer = TypeVar("Answer")


@dataclass(slots=True, frozen=True)
class JoinedMember:
    """What the leader is told of each member, to assign partitions by."""

    id: str
    instance_id: str | None
    metadata: bytes


@dataclass(slots=True, frozen=True)
class JoinAnswer:
    """The generation that a member has joined, or why it has not. ``members`` is for the leader only."""

    member_id: str
    error: ErrorCode = ErrorCode.NONE
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = NO_LEADER
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


@dataclass(slots=True, frozen=True)
class SyncAnswer:
    """A member's assignment in the present generation, or why there is none."""

    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(slots=True, eq=False)
class Parked(Generic[Answer]):
    """A join or a sync; ``answer`` is None until the group has one. It is itself the key that is then notified."""

    answer: Answer | None = None


def current_generation(group: Group, member: Member) -> JoinAnswer:
    """The generation that runs; until the assignment is there the leader is told the members too."""
    tells_members = member.id == group.leader_id and group.state is State.COMPLETING
    return generation_answer(group, member, members=joined_members(group) if tells_members else ())


def generation_answer(group: Group, member: Member, leader: str | None = None, **more: Any) -> JoinAnswer:
    """The generation that runs, with another leader if one is given."""
    return JoinAnswer(
        member.id,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=leader or group.leader_id or NO_LEADER,
        **more,
    )


def joined_members(group: Group) -> tuple[JoinedMember, ...]:
    """The members with what they said for the protocol that was chosen."""
    return tuple(
        JoinedMember(member.id, member.instance_id, member.metadata(group.protocol_name))
        for member in group.members.values()
    )


def assignment_of(group: Group, member: Member) -> SyncAnswer:
    """What the leader assigned to a member."""
    return SyncAnswer(ErrorCode.NONE, group.protocol_type, group.protocol_name, member.assignment)
