"""What the job ``availability`` leaves: tables in Parquet, one JSON with all of it, curves, a page to look at."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from kafka_rack.availability import EXACT, Row
from kafka_rack.availability.kafka_1736 import NOTE, ComparisonRow, compared
from kafka_rack.pipeline.availability.grid import Point, Skipped
from kafka_rack.pipeline.availability.plots import sheets
from kafka_rack.pipeline.output.staging import check_ours, staged, write_table

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
FILES = (*TABLES, "plots", "availability.html", "availability.json")
"""All that the job writes below its folder, the JSON last."""
MOST_HTML_ROWS = 2_000


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


def counted(count: int, what: str) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {what}{'' if count == 1 else 's'}"


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


def check(out: Path) -> None:
    """Refuse, before any work, a folder in which the output has no place.

    Raises: NotOurs, OSError.
    """
    with staged(out, ()):
        for name in FILES:
            check_ours(out / name)


def write(found: Survey, out: Path) -> None:
    """Put a survey's tables, plots and page below a folder, in the place of an earlier one's.

    Raises: NotOurs, OSError.
    """
    with staged(out, FILES) as folder:
        write_table(folder, "availability", ROWS, found.rows)
        write_table(folder, "skipped", SKIPPED, found.skipped)
        if found.kafka_1736:
            write_table(folder, "kafka_1736", COMPARISON, found.kafka_1736)
        pictures = sheets(found.rows)
        if pictures:
            (folder / "plots").mkdir()
        for name, picture in pictures.items():
            (folder / "plots" / f"{name}.svg").write_text(picture, encoding="utf-8")
        (folder / "availability.html").write_text(page(found, list(pictures.values())), encoding="utf-8")
        (folder / "availability.json").write_text(as_json(found), encoding="utf-8")


def as_json(found: Survey) -> str:
    said = {"seed": found.seed, "trials": found.trials, "rows": found.rows, "skipped": found.skipped}
    if found.kafka_1736:
        said |= {"kafka_1736": {"rows": found.kafka_1736, "note": NOTE}}
    return json.dumps(said, indent=1) + "\n"


def page(found: Survey, pictures: Sequence[str]) -> str:
    """A page that needs nothing beside it: curves, KAFKA-1736's table if the grid holds it, rows, what was skipped."""
    told = f"{found.said}; {counted(len(found.skipped), 'combination')} skipped."
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Availability</title><style>',
        "body{font-family:sans-serif;color:#333;margin:24px}table{border-collapse:collapse;margin:12px 0}",
        "td,th{padding:2px 10px;border-bottom:1px solid #ddd;text-align:right;font-size:13px}",
        "div{overflow-x:auto}svg{max-width:100%;height:auto}",
        "@media(max-width:600px){body{margin:8px}svg{min-width:560px}}",
        "</style></head><body><h1>Availability</h1>",
        f"<p>{told}</p>",
        *(f"<div>{picture}</div>" for picture in pictures),
    ]
    if found.kafka_1736:
        parts += ["<h2>KAFKA-1736</h2>", html_table(found.kafka_1736), f"<p>{escape(NOTE)}</p>"]
    for title, rows in (("Rows", found.rows), ("Skipped", found.skipped)):
        if rows:
            parts += [f"<h2>{title}</h2>", html_table(rows[:MOST_HTML_ROWS])]
        if len(rows) > MOST_HTML_ROWS:
            parts.append(f"<p>and {len(rows) - MOST_HTML_ROWS} more, in the tables</p>")
    return "\n".join([*parts, "</body></html>", ""])


def html_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows under their columns' names."""
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "\n".join("<tr>" + "".join(f"<td>{shown(value)}</td>" for value in row.values()) + "</tr>" for row in rows)
    return f"<div><table><tr>{head}</tr>\n{body}</table></div>"


def shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))
