"""kafka-rack availability."""

from __future__ import annotations

import json

import pytest

from kafka_rack.cli import main

COLUMNS = [
    *("brokers", "racks", "partitions", "replication_factor", "min_insync_replicas", "placer", "failures"),
    *("rack_failures", "p_any_unwritable", "share_unwritable", "p_any_lost", "copysets", "scatter_width"),
    *("method", "error"),
]
COMMON = ["--partitions", "54", "--replication-factor", "3", "--failures", "2"]


def availability(*arguments):
    return main(["availability", *arguments])


def test_a_row_for_each_cluster_size_with_every_column(capsys):
    assert availability("--broker-counts", "6,9,12", *COMMON, "--placers", "broker-replica", "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert all(list(row)[: len(COLUMNS)] == COLUMNS for row in rows)
    assert [round(row["p_any_unwritable"], 3) for row in rows] == [0.4, 0.25, 0.182]
    assert {(row["min_insync_replicas"], row["method"], row["error"]) for row in rows} == {(2, "exact", 0)}


def test_all_placers_can_be_asked_at_once(capsys):
    availability("--broker-counts", "6", "--rack-counts", "3", *COMMON, "--placers", "all", "--format", "json")
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["placer"] for row in rows] == [
        *("broker-replica", "copyset", "random", "rack-aware", "striped", "unaware")
    ]


def test_people_get_a_table(capsys):
    availability("--broker-counts", "9", *COMMON, "--placers", "broker-replica")
    said, _, heading, row, _, conclusion = capsys.readouterr().out.splitlines()
    assert said == "1 row, all exact"
    assert heading.split()[:2] == ["brokers", "placer"]
    assert row.split()[:3] == ["9", "broker-replica", "0.25"]
    assert conclusion == (
        "With placer broker-replica on 9 brokers, 25 % of outages of 2 brokers make a partition unwritable, "
        "and 0 % lose one."
    )


def test_of_several_rows_the_lowest_and_the_highest_risk_are_named(capsys):
    availability("--broker-counts", "6,12", *COMMON, "--placers", "broker-replica")
    *_, lowest, highest = capsys.readouterr().out.splitlines()
    assert lowest.startswith("Lowest risk: with placer broker-replica on 12 brokers, 18.2 % of outages of 2 brokers")
    assert highest.startswith("Highest risk: with placer broker-replica on 6 brokers, 40 % of outages of 2 brokers")


def test_the_table_of_kafka_1736_has_exact_values_beside_the_issues(capsys):
    assert availability("--kafka-1736") == 0
    said = capsys.readouterr().out
    for figure in ("0.400000", "0.181818", "0.424", "0.999994", "0.918901", "0.840909", "0.986"):
        assert figure in said


def test_the_table_of_kafka_1736_as_json(capsys):
    availability("--kafka-1736", "--format", "json")
    said = json.loads(capsys.readouterr().out)
    assert [row["brokers"] for row in said["kafka_1736"]["rows"]] == [6, 9, 12]
    assert "rarer but larger" in said["kafka_1736"]["note"]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (
            ["--broker-counts", "6"],
            2,
            "expected --partitions, --replication-factor, --failures, or --grid or --kafka-1736",
        ),
        (["--broker-counts", "10", *COMMON, "--placers", "broker-replica"], 1, "10 brokers are no multiple"),
        (["--broker-counts", "2", *COMMON], 1, "replication factor: expected 1 to the 2 brokers, got 3"),
        (["--broker-counts", "6", *COMMON, "--rack-failures", "1"], 1, "1 failed racks, but there are 0"),
        (["--broker-counts", "6", *COMMON, "--placers", "best"], 2, "--placers: expected all or some of"),
        (["--broker-counts", "6", *COMMON, "--trials", "0"], 2, "--trials: expected a whole number from 1"),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_wrong(arguments, code, text, capsys):
    assert availability(*arguments) == code
    said = capsys.readouterr()
    assert text in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)
