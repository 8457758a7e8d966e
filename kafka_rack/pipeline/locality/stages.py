"""The stages of the job on Spark: evidence, traffic, tables. The rules are those of ``kafka_rack.locality``.

A stage's tasks give what they found as rows, and Spark adds these up: what the driver gets is as large as the result.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark import TaskContext

from kafka_rack.locality.evidence import Evidence
from kafka_rack.locality.flows import Flows
from kafka_rack.locality.prices import Prices
from kafka_rack.locality.result import Excerpt, microseconds
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import SUMS, Amounts
from kafka_rack.locality.traffic import (
    ALL_SUMS,
    COUNTS,
    GROUPINGS,
    KEYS,
    MONEY,
    TrafficKey,
    TrafficRow,
    TrafficSums,
    add_sums,
    grouped,
    grouping_row,
    time_of,
    traffic_row,
)
from kafka_rack.pipeline.locality.files import DecodedCapture, TableBlock, shared_out
from kafka_rack.pipeline.locality.tables import ParquetTables
from kafka_rack.pipeline.output.table_file import TableFile, write_whole
from kafka_rack.pipeline.spark.progress import UNCOUNTED, ProgressCounter, step
from kafka_rack.storage import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASKS_PER_CORE = 4
MIN_TASK_BYTES = 1 << 20
"""Of tables: less is not worth a task beyond one a core."""
MAX_HELD = 50_000
"""Sums that a task holds before it hands them on."""
ROWS_AT_ONCE = 10_000
MONEY_TYPE = pa.decimal128(38, 18)
WINDOW = pa.timestamp("us", tz="UTC")
TRAFFIC_SCHEMA = pa.schema(
    [(name, WINDOW if name == "window_start" else pa.string()) for name in KEYS]
    + [(name, pa.int64()) for name in COUNTS]
    + [(name, MONEY_TYPE) for name in MONEY]
)
FLAGS = ("saves", "at_most")
TRAFFIC_SUMS = pa.schema(
    [
        (name, pa.int64() if name == "window" else pa.bool_() if name in FLAGS else pa.string())
        for name in TrafficKey._fields
    ]
    + [(name, pa.int64()) for name in SUMS]
)
"""Traffic before it has prices."""
NAMES = ("name_1", "name_2", "name_3", "name_4")
GROUPING_KEYS = ("grouping", "window", *NAMES)
SUM_TYPES = {name: MONEY_TYPE if name in MONEY else pa.int64() for name in ALL_SUMS}
GROUPING_SUMS = pa.schema(
    [("grouping", pa.string()), ("window", pa.int64()), *((name, pa.string()) for name in NAMES), *SUM_TYPES.items()]
)
"""Rows of all tables of ``GROUPINGS``: a table's name, its columns, and the sums."""
GROUPING_SCHEMAS = {
    name: pa.schema(
        [*((column, WINDOW if column == "window_start" else pa.string()) for column in columns), *SUM_TYPES.items()]
    )
    for name, columns in GROUPINGS.items()
}
Batches = Iterable[pa.RecordBatch]


class MeasuredPart(NamedTuple):
    """A block, and the number of its capture."""

    capture: int
    block: TableBlock


def parts_of(captures: Mapping[int, DecodedCapture]) -> list[MeasuredPart]:
    return [MeasuredPart(number, block) for number, capture in captures.items() for block in capture.blocks]


def over(
    spark: SparkSession,
    parts: Sequence[MeasuredPart],
    work: Callable[[list[MeasuredPart]], Batches],
    schema: pa.Schema,
) -> DataFrame:
    """``work`` over parts, those of a capture one behind the other, in tasks of about as many bytes each."""
    sizes, cores = [part.block.size for part in parts], parallelism(spark)
    shares = shared_out(sizes, max(cores, min(TASKS_PER_CORE * cores, sum(sizes) // MIN_TASK_BYTES)))

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for share in batch.column("id").to_pylist():
                yield from work([parts[number] for number in sorted(shares[share])])

    return spark.range(0, len(shares), 1, len(shares)).mapInArrow(task, ddl(schema))


def parallelism(spark: SparkSession) -> int:
    return int(spark.sparkContext.defaultParallelism)


def ddl(schema: pa.Schema) -> str:
    """A schema as Spark reads it."""
    types = {pa.int64(): "long", pa.string(): "string", pa.bool_(): "boolean", pa.binary(): "binary"}
    return ", ".join(f"`{field.name}` {types.get(field.type, 'decimal(38,18)')}" for field in schema)


def batch_of(rows: Iterable[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


# -- evidence ----------------------------------------------------------------------------------------------------------

GATHERED = pa.schema([("number", pa.int64()), ("evidence", pa.binary())])
SPANS = pa.schema([("number", pa.int64()), ("first", pa.int64()), ("last", pa.int64())])


def gather_evidence(
    spark: SparkSession, captures: Mapping[int, DecodedCapture], folder: Location
) -> dict[int, tuple[int, int]]:
    """Write each capture's evidence into a file by its number; gives first and last moments, of those with frames."""
    if not captures:
        return {}
    folder.mkdir(parents=True, exist_ok=True)

    def gather(parts: list[MeasuredPart]) -> Iterator[pa.RecordBatch]:
        for number, blocks in by_capture(parts):
            evidence = Evidence()
            for block in blocks:
                own = Evidence()
                own.add(ParquetTables(block))
                evidence.merge(own)
                counter.add(bytes=block.size)
            yield batch_of([(number, pickle.dumps(evidence))], GATHERED)

    def merge(found: pa.Table) -> pa.Table:
        counter.add(captures=1)
        evidence = Evidence()
        for more in found["evidence"]:
            evidence.merge(pickle.loads(more.as_py()))  # noqa: S301 - our own
        if not evidence.frames:
            return SPANS.empty_table()
        number = found["number"][0].as_py()
        write_whole(folder / str(number), pickle.dumps(evidence))
        return pa.Table.from_batches([batch_of([(number, evidence.first, evidence.last)], SPANS)])

    totals = {"captures": len(captures), "bytes": sum(capture.size for capture in captures.values())}
    with step(spark, "reading what captures tell", **totals) as counter:
        gathered = over(spark, parts_of(captures), gather, GATHERED)
        spans = gathered.groupBy("number").applyInArrow(merge, ddl(SPANS)).collect()
    return {row["number"]: (row["first"], row["last"]) for row in sorted(spans)}


def by_capture(parts: Iterable[MeasuredPart]) -> Iterator[tuple[int, list[TableBlock]]]:
    found: dict[int, list[TableBlock]] = {}
    for part in parts:
        found.setdefault(part.capture, []).append(part.block)
    yield from found.items()


# -- traffic -----------------------------------------------------------------------------------------------------------


def traffic_of(
    spark: SparkSession,
    captures: Mapping[int, DecodedCapture],
    evidence: Location,
    settings: Settings,
    window_us: int,
    counter: ProgressCounter = UNCOUNTED,
) -> DataFrame:
    """Every byte of the captures by ``TrafficKey``, before money; ``evidence`` is the folder of ``gather_evidence``."""
    from pyspark.sql import functions as f

    rules = settings.rules

    def judge(parts: list[MeasuredPart]) -> Iterator[pa.RecordBatch]:
        for number, blocks in by_capture(parts):
            found: Evidence = pickle.loads((evidence / str(number)).read_bytes())  # noqa: S301 - our own
            sums = TrafficSums(found.conclude(rules), rules)
            for block in blocks:
                flows = Flows(window_us, found)
                flows.count(ParquetTables(block))
                sums.add_flows(flows, found.covered)
                counter.add(bytes=block.size)
                if len(sums.amounts) > MAX_HELD:
                    yield from summed_traffic(sums)
            yield from summed_traffic(sums)

    judged = over(spark, parts_of(captures), judge, TRAFFIC_SUMS)
    return judged.groupBy(*TrafficKey._fields).agg(*(f.sum(name).alias(name) for name in SUMS))


def summed_traffic(sums: TrafficSums) -> Iterator[pa.RecordBatch]:
    """What was added up, which is forgotten then."""
    amounts, sums.amounts = sums.amounts, {}
    if amounts:
        yield batch_of([(*key, *more) for key, more in amounts.items()], TRAFFIC_SUMS)


# -- tables ------------------------------------------------------------------------------------------------------------

EXCERPTS = pa.schema([("grouping", pa.string()), ("excerpt", pa.binary())])


def write_tables(traffic: DataFrame, folder: Location, settings: Settings) -> dict[str, Excerpt]:
    """Write ``traffic``, with money, and what it sums up to in each of ``GROUPINGS``; gives what the result needs."""
    for name in ("traffic", *GROUPINGS):
        (folder / name).mkdir(parents=True, exist_ok=True)
    rows = traffic.mapInArrow(priced_into(folder / "traffic", settings.prices), ddl(GROUPING_SUMS))
    return excerpts_of_totals(rows, folder, settings.top)


def excerpts_of_totals(rows: DataFrame, folder: Location, top: int) -> dict[str, Excerpt]:
    """Add up rows of ``GROUPING_SUMS``, and write the tables that they come to; gives what the result needs."""
    from pyspark.sql import functions as f

    sums = rows.groupBy(*GROUPING_KEYS).agg(*(f.sum(name).alias(name) for name in ALL_SUMS))
    largest: list[Any] = [f.desc("cross_bytes"), f.desc("unknown_bytes"), f.desc("bytes")]
    order = ["grouping", *largest, *(f.asc_nulls_last(name) for name in ("window", *NAMES))]
    ordered = sums.repartition("grouping").sortWithinPartitions(*order)
    found = ordered.mapInArrow(excerpts_into(folder, top), ddl(EXCERPTS)).collect()
    excerpts: dict[str, Excerpt] = {name: Excerpt(name, top) for name in GROUPINGS}
    excerpts |= {row["grouping"]: pickle.loads(row["excerpt"]) for row in found}  # noqa: S301 - our own
    return excerpts


def priced_into(folder: Location, prices: Prices) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """A task that writes its rows of ``traffic`` and gives what they sum up to."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        totals = GroupingTotals()
        file: TableFile | None = None
        for batch in batches:
            rows = [traffic_row(key, amounts, prices) for key, amounts in keyed(batch)]
            file = file or TableFile(folder / f"part-{number:05d}.parquet", TRAFFIC_SCHEMA)
            file.add(rows)
            totals.add(rows)
            if len(totals.sums) > MAX_HELD:
                yield from totals.taken()
        if file is not None:
            file.close()
        yield from totals.taken()

    return task


def keyed(batch: pa.RecordBatch) -> Iterator[tuple[TrafficKey, Amounts]]:
    width = len(TrafficKey._fields)
    for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        yield TrafficKey(*row[:width]), row[width:]


class GroupingTotals:
    """Rows of ``traffic`` added up for all tables of ``GROUPINGS``."""

    def __init__(self) -> None:
        self.sums: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def add(self, rows: Iterable[TrafficRow]) -> None:
        for row in rows:
            for group, more in grouped(row):
                before = self.sums.get(group)
                self.sums[group] = more if before is None else add_sums(before, more)

    def taken(self) -> Iterator[pa.RecordBatch]:
        """The sums as rows of ``GROUPING_SUMS``; they are forgotten then."""
        rows = [(*grouping_key(*group), *amounts) for group, amounts in self.sums.items()]
        self.sums.clear()
        if rows:
            yield batch_of(rows, GROUPING_SUMS)


def grouping_key(grouping: str, *key: Any) -> tuple[Any, ...]:
    """A table's name and a row's key there in the columns of ``GROUPING_KEYS``.

    >>> grouping_key("topics", "orders", "consume")
    ('topics', None, 'orders', 'consume', None, None)
    """
    window: int | None = None
    names = list(key)
    if GROUPINGS[grouping][0] == "window_start":
        window = microseconds(names.pop(0))
    return (grouping, window, *names, *[None] * (len(NAMES) - len(names)))


def key_of(grouping: str, window: int | None, names: Sequence[str | None]) -> tuple[Any, ...]:
    """The same the other way.

    >>> key_of("topics", None, ["orders", "consume", None, None])
    ('orders', 'consume')
    """
    width = len(GROUPINGS[grouping])
    return tuple(names[:width]) if window is None else (time_of(window), *names[: width - 1])


def excerpts_into(folder: Location, top: int) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """A task that writes the tables whose rows it is given, in order, and gives what the result needs of each."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for grouping, rows in groupby(rows_of(batches), key=itemgetter(0)):
            excerpt = Excerpt(grouping, top)
            file = TableFile(folder / grouping / "part-0.parquet", GROUPING_SCHEMAS[grouping])
            while held := [row for _, row in islice(rows, ROWS_AT_ONCE)]:
                file.add(held)
                for row in held:
                    excerpt.add(row)
            file.close()
            yield batch_of([(grouping, pickle.dumps(excerpt))], EXCERPTS)

    return task


def rows_of(batches: Batches) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows of ``GROUPING_SUMS`` as those of their tables, with the table's name."""
    for batch in batches:
        for grouping, window, *values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            key = key_of(grouping, window, values[: len(NAMES)])
            yield grouping, grouping_row(grouping, key, values[len(NAMES) :])
