"""Filters that Spark hands over leave out work, and never a row. Spark's own classes of filters come with 4.1."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from kafka_rack.pipeline.spark.pushdown import EPOCH, narrowed
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_capture.filters import FrameFilters
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import Rows
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES

NOTHING = FrameFilters()


class EqualTo(NamedTuple):
    attribute: tuple[str, ...]
    value: Any


class In(NamedTuple):
    attribute: tuple[str, ...]
    value: Any


class GreaterThan(NamedTuple):
    attribute: tuple[str, ...]
    value: Any


class GreaterThanOrEqual(NamedTuple):
    attribute: tuple[str, ...]
    value: Any


class LessThan(NamedTuple):
    attribute: tuple[str, ...]
    value: Any


class LessThanOrEqual(NamedTuple):
    attribute: tuple[str, ...]
    value: Any


ASKS = {
    "EqualTo": lambda mine, value: mine == value,
    "In": lambda mine, value: mine in value,
    "GreaterThan": lambda mine, value: mine > value,
    "GreaterThanOrEqual": lambda mine, value: mine >= value,
    "LessThan": lambda mine, value: mine < value,
    "LessThanOrEqual": lambda mine, value: mine <= value,
}


def passes(row, filters):
    """What Spark asks of each row afterwards; a null passes nothing."""
    for one in filters:
        mine = row[one.attribute[0]]
        if mine is None:
            return False
        value = (one.value - EPOCH) // timedelta(microseconds=1) if isinstance(one.value, datetime) else one.value
        if not ASKS[type(one).__name__](mine, value):
            return False
    return True


def wanted(rows, filters):
    return sorted((row for row in rows if passes(row, filters)), key=repr)


@pytest.fixture(scope="module", params=["java41-range.jsonl", "kafkajs.jsonl"])
def capture(request, tmp_path_factory):
    file = tmp_path_factory.mktemp("capture") / request.param
    file.write_bytes(gzip.decompress((CAPTURES / f"{request.param}.gz").read_bytes()))
    return file


def read(capture, table, filters):
    rows = Rows()
    files, _ = find_files([str(capture)])
    for _ in decode_into(rows, files[0], Options(), only=[table], filters=filters, max_frames=1 << 60):
        pass
    return rows.as_dicts(table), rows.frames


def middle(capture):
    """The time of the frame in the middle, as Spark hands it over."""
    times = sorted(row["ts"] for row in read(capture, "frames", None)[0])
    return EPOCH + timedelta(microseconds=times[len(times) // 2])


@pytest.mark.parametrize("table", [name for name in TABLES if name != "problems"])
def test_every_row_that_is_asked_for_is_read(capture, table):
    at = middle(capture)
    columns = {column.name for column in TABLES[table].columns} | {"api"}
    every, _ = read(capture, table, None)
    clients = {row["client_id"] for row in every if "client_id" in columns and row["client_id"]}
    asked = [
        [EqualTo(("api",), "Fetch")],
        [In(("api",), ["Produce", "Metadata", None])],
        [EqualTo(("api_key",), 3)],
        [EqualTo(("client_id",), next(iter(sorted(clients)), "nobody"))],
        [GreaterThanOrEqual(("ts",), at)],
        [GreaterThan(("ts",), at), EqualTo(("api",), "Fetch")],
        [LessThan(("ts",), at)],
        [LessThanOrEqual(("ts",), at), In(("api",), ["Produce"])],
        [EqualTo(("ts",), at)],
    ]
    for filters in asked:
        if not {one.attribute[0] for one in filters} <= columns:
            continue
        found, _ = read(capture, table, narrowed(NOTHING, table, filters))
        assert wanted(found, filters) == wanted(every, filters), filters


def test_frames_that_nobody_asks_for_are_not_decoded(capture):
    _, every = read(capture, "calls", None)
    found, frames = read(capture, "calls", narrowed(NOTHING, "calls", [EqualTo(("api_key",), 3)]))
    assert {row["api_name"] for row in found} == {"Metadata"}
    assert 0 < frames < every / 2


def test_what_an_option_leaves_out_stays_out():
    filters = FrameFilters(apis=frozenset({"Fetch", "Produce"}), since=5_000_000)
    pushed = [In(("api",), ["Fetch", "Metadata"]), GreaterThan(("ts",), datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))]
    assert narrowed(filters, "frames", pushed) == FrameFilters(apis=frozenset({"Fetch"}), since=5_000_000)
    later = [GreaterThan(("ts",), datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC))]
    assert narrowed(filters, "frames", later).since == 9_000_001
    assert narrowed(filters, "calls", later).since == 5_000_000  # the option counts by the answer's time


@pytest.mark.parametrize(
    "pushed",
    [
        EqualTo(("conn",), 3),
        EqualTo(("replica_racks", "api"), "Fetch"),
        GreaterThan(("ts",), datetime(2026, 1, 1)),  # noqa: DTZ001 - one without a zone says no time
        GreaterThan(("api",), "Fetch"),
        SimpleNamespace(attribute=("api",)),
        SimpleNamespace(child=EqualTo(("api",), "Fetch")),
    ],
)
def test_filters_of_other_kinds_and_columns_say_nothing(pushed):
    assert narrowed(NOTHING, "frames", [pushed]) == NOTHING


def test_the_table_of_problems_is_about_no_frames():
    assert narrowed(NOTHING, "problems", [EqualTo(("api",), "Fetch")]) == NOTHING
