"""The job ``audit``: descriptions of clusters to tables of violations, what-ifs and repairs, and one JSON.

A file ``.json`` contains one cluster, ``.jsonl`` one per line, either plain or gzip; an explicitly named file may have
any name and then contains one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from kafka_rack.audit import KINDS
from kafka_rack.pipeline.audit.descriptions import LINES, SUFFIXES, Described, cluster_of, plain_name
from kafka_rack.pipeline.audit.rows import SCHEMAS, AuditQuestion, Row, column_of, rows_of, severity
from kafka_rack.pipeline.route import Batches, Parts, Step, listed, parts_of, path_of, place_of, rows_in, text_of
from kafka_rack.pipeline.tables import ddl_of, small_table, union_batches, union_schema, write_table, write_text
from kafka_rack.pipeline.tables import rows_of as table_of
from kafka_rack.placement import UsableBroker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JSON_NAME = "audit.json"


class NothingToAudit(Exception):
    """No description of a cluster was found; the text has the places."""


class Fleet(msgspec.Struct):
    """The findings of an audit. ``tables`` counts the rows of tables that are not here.

    The worst of ``clusters`` are first, ``problems`` are by file and line.
    """

    clusters: list[Row]
    problems: list[Row]
    tables: dict[str, int]

    @property
    def findings(self) -> dict[str, int]:
        """Kind -> the number of findings in all clusters."""
        return {kind: sum(row[column_of(kind)] for row in self.clusters) for kind in KINDS}

    @property
    def bad_clusters(self) -> int:
        return sum(row["findings"] > 0 for row in self.clusters)

    @property
    def partitions(self) -> int:
        return sum(row["partitions"] for row in self.clusters)


def audit_fleet(
    spark: SparkSession,
    paths: Sequence[str],
    out: str,
    *,
    asked: AuditQuestion = AuditQuestion(),  # noqa: B008 - it cannot change
    brokers: Sequence[UsableBroker] | None = None,
    tasks: int | None = None,
) -> Fleet:
    """Audit all clusters of these files and folders, and write the tables below ``out``, replacing an earlier run's.

    Args:
        brokers: for descriptions that name none.
        tasks: the number of tasks; default: as Spark divides the files.

    Raises: PySparkException: a path that is not there; a file that cannot be read. NothingToAudit.
    """
    files = find_descriptions(spark, paths, str(Path(out, JSON_NAME).absolute()))
    if not files:
        raise NothingToAudit(f"{', '.join(paths)}: no descriptions of clusters there (.json, .jsonl, plain or gzip)")
    found = audited(spark, files, asked, list(brokers) if brokers is not None else None, tasks)
    found = found.persist()
    try:
        counts = {row.table: row["count"] for row in found.groupBy("table").count().collect()}
        clusters, problems = (
            [row.asDict() for row in table_of(found, name).collect()] for name in ("clusters", "problems")
        )
        clusters.sort(key=severity)
        problems.sort(key=lambda row: (row["file"], row["line"] or 0, row["reason"]))
        others = [name for name in SCHEMAS if name not in ("clusters", "problems")]
        fleet = Fleet(clusters, problems, {name: counts.get(name, 0) for name in others})
        for name in fleet.tables:
            write_table(table_of(found, name), out, name)
        for name, rows in (("clusters", fleet.clusters), ("problems", fleet.problems)):
            write_table(small_table(spark, rows, SCHEMAS[name]), out, name)
    finally:
        found.unpersist()
    write_text(spark, out, JSON_NAME, as_json(fleet))
    return fleet


def find_descriptions(spark: SparkSession, paths: Sequence[str], own: str) -> list[str]:
    """The descriptions in files and folders, without this job's own JSON."""
    found, named = listed(spark, paths)
    wanted = {path for path in found if path in named or plain_name(path).endswith(SUFFIXES)}
    return sorted(wanted - {str(Path(own).resolve())})


def audited(
    spark: SparkSession,
    files: Sequence[str],
    asked: AuditQuestion,
    brokers: list[UsableBroker] | None,
    tasks: int | None,
) -> DataFrame:
    """The rows of all tables, as a union of ``SCHEMAS``."""
    from pyspark.sql import functions as sql

    in_lines = [path for path in files if plain_name(path).endswith(LINES)]
    whole = [path for path in files if path not in in_lines]
    texts: list[tuple[DataFrame, Parts | None]] = []
    if in_lines:
        lines = text_of(spark, in_lines)
        texts.append((lines, parts_of(lines)))
    if whole:
        read = spark.read.option("wholetext", "true").text([place_of(path) for path in whole])
        file = sql.col("_metadata.file_path").alias("file")
        texts.append((read.select(sql.col("value").cast("binary"), file, sql.lit(0).alias("part")), None))
    ddl, found = ddl_of(union_schema(SCHEMAS)), []
    for text, parts in texts:
        shared = text.repartition(tasks) if tasks is not None and parts is None else text
        found.append(shared.mapInArrow(auditor(asked, brokers, parts), ddl))
    return found[0] if len(found) == 1 else found[0].unionAll(found[1])


def auditor(asked: AuditQuestion, brokers: list[UsableBroker] | None, parts: Parts | None) -> Step:
    """A step: descriptions, one per row (``value``, ``file``, ``part``), to rows of all tables.

    Args:
        parts: for files with one cluster per line; None for whole files.
    """

    def step(batches: Batches) -> Iterator[pa.RecordBatch]:
        part, number = ("", 0), 0
        for content, url, begins in rows_in(batches):
            file = path_of(url)
            if (file, begins) != part:
                part = file, begins
                number = (parts or {}).get(part, (0, 0, 0))[2]
            number += 1
            if parts is None or content.strip():
                described = cluster_of(content, file, None if parts is None else number, brokers)
                if isinstance(described, Described):
                    tables = rows_of(described, asked)
                else:
                    tables = {"problems": [described._asdict()]}
                for table, rows in tables.items():
                    found = pa.RecordBatch.from_pylist(rows, schema=SCHEMAS[table])
                    yield from union_batches(table, found, SCHEMAS)

    return step


def as_json(fleet: Fleet) -> str:
    said: dict[str, Any] = {
        "clusters": len(fleet.clusters),
        "clusters_with_findings": fleet.bad_clusters,
        "partitions": fleet.partitions,
        "findings": fleet.findings,
        "tables": {"clusters": len(fleet.clusters), **fleet.tables, "problems": len(fleet.problems)},
        "by_severity": fleet.clusters,
        "problems": fleet.problems,
    }
    return json.dumps(said, indent=1) + "\n"
