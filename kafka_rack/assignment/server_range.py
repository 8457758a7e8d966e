"""Range in the group coordinator (KIP-848): each topic in runs of neighbouring partitions. No racks, no stickiness.

Source: org.apache.kafka.coordinator.group.assignor.RangeAssignor, Apache Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from kafka_rack.assignment.members import Assignment, Member, static_first, subscribed_topics
from kafka_rack.assignment.topology import Topology
from kafka_rack.errors import PartitionAssignorError


def assign_server_range(topology: Topology, members: Sequence[Member]) -> Assignment:
    """Give the subscribers of each topic runs of equal length, the first ones one partition more.

    Raises: PartitionAssignorError: a subscribed topic does not exist.
    """
    assignment: Assignment = {member.member_id: [] for member in members}
    ordered = static_first(members)
    for topic in subscribed_topics(members):
        if topic not in topology.replicas:
            raise PartitionAssignorError(f"members subscribe to topic {topic}, which does not exist")
        subscribers = [member for member in ordered if topic in member.topic_set]
        share, extra = divmod(topology.partition_count(topic), len(subscribers))
        start = 0
        for place, member in enumerate(subscribers):
            end = start + share + (place < extra)
            assignment[member.member_id] += zip(repeat(topic), range(start, end))
            start = end
    return assignment
