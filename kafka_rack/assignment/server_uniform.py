"""Uniform in the group coordinator (KIP-848): even shares, few moves. Without racks.

Source: UniformAssignor and UniformHomogeneousAssignmentBuilder, Apache Kafka 4.1. Unequal subscriptions are in
server_unequal.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_rack.assignment.members import (
    Assignment,
    Member,
    TopicPartition,
    alike,
    pairs_of,
    subscribed_topics,
)
from kafka_rack.assignment.server_unequal import assign_unequal
from kafka_rack.assignment.topology import Topology
from kafka_rack.errors import PartitionAssignorError
from kafka_rack.java import hash_order, in_string_order, int_hash, set_copy_capacity, uuid_hash

Target = dict[str, set[int]]
"""Topic -> partitions of one member."""


def assign_uniform(topology: Topology, members: Sequence[Member]) -> Assignment:
    """The coordinator's target assignment; ``owned`` of each member is its current one.

    Args:
        topology: with an id for each topic, on whose hashes and order the result depends.
        members: in Java's map order.

    Raises: PartitionAssignorError: a subscribed topic does not exist, or partitions are left over because members
        share some already.
    """
    if not members:
        return {}
    _check_topics(topology, members)
    return (_assign_equal if alike(members) else _assign_different)(topology, members)


def assign_uniform_unequal(topology: Topology, members: Sequence[Member]) -> Assignment:
    """The target assignment by the algorithm for unequal subscriptions; the coordinator detects these by counting.

    Raises: PartitionAssignorError: a subscribed topic does not exist.
    """
    if not members:
        return {}
    _check_topics(topology, members)
    return _assign_different(topology, members)


def _check_topics(topology: Topology, members: Sequence[Member]) -> None:
    for topic in subscribed_topics(members):
        if topic not in topology.replicas:
            raise PartitionAssignorError(f"members subscribe to topic {topic}, which does not exist")


def _assign_different(topology: Topology, members: Sequence[Member]) -> Assignment:
    targets = assign_unequal(topology, members)
    return {member.member_id: _flat(target) for member, target in zip(members, targets, strict=True)}


def _assign_equal(topology: Topology, members: Sequence[Member]) -> Assignment:
    assignment: Assignment = {member.member_id: [] for member in members}
    topics = _in_id_order(topology, list(dict.fromkeys(members[0].topics)), copied=True)
    if not topics:
        return assignment
    targets = [present_target(member) for member in members]
    unassigned = _in_nobodys(topology, topics, targets)
    new = len(unassigned)
    total = sum(topology.partition_count(topic) for topic in topics)
    share, extras = divmod(total, len(members))
    quotas: list[int] = []
    for index, (member, target) in enumerate(zip(members, targets, strict=True)):
        quota = share + (extras > 0)
        has_extra = extras > 0
        for topic in _in_id_order(topology, list(target)):
            if topic not in members[0].topic_set:
                del target[topic]
            elif len(target[topic]) <= quota:
                quota -= len(target[topic])
            else:
                walked = hash_order(_owned_order(member, topic), int_hash)
                unassigned += [(topic, partition) for partition in walked[quota:]]
                target[topic] = set(walked[:quota])
                quota = 0
        if quota > 0 and has_extra and len(members) - index > extras:
            # A later member may still need it.
            quota -= 1
            has_extra = False
        quotas.append(quota)
        extras -= has_extra
    start = 0
    for member, target, quota in zip(members, targets, quotas, strict=True):
        given = unassigned[start : start + quota]
        start += quota
        if not target and given and start <= new and given[0][0] == given[-1][0]:
            # A run of one topic's partitions in listed order: nothing to merge or sort.
            assignment[member.member_id] = given
            continue
        for topic, partition in given:
            target.setdefault(topic, set()).add(partition)
        assignment[member.member_id] = _flat(target)
    if start < len(unassigned):
        raise PartitionAssignorError(f"{len(unassigned) - start} partitions were left over: members share others")
    return assignment


def _in_nobodys(topology: Topology, topics: Sequence[str], targets: Sequence[Target]) -> list[TopicPartition]:
    """The partitions without a current owner, by topic."""
    assigned: Target = {}
    for target in targets:
        for topic, partitions in target.items():
            assigned.setdefault(topic, set()).update(partitions)
    found: list[TopicPartition] = []
    for topic in topics:
        pairs = pairs_of(topic, topology.partition_count(topic))
        taken = assigned.get(topic)
        found += [pair for pair in pairs if pair[1] not in taken] if taken else pairs
    return found


def _flat(target: Target) -> list[TopicPartition]:
    return [
        (topic, partition)
        for topic in (in_string_order(target, str) if len(target) > 1 else target)
        for partition in sorted(target[topic])
    ]


def present_target(member: Member) -> Target:
    """The current partitions of a member."""
    target: Target = {}
    for topic, partitions in member.owned:
        if partitions:
            target.setdefault(topic, set()).update(partitions)
    return target


def _owned_order(member: Member, topic: str) -> list[int]:
    return [partition for name, partitions in member.owned if name == topic for partition in partitions]


def _in_id_order(topology: Topology, topics: list[str], *, copied: bool = False) -> list[str]:
    """Topics in the order of a hash map of their ids; ``copied``: as a set made from a collection."""
    if len(topics) < 2:
        return topics
    ids = {topic: topology.topic_id(topic) for topic in topics}
    capacity = set_copy_capacity(len(topics)) if copied else 16
    return hash_order(topics, lambda topic: uuid_hash(ids[topic]), capacity)
