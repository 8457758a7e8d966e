"""The job ``decode``: captures to tables, as a batch or as a stream."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from kafka_rack.pipeline.output.commits import TEMPORARY, drop, run_name, settle
from kafka_rack.pipeline.output.formats import check_format, ranges_of, write_tables
from kafka_rack.pipeline.output.merging import EVERY_BATCHES, merge_small_files
from kafka_rack.pipeline.output.writing import EVERYTHING, WrittenFile, prepare, put_in_place, write_block
from kafka_rack.pipeline.spark.progress import UNCOUNTED, ProgressCounter, step
from kafka_rack.pipeline.spark.session import register, taking_all_there_is
from kafka_rack.pipeline.spark.source import BLOCKS, KafkaWire, Request, planned
from kafka_rack.pipeline.spark.storage_settings import known_to_spark, reached
from kafka_rack.storage import Location, RemotePath, StorageSettings, current_settings, use_settings
from kafka_rack.wire_capture.blocks import CaptureBlock, packed
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import unread_inputs
from kafka_rack.wire_tables.stored import PARQUET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TASKS_PER_CORE = 3
"""Of a stream's batch at most: many small files go together."""


class DecodeSummary(msgspec.Struct):
    """What a run wrote. ``frames`` by API: frames and bytes; times in microseconds since 1970.

    ``frames_by_file``: how many frames were read of each file; one that is no capture has none.
    """

    out: str
    files: int = 0
    blocks: int = 0
    tables: dict[str, int] = msgspec.field(default_factory=dict)
    frames: dict[str, tuple[int, int]] = msgspec.field(default_factory=dict)
    first_ts: int | None = None
    last_ts: int | None = None
    frames_by_file: dict[str, int] = msgspec.field(default_factory=dict)

    def unread(self, inputs: Iterable[str]) -> list[str]:
        """Inputs, files or folders, of which there is no frame. ``x`` is read in the place of ``x.gz`` beside it."""
        return unread_inputs(inputs, (path for path, frames in self.frames_by_file.items() if frames))

    def count_files(self, rows: Iterable[WrittenFile]) -> None:
        """Note the frames of each file; behind what was written of a block stands the block itself."""
        frames = 0
        for row in rows:
            if row.table == "frames":
                frames += row.rows
            elif not row.table:
                self.frames_by_file[row.path] = self.frames_by_file.get(row.path, 0) + frames
                frames = 0

    def add(self, written: Sequence[WrittenFile]) -> None:
        for one in written:
            self.tables[one.table] = self.tables.get(one.table, 0) + one.rows
            if one.table == "frames":
                frames, size = self.frames.get(one.api, (0, 0))
                self.frames[one.api] = (frames + one.rows, size + one.frame_bytes)
            if one.first_ts is not None and one.last_ts is not None:
                self.first_ts = one.first_ts if self.first_ts is None else min(self.first_ts, one.first_ts)
                self.last_ts = one.last_ts if self.last_ts is None else max(self.last_ts, one.last_ts)


def block_writer(
    out: Location, run: str, options: Options, storage: StorageSettings, counter: ProgressCounter = UNCOUNTED
) -> Callable[[Iterable[list[CaptureBlock]]], Iterator[WrittenFile]]:
    """What each task does with the blocks it is given: decode, write, say what was written."""
    folder = out / TEMPORARY / run

    def write(groups: Iterable[list[CaptureBlock]]) -> Iterator[WrittenFile]:
        use_settings(storage)
        for block in (block for group in groups for block in group):
            frames = 0
            for written in write_block(block, options, folder):
                frames += written.rows if written.table == "frames" else 0
                yield written
            counter.add(blocks=1, bytes=size_of(block), frames=frames)
            yield done(block)

    return write


def size_of(block: CaptureBlock) -> int:
    return max(0, min(block.end, block.file.size) - block.start)


def done(block: CaptureBlock) -> WrittenFile:
    """A block among what was written: its file and where it begins and ends.

    Who reads a file from its beginning reads all of it anew, so what was there of any part of it goes.
    """
    return WrittenFile("", "", block.file.path, 0, 0, block.start, block.end if block.start else EVERYTHING)


def write_blocks(
    spark: SparkSession,
    groups: Sequence[list[CaptureBlock]],
    out: Location,
    options: Options,
    summary: DecodeSummary,
    *,
    whole: bool,
    output_format: str = PARQUET,
) -> None:
    """Decode blocks, a task for each group, and put their tables in place.

    What tasks take and give is small, so it goes without data frames, whose set-up costs as much as ten megabytes.

    Raises: PySparkException: a task failed, and its message says why.
    """
    settle(out)
    run = run_name()
    rows: list[WrittenFile] = []
    try:
        if groups:
            blocks = [block for group in groups for block in group]
            with step(spark, "decoding", blocks=len(blocks), bytes=sum(map(size_of, blocks))) as counter:
                tasks = spark.sparkContext.parallelize(groups, len(groups))
                write = block_writer(out, run, options, current_settings(), counter)
                rows = tasks.mapPartitions(write).collect()
    except Py4JJavaError as error:  # what data frames raise as the other by themselves
        drop(out / TEMPORARY / run)
        raise PySparkException(str(error)) from None
    except BaseException:
        drop(out / TEMPORARY / run)
        raise
    written = [row for row in rows if row.table]
    ranges = [(row.path, row.first_ts or 0, row.last_ts or 0) for row in rows if not row.table]
    if output_format == PARQUET:
        with step(spark, "putting tables in place"):
            put_in_place(out, run, ranges, written, whole=whole)
    else:
        try:
            with step(spark, f"writing {output_format} tables"):
                write_tables(spark, out, out / TEMPORARY / run, output_format, ranges_of(ranges, whole=whole), written)
        finally:
            drop(out / TEMPORARY / run)
    summary.files += len({path for path, _, _ in ranges})
    summary.blocks += len(ranges)
    summary.add(written)
    summary.count_files(rows)


def decode(
    spark: SparkSession,
    paths: Sequence[str],
    out: str | Path | RemotePath,
    *,
    partitions: int | None = None,
    source_options: dict[str, str] | None = None,
    output_format: str = PARQUET,
) -> DecodeSummary:
    """Captures to tables below ``out``; what was there of the same captures is replaced.

    Args:
        output_format: parquet, delta or iceberg, for which the session needs ``formats.settings_of`` and a package.
        partitions: at most so many tasks; one for each file by default.
        source_options: of the source ``kafka-wire``: ports, brokers.

    Raises: FileNotFoundError: an input that is not there. SchemaMismatch: ``out`` is of another version or format.
        FormatMissing.
    """
    target = reached(spark, out).resolve()
    check_format(spark, output_format)
    prepare(target, output_format)
    summary = DecodeSummary(str(out))
    given = options_of(paths, source_options)
    request = Request.parse(given if partitions is None else {**given, "numPartitions": str(partitions)})
    request.storage = current_settings()
    with step(spark, "looking for captures"):
        groups = planned(request)
    write_blocks(spark, groups, target, request.options, summary, whole=True, output_format=output_format)
    return summary


def decode_stream(
    spark: SparkSession,
    paths: Sequence[str],
    out: str | Path | RemotePath,
    checkpoint: str | Path | RemotePath,
    *,
    source_options: dict[str, str] | None = None,
    output_format: str = PARQUET,
    available_now: bool = False,
    every: str = "5 seconds",
    merges: bool = True,
    on_batch: Callable[[int, DecodeSummary], None] | None = None,
) -> StreamingQuery:
    """The same as a stream over growing folders: each micro-batch adds what is new.

    A stream that starts again from its checkpoint writes the batch that it was in once more, in the place of what it
    had written of it.

    Args:
        available_now: read what is there and end; else look again ``every`` so often.
        merges: small files of earlier batches become larger ones, now and then.
    """
    target = reached(spark, out).resolve()
    checkpoint = known_to_spark(spark, checkpoint)
    check_format(spark, output_format)
    prepare(target, output_format)
    given = options_of(paths, source_options)
    options = Request.parse(given).options

    def write(blocks: DataFrame, batch: int) -> None:
        summary, cores = DecodeSummary(str(out)), spark.sparkContext.defaultParallelism
        found: list[CaptureBlock] = [pickle.loads(row.block) for row in blocks.select("block").collect()]  # noqa: S301 - our own
        groups = packed(found, TASKS_PER_CORE * cores)
        write_blocks(spark, groups, target, options, summary, whole=False, output_format=output_format)
        if merges and output_format == PARQUET and batch % EVERY_BATCHES == EVERY_BATCHES - 1:
            merge_small_files(spark, target, found)
        if on_batch is not None:
            on_batch(batch, summary)

    reading = taking_all_there_is(spark) if available_now else spark
    register(reading)
    stream = reading.readStream.format(KafkaWire.name()).options(**given).load()
    writer = stream.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    writer = writer.trigger(availableNow=True) if available_now else writer.trigger(processingTime=every)
    query: StreamingQuery = writer.start()
    return query


def options_of(paths: Sequence[str], source_options: dict[str, str] | None) -> dict[str, str]:
    """The options of the source ``kafka-wire`` that has it plan these captures."""
    return {"table": BLOCKS, "paths": json.dumps([*paths]), **(source_options or {})}
