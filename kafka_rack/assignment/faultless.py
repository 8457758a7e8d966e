"""The assignors for Python clients: Kafka's rules without the faults of its sticky assignors.

If a sticky group's members subscribe to different topics, results differ from Kafka's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kafka_rack.assignment.claims import Claims, MemberData, StickyGroup
from kafka_rack.assignment.even import EvenShares
from kafka_rack.assignment.members import Assignment, Member
from kafka_rack.assignment.range import assign_range
from kafka_rack.assignment.round_robin import assign_round_robin
from kafka_rack.assignment.sticky import Shares, changing_hands, cooperative_data, sticky_data
from kafka_rack.assignment.sticky_equal import EqualShares
from kafka_rack.assignment.topology import Topology
from kafka_rack.errors import InputError


def assign_faultless(assignor: str, topology: Topology, members: Sequence[Member]) -> Assignment:
    """``range``, ``roundrobin``, ``sticky`` or ``cooperative-sticky`` without the faults of Kafka's.

    Range and round robin are Kafka's, which have no faults. The sticky ones differ: a member without topics never
    gets partitions; a claim's generation is the one sent with it; claims to missing partitions, or to topics that the
    member has left, are dropped; and unequal subscriptions are assigned by ``even``.

    Raises: InputError: another assignor.
    """
    if assignor == "range":
        return assign_range(topology, members)
    if assignor == "roundrobin":
        return assign_round_robin(topology, members)
    if assignor == "sticky":
        group, shares = solve_faultless(topology, members, sticky_data)
        return group.to_assignment(shares.owned)
    if assignor == "cooperative-sticky":
        group, shares = solve_faultless(topology, members, cooperative_data)
        for partition, member in changing_hands(group, shares).items():
            shares.owned[member].remove(partition)
        return group.to_assignment(shares.owned)
    raise InputError(f"assignor: expected one of range, roundrobin, sticky, cooperative-sticky, got {assignor!r}")


def solve_faultless(
    topology: Topology, members: Sequence[Member], member_data: MemberData
) -> tuple[StickyGroup, Shares]:
    """Resolve the valid claims and assign the partitions."""
    honest = [_honest(topology, member, member_data) for member in members]
    # Members without topics are excluded: they would mislead rules over all members.
    taking_part = [member for member in honest if _existing(topology, member)]
    group = StickyGroup(topology, honest)
    if not taking_part:
        return group, _nothing(group)
    if len(taking_part) == len(honest) and len({_existing(topology, member) for member in honest}) == 1:
        shares: Shares = EqualShares(group, Claims(group, cooperative_data))
    else:
        shares = EvenShares(group, Claims(group, cooperative_data))
    shares.build()
    return group, shares


def _nothing(group: StickyGroup) -> EvenShares:
    return EvenShares(group, Claims(group, cooperative_data))


def _existing(topology: Topology, member: Member) -> frozenset[str]:
    return frozenset(topic for topic in member.topic_set if topology.partition_count(topic))


def _honest(topology: Topology, member: Member, member_data: MemberData) -> Member:
    """The member with its claims in the fields, without invalid ones."""
    partitions, generation = member_data(member)
    owned: dict[str, dict[int, None]] = {}
    for topic, partition in partitions:
        if topic in member.topic_set and 0 <= partition < topology.partition_count(topic):
            owned.setdefault(topic, {})[partition] = None
    return replace(
        member,
        topics=list(dict.fromkeys(member.topics)),
        owned=[(topic, list(numbers)) for topic, numbers in owned.items()],
        generation=generation,
        user_data=None,
    )
