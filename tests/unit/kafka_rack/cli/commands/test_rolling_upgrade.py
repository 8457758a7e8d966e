"""``kafka-rack rolling-upgrade`` without clients. What is expected was written down from KIP-36 and KAFKA-3100."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

import kafka_rack.cli.commands.rolling_upgrade as command
from kafka_rack.cli import main
from kafka_rack.cli.output.rolling_upgrade import as_json, as_text
from mockbroker.testing.clients.process import ClientResult
from mockbroker.testing.rolling_upgrade import replay as replaying
from mockbroker.testing.rolling_upgrade.plan import upgrade_of
from mockbroker.testing.rolling_upgrade.replay import Observation, ReplayOutcome, replay
from mockbroker.testing.rolling_upgrade.verdict import judge

RACKS = ["a", "b", "c"]
MOVES = [(0, None), *((2, at) for at in range(4)), (3, None), *((4, at) for at in range(4))]
OF_0, OF_1, OF_2, OF_3 = range(6, 10)  # among the moves: the restarts of step 4
LAST = OF_3


@pytest.fixture(scope="module")
def upgraded() -> ReplayOutcome:
    """Four brokers, so that two of them share rack a, taken from 0.9.0.1 to 0.10.0.0."""
    with pytest.MonkeyPatch.context() as patch, command.quiet_brokers():
        patch.setattr(replaying, "DOWN_S", 0)
        return asyncio.run(replay(upgrade_of(range(4), "0.9.0.1", "0.10.0.0"), RACKS, False, lambda _: None))


def versions(observation: Observation) -> str:
    return "".join(str(broker.json_version) for broker in observation.brokers)


def changed(outcome: ReplayOutcome, at: int, **changes: object) -> ReplayOutcome:
    """The same, but for one observation."""
    observations = list(outcome.observations)
    observations[at] = replace(observations[at], **changes)
    return outcome._replace(observations=observations)


def failed(outcome: ReplayOutcome) -> list[str]:
    return [verdict.text for verdict in judge(outcome) if not verdict.holds]


# -- the plan ----------------------------------------------------------------------------------------------------------


def steps(old: str, new: str, brokers: Iterable[int] = (0, 1)) -> list[tuple[int, int | None, str, str]]:
    return [
        (move.step, move.broker_id, str(move.software.release), str(move.software.protocol))
        for move in upgrade_of(brokers, old, new).moves[1:]
    ]


def test_brokers_of_0_9_0_0_get_0_9_0_1_before_anything_else():
    assert steps("0.9.0.0", "0.10.0.0") == [
        (1, 0, "0.9.0.1", "0.9.0"),
        (1, 1, "0.9.0.1", "0.9.0"),
        (2, 0, "0.10.0.0", "0.9.0"),
        (2, 1, "0.10.0.0", "0.9.0"),
        (3, None, "0.10.0.0", "0.10.0"),
        (4, 0, "0.10.0.0", "0.10.0"),
        (4, 1, "0.10.0.0", "0.10.0"),
    ]


def test_brokers_of_a_later_release_need_no_first_step():
    assert [step for step, *_ in steps("0.8.2", "0.10.0.0")] == [2, 2, 3, 4, 4]


def test_a_patch_of_the_same_release_line_changes_no_protocol():
    assert steps("0.10.0.0", "0.10.0.1", [7]) == [(2, 7, "0.10.0.1", "0.10.0")]


# -- the replay --------------------------------------------------------------------------------------------------------


def test_every_broker_restarts_once_for_its_code_and_once_for_its_protocol(upgraded):
    assert [(one.step, one.restarted) for one in upgraded.observations] == MOVES
    last = upgraded.observations[LAST].brokers
    assert {(broker.release, broker.protocol) for broker in last} == {("0.10.0.0", "0.10.0")}
    between = upgraded.observations[5].brokers
    assert {(broker.release, broker.protocol) for broker in between} == {("0.10.0.0", "0.9.0")}


def test_registrations_go_from_version_2_to_3_with_the_protocol_not_with_the_code(upgraded):
    assert [versions(one) for one in upgraded.observations] == ["2222"] * 6 + ["3222", "3322", "3332", "3333"]


def test_a_rack_is_registered_from_version_3_on(upgraded):
    assert [broker.json_rack for broker in upgraded.observations[OF_1].brokers] == ["a", "b", None, None]


def test_a_reader_of_0_9_0_0_breaks_on_version_3_and_one_of_0_9_0_1_does_not(upgraded):
    strict = [[broker.strict_error is None for broker in one.brokers] for one in upgraded.observations]
    assert all(all(reads) for reads in strict[:6])
    assert strict[OF_1] == [False, False, True, True]
    assert strict[LAST] == [False] * 4
    assert not [broker for one in upgraded.observations for broker in one.brokers if broker.lenient_error]


def test_the_controller_sends_update_metadata_v1_until_one_of_the_new_protocol_is_elected(upgraded):
    """Broker 0 restarts first: 1 follows it, with the old protocol. As 1 restarts, 0 follows, with the new one."""
    sent = [{(one.controller_id, one.version) for one in seen.sent} for seen in upgraded.observations]
    assert sent[0] == {(0, 1)}
    assert sent[1] == {(1, 1)}
    assert sent[5] == set(), "step 3 restarts nothing"
    assert sent[OF_0] == {(1, 1)}
    assert sent[OF_1:] == [{(0, 2)}] * 3


def test_new_topics_span_the_racks_only_once_every_broker_has_registered_its_own(upgraded):
    """Three replicas on four brokers leave one out; in half of the cases none of the two that share rack a."""
    assert [len(one.spans) for one in upgraded.observations] == [12] * 10
    assert [sum(one.spans) for one in upgraded.observations] == [6] * 9 + [12]


def test_metadata_v1_is_served_by_new_code_and_tells_the_racks_that_came_along(upgraded):
    by_brokers = [
        [asked for asked, racks in one.metadata.items() if racks is not None] for one in upgraded.observations
    ]
    assert by_brokers[:5] == [[], [0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    nothing = dict.fromkeys(range(4))
    assert list(upgraded.observations[OF_0].metadata.values()) == [nothing] * 4
    assert list(upgraded.observations[OF_1].metadata.values()) == [{0: "a", 1: "b", 2: None, 3: None}] * 4
    assert list(upgraded.observations[LAST].metadata.values()) == [{0: "a", 1: "b", 2: "c", 3: "a"}] * 4


# -- the verdict -------------------------------------------------------------------------------------------------------


def test_an_upgrade_that_went_well_is_found_to_hold(upgraded):
    assert failed(upgraded) == []
    text = as_text(upgraded, judge(upgraded))
    assert "0.9.0.0 breaks from step 4, broker 0 on" in text
    assert "used by new topics from step 4, broker 3 on, not before" in text
    assert "UpdateMetadata v1 -> v2" in text


def test_racks_used_too_early_or_not_at_all_are_found(upgraded):
    first, last = upgraded.observations[0].spans, upgraded.observations[LAST].spans
    assert "used from step 4, broker 0" in failed(changed(upgraded, OF_0, spans=last))[0]
    assert "not used from step 4, broker 3" in failed(changed(upgraded, LAST, spans=first))[0]


def test_a_registration_in_the_wrong_version_and_a_reader_that_reads_too_much_are_found(upgraded):
    before, after = upgraded.observations[OF_0].brokers, upgraded.observations[OF_1].brokers
    assert "broker 1 writes version 3 from step 4, broker 0" in failed(changed(upgraded, OF_0, brokers=after))[0]
    tolerant = [replace(before[0], strict_error=None), *before[1:]]
    assert "0.9.0.0 reads version 3 of broker 0" in failed(changed(upgraded, OF_0, brokers=tolerant))[0]
    lost = [replace(before[0], lenient_error="why"), *before[1:]]
    assert "0.9.0.1 cannot read broker 0" in failed(changed(upgraded, OF_0, brokers=lost))[0]


def test_racks_told_before_they_are_registered_or_kept_back_at_the_end_are_found(upgraded):
    all_told = upgraded.observations[LAST].metadata
    assert "returns rack" in failed(changed(upgraded, OF_1, metadata=all_told))[0]
    assert "0 of 4 brokers" in failed(changed(upgraded, LAST, metadata=upgraded.observations[OF_1].metadata))[0]


def test_a_controller_that_sends_another_version_or_is_stuck_is_found(upgraded):
    newer = [replace(one, version=2) for one in upgraded.observations[OF_0].sent]
    assert "UpdateMetadata v2 from step 4, broker 0, expected v1" in failed(changed(upgraded, OF_0, sent=newer))[0]
    assert "cannot read" in failed(changed(upgraded, OF_0, problem="Kafka 0.9.0.0 cannot read"))[0]


def test_a_record_lost_to_either_client_is_found_and_one_that_came_twice_is_counted(upgraded):
    old = ClientResult(["0.9/0"], [], {"0.9/0": 2, "0.10/0": 1})
    new = ClientResult(["0.10/0"], [], {"0.9/0": 1, "0.10/0": 1})
    assert failed(upgraded._replace(ledgers={"0.9": old, "0.10": new})) == []
    assert "1 of them again" in judge(upgraded._replace(ledgers={"0.9": old, "0.10": new}))[0].text
    blind = new._replace(seen={"0.10/0": 1})
    assert failed(upgraded._replace(ledgers={"0.9": old, "0.10": blind})) == [
        "client 0.10: 1 of 2 acknowledged records not read (0.9/0)"
    ]
    silent = new._replace(acknowledged=[], failures=["timed out"])
    assert "could not be produced: timed out" in failed(upgraded._replace(ledgers={"0.9": old, "0.10": silent}))[0]


def test_brokers_whose_every_placement_spans_the_racks_are_told_so_and_not_judged(upgraded):
    spanning = upgraded.observations[LAST].spans
    observations = [replace(one, spans=spanning) for one in upgraded.observations]
    verdicts = judge(upgraded._replace(observations=observations))
    assert all(verdict.holds for verdict in verdicts)
    assert "more brokers than racks" in verdicts[0].text


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_outcome_as_json_has_every_move(upgraded):
    told = json.loads(json.dumps(as_json(upgraded, judge(upgraded))))
    assert told["holds"] is True
    assert (told["from"], told["to"]) == ("0.9.0.1", "0.10.0.0")
    assert [(move["step"], move["restarted"]) for move in told["moves"]] == MOVES
    move = told["moves"][OF_0]
    assert move["brokers"][0]["strict_error"].startswith("version 3")
    assert move["brokers"][0]["lenient_error"] is None
    assert move["metadata"]["0"] == dict.fromkeys("0123")


def test_the_command_prints_progress_beside_the_result(monkeypatch, capsys):
    monkeypatch.setattr(replaying, "DOWN_S", 0)
    options = ["--no-clients", "--brokers", "2", "--racks", "x,y", "--from", "0.9.0.0", "--format", "json"]
    assert main(["rolling-upgrade", *options]) == 0
    printed = capsys.readouterr()
    told = json.loads(printed.out)
    assert [move["step"] for move in told["moves"]] == [0, 1, 1, 2, 2, 3, 4, 4]
    assert "step 4" in printed.err
    assert "closes the connection" not in printed.err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--brokers", "2"], "--brokers: expected a number from 3, one for each rack, to 30"),
        (["--brokers", "31"], "one for each rack, to 30"),
        (["--racks", "a,a"], "--racks: expected two or more different names, such as a,b,c, got 'a,a'"),
        (["--racks", "a"], "--racks: expected two or more different names, such as a,b,c, got 'a'"),
        (["--from", "0.7"], "--from 0.7: expected a version of Kafka"),
        (["--to", "4.1"], "--to 4.1: Kafka 4.1 has no ZooKeeper mode"),
        (["--from", "0.10.0.0", "--to", "0.9.0.1"], "an upgrade goes to a later release"),
    ],
)
def test_what_cannot_be_replayed_is_refused_in_one_line(options, complaint, capsys):
    assert main(["rolling-upgrade", *options]) == 2
    printed = capsys.readouterr()
    assert complaint in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_without_kafka_python_one_line_says_what_to_do(monkeypatch, capsys):
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    assert main(["rolling-upgrade"]) == 1
    error = capsys.readouterr().err
    assert "pip install" in error
    assert '"kafka-python[crc32c,snappy]>=3.0"' in error
    assert "--no-clients" in error
    assert error.count("\n") == 1
