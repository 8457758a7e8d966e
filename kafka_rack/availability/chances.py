"""The probability that a random outage hits any of some sets of brokers: counted exactly if possible, else simulated.

An outage is a number of lost racks and a number of further brokers among the remaining ones; all choices are equally
likely. A set is hit if at least its threshold of members is lost.

Counting is exact in three cases: no outage is large enough; all sets need as many losses as brokers fail, so that the
distinct subsets are counted; or the outages are few enough to enumerate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import comb, sqrt
from random import Random

EXACT = "exact"
MONTE_CARLO = "monte-carlo"
MAX_STEPS = 4_000_000
"""The approximate limit of steps for an exact answer, some seconds; beyond it the outages are simulated."""
MAX_RACK_CHOICES = 2_000
DEEPEST_WALK = 400
"""The most failures in one enumeration, which is recursive; outages of more are rarely few enough anyway."""
SUBSETS, WALK = "subsets", "walk"
"""Two ways to count: distinct subsets of the sets, or an enumeration of outages."""


@dataclass(frozen=True, slots=True)
class Chance:
    """A probability; ``error`` is the standard error of the estimate, 0 if exact."""

    value: float
    error: float = 0.0

    @property
    def method(self) -> str:
        return MONTE_CARLO if self.error else EXACT


@dataclass(frozen=True, slots=True)
class Outage:
    """The failures of an outage: whole racks, and then brokers among the rest."""

    failures: int
    rack_failures: int = 0


@dataclass(frozen=True, slots=True)
class Remaining:
    """The brokers that an outage of racks leaves up, and the lost ones."""

    up: tuple[int, ...]
    lost: frozenset[int]


def after_racks(racks: Mapping[int, str | None], rack_failures: int) -> Iterator[Remaining]:
    """Each choice of failed racks, all equally likely.

    Args:
        racks: broker id -> rack. Without rack failures the racks do not matter and may be None.
    """
    names = sorted({rack for rack in racks.values() if rack is not None})
    for failed in combinations(names, rack_failures):
        lost = frozenset(broker for broker, rack in racks.items() if rack in failed)
        yield Remaining(tuple(sorted(set(racks) - lost)), lost)


def number_of_rack_choices(racks: Mapping[int, str | None], rack_failures: int) -> int:
    """The number of choices of that many failed racks."""
    return comb(len({rack for rack in racks.values() if rack is not None}), rack_failures)


def tail(population: int, drawn: int, members: int, least: int) -> float:
    """The chance that of ``drawn`` from ``population`` at least ``least`` are among ``members`` (hypergeometric).

    >>> round(tail(6, 2, 3, 2), 3)
    0.2
    """
    if least <= 0:
        return 1.0
    ways = sum(
        comb(members, hit) * comb(population - members, drawn - hit)
        for hit in range(least, min(members, drawn) + 1)
        if drawn - hit <= population - members
    )
    return ways / comb(population, drawn)


def chance_of_any(
    sets: Iterable[frozenset[int]],
    threshold: Mapping[int, int],
    racks: Mapping[int, str | None],
    outage: Outage,
    random: Random,
    trials: int,
    max_steps: int | None = None,
) -> Chance:
    """The chance that an outage hits any of the sets.

    Args:
        sets: of broker ids.
        threshold: size of a set -> how many of its members must be lost for it to be hit.
        racks: broker id -> rack, of every broker of the cluster.
        random, trials: for a simulation, if counting would take more than ``max_steps``, by default MAX_STEPS.

    >>> groups = [frozenset({0, 1, 2}), frozenset({3, 4, 5})]
    >>> chance_of_any(groups, {3: 2}, dict.fromkeys(range(6)), Outage(failures=2), Random(0), 100).value
    0.4
    """
    distinct = frozenset(sets)
    counted = counted_chance(distinct, threshold, racks, outage, max_steps)
    if counted is not None:
        return Chance(counted)
    return estimate(drawn_hits(distinct, threshold, racks, outage, random, trials), trials)


def counted_chance(
    sets: Iterable[frozenset[int]],
    threshold: Mapping[int, int],
    racks: Mapping[int, str | None],
    outage: Outage,
    max_steps: int | None = None,
) -> float | None:
    """The exact chance that an outage hits any of the sets; None if counting would take too many steps."""
    max_steps = MAX_STEPS if max_steps is None else max_steps
    distinct = sorted(set(sets), key=sorted)
    choices = number_of_rack_choices(racks, outage.rack_failures)
    if choices > MAX_RACK_CHOICES:
        return None
    total = 0.0
    for remaining in after_racks(racks, outage.rack_failures):
        counted = count_any(distinct, threshold, remaining, outage.failures, max_steps // choices)
        if counted is None:
            return None
        total += counted
    return total / choices


def estimate(hits: float, trials: int) -> Chance:
    """A share of trials with its standard error, by Agresti and Coull, so that 0 and 1 have one too."""
    middle = (hits + 2) / (trials + 4)
    return Chance(hits / trials, sqrt(middle * (1 - middle) / (trials + 4)))


def count_any(
    sets: Sequence[frozenset[int]],
    threshold: Mapping[int, int],
    remaining: Remaining,
    failures: int,
    max_steps: int,
) -> float | None:
    """The exact chance once racks are lost; None if counting would take too many steps."""
    open_sets = open_after(sets, threshold, remaining, failures)
    if not open_sets:
        return 1.0 if open_sets is None else 0.0
    way = way_to_count(open_sets, remaining, failures, max_steps)
    if way is None:
        return None
    if way == SUBSETS:
        hits = len({hit for left, need in open_sets for hit in combinations(sorted(left), need)})
    else:
        hits = walk_outages(list(open_sets), remaining.up, failures)
    return hits / comb(len(remaining.up), failures)


def open_after(
    sets: Iterable[frozenset[int]], threshold: Mapping[int, int], remaining: Remaining, failures: int
) -> dict[tuple[frozenset[int], int], None] | None:
    """The sets that more failures may still hit, as (members left, losses still needed); None once any is hit."""
    open_sets: dict[tuple[frozenset[int], int], None] = {}
    for members in sets:
        left = members - remaining.lost
        need = threshold[len(members)] - (len(members) - len(left))
        if need <= 0:
            return None
        if need <= failures:
            open_sets[left, need] = None
    return open_sets


def way_to_count(
    open_sets: Iterable[tuple[frozenset[int], int]], remaining: Remaining, failures: int, max_steps: int
) -> str | None:
    """The best way to count the outages that hit any open set; None if each takes too many steps."""
    if all(need == failures for _, need in open_sets):
        subsets = sum(comb(len(left), need) for left, need in open_sets)
        if subsets <= max_steps:
            return SUBSETS
    up = len(remaining.up)
    steps = comb(up, failures) * (up + sum(len(left) for left, _ in open_sets)) // up
    return WALK if steps <= max_steps and failures <= DEEPEST_WALK else None


def walk_outages(open_sets: Sequence[tuple[frozenset[int], int]], up: Sequence[int], failures: int) -> int:
    """The number of choices of ``failures`` brokers that hit any set, by enumeration.

    If the brokers lost so far hit a set, all choices of the others are counted at once.
    """
    sets_of: dict[int, list[int]] = {broker: [] for broker in up}
    for number, (left, _) in enumerate(open_sets):
        for broker in left:
            sets_of[broker].append(number)
    needs = [need for _, need in open_sets]

    def walk(begin: int, still: int) -> int:
        hits = 0
        for at in range(begin, len(up) - still + 1):
            touched = sets_of[up[at]]
            hit = False
            for number in touched:
                needs[number] -= 1
                hit = hit or needs[number] == 0
            if hit:
                hits += comb(len(up) - at - 1, still - 1)
            elif still > 1:
                hits += walk(at + 1, still - 1)
            for number in touched:
                needs[number] += 1
        return hits

    return walk(0, failures)


def drawn_hits(
    sets: Iterable[frozenset[int]],
    threshold: Mapping[int, int],
    racks: Mapping[int, str | None],
    outage: Outage,
    random: Random,
    trials: int,
) -> int:
    """The number of ``trials`` random outages that hit any of the sets."""
    distinct = list(set(sets))
    sets_of: dict[int, list[int]] = {broker: [] for broker in racks}
    for number, members in enumerate(distinct):
        for broker in members:
            sets_of[broker].append(number)
    needs = [threshold[len(members)] for members in distinct]
    hits = 0
    for lost in drawn_outages(racks, outage, random, trials):
        losses = Counter(chain.from_iterable(map(sets_of.__getitem__, lost)))
        hits += any(gone >= needs[number] for number, gone in losses.items())
    return hits


def drawn_outages(
    racks: Mapping[int, str | None], outage: Outage, random: Random, trials: int
) -> Iterator[frozenset[int]]:
    """The lost brokers of ``trials`` random outages."""
    names = sorted({rack for rack in racks.values() if rack is not None})
    brokers = sorted(racks)
    for _ in range(trials):
        failed = set(random.sample(names, outage.rack_failures))
        lost = [broker for broker in brokers if racks[broker] in failed]
        up = [broker for broker in brokers if racks[broker] not in failed] if failed else brokers
        yield frozenset([*lost, *random.sample(up, min(outage.failures, len(up)))])
