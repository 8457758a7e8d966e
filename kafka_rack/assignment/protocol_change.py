"""What a group's locality becomes when it moves from the classic protocol to the consumer protocol (KIP-848).

In the classic protocol consumers assign, and Kafka's assignors look at racks since KIP-881. In the consumer protocol
the coordinator does, and Kafka's look at none. The change itself can be harmless where the assignor is sticky, for the
coordinator begins with what the members have: what is lost is lost later, with each member that comes anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from kafka_rack.assignment.explanation import present_assignment
from kafka_rack.assignment.forecast import GroupForecast, crossings, forecast
from kafka_rack.assignment.members import Assignment, Member
from kafka_rack.assignment.server_assignors import SERVER_ASSIGNORS
from kafka_rack.assignment.topology import Topology

CLASSIC, CONSUMER, PROPOSED_PROTOCOL = "classic", "consumer", "consumer, proposed"
CLASSIC_ASSIGNORS = ("range", "cooperative-sticky")
"""Kafka's defaults in its Java consumer, both with racks."""


@dataclass(frozen=True, slots=True)
class ProtocolView:
    """The group under one assignor, once all its members have come anew: after a rolling restart, say.

    Attributes:
        at_first: the same right after the change, when members keep what the assignor lets them; for the group's own
            assignor what it has now, None for the others of the classic protocol.
        moved: partitions that go to another member in the change.
        crossings: (rack read from, rack read in) -> partitions.
    """

    assignor: str
    protocol: str
    assignment: Assignment
    forecast: GroupForecast
    at_first: GroupForecast | None
    moved: int | None
    crossings: Counter[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ProtocolChange:
    """``views`` has the group's own classic assignor first, then the others, then the coordinator's."""

    views: tuple[ProtocolView, ...]

    @property
    def classic(self) -> ProtocolView:
        return self.views[0]

    def lost(self, view: ProtocolView) -> int:
        """How many partitions fewer are read within racks than with the classic assignor; below 0: more."""
        return self.classic.forecast.in_rack - view.forecast.in_rack


def change_protocol(
    classic: str, cluster: Mapping[str, Any], topology: Topology, members: Sequence[Member]
) -> ProtocolChange:
    """Forecast a group under each protocol's assignors.

    Args:
        classic: the assignor that it has in the classic protocol; one in ``kafka_rack.assignment.ASSIGNORS``.
        cluster: as ``kafka_rack.assignment.explain`` takes it; ``topology`` is the same.
        members: in Java's map order. What they own is what the change begins with; where none owns anything, what
            ``classic`` gives.
    """
    from kafka_rack.assignment import assign_members

    fresh = [replace(member, owned=(), generation=None, user_data=None) for member in members]
    now = present_assignment(classic, members)
    if not any(now.values()):
        now = assign_members(classic, topology, fresh)
    holders = [replace(member, owned=by_topic(now.get(member.member_id, []))) for member in fresh]

    def view(name: str, protocol: str, later: Assignment, first: Assignment | None) -> ProtocolView:
        return ProtocolView(
            name,
            protocol,
            later,
            forecast(cluster, members, later),
            None if first is None else forecast(cluster, members, first),
            None if first is None or first is now else moved(now, first),
            crossings(cluster, members, later),
        )

    views = [view(classic, CLASSIC, assign_members(classic, topology, fresh), now)]
    views += [
        view(name, CLASSIC, assign_members(name, topology, fresh), None)
        for name in CLASSIC_ASSIGNORS
        if name != classic
    ]
    views += [
        view(
            name,
            PROPOSED_PROTOCOL if name == "rack-uniform" else CONSUMER,
            assignor(topology, fresh),
            assignor(topology, holders),
        )
        for name, assignor in SERVER_ASSIGNORS.items()
    ]
    return ProtocolChange(tuple(views))


def by_topic(pairs: Sequence[tuple[str, int]]) -> list[tuple[str, list[int]]]:
    """Sorted pairs as members own them."""
    return [(topic, [number for _, number in run]) for topic, run in groupby(pairs, key=lambda pair: pair[0])]


def moved(before: Assignment, after: Assignment) -> int:
    """How many partitions that had an owner have another one."""
    owner = {pair: member for member, pairs in before.items() for pair in pairs}
    return sum(owner.get(pair, member) != member for member, pairs in after.items() for pair in pairs)
