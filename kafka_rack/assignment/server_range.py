"""Range in the group coordinator (KIP-848): each topic in runs of adjacent partitions. No racks, no stickiness.

Source: org.apache.kafka.coordinator.group.assignor.RangeAssignor, Apache Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise, repeat

from kafka_rack.assignment.members import (
    Assignment,
    Member,
    TopicPartition,
    alike,
    pairs_of,
    static_first,
    subscribed_topics,
)
from kafka_rack.assignment.topology import Topology
from kafka_rack.errors import PartitionAssignorError


def assign_server_range(topology: Topology, members: Sequence[Member]) -> Assignment:
    """Assign the subscribers of each topic runs of equal length, the first ones one partition longer.

    Raises: PartitionAssignorError: a subscribed topic does not exist.
    """
    topics = subscribed_topics(members)
    for topic in topics:
        if topic not in topology.replicas:
            raise PartitionAssignorError(f"members subscribe to topic {topic}, which does not exist")
    ordered = static_first(members)
    assignment: Assignment = {member.member_id: [] for member in members}
    same = alike(members)
    for topic in topics:
        pairs = pairs_of(topic, topology.partition_count(topic))
        subscribers = ordered if same else [member for member in ordered if topic in member.topic_set]
        for member, run in zip(subscribers, runs(pairs, len(subscribers)), strict=True):
            assignment[member.member_id] += run
    return assignment


def runs(pairs: Sequence[TopicPartition], count: int) -> list[Sequence[TopicPartition]]:
    """Split partitions into ``count`` runs, the first ones longer by one if they cannot be equal.

    >>> runs([("a", 0), ("a", 1), ("a", 2)], 2)
    [[('a', 0), ('a', 1)], [('a', 2)]]
    """
    share, extra = divmod(len(pairs), count)
    lengths = chain(repeat(share + 1, extra), repeat(share, count - extra))
    return [pairs[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]
