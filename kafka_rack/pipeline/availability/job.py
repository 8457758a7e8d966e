"""The points of a grid answered on Spark: their chunks judged in any order on any worker, put together point by point.

What is drawn depends on the point, the layout and the chunk alone, so rows do not depend on the number of partitions,
and each is the one that ``kafka_rack.availability.availability_row`` gives for the same seed and trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from kafka_rack.availability import JudgedLayout, Row, TrialChunk, answer, chunks_of, judge
from kafka_rack.errors import KafkaRackError
from kafka_rack.pipeline.availability.grid import Point, Skipped
from kafka_rack.pipeline.spark.progress import UNCOUNTED, ProgressCounter, step
from kafka_rack.pipeline.spark.session import context_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 3
"""So that cores which get cheap chunks go on with others.

On two cores, busy with other work, a grid of 126 points took 27 and 39 s with one task a core, 28 and 40 s with three,
42 and 48 s with eight: each task costs about a fifth of a second.
"""


class Work(NamedTuple):
    """One chunk of a point; no chunk where a formula answers the point."""

    point: int
    chunk: TrialChunk | None


class JudgedTask(NamedTuple):
    """What a chunk gave: layouts judged, or why the placer refuses."""

    judged: tuple[JudgedLayout, ...] = ()
    refused: str | None = None


def work_of(number: int, point: Point, seed: int, trials: int) -> Iterator[Work]:
    """A point's chunks; at least one, so that each point is answered."""
    chunks = chunks_of(point.question, settings=point.settings, seed=seed, trials=trials)
    if not chunks:
        yield Work(number, None)
    for chunk in chunks:
        yield Work(number, chunk)


def do(work: Work, counter: ProgressCounter = UNCOUNTED) -> JudgedTask:
    """Judge one chunk."""
    counter.add(chunks=1)
    if work.chunk is None:
        return JudgedTask()
    try:
        return JudgedTask(tuple(judge(work.chunk)))
    except KafkaRackError as error:
        return JudgedTask(refused=str(error))


def judged_by_task(works: Iterable[tuple[int, Work]], counter: ProgressCounter) -> Iterator[tuple[int, JudgedTask]]:
    """What each chunk of a task gave, with its point."""
    for _, work in works:
        yield work.point, do(work, counter)
    counter.add(tasks=1)


def put_together(point: Point, done: Iterable[JudgedTask], seed: int) -> Row | Skipped:
    """A point's row once all its chunks are done."""
    found = list(done)
    refused = sorted(one.refused for one in found if one.refused is not None)
    if refused:
        return Skipped(point, refused[0])
    judged = [layout for one in found for layout in one.judged]
    return answer(point.question, judged, settings=point.settings, seed=seed)


def place_of(work: Work) -> int:
    """A number that spreads a point's chunks over the tasks."""
    chunk = work.chunk
    which = (work.point, chunk.layouts[0].number, chunk.number) if chunk else (work.point,)
    return crc32(repr(which).encode())


def answer_points(
    spark: SparkSession, points: Sequence[Point], *, seed: int, trials: int, tasks: int | None = None
) -> list[Row | Skipped]:
    """A row for each point, or why its placer refuses it, in the order of the points.

    Args:
        tasks: how many judge chunks; some a core unless given. What comes before and after is little: a task a core.
    """
    if not points:
        return []
    context = context_of(spark)
    tasks = tasks or TASKS_PER_CORE * context.defaultParallelism
    few = min(tasks, context.defaultParallelism)
    given = list(points)
    with step(spark, "judging", tasks=tasks) as counter:
        chunks = context.parallelize(list(enumerate(given)), few).flatMap(
            lambda one: ((place_of(work), work) for work in work_of(*one, seed, trials))
        )
        dealt = chunks.partitionBy(tasks, lambda place: place)
        done = dealt.mapPartitions(lambda works: judged_by_task(works, counter))
        whole = done.groupByKey(few)
        rows = dict(whole.map(lambda one: (one[0], put_together(given[one[0]], one[1], seed))).collect())
    return [rows[number] for number in range(len(given))]
