"""The rule by which the leader of a classic group requests a rebalance after a change of metadata.

It compares the metadata with those of the leader's last assignment. A change in the number of a subscribed topic's
partitions always counts. A change in the racks of a partition's replicas counts only if the leader itself has a rack
(KIP-881). A broker that is only down disappears from the metadata with its rack: up to Apache Kafka 4.3 that counted as
a change, and its return as another; since KAFKA-20778 it does not.

Source: ConsumerCoordinator.MetadataSnapshot, Apache Kafka 4.1; KAFKA-20778 for the newer rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Replicas = Mapping[int, str | None]
"""Replica id -> its broker's rack; without replicas whose broker the metadata do not list."""


@dataclass(frozen=True, slots=True)
class PartitionRacks:
    """One partition in the metadata.

    Attributes:
        racks: replica id -> rack, None for a broker without one; only replicas on listed brokers.
        unlisted: replicas on brokers that the metadata do not list: they are down.
    """

    racks: Replicas
    unlisted: frozenset[int]

    def known_racks(self) -> set[str]:
        return {rack for rack in self.racks.values() if rack is not None}


Snapshot = Mapping[str, Sequence[PartitionRacks]]
"""Existing topic -> its partitions in order."""


class LeaderWatch:
    """The leader's rule, from one assignment to the next.

    Args:
        rack: the leader's client.rack; None or empty: none, so racks never count.
        broker_down_is_change: the rule of Apache Kafka 3.5 to 4.3, by which a broker's stop and its return each cause
            a rebalance.

    >>> up = {"nodes": [[0, "a"], [1, "b"]], "topics": {"orders": [[0, 1]]}}
    >>> down = {"nodes": [[0, "a"]], "topics": {"orders": [[0, 1]]}}
    >>> moved = {"nodes": [[0, "a"], [1, "b"], [2, "c"]], "topics": {"orders": [[0, 2]]}}
    >>> watch = LeaderWatch("a")
    >>> watch.assigned(up, ["orders"])
    >>> watch.reason_to_rebalance(down)
    >>> watch.reason_to_rebalance(moved)
    'orders-0 has replicas in a, c, had a, b'
    """

    def __init__(self, rack: str | None, *, broker_down_is_change: bool = False) -> None:
        self.rack = rack
        self.broker_down_is_change = broker_down_is_change
        self._topics: tuple[str, ...] = ()
        self._seen: Snapshot = {}

    def assigned(self, cluster: Mapping[str, Any], topics: Iterable[str]) -> None:
        """Store the metadata of the leader's assignment of all members' topics."""
        self._topics = tuple(sorted(set(topics)))
        self._seen = snapshot(cluster, self._topics)

    def reason_to_rebalance(self, cluster: Mapping[str, Any]) -> str | None:
        """Why newer metadata require a rebalance; None if they do not.

        Args:
            cluster: ``nodes`` and ``topics`` as for ``kafka_rack.assignment.assign``; only brokers that are up are in
                ``nodes``, as in a Metadata response.
        """
        now = snapshot(cluster, self._topics)
        for topic in self._topics:
            before, after = self._seen.get(topic, ()), now.get(topic, ())
            if len(before) != len(after):
                return f"{topic} has {len(after)} partitions, had {len(before)}"
        if not self.rack:
            return None
        same = _same_racks_strictly if self.broker_down_is_change else _same_racks
        for topic in self._topics:
            for number, (old, new) in enumerate(zip(self._seen.get(topic, ()), now.get(topic, ()), strict=True)):
                if not same(old, new):
                    return f"{topic}-{number} has replicas in {_names(new)}, had {_names(old)}"
        return None


def snapshot(cluster: Mapping[str, Any], topics: Iterable[str]) -> Snapshot:
    """The racks of some topics' replicas, from the metadata."""
    racks = dict(map(tuple, cluster["nodes"]))
    return {
        topic: [
            PartitionRacks(
                {replica: racks[replica] for replica in replicas if replica in racks},
                frozenset(replica for replica in replicas if replica not in racks),
            )
            for replicas in cluster["topics"][topic]
        ]
        for topic in topics
        if topic in cluster["topics"]
    }


def _same_racks(old: PartitionRacks, new: PartitionRacks) -> bool:
    """True if equal, except for racks of replicas whose broker is down in the other view."""
    return _only_hidden(old, new) and _only_hidden(new, old)


def _only_hidden(view: PartitionRacks, other: PartitionRacks) -> bool:
    hidden = {view.racks[replica] for replica in other.unlisted if replica in view.racks}
    return view.known_racks() - other.known_racks() <= hidden


def _same_racks_strictly(old: PartitionRacks, new: PartitionRacks) -> bool:
    """True if the sets are equal; a broker that is down counts as one without a rack."""
    return _with_none(old) == _with_none(new)


def _with_none(view: PartitionRacks) -> set[str | None]:
    return {*view.racks.values(), *([None] if view.unlisted else [])}


def _names(view: PartitionRacks) -> str:
    down = [f"broker {replica} (down)" for replica in sorted(view.unlisted)]
    return ", ".join([*sorted(view.known_racks()), *down]) or "no rack"
