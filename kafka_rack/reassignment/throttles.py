"""Throttles of a reassignment, as Kafka's tool sets them: which replicas send and receive, and on which brokers.

A replica that there is already is throttled as a source, wherever it will be copied from; one that comes is
throttled as a destination. Source: KIP-73; ReassignPartitionsCommand, Apache Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafka_rack.reassignment.plan import Entry

LEADER_REPLICAS, FOLLOWER_REPLICAS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
OF_TOPICS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
OF_BROKERS = (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)


class MoveUnderWay(NamedTuple):
    """A move that has not ended: all replicas that the partition has meanwhile, those to come and those to go."""

    topic: str
    partition: int
    replicas: list[int]
    adding: list[int]
    removing: list[int]


class Copying(NamedTuple):
    """The brokers that a partition is copied from, and those that it is copied to."""

    sources: frozenset[int]
    destinations: frozenset[int]


def copying(
    under_way: Iterable[MoveUnderWay], current: Iterable[Entry], plan: Iterable[Entry]
) -> dict[tuple[str, int], Copying]:
    """What is copied once a plan has begun, moves that were under way before among it.

    Args:
        current: where the partitions of the plan are now.
    """
    found = {
        (move.topic, move.partition): Copying(frozenset(move.replicas) - {*move.adding}, frozenset(move.adding))
        for move in under_way
    }
    now = {(entry.topic, entry.partition): frozenset(entry.replicas) for entry in current}
    for topic, partition, replicas in plan:
        place = (topic, partition)
        sources = found[place].sources if place in found else now[place]
        found[place] = Copying(sources, frozenset(replicas) - sources)
    return found


def topic_throttles(copies: Mapping[tuple[str, int], Copying]) -> dict[str, dict[str, str]]:
    """Topic -> setting -> the replicas that are throttled, in the order in which Kafka's tool has them.

    >>> topic_throttles(
    ...     {("t", 10): Copying(frozenset({1}), frozenset({2})), ("t", 9): Copying(frozenset({1}), frozenset())}
    ... )
    {'t': {'leader.replication.throttled.replicas': '10:1,9:1', 'follower.replication.throttled.replicas': '10:2'}}
    """
    found: dict[str, tuple[set[str], set[str]]] = {}
    for (topic, partition), (sources, destinations) in copies.items():
        leaders, followers = found.setdefault(topic, (set(), set()))
        leaders.update(f"{partition}:{broker}" for broker in sources)
        followers.update(f"{partition}:{broker}" for broker in destinations)
    return {
        topic: {LEADER_REPLICAS: ",".join(sorted(leaders)), FOLLOWER_REPLICAS: ",".join(sorted(followers))}
        for topic, (leaders, followers) in sorted(found.items())
    }


def throttled_brokers(copies: Mapping[tuple[str, int], Copying]) -> list[int]:
    """The brokers that send or receive."""
    return sorted({broker for sources, destinations in copies.values() for broker in sources | destinations})
