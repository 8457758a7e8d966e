"""The members of a classic group, their pending answers, and the vote on the protocol.

Source: ClassicGroupMember and ClassicGroup.selectProtocol, Apache Kafka 4.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, TypeVar
from uuid import UUID

from kafka_rack.java import hash_order, string_hash
from mockbroker.groups.kind import GroupMember
from protocol.apis.classic_group import JoinGroupResponse, SyncGroupResponse
from protocol.codec import codec
from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError

SUBSCRIPTION_PREFIX_VERSION = 0  # every version of ConsumerProtocolSubscription starts as this one
Answer = TypeVar("Answer", bound=JoinGroupResponse | SyncGroupResponse)
Protocols = dict[str, bytes]
"""The metadata of protocols by name, in order of preference."""


@dataclass(slots=True, eq=False)
class PendingAnswer(Generic[Answer]):
    """A join or a sync; ``answer`` is None until the group sets it. The object is also the key to notify."""

    answer: Answer | None = None


PendingJoin = PendingAnswer[JoinGroupResponse]
PendingSync = PendingAnswer[SyncGroupResponse]


def refused_join(member_id: str, error: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(member_id=member_id, error_code=error, protocol_name=None)


@dataclass(slots=True, eq=False)
class ClassicGroupMember(GroupMember):
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
    join: PendingJoin | None = None
    sync: PendingSync | None = None

    def metadata(self, protocol_name: str | None) -> bytes:
        """The member's metadata for a protocol, empty if it does not support it."""
        return self.protocols.get(protocol_name or "", b"")

    def has_satisfied_heartbeat(self) -> bool:
        """True if a parked call counts as a heartbeat; not a new member's join, whose client may be gone."""
        return not self.is_new and (self.join is not None or self.sync is not None)


def protocols_of(messages: Iterable[Any]) -> Protocols:
    """The protocols in a request or a record."""
    return {one.name: one.metadata for one in messages}


def vote(members: Collection[ClassicGroupMember]) -> str:
    """The protocol for the next generation: supported by all members, with the most first choices.

    Ties are resolved by the order in the hash table in which Kafka counts votes.
    """
    assert members, "an empty group does not vote"
    shared = set.intersection(*(set(member.protocols) for member in members))
    votes = Counter(next(name for name in member.protocols if name in shared) for member in members)
    if len(votes) == 1:
        return next(iter(votes))
    return max(hash_order(votes, string_hash), key=votes.__getitem__)


def differ(said: str | None, actual: str | None) -> bool:
    """True if a member's belief about its group's protocol is wrong; False if either is unknown."""
    return said is not None and actual is not None and said != actual


def new_member_id(prefix: str, rng: Random) -> str:
    """A member id as Kafka generates it: the client or instance id, a dash and a random UUID."""
    return f"{prefix}-{UUID(int=rng.getrandbits(128), version=4)}"


def topics_in(metadata: bytes) -> frozenset[str] | None:
    """The topics in a consumer's metadata: a version, then a ConsumerProtocolSubscription. None if it is not that."""
    try:
        subscription, _ = codec(ConsumerProtocolSubscription, SUBSCRIPTION_PREFIX_VERSION).decode(metadata, 2)
    except ProtocolError:
        return None
    return frozenset(subscription.topics)
