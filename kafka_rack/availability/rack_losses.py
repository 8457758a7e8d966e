"""The number of ways to lose racks, by the lost brokers and replicas, without an enumeration.

Racks with the same number of brokers, and of replicas of a partition, are one kind. Ways are counted by kind, so ten
failures among sixty racks take no longer than one among six.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import comb

Kind = tuple[int, int]
"""The numbers of a rack's brokers and of its replicas."""


def ways_to_lose(kinds: Mapping[Kind, int], rack_failures: int) -> dict[tuple[int, int], int]:
    """(brokers lost, replicas lost) -> the number of choices of ``rack_failures`` racks that lose exactly these.

    Args:
        kinds: kind of rack -> the number of its racks.

    >>> ways_to_lose({(4, 1): 2, (4, 0): 1}, 2)  # two racks with a replica, and one without
    {(8, 1): 2, (8, 2): 1}
    """
    found: Counter[tuple[int, int, int]] = Counter({(0, 0, 0): 1})
    after = sum(kinds.values())
    for (brokers, replicas), racks in sorted(kinds.items()):
        after -= racks
        taken: Counter[tuple[int, int, int]] = Counter()
        for (failed, lost, gone), ways in found.items():
            still = rack_failures - failed
            for more in range(max(0, still - after), min(racks, still) + 1):
                key = failed + more, lost + more * brokers, gone + more * replicas
                taken[key] += ways * comb(racks, more)
        found = taken
    return {(lost, gone): ways for (_, lost, gone), ways in sorted(found.items())}


def kinds_of_racks(racks: Mapping[int, str | None]) -> Counter[Kind]:
    """The kinds of a cluster's racks, without replicas; omits brokers without a rack."""
    return Counter((size, 0) for size in Counter(rack for rack in racks.values() if rack is not None).values())
