"""A grid of clusters and outages: every combination of the values on its axes, impossible ones with the reason."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from kafka_rack.availability import PLACERS, Question, kafka_1736
from kafka_rack.availability.layout import check_outage
from kafka_rack.availability.question import check_question
from kafka_rack.errors import InputError, KafkaRackError
from kafka_rack.placement import SCATTER_WIDTH_SETTING, UNEVEN_SETTING

AXES = (
    *("brokers", "racks", "partitions", "replication_factor", "min_insync_replicas", "placer"),
    *("scatter_width", "failures", "rack_failures"),
)
UNSET: dict[str, tuple[Any, ...]] = {
    "racks": (None,),
    "min_insync_replicas": (None,),
    "placer": ("rack-aware",),
    "scatter_width": (None,),
    "rack_failures": (0,),
}
"""Defaults of the axes that have one: no racks; min.insync.replicas 2, or 1 with one replica; ..."""
MAY_BE_NONE = ("racks", "min_insync_replicas", "scatter_width")
NONE = "none"
HIGHEST = {"brokers": 2_000, "racks": 2_000, "partitions": 100_000, "replication_factor": 100}
"""Larger values are refused: they are usually typing errors, and one point would take hours."""
MAX_OTHER = 2_000
MAX_POINTS = 20_000
SHOWN_CHARACTERS = 40
RANGE = re.compile(r"(\d+)-(\d+)(?:/(\d+))?")
KAFKA_1736_GRID: dict[str, tuple[Any, ...]] = {
    "brokers": tuple(range(6, 49, 3)),
    "racks": (None, 3),
    "partitions": (kafka_1736.PARTITIONS,),
    "replication_factor": (kafka_1736.REPLICATION_FACTOR,),
    "min_insync_replicas": (kafka_1736.MIN_INSYNC_REPLICAS,),
    "placer": ("broker-replica", "copyset", "rack-aware", "unaware", "random"),
    "failures": (1, kafka_1736.FAILURES, 3),
}
"""KAFKA-1736's three clusters among larger ones, with and without racks, for one to three failures."""

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Point:
    """One combination: a question, and the scatter width for copysets."""

    question: Question
    scatter_width: int | None = None
    uneven_last_group: bool = False

    @property
    def settings(self) -> dict[str, str]:
        """The placer's settings."""
        settings = {}
        if self.scatter_width is not None:
            settings[SCATTER_WIDTH_SETTING] = str(self.scatter_width)
        if self.uneven_last_group:
            settings[UNEVEN_SETTING] = "true"
        return settings


@dataclass(frozen=True, slots=True)
class Skipped:
    """An impossible combination, and the reason."""

    point: Point
    reason: str


def values_in_text(axis: str, text: str) -> tuple[Any, ...]:
    """An axis from text: values between commas, ranges as FROM-TO or FROM-TO/STEP, ``none`` if allowed.

    Raises: InputError: malformed text; says what was expected.

    >>> values_in_text("brokers", "3,6-12/3")
    (3, 6, 9, 12)
    >>> values_in_text("racks", "none,3")
    (None, 3)
    """
    values: list[Any] = []
    for word in (part.strip() for part in text.split(",")):
        span = RANGE.fullmatch(word)
        if axis == "placer":
            values += PLACERS if word == "all" else [word]
        elif word == NONE and axis in MAY_BE_NONE:
            values.append(None)
        elif span:
            first, last, step = int(span[1]), int(span[2]), int(span[3] or 1)
            if last < first or step < 1:
                raise InputError(f"{axis}: expected a range as FROM-TO or FROM-TO/STEP, got {word!r}")
            if (last - first) // step >= MAX_POINTS:
                raise InputError(f"{axis}: {word!r} has more values than the {MAX_POINTS} points of a grid")
            values += range(first, last + 1, step)
        elif word.isdecimal() and len(word) < 10:
            values.append(int(word))
        else:
            raise InputError(f"{axis}: expected numbers between commas or FROM-TO/STEP, got {word!r}")
    return checked_values(axis, values)


def checked_values(axis: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """The values of an axis, each once, in their order."""
    if not values:
        raise InputError(f"{axis}: expected one value or more, got none")
    for value in values:
        if axis == "placer":
            if value not in PLACERS:
                raise InputError(f"placer: expected all or some of {', '.join(PLACERS)}, got {value!r}")
        elif value is not None or axis not in MAY_BE_NONE:
            if type(value) is not int or value < 0:
                raise InputError(f"{axis}: expected numbers from 0, got {json.dumps(value, default=str)}")
            if value > (highest := HIGHEST.get(axis, MAX_OTHER)):
                raise InputError(f"{axis}: {value}, but at most {highest} are taken")
    return tuple(dict.fromkeys(values))


def grids_of(said: Any) -> list[dict[str, tuple[Any, ...]]]:
    """The grids of a file's content: one object with axes, or ``{"grids": [...]}`` with several.

    An axis is a value, a list of values, or a text as on the command line.

    Raises: InputError: an invalid file; names the grid.
    """
    if isinstance(said, dict) and isinstance(said.get("grids"), list):
        strangers = sorted(set(said) - {"grids"})
        if strangers:
            raise InputError(f"{strangers[0]!r} beside grids, but axes belong inside of them")
        if not said["grids"]:
            raise InputError("grids: expected one or more, got none")
        found = []
        for number, one in enumerate(said["grids"], 1):
            try:
                found.append(grid_of(one))
            except InputError as error:
                raise InputError(f"grid {number}: {error}") from None
        return found
    return [grid_of(said)]


def grid_of(said: Any) -> dict[str, tuple[Any, ...]]:
    """The axes of one object."""
    if not isinstance(said, dict):
        got = json.dumps(said, default=str)[:SHOWN_CHARACTERS]
        raise InputError(f"expected an object of axes, or one with a list of grids, got {got}")
    strangers = sorted(set(said) - set(AXES))
    if strangers:
        raise InputError(f"no axis {strangers[0]!r}: there are {', '.join(AXES)}")
    axes = {}
    for axis in AXES:
        if axis in said:
            given = said[axis]
            if isinstance(given, str):
                axes[axis] = values_in_text(axis, given)
            else:
                is_optional = axis in MAY_BE_NONE  # TOML has no null
                values = given if isinstance(given, list) else [given]
                axes[axis] = checked_values(axis, [None if is_optional and one == NONE else one for one in values])
    return axes


def points_of(grids: Iterable[Grid], *, uneven_last_group: bool = False) -> tuple[list[Point], list[Skipped]]:
    """The combinations of all grids, each once and in the order of the axes, and the impossible ones.

    Raises: InputError: an axis is missing, or there are too many points.
    """
    chosen = [{**UNSET, **grid} for grid in grids]
    for grid in chosen:
        missing = [axis for axis in AXES if axis not in grid]
        if missing:
            raise InputError(f"{', '.join(missing)} must be given")
    size = sum(prod(len(grid[axis]) for axis in AXES) for grid in chosen)
    if size > MAX_POINTS:
        raise InputError(f"{size} combinations, but at most {MAX_POINTS} are taken: give fewer values")
    points, skipped = [], []
    for point in dict.fromkeys(point for grid in chosen for point in combinations_of(grid, uneven_last_group)):
        try:  # placers refuse others when they are called
            check_question(point.question)
            racks = {broker.id: broker.rack for broker in point.question.usable_brokers()}
            check_outage(racks, point.question.outage)
            points.append(point)
        except KafkaRackError as error:
            skipped.append(Skipped(point, str(error)))
    return points, skipped


def combinations_of(grid: Grid, uneven_last_group: bool) -> Iterator[Point]:
    for values in product(*(grid[axis] for axis in AXES)):
        one = dict(zip(AXES, values, strict=True))
        width = one.pop("scatter_width")
        if one["min_insync_replicas"] is None:
            one["min_insync_replicas"] = min(2, one["replication_factor"])
        yield Point(Question(**one), width if one["placer"] == "copyset" else None, uneven_last_group)
