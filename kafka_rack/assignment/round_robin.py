"""Round robin (consumer side): each partition to the next member that subscribes to its topic. Without racks.

Source: RoundRobinAssignor, Apache Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_rack.assignment.members import Assignment, Member, alike, pairs_of, static_first, subscribed_topics
from kafka_rack.assignment.topology import Topology


def assign_round_robin(topology: Topology, members: Sequence[Member]) -> Assignment:
    """Deal the partitions of all topics, in order, to the members in rotation.

    A member that does not subscribe to a topic is skipped and loses its turn.
    """
    circle = static_first(members)
    topics = [topic for topic in subscribed_topics(members) if topology.partition_count(topic)]
    assignment: Assignment = {member.member_id: [] for member in members}
    if alike(members):
        # No member is ever skipped, so each has every n-th partition of all.
        everything = [pair for topic in topics for pair in pairs_of(topic, topology.partition_count(topic))]
        for place, member in enumerate(circle):
            assignment[member.member_id] = everything[place :: len(circle)]
        return assignment
    turn = 0
    for topic in topics:
        pairs = pairs_of(topic, topology.partition_count(topic))
        subscribers = [index for index, member in enumerate(circle) if topic in member.topic_set]
        # The first subscriber at or after the turn; all later ones follow in order.
        first = next((place for place, index in enumerate(subscribers) if index >= turn), 0)
        takers = subscribers[first:] + subscribers[:first]
        for place, index in enumerate(takers):
            assignment[circle[index].member_id] += pairs[place :: len(takers)]
        turn = (takers[(len(pairs) - 1) % len(takers)] + 1) % len(circle)
    return assignment
