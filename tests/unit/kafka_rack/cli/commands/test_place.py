"""kafka-rack place."""

from __future__ import annotations

import json
import re

import pytest

from kafka_rack.cli import main
from kafka_rack.placement import BUILT_IN

KIP_36 = "0:rack1,1:rack3,2:rack3,3:rack2,4:rack2,5:rack1"


def place(*arguments):
    return main(["place", *arguments])


def test_kip_36_table_is_printed_as_json(capsys):
    assert place("--brokers", KIP_36, "--partitions", "12", "--replication-factor", "3", "--format", "json") == 0
    said = json.loads(capsys.readouterr().out)
    assert [row["replicas"] for row in said["partitions"]][:3] == [[0, 3, 1], [3, 1, 5], [1, 5, 4]]
    assert said["partitions"][11] == {"partition": 11, "replicas": [2, 5, 4], "racks": ["rack3", "rack1", "rack2"]}
    assert said["brokers"][0] == {"broker": 0, "rack": "rack1", "leaders": 2, "replicas": 6}


def test_people_get_a_table_of_partitions_and_one_of_brokers(capsys):
    place("--brokers", "3", "--racks", "a,b", "--partitions", "1", "--replication-factor", "2")
    assert capsys.readouterr().out.splitlines() == [
        "partition  replicas  racks",
        "        0  0,1       a,b",
        "",
        "broker  rack  leaders  replicas",
        "     0  a           1         1",
        "     1  b           0         1",
        "     2  a           0         0",
    ]


def test_a_placement_is_printed_in_the_form_of_kafkas_reassignment_tool(capsys):
    place(
        *("--brokers", "2", "--partitions", "1", "--replication-factor", "2", "--start-partition", "4"),
        *("--topic", "orders", "--format", "reassignment"),
    )
    assert capsys.readouterr().out == (
        '{"version":1,"partitions":[{"topic":"orders","partition":4,"replicas":[0,1],"log_dirs":["any","any"]}]}\n'
    )


def test_a_seed_draws_as_java_does_and_repeats_itself(capsys):
    outputs = []
    for seed in ("1", "1", "2"):
        place("--brokers", "9", "--partitions", "9", "--replication-factor", "3", "--placer", "striped", "--seed", seed)
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]


def test_brokers_partly_without_a_rack_are_refused_and_named_unless_racks_are_ignored(capsys):
    common = ["--brokers", "0:a,1,2:b", "--partitions", "1", "--replication-factor", "2"]
    assert place(*common) == 1
    error = capsys.readouterr().err
    assert "broker 1 without a rack" in error
    assert error.count("\n") == 1
    assert "--ignore-racks" in error
    assert place(*common, "--ignore-racks") == 0


def test_rack_names_that_almost_match_get_a_hint_beside_the_answer(capsys):
    assert place("--brokers", "0:A,1:a", "--partitions", "1", "--replication-factor", "1") == 0
    assert capsys.readouterr().err == "kafka-rack place: hint: racks A and a: they differ in capitals only\n"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--partitions", "1", "--replication-factor", "1"], 2, "--brokers is missing"),
        (
            ["--brokers", "3", "--partitions", "1", "--replication-factor", "4"],
            1,
            "replication factor 4, but 3 brokers",
        ),
        (["--brokers", "3", "--partitions", "1", "--replication-factor", "0"], 2, "number from 1 to 100000, got '0'"),
        (
            ["--brokers", "9999999999", "--partitions", "1", "--replication-factor", "1"],
            2,
            "--brokers: expected a whole number from 1 to 100000",
        ),
        (["--brokers", "9999999999:a", "--partitions", "1", "--replication-factor", "1"], 2, "ids up to 2147483647"),
        (
            ["--brokers", "0", "--partitions", "1", "--replication-factor", "1"],
            2,
            "--brokers: expected a whole number from 1",
        ),
        (["--brokers", "1:a,1:b", "--partitions", "1", "--replication-factor", "1"], 1, "broker 1 is given twice"),
        (["--brokers", "a:1", "--partitions", "1", "--replication-factor", "1"], 2, "such as 0:a,1:b, got 'a:1'"),
        (
            ["--brokers", "0:a", "--racks", "b", "--partitions", "1", "--replication-factor", "1"],
            2,
            "--racks needs a number of --brokers",
        ),
        (
            ["--brokers", "2", "--racks", "a,", "--partitions", "1", "--replication-factor", "1"],
            1,
            "broker 1 without a rack",
        ),
        (
            ["--brokers", "2", "--partitions", "1", "--replication-factor", "1", "--set", "replica.placer.sed=1"],
            2,
            "unknown setting replica.placer.sed; did you mean replica.placer.seed?",
        ),
        (["--brokers", "2", "--fenced", "5", "--partitions", "1", "--replication-factor", "1"], 2, "no such broker"),
        (
            ["--brokers", "2", "--fenced", "x", "--partitions", "1", "--replication-factor", "1"],
            2,
            "expected whole numbers up to",
        ),
        (
            ["--brokers", "4", "--partitions", "1", "--replication-factor", "3", "--placer", "broker-replica"],
            1,
            "no multiple of replication factor 3",
        ),
        (["--brokers", "2", "--partitions", "1", "--replication-factor", "1", "--placer", "x"], 2, ", got 'x'"),
        (
            ["--brokers", "2", "--partitions", "1", "--replication-factor", "1", "--seed", "1", "--start-index", "0"],
            2,
            "set one or the other",
        ),
        (
            ["--brokers", "2", "--partitions", "1", "--replication-factor", "1", "--set", "x"],
            2,
            "expected KEY=VALUE, got 'x'",
        ),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_wrong(arguments, code, text, capsys):
    assert place(*arguments) == code
    said = capsys.readouterr()
    assert text in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)


def test_the_help_names_every_placer(capsys):
    assert place("--help") == 0
    said = capsys.readouterr().out
    assert [name for name in BUILT_IN if name not in re.sub(r"-\s+", "-", said)] == []
