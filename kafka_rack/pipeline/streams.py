"""Streams of files: batches of new files in folders, processed by the functions of batch jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from kafka_rack.pipeline.route import path_of, place_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BINARY_FILES = "path string, modificationTime timestamp, length long, content binary"


def each_batch(
    spark: SparkSession,
    paths: Sequence[str],
    checkpoint: str,
    work: Callable[[list[str], int], None],
    *,
    available_now: bool = False,
    every: str = "5 seconds",
) -> StreamingQuery:
    """Start a stream of new files in folders. A file is read once: move it there when it is complete.

    Args:
        work: called with each batch's files and number; again with those of the last batch after a crash.
        available_now: read existing files and end; else check for new ones at the interval ``every``.
    """

    def new_files(path: str) -> DataFrame:
        reader = spark.readStream.format("binaryFile").schema(BINARY_FILES).option("recursiveFileLookup", "true")
        return reader.load(path if "://" in path else place_of(path)).selectExpr("_metadata.file_path url")

    def batch_of_files(files: DataFrame, batch: int) -> None:
        work([path_of(row.url) for row in files.distinct().collect()], batch)

    files = reduce(lambda first, second: first.union(second), map(new_files, paths))
    writer = files.writeStream.foreachBatch(batch_of_files).option("checkpointLocation", checkpoint)
    writer = writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime=every)
    query: StreamingQuery = writer.start()
    return query
