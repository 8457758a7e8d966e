"""The JSON of availability holds what was found."""

from __future__ import annotations

import json

import pytest

from kafka_rack.availability import availability_row
from kafka_rack.pipeline.availability import survey as surveys
from kafka_rack.pipeline.availability.grid import Skipped, points_of

GRID = {
    "brokers": (6, 9, 12),
    "partitions": (54,),
    "replication_factor": (3,),
    "placer": ("broker-replica", "random", "unaware"),
    "failures": (1, 2),
}


def survey(grid=GRID, more_skipped=()):
    points, skipped = points_of([grid])
    rows = [availability_row(point.question) for point in points]
    return surveys.survey_of(points, rows, [*skipped, *more_skipped], seed=0, trials=100)


@pytest.fixture(scope="module")
def found():
    return survey()


def test_the_json_holds_all(found):
    said = json.loads(surveys.as_json(found))
    assert (said["rows"], said["kafka_1736"]["rows"]) == (found.rows, found.kafka_1736)
    assert [row["brokers"] for row in found.kafka_1736] == [6, 9, 12]


def test_refused_points_are_among_the_skipped():
    points, _ = points_of([{**GRID, "brokers": (10,), "placer": ("broker-replica",), "failures": (1,)}])
    found = surveys.survey_of(points, [Skipped(points[0], "no multiple")], [], seed=0, trials=1)
    assert [(row["brokers"], row["reason"]) for row in found.skipped] == [(10, "no multiple")]
    assert json.loads(surveys.as_json(found))["rows"] == []
