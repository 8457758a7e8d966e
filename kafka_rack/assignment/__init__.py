"""Partition assignors: Kafka's own, with the rack awareness of KIP-881.

``assign`` returns the same result as Apache Kafka 4.1's classes; ``rack-uniform`` has no class there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka_rack.assignment.leader import LeaderWatch
from kafka_rack.assignment.members import Assignment, Member, TopicPartition, in_hash_order, members_from_plain
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
    "SERVER_ASSIGNORS",
    "Assignment",
    "LeaderWatch",
    "Member",
    "PartitionAssignorError",
    "ServerAssignor",
    "TopicPartition",
    "Topology",
    "assign",
    "assign_members",
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


def assign(assignor: str, cluster: Mapping[str, Any], members: Mapping[str, Any]) -> Assignment:
    """Assign the partitions to the members of a group as Apache Kafka's ``assignor`` does.

    Args:
        assignor: a name in ``ASSIGNORS``.
        cluster: ``nodes`` [[broker id, rack or None]], ``topics`` {topic: [[replica ids of partition 0], ...]},
            ``topic_ids`` {topic: id in Kafka's base64} for the coordinator's assignors. ``offline`` is allowed and has
            no effect: a replica that is down still counts for its rack.
        members: {member id: {"topics", "rack", "instance_id", "owned" [[topic, [partitions]]], "generation",
            "user_data" in hex}}; all but ``topics`` are optional. Their order can decide ties, as in Java.

    Returns: {member id: [(topic, partition), ...]}, each list sorted, with every member.

    Raises:
        InputError: an unknown assignor, or a malformed cluster or members; says where.
        PartitionAssignorError: for a coordinator's assignor, a subscribed topic does not exist.

    >>> cluster = {"nodes": [[0, "a"], [1, "b"]], "topics": {"orders": [[0], [1], [0], [1]]}}
    >>> assign(
    ...     "range", cluster, {"one": {"topics": ["orders"], "rack": "b"}, "two": {"topics": ["orders"], "rack": "a"}}
    ... )
    {'one': [('orders', 1), ('orders', 3)], 'two': [('orders', 0), ('orders', 2)]}
    """
    return assign_members(assignor, Topology.from_plain(cluster), members_from_plain(members))


def assign_members(assignor: str, topology: Topology, members: Sequence[Member]) -> Assignment:
    """As ``assign``, for typed values; ``members`` in Java's map order (``in_hash_order``)."""
    if assignor not in ASSIGNORS:
        raise InputError(f"assignor: expected one of {', '.join(ASSIGNORS)}, got {assignor!r}")
    with collector_paused(sum(map(len, topology.replicas.values()))):
        return ASSIGNORS[assignor](topology, members)
