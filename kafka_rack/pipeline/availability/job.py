"""The job ``availability``: the points of a grid, computed by Spark's tasks, to tables in Parquet and one JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_rack.availability import Row
from kafka_rack.availability.kafka_1736 import ComparisonRow
from kafka_rack.pipeline.availability.grid import Point, Skipped
from kafka_rack.pipeline.availability.survey import Survey, as_json, row_or_reason
from kafka_rack.pipeline.tables import schema_of, small_table, write_table, write_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 3
"""Several, so that cores with cheap points continue with others; each task costs about a fifth of a second."""
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


def answer_points(
    spark: SparkSession, points: Sequence[Point], *, seed: int, trials: int, tasks: int | None = None
) -> list[Row | Skipped]:
    """A row for each point, or why its placer refuses it, in the order of the points.

    Args:
        tasks: the number of tasks; default: a few per core.
    """
    if not points:
        return []
    tasks = tasks or min(len(points), TASKS_PER_CORE * spark.sparkContext.defaultParallelism)
    shares = [range(task, len(points), tasks) for task in range(tasks)]  # neighbours have similar costs
    work = spark.sparkContext.parallelize([(number, points[number]) for share in shares for number in share], tasks)
    found = dict(work.mapValues(lambda point: row_or_reason(point, seed, trials)).collect())
    return [found[number] for number in range(len(points))]


def write(spark: SparkSession, found: Survey, out: str) -> None:
    """Write a survey's tables below a folder, replacing an earlier one's."""
    tables = {
        "availability": (ROWS, found.rows),
        "skipped": (SKIPPED, found.skipped),
        "kafka_1736": (COMPARISON, found.kafka_1736),
    }
    for name, (schema, rows) in tables.items():
        write_table(small_table(spark, rows, schema), out, name)
    write_text(spark, out, "availability.json", as_json(found))
