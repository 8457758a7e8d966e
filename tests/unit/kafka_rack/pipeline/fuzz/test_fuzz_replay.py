"""A failure's file: written, read back, and the same value in it."""

from __future__ import annotations

from math import inf

import msgspec
import pytest

import protocol
from kafka_rack.pipeline.fuzz import report
from kafka_rack.pipeline.fuzz.plan import FuzzPlan
from kafka_rack.pipeline.fuzz.results import CheckTally, Coverage, Failure, Results
from kafka_rack.pipeline.fuzz.work import value_of
from protocol.fuzz.sparse import sparse

quota = protocol.named_class("AlterClientQuotasRequest")


def failure_of(value):
    return Failure("AlterClientQuotasRequest", 1, "codec", "a kind", 0, 7, sparse(value), "00", "ours", "theirs")


def replay_of(value, **rest):
    return report.Replay(**msgspec.structs.asdict(failure_of(value)), seed=5, **rest)


def test_a_file_gives_back_the_message_that_failed(tmp_path):
    entry = quota.Entry(entity=[quota.Entry.Entity("機架", None)], ops=[quota.Entry.Op("x", inf, True)])
    value = quota(entries=[entry], unknown_tagged_fields=((10_000, b"\xff"),))
    path = tmp_path / "failure.json"
    known = replay_of(value, codec="my codec.py:Codec")
    path.write_text(report.as_json(known, str(path)))
    again = report.read(path)
    assert again == known
    assert value_of(again) == value


def test_the_command_that_replays_a_file_quotes_what_a_shell_would_take_apart():
    known = replay_of(quota(), codec="my codec.py:Codec")
    expected = "kafka-rack pipeline fuzz --replay 'a b.json' --codec 'my codec.py:Codec'"
    assert report.replay_command("a b.json", known) == expected


@pytest.mark.parametrize(("name", "value"), [("check", "rust"), ("version", 99), ("message", "Nothing"), ("hex", 1)])
def test_a_file_with_something_unknown_is_refused_with_its_name(tmp_path, name, value):
    path = tmp_path / "failure.json"
    text = report.as_json(replay_of(quota()), str(path))
    tree = report.json.loads(text) | {name: value}
    path.write_text(report.json.dumps(tree))
    with pytest.raises(ValueError, match=r"failure\.json"):
        report.read(path)


def test_faults_of_one_kind_keep_the_first_example_and_their_number():
    results = Results()
    for example in (9, 3, 5):
        one = failure_of(quota())
        one.example = example
        results.add_failure(one)
    ((_, kept),) = results.failures.items()
    assert (kept.example, kept.count) == (3, 3)


def test_a_summary_names_the_fields_that_no_example_reached():
    plan = FuzzPlan({"HeartbeatRequest": [0]}, 2, 1)
    default, other = [0] * 32, [0] * 32
    default[1], other[2] = 2, 2
    results = Results(
        2, {"round-trip": CheckTally(2, 2)}, {}, {"HeartbeatRequest 0": Coverage(2, other + default + other)}
    )
    summary = report.summary_of(report.FuzzRun(plan, ("round-trip",), results))
    assert summary["never_exercised"] == ["HeartbeatRequest v0 generation_id"]
    assert (summary["fields"], summary["message_versions"], summary["failures"]) == (3, 1, [])
