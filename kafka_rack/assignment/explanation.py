"""What rack awareness would change for a group: who reads what inside its rack now, and who would.

Three assignments stand side by side: what the members own at present, as far as they say so; what the assignor gives
when nobody names a rack; and what it gives with the racks as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka_rack.assignment.faults import RACK_AWARE, AssignmentFinding, find_faults
from kafka_rack.assignment.forecast import GroupForecast, forecast
from kafka_rack.assignment.members import Assignment, Member
from kafka_rack.assignment.topology import Topology
from kafka_rack.assignment.user_data import read_sticky

PRESENT, PLAIN, RACK_AWARE_NAME, OURS = "present", "without racks", "with racks", "with racks (ours, not Kafka's)"


@dataclass(frozen=True, slots=True)
class View:
    """One assignment and what it costs."""

    name: str
    assignment: Assignment
    forecast: GroupForecast


@dataclass(frozen=True, slots=True)
class AssignmentExplanation:
    """The views, from what is to what could be, and what to know about the last of them."""

    assignor: str
    views: tuple[View, ...]
    findings: tuple[AssignmentFinding, ...]

    @property
    def now(self) -> View:
        """What the group has: its present ownership if it says so, else the assignment without racks."""
        return self.views[0]

    @property
    def with_racks(self) -> View:
        """What it gets with rack awareness on."""
        return self.views[-1]


def explain_members(
    assignor: str,
    cluster: Mapping[str, Any],
    topology: Topology,
    members: Sequence[Member],
    *,
    our_rack_awareness: bool = False,
) -> AssignmentExplanation:
    """As ``kafka_rack.assignment.explain``, over typed values; ``members`` in Java's map order."""
    from kafka_rack.assignment import assign_members

    views = []
    present = present_assignment(assignor, members)
    if any(present.values()):
        views.append(View(PRESENT, present, forecast(cluster, members, present)))
    plain = assign_members(assignor, topology, [replace(member, rack=None) for member in members])
    views.append(View(PLAIN, plain, forecast(cluster, members, plain)))
    if assignor in RACK_AWARE or our_rack_awareness:
        aware = assign_members(assignor, topology, members, our_rack_awareness=our_rack_awareness)
        name = OURS if our_rack_awareness else RACK_AWARE_NAME
        views.append(View(name, aware, forecast(cluster, members, aware)))
    findings = find_faults(assignor, topology, members, views[-1].assignment, ours=our_rack_awareness)
    return AssignmentExplanation(assignor, tuple(views), tuple(findings))


def present_assignment(assignor: str, members: Sequence[Member]) -> Assignment:
    """What the members say they own: ``sticky`` members in their user data, all others in their subscription."""
    present: Assignment = {}
    for member in members:
        owned = read_sticky(member.user_data)[0] if assignor == "sticky" else member.owned_partitions()
        present[member.member_id] = sorted(set(owned))
    return present
