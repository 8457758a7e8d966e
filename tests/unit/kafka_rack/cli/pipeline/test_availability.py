"""kafka-rack pipeline availability, up to where Spark begins."""

from __future__ import annotations

import json

import pytest

from kafka_rack.cli import main
from kafka_rack.cli.command import command
from kafka_rack.cli.commands import availability as availability_command
from kafka_rack.cli.commands.availability import grid_options
from kafka_rack.cli.pipeline import running
from kafka_rack.pipeline.availability.grid import points_of
from kafka_rack.pipeline.availability.survey import survey_of

SMALL = ["--broker-counts", "6", "--partitions", "12", "--replication-factor", "3", "--failures", "1"]


def availability(*arguments):
    return main(["pipeline", "availability", *arguments])


@pytest.fixture(autouse=True)
def no_spark(monkeypatch):
    """What is refused must be so before a session starts."""

    def started(_arguments):
        raise AssertionError("Spark was started")

    monkeypatch.setattr(running, "spark_for", started)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "expected --broker-counts, --partitions, --replication-factor, --failures, or --grid or --kafka-1736"),
        (
            ["--broker-counts", "6"],
            "expected --partitions, --replication-factor, --failures, or --grid or --kafka-1736",
        ),
        (
            [*SMALL, "--broker-counts", "six"],
            "--broker-counts: expected numbers between commas or FROM-TO/STEP, got 'six'",
        ),
        (
            [*SMALL, "--broker-counts", "1-99999999999"],
            "--broker-counts: '1-99999999999' has more values than the 20000 points of",
        ),
        ([*SMALL, "--broker-counts", "5000"], "--broker-counts: 5000, but at most 2000 are taken"),
        ([*SMALL, "--replication-factor", "101"], "--replication-factor: 101, but at most 100 are taken"),
        ([*SMALL, "--rack-failures", "0-9999"], "--rack-failures: 2001, but at most 2000 are taken"),
        (
            [*SMALL, "--broker-counts", "1-2000", "--failures", "1-100"],
            "200000 combinations, but at most 20000 are taken",
        ),
        ([*SMALL, "--trials", "0"], "--trials: expected a whole number from 1 to 100000000, got '0'"),
        ([*SMALL, "--trials", "100000001"], "--trials: expected a whole number from 1 to 100000000"),
        ([*SMALL, "--tasks", "0"], "--tasks: expected a whole number from 1 to 100000"),
        (["--grid", "nowhere.json"], "nowhere.json: "),
        (["--grid", "nowhere.toml"], "nowhere.toml: No such file or directory"),
        (["--grid", "grid.toml", "--kafka-1736"], "--grid and --kafka-1736 are both grids: expected one"),
    ],
)
def test_wrong_usage_is_one_line_and_2_before_spark_starts(tmp_path, capsys, arguments, reason):
    assert availability(*arguments, "--out", str(tmp_path / "out")) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"kafka-rack pipeline availability: {reason}")
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_unknown_placer_is_told_which_there_are(tmp_path, capsys):
    assert availability(*SMALL, "--placers", "best", "--out", str(tmp_path)) == 2
    assert "placers: expected all or some of broker-replica, copyset" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("grid.json", b"{", ", line 1 column 2: "),
        ("grid.json", b"\xff", ": "),
        ("grid.json", b'{"brokers": "6-"}', ": brokers: expected numbers between commas"),
        (
            "grid.json",
            b'{"grids": [{"brokers": 3}, {"rack": 3}]}',
            ": grid 2: no axis 'rack': there are brokers, racks",
        ),
        ("grid.toml", b"brokers = ", ": "),
        ("grid.toml", b"\xff = 3", ": byte 0 is not UTF-8"),
        ("grid.toml", b"brokers = 1979-05-27", ': brokers: expected numbers from 0, got "1979-05-27"'),
        ("grid.toml", b"brokers = 6", ": partitions, replication_factor, failures must be given"),
    ],
)
def test_a_bad_file_is_one_line_with_its_name(tmp_path, capsys, name, content, reason):
    file = tmp_path / name
    file.write_bytes(content)
    assert availability("--grid", str(file), "--out", str(tmp_path / "out")) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"kafka-rack pipeline availability: {file}{reason}")
    assert said.count("\n") == 1


def points_given(*words):
    found = []
    grid_options(command()(lambda arguments: found.append(availability_command.points_given(arguments)) or 0)).main(
        words, standalone_mode=False
    )
    return found[0]


def test_a_grid_in_toml_is_the_one_in_json_and_the_one_of_the_command_line(tmp_path):
    axes = {"brokers": "6-12/3", "racks": ["none", 3], "partitions": 12, "replication_factor": 3, "failures": [1, 2]}
    (tmp_path / "grid.json").write_text(json.dumps(axes))
    (tmp_path / "grid.toml").write_text(
        'brokers = "6-12/3"\nracks = ["none", 3]\npartitions = 12\nreplication_factor = 3\nfailures = [1, 2]\n'
    )
    said = ["--broker-counts", "6-12/3", "--rack-counts", "none,3", "--partitions", "12", "--replication-factor", "3"]
    points = points_given(*said, "--failures", "1,2")
    assert points_given("--grid", str(tmp_path / "grid.json")) == points
    assert points_given("--grid", str(tmp_path / "grid.toml")) == points
    assert len(points[0]) == 12


def test_an_axis_on_the_command_line_replaces_that_of_every_grid(tmp_path):
    (tmp_path / "grid.toml").write_text(
        "[[grids]]\nbrokers = [6, 9]\npartitions = 12\nreplication_factor = 3\nfailures = 1\n"
        "[[grids]]\nbrokers = 12\npartitions = 12\nreplication_factor = 3\nfailures = 2\n"
    )
    points, _ = points_given("--grid", str(tmp_path / "grid.toml"), "--broker-counts", "15")
    assert [(point.question.brokers, point.question.failures) for point in points] == [(15, 1), (15, 2)]


def test_many_rows_are_told_by_placer_and_skipped_ones_by_their_most_common_reason():
    points, skipped = points_of(
        [
            {
                "brokers": tuple(range(2, 32)),
                "partitions": (12,),
                "replication_factor": (3,),
                "failures": (1,),
                "placer": ("random",),
            }
        ]
    )
    from kafka_rack.availability import availability_row

    rows = [availability_row(point.question) for point in points]
    found = survey_of(points, rows, skipped, seed=0, trials=100)
    said = availability_command.as_text(found, "out/").splitlines()
    assert said[0] == "29 rows, all exact"
    assert said[3].split()[:3] == ["random", "29", "0"]
    assert said[-5] == "1 combination skipped: replication factor: expected 1 to the 2 brokers, got 3"
