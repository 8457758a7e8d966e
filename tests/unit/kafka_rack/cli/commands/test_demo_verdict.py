from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

import mockbroker.testing.demo.scenario
from kafka_rack.cli import main
from kafka_rack.cli.output.console import Screen
from kafka_rack.cli.output.demo import show
from mockbroker.core.journal import JournalEntry
from mockbroker.testing.clients.process import ClientPlan, ClientResult
from mockbroker.testing.demo.scenario import CLASSIC, DISKLESS, TOPICS, DemoOutcome
from mockbroker.testing.demo.verdict import crossed_share, judge

RACKS = ["a", "b", "c"]
PRODUCE, FETCH, METADATA = 0, 1, 3
PHASES = [(0, "before"), (900, "changing"), (1000, "during"), (2000, "changing"), (2500, "after")]
BEFORE, STOPPING, DURING, RETURNING, AFTER = 500, 950, 1500, 2200, 3000
PLANS = [
    ClientPlan(library, f"demo-{library}", TOPICS, "", rack)
    for library in ("confluent-kafka", "aiokafka")
    for rack in RACKS
]


def entry(
    at_ms: int, client_rack: str, broker_rack: str, *, api_key: int = PRODUCE, topic: str = DISKLESS, size: int = 100
) -> JournalEntry:
    """A call of the aiokafka client in one rack, answered by a broker in another or the same."""
    role = "consumer" if api_key == FETCH else "producer"
    client_id = ClientPlan("aiokafka", "", TOPICS, "", client_rack).client_id(role)
    traffic = None if api_key == METADATA else {topic: size}
    broker = RACKS.index(broker_rack)
    blank = JournalEntry(*[None] * len(JournalEntry._fields))
    return blank._replace(
        at_ms=at_ms,
        latency_ms=0,
        broker=broker,
        rack=broker_rack,
        client_id=client_id,
        client_rack=client_rack,
        api_key=api_key,
        traffic=traffic,
    )


def result(
    acknowledged: Iterable[str] = (), seen: dict[str, int] | None = None, failures: Iterable[str] = ()
) -> ClientResult:
    return ClientResult(list(acknowledged), list(failures), seen or {})


def outcome(journal: Iterable[JournalEntry] = (), results: list[ClientResult] | None = None) -> DemoOutcome:
    """Rack a stopped; each group has one member a rack."""
    return DemoOutcome(RACKS, "a", PLANS, PHASES, list(journal), results or [result() for _ in PLANS])


def results_where(**by_plan: ClientResult) -> list[ClientResult]:
    """The results of all plans; ``aiokafka_b=...`` for one, the rest empty."""
    return [by_plan.get(f"{plan.library.replace('-', '_')}_{plan.rack}", result()) for plan in PLANS]


READ_BY_ALL = results_where(
    aiokafka_a=result(["r1", "r2"], {"r1": 1}),
    aiokafka_b=result([], {"r2": 1, "r3": 1}),
    confluent_kafka_c=result(["r3"], {"r1": 1, "r2": 1, "r3": 1}),
)


# crossings


@pytest.mark.parametrize("at_ms", [BEFORE, STOPPING, DURING, RETURNING, AFTER])
@pytest.mark.parametrize("api_key", [PRODUCE, FETCH])
def test_a_diskless_request_that_leaves_a_rack_which_is_up_breaks_the_promise(api_key, at_ms):
    verdict = judge(outcome([entry(at_ms, "b", "c", api_key=api_key)]))
    assert len(verdict.crossings) == 1
    assert not verdict.holds


@pytest.mark.parametrize("at_ms", [BEFORE, AFTER])
def test_a_client_of_the_stopped_rack_has_no_excuse_before_and_after(at_ms):
    assert not judge(outcome([entry(at_ms, "a", "b")])).holds


def test_a_client_of_the_stopped_rack_may_cross_while_it_is_down():
    verdict = judge(outcome([entry(DURING, "a", "b")]))
    assert verdict.holds
    assert verdict.returning == 0


@pytest.mark.parametrize("at_ms", [STOPPING, RETURNING])
def test_a_client_whose_rack_is_just_going_or_coming_is_counted_and_excused(at_ms):
    verdict = judge(outcome([entry(at_ms, "a", "b"), entry(at_ms, "a", "a")]))
    assert verdict.holds
    assert verdict.returning == 1


def test_a_fetch_that_came_before_its_client_knew_that_its_rack_is_back_is_excused_however_long_it_waits():
    waited = entry(AFTER, "a", "b", api_key=FETCH)._replace(latency_ms=AFTER - RETURNING)
    verdict = judge(outcome([waited]))
    assert verdict.holds
    assert verdict.returning == 1


def test_a_request_within_the_rack_is_no_crossing():
    assert judge(outcome([entry(BEFORE, rack, rack) for rack in RACKS])).crossings == []


def test_a_classic_topic_may_be_served_anywhere():
    assert judge(outcome([entry(BEFORE, "b", "c", topic=CLASSIC)])).holds


def test_a_crossing_says_who_asked_whom_and_when():
    (text,) = judge(outcome([entry(AFTER, "b", "c", api_key=FETCH)])).crossings
    assert text == "aiokafka-consumer,diskless_az=b: fetch at broker 2 in rack c, after"


# what was served and moved


def test_served_requests_are_counted_by_client_phase_and_broker():
    verdict = judge(outcome([entry(BEFORE, "b", "b"), entry(BEFORE + 1, "b", "b"), entry(DURING, "a", "c")]))
    assert verdict.served["aiokafka", "b", "produce", DISKLESS]["before"] == {("b", 1): 2}
    assert verdict.served["aiokafka", "a", "produce", DISKLESS]["during"] == {("c", 2): 1}


def test_bytes_are_added_by_rack_and_by_topic():
    calls = [entry(BEFORE, "b", "b", size=10), entry(DURING, "a", "b", size=7), entry(RETURNING, "a", "c", size=5)]
    verdict = judge(outcome([*calls, entry(BEFORE, "b", "c", topic=CLASSIC, size=1000)]))
    assert verdict.moved[DISKLESS] == {("b", "b"): 10, ("a", "b"): 7, ("a", "c"): 5}
    assert verdict.moved[CLASSIC] == {("b", "c"): 1000}
    assert crossed_share(verdict.moved[DISKLESS]) == 12 / 22


def test_metadata_and_strangers_move_nothing():
    stranger = entry(BEFORE, "b", "c")._replace(client_id="somebody")
    verdict = judge(outcome([entry(BEFORE, "b", "c", api_key=METADATA), stranger]))
    assert verdict.holds
    assert verdict.moved == {}


# records


def test_records_that_every_group_saw_once_keep_the_promise():
    verdict = judge(outcome(results=READ_BY_ALL))
    assert verdict.holds
    assert verdict.acknowledged == 3


def test_an_acknowledged_record_that_one_group_did_not_see_is_missing():
    verdict = judge(outcome(results=results_where(aiokafka_a=result(["r1"], {"r1": 1}))))
    assert verdict.missing == ["r1 in demo-confluent-kafka"]
    assert not verdict.holds


@pytest.mark.parametrize("other", ["aiokafka_b", "aiokafka_a"])
def test_a_record_that_a_group_saw_twice_is_doubled_whether_one_member_saw_both_or_two_did(other):
    results = [one._replace(seen=dict(one.seen)) for one in READ_BY_ALL]
    seen = next(one for one, plan in zip(results, PLANS, strict=True) if f"{plan.library}_{plan.rack}" == other).seen
    seen["r1"] = seen.get("r1", 0) + 1
    verdict = judge(outcome(results=results))
    assert verdict.doubled == ["r1 in demo-aiokafka"]
    assert not verdict.holds


def test_a_record_given_up_by_its_producer_may_be_seen_or_not():
    seen_once = {"given up": 1}
    results = results_where(
        aiokafka_a=result(failures=["timed out"], seen=seen_once), confluent_kafka_a=result(seen={})
    )
    verdict = judge(outcome(results=results))
    assert verdict.holds
    assert verdict.failed == 1


# the command


SABOTAGE = {
    "a crossing": outcome([entry(BEFORE, "b", "c")], READ_BY_ALL),
    "a missing record": outcome([entry(BEFORE, "b", "b")], results_where(aiokafka_a=result(["lost"]))),
    "a doubled record": outcome([entry(BEFORE, "b", "b")], results_where(aiokafka_a=result([], {"twice": 2}))),
}


def run_demo(monkeypatch: pytest.MonkeyPatch, played: DemoOutcome, *arguments: str) -> int:
    async def play(*_: object) -> DemoOutcome:
        return played

    monkeypatch.setattr(mockbroker.testing.demo.scenario, "play", play)
    return main(["demo", *arguments])


def test_a_run_that_keeps_its_promises_exits_0(monkeypatch, capsys):
    assert run_demo(monkeypatch, outcome([entry(BEFORE, "b", "b")], READ_BY_ALL)) == 0
    assert "broken" not in capsys.readouterr().out


@pytest.mark.parametrize("sabotage", SABOTAGE)
def test_a_run_with_a_broken_promise_exits_1_and_says_which(monkeypatch, capsys, sabotage):
    assert run_demo(monkeypatch, SABOTAGE[sabotage]) == 3
    broken = [line for line in capsys.readouterr().out.splitlines() if line.startswith("broken")]
    assert len(broken) == 1


@pytest.mark.parametrize("sabotage", SABOTAGE)
def test_programs_get_the_verdict_as_json(monkeypatch, capsys, sabotage):
    assert run_demo(monkeypatch, SABOTAGE[sabotage], "--format", "json") == 3
    told = json.loads(capsys.readouterr().out)
    assert told["holds"] is False
    assert bool(told["crossings"]) is (sabotage == "a crossing")
    assert bool(told["missing"]) is (sabotage == "a missing record")
    assert bool(told["doubled"]) is (sabotage == "a doubled record")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--racks", "a"],
        ["--racks", "a,a"],
        ["--racks", "a,,b"],
        ["--stop", "z"],
        ["--brokers", "2"],
        ["--phase", "500ms"],
        ["--libraries", "sarama"],
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(capsys, arguments):
    assert main(["demo", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_each_promise_is_one_line_however_narrow_the_terminal(capsys):
    screen = Screen()
    screen.width = 60
    show(screen, outcome(), judge(outcome()))
    promises = [line for line in capsys.readouterr().out.splitlines() if line.startswith("ok ")]
    assert len(promises) == 3
    assert promises[0].endswith("clients knew that rack a was back)")
