"""kafka-rack inspect."""

from __future__ import annotations

import asyncio
import json

import pytest

from kafka_rack.cli import main
from mockbroker import MockCluster
from tests.unit.mockbroker.adapters.real_cluster.scripted_broker import scripted_broker
from tests.unit.mockbroker.adapters.real_cluster.test_connection import broker_of_0_9


def inspect(*arguments):
    return main(["inspect", *arguments])


async def live(mock, *arguments):
    return await asyncio.to_thread(inspect, "--bootstrap-server", mock.bootstrap_servers, *arguments)


async def test_brokers_topics_and_what_is_spoken_are_told_in_tables(capsys):
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    async with MockCluster(topics={"orders": (3, 3)}, settings={"replica.selector.class": selector}) as mock:
        await mock.stop_broker(2)
        assert await live(mock) == 0
        addresses = mock.bootstrap_servers.split(",")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("requests for the controller go to broker 0.")
    assert lines[3].split() == ["0", "a", f"PLAINTEXT://{addresses[0]}", "RackAwareReplicaSelector"]
    assert lines[5].split() == ["2", "c", addresses[2], "-", "down"]
    assert lines[8].split() == ["orders", "3", "3", "1", "3", "0", "2", "1", "0"]
    served = {line.split("  ")[0]: line.rsplit("  ", 1)[1] for line in lines[11:]}
    assert served["Fetch 11"] == "yes"
    assert served["Metadata 14"] == "yes"


async def test_follower_reads_that_no_broker_is_set_up_for_are_told(capsys):
    async with MockCluster() as mock:
        await live(mock)
    assert "but replica.selector.class is not set to RackAwareReplicaSelector" in capsys.readouterr().out


async def test_what_programs_get_can_be_read_again_as_a_layout(tmp_path, capsys):
    async with MockCluster(topics={"orders": (3, 3)}) as mock:
        await mock.stop_broker(1)
        assert await live(mock, "--format", "json") == 0
    text = capsys.readouterr().out
    said = json.loads(text)
    assert [(one["id"], one["rack"], one["fenced"]) for one in said["brokers"]] == [
        (0, "a", False),
        (1, "b", True),
        (2, "c", False),
    ]
    assert said["topics"]["orders"]["leaders_by_rack"] == {"a": 1, "b": 0, "c": 2}
    assert said["brokers"][0]["versions"]["Metadata"] == [0, 14]
    assert {one["api"]: one["served_by"] for one in said["features"] if one["from"] == 11} == {"Fetch": [0, 2]}
    file = tmp_path / "cluster.json"
    file.write_text(text)
    assert main(["audit", "--layout", str(file)]) == 0


async def test_a_snapshot_keeps_which_topics_are_diskless(tmp_path, capsys):
    file = tmp_path / "cluster.json"
    async with MockCluster(diskless_topics={"events": 3}) as mock:
        await live(mock, "--format", "json")
    file.write_text(capsys.readouterr().out)
    assert main(["audit", "--layout", str(file)]) == 0
    assert "events is diskless" in capsys.readouterr().err


async def test_a_diskless_topic_is_shown_as_one_and_alike_each_time(capsys):
    seen = set()
    async with MockCluster(topics={"orders": (3, 3)}, diskless_topics={"events": 3}) as mock:
        for _ in range(4):
            await live(mock)
            seen.add(capsys.readouterr().out)
        await live(mock, "--format", "json")
        said = json.loads(capsys.readouterr().out)["topics"]["events"]
    (text,) = seen
    (line,) = (line.split() for line in text.splitlines() if line.startswith("events"))
    assert line == ["events", "3", "diskless", "1", "-", "-", "-", "-", "-"]
    assert (said["diskless"], said["racks_per_partition"], said["leaders_by_rack"]) == (True, None, None)
    assert said["partitions"][2] == {"partition": 2, "leader": None, "replicas": [], "isr": [], "racks": []}


async def test_rack_names_that_almost_match_get_a_hint_beside_the_answer(capsys):
    async with MockCluster(racks=("us-east-1a", "use1-az1")) as mock:
        await live(mock)
    assert "kafka-rack inspect: hint: racks us-east-1a and use1-az1" in capsys.readouterr().err


async def test_a_topic_that_is_not_there_is_named_and_not_made(capsys):
    async with MockCluster() as mock:
        assert await live(mock, "absent") == 1
        assert not mock.state.topics
    assert capsys.readouterr().err == "kafka-rack inspect: topic absent: UNKNOWN_TOPIC_OR_PARTITION\n"


def test_a_broker_before_racks_is_inspected_all_the_same(capsys):
    with scripted_broker(broker_of_0_9) as where:
        assert inspect("--bootstrap-server", where, "--timeout", "1s") == 0
    said = capsys.readouterr()
    assert "note: the cluster is older than 0.10" in said.err
    assert said.out.splitlines()[3].split()[:4] == ["4", "-", "127.0.0.1:9", "-"]
    assert "broker 4 at 127.0.0.1:9: cannot be reached" in said.out


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([], 2, "--bootstrap-server"),
        (["--bootstrap-server", "x"], 2, "expected host:port, got 'x'"),
        (["--bootstrap-server", "127.0.0.1:1"], 1, "127.0.0.1:1: cannot be reached: Connection refused"),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_wrong(arguments, code, text, capsys):
    assert inspect(*arguments) == code
    said = capsys.readouterr()
    assert text in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)
