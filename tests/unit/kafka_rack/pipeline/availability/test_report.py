"""The tables and the JSON of availability hold what was found, and replace an earlier run's."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from kafka_rack.availability import availability_row
from kafka_rack.pipeline.availability import report
from kafka_rack.pipeline.availability.grid import Skipped, points_of
from kafka_rack.pipeline.output.staging import NotOurs

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
    return report.survey_of(points, rows, [*skipped, *more_skipped], seed=0, trials=100)


@pytest.fixture(scope="module")
def found():
    return survey()


def test_the_tables_hold_the_rows_and_the_json_all(found, tmp_path):
    report.write(found, tmp_path)
    assert pq.read_table(tmp_path / "availability").to_pylist() == found.rows
    assert pq.read_table(tmp_path / "skipped").to_pylist() == []
    assert [row["brokers"] for row in pq.read_table(tmp_path / "kafka_1736").to_pylist()] == [6, 9, 12]
    said = json.loads((tmp_path / "availability.json").read_text())
    assert (said["rows"], said["kafka_1736"]["rows"]) == (found.rows, found.kafka_1736)


def test_a_survey_without_kafka_1736_takes_its_table_away(found, tmp_path):
    report.write(found, tmp_path)
    report.write(survey({**GRID, "brokers": (15,), "failures": (1,)}), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["availability", "availability.json", "skipped"]


def test_a_folder_of_something_else_is_refused_before_any_work(tmp_path):
    (tmp_path / "availability").mkdir()
    (tmp_path / "availability" / "garden.png").write_text("")
    with pytest.raises(NotOurs, match=r"availability holds garden\.png"):
        report.check(tmp_path)


def test_refused_points_stand_among_the_skipped(tmp_path):
    points, _ = points_of([{**GRID, "brokers": (10,), "placer": ("broker-replica",), "failures": (1,)}])
    found = report.survey_of(points, [Skipped(points[0], "no multiple")], [], seed=0, trials=1)
    report.write(found, tmp_path)
    assert [(row["brokers"], row["reason"]) for row in pq.read_table(tmp_path / "skipped").to_pylist()] == [
        (10, "no multiple")
    ]
    assert json.loads((tmp_path / "availability.json").read_text())["rows"] == []
