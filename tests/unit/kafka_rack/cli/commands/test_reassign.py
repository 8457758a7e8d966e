"""kafka-rack reassign, for files and on a live cluster."""

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
    """A file with one partition to mend: orders-0, from broker 1 to broker 3."""
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(LAYOUT))
    return file


def test_a_proposal_is_printed_as_kafkas_tool_prints_it(tmp_path, capsys):
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(ORACLE["input"]))
    assert reassign("--generate", "--layout", file, "--seed", ORACLE["input"]["seed"]) == 0
    assert capsys.readouterr().out == (
        f"Current partition replica assignment\n{ORACLE['expect']['current_json']}\n\n"
        f"Proposed partition reassignment configuration\n{ORACLE['expect']['proposed_json']}\n"
    )


def test_without_a_seed_one_is_drawn_and_told_so_that_the_proposal_can_be_had_again(layout, capsys):
    reassign("--generate", "--layout", layout, "--format", "json")
    first = json.loads(capsys.readouterr().out)
    reassign("--generate", "--layout", layout, "--format", "json", "--seed", first["seed"])
    assert json.loads(capsys.readouterr().out) == first


def test_topics_and_brokers_of_a_proposal_are_those_named(layout, tmp_path, capsys):
    move = tmp_path / "move.json"
    move.write_text('{"topics": [{"topic": "__consumer_offsets"}], "version": 1}')
    reassign(
        "--generate", "--layout", layout, "--topics-to-move-json-file", move, "--broker-list", "3", "--format", "json"
    )
    proposed = json.loads(capsys.readouterr().out)["proposed"]["partitions"]
    assert [(one["topic"], one["replicas"]) for one in proposed] == [("__consumer_offsets", [3])]


def test_a_repair_is_told_in_tables_with_both_plans(layout, capsys):
    assert reassign("--repair", "--layout", layout) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 replica of 1 partition to move; no leader moves."
    assert lines[3] == "orders-0      1  a      3  c     brokers 0 and 1 share rack a, while rack c has no replica"
    assert lines[-5] == "Current partition replica assignment"
    assert json.loads(lines[-1])["partitions"][0]["replicas"] == [0, 3, 2]


def test_a_repair_as_json_says_every_move_and_the_loads(layout, capsys):
    reassign("--repair", "--layout", layout, "--format", "json")
    said = json.loads(capsys.readouterr().out)
    assert [(one["from"], one["to"], one["takes_leader"]) for one in said["moves"]] == [(1, 3, False)]
    assert [(one["replicas"], one["replicas_after"]) for one in said["brokers"]] == [(2, 2), (1, 0), (3, 3), (1, 2)]
    assert said["current"]["partitions"][0]["replicas"] == [0, 1, 2]


def test_nothing_to_repair_is_done(tmp_path, capsys):
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"brokers": BROKERS, "topics": {"t": [[0, 2, 3]]}}))
    assert reassign("--repair", "--layout", file) == 0
    assert "nothing moves" in capsys.readouterr().out


def test_plans_are_written_whole_beside_the_answer(layout, tmp_path):
    out, back = tmp_path / "plan.json", tmp_path / "back.json"
    reassign("--repair", "--layout", layout, "--output", out, "--rollback", back)
    assert json.loads(out.read_text())["partitions"][0]["replicas"] == [0, 3, 2]
    assert json.loads(back.read_text())["partitions"][0]["replicas"] == [0, 1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back.json", "cluster.json", "plan.json"]


def test_no_plan_is_written_where_the_way_back_cannot_be(layout, tmp_path, capsys):
    out = tmp_path / "plan.json"
    assert reassign("--repair", "--layout", layout, "--output", out, "--rollback", tmp_path / "no" / "back.json") == 1
    assert "cannot be written" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--repair"], 2, "give the cluster by --bootstrap-server, or a file by --layout"),
        (["--repair", "--layout", "absent.json"], 2, "absent.json: cannot be read"),
        (["--repair", "--layout", "{layout}", "--seed", "1"], 2, "--seed does not go with --repair"),
        (["--repair", "--layout", "{layout}", "--brokers", "3"], 2, "give them once"),
        (["--repair", "--layout", "{layout}", "--topic", "x"], 1, "topic x: there is no such topic"),
        (["--generate", "--layout", "{layout}", "--broker-list", "0,9"], 1, "broker 9 is not in the cluster"),
        (["--generate", "--layout", "{layout}", "--broker-list", "0,0"], 2, "a broker is given twice"),
        (["--generate", "--layout", "{layout}", "--broker-list", "x"], 2, "broker ids stand between commas"),
        (["--generate", "--layout", "{layout}", "--broker-list", ""], 2, "--broker-list names no broker"),
        (
            ["--generate", "--layout", "{layout}", "--broker-list", "0,1"],
            1,
            "topic orders: replication factor 3, but 2",
        ),
        (["--repair", "--layout", "{layout}", "--output", "x", "--rollback", "x"], 2, "are both x"),
        (["--execute", "--layout", "{layout}"], 2, "--execute is for a live cluster"),
        (["--list"], 2, "--list is for a live cluster"),
        (["--execute", "--bootstrap-server", "h:1"], 2, "--execute needs a plan"),
        (
            ["--execute", "--bootstrap-server", "h:1", "--reassignment-json-file", "{layout}"],
            2,
            "expected a reassignment",
        ),
        (["--repair", "--bootstrap-server", "h:1", "--brokers", "2"], 2, "a live cluster tells its own"),
        (["--repair", "--bootstrap-server", "nonsense"], 2, "expected host:port"),
        (["--repair", "--bootstrap-server", "h:1", "--timeout", "0"], 2, "--timeout 0, but it must be above 0"),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_wrong(arguments, code, text, layout, capsys):
    assert reassign(*(str(layout) if one == "{layout}" else one for one in arguments)) == code
    said = capsys.readouterr()
    assert text in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", "line 1 column 2"),
        ('{"topics": []}', "with at least one topic, got none"),
        ('{"topics": [{"name": "t"}]}', "topic at place 0"),
        ('{"topics": [{"topic": "t"}, {"topic": "t"}]}', "topic t is given twice"),
    ],
)
def test_a_broken_list_of_topics_is_named_with_the_place(content, text, layout, tmp_path, capsys):
    file = tmp_path / "move.json"
    file.write_text(content)
    assert reassign("--generate", "--layout", layout, "--topics-to-move-json-file", file) == 2
    error = capsys.readouterr().err
    assert str(file) in error
    assert text in error


def test_brokers_partly_without_a_rack_are_named_with_the_way_out(tmp_path, capsys):
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"brokers": [[0, "a"], [1, None]], "topics": {"t": [[0]]}}))
    assert reassign("--generate", "--layout", file) == 1
    assert "broker 1 without a rack" in (error := capsys.readouterr().err)
    assert "--disable-rack-aware" in error
    assert reassign("--generate", "--layout", file, "--disable-rack-aware") == 0


async def live(mock, *arguments):
    """Run the command beside the cluster, which lives in this thread's loop."""
    return await asyncio.to_thread(reassign, *arguments, "--bootstrap-server", mock.bootstrap_servers)


async def test_a_repair_is_proposed_executed_and_taken_back_on_a_live_cluster(tmp_path, capsys):
    plan, back = tmp_path / "plan.json", tmp_path / "back.json"
    async with MockCluster(brokers=4, racks=("a", "a", "b", "c")) as mock:
        mock.state.create_topic("orders", assignment=[[0, 1, 2], [2, 0, 3]])
        assert await live(mock, "--repair", "--output", plan, "--rollback", back) == 0
        assert await live(mock, "--execute", "--reassignment-json-file", plan) == 0
        assert replicas(mock) == [[0, 3, 2], [2, 0, 3]]
        assert await live(mock, "--list") == 0
        assert await live(mock, "--execute", "--reassignment-json-file", back) == 0
        assert replicas(mock) == [[0, 1, 2], [2, 0, 3]]
    said = capsys.readouterr()
    assert "The moves of 1 partition have begun" in said.out
    assert "the plan puts two replicas of 1 partition into one rack" in said.err


def replicas(mock):
    return [list(partition.replicas) for partition in mock.state.topics["orders"].partitions]


async def test_a_plan_for_what_is_not_there_changes_nothing(tmp_path, capsys):
    plan = tmp_path / "plan.json"
    good = {"topic": "orders", "partition": 0, "replicas": [2, 1, 0]}
    plan.write_text(json.dumps({"version": 1, "partitions": [good, {**good, "partition": 5}]}))
    async with MockCluster(topics={"orders": (1, 3)}) as mock:
        before = replicas(mock)
        assert await live(mock, "--execute", "--reassignment-json-file", plan) == 2
        assert replicas(mock) == before
    assert "orders-5: topic orders has partitions 0 to 0" in capsys.readouterr().err
