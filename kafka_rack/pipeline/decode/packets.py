"""Large captures of packets planned on Spark: read in ranges, shuffled by connection, written down by block.

The source ``kafka-wire`` is asked for its partitions in a Python without a session, where nothing can be planned by
workers: who has one plans before and hands the plan over.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from kafka_rack.pipeline.spark.session import context_of
from kafka_rack.pipeline.spark.source import Request, planned
from kafka_rack.pipeline.spark.storage_settings import reached
from kafka_rack.storage import Location, RemotePath, StorageSettings, current_settings, use_settings
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import CaptureFile, capture_name
from kafka_rack.wire_capture.packet_planning import plan_packets
from kafka_rack.wire_capture.packet_ranges import ChunkKey, PacketRange
from kafka_rack.wire_capture.splits import CaptureBlock, PlanLarge, block_bytes_for

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import SparkSession

LARGE_BYTES = 64 << 20
"""Of a capture that is planned by many; a smaller one takes the driver a second or two."""
SPOOLED_BYTES = 64 << 20
"""Of the segments of one worker's connections, that are put in order in memory."""
Result = TypeVar("Result")


class SparkWorkers:
    """A plan's workers as partitions of RDDs, whose shuffles are kept from one job to the next."""

    def __init__(self, spark: SparkSession, count: int, storage: StorageSettings) -> None:
        self.context, self.count, self.storage = spark.sparkContext, count, storage
        self._chunks: RDD[tuple[ChunkKey, bytes]] | None = None
        self._told: RDD[tuple[int, bytes]] | None = None

    def read(
        self, ranges: Sequence[PacketRange], read: Callable[[PacketRange], Iterator[tuple[ChunkKey, bytes]]]
    ) -> list[bytes]:
        each = self.context.parallelize(ranges, len(ranges)).mapPartitions(partial(read_each, read, self.storage))
        self._chunks = each.partitionBy(self.count + 1, worker_of).mapPartitions(in_order)
        return list(self.context.runJob(self._chunks, data_of, [self.count]))

    def walk(self, walk: Callable[[Iterable[bytes]], Iterator[tuple[int, bytes]]], targets: int) -> list[bytes]:
        assert self._chunks is not None
        walked = self._chunks.mapPartitionsWithIndex(partial(walk_part, walk, self.count))
        self._told = walked.partitionBy(targets, int)
        return list(self.context.runJob(self._told, data_of, [targets - 1]))

    def at(self, targets: range, work: Callable[[int, list[bytes]], Result]) -> list[Result]:
        assert self._told is not None
        worked = self._told.mapPartitionsWithIndex(partial(work_at, work, self.storage))
        return list(self.context.runJob(worked, list, [*targets])) if targets else []


def worker_of(key: ChunkKey) -> int:
    return key[0]


def in_order(chunks: Iterable[tuple[ChunkKey, bytes]]) -> Iterator[tuple[ChunkKey, bytes]]:
    """Chunks in the order of their keys: what is much waits on disk, as Spark's own sorting would keep 700 MB of it."""
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    with SpooledTemporaryFile(SPOOLED_BYTES, dir=folder if folder and Path(folder).is_dir() else None) as spool:
        found: list[tuple[ChunkKey, int, int]] = []
        at = 0
        for key, data in chunks:
            found.append((key, at, len(data)))
            at += spool.write(data)
        for key, start, size in sorted(found):
            spool.seek(start)
            yield key, spool.read(size)


def data_of(given: Iterable[tuple[Any, bytes]]) -> list[bytes]:
    return [data for _, data in given]


def read_each(
    read: Callable[[PacketRange], Iterator[tuple[ChunkKey, bytes]]],
    storage: StorageSettings,
    ranges: Iterable[PacketRange],
) -> Iterator[tuple[ChunkKey, bytes]]:
    use_settings(storage)
    for one in ranges:
        yield from read(one)


def walk_part(
    walk: Callable[[Iterable[bytes]], Iterator[tuple[int, bytes]]],
    count: int,
    worker: int,
    given: Iterable[tuple[ChunkKey, bytes]],
) -> Iterator[tuple[int, bytes]]:
    if worker < count:  # the last has what was found of the ranges
        yield from walk(data for _, data in given)


def work_at(
    work: Callable[[int, list[bytes]], Result],
    storage: StorageSettings,
    target: int,
    given: Iterable[tuple[int, bytes]],
) -> Iterator[Result]:
    use_settings(storage)
    yield work(target, data_of(given))


def planner(
    spark: SparkSession, options: Options, storage: StorageSettings, folder: Location
) -> Callable[[CaptureFile, int], list[CaptureBlock] | None]:
    """What plans large captures of packets on a session; places are written below ``folder``.

    One core is as fast with a single walk, which the planner leaves a capture to by giving None.

    Raises: PySparkException: a task failed, and its message says why.
    """
    context = spark.sparkContext
    cores = context.defaultParallelism

    def plan_large(file: CaptureFile, block_bytes: int) -> list[CaptureBlock] | None:
        if cores < 2 or file.size < LARGE_BYTES:
            return None
        before = context.getLocalProperty("spark.job.description")
        context.setJobDescription(f"planning {capture_name(file.path)}")
        try:
            return plan_packets(file, options, block_bytes, SparkWorkers(spark, cores, storage), folder)
        except Py4JJavaError as error:
            raise PySparkException(str(error)) from None
        finally:
            context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]

    return plan_large


def plan_captures(
    spark: SparkSession,
    paths: Sequence[str],
    folder: str | Path | RemotePath,
    *,
    source_options: dict[str, str] | None = None,
) -> str:
    """Plan captures as the job ``decode`` does; gives what the option ``plan`` of the source ``kafka-wire`` takes.

    One plan serves every table. It is of what is there now, and holds for as long as the folder is there.

    Args:
        folder: that workers reach; the plan is written below it.
        source_options: of the source ``kafka-wire``: ports, brokers, blockBytes, numPartitions, since, until.

    Raises: FileNotFoundError: an input that is not there.
    """
    target = reached(spark, folder).resolve()
    request = Request.parse({**(source_options or {}), "paths": msgspec.json.encode([*paths]).decode()})
    request.cores, request.storage = context_of(spark).defaultParallelism, current_settings()
    groups = planned(request, planner(spark, request.options, request.storage, target))
    target.mkdir(parents=True, exist_ok=True)
    (target / "plan").write_bytes(pickle.dumps(groups))
    return str(target / "plan")


def cut_large(blocks: Iterable[CaptureBlock], cores: int, plan_large: PlanLarge) -> Iterator[CaptureBlock]:
    """Blocks that are a large file of packets each, cut by all workers; the others as they are."""
    for block in blocks:
        file = block.file
        is_whole = block.refused is None and not block.start and block.end >= file.size
        if is_whole and file.kind == "packets" and file.splittable:
            yield from plan_large(file, block_bytes_for(file.size, cores)) or [block]
        else:
            yield block
