"""Streams of files: the batches of those that are new in folders, read by the functions of batch jobs."""

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
    """Start a stream of files that are new in folders. A file is read once: move it there when it is whole.

    Args:
        work: called with each batch's files and its number; with those of the last batch again after a crash.
        available_now: read existing files and end; else look again ``every`` so often.
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
