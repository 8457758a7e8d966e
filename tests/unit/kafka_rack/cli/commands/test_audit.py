"""kafka-rack audit."""

from __future__ import annotations

import asyncio
import json

import pytest

from kafka_rack.cli import main
from mockbroker import MockCluster

HEALTHY = {"brokers": [[0, "a"], [1, "b"], [2, "c"]], "topics": {"orders": [[0, 1, 2], [1, 2, 0], [2, 0, 1]]}}
SICK = {"brokers": [[0, "a"], [1, "a"], [2, "b"], [3, "b"]], "topics": {"orders": [[0, 1], [2, 0]]}}


def audit(*arguments):
    return main(["audit", *map(str, arguments)])


@pytest.fixture
def file_of(tmp_path):
    def write(content):
        file = tmp_path / "cluster.json"
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    return write


def test_a_healthy_cluster_is_done_with_exit_code_0(file_of, capsys):
    assert audit("--layout", file_of(HEALTHY)) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Nothing found in 3 partitions.",
        "",
        "rack  brokers  leaders  replicas  unwritable without it  lost with it",
        "a           1        1         3                      0             0",
        "b           1        1         3                      0             0",
        "c           1        1         3                      0             0",
        "",
        "broker  rack  leaders  replicas",
        "     0  a           1         3",
        "     1  b           1         3",
        "     2  c           1         3",
    ]


def test_findings_are_a_line_each_with_exit_code_3(file_of, capsys):
    assert audit("--layout", file_of(SICK)) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("lost-with-rack  orders  when rack a fails, no replica is left of 1 of 2 partitions (0)")
    assert lines[2].startswith(
        "shared-rack     orders  1 of 2 partitions (0); in partition 0 brokers 0 and 1 share rack a"
    )


def test_findings_that_are_left_out_do_not_count(file_of):
    assert audit("--layout", file_of(SICK), "--ignore", "shared-rack", "--ignore", "lost-with-rack") == 0


def test_programs_get_every_partition_of_a_finding(file_of, capsys):
    audit("--layout", file_of(SICK), "--format", "json", "--min-insync-replicas", "2")
    said = json.loads(capsys.readouterr().out)
    found = {(one["kind"], one["rack"]): one["partitions"] for one in said["findings"]}
    assert found["unwritable-with-rack", "b"] == [{"topic": "orders", "partition": 1}]
    assert said["racks"][0] == {"rack": "a", "brokers": 2, "leaders": 1, "replicas": 3, "unwritable": 2, "lost": 1}


def test_a_plan_of_kafkas_tool_is_audited_with_brokers_beside_it(file_of, capsys):
    plan = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [0, 1]}]}
    assert audit("--layout", file_of(plan), "--brokers", "0:A,1:a") == 3
    assert "racks A and a: they differ in capitals only" in capsys.readouterr().out


def test_one_topic_can_be_looked_at_alone(file_of):
    sick = {**SICK, "topics": {**SICK["topics"], "well": [[0, 2], [2, 0], [1, 3], [3, 1]]}}
    assert audit("well", "--layout", file_of(sick)) == 0


def test_the_cluster_is_looked_at_as_it_will_be_once_a_plan_is_done(file_of, tmp_path, capsys):
    plan, layout = tmp_path / "plan.json", file_of(SICK)
    assert main(["reassign", "repair", "--layout", str(layout), "--out", str(tmp_path)]) == 0
    assert audit("--layout", layout, "--plan", plan) == 0
    plan.write_text(plan.read_text().replace('"partition":0', '"partition":7'))
    capsys.readouterr()
    assert audit("--layout", layout, "--plan", plan) == 2
    assert capsys.readouterr().err.startswith(f"kafka-rack audit: {plan}: orders-7: topic orders has partitions 0 to 1")


async def test_a_live_cluster_is_audited_with_its_own_settings(capsys):
    async with MockCluster(topics={"orders": (3, 3)}, settings={"min.insync.replicas": 3}) as mock:
        assert await asyncio.to_thread(audit, "--bootstrap-server", mock.bootstrap_servers) == 3
    assert "have fewer in-sync replicas than min.insync.replicas 3" in capsys.readouterr().out


async def test_diskless_topics_have_no_replicas_and_so_no_findings(capsys):
    async with MockCluster(diskless_topics={"events": 3}) as mock:
        assert await asyncio.to_thread(audit, "--bootstrap-server", mock.bootstrap_servers) == 0
    assert capsys.readouterr().err == (
        "kafka-rack audit: note: topic events is diskless and left out: it has no replicas\n"
    )


async def test_a_rack_that_is_down_shows_as_it_is(capsys):
    async with MockCluster(topics={"orders": (3, 3)}, settings={"min.insync.replicas": 3}) as mock:
        await mock.stop_rack("b")
        await asyncio.to_thread(audit, "--bootstrap-server", mock.bootstrap_servers)
    said = capsys.readouterr().out
    assert "unwritable-now" in said
    assert "     1  b           0         3  down" in said


@pytest.mark.parametrize(
    ("content", "options", "text"),
    [
        (HEALTHY, ["--skew", "0.5"], "--skew: expected a number of 1 or more, got '0.5'"),
        (HEALTHY, ["--brokers", "3"], "give them once"),
        ("{", [], "line 1 column 2"),
        ({**HEALTHY, "brokers": [[0, "a"], [0, "b"]]}, [], "broker 0 is given twice, in rack a and in rack b"),
        ({**HEALTHY, "brokers": [[0, "a"]]}, [], "orders-0 is on broker 1, which is not among the brokers"),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_wrong_and_where(content, options, text, file_of, capsys):
    file = file_of(content)
    assert audit("--layout", file, *options) == 2
    said = capsys.readouterr()
    assert text in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert options or str(file) in said.err


def test_a_cluster_that_cannot_be_reached_is_one_line(capsys):
    assert audit("--bootstrap-server", "127.0.0.1:1") == 1
    assert capsys.readouterr().err == "kafka-rack audit: 127.0.0.1:1: cannot be reached: Connection refused\n"
