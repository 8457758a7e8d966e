"""Uniform in the group coordinator (KIP-848): even shares, few moves. No racks.

Source: UniformAssignor and UniformHomogeneousAssignmentBuilder, Apache Kafka 4.1. Unequal subscriptions are in
server_unequal.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_rack.assignment.members import Assignment, Member, subscribed_topics
from kafka_rack.assignment.server_unequal import assign_unequal
from kafka_rack.assignment.topology import Topology
from kafka_rack.errors import PartitionAssignorError
from kafka_rack.java import hash_order, int_hash, set_copy_capacity, utf16_key, uuid_hash


def assign_uniform(topology: Topology, members: Sequence[Member]) -> Assignment:
    """The coordinator's target assignment; ``owned`` of each member is its present one.

    Args:
        topology: with an id for each topic, on whose hashes and order the answer depends.
        members: in Java's map order.

    Raises: PartitionAssignorError: a subscribed topic does not exist, or partitions are left over because members
        share some already.
    """
    if not members:
        return {}
    for topic in subscribed_topics(members):
        if topic not in topology.replicas:
            raise PartitionAssignorError(f"members subscribe to topic {topic}, which does not exist")
    if all(member.topic_set == members[0].topic_set for member in members):
        targets = _assign_equal(topology, members)
    else:
        targets = assign_unequal(topology, members)
    return {
        member.member_id: [
            (topic, partition) for topic in sorted(target, key=utf16_key) for partition in sorted(target[topic])
        ]
        for member, target in zip(members, targets, strict=True)
    }


def _assign_equal(topology: Topology, members: Sequence[Member]) -> list[dict[str, set[int]]]:
    topics = _in_id_order(topology, list(dict.fromkeys(members[0].topics)), copied=True)
    targets = [present_target(member) for member in members]
    if not topics:
        return [{} for _ in members]
    assigned: dict[str, set[int]] = {}
    for target in targets:
        for topic, partitions in target.items():
            assigned.setdefault(topic, set()).update(partitions)
    nobody: set[int] = set()
    unassigned = [
        (topic, partition)
        for topic in topics
        for partition in range(topology.partition_count(topic))
        if partition not in assigned.get(topic, nobody)
    ]
    total = sum(topology.partition_count(topic) for topic in topics)
    share, extras = divmod(total, len(members))
    unfilled: list[tuple[dict[str, set[int]], int]] = []
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
            # Somebody behind may still want it.
            quota -= 1
            has_extra = False
        if quota > 0:
            unfilled.append((target, quota))
        extras -= has_extra
    start = 0
    for target, quota in unfilled:
        for topic, partition in unassigned[start : start + quota]:
            target.setdefault(topic, set()).add(partition)
        start += quota
    if start < len(unassigned):
        raise PartitionAssignorError(f"{len(unassigned) - start} partitions were left over: members share others")
    return targets


def present_target(member: Member) -> dict[str, set[int]]:
    """topic -> the partitions that a member has now."""
    target: dict[str, set[int]] = {}
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
