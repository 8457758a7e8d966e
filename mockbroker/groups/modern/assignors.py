"""The coordinator's assignors: they compute the target of each member of a group.

Source: TargetAssignmentBuilder, Apache Kafka 4.4. The algorithms are in ``kafka_rack.assignment``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kafka_rack.assignment import SERVER_ASSIGNORS, Member, PartitionAssignorError, Topology, in_hash_order
from kafka_rack.assignment.members import static_first
from kafka_rack.assignment.server_assignors import server_assignors
from kafka_rack.assignment.server_range import assign_server_range
from kafka_rack.assignment.server_uniform import assign_uniform, assign_uniform_unequal
from mockbroker.groups.modern.members import ModernMember, Partitions
from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.groups.coordinator import Groups
    from mockbroker.groups.modern.group import ModernGroup

RACK_AWARE = "rack-uniform"
"""The assignor that uses members' racks."""


def assignor_names(groups: Groups) -> list[str]:
    """The assignors in ``group.consumer.assignors``, the default first."""
    return list(server_assignors(groups.config("group.consumer.assignors")))


def assign_targets(
    group: ModernGroup[Any],
    assignor: str,
    epoch: int,
    members: Mapping[str, ModernMember],
    targets: Mapping[str, Partitions],
    *,
    alike: bool = True,
) -> dict[str, Partitions]:
    """The target of each member; every member has an entry.

    Topics that do not exist are left out. ``targets`` are the current ones. ``alike``:
    by the subscription counts, all members subscribe to the same topics; otherwise uniform uses another algorithm, even
    if all members have the same topics. A new member without topics may not be counted yet: then the first member's
    topics are used for all.

    Raises ApiError: UNKNOWN_SERVER_ERROR, the assignor fails.
    """
    topics = group.groups.topics
    by_name = topics.by_name
    topics_of = {one.id: sorted(group.topics_of(one).intersection(by_name)) for one in members.values()}
    subscribed = sorted(set().union(*topics_of.values()))
    topology = Topology(
        topics.racks(),
        {name: [partition.replicas for partition in by_name[name].partitions] for name in subscribed},
        {name: by_name[name].id for name in subscribed},
    )
    inputs = []
    for member_id, member in members.items():
        owned = [
            (name, numbers)
            for name, numbers in topics.numbers_by_name(targets.get(member_id, ())).items()
            if name in topology.replicas
        ]
        inputs.append(Member(member_id, topics_of[member_id], member.rack, member.instance_id, owned))
    try:
        assign = SERVER_ASSIGNORS[assignor]
        if assign is assign_uniform and not alike:
            assign = assign_uniform_unequal
        ordered = in_hash_order(inputs)
        if alike and len({tuple(one.topics) for one in ordered}) > 1:
            first = static_first(ordered)[0] if assign is assign_server_range else ordered[0]
            ordered = [replace(one, topics=first.topics) for one in ordered]
        found = assign(topology, ordered)
    except PartitionAssignorError as error:
        problem = f"Failed to compute a new target assignment for epoch {epoch}: {error}"
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, problem) from None
    return {member_id: frozenset((by_name[name].id, one) for name, one in found[member_id]) for member_id in members}
