"""kafka-rack assign."""

from __future__ import annotations

import io
import json
import sys
from xml.etree import ElementTree as ET

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


def test_explain_puts_now_beside_racks_on(capsys, group_file):
    said = json.loads(run(capsys, group_file, "--assignor", "range", "--explain", "--format", "json")[1])
    assert [(view["name"], view["share"]) for view in said["views"]] == [("without racks", 0.5), ("with racks", 1.0)]
    assert said["views"][1]["members"][0] == {
        "member": "one",
        "rack": "b",
        "partitions": 2,
        "in_rack": 2,
        "share": 1.0,
        "in_rack_from_leader": 2,
    }
    assert said["views"][1]["brokers"] == [
        {"broker": 0, "rack": "a", "reads": 2, "reads_as_leader": 2},
        {"broker": 1, "rack": "b", "reads": 2, "reads_as_leader": 2},
    ]
    assert said["findings"] == []


def test_explain_gives_people_tables_and_findings(capsys):
    out = run(capsys, *MADE_UP, "--assignor", "roundrobin", "--explain")[1]
    assert "without racks           6        6  100.0 %  100.0 %" in out
    assert "- roundrobin never looks at racks (kafka)" in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "give a FILE, a live group, or --brokers, --topic and --consumers"),
        (["/nowhere.json"], 2, "/nowhere.json: cannot be read: No such file or directory"),
        ([*MADE_UP, "--topic", "orders"], 2, "NAME:PARTITIONS:REPLICAS, got 'orders'"),
        ([*MADE_UP, "--topic", "x:1:4"], 2, "--topic x:1:4: "),
        ([*MADE_UP, "--our-rack-awareness"], 2, "rack awareness of ours for range, but only uniform, server-range"),
        ([*MADE_UP, "--rack-of", "a"], 2, "--rack-of: expected PREFIX=RACK, got 'a'"),
        ([*MADE_UP, "--prices", "p.toml"], 2, "--prices and --reads go with --to-consumer-protocol"),
        ([*MADE_UP, "--to-consumer-protocol", "--reads", "1MB/s"], 2, "--reads goes with --prices"),
        ([*MADE_UP, "--to-consumer-protocol", "--prices", "/no.toml"], 2, "--prices /no.toml: cannot be read"),
        ([*MADE_UP, "--to-consumer-protocol", "--explain"], 2, "does not go with --explain"),
        (["--group", "g"], 2, "--bootstrap-server and --group go together"),
        (["x.json", "--group", "g", "--bootstrap-server", "h:1"], 2, "give a FILE or a live group, not both"),
        (["--brokers", "1", "--topic", "t:1", "--consumers", ":a"], 2, "--consumers :a: a consumer without a name"),
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


def test_a_picture_shows_each_members_reads_now_and_with_racks(capsys, tmp_path, group_file):
    target = tmp_path / "reads.svg"
    assert run(capsys, group_file, "--assignor", "range", "--plot", str(target))[0] == 0
    picture = ET.fromstring(target.read_text())
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"one", "two", "a", "b", "without racks: 50.0 %", "with racks: 100.0 %"} <= set(texts)


def test_a_picture_of_many_members_ends_somewhere(capsys, tmp_path):
    target = tmp_path / "reads.svg"
    many = ["--brokers", "1", "--racks", "a", "--topic", "t:1500", "--consumers", "1500", "--plot", str(target)]
    assert run(capsys, *many)[0] == 0
    assert "and 500 members more" in target.read_text()


def test_a_picture_has_the_ending_of_its_form(capsys):
    code, _, err = run(capsys, *MADE_UP, "--plot", "reads.png")
    assert code == 2
    assert "pictures are SVG" in err


def test_a_cluster_in_the_form_of_the_other_tools_will_do(capsys, tmp_path):
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
    out = run(capsys, str(path), "--rack-of", "east=b", "--rack-of", "10.2.=a", "--format", "json")[1]
    assert json.loads(out)["assignment"] == {"east-1": [["orders", [1, 3]]], "west-1": [["orders", [0, 2]]]}


def change_of(capsys, tmp_path, *arguments):
    prices = tmp_path / "prices.toml"
    prices.write_text("egress = 0.01\ningress = 0.01\n")
    command = [*MADE_UP, "--to-consumer-protocol", "--format", "json", "--prices", str(prices), *arguments]
    return {(view["protocol"], view["assignor"]): view for view in json.loads(run(capsys, *command)[1])["views"]}


def test_the_change_of_protocol_is_forecast_with_what_it_loses_and_costs(capsys, tmp_path):
    views = change_of(capsys, tmp_path)
    # One replica each: range on the server gives runs of neighbours, of which one in three is near.
    assert {
        names: (view["in_rack"], view["lost"], float(view["terabyte_cost"]))
        for names, view in views.items()
        if names in [("classic", "range"), ("consumer", "range"), ("consumer, proposed", "rack-uniform")]
    } == {
        ("classic", "range"): (6, 0, 0.0),
        ("consumer", "range"): (2, 4, pytest.approx(20 * 4 / 6)),
        ("consumer, proposed", "rack-uniform"): (6, 0, 0.0),
    }


def test_uniform_keeps_at_first_what_a_group_has_and_loses_it_as_members_come_anew(capsys, tmp_path):
    view = change_of(capsys, tmp_path)["consumer", "uniform"]
    assert (view["moved"], view["in_rack_at_first"]) == (0, 6)
    assert view["in_rack"] < 6


def test_a_month_costs_what_the_rate_says(capsys, tmp_path):
    view = change_of(capsys, tmp_path, "--reads", "6MB/s")["consumer", "range"]
    # Four of six megabytes a second cross, for 730 hours, at two cents a gigabyte.
    assert float(view["month_cost"]) == pytest.approx(4e6 * 730 * 3600 / 1e9 * 0.02)


def test_people_read_what_the_change_loses_in_words(capsys):
    out = run(capsys, *MADE_UP, "--to-consumer-protocol")[1]
    assert "- range loses 4 of 6 partitions in rack" in out
    assert "- rack-uniform keeps as many in rack" in out
