"""The job ``decode``: captures to tables, as a batch or as a stream of new files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from kafka_rack.pipeline.route import SCHEMAS, Input, find_input, pieces_to_rows, prepared
from kafka_rack.pipeline.streams import each_batch
from kafka_rack.pipeline.tables import PARQUET, ddl_of, rows_of, union_schema, write_table
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import capture_name, unread_inputs
from kafka_rack.wire_tables.tables import PARTITIONED_BY, TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TABLES_AT_ONCE = 4
DAY = "date_from_unix_date(cast(floor(unix_micros(ts) / 86400000000) as int))"


class DecodeSummary(msgspec.Struct):
    """Counts of a run's output. ``frames`` by API: frames and bytes; times in microseconds since 1970.

    ``unpaired``: responses without a request, and requests without a response, such as those that expect none. A
    stream's batch counts both for a call whose request and response are in files of two batches.
    """

    out: str
    files: list[str] = msgspec.field(default_factory=list)
    tables: dict[str, int] = msgspec.field(default_factory=dict)
    frames: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    unpaired: int = 0
    first_ts: int | None = None
    last_ts: int | None = None
    captures: set[str] = msgspec.field(default_factory=set)

    def unread(self, inputs: Sequence[str]) -> list[str]:
        """Inputs, files or folders, without a frame."""
        return unread_inputs(inputs, [path for path in self.files if capture_name(path) in self.captures])


@contextmanager
def decoded_tables(
    spark: SparkSession, found: Input, options: Options | None = None, tasks: int | None = None
) -> Iterator[dict[str, DataFrame]]:
    """The tables of captures as DataFrames, by name, with the columns of docs/tables.md and ``api``."""
    from pyspark import StorageLevel

    asked = options or Options()
    pieces, evidence, parts = prepared(spark, found, asked, tasks)
    step = pieces_to_rows(asked, evidence, parts, found.named)
    rows = pieces.mapInArrow(step, ddl_of(union_schema(SCHEMAS))).persist(StorageLevel.DISK_ONLY)
    try:
        yield {"": rows} | {name: rows_of(rows, name) for name in TABLES}
    finally:
        rows.unpersist()


def decode(
    spark: SparkSession,
    paths: Sequence[str],
    out: str,
    *,
    options: Options | None = None,
    tasks: int | None = None,
    output_format: str = PARQUET,
) -> DecodeSummary:
    """Captures to tables below ``out``; replaces existing days of captures that have new rows.

    Args:
        options: ports and brokers, which packets do not name.
        tasks: the number of tasks; None: Spark's setting.
        output_format: parquet, delta or iceberg.

    Raises: PySparkException: a missing input; a failed task. FormatMissing.
    """
    from pyspark.sql import functions as sql
    from pyspark.util import inheritable_thread_target

    found = find_input(spark, paths)
    with decoded_tables(spark, found, options, tasks) as tables:
        summary = summed_up(tables[""], out, found)

        def write(name: str) -> None:
            partitions = PARTITIONED_BY[name]
            rows = tables[name].withColumn("day", sql.expr(DAY)) if "day" in partitions else tables[name]
            write_table(rows, out, name, output_format, partitions)

        with ThreadPoolExecutor(TABLES_AT_ONCE) as pool:  # most tables are small, and use one core each
            list(pool.map(inheritable_thread_target(spark)(write), filter(summary.tables.get, TABLES)))
    return summary


def summed_up(rows: DataFrame, out: str, found: Input) -> DecodeSummary:
    """Counts of all tables, in one pass."""
    from pyspark.sql import functions as sql

    summary = DecodeSummary(out, found.files)
    times = sql.unix_micros("frames.ts")
    counted = rows.groupBy("table", "frames.api", "frames.capture", "frames.direction").agg(
        sql.count("*").alias("rows"),
        sql.count_if(sql.col("frames.api_key").isNull()).alias("unknown"),
        sql.sum("frames.frame_bytes").alias("bytes"),
        sql.min(times).alias("first"),
        sql.max(times).alias("last"),
    )
    for row in counted.collect():
        summary.tables[row.table] = summary.tables.get(row.table, 0) + row.rows
        if row.table != "frames":
            continue
        frames, size = summary.frames.get(row.api, (0, 0))
        summary.frames[row.api] = frames + row.rows, size + row.bytes
        summary.captures.add(row.capture)
        summary.first_ts = row.first if summary.first_ts is None else min(summary.first_ts, row.first)
        summary.last_ts = row.last if summary.last_ts is None else max(summary.last_ts, row.last)
        summary.unpaired += row.rows if row.direction == "request" else row.unknown
    summary.unpaired -= summary.tables.get("calls", 0)
    return summary


def decode_stream(
    spark: SparkSession,
    paths: Sequence[str],
    out: str,
    checkpoint: str,
    *,
    options: Options | None = None,
    output_format: str = PARQUET,
    on_batch: Callable[[int, DecodeSummary], None] = lambda batch, summary: None,
    **when: Any,
) -> StreamingQuery:
    """The same for each batch of new files in folders.

    Args:
        when: as for ``each_batch``.
    """

    def write(files: list[str], batch: int) -> None:
        if files:
            on_batch(batch, decode(spark, files, out, options=options, output_format=output_format))

    return each_batch(spark, paths, checkpoint, write, **when)
