"""The members of a classic group and its generation, their pending answers, and the vote on the protocol.

Source: ClassicGroupMember and ClassicGroup.selectProtocol, Apache Kafka 4.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from kafka_rack.java import hash_order, string_hash
from mockbroker.groups.classic.states import ClassicGroupState
from mockbroker.groups.kind import CoordinatedGroup
from protocol.error_codes import ErrorCode

NO_GENERATION = -1
NO_LEADER = ""

Answer = TypeVar("Answer")


@dataclass(slots=True, frozen=True)
class JoinedMember:
    """The metadata by which the leader assigns partitions to each member."""

    id: str
    instance_id: str | None
    metadata: bytes


@dataclass(slots=True, frozen=True)
class JoinAnswer:
    """The generation that a member has joined, or an error. ``members`` is for the leader only."""

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
    """A member's assignment in the current generation, or an error."""

    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


@dataclass(slots=True, eq=False)
class PendingAnswer(Generic[Answer]):
    """A join or a sync; ``answer`` is None until the group sets it. The object is also the key to notify."""

    answer: Answer | None = None


NO_MEMBER_ID = ""

Protocols = tuple[tuple[str, bytes], ...]


@dataclass(slots=True, frozen=True)
class GroupJoin:
    """A JoinGroup request. ``protocols`` are (name, metadata), in order of preference.

    ``member_id`` is empty for a member without an id. ``requires_member_id``: the client can be answered with an id
    and then joins again with it (v4 and later); ``skips_assignment``: it understands that flag (v9 and later).
    ``may_see`` returns True if the client may describe a topic; None if all clients may.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    requires_member_id: bool = True
    skips_assignment: bool = True
    may_see: Callable[[str], bool] | None = None


class GroupSync(NamedTuple):
    """A SyncGroup request.

    ``protocol_type`` and ``protocol_name`` are the member's belief about the group's, None if absent from the request;
    ``assignments``, by member id, are ignored unless the leader sends them.
    """

    member_id: str
    instance_id: str | None
    generation: int
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: Mapping[str, bytes] = {}


@dataclass(slots=True, eq=False)
class ClassicGroupMember:
    """One member of a group. ``join`` and ``sync`` are its waiting calls, if any.

    ``instance_id`` is set for a static member (KIP-345). ``is_new`` is True until it has been in a generation.
    """

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    join: PendingAnswer[JoinAnswer] | None = None
    sync: PendingAnswer[SyncAnswer] | None = None

    def protocol_names(self) -> set[str]:
        """The protocols that the member supports."""
        return {name for name, _ in self.protocols}

    def metadata(self, protocol_name: str | None) -> bytes:
        """The member's metadata for a protocol, empty if it does not support it."""
        return next((metadata for name, metadata in self.protocols if name == protocol_name), b"")

    def has_satisfied_heartbeat(self) -> bool:
        """True if a parked call counts as a heartbeat; not a new member's join, whose client may be gone."""
        return not self.is_new and (self.join is not None or self.sync is not None)


def supporters(members: Iterable[ClassicGroupMember]) -> Counter[str]:
    """The number of these members that support each protocol."""
    return Counter(name for member in members for name in member.protocol_names())


def vote(members: Collection[ClassicGroupMember]) -> str:
    """The protocol for the next generation: supported by all members, with the most first choices.

    Ties are resolved by the order in the hash table in which Kafka counts votes.
    """
    assert members, "an empty group does not vote"
    shared = {name for name, count in supporters(members).items() if count == len(members)}
    votes = Counter(next(name for name, _ in member.protocols if name in shared) for member in members)
    if len(votes) == 1:
        return next(iter(votes))
    return max(hash_order(votes, string_hash), key=votes.__getitem__)


def differ(said: str | None, actual: str | None) -> bool:
    """True if a member's belief about its group's protocol is wrong; False if either is unknown."""
    return said is not None and actual is not None and said != actual


def new_member_id(prefix: str, rng: Random) -> str:
    """A member id as Kafka generates it: the client or instance id, a dash and a random UUID."""
    return f"{prefix}-{UUID(int=rng.getrandbits(128), version=4)}"


@dataclass(slots=True, eq=False, kw_only=True)
class Generation(CoordinatedGroup):
    """The generation of a group; members in the order they joined."""

    state: ClassicGroupState = ClassicGroupState.EMPTY
    state_since_ms: int = 0
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    members: dict[str, ClassicGroupMember] = field(default_factory=dict)

    def answer_for(self, member: ClassicGroupMember) -> JoinAnswer:
        """The current generation; for the leader it includes the members until the assignment arrives."""
        tells_members = member.id == self.leader_id and self.state is ClassicGroupState.COMPLETING
        return self.join_answer(member, members=self.joined_members() if tells_members else ())

    def join_answer(self, member: ClassicGroupMember, leader: str | None = None, **more: Any) -> JoinAnswer:
        """The current generation, with another leader if ``leader`` is set."""
        return JoinAnswer(
            member.id,
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=leader or self.leader_id or NO_LEADER,
            **more,
        )

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """The members with their metadata for the chosen protocol."""
        return tuple(
            JoinedMember(member.id, member.instance_id, member.metadata(self.protocol_name))
            for member in self.members.values()
        )

    def assignment_of(self, member: ClassicGroupMember) -> SyncAnswer:
        """The assignment that the leader made for a member."""
        return SyncAnswer(ErrorCode.NONE, self.protocol_type, self.protocol_name, member.assignment)
