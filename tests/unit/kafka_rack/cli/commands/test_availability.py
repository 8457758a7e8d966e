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
    assert availability("--brokers", "6,9,12", *COMMON, "--placer", "broker-replica", "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert all(list(row)[: len(COLUMNS)] == COLUMNS for row in rows)
    assert [round(row["p_any_unwritable"], 3) for row in rows] == [0.4, 0.25, 0.182]
    assert {(row["min_insync_replicas"], row["method"], row["error"]) for row in rows} == {(2, "exact", 0)}


def test_all_placers_can_be_asked_at_once(capsys):
    availability("--brokers", "6", "--rack-count", "3", *COMMON, "--placer", "all", "--format", "json")
    rows = json.loads(capsys.readouterr().out)
    assert [row["placer"] for row in rows] == [
        *("broker-replica", "copyset", "random", "rack-aware", "striped", "unaware")
    ]


def test_people_get_a_table(capsys):
    availability("--brokers", "9", *COMMON, "--placer", "broker-replica")
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split()[:5] == ["brokers", "racks", "partitions", "rf", "min.isr"]
    assert row.split()[:6] == ["9", "-", "54", "3", "2", "broker-replica"]


def test_the_table_of_kafka_1736_has_exact_values_beside_the_issues(capsys):
    assert availability("--kafka-1736") == 0
    said = capsys.readouterr().out
    for figure in ("0.400000", "0.181818", "0.424", "0.999994", "0.918901", "0.840909", "0.986"):
        assert figure in said
    assert "rarer but larger" in said
    assert "the same for every placement" in said


def test_the_table_of_kafka_1736_as_json(capsys):
    availability("--kafka-1736", "--format", "json")
    said = json.loads(capsys.readouterr().out)
    assert [row["brokers"] for row in said["rows"]] == [6, 9, 12]
    assert said["note"]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--brokers", "6"], 2, "--partitions, --replication-factor, --failures must be given, or --kafka-1736"),
        (["--brokers", "10", *COMMON, "--placer", "broker-replica"], 1, "10 brokers are no multiple"),
        (["--brokers", "2", *COMMON], 1, "replication factor: expected 1 to the 2 brokers, got 3"),
        (["--brokers", "6", *COMMON, "--rack-failures", "1"], 1, "1 failed racks, but there are 0"),
        (["--brokers", "6", *COMMON, "--placer", "best"], 2, "--placer: expected all or some of"),
        (["--brokers", "6", *COMMON, "--trials", "0"], 2, "--trials: expected 1 or more, got 0"),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_wrong(arguments, code, text, capsys):
    assert availability(*arguments) == code
    said = capsys.readouterr()
    assert text in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)


def test_cluster_sizes_that_are_no_numbers_are_wrong_usage(capsys):
    with pytest.raises(SystemExit) as stopped:
        availability("--brokers", "six", *COMMON)
    assert stopped.value.code == 2
