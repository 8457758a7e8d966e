"""kafka-rack assign."""

from __future__ import annotations

import io
import json
import sys

import pytest

from kafka_rack.cli import main

MADE_UP = [
    "--brokers",
    "3",
    "--racks",
    "a,b,c",
    "--topic",
    "orders:6:1",
    "--consumers",
    "3",
    "--consumer-racks",
    "a,b,c",
]
GROUP = {
    "assignor": "sticky",
    "cluster": {"nodes": [[0, "a"], [1, "b"]], "topics": {"orders": [[0], [1], [0], [1]]}},
    "members": {"one": {"topics": ["orders"], "rack": "b"}, "two": {"topics": ["orders"], "rack": "a"}},
}


def run(capsys, *arguments):
    code = main(["assign", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def group_file(tmp_path):
    path = tmp_path / "group.json"
    path.write_text(json.dumps(GROUP))
    return str(path)


def test_people_get_a_table_of_members(capsys):
    assert run(capsys, *MADE_UP)[1].splitlines() == [
        "member      rack  count  partitions",
        "consumer-0  a         2  orders 0,3",
        "consumer-1  b         2  orders 1,4",
        "consumer-2  c         2  orders 2,5",
    ]


def test_programs_get_json_with_the_files_assignor(capsys, group_file):
    code, out, _ = run(capsys, group_file, "--format", "json")
    assert code == 0
    assert json.loads(out) == {
        "assignor": "sticky",
        "assignment": {"one": [["orders", [1, 3]]], "two": [["orders", [0, 2]]]},
    }


def test_the_group_comes_from_standard_input_too(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({"input": GROUP})))
    assert json.loads(run(capsys, "-", "--format", "json", "--assignor", "roundrobin")[1])["assignment"] == {
        "one": [["orders", [0, 2]]],
        "two": [["orders", [1, 3]]],
    }


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "expected a FILE, a group of a real cluster, or --brokers, --topic and --consumers"),
        (["/nowhere.json"], 2, "/nowhere.json: No such file or directory"),
        ([*MADE_UP, "--topic", "orders"], 2, "--topic: expected NAME:PARTITIONS[:REPLICAS], got 'orders'"),
        ([*MADE_UP, "--topic", "x:1:4"], 2, "--topic x:1:4: "),
        (["--group", "g"], 2, "--bootstrap-server and --group need each other"),
        (
            ["x.json", "--group", "g", "--bootstrap-server", "h:1"],
            2,
            "expected a FILE or a group of a real cluster, got both",
        ),
        (["--brokers", "1", "--topic", "t:1", "--consumers", ":a"], 2, "--consumers: :a: a consumer without a name"),
    ],
)
def test_wrong_usage_is_one_line(capsys, arguments, code, message):
    found, out, err = run(capsys, *arguments)
    assert (found, out) == (code, "")
    assert err.startswith("kafka-rack assign: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_file_that_is_no_group_is_named(capsys, tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"cluster": {}}')
    assert run(capsys, str(path))[2] == f"kafka-rack assign: {path}: expected an object with cluster and members\n"
    path.write_text('{"cluster": {"nodes": []}, "members": {}}')
    assert "cluster.topics: expected an object, got None" in run(capsys, str(path))[2]


def test_a_topic_that_does_not_exist_fails_the_work(capsys, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(GROUP | {"assignor": "uniform", "members": {"m": {"topics": ["gone"]}}}))
    code, _, err = run(capsys, str(path))
    assert (code, err) == (1, "kafka-rack assign: members subscribe to topic gone, which does not exist\n")


def test_a_cluster_may_have_the_form_of_the_other_tools(capsys, tmp_path):
    path = tmp_path / "x.json"
    layout = {"brokers": [{"id": 0, "rack": "a"}, {"id": 1, "rack": "b"}], "topics": {"orders": [[0], [1], [0], [1]]}}
    path.write_text(json.dumps(GROUP | {"cluster": layout}))
    assert json.loads(run(capsys, str(path), "--format", "json")[1])["assignment"] == {
        "one": [["orders", [1, 3]]],
        "two": [["orders", [0, 2]]],
    }
    path.write_text(json.dumps(GROUP | {"cluster": layout | {"brokers": [[0, 7]]}}))
    assert run(capsys, str(path))[2].startswith(
        f"kafka-rack assign: {path}: cluster: broker 0: rack: expected a text or null, got 7"
    )


def test_members_without_a_rack_can_be_given_one_by_the_start_of_their_names(capsys, tmp_path):
    path = tmp_path / "x.json"
    members = {"east-1": {"topics": ["orders"]}, "west-1": {"topics": ["orders"], "host": "10.2.0.1"}}
    path.write_text(json.dumps(GROUP | {"members": members}))
    rules = tmp_path / "racks.txt"
    rules.write_text("b@client:east*\na@10.2.0.0/16\n")
    out = run(capsys, str(path), "--client-racks", str(rules), "--format", "json")[1]
    assert json.loads(out)["assignment"] == {"east-1": [["orders", [1, 3]]], "west-1": [["orders", [0, 2]]]}
