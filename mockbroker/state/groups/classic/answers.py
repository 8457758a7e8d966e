"""What a group tells its members, and the calls that wait to be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from protocol.error_codes import ErrorCode

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
class PendingAnswer(Generic[Answer]):
    """A join or a sync; ``answer`` is None until the group has one. It is itself the key that is then notified."""

    answer: Answer | None = None
