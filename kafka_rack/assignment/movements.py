"""The moves of partitions between members during one balancing, so that a move can undo an earlier one.

Source: AbstractStickyAssignor.PartitionMovements, Apache Kafka 4.1.
"""

from __future__ import annotations

from kafka_rack.assignment.claims import JavaWouldFailError, StickyGroup
from kafka_rack.java import HashTable, string_hash

Pair = tuple[int, int]
"""The first owner of a partition, and its current one."""


class Movements:
    """Movements by partition, and partitions by topic and movement."""

    def __init__(self, group: StickyGroup) -> None:
        self._group = group
        self._pair_of: dict[int, Pair] = {}
        self._moved: dict[str, dict[Pair, HashTable[int]]] = {}
        self._topic_hash = {topic: string_hash(topic) for topic in group.topics}

    def instead_of(self, partition: int, source: int, target: int) -> int:
        """The partition to move instead of moving ``partition`` from ``source`` to ``target``.

        If another one of its topic has moved from ``target`` to ``source``, that one returns: the first in hash order.
        """
        moved = self._moved.get(self._group.topic_of[partition])
        if not moved:
            return partition
        if partition in self._pair_of:
            source = self._pair_of[partition][0]
        back = moved.get((target, source))
        return partition if back is None else back.first()

    def record(self, partition: int, source: int, target: int) -> None:
        """Record a move of ``partition``; one that returns to its first owner is removed."""
        known = self._pair_of.pop(partition, None)
        if known is not None:
            self._forget(partition, known)
            if known[0] == target:
                return
            source = known[0]
        self._pair_of[partition] = source, target
        pairs = self._moved.setdefault(self._group.topic_of[partition], {})
        if (source, target) not in pairs:
            pairs[source, target] = HashTable(self._hash)
        pairs[source, target].add(partition)

    def _forget(self, partition: int, pair: Pair) -> None:
        topic = self._group.topic_of[partition]
        pairs = self._moved.get(topic, {})
        if pair not in pairs:
            raise JavaWouldFailError("a movement was never recorded")
        pairs[pair].remove(partition)
        if not pairs[pair]:
            del pairs[pair]
        if not pairs:
            del self._moved[topic]

    def _hash(self, partition: int) -> int:
        group = self._group
        return 31 * (31 + group.number_of[partition]) + self._topic_hash[group.topic_of[partition]]
