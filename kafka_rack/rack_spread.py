"""The spread of partitions over racks, and its violations: copies that share a rack while another rack has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_rack.cluster_layout import ClusterLayout
from kafka_rack.placement import UsableBroker


@dataclass(frozen=True, slots=True)
class Spread:
    """The copies of one partition by rack.

    ``shared`` are the racks with more than one copy: rack -> brokers, in the order of the replicas.
    ``free`` are the racks without a replica and with a broker that is up, by name.
    ``complete`` is False if a replica is on a broker of unknown rack.
    """

    shared: Mapping[str, tuple[int, ...]]
    free: tuple[str, ...]
    complete: bool

    @property
    def misplaced(self) -> int:
        """The number of copies that could be in their own rack, but are not; 0 if the spread is optimal."""
        return min(sum(len(brokers) - 1 for brokers in self.shared.values()), len(self.free))


def spread_of(replicas: Sequence[int], rack_of: Mapping[int, str | None], usable_racks: Sequence[str]) -> Spread:
    """The spread of one partition.

    >>> spread_of([0, 1], {0: "a", 1: "a", 2: "b"}, ["a", "b"]).misplaced
    1
    """
    by_rack: dict[str, list[int]] = {}
    complete = True
    for broker in replicas:
        rack = rack_of.get(broker)
        if rack is None:
            complete = False
        else:
            by_rack.setdefault(rack, []).append(broker)
    shared = {rack: tuple(by_rack[rack]) for rack in sorted(by_rack) if len(by_rack[rack]) > 1}
    return Spread(shared, tuple(rack for rack in usable_racks if rack not in by_rack), complete)


def usable_racks(layout: ClusterLayout) -> list[str]:
    """The racks with a broker that is up, by name: possible targets of a move."""
    return sorted({broker.rack for broker in layout.brokers if broker.rack is not None and not broker.fenced})


def brokers_by_rack(layout: ClusterLayout) -> dict[str | None, list[UsableBroker]]:
    """Rack -> its brokers, sorted; brokers without a rack last, under None."""
    found: dict[str | None, list[UsableBroker]] = {}
    for broker in sorted(layout.brokers, key=lambda broker: (broker.rack is None, broker.rack or "", broker.id)):
        found.setdefault(broker.rack, []).append(broker)
    return found
