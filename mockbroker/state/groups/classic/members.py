"""The members of a classic group and its generation, what they wait for, and the vote on the protocol.

Source: ClassicGroupMember and ClassicGroup.selectProtocol, Apache Kafka 4.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Generic, TypeVar
from uuid import UUID

from kafka_rack.java import hash_order, string_hash
from mockbroker.state.groups.classic.states import ClassicGroupState
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


NO_MEMBER_ID = ""

Protocols = tuple[tuple[str, bytes], ...]


@dataclass(slots=True, frozen=True)
class GroupJoin:
    """What a JoinGroup says. ``protocols`` are (name, metadata), the one liked best first.

    ``member_id`` is empty for a member that has none yet. ``requires_member_id``: the client can be sent away with an
    id to join again with (v4 and later); ``skips_assignment``: it understands that flag (v9 and later).
    ``may_see`` is whether the client may describe a topic, None where everybody may.
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


@dataclass(slots=True, eq=False)
class ClassicGroupMember:
    """One member of a group. ``join`` and ``sync`` are its calls that wait for an answer, if any.

    ``instance_id`` names a static member (KIP-345). ``is_new`` until it has been in a generation.
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
        """The protocols that it supports."""
        return {name for name, _ in self.protocols}

    def metadata(self, protocol_name: str | None) -> bytes:
        """What the member said for a protocol, empty if it does not know it."""
        return next((metadata for name, metadata in self.protocols if name == protocol_name), b"")

    def has_satisfied_heartbeat(self) -> bool:
        """Whether a parked call stands for a sign of life; a new member's join does not, its client may be gone."""
        return not self.is_new and (self.join is not None or self.sync is not None)


class ProtocolSupport:
    """How many of a group's members support each protocol, counted once somebody asks and kept up from then on."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: Counter[str] | None = None

    def add(self, member: ClassicGroupMember) -> None:
        """A member has come, or has other protocols."""
        if self._counts is not None:
            self._counts.update(member.protocol_names())

    def remove(self, member: ClassicGroupMember) -> None:
        """A member goes, or is to have other protocols."""
        if self._counts is not None:
            for name in member.protocol_names():
                self._counts[name] -= 1
                if not self._counts[name]:
                    del self._counts[name]

    def is_any_shared(self, protocols: Protocols, members: Collection[ClassicGroupMember]) -> bool:
        """Whether all members support one of these."""
        if self._counts is None:
            self._counts = supporters(members)
        counts, everybody = self._counts, len(members)
        return any(counts[name] == everybody for name, _ in protocols)


def supporters(members: Iterable[ClassicGroupMember]) -> Counter[str]:
    """How many of these members support each protocol."""
    return Counter(name for member in members for name in member.protocol_names())


def vote(members: Collection[ClassicGroupMember]) -> str:
    """The protocol for the next generation: one that all members support, with the most first choices.

    Of equals the one that comes first in the hash table that Kafka counts votes in.
    """
    assert members, "an empty group does not vote"
    wanted = {name for name, count in supporters(members).items() if count == len(members)}
    votes = Counter(next(name for name, _ in member.protocols if name in wanted) for member in members)
    if len(votes) == 1:
        return next(iter(votes))
    return max(hash_order(votes, string_hash), key=votes.__getitem__)


def differ(said: str | None, actual: str | None) -> bool:
    """Whether a member takes its group's protocol for another than it is; not if either is unknown."""
    return said is not None and actual is not None and said != actual


def new_member_id(prefix: str, rng: Random) -> str:
    """A member id as Kafka gives them: the client or instance id, a dash and a random UUID."""
    return f"{prefix}-{UUID(int=rng.getrandbits(128), version=4)}"


@dataclass(slots=True, eq=False, kw_only=True)
class Generation:
    """The generation that a group is in; members in the order they joined."""

    state: ClassicGroupState = ClassicGroupState.EMPTY
    state_since_ms: int = 0
    generation: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    members: dict[str, ClassicGroupMember] = field(default_factory=dict)

    def answer_for(self, member: ClassicGroupMember) -> JoinAnswer:
        """The generation that runs; until the assignment is there the leader also gets the members."""
        tells_members = member.id == self.leader_id and self.state is ClassicGroupState.COMPLETING
        return self.join_answer(member, members=self.joined_members() if tells_members else ())

    def join_answer(self, member: ClassicGroupMember, leader: str | None = None, **more: Any) -> JoinAnswer:
        """The generation that runs, with another leader if one is given."""
        return JoinAnswer(
            member.id,
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=leader or self.leader_id or NO_LEADER,
            **more,
        )

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """The members with what they said for the protocol that was chosen."""
        return tuple(
            JoinedMember(member.id, member.instance_id, member.metadata(self.protocol_name))
            for member in self.members.values()
        )

    def assignment_of(self, member: ClassicGroupMember) -> SyncAnswer:
        """The assignment that the leader made for a member."""
        return SyncAnswer(ErrorCode.NONE, self.protocol_type, self.protocol_name, member.assignment)
