"""The pipeline's own ways from a capture to rows, each as one call; the one place here that knows its inside."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

TABLE = "frames"


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
    from kafka_rack.wire_tables.arrow import record_batches
    from kafka_rack.wire_tables.reading import decode_into
    from kafka_rack.wire_tables.rows import Rows
    from kafka_rack.wire_tables.tables import TABLES

    rows = Rows()
    count = 0
    for piece in decode_into(rows, find_files([str(path)])[0][0], Options()):
        for table in TABLES:
            count += sum(batch.num_rows for _, batch in record_batches(piece, table))
        piece.clear()
    return count


def to_parquet(path: Path, out: Path) -> int:
    """A capture's tables as Parquet files, in this process; gives its frames."""
    from kafka_rack.pipeline.output.writing import write_block
    from kafka_rack.wire_capture.blocks import CaptureBlock
    from kafka_rack.wire_capture.captures import Options
    from kafka_rack.wire_capture.files import find_files

    file = find_files([str(path)])[0][0]
    written = write_block(CaptureBlock(file, 0, file.size), Options(), out)
    frames = sum(one.rows for one in written if one.table == TABLE)
    shutil.rmtree(out)
    return frames


def through_spark(spark: Any, path: Path, out: Path) -> int:
    """The job ``decode``: all tables as Parquet files; gives the frames."""
    from kafka_rack.pipeline.decode.job import decode

    summary = decode(spark, [str(path)], out)
    shutil.rmtree(out)
    return summary.tables[TABLE]


def one_table(spark: Any, path: Path) -> None:
    """The source ``kafka-wire`` alone: its table ``frames`` into Spark, and no further."""
    spark.read.format("kafka-wire").option("table", TABLE).load(str(path)).write.format("noop").mode("overwrite").save()
