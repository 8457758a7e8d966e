"""The effect of an outage on one layout: the chance of any hit, the share hit, and the leaders after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from random import Random

from kafka_rack.availability.chances import (
    Chance,
    Outage,
    after_racks,
    chance_of_any,
    drawn_outages,
    number_of_rack_choices,
    tail,
)
from kafka_rack.availability.rack_losses import Kind, kinds_of_racks, ways_to_lose
from kafka_rack.errors import InputError

MAX_LEADER_STEPS = 400_000
"""The approximate limit of leader moves in an enumeration for the worst survivor; beyond it outages are drawn."""
DRAWN_LEADER_OUTAGES = 200
DEFAULT_TRIALS = 20_000


@dataclass(frozen=True, slots=True)
class LayoutAvailability:
    """The expected effect of an outage on a layout, over all outages of its kind.

    Unwritable: fewer in-sync replicas left than min.insync.replicas. Lost: no replica left. ``worst_leader_load`` is
    the number of leaders on the survivor with the most, as a multiple of an even share before the outage.
    """

    any_unwritable: Chance
    any_lost: Chance
    share_unwritable: float
    share_lost: float
    copysets: int
    scatter_width: float
    worst_leader_load: float | None


def layout_availability(
    rows: Sequence[Sequence[int]],
    racks: Mapping[int, str | None],
    outage: Outage,
    *,
    min_insync_replicas: int = 1,
    random: Random,
    trials: int = DEFAULT_TRIALS,
    with_leaders: bool = True,
    max_steps: int | None = None,
) -> LayoutAvailability:
    """The effect of an outage on a layout.

    Args:
        rows: the replicas of each partition, leader first; rows may have different lengths.
        racks: broker id -> rack or None, for every broker of the cluster, also those without replicas.
        random, trials: for a simulation, if counting takes more than ``max_steps``, by default ``chances.MAX_STEPS``.
        with_leaders: False omits ``worst_leader_load``, which takes longest.

    Raises: InputError: no rows, unknown brokers, or more failures than brokers or racks.

    >>> rows = [[0, 1, 2], [3, 4, 5]]
    >>> judged = layout_availability(
    ...     rows, dict.fromkeys(range(6)), Outage(failures=2), min_insync_replicas=2, random=Random(0)
    ... )
    >>> (judged.any_unwritable.value, judged.share_unwritable, judged.copysets, judged.scatter_width)
    (0.4, 0.2, 2, 2.0)
    """
    check(rows, racks, outage, min_insync_replicas)
    sets = Counter(frozenset(row) for row in rows)
    sizes = {len(members) for members in sets}
    unwritable = {size: size - min_insync_replicas + 1 for size in sizes}
    lost = {size: size for size in sizes}
    return LayoutAvailability(
        any_unwritable=chance_of_any(sets, unwritable, racks, outage, random, trials, max_steps),
        any_lost=chance_of_any(sets, lost, racks, outage, random, trials, max_steps),
        share_unwritable=expected_share(sets, unwritable, racks, outage),
        share_lost=expected_share(sets, lost, racks, outage),
        copysets=len(sets),
        scatter_width=scatter_width(sets, len(racks)),
        worst_leader_load=worst_leader_load(rows, racks, outage, random) if with_leaders else None,
    )


def check(
    rows: Sequence[Sequence[int]], racks: Mapping[int, str | None], outage: Outage, min_insync_replicas: int
) -> None:
    """Raises InputError: invalid arguments."""
    if not rows:
        raise InputError("a layout without partitions")
    for number, row in enumerate(rows):
        unknown = sorted(set(row) - set(racks))
        if unknown:
            raise InputError(f"partition {number} is on broker {unknown[0]}, which is not in the cluster")
        if not row or len(set(row)) != len(row):
            raise InputError(f"replicas of partition {number}: expected different brokers, got {list(row)}")
        if not 1 <= min_insync_replicas <= len(row):
            raise InputError(
                f"min.insync.replicas: expected 1 to the {len(row)} replicas of partition {number}, "
                f"got {min_insync_replicas}"
            )
    check_outage(racks, outage)


def check_outage(racks: Mapping[int, str | None], outage: Outage) -> None:
    """Raises InputError: more failures than brokers or racks."""
    sizes = Counter(rack for rack in racks.values() if rack is not None)
    if outage.rack_failures < 0 or outage.failures < 0:
        raise InputError(
            f"{outage.failures} failed brokers and {outage.rack_failures} failed racks, but neither can be below 0"
        )
    if outage.rack_failures > len(sizes):
        raise InputError(f"{outage.rack_failures} failed racks, but there are {len(sizes)}")
    left = len(racks) - sum(size for _, size in sizes.most_common(outage.rack_failures))
    if outage.failures > left:
        raise InputError(f"{outage.failures} failed brokers, but {left} are left to fail")


def expected_share(
    sets: Mapping[frozenset[int], int], threshold: Mapping[int, int], racks: Mapping[int, str | None], outage: Outage
) -> float:
    """The expected share of partitions that an outage hits; always exact, since it is a sum over partitions."""
    shapes: Counter[tuple[int, tuple[tuple[Kind, int], ...]]] = Counter()
    without = kinds_of_racks(racks)
    in_rack = Counter(rack for rack in racks.values() if rack is not None)
    for members, count in sets.items():
        held = Counter(racks[broker] for broker in members)
        kinds = without.copy()
        for rack, replicas in held.items():
            if rack is not None:
                kinds[in_rack[rack], 0] -= 1
                kinds[in_rack[rack], replicas] += 1
        shapes[len(members), tuple(sorted((+kinds).items()))] += count
    total = 0.0
    choices = number_of_rack_choices(racks, outage.rack_failures)
    for (size, kinds_found), count in sorted(shapes.items()):
        for (lost, gone), ways in ways_to_lose(dict(kinds_found), outage.rack_failures).items():
            hit = tail(len(racks) - lost, outage.failures, size - gone, threshold[size] - gone)
            total += count * (ways / choices) * hit
    return total / sum(sets.values())


def scatter_width(sets: Mapping[frozenset[int], int], num_brokers: int) -> float:
    """The number of other brokers with which a broker shares partitions, on average over all brokers."""
    partners: dict[int, set[int]] = {}
    for members in sets:
        for broker in members:
            partners.setdefault(broker, set()).update(members)
    return sum(len(met) - 1 for met in partners.values()) / num_brokers


def worst_leader_load(
    rows: Sequence[Sequence[int]], racks: Mapping[int, str | None], outage: Outage, random: Random
) -> float:
    """The expected leaders on the most loaded survivor, as a multiple of an even share before the outage.

    The leader of each partition is its first replica that is up.
    """
    led: dict[int, list[Sequence[int]]] = {broker: [] for broker in racks}
    for row in rows:
        led[row[0]].append(row)
    exact = exact_leader_load(led, racks, outage, len(racks) + len(rows))
    if exact is None:
        drawn = [busiest(led, lost) for lost in drawn_outages(racks, outage, random, DRAWN_LEADER_OUTAGES)]
        exact = sum(drawn) / len(drawn)
    return exact / (len(rows) / len(racks))


def exact_leader_load(
    led: Mapping[int, Sequence[Sequence[int]]], racks: Mapping[int, str | None], outage: Outage, steps_each: int
) -> float | None:
    """The mean over all outages of the most leaders on one survivor; None if there are too many outages."""
    choices = number_of_rack_choices(racks, outage.rack_failures)
    if choices * comb(len(racks), outage.failures) * steps_each > MAX_LEADER_STEPS:
        return None
    total = 0.0
    for remaining in after_racks(racks, outage.rack_failures):
        peaks = [busiest(led, remaining.lost.union(failed)) for failed in combinations(remaining.up, outage.failures)]
        total += sum(peaks) / len(peaks)
    return total / choices


def busiest(led: Mapping[int, Sequence[Sequence[int]]], lost: frozenset[int]) -> int:
    """The most leaders on one survivor, after the next replica that is up leads each lost broker's partitions."""
    taken = {broker: len(rows) for broker, rows in led.items() if broker not in lost}
    for broker in lost:
        for row in led[broker]:
            for replica in row:
                if replica in taken:
                    taken[replica] += 1
                    break
    return max(taken.values(), default=0)
