"""What an outage costs by placer: one row for each cluster size and placer.

Placements that Kafka starts at a drawn place are averaged over every start and shift, or over drawn ones where that is
too many; ``random`` means that each partition's brokers are drawn independently and uniformly, in expectation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb, sqrt
from random import Random
from typing import Any

from kafka_rack.availability.chances import (
    EXACT,
    MONTE_CARLO,
    Chance,
    Outage,
    after_racks,
    number_of_rack_choices,
    tail,
)
from kafka_rack.availability.layout import DEFAULT_TRIALS, check_outage, layout_availability
from kafka_rack.errors import InputError, InvalidReplicationFactorError
from kafka_rack.placement import UsableBroker, place

RANDOM = "random"
PLACERS = ("broker-replica", "copyset", RANDOM, "rack-aware", "striped", "unaware")
MOST_PLACED_PARTITIONS = 500_000
"""About how many partitions may be placed for one row, over all starts and shifts, before some are drawn instead."""
MOST_LAYOUTS = 2_000
LEAST_LAYOUTS = 20
STRIPED_SEEDS = 200
"""How many seeds stand for all of the striped placer's."""
LAYOUTS_WITH_LEADERS = 50
"""For how many layouts of one row the leaders are followed; this takes longest and varies least."""


@dataclass(frozen=True, slots=True)
class Question:
    """A cluster, a topic and an outage."""

    brokers: int
    partitions: int
    replication_factor: int
    failures: int
    placer: str
    racks: int | None = None
    min_insync_replicas: int = 1
    rack_failures: int = 0

    @property
    def outage(self) -> Outage:
        return Outage(self.failures, self.rack_failures)

    def usable_brokers(self) -> list[UsableBroker]:
        """Brokers 0 and on, dealt to the racks in turn."""
        return [
            UsableBroker(number, f"rack-{number % self.racks}" if self.racks else None)
            for number in range(self.brokers)
        ]


@dataclass(frozen=True, slots=True)
class Row:
    """The answer. ``error`` is the standard error of the less certain of the two chances, 0 where both are exact.

    ``scatter_width`` and ``worst_leader_load`` are means, ``copysets`` is a mean where the placer has many layouts;
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
        settings: what the placer understands, such as ``replica.placer.scatter.width``.
        seed, trials: for what cannot be counted.

    Raises: InputError, InvalidReplicationFactorError, ReplicaPlacementError: the question cannot be answered.

    >>> row = availability_row(Question(9, 54, 3, 2, "broker-replica", min_insync_replicas=2))
    >>> (row.p_any_unwritable, row.copysets, row.scatter_width, row.method)
    (0.25, 3, 2.0, 'exact')
    """
    check_question(question)
    random = Random(seed)
    brokers = question.usable_brokers()
    racks = {broker.id: broker.rack for broker in brokers}
    check_outage(racks, question.outage)
    if question.placer == RANDOM:
        return random_row(question, racks)
    layouts, complete = layouts_of(question, brokers, settings or {}, random)
    judged = [
        (
            weight,
            layout_availability(
                rows,
                racks,
                question.outage,
                min_insync_replicas=question.min_insync_replicas,
                random=random,
                trials=max(100, trials // len(layouts)),
                with_leaders=number < LAYOUTS_WITH_LEADERS,
            ),
        )
        for number, (weight, rows) in enumerate(layouts)
    ]
    unwritable = mean_chance([(weight, one.any_unwritable) for weight, one in judged], complete)
    lost = mean_chance([(weight, one.any_lost) for weight, one in judged], complete)
    loads = [(weight, one.worst_leader_load) for weight, one in judged if one.worst_leader_load is not None]
    copysets = mean([(weight, one.copysets) for weight, one in judged])
    return row_of(
        question,
        unwritable,
        lost,
        share=mean([(weight, one.share_unwritable) for weight, one in judged]),
        copysets=int(copysets) if copysets.is_integer() else copysets,
        scatter_width=mean([(weight, one.scatter_width) for weight, one in judged]),
        worst_leader_load=mean(loads),
    )


def check_question(question: Question) -> None:
    """Refuse what no placer could answer, in the words of a user."""
    if question.placer not in PLACERS:
        raise InputError(f"placer {question.placer!r}, but it must be one of {', '.join(PLACERS)}")
    if question.partitions < 1:
        raise InputError(f"{question.partitions} partitions, but there must be at least 1")
    if not 1 <= question.replication_factor <= question.brokers:
        raise InvalidReplicationFactorError(
            f"replication factor {question.replication_factor}, but it must be from 1 to the {question.brokers} brokers"
        )
    if not 1 <= question.min_insync_replicas <= question.replication_factor:
        raise InputError(
            f"min.insync.replicas {question.min_insync_replicas}, but it must be from 1 to replication factor "
            f"{question.replication_factor}"
        )
    if question.racks is not None and not 1 <= question.racks <= question.brokers:
        raise InputError(f"{question.racks} racks, but there must be from 1 to the {question.brokers} brokers")


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
    """A row: the question beside its answer."""
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


def layouts_of(
    question: Question, brokers: Sequence[UsableBroker], settings: Mapping[str, str], random: Random
) -> tuple[list[tuple[int, list[list[int]]]], bool]:
    """The layouts that a placer may give, each with its weight, and whether they are all of them."""
    if question.placer == "striped":
        seeds = [random.getrandbits(48) for _ in range(few(question, STRIPED_SEEDS))]
        placements = [{"seed": seed} for seed in seeds]
        weights, complete = [1] * len(seeds), False
    elif question.placer in ("rack-aware", "unaware"):
        rotations = rotations_of(question)
        complete = len(rotations) <= few(question, MOST_LAYOUTS)
        if not complete:
            drawn = random.choices(list(rotations), list(rotations.values()), k=few(question, MOST_LAYOUTS))
            rotations = Counter(drawn)
        placements = [{"start_index": start, "next_replica_shift": shift} for start, shift in rotations]
        weights = list(rotations.values())
    else:
        placements, weights, complete = [{}], [1], True
    rows = [
        place(question.placer, brokers, 0, question.partitions, question.replication_factor, settings=settings, **one)
        for one in placements
    ]
    return list(zip(weights, rows, strict=True)), complete


def few(question: Question, most: int) -> int:
    """How many layouts may be placed for a question."""
    return max(LEAST_LAYOUTS, min(most, MOST_PLACED_PARTITIONS // question.partitions))


def rotations_of(question: Question) -> Counter[tuple[int, int]]:
    """Every start and first shift that differ in what they lead to -> how many of Kafka's draws do.

    Both are drawn from the number of brokers. Shifts count modulo one less. Where all racks are of one size, another
    start only renames brokers within a placement that is otherwise the same, so that one start stands for all.
    """
    count = question.brokers
    alike = not question.racks or count % question.racks == 0
    step = question.racks if question.racks and question.placer == "rack-aware" else 1
    rotations: Counter[tuple[int, int]] = Counter()
    known: dict[tuple[int, int], tuple[int, int]] = {}
    for start in range(1 if alike else count):
        for shift in range(count):
            effect = (start, shift * step % max(1, count - 1))
            rotations[known.setdefault(effect, (start, shift))] += 1
    return rotations


def mean(values: Sequence[tuple[int, float]]) -> float:
    """The weighted mean of (weight, value)."""
    return sum(weight * value for weight, value in values) / sum(weight for weight, _ in values)


def mean_chance(chances: Sequence[tuple[int, Chance]], complete: bool) -> Chance:
    """The mean over layouts; its error has the errors of each and, where layouts were drawn, how much they differ."""
    value = mean([(weight, chance.value) for weight, chance in chances])
    total = sum(weight for weight, _ in chances)
    variance = sum((weight / total * chance.error) ** 2 for weight, chance in chances)
    if not complete:
        spread = mean([(weight, (chance.value - value) ** 2) for weight, chance in chances])
        # Layouts that all agree may still differ from those not drawn: by no more than one in all of them would.
        variance += max(spread, value * (1 - value) / total, 1 / (total + 4) ** 2) / total
    return Chance(min(1.0, value), sqrt(variance))


def random_row(question: Question, racks: Mapping[int, str | None]) -> Row:
    """Independent uniform sets: given the lost brokers, each partition is hit or not for itself."""
    count, replicas, partitions = question.brokers, question.replication_factor, question.partitions
    unwritable = lost = share = 0.0
    for probability, number_lost in lost_counts(racks, question.outage):
        hit = tail(count, number_lost, replicas, replicas - question.min_insync_replicas + 1)
        gone = tail(count, number_lost, replicas, replicas)
        share += probability * hit
        unwritable += probability * (1 - (1 - hit) ** partitions)
        lost += probability * (1 - (1 - gone) ** partitions)
    sets = comb(count, replicas)
    together = replicas * (replicas - 1) / (count * (count - 1)) if count > 1 else 0.0
    return row_of(
        question,
        Chance(unwritable),
        Chance(lost),
        share=share,
        copysets=sets * (1 - (1 - 1 / sets) ** partitions),
        scatter_width=(count - 1) * (1 - (1 - together) ** partitions),
        worst_leader_load=None,
    )


def lost_counts(racks: Mapping[int, str | None], outage: Outage) -> Iterator[tuple[float, int]]:
    """How many brokers an outage takes: (probability, number)."""
    choices = number_of_rack_choices(racks, outage.rack_failures)
    counts = Counter(len(remaining.lost) for remaining in after_racks(racks, outage.rack_failures))
    for number, ways in sorted(counts.items()):
        yield ways / choices, number + outage.failures
