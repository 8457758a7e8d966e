"""The job ``audit`` on Spark: each task audits its clusters and writes their rows, the driver puts them in place.

A task's clusters follow each other as files and lines do, and its tables are files numbered as the tasks are: read by
name, tables give the same rows in the same order however many tasks there were. Folders must be shared by all workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa

from kafka_rack.pipeline.audit.descriptions import FleetPart, UnreadableCluster, clusters_of, find_pieces
from kafka_rack.pipeline.audit.report import FILES, JSON_NAME, Fleet, check, write
from kafka_rack.pipeline.audit.rows import SCHEMAS, AuditQuestion, Row, rows_of
from kafka_rack.pipeline.output.staging import staged
from kafka_rack.pipeline.output.table_file import TableFile
from kafka_rack.pipeline.spark.progress import UNCOUNTED, ProgressCounter, step
from kafka_rack.pipeline.spark.session import context_of
from kafka_rack.pipeline.spark.storage_settings import reached
from kafka_rack.placement import UsableBroker
from kafka_rack.storage import Location, RemotePath, StorageSettings, current_settings, location, use_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 4
WRITTEN_BY_TASKS = ("violations", "what_if", "repairs")
GROUP_ROWS = 50_000
"""Rows that a task holds before it writes them."""


class AuditedTask(NamedTuple):
    """What a task gives back: rows of the small tables, and how many it wrote of the large ones."""

    clusters: list[Row]
    problems: list[UnreadableCluster]
    written: dict[str, int]


class NothingToAudit(Exception):
    """No description of a cluster is there; the text says where it was looked for."""


def audit_fleet(
    spark: SparkSession,
    paths: Sequence[str],
    out: str | Path | RemotePath,
    *,
    asked: AuditQuestion = AuditQuestion(),  # noqa: B008 - it cannot change
    brokers: Sequence[UsableBroker] | None = None,
    partitions: int | None = None,
) -> Fleet:
    """Audit all clusters of these files and folders, and put the tables below ``out`` in the place of an earlier run's.

    Args:
        brokers: of descriptions that name none.
        partitions: how many tasks; some a core unless given. Tables do not depend on it.

    Raises:
        FileNotFoundError: a path that is not there. NothingToAudit: paths without descriptions.
        NotOurs: ``out`` holds what no job wrote. OSError.
    """
    target, storage = reached(spark, out), current_settings()
    pieces, problems = find_pieces(paths, leave_out=[target / JSON_NAME])
    if not pieces and not problems:
        raise NothingToAudit(f"{', '.join(paths)}: no descriptions of clusters there (.json, .jsonl, plain or gzip)")
    check(target)
    context = context_of(spark)
    tasks = dealt(pieces, partitions or TASKS_PER_CORE * context.defaultParallelism)
    with staged(target, FILES) as folder:
        for name in WRITTEN_BY_TASKS:
            (folder / name).mkdir()
        place = folder.resolve()
        given = list(brokers) if brokers is not None else None
        done: list[AuditedTask] = []
        if tasks:
            with step(spark, "auditing", bytes=sum(size_of(piece) for piece in pieces)) as counter:
                numbered = context.parallelize(list(enumerate(tasks)), len(tasks))
                done = numbered.map(lambda task: audit_pieces(*task, place, asked, given, storage, counter)).collect()
        fleet = Fleet(
            clusters=[row for one in done for row in one.clusters],
            problems=[one._asdict() for one in [*problems, *(bad for one in done for bad in one.problems)]],
            tables={name: sum(one.written.get(name, 0) for one in done) for name in WRITTEN_BY_TASKS},
        )
        write(fleet.in_order(), folder)
    return fleet


def dealt(pieces: Sequence[FleetPart], tasks: int) -> list[list[FleetPart]]:
    """Pieces in runs of about one size in bytes, in order; none is empty."""
    sizes = [size_of(piece) + 1 for piece in pieces]
    total = sum(sizes)
    runs: list[list[FleetPart]] = [[] for _ in range(min(tasks, max(len(pieces), 1)))]
    before = 0
    for piece, size in zip(pieces, sizes, strict=True):
        runs[(before + size // 2) * len(runs) // total].append(piece)
        before += size
    return [run for run in runs if run]


def size_of(piece: FleetPart) -> int:
    return (piece.end or location(piece.path).stat().st_size) - piece.start


def audit_pieces(
    number: int,
    pieces: Iterable[FleetPart],
    folder: Location,
    asked: AuditQuestion,
    brokers: Sequence[UsableBroker] | None,
    storage: StorageSettings,
    counter: ProgressCounter = UNCOUNTED,
) -> AuditedTask:
    """One task's work."""
    use_settings(storage)
    done = AuditedTask([], [], {})
    with TaskTables(folder, number) as tables:
        for piece in joined(pieces):
            for one in clusters_of(piece, brokers):
                if isinstance(one, UnreadableCluster):
                    done.problems.append(one)
                    continue
                rows = rows_of(one, asked)
                done.clusters.append(rows.cluster)
                counter.add(clusters=1)
                for name, listed in rows.tables.items():
                    tables.add(name, listed)
                    done.written[name] = done.written.get(name, 0) + len(listed)
            counter.add(bytes=size_of(piece))
    return done


def joined(pieces: Iterable[FleetPart]) -> Iterator[FleetPart]:
    """Lines that follow each other in a file as one piece, so that the file is opened once.

    >>> first, third = FleetPart("a", "a.jsonl", 0, 5, 1), FleetPart("a", "a.jsonl", 6, 9, 3)
    >>> list(joined([first, third]))
    [FleetPart(path='a', shown='a.jsonl', start=0, end=9, line=1)]
    """
    held: FleetPart | None = None
    for piece in pieces:
        if held is not None and held.end is not None and piece.line and held.path == piece.path:
            held = held._replace(end=piece.end)
            continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held


class TaskTables:
    """One Parquet file a table with rows, written group by group; all are there when a task is done, none before.

    A task may be tried again, and beside itself where Spark speculates.
    """

    def __init__(self, folder: Location, number: int) -> None:
        self.folder, self.number = folder, number
        self.held: dict[str, list[Row]] = {name: [] for name in WRITTEN_BY_TASKS}
        self.files: dict[str, TableFile] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            for name in self.held:
                self.flush(name)
            for file in self.files.values():
                file.close()

    def add(self, name: str, rows: Iterable[Row]) -> None:
        self.held[name] += rows
        if len(self.held[name]) >= GROUP_ROWS:
            self.flush(name)

    def flush(self, name: str) -> None:
        rows, self.held[name] = self.held[name], []
        if not rows:
            return
        if name not in self.files:
            self.files[name] = TableFile(self.folder / name / f"part-{self.number:05d}.parquet", SCHEMAS[name])
        for batch in batches_of(rows, name):
            self.files[name].add_batch(batch)


def batches_of(rows: Sequence[Row], name: str) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow, in groups of a bounded size."""
    for start in range(0, len(rows), GROUP_ROWS):
        yield pa.RecordBatch.from_pylist(list(rows[start : start + GROUP_ROWS]), schema=SCHEMAS[name])
