"""Our own sticky assignment: balance before locality before stickiness, for any subscriptions.

Kafka's code for unequal subscriptions has faults (see sticky_unequal). This replaces it in the client assignors, and
where Kafka's own code would raise an exception. Its guarantees:

- every partition of a subscribed topic has one owner, which subscribes to it;
- no chain of moves between subscribers could balance two members whose loads differ by two or more;
- no swap of two partitions would put more of them into their owners' racks.

It is not a port: its results are not Kafka's.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from heapq import heapify, heappop, heappush

from kafka_rack.assignment.claims import Claims, StickyGroup
from kafka_rack.assignment.swaps import swap_into_racks


class EvenShares:
    """The builder of one assignment; ``owned`` is the result: partition numbers by index in ``group.names``."""

    def __init__(self, group: StickyGroup, claims: Claims) -> None:
        self.group = group
        self.claims = claims
        self.owned: list[list[int]] = [[] for _ in group.names]
        self._owner = [-1] * group.total
        self._topics: list[frozenset[str]] = [frozenset()] * len(group.names)
        for place, member in zip(group.map_order, group.members, strict=True):
            self._topics[place] = frozenset(topic for topic in member.topic_set if topic in group.first)
        self._subscribers = {
            topic: [place for place, topics in enumerate(self._topics) if topic in topics] for topic in group.topics
        }
        self._bits = group.member_bits if group.rack_aware else [0] * len(group.names)
        # Partitions of each member by topic, which it could give away.
        self._held: list[dict[str, list[int]]] = [{} for _ in group.names]

    def build(self) -> None:
        """Fill ``owned``."""
        self._keep(self._fair_loads())
        self._assign_rest()
        self._even_out()
        if self.group.rack_aware:
            swap_into_racks(self._owner, self.group.topic_of, self.group.masks, self._topics, self._bits)
        for partition, member in enumerate(self._owner):
            if member >= 0:
                self.owned[member].append(partition)

    def load(self, member: int) -> int:
        return sum(len(numbers) for numbers in self._held[member].values())

    def _fair_loads(self) -> list[int]:
        """The approximate number of partitions for each member: topics with few subscribers are dealt first."""
        loads = [0] * len(self.group.names)
        for topic in sorted(self.group.topics, key=lambda name: len(self._subscribers[name])):
            heap = [(loads[member], member) for member in self._subscribers[topic]]
            heapify(heap)
            for _ in range(self.group.counts[topic]):
                load, member = heappop(heap)
                heappush(heap, (load + 1, member))
            for load, member in heap:
                loads[member] = load
        return loads

    def _keep(self, fair: list[int]) -> None:
        group = self.group
        for member in group.map_order:
            kept = 0
            for partition in self.claims.owned[member]:
                if kept == fair[member]:
                    break
                if (
                    partition < group.total
                    and partition not in self.claims.contested
                    and self._owner[partition] < 0
                    and group.topic_of[partition] in self._topics[member]
                    and self._in_rack(member, partition)
                ):
                    self._give(partition, member)
                    kept += 1

    def _in_rack(self, member: int, partition: int) -> bool:
        bit = self._bits[member]
        return not bit or bool(bit & self.group.masks[partition])

    def _give(self, partition: int, member: int) -> None:
        self._owner[partition] = member
        self._held[member].setdefault(self.group.topic_of[partition], []).append(partition)

    def _move(self, partition: int, target: int) -> None:
        self._held[self._owner[partition]][self.group.topic_of[partition]].remove(partition)
        self._give(partition, target)

    def _assign_rest(self) -> None:
        """Assign each partition to the least loaded subscriber in its racks, unless one elsewhere has two fewer."""
        group = self.group
        loads = [self.load(member) for member in range(len(group.names))]
        by_topic = sorted(group.topics, key=lambda name: len(self._subscribers[name]))
        for topic in by_topic:
            # A sorted list for each kind of rack: its head is the least loaded.
            by_rack: dict[int, list[tuple[int, int]]] = {}
            for member in self._subscribers[topic]:
                by_rack.setdefault(self._bits[member], []).append((loads[member], member))
            for entries in by_rack.values():
                entries.sort()
            first = group.first[topic]
            free = [number for number in range(first, first + group.counts[topic]) if self._owner[number] < 0]
            free.sort(key=lambda number: sum(len(by_rack[bit]) for bit in by_rack if bit & group.masks[number]))
            for partition in free:
                mask = group.masks[partition]
                lists = [entries for bit, entries in by_rack.items() if not bit or bit & mask]
                near = min(lists, key=_head) if lists else None
                anywhere = min(by_rack.values(), key=_head)
                chosen = near if near is not None and near[0][0] <= anywhere[0][0] + 1 else anywhere
                load, member = chosen.pop(0)
                insort(chosen, (load + 1, member))
                loads[member] = load + 1
                self._give(partition, member)

    def _even_out(self) -> None:
        """Shift partitions along chains of members, each from a loaded one to one with two fewer, while any exists."""
        loads = [self.load(member) for member in range(len(self.group.names))]
        settled: set[int] = set()
        while True:
            lowest = min((load for load, topics in zip(loads, self._topics, strict=True) if topics), default=0)
            open_members = [member for member in range(len(loads)) if member not in settled]
            if not open_members:
                return
            source = max(open_members, key=lambda member: (loads[member], -member))
            if loads[source] <= lowest + 1:
                return
            chain = self._chain_down(source, loads)
            if chain is None:
                settled.add(source)
                continue
            for giver, taker, topic in chain:
                candidates = self._held[giver][topic]
                partition = max(candidates, key=lambda number: (self._gain(number, giver, taker), number))
                self._move(partition, taker)
            loads[chain[0][0]] -= 1
            loads[chain[-1][1]] += 1
            settled.clear()

    def _gain(self, partition: int, giver: int, taker: int) -> int:
        return self._in_rack(taker, partition) - self._in_rack(giver, partition)

    def _chain_down(self, source: int, loads: list[int]) -> list[tuple[int, int, str]] | None:
        """The shortest chain (giver, taker, topic) from ``source`` to a member with at least two partitions fewer."""
        came_from: dict[int, tuple[int, str]] = {source: (source, "")}
        seen_topics: set[str] = set()
        waiting = deque([source])
        while waiting:
            giver = waiting.popleft()
            for topic in sorted(topic for topic, numbers in self._held[giver].items() if numbers):
                if topic in seen_topics:
                    continue
                seen_topics.add(topic)
                for taker in self._subscribers[topic]:
                    if taker not in came_from:
                        came_from[taker] = giver, topic
                        waiting.append(taker)
                lightest = min(self._subscribers[topic], key=lambda member: (loads[member], member))
                if loads[lightest] <= loads[source] - 2:
                    return _trace(came_from, source, lightest)
        return None


def _head(entries: list[tuple[int, int]]) -> tuple[int, int]:
    return entries[0]


def _trace(came_from: dict[int, tuple[int, str]], source: int, target: int) -> list[tuple[int, int, str]]:
    chain = []
    while target != source:
        giver, topic = came_from[target]
        chain.append((giver, target, topic))
        target = giver
    return chain[::-1]
