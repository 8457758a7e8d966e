"""The cost of the failure of each rack and of each broker.

As in ``kafka_rack.audit``, every replica counts as in sync, and partitions without a replica are among the unwritable.
A partition whose leader fails is led by its first replica on a broker that is up, as the controller would have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kafka_rack.audit import DEFAULT_MIN_INSYNC_REPLICAS
from kafka_rack.cluster_layout import ClusterLayout

RACK, BROKER = "rack", "broker"


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One failure and its cost. ``busiest_broker`` is the survivor with the most leaders; None without survivors."""

    fails: str
    rack: str | None
    broker: int | None
    unwritable: int
    lost: int
    busiest_broker: int | None
    busiest_leaders: int


def what_ifs(layout: ClusterLayout, *, min_insync_replicas: int | None = None) -> list[WhatIf]:
    """Every rack by name, then every broker by id.

    Args:
        min_insync_replicas: for topics whose own is unknown; default: 1, as in Kafka.

    >>> from kafka_rack.cluster_layout import layout_of_json
    >>> said = {"brokers": [[0, "a"], [1, "b"], [2, "b"]], "topics": {"orders": [[0, 1], [1, 2]]}}
    >>> [
    ...     (one.rack, one.broker, one.unwritable, one.lost, one.busiest_leaders)
    ...     for one in what_ifs(layout_of_json(said))
    ... ]
    [('a', None, 0, 0, 2), ('b', None, 1, 1, 1), ('a', 0, 0, 0, 2), ('b', 1, 0, 0, 1), ('b', 2, 0, 0, 1)]
    """
    least = DEFAULT_MIN_INSYNC_REPLICAS if min_insync_replicas is None else min_insync_replicas
    cluster = ReplicasByBroker(layout, least)
    found = []
    for rack in layout.racks:
        gone = {broker.id for broker in layout.brokers if broker.rack == rack}
        found.append(WhatIf(RACK, rack, None, *cluster.without(gone)))
    found += [WhatIf(BROKER, one.rack, one.id, *cluster.without({one.id})) for one in layout.brokers]
    return found


class ReplicasByBroker:
    """A layout by broker, so that a failure examines only the partitions that it affects."""

    def __init__(self, layout: ClusterLayout, least: int) -> None:
        self.up = [broker.id for broker in layout.brokers if not broker.fenced]
        self.held: dict[int, list[int]] = {}
        self.partitions: list[tuple[tuple[int, ...], int, int]] = []
        """Replicas, the current leader, and the in-sync replicas that a write needs."""
        for name, _, partition in layout.each_partition():
            needed = layout.topics[name].min_insync_replicas or least
            for broker in partition.replicas:
                self.held.setdefault(broker, []).append(len(self.partitions))
            self.partitions.append((partition.replicas, partition.leading, needed))
        self.leaders = Counter(leading for _, leading, _ in self.partitions)

    def without(self, gone: set[int]) -> tuple[int, int, int | None, int]:
        """The numbers of unwritable and lost partitions, and the busiest survivor with its number of leaders."""
        up = [broker for broker in self.up if broker not in gone]
        alive = set(up)
        leaders = Counter({broker: self.leaders[broker] for broker in up})
        unwritable = lost = 0
        for at in self.touched(gone):
            replicas, leading, needed = self.partitions[at]
            left = [broker for broker in replicas if broker not in gone]
            lost += not left
            unwritable += len(left) < max(needed, 1)
            heir = next((broker for broker in left if broker in alive), None)
            if leading in gone and heir is not None:
                leaders[heir] += 1
        if not up:
            return unwritable, lost, None, 0
        busiest = min(up, key=lambda broker: (-leaders[broker], broker))
        return unwritable, lost, busiest, leaders[busiest]

    def touched(self, gone: set[int]) -> Iterator[int]:
        """The partitions with a replica on these brokers, each once."""
        if len(gone) == 1:
            yield from self.held.get(next(iter(gone)), ())
            return
        yield from sorted({at for broker in gone for at in self.held.get(broker, ())})
