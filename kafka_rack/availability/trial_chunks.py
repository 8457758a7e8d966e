"""A question's work in chunks that may run anywhere and in any order: some layouts each, or some trials of one.

What is drawn depends on the question, the layout's number and the chunk's number alone, so however the chunks are
spread over processes, together they give one answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from kafka_rack.availability import chances
from kafka_rack.availability.chances import counted_chance, drawn_hits, is_countable
from kafka_rack.availability.layout import DRAWN_LEADER_OUTAGES, expected_share, scatter_width, worst_leader_load
from kafka_rack.availability.question import Question
from kafka_rack.placement import place

LAYOUTS_WITH_LEADERS, MAX_LEADERS_FOLLOWED = 50, 50_000_000
"""For how many layouts of one row the leaders are followed, fewer where all of them and their outages have more leaders
than this: it takes longest and varies least."""
MAX_STEPS_OF_ALL = 60_000_000
"""About how many steps exact answers for all layouts of a row may take, before trying out is chosen: half a minute."""
MIN_TRIALS = 100
"""How often each of many layouts is tried at the least."""
LAYOUTS_EACH, CHUNK_TRIALS, MAX_CHUNKS = 8, 5_000, 64
"""How large a chunk is: some layouts, or some trials of one; more trials make larger chunks, not more."""


@dataclass(frozen=True, slots=True)
class PlannedLayout:
    """A layout that is yet to be placed: its number among the question's, its weight, and what the placer is told."""

    number: int
    weight: int
    told: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class TrialChunk:
    """Part of a question's work. Chunk 0 judges its layouts whole; every chunk draws ``trials`` of each, if need be.

    ``max_steps`` is what counting one layout's exact chance may take.
    """

    question: Question
    settings: Mapping[str, str]
    seed: int
    layouts: tuple[PlannedLayout, ...]
    number: int
    trials: int
    max_steps: int


@dataclass(frozen=True, slots=True)
class JudgedLayout:
    """What a chunk found about one layout.

    ``unwritable`` and ``lost`` are counted chances; None where counting would take too long, when ``trials`` were drawn
    and so many of them ``hit_unwritable`` and ``hit_lost`` any partition.
    """

    number: int
    weight: int
    share: float
    copysets: int
    scatter_width: float
    worst_leader_load: float | None
    unwritable: float | None
    lost: float | None
    trials: int = 0
    hit_unwritable: int = 0
    hit_lost: int = 0


def cut(
    question: Question, settings: Mapping[str, str], seed: int, layouts: Sequence[PlannedLayout], trials: int
) -> Iterator[TrialChunk]:
    """The chunks of a question whose layouts are known, ``trials`` being those of all layouts together."""
    each = trials_each(len(layouts), trials)
    steps = min(chances.MAX_STEPS, MAX_STEPS_OF_ALL // len(layouts))
    chunks = min(MAX_CHUNKS, -(-each // CHUNK_TRIALS))
    for begin in range(0, len(layouts), LAYOUTS_EACH):
        some = tuple(layouts[begin : begin + LAYOUTS_EACH])
        for chunk in range(chunks):
            share = each * (chunk + 1) // chunks - each * chunk // chunks
            yield TrialChunk(question, settings, seed, some, chunk, share, steps)


def trials_each(layouts: int, trials: int) -> int:
    """How often each of so many layouts is tried, ``trials`` being those of all together."""
    return max(MIN_TRIALS, trials // layouts)


def layouts_with_leaders(question: Question) -> int:
    """For how many layouts of a question the leaders are followed."""
    each = DRAWN_LEADER_OUTAGES * (question.brokers + question.partitions)
    return max(1, min(LAYOUTS_WITH_LEADERS, MAX_LEADERS_FOLLOWED // each))


def judge(chunk: TrialChunk) -> list[JudgedLayout]:
    """Do a chunk's work; of chunks after the first only layouts that have to be tried out come back.

    Raises: KafkaRackError: the placer cannot place this.
    """
    question = chunk.question
    racks = {broker.id: broker.rack for broker in question.usable_brokers()}
    found = []
    for planned in chunk.layouts:
        rows = place(
            question.placer,
            question.usable_brokers(),
            0,
            question.partitions,
            question.replication_factor,
            settings=chunk.settings,
            **planned.told,
        )
        judged = judge_layout(chunk, planned, rows, racks)
        if judged is not None:
            found.append(judged)
    return found


def judge_layout(
    chunk: TrialChunk, planned: PlannedLayout, rows: Sequence[Sequence[int]], racks: Mapping[int, str | None]
) -> JudgedLayout | None:
    """One layout of a chunk; None where this chunk has nothing to add."""
    outage = chunk.question.outage
    sets = Counter(frozenset(row) for row in rows)
    sizes = {len(members) for members in sets}
    unwritable = {size: size - chunk.question.min_insync_replicas + 1 for size in sizes}
    lost = {size: size for size in sizes}
    if chunk.number == 0:
        with_leaders = planned.number < layouts_with_leaders(chunk.question)
        judged = JudgedLayout(
            number=planned.number,
            weight=planned.weight,
            share=expected_share(sets, unwritable, racks, outage),
            copysets=len(sets),
            scatter_width=scatter_width(sets, len(racks)),
            worst_leader_load=worst_leader_load(rows, racks, outage, seeded(chunk, planned, "leaders"))
            if with_leaders
            else None,
            unwritable=counted_chance(sets, unwritable, racks, outage, chunk.max_steps),
            lost=counted_chance(sets, lost, racks, outage, chunk.max_steps),
        )
        if judged.unwritable is not None and judged.lost is not None:
            return judged
    elif all(is_countable(sets, threshold, racks, outage, chunk.max_steps) for threshold in (unwritable, lost)):
        return None
    else:
        judged = JudgedLayout(planned.number, planned.weight, 0.0, 0, 0.0, None, None, None)
    random = seeded(chunk, planned, f"trials/{chunk.number}")
    hit_unwritable, hit_lost = drawn_hits(sets, (unwritable, lost), racks, outage, random, chunk.trials)
    return replace(judged, trials=chunk.trials, hit_unwritable=hit_unwritable, hit_lost=hit_lost)


def seeded(chunk: TrialChunk, planned: PlannedLayout, what: str) -> Random:
    """Chance for one purpose of one layout."""
    return question_random(chunk.question, chunk.settings, chunk.seed, f"{planned.number}/{what}")


def question_random(question: Question, settings: Mapping[str, str], seed: int, what: str) -> Random:
    """Chance for one purpose of a question: equal arguments give equal draws, in every process."""
    told = ",".join(f"{name}={settings[name]}" for name in sorted(settings))
    return Random(f"{seed}/{question.key}/{told}/{what}")


def together(judged: Iterable[JudgedLayout]) -> list[JudgedLayout]:
    """What all chunks found, layout by layout in the order of their numbers, trials and hits added up."""
    found: dict[int, list[JudgedLayout]] = {}
    for one in judged:
        found.setdefault(one.number, []).append(one)
    whole = []
    for number in sorted(found):
        parts = found[number]
        first = next(part for part in parts if part.copysets)
        whole.append(
            replace(
                first,
                trials=sum(part.trials for part in parts),
                hit_unwritable=sum(part.hit_unwritable for part in parts),
                hit_lost=sum(part.hit_lost for part in parts),
            )
        )
    return whole
