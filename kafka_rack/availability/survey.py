"""The cost of an outage by placer: one row for each cluster size and placer.

Placements with a random start in Kafka are averaged over every start and shift, or over drawn ones if these are too
many; ``random`` is the expectation for partitions with independently and uniformly drawn brokers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb, expm1, log1p, sqrt
from random import Random
from typing import Any

from kafka_rack.availability import chances
from kafka_rack.availability.chances import EXACT, MONTE_CARLO, Chance, Outage, number_of_rack_choices, tail
from kafka_rack.availability.layout import DEFAULT_TRIALS, DRAWN_LEADER_OUTAGES, check_outage, layout_availability
from kafka_rack.availability.question import RANDOM, Question, check_question
from kafka_rack.availability.rack_losses import kinds_of_racks, ways_to_lose
from kafka_rack.placement import place

MAX_PLACED_PARTITIONS = 500_000
"""The approximate limit of placed partitions for one row, over all starts and shifts; beyond it some are drawn."""
MAX_LAYOUTS = 2_000
MIN_LAYOUTS = 20
MAX_SETS = 10**100
"""With more possible sets than this, no two partitions draw the same one."""
STEPS_TO_PLACE = 20
"""The approximate cost, in steps of a trial, of placing and examining one replica."""
MAX_ROTATIONS = 1_000_000
"""The most pairs of start and shift to enumerate; beyond it they are drawn."""
STRIPED_SEEDS = 200
"""The number of seeds that represent all of the striped placer's."""
LAYOUTS_WITH_LEADERS, MAX_LEADERS_FOLLOWED = 50, 50_000_000
"""The most layouts of one row, and leaders in them and their outages, for ``worst_leader_load``: it takes longest and
varies least."""
MAX_STEPS_OF_ALL = 60_000_000
"""The approximate limit of steps for exact answers for all layouts of a row, half a minute; beyond it they are
simulated."""
MIN_TRIALS = 100
"""The fewest trials of each of many layouts."""


@dataclass(frozen=True, slots=True)
class Row:
    """The answer. ``error`` is the standard error of the less certain of the two chances, 0 if both are exact.

    ``scatter_width`` and ``worst_leader_load`` are means, ``copysets`` is a mean if the placer has many layouts;
    ``worst_leader_load`` is None for ``random``, which has no layout.
    """

    brokers: int
    racks: int | None
    partitions: int
    replication_factor: int
    min_insync_replicas: int
    placer: str
    failures: int
    rack_failures: int
    p_any_unwritable: float
    share_unwritable: float
    p_any_lost: float
    copysets: float
    scatter_width: float
    method: str
    error: float
    worst_leader_load: float | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def availability_row(
    question: Question,
    *,
    settings: Mapping[str, str] | None = None,
    seed: int = 0,
    trials: int = DEFAULT_TRIALS,
) -> Row:
    """Answer one question; equal arguments give equal answers.

    Args:
        settings: the placer's, such as ``replica.placer.scatter.width``.
        seed, trials: for simulations, if the answer cannot be counted.

    Raises: InputError, InvalidReplicationFactorError, ReplicaPlacementError: the question cannot be answered.

    >>> row = availability_row(Question(9, 54, 3, 2, "broker-replica", min_insync_replicas=2))
    >>> (row.p_any_unwritable, row.copysets, row.scatter_width, row.method)
    (0.25, 3, 2.0, 'exact')
    """
    given = dict(settings or {})
    check_question(question)
    brokers = question.usable_brokers()
    racks = {broker.id: broker.rack for broker in brokers}
    check_outage(racks, question.outage)
    if question.placer == RANDOM:
        return random_row(question, racks)
    random = Random(f"{seed}/{question}/{sorted(given.items())}")
    layouts, complete = layouts_of(question, random)
    with_leaders = layouts_with_leaders(question)
    weights, judged = [], []
    for number, (weight, told) in enumerate(layouts):
        rows = place(
            question.placer, brokers, 0, question.partitions, question.replication_factor, settings=given, **told
        )
        weights.append(weight)
        judged.append(
            layout_availability(
                rows,
                racks,
                question.outage,
                min_insync_replicas=question.min_insync_replicas,
                random=random,
                trials=trials_each(len(layouts), trials),
                with_leaders=number < with_leaders,
                max_steps=min(chances.MAX_STEPS, MAX_STEPS_OF_ALL // len(layouts)),
            )
        )

    def averaged(name: str) -> float:
        return mean([(weight, getattr(one, name)) for weight, one in zip(weights, judged, strict=True)])

    copysets = averaged("copysets")
    return row_of(
        question,
        mean_chance([(weight, one.any_unwritable) for weight, one in zip(weights, judged, strict=True)], complete),
        mean_chance([(weight, one.any_lost) for weight, one in zip(weights, judged, strict=True)], complete),
        share=averaged("share_unwritable"),
        copysets=int(copysets) if copysets.is_integer() else copysets,
        scatter_width=averaged("scatter_width"),
        worst_leader_load=mean(
            [
                (weight, one.worst_leader_load)
                for weight, one in zip(weights, judged, strict=True)
                if one.worst_leader_load is not None
            ]
        ),
    )


def row_of(
    question: Question,
    unwritable: Chance,
    lost: Chance,
    *,
    share: float,
    copysets: float,
    scatter_width: float,
    worst_leader_load: float | None,
) -> Row:
    """A row of the question and its answer."""
    error = max(unwritable.error, lost.error)
    return Row(
        brokers=question.brokers,
        racks=question.racks,
        partitions=question.partitions,
        replication_factor=question.replication_factor,
        min_insync_replicas=question.min_insync_replicas,
        placer=question.placer,
        failures=question.failures,
        rack_failures=question.rack_failures,
        p_any_unwritable=unwritable.value,
        share_unwritable=share,
        p_any_lost=lost.value,
        copysets=copysets,
        scatter_width=scatter_width,
        method=MONTE_CARLO if error else EXACT,
        error=error,
        worst_leader_load=worst_leader_load,
    )


def layouts_of(question: Question, random: Random) -> tuple[list[tuple[int, dict[str, int]]], bool]:
    """The layouts of a placer, as (weight, arguments of the placer), and True if they are all of them."""
    told: list[dict[str, int]]
    if question.placer == "striped":
        told = [{"seed": random.getrandbits(48)} for _ in range(few(question, STRIPED_SEEDS))]
        weights, complete = [1] * len(told), False
    elif question.placer in ("rack-aware", "unaware"):
        most = few(question, MAX_LAYOUTS)
        if number_of_rotations(question) > MAX_ROTATIONS:
            complete = False
            starts = 1 if racks_are_alike(question) else question.brokers
            rotations = Counter((random.randrange(starts), random.randrange(question.brokers)) for _ in range(most))
        else:
            rotations = rotations_of(question)
            complete = len(rotations) <= most
            if not complete:
                rotations = Counter(random.choices(list(rotations), list(rotations.values()), k=most))
        told = [{"start_index": start, "next_replica_shift": shift} for start, shift in rotations]
        weights = list(rotations.values())
    else:
        told, weights, complete = [{}], [1], True
    return list(zip(weights, told, strict=True)), complete


def trials_each(layouts: int, trials: int) -> int:
    """The trials of each layout, of ``trials`` for all together."""
    return max(MIN_TRIALS, trials // layouts)


def layouts_with_leaders(question: Question) -> int:
    """The number of a question's layouts for which ``worst_leader_load`` is computed."""
    each = DRAWN_LEADER_OUTAGES * (question.brokers + question.partitions)
    return max(1, min(LAYOUTS_WITH_LEADERS, MAX_LEADERS_FOLLOWED // each))


def few(question: Question, most: int) -> int:
    """The most layouts to place for a question."""
    return max(MIN_LAYOUTS, min(most, MAX_PLACED_PARTITIONS // question.partitions))


def racks_are_alike(question: Question) -> bool:
    """True if all racks have the same size, so that another start only renames brokers."""
    return not question.racks or question.brokers % question.racks == 0


def number_of_rotations(question: Question) -> int:
    return (1 if racks_are_alike(question) else question.brokers) * question.brokers


def rotations_of(question: Question) -> Counter[tuple[int, int]]:
    """Every start and first shift with a distinct result -> the number of Kafka's draws with that result.

    Both are drawn from the number of brokers. Shifts count modulo one less. If all racks have the same size, another
    start only renames brokers within the same placement, so one start represents all.
    """
    count = question.brokers
    alike = racks_are_alike(question)
    step = question.racks if question.racks and question.placer == "rack-aware" else 1
    rotations: Counter[tuple[int, int]] = Counter()
    known: dict[tuple[int, int], tuple[int, int]] = {}
    for start in range(1 if alike else count):
        for shift in range(count):
            effect = (start, shift * step % max(1, count - 1))
            rotations[known.setdefault(effect, (start, shift))] += 1
    return rotations


def steps_of(question: Question, trials: int) -> int:
    """The approximate maximum of steps for a row: placing its layouts, and simulating each.

    MAX_STEPS_OF_ALL limits the steps of counting.
    """
    if question.placer == RANDOM:
        return 0
    layouts = 1
    if question.placer == "striped":
        layouts = few(question, STRIPED_SEEDS)
    elif question.placer in ("rack-aware", "unaware"):
        layouts = min(number_of_rotations(question), few(question, MAX_LAYOUTS))
    replicas = question.partitions * question.replication_factor
    failed = question.failures + question.rack_failures * question.brokers // (question.racks or 1)
    one_trial = failed + failed * replicas // question.brokers + (question.brokers if question.rack_failures else 0)
    placing = STEPS_TO_PLACE * (question.brokers + replicas)
    return layouts * (placing + trials_each(layouts, trials) * one_trial)


def mean(values: Sequence[tuple[int, float]]) -> float:
    """The weighted mean of (weight, value)."""
    return sum(weight * value for weight, value in values) / sum(weight for weight, _ in values)


def mean_chance(chances: Sequence[tuple[int, Chance]], complete: bool) -> Chance:
    """The mean over layouts; its error combines their errors and, if layouts were drawn, their variance."""
    value = mean([(weight, chance.value) for weight, chance in chances])
    total = sum(weight for weight, _ in chances)
    variance = sum((weight / total * chance.error) ** 2 for weight, chance in chances)
    if not complete:
        spread = mean([(weight, (chance.value - value) ** 2) for weight, chance in chances])
        # Even if all drawn layouts agree, the others may differ: by no more than one in all of them would.
        variance += max(spread, value * (1 - value) / total, 1 / (total + 4) ** 2) / total
    return Chance(min(1.0, value), sqrt(variance))


def random_row(question: Question, racks: Mapping[int, str | None]) -> Row:
    """The row of independent uniform sets: for given lost brokers, partitions are hit independently."""
    count, replicas, partitions = question.brokers, question.replication_factor, question.partitions
    unwritable = lost = share = 0.0
    for probability, number_lost in lost_counts(racks, question.outage):
        hit = tail(count, number_lost, replicas, replicas - question.min_insync_replicas + 1)
        gone = tail(count, number_lost, replicas, replicas)
        share += probability * hit
        unwritable += probability * any_of(partitions, hit)
        lost += probability * any_of(partitions, gone)
    sets = comb(count, replicas)
    together = replicas * (replicas - 1) / (count * (count - 1)) if count > 1 else 0.0
    return row_of(
        question,
        Chance(unwritable),
        Chance(lost),
        share=share,
        copysets=float(partitions) if sets > MAX_SETS else sets * any_of(partitions, 1 / sets),
        scatter_width=(count - 1) * any_of(partitions, together),
        worst_leader_load=None,
    )


def lost_counts(racks: Mapping[int, str | None], outage: Outage) -> Iterator[tuple[float, int]]:
    """The numbers of brokers that an outage loses: (probability, number)."""
    choices = number_of_rack_choices(racks, outage.rack_failures)
    for (lost, _), ways in ways_to_lose(kinds_of_racks(racks), outage.rack_failures).items():
        yield ways / choices, lost + outage.failures


def any_of(number: int, chance: float) -> float:
    """The chance that any of ``number`` independent events happens, to full precision if it is small.

    >>> any_of(2, 0.5), any_of(54, 1e-20)
    (0.75, 5.4e-19)
    """
    return 1.0 if chance >= 1 else -expm1(number * log1p(-chance))
