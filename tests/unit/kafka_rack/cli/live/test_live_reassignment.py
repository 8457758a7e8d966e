"""kafka-rack reassign on a live cluster: moves that are throttled, looked after and called off."""

from __future__ import annotations

import asyncio
import json

import pytest

from kafka_rack.cli import main
from mockbroker import MockCluster
from tests.unit.mockbroker.handlers.records import batch, produce_request
from tests.unit.mockbroker.wire_client import WireClient

SIDES = ("leader", "follower")
REPLICAS = [f"{side}.replication.throttled.replicas" for side in SIDES]
RATES = [f"{side}.replication.throttled.rate" for side in SIDES]


def reassign(*arguments):
    return main(["reassign", *map(str, arguments)])


async def live(mock, *arguments):
    """Run the command beside the cluster, which lives in this thread's loop."""
    return await asyncio.to_thread(reassign, *arguments, "--bootstrap-server", mock.bootstrap_servers)


@pytest.fixture
async def mock():
    """Brokers 0-3; orders-0 on 0, 1, 2 with enough records for a day at a byte a second, orders-1 without any."""
    async with MockCluster(brokers=4, racks=("a", "b", "c", "a")) as mock:
        mock.state.create_topic("orders", assignment=[[0, 1, 2], [1, 2, 0]])
        async with WireClient(mock.bootstrap_servers.split(",")[0]) as client:
            answer = await client.ask(produce_request(batch(b"x" * 100_000)), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0
        yield mock


@pytest.fixture
def plan(tmp_path):
    """Both partitions, one of which moves to broker 3."""
    file = tmp_path / "plan.json"
    partitions = [
        {"topic": "orders", "partition": 1, "replicas": [2, 1, 0]},
        {"topic": "orders", "partition": 0, "replicas": [0, 1, 3], "log_dirs": ["any", "any", "any"]},
    ]
    file.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return file


def replicas(mock):
    return [list(partition.replicas) for partition in mock.state.topics["orders"].partitions]


def throttles(mock):
    """The throttles that are set: of the topic, then of each broker."""
    configs = mock.state.configs
    of_topic = {name: value for name, value in configs.own("topic", "orders").items() if name in REPLICAS}
    of_brokers = [[configs.own("broker", str(one)).get(name) for name in RATES] for one in mock.state.brokers]
    return of_topic, of_brokers


async def test_a_throttle_holds_the_moves_until_they_are_called_off(mock, plan, capsys):
    given = ("--reassignment-json-file", plan)
    assert await live(mock, "--execute", "--throttle", 1, *given) == 0
    said = capsys.readouterr().out
    assert "The inter-broker throttle limit was set to 1 B/s" in said
    assert "--verify takes the throttle away once they are done" in said
    of_topic, of_brokers = throttles(mock)
    assert of_topic == {REPLICAS[0]: "0:0,0:1,0:2,1:0,1:1,1:2", REPLICAS[1]: "0:3"}
    assert of_brokers == [["1", "1"]] * 4

    assert await live(mock, "--verify", *given) == 3
    assert capsys.readouterr().out == (
        "Status of partition reassignment:\n"
        "Reassignment of partition orders-0 is still in progress.\n"
        "Reassignment of partition orders-1 is completed.\n\n"
    )
    assert throttles(mock)[1] == [["1", "1"]] * 4

    assert await live(mock, "--cancel", "--preserve-throttles", *given) == 0
    assert capsys.readouterr().out == "Successfully cancelled partition reassignment for: orders-0\n"
    assert replicas(mock) == [[0, 1, 2], [2, 1, 0]]
    assert throttles(mock)[1] == [["1", "1"]] * 4

    assert await live(mock, "--cancel", *given) == 0
    assert capsys.readouterr().out == (
        "None of the specified partition reassignments are active.\n"
        "Clearing broker-level throttles on brokers 0,1,2,3\n"
        "Clearing topic-level throttles on topic orders\n"
    )
    assert throttles(mock) == ({}, [[None, None]] * 4)

    assert await live(mock, "--verify", *given) == 3
    assert (
        "There is no active reassignment of partition orders-0, but replica set is 0,1,2 rather than 0,1,3."
        in capsys.readouterr().out
    )


async def test_a_throttle_whose_moves_are_refused_is_told_of(mock, tmp_path, capsys):
    mock.state.create_topic("small", assignment=[[0]])
    file = tmp_path / "plan.json"
    file.write_text('{"partitions": [{"topic": "small", "partition": 0, "replicas": [1]}]}')
    mock.faults.add(match={"api": "AlterPartitionReassignments"}, effect={"error": "INVALID_REPLICA_ASSIGNMENT"})
    assert await live(mock, "--execute", "--throttle", 1, "--reassignment-json-file", file) == 1
    said = capsys.readouterr().err
    assert "INVALID_REPLICA_ASSIGNMENT" in said
    assert "the throttle is set, --cancel takes it away" in said


async def test_a_replica_on_its_way_is_not_one_that_is_out_of_sync(mock, plan, capsys):
    assert await live(mock, "--execute", "--throttle", 1, "--reassignment-json-file", plan) == 0
    capsys.readouterr()
    words = ["topics", "--describe", "--under-replicated-partitions", "--bootstrap-server", mock.bootstrap_servers]
    assert await asyncio.to_thread(main, words) == 0
    assert len(replicas(mock)[0]) == 4
    assert capsys.readouterr().out == ""
    await mock.stop_broker(2)
    assert await asyncio.to_thread(main, words) == 0
    assert "orders-0" in capsys.readouterr().out


async def test_once_all_is_moved_verifying_takes_the_throttles_away(mock, plan, capsys):
    given = ("--reassignment-json-file", plan)
    assert await live(mock, "--execute", "--throttle", 10**9, *given) == 0
    assert await live(mock, "--verify", "--preserve-throttles", "--wait", 600, *given) == 0
    assert throttles(mock)[1] == [[str(10**9)] * 2] * 4
    capsys.readouterr()
    assert await live(mock, "--verify", *given, "--format", "json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["throttles_cleared"] == {"brokers": [0, 1, 2, 3], "topics": ["orders"]}
    assert said["partitions"][0] == {
        "topic": "orders",
        "partition": 0,
        "state": "completed",
        "replicas": [0, 1, 3],
        "target": [0, 1, 3],
    }
    assert throttles(mock) == ({}, [[None, None]] * 4)


async def test_throttles_stay_while_partitions_of_another_plan_move(mock, plan, tmp_path, capsys):
    other = tmp_path / "other.json"
    other.write_text('{"partitions": [{"topic": "orders", "partition": 1, "replicas": [1, 2, 0]}]}')
    assert await live(mock, "--execute", "--throttle", 1, "--reassignment-json-file", plan) == 0
    assert await live(mock, "--execute", "--reassignment-json-file", other) == 0
    capsys.readouterr()
    assert await live(mock, "--verify", "--preserve-throttles", "--reassignment-json-file", other) == 0
    capsys.readouterr()
    assert await live(mock, "--verify", "--reassignment-json-file", other) == 3
    said = capsys.readouterr()
    assert "Reassignment of partition orders-1 is completed." in said.out
    assert "throttles stay: 1 partition of other plans still move, first orders-0" in said.err
    assert throttles(mock)[1] == [["1", "1"]] * 4


async def test_a_broker_that_is_down_keeps_its_throttle_and_that_is_said(mock, plan, capsys):
    given = ("--reassignment-json-file", plan)
    await mock.stop_broker(2)
    assert await live(mock, "--execute", "--throttle", 1, *given) == 0
    assert "note: broker 2 is down: it gets no throttle" in capsys.readouterr().err
    assert throttles(mock)[1] == [["1", "1"], ["1", "1"], [None, None], ["1", "1"]]
    assert await live(mock, "--cancel", *given) == 1
    assert "throttles may be left: broker 2 is down" in capsys.readouterr().err
    assert throttles(mock) == ({}, [[None, None]] * 4)


async def test_partitions_that_are_not_there_are_told_as_kafkas_tool_does(mock, tmp_path, capsys):
    file = tmp_path / "plan.json"
    gone = [{"topic": "gone", "partition": 0, "replicas": [0, 1]}, {"topic": "orders", "partition": 9, "replicas": [3]}]
    file.write_text(json.dumps({"partitions": gone}))
    assert await live(mock, "--verify", "--reassignment-json-file", file) == 3
    said = capsys.readouterr().out
    assert "There is no active reassignment of partition gone-0, but replica set is  rather than 0,1." in said
    assert "There is no active reassignment of partition orders-9, but replica set is  rather than 3." in said


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--verify",), "--verify needs a plan: give it by --reassignment-json-file"),
        (("--cancel",), "--cancel needs a plan"),
        (("--list", "--throttle", 5), "--throttle does not go with --list"),
        (("--execute", "--preserve-throttles"), "--preserve-throttles does not go with --execute"),
        (("--verify", "--throttle", -1), "-1, but it must be at least 0"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(arguments, text, capsys):
    try:
        code = reassign(*arguments, "--bootstrap-server", "127.0.0.1:1")
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    assert text in capsys.readouterr().err
