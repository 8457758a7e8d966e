"""Round robin (consumer side): every partition in turn to the next member that subscribes to its topic. No racks.

Source: RoundRobinAssignor, Apache Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from kafka_rack.assignment.members import Assignment, Member, static_first, subscribed_topics
from kafka_rack.assignment.topology import Topology


def assign_round_robin(topology: Topology, members: Sequence[Member]) -> Assignment:
    """Deal the partitions of all topics, in order, round the members.

    A member that does not subscribe to a topic is passed over, and its turn is lost.
    """
    assignment: Assignment = {member.member_id: [] for member in members}
    circle = static_first(members)
    turn = 0
    for topic in subscribed_topics(members):
        count = topology.partition_count(topic)
        if not count:
            continue
        subscribers = [index for index, member in enumerate(circle) if topic in member.topic_set]
        # The first subscriber at or after the turn; all later ones follow in order.
        first = next((place for place, index in enumerate(subscribers) if index >= turn), 0)
        takers = subscribers[first:] + subscribers[:first]
        for place, index in enumerate(takers):
            assignment[circle[index].member_id] += zip(repeat(topic), range(place, count, len(takers)))
        turn = (takers[(count - 1) % len(takers)] + 1) % len(circle)
    return assignment
