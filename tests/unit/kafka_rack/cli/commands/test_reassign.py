"""kafka-rack reassign, for files and for a real cluster."""

from __future__ import annotations

import asyncio
import json

import pytest

from kafka_rack.cli import main
from mockbroker import MockCluster
from tests.fixture_data import oracle

BROKERS = [[0, "a"], [1, "a"], [2, "b"], [3, "c"]]
LAYOUT = {"brokers": BROKERS, "topics": {"orders": [[0, 1, 2], [2, 0, 3]], "__consumer_offsets": [[2]]}}
ORACLE = next(line for line in oracle("placement") if line["kind"] == "reassign" and len(line["input"]["current"]) > 1)


def reassign(*arguments):
    return main(["reassign", *map(str, arguments)])


@pytest.fixture
def layout(tmp_path):
    """A file with one partition to restore: orders-0, from broker 1 to broker 3."""
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(LAYOUT))
    return file


def test_a_proposal_is_printed_as_kafkas_tool_prints_it(tmp_path, capsys):
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(ORACLE["input"]))
    assert reassign("generate", "--layout", file, "--seed", ORACLE["input"]["seed"]) == 0
    assert capsys.readouterr().out == (
        f"Current partition replica assignment\n{ORACLE['expect']['current_json']}\n\n"
        f"Proposed partition reassignment configuration\n{ORACLE['expect']['proposed_json']}\n"
    )


def test_without_a_seed_one_is_drawn_and_told_so_that_the_proposal_can_be_had_again(layout, capsys):
    reassign("generate", "--layout", layout, "--format", "json")
    first = json.loads(capsys.readouterr().out)
    reassign("generate", "--layout", layout, "--format", "json", "--seed", first["seed"])
    assert json.loads(capsys.readouterr().out) == first


def test_topics_and_brokers_of_a_proposal_are_those_named(layout, capsys):
    reassign("generate", "__consumer_offsets", "--layout", layout, "--to-brokers", "3", "--format", "json")
    proposed = json.loads(capsys.readouterr().out)["proposed"]["partitions"]
    assert [(one["topic"], one["replicas"]) for one in proposed] == [("__consumer_offsets", [3])]


def test_a_repair_is_told_in_tables_with_both_plans(layout, capsys):
    assert reassign("repair", "--layout", layout) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 replica of 1 partition to move; no leader moves."
    assert lines[3] == "orders-0      1  a      3  c     brokers 0 and 1 share rack a, while rack c has no replica"
    assert lines[-5] == "Current partition replica assignment"
    assert json.loads(lines[-1])["partitions"][0]["replicas"] == [0, 3, 2]


def test_a_repair_as_json_says_every_move_and_the_loads(layout, capsys):
    reassign("repair", "--layout", layout, "--format", "json")
    said = json.loads(capsys.readouterr().out)
    assert [(one["from"], one["to"], one["takes_leader"]) for one in said["moves"]] == [(1, 3, False)]
    assert [(one["replicas"], one["replicas_after"]) for one in said["brokers"]] == [(2, 2), (1, 0), (3, 3), (1, 2)]
    assert said["current"]["partitions"][0]["replicas"] == [0, 1, 2]


def test_nothing_to_repair_is_done(tmp_path, capsys):
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"brokers": BROKERS, "topics": {"t": [[0, 2, 3]]}}))
    assert reassign("repair", "--layout", file) == 0
    assert "nothing moves" in capsys.readouterr().out


def test_the_plan_and_the_way_back_are_written(layout, tmp_path):
    out = tmp_path / "moves"
    reassign("repair", "--layout", layout, "--out", out)
    assert json.loads((out / "plan.json").read_text())["partitions"][0]["replicas"] == [0, 3, 2]
    assert json.loads((out / "rollback.json").read_text())["partitions"][0]["replicas"] == [0, 1, 2]
    assert sorted(path.name for path in out.iterdir()) == ["plan.json", "rollback.json"]


def test_no_plan_is_written_if_the_way_back_cannot_be(layout, tmp_path, capsys):
    (tmp_path / "rollback.json").mkdir()
    assert reassign("repair", "--layout", layout, "--out", tmp_path) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["repair"], 2, "expected a real cluster by --bootstrap-server, or a file by --layout"),
        (["repair", "--layout", "absent.json"], 2, "absent.json: No such file"),
        (["repair", "--layout", "{layout}", "--seed", "1"], 2, "no such option --seed"),
        (["repair", "--layout", "{layout}", "--brokers", "3"], 2, "give them once"),
        (["repair", "x", "--layout", "{layout}"], 1, "topic x: there is no such topic"),
        (["generate", "--layout", "{layout}", "--to-brokers", "0,9"], 1, "broker 9 is not in the cluster"),
        (["generate", "--layout", "{layout}", "--to-brokers", "0,0"], 2, "a broker is listed twice"),
        (["generate", "--layout", "{layout}", "--to-brokers", "0,1"], 1, "topic orders: replication factor 3, but 2"),
        (["repair", "--bootstrap-server", "h:1", "--brokers", "2"], 2, "a real cluster reports its own brokers"),
        (["repair", "--bootstrap-server", "nonsense"], 2, "expected host:port"),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_wrong(arguments, code, text, layout, capsys):
    assert reassign(*(str(layout) if one == "{layout}" else one for one in arguments)) == code
    said = capsys.readouterr()
    assert text in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)


def test_brokers_partly_without_a_rack_are_named_with_the_way_out(tmp_path, capsys):
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"brokers": [[0, "a"], [1, None]], "topics": {"t": [[0]]}}))
    assert reassign("generate", "--layout", file) == 1
    assert "broker 1 without a rack" in (error := capsys.readouterr().err)
    assert "--ignore-racks" in error
    assert reassign("generate", "--layout", file, "--ignore-racks") == 0


async def test_a_repair_is_proposed_for_a_real_cluster(tmp_path):
    async with MockCluster(brokers=4, racks=("a", "a", "b", "c")) as mock:
        mock.state.replication_control.create("orders", assignment=[[0, 1, 2], [2, 0, 3]])
        address = ("--bootstrap-server", mock.bootstrap_servers)
        assert await asyncio.to_thread(reassign, "repair", *address, "--out", tmp_path) == 0
    plan = json.loads((tmp_path / "plan.json").read_text())["partitions"]
    assert [(one["topic"], one["partition"], one["replicas"]) for one in plan] == [("orders", 0, [0, 3, 2])]
