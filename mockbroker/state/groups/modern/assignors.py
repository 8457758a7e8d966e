"""The coordinator's assignors: they compute the target of each member of a group.

Source: TargetAssignmentBuilder, Apache Kafka 4.4. The algorithms are in ``kafka_rack.assignment``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka_rack.assignment import SERVER_ASSIGNORS, Member, PartitionAssignorError, Topology, in_hash_order
from kafka_rack.assignment.members import static_first
from kafka_rack.assignment.server_assignors import server_assignors
from kafka_rack.assignment.server_range import assign_server_range
from kafka_rack.assignment.server_uniform import assign_uniform, assign_uniform_unequal
from mockbroker.state.errors import ApiError
from mockbroker.state.groups.modern.members import Partitions, grouped
from mockbroker.state.groups.modern.topics import GroupTopics
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.groups.coordinator import Groups

RACK_AWARE = frozenset({"rack-uniform"})
"""The assignors that use members' racks."""


def assignor_names(groups: Groups) -> list[str]:
    """The assignors in ``group.consumer.assignors``, the default first."""
    return list(server_assignors(groups.config("group.consumer.assignors")))


@dataclass(slots=True, frozen=True)
class MemberSpec:
    """A member as input of an assignor: the names of its topics, and its current target."""

    topics: frozenset[str]
    target: Partitions
    rack: str | None = None
    instance_id: str | None = None


def assign_targets(
    assignor: str, epoch: int, specs: Mapping[str, MemberSpec], topics: GroupTopics, *, alike: bool = True
) -> dict[str, Partitions]:
    """The target of each member; every member has an entry.

    Topics that do not exist are left out. ``alike``: by the subscription counts, all members subscribe to the same
    topics; otherwise uniform uses another algorithm, even if all members have the same topics. A new member without
    topics may not be counted yet: then the first member's topics are used for all.

    Raises ApiError: UNKNOWN_SERVER_ERROR, the assignor fails.
    """
    by_name = topics.by_name
    wanted = sorted(frozenset().union(*(spec.topics for spec in specs.values())).intersection(by_name))
    topology = Topology(
        topics.racks(),
        {name: [partition.replicas for partition in by_name[name].partitions] for name in wanted},
        {name: by_name[name].id for name in wanted},
    )
    existing: dict[frozenset[str], list[str]] = {}
    members = []
    for member_id, spec in specs.items():
        names = existing.get(spec.topics)
        if names is None:
            names = existing[spec.topics] = sorted(spec.topics.intersection(by_name))
        owned = [
            (name, sorted(partitions))
            for topic_id, partitions in spec.target.items()
            if (name := topics.name_of(topic_id)) is not None and name in topology.replicas
        ]
        members.append(Member(member_id, names, spec.rack, spec.instance_id, owned))
    try:
        assign = SERVER_ASSIGNORS[assignor]
        if assign is assign_uniform and not alike:
            assign = assign_uniform_unequal
        ordered = in_hash_order(members)
        if alike and len({tuple(member.topics) for member in ordered}) > 1:
            first = static_first(ordered)[0] if assign is assign_server_range else ordered[0]
            ordered = [replace(member, topics=first.topics) for member in ordered]
        found = assign(topology, ordered)
    except PartitionAssignorError as error:
        problem = f"Failed to compute a new target assignment for epoch {epoch}: {error}"
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, problem) from None
    return {member_id: grouped((by_name[name].id, one) for name, one in found[member_id]) for member_id in specs}
