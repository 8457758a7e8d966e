"""The consumer's sticky assignors: balance before locality before stickiness (KIP-54, KIP-429, KIP-881).

``sticky`` reads members' owned partitions from their user data. ``cooperative-sticky`` reads them from their
subscriptions, and omits each partition that another member must first revoke; the next rebalance assigns it.

Source: StickyAssignor, CooperativeStickyAssignor, AbstractStickyAssignor, Apache Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_rack.assignment.claims import Claims, JavaWouldFailError, MemberData, StickyGroup
from kafka_rack.assignment.even import EvenShares
from kafka_rack.assignment.members import Assignment, Member, TopicPartition
from kafka_rack.assignment.sticky_equal import EqualShares
from kafka_rack.assignment.sticky_unequal import UnequalShares
from kafka_rack.assignment.topology import Topology
from kafka_rack.assignment.user_data import read_cooperative, read_sticky

Shares = EqualShares | UnequalShares | EvenShares


def assign_sticky(topology: Topology, members: Sequence[Member]) -> Assignment:
    """The assignment of ``sticky``.

    Args:
        members: in Java's map order, on which ties depend.
    """
    if not members:
        return {}
    group, _, shares = solve(topology, members, sticky_data)
    return group.to_assignment(shares.owned)


def assign_cooperative(topology: Topology, members: Sequence[Member]) -> Assignment:
    """The assignment of ``cooperative-sticky`` in this rebalance, without partitions still owned by another member."""
    if not members:
        return {}
    group, _, shares = solve(topology, members, cooperative_data)
    if isinstance(shares, EqualShares):
        held_back = shares.transferring
    else:
        held_back = changing_hands(group, shares)
    owned = shares.owned
    for partition, member in held_back.items():
        owned[member] = [number for number in owned[member] if number != partition]
    return group.to_assignment(owned)


def sticky_data(member: Member) -> tuple[list[TopicPartition], int | None]:
    """The owned partitions of a ``sticky`` member, only from its user data."""
    return read_sticky(member.user_data)


def cooperative_data(member: Member) -> tuple[list[TopicPartition], int | None]:
    """A ``cooperative-sticky`` member's partitions: its generation comes from user data only if its field is unset."""
    if member.generation is not None:
        return member.owned_partitions(), member.generation
    return member.owned_partitions(), read_cooperative(member.user_data)


def solve(topology: Topology, members: Sequence[Member], member_data: MemberData) -> tuple[StickyGroup, Claims, Shares]:
    """Resolve the claims and assign the partitions; if Java would fail, by ``even``.

    Java fails if members claim missing partitions, or after it assigned partitions to members that do not subscribe to
    them.
    """
    group = StickyGroup(topology, members)
    claims = Claims(group, member_data)
    shares: Shares = EqualShares(group, claims) if claims.equal else UnequalShares(group, claims)
    try:
        shares.build()
    except JavaWouldFailError:
        shares = EvenShares(group, claims)
        shares.build()
    return group, claims, shares


def changing_hands(group: StickyGroup, shares: Shares) -> dict[int, int]:
    """Partitions that a member gets while another one still claims to own them."""
    added: dict[int, int] = {}
    revoked: set[int] = set()
    for place, member in zip(group.map_order, group.members, strict=True):
        owned = {group.number(topic, partition) for topic, partition in member.owned_partitions()}
        now = set(shares.owned[place])
        added.update(dict.fromkeys(now - owned, place))
        revoked |= owned - now  # type: ignore[arg-type]
    return {partition: added[partition] for partition in sorted(added) if partition in revoked}
