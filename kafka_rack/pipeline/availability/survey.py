"""A grid's answers: a row for each point or the reason why it has none, as one JSON.

Rows are those of ``availability_row``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from kafka_rack.availability import EXACT, Row, availability_row
from kafka_rack.availability.kafka_1736 import NOTE, compared
from kafka_rack.errors import KafkaRackError
from kafka_rack.pipeline.availability.grid import Point, Skipped
from kafka_rack.plurals import counted


class Survey(msgspec.Struct):
    """A grid's answers. ``rows`` and ``skipped`` are those of the tables."""

    seed: int
    trials: int
    rows: list[dict[str, Any]] = msgspec.field(default_factory=list)
    skipped: list[dict[str, Any]] = msgspec.field(default_factory=list)
    kafka_1736: list[dict[str, Any]] = msgspec.field(default_factory=list)

    @property
    def said(self) -> str:
        """The number of answers, and of simulated ones among them, as text."""
        tried = sum(row["method"] != EXACT for row in self.rows)
        if not tried:
            return f"{counted(len(self.rows), 'row')}, all exact" if self.rows else "0 rows"
        exact = len(self.rows) - tried
        return f"{counted(len(self.rows), 'row')}: {exact} exact, {tried} from {self.trials} trials (seed {self.seed})"


def survey_of(
    points: Sequence[Point], answers: Sequence[Row | Skipped], skipped: Sequence[Skipped], *, seed: int, trials: int
) -> Survey:
    """All answers of a grid; points without an answer are among the skipped ones."""
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


def row_or_reason(point: Point, seed: int, trials: int) -> Row | Skipped:
    """The row of a point, or why its placer refuses it."""
    try:
        return availability_row(point.question, settings=point.settings, seed=seed, trials=trials)
    except KafkaRackError as error:
        return Skipped(point, str(error))


def as_json(found: Survey) -> str:
    said = {"seed": found.seed, "trials": found.trials, "rows": found.rows, "skipped": found.skipped}
    if found.kafka_1736:
        said |= {"kafka_1736": {"rows": found.kafka_1736, "note": NOTE}}
    return json.dumps(said, indent=1) + "\n"
