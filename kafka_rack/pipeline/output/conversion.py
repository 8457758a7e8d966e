"""Tables of Delta or Iceberg as the Parquet files that jobs read block by block.

Spark reads a table with whatever its format keeps beside the data, as rows that were deleted or columns that came
later, and each block's rows become the one file that decoding would have written of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kafka_rack.pipeline.output.formats import ADDED, KEY, check_format, table_of
from kafka_rack.pipeline.output.table_file import TableFile
from kafka_rack.pipeline.output.writing import DIGITS, file_schema, table_folder
from kafka_rack.pipeline.spark.progress import ProgressCounter, step
from kafka_rack.storage import Location
from kafka_rack.wire_tables.arrow import arrow_schema
from kafka_rack.wire_tables.stored import PARQUET, format_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROW_GROUP_ROWS = 100_000
START = "block_start"
COUNTED = "written long"


def as_parquet(spark: SparkSession, tables: Location, out: Location, names: Iterable[str]) -> Location:
    """The folder of Parquet tables that has these rows: ``tables`` itself, or ``out``, which is filled.

    Raises: FormatMissing. PySparkException.
    """
    kind = format_of(tables)
    if kind == PARQUET:
        return tables
    check_format(spark, kind, reads=True)
    with step(spark, f"reading {kind} tables") as counter:
        for name in names:
            rows = table_of(spark, tables, kind, name, ADDED)
            if rows is not None:
                by_block = rows.repartition(KEY, START).sortWithinPartitions(KEY, START, "frame")
                by_block.mapInArrow(block_files(out, name, counter), COUNTED).collect()
    (out / "frames").mkdir(parents=True, exist_ok=True)
    return out


def block_files(
    out: Location, table: str, counter: ProgressCounter
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A task that writes a file for each block of the rows that it is given, which come block after block."""

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        written = 0
        current: tuple[str, int] | None = None
        file: TableFile | None = None
        held: list[pa.Table] = []

        def flush() -> None:
            if file is not None and held:
                file.add_table(pa.concat_tables(held))
                held.clear()

        for block, rows in blocks_of(batches):
            if block != current:
                flush()
                if file is not None:
                    file.close()
                current, capture = block, rows["capture"][0].as_py()
                folder = out / table_folder(table, capture, None)
                folder.mkdir(parents=True, exist_ok=True)
                name = f"part-{block[0]}-{block[1]:0{DIGITS}d}.parquet"
                file = TableFile(folder / name, file_schema(table, capture))
            held.append(in_files(rows, table))
            written += rows.num_rows
            counter.add(rows=rows.num_rows)
            if sum(one.num_rows for one in held) >= ROW_GROUP_ROWS:
                flush()
        flush()
        if file is not None:
            file.close()
        yield pa.RecordBatch.from_arrays([pa.array([written], pa.int64())], ["written"])

    return write


def blocks_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[tuple[str, int], pa.Table]]:
    """Rows, which are in the order of their blocks, with the key and start of the block that they are of.

    >>> rows = pa.record_batch({"capture_key": ["a", "a", "b"], "block_start": [0, 9, 0]})
    >>> [(block, found.num_rows) for block, found in blocks_of([rows])]
    [(('a', 0), 1), (('a', 9), 1), (('b', 0), 1)]
    """
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        while rows.num_rows:
            key, start = rows[KEY][0], rows[START][0]
            same = pc.and_(pc.equal(rows[KEY], key), pc.equal(rows[START], start))
            count = pc.sum(same).as_py()
            yield (key.as_py(), start.as_py()), rows.slice(0, count)
            rows = rows.slice(count)


def in_files(rows: pa.Table, table: str) -> pa.Table:
    """Rows as a file of the table has them."""
    schema = arrow_schema(table, with_api=True)
    whole = pa.Table.from_arrays([rows[field.name].cast(field.type) for field in schema], schema=schema)
    return whole.drop_columns(["capture"])
