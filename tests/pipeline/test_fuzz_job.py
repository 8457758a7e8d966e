"""Fuzzing on Spark: results do not depend on the tasks, and what is planted is found, made small and replayed."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import protocol
from kafka_rack.cli import main
from kafka_rack.cli.pipeline import running
from kafka_rack.pipeline.fuzz.codecs import CodecSource
from kafka_rack.pipeline.fuzz.job import fuzz
from kafka_rack.pipeline.fuzz.plan import FuzzPlan, chosen
from kafka_rack.pipeline.fuzz.results import coverage_rows, never_exercised

PLANTED = '''
import protocol

class Codec:
    """Writes a null rack as an empty one."""

    def encode(self, message, version, value):
        for broker in value["brokers"]:
            broker["rack"] = broker["rack"]{mistake}
        return protocol.encode(protocol.from_json(message, version, value), version)
'''


@pytest.fixture
def shared_session(spark, monkeypatch):
    """The command on the session of the tests."""

    @contextmanager
    def session(_arguments):
        yield spark

    monkeypatch.setattr(running, "spark_for", session)


@pytest.fixture
def no_spark(monkeypatch):
    """Fails a command that asks for a session."""

    def refuse(_arguments):
        raise AssertionError("Spark was asked for")

    monkeypatch.setattr(running, "spark_for", refuse)


def test_results_do_not_depend_on_the_number_of_tasks(spark):
    plan = FuzzPlan(chosen(["Heartbeat*", "LeaveGroup*", "SyncGroup*", "JoinGroup*", "ListGroups*"], "all"), 20, 4)
    assert len(list(plan.chunks())) >= 16
    checks = ["round-trip", "damage"]
    one, four, many = (fuzz(spark, plan, checks, tasks=tasks).results for tasks in (1, 4, 16))
    assert one == four == many
    assert one.examples == 20 * plan.message_versions
    assert one.failures == {}


def test_all_judges_agree_about_messages_that_all_know(spark):
    names = ["round-trip", "versions", "reference", "damage", "codec"]
    plan = FuzzPlan(chosen(["MetadataRequest", "FindCoordinatorResponse"], "latest"), 60, 9)
    kio = CodecSource.parse("protocol.fuzz.oracles:KioOracle", Path.cwd())
    found = fuzz(spark, plan, names, codec=kio, tasks=2).results
    assert found.failures == {}
    assert {name: found.tallies[name].agreed for name in names} == {name: found.tallies[name].asked for name in names}
    assert min(found.tallies[name].asked for name in names) > 0
    assert never_exercised(coverage_rows(found)) == []


@pytest.mark.usefixtures("shared_session")
def test_a_planted_bug_is_found_and_its_file_replays_it_until_it_is_restored(tmp_path, monkeypatch, capsys):
    codec, out = tmp_path / "mine.py", tmp_path / "out"
    codec.write_text(PLANTED.format(mistake=' or ""'))
    asked = ["MetadataResponse", "--versions", "9", "--codec", f"{codec}:Codec", "--checks", "codec"]
    command = ["pipeline", "fuzz", *asked, "--examples", "80", "--out", str(out), "--format", "json"]
    assert main(command) == 3
    summary = json.loads(capsys.readouterr().out)
    assert summary["failures"] == json.loads((out / "summary.json").read_text())["failures"]
    assert summary["checks"]["codec"]["failed"] == sum(one["count"] for one in summary["failures"]) > 0
    (failure,) = [one for one in summary["failures"] if one["kind"] == "encode gives other bytes"]

    written = json.loads((out / failure["file"]).read_text())
    assert written["value"] == {"brokers": [{}]}  # the smallest: one broker, with its null rack
    assert (
        written["hex"]
        == protocol.encode(
            protocol.named_class("MetadataResponse")(
                brokers=[protocol.named_class("MetadataResponse").Broker()],
            ),
            9,
        ).hex()
    )
    assert written["ours"] != written["theirs"]
    assert written["minimised"]

    monkeypatch.undo()
    replay = written["replay"].split()[1:]
    assert replay[-4:-2] == ["--replay", str(out / failure["file"])]
    assert main(replay) == 3
    told = capsys.readouterr().out
    assert "MetadataResponse version 9, check codec: encode gives other bytes" in told
    assert written["theirs"] in told
    codec.write_text(PLANTED.format(mistake=""))
    assert main(replay) == 0
    assert "nothing wrong any more" in capsys.readouterr().out


@pytest.mark.usefixtures("shared_session")
def test_a_run_leaves_its_coverage_and_replaces_an_earlier_one(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    command = ["pipeline", "fuzz", "heartbeatrequest", "--checks", "round-trip", "--examples", "90"]
    assert main([*command, "--tasks", "2", "--out", str(tmp_path)]) == 0
    assert "0 failures" in capsys.readouterr().out
    rows = pq.read_table(tmp_path / "coverage.parquet").to_pylist()
    versions = protocol.named_class("HeartbeatRequest").valid_versions
    assert {row["version"] for row in rows} == set(versions)
    of_group = [row for row in rows if row["field"] == "group_id"]
    assert len(of_group) == len(list(versions))
    assert all(row["default"] + row["non_default"] == row["present"] == row["examples"] == 90 for row in of_group)
    assert {path.name for path in tmp_path.iterdir()} == {"notes.txt", "coverage.parquet", "summary.json"}


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ["MetadataReqest", "--out", "x"],
            "expected the name of a message, got 'MetadataReqest'; did you mean",
        ),
        (["FetchRequest", "--versions", "99", "--out", "x"], "versions 99, but FetchRequest has"),
        (["--examples", "0", "--out", "x"], "--examples: expected a whole number from 1"),
        (["--checks", "rust", "--out", "x"], "--checks: expected round-trip,"),
        (["--checks", "codec", "--out", "x"], "the check codec needs --codec"),
        (["--codec", "missing.py:Codec", "--out", "x"], "missing.py: No such file"),
        (["--kafka-clients-jar", "none.jar", "--out", "x"], "none.jar: no such file or folder"),
        ([], "expected --out DIR or --replay FILE"),
    ],
)
def test_wrong_usage_is_told_in_one_line_before_spark_starts(tmp_path, monkeypatch, capsys, given, said):
    monkeypatch.chdir(tmp_path)
    assert main(["pipeline", "fuzz", *given]) == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert complaint.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("content", ["", "[]", '{"message": "Nothing"}', '{"hex": 1'])
def test_a_file_that_is_no_failure_is_refused(tmp_path, capsys, content):
    path = tmp_path / "failure.json"
    path.write_text(content)
    assert main(["pipeline", "fuzz", "--replay", str(path)]) == 2
    assert str(path) in capsys.readouterr().err
