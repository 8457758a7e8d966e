"""The pipeline's own ways from a capture to rows, each as one call; the one place here that knows its inside."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

TABLE = "frames"
SOUGHT = ["api", "ts", "conn", "broker", "client_id", "topic"]
"""Columns whose least and greatest value are in a file."""


def to_rows(path: Path) -> int:
    """A capture's rows of all tables in this process."""
    from kafka_rack.wire_capture.captures import Options
    from kafka_rack.wire_capture.files import find_files
    from kafka_rack.wire_tables.reading import decode_into
    from kafka_rack.wire_tables.rows import Rows

    rows, count = Rows(), 0
    for piece in decode_into(rows, find_files([str(path)])[0][0], Options()):
        count += piece.frames
        piece.clear()
    return count


def to_arrow(path: Path) -> int:
    """A capture's rows of all tables as Arrow batches, in this process; gives the rows."""
    from kafka_rack.wire_capture.captures import Options
    from kafka_rack.wire_capture.files import find_files
    from kafka_rack.wire_tables.arrow import record_batch
    from kafka_rack.wire_tables.reading import decode_into
    from kafka_rack.wire_tables.rows import Rows
    from kafka_rack.wire_tables.tables import TABLES

    rows = Rows()
    count = 0
    for piece in decode_into(rows, find_files([str(path)])[0][0], Options()):
        for table in TABLES:
            batch = record_batch(piece, table)
            count += batch.num_rows if batch is not None else 0
        piece.clear()
    return count


def to_parquet(path: Path, out: Path) -> int:
    """A capture's tables as Parquet files, in this process; gives its frames."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from kafka_rack.wire_tables import read

    tables = read(path)
    out.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        repeated = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
        pq.write_table(table, out / f"{name}.parquet", use_dictionary=repeated, write_statistics=SOUGHT)
    shutil.rmtree(out)
    return len(tables[TABLE])


def through_spark(spark: Any, path: Path, out: Path) -> int:
    """The job ``decode``: all tables as Parquet files; gives the frames."""
    from kafka_rack.pipeline.decode import decode

    summary = decode(spark, [str(path)], str(out))
    shutil.rmtree(out)
    return summary.tables[TABLE]


def one_table(spark: Any, path: Path) -> None:
    """The table ``frames`` alone, as a DataFrame that is read and written nowhere."""
    from kafka_rack.pipeline.decode import decoded_tables
    from kafka_rack.pipeline.route import find_input

    with decoded_tables(spark, find_input(spark, [str(path)])) as tables:
        tables[TABLE].write.format("noop").mode("overwrite").save()
