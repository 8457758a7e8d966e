"""Uniform in the group coordinator for members with different subscriptions.

Partitions without an owner go to the least loaded subscribers, by topic; then each topic in turn moves partitions from
its most to its least loaded subscribers, until none moves or after sixteen rounds.

Source: UniformHeterogeneousAssignmentBuilder, Apache Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_rack.assignment.members import Member
from kafka_rack.assignment.topology import Topology

MAX_ROUNDS = 16


def assign_unequal(topology: Topology, members: Sequence[Member]) -> list[dict[str, set[int]]]:
    """topic -> partitions, for each of ``members`` in order. Claims to missing partitions are dropped."""
    subscribers: dict[str, list[int]] = {}
    for place, member in enumerate(members):
        for topic in dict.fromkeys(member.topics):
            subscribers.setdefault(topic, []).append(place)
    owners = {topic: [-1] * topology.partition_count(topic) for topic in subscribers}
    loads = [0] * len(members)
    for place, member in enumerate(members):
        for topic, partition in dict.fromkeys(member.owned_partitions()):
            if topic in member.topic_set and 0 <= partition < len(owners[topic]):
                owners[topic][partition] = place
                loads[place] += 1

    topics = sorted(
        subscribers,
        key=lambda topic: (
            -(len(owners[topic]) / len(subscribers[topic])),
            len(subscribers[topic]),
            _signed_halves(topology.topic_id(topic)),
        ),
    )
    doubled = _doubled(members, owners)
    for topic in topics:
        free = [partition for partition, owner in enumerate(owners[topic]) if owner < 0]
        if free:
            balancer = _Balancer(subscribers[topic], loads)
            for partition in free:
                place = balancer.next_least_loaded()
                owners[topic][partition] = place
                loads[place] += 1
    _balance([topic for topic in topics if len(subscribers[topic]) >= 2], subscribers, owners, loads, doubled)

    targets: list[dict[str, set[int]]] = [{} for _ in members]
    for topic, topic_owners in owners.items():
        for partition, place in enumerate(topic_owners):
            targets[place].setdefault(topic, set()).add(partition)
    for (place, topic), partitions in doubled.items():
        if partitions:
            targets[place].setdefault(topic, set()).update(partitions)
    return targets


def _doubled(members: Sequence[Member], owners: dict[str, list[int]]) -> dict[tuple[int, str], set[int]]:
    """Partitions of a member that a later one has too: the coordinator keeps both."""
    doubled: dict[tuple[int, str], set[int]] = {}
    for place, member in enumerate(members):
        for topic, partition in member.owned_partitions():
            if topic in member.topic_set and 0 <= partition < len(owners[topic]) and owners[topic][partition] != place:
                doubled.setdefault((place, topic), set()).add(partition)
    return doubled


def _balance(
    topics: Sequence[str],
    subscribers: dict[str, list[int]],
    owners: dict[str, list[int]],
    loads: list[int],
    doubled: dict[tuple[int, str], set[int]],
) -> None:
    last_moved: str | None = None
    for _ in range(MAX_ROUNDS):
        for topic in topics:
            if topic == last_moved:
                return
            moved = _balance_topic(topic, subscribers[topic], owners[topic], loads, doubled)
            if moved or last_moved is None:
                last_moved = topic


def _balance_topic(
    topic: str,
    subscribers: list[int],
    owners: list[int],
    loads: list[int],
    doubled: dict[tuple[int, str], set[int]],
) -> int:
    """Move partitions from the most to the least loaded subscribers; returns the number of moves."""
    balancer = _Balancer(subscribers, loads)
    if loads[balancer.members[-1]] - loads[balancer.members[0]] <= 1:
        return 0
    # The partitions that each member can give away, the highest number last.
    held: dict[int, list[int]] = {}
    for partition, owner in enumerate(owners):
        held.setdefault(owner, []).append(partition)
    moved = 0
    while not balancer.is_balanced():
        giver = balancer.next_most_loaded()
        while giver >= 0 and not held.get(giver):
            balancer.exclude_most_loaded()
            giver = balancer.next_most_loaded()
        if giver < 0:
            break
        partition = held[giver].pop()
        taker = balancer.next_least_loaded()
        if balancer.is_balanced():
            break
        owners[partition] = taker
        loads[giver] -= 1
        loads[taker] += 1
        if (taker, topic) in doubled:
            doubled[taker, topic].discard(partition)
        moved += 1
    return moved


class _Balancer:
    """Iterates over the subscribers of a topic from the least loaded upwards and from the most loaded downwards.

    ``members`` are sorted by load. Two ranges, one at each end, contain members that had the same load before this
    round; when all members of a range were visited, its level changes by one and it includes the neighbours at that
    level.
    """

    __slots__ = (
        "_loads",
        "high_end",
        "high_level",
        "high_start",
        "low_end",
        "low_level",
        "members",
        "next_high",
        "next_low",
    )

    def __init__(self, subscribers: Sequence[int], loads: list[int]) -> None:
        self._loads = loads
        self.members = sorted(subscribers, key=lambda place: (loads[place], place))
        self.low_end = 0
        self.low_level = loads[self.members[0]] - 1
        self.next_low = 0
        self.high_start = self.high_end = len(self.members)
        self.high_level = loads[self.members[-1]] + 1
        self.next_high = len(self.members) - 1

    def next_least_loaded(self) -> int:
        """The member that should get the next partition, with its load increased."""
        members, loads = self.members, self._loads
        if self.next_low >= self.low_end:
            self.low_level += 1
            while self.low_end < len(members) and loads[members[self.low_end]] == self.low_level:
                self.low_end += 1
            self.next_low = 0
        member = members[self.next_low]
        self.next_low += 1
        return member

    def next_most_loaded(self) -> int:
        """The member that should lose a partition, with its load reduced; -1 if none is left."""
        members, loads = self.members, self._loads
        if self.next_high < self.high_start:
            if self.high_end <= self.high_start and self.high_start > 0:
                # All members of the range were excluded: start over below it.
                self.high_level = loads[members[self.high_start - 1]]
            else:
                self.high_level -= 1
            while self.high_start > 0 and loads[members[self.high_start - 1]] == self.high_level:
                self.high_start -= 1
            self.next_high = self.high_end - 1
        if self.next_high < 0:
            return -1
        member = members[self.next_high]
        self.next_high -= 1
        return member

    def exclude_most_loaded(self) -> None:
        """Remove the last member of ``next_most_loaded`` from its range: it has nothing to give."""
        last, members = self.high_end - 1, self.members
        members[self.next_high + 1], members[last] = members[last], members[self.next_high + 1]
        self.high_end = last

    def is_balanced(self) -> bool:
        return self.high_level - self.low_level <= 1


def _signed_halves(topic_id: bytes) -> tuple[int, int]:
    return int.from_bytes(topic_id[:8], "big", signed=True), int.from_bytes(topic_id[8:], "big", signed=True)
