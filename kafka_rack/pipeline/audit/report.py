"""What the job ``audit`` leaves: tables in Parquet, and one JSON with a row for each cluster."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pyarrow as pa

from kafka_rack.audit import KINDS
from kafka_rack.pipeline.audit.rows import SCHEMAS, Row, column_of, severity
from kafka_rack.pipeline.output.staging import check_ours, staged, write_table
from kafka_rack.pipeline.output.table_file import write_parquet
from kafka_rack.storage import Location

JSON_NAME = "audit.json"
FILES = (*SCHEMAS, JSON_NAME)
"""All that the job writes below its folder, the JSON last."""


class Fleet(msgspec.Struct):
    """What an audit found. ``clusters`` and ``problems`` are those tables' rows; ``tables`` counts the others'."""

    clusters: list[Row]
    problems: list[Row]
    tables: dict[str, int]

    def in_order(self) -> Fleet:
        """The same, the worst clusters first and problems by file and line."""
        self.clusters.sort(key=severity)
        self.problems.sort(key=lambda row: (row["file"], row["line"] or 0, row["reason"]))
        return self

    @property
    def findings(self) -> dict[str, int]:
        """Kind -> how many findings in all clusters."""
        return {kind: sum(row[column_of(kind)] for row in self.clusters) for kind in KINDS}

    @property
    def bad_clusters(self) -> int:
        return sum(row["findings"] > 0 for row in self.clusters)

    @property
    def partitions(self) -> int:
        return sum(row["partitions"] for row in self.clusters)

    @property
    def clean(self) -> bool:
        """Nothing found, and everything read."""
        return not self.bad_clusters and not self.problems


def check(out: Location) -> None:
    """Refuse, before any work, a folder in which the output has no place.

    Raises: NotOurs, OSError.
    """
    with staged(out, ()):
        for name in FILES:
            check_ours(out / name)


def write(fleet: Fleet, folder: Location) -> None:
    """Put what the tasks did not write beside their tables: small tables, and empty ones."""
    write_table(folder, "clusters", SCHEMAS["clusters"], fleet.clusters)
    write_table(folder, "problems", SCHEMAS["problems"], fleet.problems)
    for name, rows in fleet.tables.items():
        if not rows:
            empty = pa.Table.from_pylist([], schema=SCHEMAS[name])
            write_parquet(empty, folder / name / "part-00000.parquet")
    (folder / JSON_NAME).write_text(as_json(fleet), encoding="utf-8")


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
