"""The job ``availability``: the points of a grid judged by Spark's tasks, to tables in Parquet and one JSON.

Rows are those of ``availability_row``.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from kafka_rack.availability import EXACT, Row, availability_row
from kafka_rack.availability.kafka_1736 import NOTE, ComparisonRow, compared
from kafka_rack.errors import KafkaRackError
from kafka_rack.pipeline.availability.grid import Point, Skipped
from kafka_rack.pipeline.tables import schema_of, small_table, write_table, write_text
from kafka_rack.plurals import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 3
"""So that cores whose points are cheap go on with others; each task costs about a fifth of a second."""
POINT_COLUMNS = (
    "brokers int, racks int, partitions int, replication_factor int, min_insync_replicas int, placer string, "
    "failures int, rack_failures int"
)
ROWS = schema_of(
    f"{POINT_COLUMNS}, p_any_unwritable double, share_unwritable double, p_any_lost double, copysets double, "
    "scatter_width double, method string, error double, worst_leader_load double, asked_scatter_width int"
)
SKIPPED = schema_of(f"{POINT_COLUMNS}, asked_scatter_width int, reason string")
COMPARISON = schema_of(
    ", ".join(f"{name} {'int' if name == 'brokers' else 'double'}" for name in ComparisonRow.__dataclass_fields__)
)
TABLES = ("availability", "skipped", "kafka_1736")


class Survey(msgspec.Struct):
    """A grid's answers. ``rows`` and ``skipped`` are as the tables hold them."""

    seed: int
    trials: int
    rows: list[dict[str, Any]] = msgspec.field(default_factory=list)
    skipped: list[dict[str, Any]] = msgspec.field(default_factory=list)
    kafka_1736: list[dict[str, Any]] = msgspec.field(default_factory=list)

    @property
    def said(self) -> str:
        """How many answers there are, and how many of them had to be tried out."""
        tried = sum(row["method"] != EXACT for row in self.rows)
        if not tried:
            return f"{counted(len(self.rows), 'row')}, all exact" if self.rows else "0 rows"
        exact = len(self.rows) - tried
        return f"{counted(len(self.rows), 'row')}: {exact} exact, {tried} from {self.trials} trials (seed {self.seed})"


def survey_of(
    points: Sequence[Point], answers: Sequence[Row | Skipped], skipped: Sequence[Skipped], *, seed: int, trials: int
) -> Survey:
    """All answers of a grid, those that could not be given among the skipped ones."""
    found = Survey(seed, trials)
    rows = []
    for point, one in zip(points, answers, strict=True):
        if isinstance(one, Row):
            rows.append(one)
            found.rows.append({**one.as_dict(), "asked_scatter_width": point.scatter_width})
    refused = [*skipped, *(one for one in answers if isinstance(one, Skipped))]
    found.skipped = [
        {**asdict(one.point.question), "asked_scatter_width": one.point.scatter_width, "reason": one.reason}
        for one in refused
    ]
    found.kafka_1736 = [row.as_dict() for row in compared(rows)]
    return found


def answer_points(
    spark: SparkSession, points: Sequence[Point], *, seed: int, trials: int, tasks: int | None = None
) -> list[Row | Skipped]:
    """A row for each point, or why its placer refuses it, in the order of the points.

    Args:
        tasks: how many share the points; some a core unless given.
    """
    if not points:
        return []
    tasks = tasks or min(len(points), TASKS_PER_CORE * spark.sparkContext.defaultParallelism)

    def answer(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task in (task for batch in batches for task in batch.column("id").to_pylist()):
            mine = range(task, len(points), tasks)  # neighbours cost alike: a task has some of each
            found = [(number, row_or_reason(points[number], seed, trials)) for number in mine]
            yield pa.RecordBatch.from_pylist([{"found": pickle.dumps(found)}])

    rows = spark.range(0, tasks, 1, tasks).mapInArrow(answer, "found binary").collect()
    found = dict(one for row in rows for one in pickle.loads(row.found))  # noqa: S301 - our own
    return [found[number] for number in range(len(points))]


def row_or_reason(point: Point, seed: int, trials: int) -> Row | Skipped:
    """The row of a point, or why its placer refuses."""
    try:
        return availability_row(point.question, settings=point.settings, seed=seed, trials=trials)
    except KafkaRackError as error:
        return Skipped(point, str(error))


def write(spark: SparkSession, found: Survey, out: str) -> None:
    """Put a survey's tables below a folder, in the place of an earlier one's."""
    tables = {
        "availability": (ROWS, found.rows),
        "skipped": (SKIPPED, found.skipped),
        "kafka_1736": (COMPARISON, found.kafka_1736),
    }
    for name, (schema, rows) in tables.items():
        write_table(small_table(spark, rows, schema), out, name)
    write_text(spark, out, "availability.json", as_json(found))


def as_json(found: Survey) -> str:
    said = {"seed": found.seed, "trials": found.trials, "rows": found.rows, "skipped": found.skipped}
    if found.kafka_1736:
        said |= {"kafka_1736": {"rows": found.kafka_1736, "note": NOTE}}
    return json.dumps(said, indent=1) + "\n"
