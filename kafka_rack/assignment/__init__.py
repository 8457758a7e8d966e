"""Who consumes what: Kafka's partition assignors, with the rack awareness of KIP-881.

``assign`` gives what Apache Kafka 4.1's classes give, member for member; ``rack-uniform`` has no class there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka_rack.assignment.explanation import AssignmentExplanation, explain_members
from kafka_rack.assignment.faultless import assign_range_with_racks, assign_uniform_with_racks
from kafka_rack.assignment.leader import LeaderWatch
from kafka_rack.assignment.members import Assignment, Member, TopicPartition, in_hash_order, members_from_plain
from kafka_rack.assignment.protocol_change import ProtocolChange, change_protocol
from kafka_rack.assignment.rack_uniform import assign_rack_uniform
from kafka_rack.assignment.range import assign_range
from kafka_rack.assignment.round_robin import assign_round_robin
from kafka_rack.assignment.server_assignors import (
    DEFAULT_SERVER_ASSIGNORS,
    SERVER_ASSIGNORS,
    ServerAssignor,
    server_assignors,
)
from kafka_rack.assignment.server_range import assign_server_range
from kafka_rack.assignment.server_uniform import assign_uniform
from kafka_rack.assignment.sticky import assign_cooperative, assign_sticky
from kafka_rack.assignment.topology import Topology
from kafka_rack.collector import collector_paused
from kafka_rack.errors import InputError, PartitionAssignorError

__all__ = [
    "ASSIGNORS",
    "CONSUMER_SIDE",
    "DEFAULT_SERVER_ASSIGNORS",
    "PROPOSED",
    "RACK_AWARE_BY_US",
    "SERVER_ASSIGNORS",
    "Assignment",
    "AssignmentExplanation",
    "LeaderWatch",
    "Member",
    "PartitionAssignorError",
    "ProtocolChange",
    "ServerAssignor",
    "TopicPartition",
    "Topology",
    "assign",
    "assign_members",
    "explain",
    "forecast_protocol_change",
    "in_hash_order",
    "server_assignors",
]

ASSIGNORS: Mapping[str, Callable[[Topology, Sequence[Member]], Assignment]] = {
    "range": assign_range,
    "roundrobin": assign_round_robin,
    "sticky": assign_sticky,
    "cooperative-sticky": assign_cooperative,
    "uniform": assign_uniform,
    "server-range": assign_server_range,
    "rack-uniform": assign_rack_uniform,
}
"""Name -> assignor. The first four run in the group's leader, the others in its coordinator (KIP-848)."""
CONSUMER_SIDE = ("range", "roundrobin", "sticky", "cooperative-sticky")
"""Those that run in the group's leader."""
PROPOSED = ("rack-uniform",)
"""Assignors that no release of Apache Kafka has."""


RACK_AWARE_BY_US: Mapping[str, Callable[[Topology, Sequence[Member]], Assignment]] = {
    "uniform": assign_uniform_with_racks,
    "server-range": assign_range_with_racks,
}
"""The coordinator's assignors with rack awareness of ours: Apache Kafka has none there."""


def assign(
    assignor: str, cluster: Mapping[str, Any], members: Mapping[str, Any], *, our_rack_awareness: bool = False
) -> Assignment:
    """Share the partitions out among the members of a group as Apache Kafka's ``assignor`` does.

    Args:
        assignor: a name in ``ASSIGNORS``.
        cluster: ``nodes`` [[broker id, rack or None]], ``topics`` {topic: [[replica ids of partition 0], ...]},
            ``topic_ids`` {topic: id in Kafka's base64} for the coordinator's assignors. ``offline`` may be there and
            changes nothing: a replica that is down still counts for its rack.
        members: {member id: {"topics", "rack", "instance_id", "owned" [[topic, [partitions]]], "generation",
            "user_data" in hex}}; all but ``topics`` may be missing. Their order can decide ties, as in Java.
        our_rack_awareness: let ``uniform`` and ``server-range`` look at racks, which Kafka's never do.

    Returns: {member id: [(topic, partition), ...]}, each list sorted; every member is there.

    Raises:
        InputError: an unknown assignor, or a cluster or members of another form; says where.
        PartitionAssignorError: a coordinator's assignor meets a subscribed topic that does not exist.

    >>> cluster = {"nodes": [[0, "a"], [1, "b"]], "topics": {"orders": [[0], [1], [0], [1]]}}
    >>> assign(
    ...     "range", cluster, {"one": {"topics": ["orders"], "rack": "b"}, "two": {"topics": ["orders"], "rack": "a"}}
    ... )
    {'one': [('orders', 1), ('orders', 3)], 'two': [('orders', 0), ('orders', 2)]}
    """
    return assign_members(
        assignor, Topology.from_plain(cluster), members_from_plain(members), our_rack_awareness=our_rack_awareness
    )


def assign_members(
    assignor: str, topology: Topology, members: Sequence[Member], *, our_rack_awareness: bool = False
) -> Assignment:
    """As ``assign``, over typed values; ``members`` in Java's map order (``in_hash_order``)."""
    if assignor not in ASSIGNORS:
        raise InputError(f"assignor: expected one of {', '.join(ASSIGNORS)}, got {assignor!r}")
    if our_rack_awareness and assignor not in RACK_AWARE_BY_US:
        raise InputError(f"rack awareness of ours for {assignor}, but only {', '.join(RACK_AWARE_BY_US)} have it")
    chosen = RACK_AWARE_BY_US[assignor] if our_rack_awareness else ASSIGNORS[assignor]
    with collector_paused(sum(map(len, topology.replicas.values()))):
        return chosen(topology, members)


def explain(
    assignor: str, cluster: Mapping[str, Any], members: Mapping[str, Any], *, our_rack_awareness: bool = False
) -> AssignmentExplanation:
    """Forecast what each member reads inside its rack now and with rack awareness on, and what each broker serves.

    Args:
        assignor, cluster, members, our_rack_awareness: as ``assign`` takes them. ``offline`` replicas in ``cluster``
            serve nobody, and ``leaders`` {topic: [leader of partition 0, ...]} says who leads where that is not the
            first replica that is up. A member's ``rack`` is where it runs.

    Returns: the assignments side by side, their forecasts, and what to know about them, Kafka's own faults included.

    Raises: as ``assign``.

    >>> cluster = {"nodes": [[0, "a"], [1, "b"]], "topics": {"orders": [[0], [1], [0], [1]]}}
    >>> members = {"one": {"topics": ["orders"], "rack": "b"}, "two": {"topics": ["orders"], "rack": "a"}}
    >>> explanation = explain("range", cluster, members)
    >>> explanation.now.forecast.share, explanation.with_racks.forecast.share
    (0.5, 1.0)
    """
    return explain_members(
        assignor,
        cluster,
        Topology.from_plain(cluster),
        members_from_plain(members),
        our_rack_awareness=our_rack_awareness,
    )


def forecast_protocol_change(classic: str, cluster: Mapping[str, Any], members: Mapping[str, Any]) -> ProtocolChange:
    """Forecast how much is read inside racks when a group moves from the classic to the consumer protocol.

    Args:
        classic: the assignor that it has now, or would have: ``range``, ``roundrobin``, ``sticky`` or
            ``cooperative-sticky``.
        cluster, members: as ``explain`` takes them. What the members own is what the change begins with; where none
            owns anything, that is what ``classic`` gives.

    Returns: the group as it is, and under each assignor of both protocols.

    Raises: as ``assign``.

    >>> cluster = {"nodes": [[0, "a"], [1, "b"]], "topics": {"orders": [[0], [1], [0], [1]]}}
    >>> members = {"one": {"topics": ["orders"], "rack": "b"}, "two": {"topics": ["orders"], "rack": "a"}}
    >>> change = forecast_protocol_change("range", cluster, members)
    >>> [(view.protocol, view.assignor, view.forecast.in_rack, change.lost(view)) for view in change.views[-2:]]
    [('consumer', 'range', 2, 2), ('consumer, proposed', 'rack-uniform', 4, 0)]
    """
    if classic not in CONSUMER_SIDE:
        raise InputError(f"expected an assignor of the classic protocol, {', '.join(CONSUMER_SIDE)}, got {classic!r}")
    return change_protocol(classic, cluster, Topology.from_plain(cluster), members_from_plain(members))
