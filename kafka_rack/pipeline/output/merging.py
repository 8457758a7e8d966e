"""Small files of a stream become larger ones, so that a stream of weeks is not millions of files.

Each batch leaves a file for each block, table and day. Now and then those of earlier batches are merged, within one
capture and day, under the name of the first. What the batch itself wrote is left alone: a stream that dies in it writes
it again, in the place of files by their names. What is merged is of batches that the checkpoint has as done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_rack.pipeline.output.commits import COMMIT, TEMPORARY, Commit, commit, drop, run_name
from kafka_rack.pipeline.output.writing import REPEATED, SOUGHT, file_key, file_schema, names_above
from kafka_rack.pipeline.spark.progress import step
from kafka_rack.storage import Location, RemotePath, current_settings, use_settings
from kafka_rack.wire_capture.blocks import CaptureBlock
from kafka_rack.wire_capture.files import capture_name
from kafka_rack.wire_tables.stored import PARTITIONED_BY, partition, read_file, stored_file
from kafka_rack.wire_tables.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_BATCHES = 8
MIN_FILES = 8
"""Fewer are not worth it."""
SMALL_BYTES, MAX_BYTES = 4 << 20, 128 << 20
"""A file below the first is always small; one that is merged stays below the second."""
ROW_GROUP_ROWS = 200_000


class Merge(NamedTuple):
    """Files of one table, capture and day that become one: paths below the tables' folder, in order."""

    table: str
    capture: str
    paths: tuple[str, ...]


class Part(NamedTuple):
    """A file of a table, in the order of its rows."""

    start: int
    number: int
    path: str
    size: int


def merge_small_files(spark: SparkSession, out: Location, batch: Iterable[CaptureBlock]) -> int:
    """Merge what is small of the captures of a batch, whose own files stay; gives how many files became fewer.

    Raises: PySparkException; OSError.
    """
    merges = merges_of(out, batch)
    if not merges:
        return 0
    run = out / TEMPORARY / run_name()
    storage = current_settings()
    try:
        with step(spark, "merging small files", files=sum(len(one.paths) for one in merges)) as counter:

            def work(given: Iterable[Merge]) -> Iterator[int]:
                use_settings(storage)
                for one in given:
                    write_merged(out, run, one)
                    counter.add(files=len(one.paths))
                    yield len(one.paths)

            found = spark.sparkContext.parallelize(merges, len(merges)).mapPartitions(work).collect()
        commit(out, run, change_of(merges))
    except BaseException:
        if not (run / COMMIT).is_file():  # else the next run goes on with it
            drop(run)
        raise
    return sum(found)


def change_of(merges: Iterable[Merge]) -> Commit:
    """What is merged takes the place of its first file, and the others go."""
    found = list(merges)
    replaced = [(one.paths[0], one.paths[0]) for one in found]
    return Commit([], replaced, [path for one in found for path in one.paths[1:]])


def merges_of(out: Location, batch: Iterable[CaptureBlock]) -> list[Merge]:
    """What is worth merging in the captures of a batch, less what the batch itself wrote."""
    first: dict[str, int] = {}
    captures: dict[str, str] = {}
    for block in batch:
        key = file_key(block.file.path)
        first[key] = min(first.get(key, block.start), block.start)
        captures[key] = capture_name(block.file.path)
    return [
        merge
        for table in TABLES
        for capture in sorted(set(captures.values()))
        for merge in merges_in(out, table, capture, first)
    ]


def merges_in(out: Location, table: str, capture: str, first: Mapping[str, int]) -> Iterator[Merge]:
    """The same of one table and capture; ``first`` has the begin of what the batch wrote, by the key of its file."""
    folders = len(PARTITIONED_BY[table])
    groups: dict[tuple[str, str], list[Part]] = {}
    for path, size in sized_files(out / table / partition("capture", capture)):
        file = stored_file(path, folders)
        if file.start >= first.get(file.key, 0) or path.name[:1] in "._":
            continue
        folder = "/".join([table, *reversed(names_above(path, folders))])
        number = path.name.removesuffix(".parquet").partition(".")[2]
        part = Part(file.start, int(number or 0), f"{folder}/{path.name}", size)
        groups.setdefault((folder, file.key), []).append(part)
    for _, parts in sorted(groups.items()):
        parts.sort()
        count = how_many([part.size for part in parts])
        if count:
            yield Merge(table, capture, tuple(part.path for part in parts[-count:]))


def sized_files(folder: Location) -> list[tuple[Location, int]]:
    if isinstance(folder, RemotePath):
        return [(file.path, file.size) for file in folder.files() if file.path.suffix == ".parquet"]
    return [(path, path.stat().st_size) for path in sorted(folder.rglob("*.parquet"))]


def how_many(sizes: Sequence[int]) -> int:
    """How many of the last files are merged, of sizes in bytes from the first to the last; 0 where it is not worth it.

    A file goes along that is small, or not larger than all behind it, so each row is written again a few times at most.

    >>> how_many([5 << 20, *[1 << 10] * 9]), how_many([5 << 20, *[1 << 20] * 9]), how_many([1 << 10] * 5)
    (9, 10, 0)
    """
    count = total = 0
    for size in reversed(sizes):
        if size > max(total, SMALL_BYTES) or total + size > MAX_BYTES:
            break
        count, total = count + 1, total + size
    return count if count >= MIN_FILES else 0


def write_merged(out: Location, run: Location, merge: Merge) -> None:
    """Write the one file below a run's folder, by the path of the first."""
    schema = file_schema(merge.table, merge.capture)
    target = run / merge.paths[0]
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        target.open("wb") as file,
        pq.ParquetWriter(
            file, schema, use_dictionary=REPEATED[merge.table], write_statistics=SOUGHT[merge.table]
        ) as writer,
    ):
        held: list[pa.Table] = []
        for path in merge.paths:
            held.append(read_file(stored_file(out / path, 0), merge.table, schema.names))
            if sum(rows.num_rows for rows in held) >= ROW_GROUP_ROWS:
                writer.write_table(pa.concat_tables(held).replace_schema_metadata(schema.metadata))
                held.clear()
        if held:
            writer.write_table(pa.concat_tables(held).replace_schema_metadata(schema.metadata))
