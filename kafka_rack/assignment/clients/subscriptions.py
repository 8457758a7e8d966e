"""The subscription of a client's member, and how its leader reads those of all members: common to the clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka_rack.assignment.faultless import assign_faultless
from kafka_rack.assignment.members import Assignment, Member, TopicPartition, in_hash_order
from kafka_rack.assignment.topology import Topology
from kafka_rack.assignment.user_data import NO_GENERATION, write_cooperative, write_sticky

VERSION = 3
"""ConsumerProtocolSubscription's first version with a rack."""

Grouped = list[tuple[str, list[int]]]
"""Topics with their partitions, both sorted."""


class LastAssignment:
    """The last assignment of a member and its time; empty at the start."""

    def __init__(self) -> None:
        self.partitions: list[TopicPartition] | None = None
        self.generation = NO_GENERATION

    def assigned(self, partitions: Iterable[TopicPartition], generation: int) -> None:
        self.partitions = sorted((topic, partition) for topic, partition in partitions)
        self.generation = generation

    def user_data(self, assignor: str) -> bytes:
        """The user data of a subscription; empty for assignors that use none."""
        if assignor == "sticky" and self.partitions is not None:
            return write_sticky(self.partitions, self.generation)
        if assignor == "cooperative-sticky":
            return write_cooperative(self.generation)
        return b""

    def owned(self, assignor: str) -> Grouped:
        """The owned partitions of a subscription: only cooperative members keep theirs while they rejoin."""
        return grouped(self.partitions or []) if assignor == "cooperative-sticky" else []


def grouped(partitions: Iterable[TopicPartition]) -> Grouped:
    """Partitions by topic, sorted.

    >>> grouped([("b", 1), ("a", 2), ("b", 0)])
    [('a', [2]), ('b', [0, 1])]
    """
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    return list(by_topic.items())


def plain_cluster(
    racks: Mapping[int, str | None], replicas: Mapping[str, Mapping[int, Sequence[int]]]
) -> dict[str, Any]:
    """A client's metadata in the plain form.

    Args:
        racks: broker id -> rack, of the brokers that metadata lists.
        replicas: topic -> partition -> replica ids; topics that do not exist are left out.
    """
    topics = {
        topic: [list(partitions.get(number, ())) for number in range(max(partitions, default=-1) + 1)]
        for topic, partitions in replicas.items()
    }
    return {"nodes": [[broker, rack] for broker, rack in racks.items()], "topics": topics}


def assign_group(assignor: str, cluster: Mapping[str, Any], members: Sequence[Member]) -> Assignment:
    """The leader's work; ``members`` as the coordinator lists them."""
    topology = Topology(dict(map(tuple, cluster["nodes"])), cluster["topics"])
    return assign_faultless(assignor, topology, in_hash_order(members))
