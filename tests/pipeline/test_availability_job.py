"""Availability over a grid on Spark: the rows of the single command, however the work is spread."""

from __future__ import annotations

import json
import os
import signal
import threading

import pyarrow.parquet as pq
import pytest

from kafka_rack.availability import availability_row, chances
from kafka_rack.cli import main
from kafka_rack.cli.pipeline import running
from kafka_rack.errors import ReplicaPlacementError
from kafka_rack.pipeline.availability import job as spread
from kafka_rack.pipeline.availability.grid import KAFKA_1736_GRID, Skipped, points_of
from kafka_rack.pipeline.availability.job import answer_points

TRIALS = 20_000
SMALL = {
    "brokers": (6, 7),
    "racks": (None, 3),
    "partitions": (12,),
    "replication_factor": (3,),
    "placer": ("broker-replica", "copyset", "rack-aware", "random"),
    "failures": (1, 2),
    "rack_failures": (0, 1),
}
TRIED = {
    "brokers": (60,),
    "racks": (60,),
    "partitions": (90,),
    "replication_factor": (3,),
    "placer": ("broker-replica",),
    "failures": (2,),
    "rack_failures": (8,),
}
"""More ways to lose eight of sixty racks than are counted."""


class SharedSession:
    """The session of all tests, which no command stops."""

    def __init__(self, spark):
        self.spark = spark

    def __call__(self, arguments):
        return self

    def __enter__(self):
        return self.spark

    def __exit__(self, *_):
        pass


@pytest.fixture
def availability(spark, monkeypatch):
    """The command on the shared session."""
    monkeypatch.setattr(running, "spark_for", SharedSession(spark))
    return lambda *arguments: main(["pipeline", "availability", *arguments])


@pytest.fixture(scope="module")
def points():
    return points_of([SMALL, TRIED])[0]


@pytest.fixture(scope="module")
def expected(points):
    """The row of the single command for each point, or what it says where the placer refuses."""
    return [row_or_reason(point) for point in points]


def row_or_reason(point):
    try:
        return availability_row(point.question, settings=point.settings, trials=TRIALS)
    except ReplicaPlacementError as refused:
        return str(refused)


def test_the_grid_has_what_is_counted_what_is_tried_and_what_is_refused(points, expected):
    assert [row.method for row in expected if not isinstance(row, str) and row.error] == ["monte-carlo"]
    assert chances.number_of_rack_choices(dict(enumerate(map(str, range(60)))), 8) > chances.MAX_RACK_CHOICES
    refused = [point.question for point, row in zip(points, expected, strict=True) if isinstance(row, str)]
    assert {(question.brokers, question.placer) for question in refused} == {(7, "broker-replica"), (7, "copyset")}


@pytest.mark.parametrize("tasks", [3])
def test_rows_do_not_depend_on_the_number_of_tasks_and_are_those_of_the_single_command(spark, points, expected, tasks):
    rows = answer_points(spark, points, seed=0, trials=TRIALS, tasks=tasks)
    assert [row.reason if isinstance(row, Skipped) else row for row in rows] == expected


def test_the_cells_of_kafka_1736_come_through_spark(availability, tmp_path, capsys):
    sizes = [
        "--broker-counts",
        "6,9,12",
        "--rack-counts",
        "none",
        "--failures",
        "2",
        "--placers",
        "broker-replica,random,unaware",
    ]
    assert availability("--kafka-1736", *sizes, "--out", str(tmp_path)) == 0
    cells = pq.read_table(tmp_path / "kafka_1736").to_pylist()
    assert [row["brokers"] for row in cells] == [6, 9, 12]
    assert [f"{row['broker_replica']:.3f}" for row in cells] == ["0.400", "0.250", "0.182"]
    assert [f"{row['random_uniform']:.6f}" for row in cells] == ["0.999994", "0.990892", "0.918901"]
    assert [f"{row['unaware']:.4f}" for row in cells] == ["1.0000", "1.0000", "0.8409"]
    assert [row["issue_broker_replica"] for row in cells] == [0.424, 0.228, 0.168]
    assert "0.181818" in capsys.readouterr().out
    assert len(KAFKA_1736_GRID["brokers"]) > 3


def test_what_cannot_be_is_skipped_with_the_reason_and_running_again_replaces(availability, tmp_path, capsys):
    common = ["--partitions", "12", "--replication-factor", "3", "--failures", "1", "--out", str(tmp_path)]
    common += ["--format", "json"]
    assert (
        availability("--broker-counts", "2,6,7", "--rack-counts", "none,3", "--placers", "broker-replica", *common) == 0
    )
    said = json.loads(capsys.readouterr().out)
    skipped = pq.read_table(tmp_path / "skipped").to_pylist()
    assert skipped == said["skipped"]
    assert [(row["brokers"], row["racks"], row["reason"]) for row in skipped[:2]] == [
        (2, None, "replication factor: expected 1 to the 2 brokers, got 3"),
        (2, 3, "replication factor: expected 1 to the 2 brokers, got 3"),
    ]
    assert [(row["brokers"], "no multiple of replication factor 3" in row["reason"]) for row in skipped[2:]] == [
        *((7, True), (7, True))
    ]
    assert [row["brokers"] for row in said["rows"]] == [6, 6]
    assert pq.read_table(tmp_path / "kafka_1736").to_pylist() == []

    assert availability("--broker-counts", "12", "--placers", "copyset", *common) == 0
    rows = pq.read_table(tmp_path / "availability").to_pylist()
    assert [(row["brokers"], row["placer"]) for row in rows] == [(12, "copyset")]
    assert pq.read_table(tmp_path / "skipped").to_pylist() == []


def test_a_run_told_to_end_while_spark_works_leaves_the_old_result(availability, monkeypatch, tmp_path, capsys):
    common = ["--broker-counts", "6", "--partitions", "12", "--replication-factor", "3", "--out", str(tmp_path)]
    assert availability(*common, "--failures", "1") == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    capsys.readouterr()
    driver = os.getpid()

    def endless(spark, *_, **__):
        def task(_):
            os.kill(driver, signal.SIGTERM)
            threading.Event().wait()

        return spark.sparkContext.parallelize([0], 1).map(task).collect()

    monkeypatch.setattr(spread, "answer_points", endless)
    assert availability(*common, "--failures", "2") == 130
    assert "kafka-rack pipeline availability: interrupted: " in capsys.readouterr().err.splitlines()[-1]
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
