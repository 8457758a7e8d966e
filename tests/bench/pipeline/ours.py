"""The pipeline's own ways from a capture to rows, each as one call; the one place here that knows its inside."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

TABLE = "frames"
MAX_FRAMES = 50_000
"""Whose rows are held at once."""


def to_rows(path: Path, *, at_once: bool) -> int:
    """A capture's rows of all tables in this process, from many frames at once or from one after the other."""
    from kafka_rack.wire_capture.captures import Options, whole_file
    from kafka_rack.wire_capture.files import find_files
    from kafka_rack.wire_tables.frame_decoding import FrameDecoder
    from kafka_rack.wire_tables.reading import decode_into
    from kafka_rack.wire_tables.rows import Rows

    file, rows, count = find_files([str(path)])[0][0], Rows(), 0
    if at_once:
        for piece in decode_into(rows, file, None, Options()):
            count += piece.frames
            piece.clear()
        return count
    place, frames = whole_file(file, Options(), [])
    decoder = FrameDecoder(place.state, rows)
    for frame in frames:
        decoder.decode(frame)
        if rows.frames >= MAX_FRAMES:
            count += rows.frames
            rows.clear()
            decoder.go_on()
    return count + rows.frames


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
    for piece in decode_into(rows, find_files([str(path)])[0][0], None, Options()):
        for table in TABLES:
            count += sum(batch.num_rows for _, batch in record_batches(piece, table))
        piece.clear()
    return count


def to_parquet(path: Path, out: Path) -> int:
    """A capture's tables as Parquet files, in this process; gives its frames."""
    from kafka_rack.pipeline.output.writing import write_block
    from kafka_rack.wire_capture.captures import Options
    from kafka_rack.wire_capture.files import find_files
    from kafka_rack.wire_capture.splits import CaptureBlock

    file = find_files([str(path)])[0][0]
    written = write_block(CaptureBlock(file, 0, file.size), Options(), out)
    frames = sum(one.rows for one in written if one.table == TABLE)
    shutil.rmtree(out)
    return frames


def through_spark(spark: Any, path: Path, out: Path, partitions: int | None = None) -> int:
    """The job ``decode``: all tables as Parquet files; gives the frames."""
    from kafka_rack.pipeline.decode.job import decode

    summary = decode(spark, [str(path)], out, partitions=partitions)
    shutil.rmtree(out)
    return summary.tables[TABLE]


def one_table(spark: Any, path: Path) -> None:
    """The source ``kafka-wire`` alone: its table ``frames`` into Spark, and no further."""
    spark.read.format("kafka-wire").option("table", TABLE).load(str(path)).write.format("noop").mode("overwrite").save()
