"""The points of a grid answered on Spark, each by one task: rows are those of ``availability_row``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kafka_rack.availability import Row, availability_row
from kafka_rack.errors import KafkaRackError
from kafka_rack.pipeline.availability.grid import Point, Skipped
from kafka_rack.pipeline.spark.progress import step
from kafka_rack.pipeline.spark.session import context_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 3
"""So that cores whose points are cheap go on with others; each task costs about a fifth of a second."""


def answer_points(
    spark: SparkSession, points: Sequence[Point], *, seed: int, trials: int, tasks: int | None = None
) -> list[Row | Skipped]:
    """A row for each point, or why its placer refuses it, in the order of the points.

    Args:
        tasks: how many share the points; some a core unless given.
    """
    if not points:
        return []
    context = context_of(spark)
    tasks = tasks or min(len(points), TASKS_PER_CORE * context.defaultParallelism)
    dealt = sorted(enumerate(points), key=lambda one: one[0] % tasks)  # neighbours cost alike: a task has some of each
    with step(spark, "judging", tasks=tasks) as counter:

        def answered(mine: Iterable[tuple[int, Point]]) -> Iterator[tuple[int, Row | Skipped]]:
            for number, point in mine:
                yield number, row_or_reason(point, seed, trials)
                counter.add(points=1)
            counter.add(tasks=1)

        rows = dict(context.parallelize(dealt, tasks).mapPartitions(answered).collect())
    return [rows[number] for number in range(len(points))]


def row_or_reason(point: Point, seed: int, trials: int) -> Row | Skipped:
    """The row of a point, or why its placer refuses."""
    try:
        return availability_row(point.question, settings=point.settings, seed=seed, trials=trials)
    except KafkaRackError as error:
        return Skipped(point, str(error))
