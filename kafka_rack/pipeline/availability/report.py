"""The output of the job ``availability``: tables in Parquet, and one JSON with all of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec
import pyarrow as pa

from kafka_rack.availability import EXACT, Row
from kafka_rack.availability.kafka_1736 import NOTE, ComparisonRow, compared
from kafka_rack.pipeline.availability.grid import Point, Skipped
from kafka_rack.pipeline.output.staging import check_ours, staged, write_table
from kafka_rack.plurals import counted
from kafka_rack.storage import Location

SCHEMA_VERSION = "1"
POINT_FIELDS = [
    ("brokers", pa.int32()),
    ("racks", pa.int32()),
    ("partitions", pa.int32()),
    ("replication_factor", pa.int32()),
    ("min_insync_replicas", pa.int32()),
    ("placer", pa.string()),
    ("failures", pa.int32()),
    ("rack_failures", pa.int32()),
]
METADATA = {b"kafka_rack.schema": SCHEMA_VERSION.encode()}
ROWS = pa.schema(
    [
        *POINT_FIELDS,
        ("p_any_unwritable", pa.float64()),
        ("share_unwritable", pa.float64()),
        ("p_any_lost", pa.float64()),
        ("copysets", pa.float64()),
        ("scatter_width", pa.float64()),
        ("method", pa.string()),
        ("error", pa.float64()),
        ("worst_leader_load", pa.float64()),
        ("asked_scatter_width", pa.int32()),
    ],
    metadata=METADATA,
)
SKIPPED = pa.schema([*POINT_FIELDS, ("asked_scatter_width", pa.int32()), ("reason", pa.string())], metadata=METADATA)
COMPARISON = pa.schema(
    [
        ("brokers", pa.int32()),
        *((name, pa.float64()) for name in ComparisonRow.__dataclass_fields__ if name != "brokers"),
    ],
    metadata=METADATA,
)
TABLES = ("availability", "skipped", "kafka_1736")
FILES = (*TABLES, "availability.json")
"""All that the job writes below its folder, the JSON last."""


class Survey(msgspec.Struct):
    """A grid's answers. ``rows`` and ``skipped`` are as the tables hold them."""

    seed: int
    trials: int
    rows: list[dict[str, Any]] = msgspec.field(default_factory=list)
    skipped: list[dict[str, Any]] = msgspec.field(default_factory=list)
    kafka_1736: list[dict[str, Any]] = msgspec.field(default_factory=list)

    @property
    def said(self) -> str:
        """How many answers there are, and how many of them had to be tried out."""
        tried = sum(row["method"] != EXACT for row in self.rows)
        if not tried:
            return f"{counted(len(self.rows), 'row')}, all exact" if self.rows else "0 rows"
        exact = len(self.rows) - tried
        return f"{counted(len(self.rows), 'row')}: {exact} exact, {tried} from {self.trials} trials (seed {self.seed})"


def survey_of(
    points: Sequence[Point], answers: Sequence[Row | Skipped], skipped: Sequence[Skipped], *, seed: int, trials: int
) -> Survey:
    """All answers of a grid, those that could not be given among the skipped ones."""
    found = Survey(seed, trials)
    rows = []
    for point, one in zip(points, answers, strict=True):
        if isinstance(one, Row):
            rows.append(one)
            found.rows.append({**one.as_dict(), "asked_scatter_width": point.scatter_width})
    refused = [*skipped, *(one for one in answers if isinstance(one, Skipped))]
    found.skipped = [
        {**asdict(one.point.question), "asked_scatter_width": one.point.scatter_width, "reason": one.reason}
        for one in refused
    ]
    found.kafka_1736 = [row.as_dict() for row in compared(rows)]
    return found


def check(out: Location) -> None:
    """Refuse, before any work, a folder in which the output has no place.

    Raises: NotOurs, OSError.
    """
    with staged(out, ()):
        for name in FILES:
            check_ours(out / name)


def write(found: Survey, out: Location) -> None:
    """Put a survey's tables below a folder, in the place of an earlier one's.

    Raises: NotOurs, OSError.
    """
    with staged(out, FILES) as folder:
        write_table(folder, "availability", ROWS, found.rows)
        write_table(folder, "skipped", SKIPPED, found.skipped)
        if found.kafka_1736:
            write_table(folder, "kafka_1736", COMPARISON, found.kafka_1736)
        (folder / "availability.json").write_text(as_json(found), encoding="utf-8")


def as_json(found: Survey) -> str:
    said = {"seed": found.seed, "trials": found.trials, "rows": found.rows, "skipped": found.skipped}
    if found.kafka_1736:
        said |= {"kafka_1736": {"rows": found.kafka_1736, "note": NOTE}}
    return json.dumps(said, indent=1) + "\n"
