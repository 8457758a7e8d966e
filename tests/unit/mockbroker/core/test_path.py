"""Every request passes every stage, and ends in exactly one outcome."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

import protocol
from mockbroker.call import Call, Ending, Outcome, Verdict, Wait
from mockbroker.core.simulation import ConnectionClosedError
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.fetch import FetchRequest, FetchResponse
from protocol.apis.metadata import DescribeTopicPartitionsRequest, MetadataRequest, MetadataResponse
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.core.client import METADATA, Client
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request

STAGES = ("LOGIN", "HEADER", "VERSION", "SESSION", "LIMITS", "FAULTS", "CACHE", "HANDLER")


def test_the_stages_are_these_in_this_order(sim):
    assert tuple(stage.name for stage in sim.engine.path.steps) == STAGES


OF_A_CLASSIC_TOPIC = MetadataRequest(topics=[MetadataRequest.Topic(name=TOPIC)])
"""Its answer is cached."""


def test_every_stage_sees_every_request_of_real_and_of_simulated_clients(sim):
    seen: dict[str, Counter[int]] = {name: Counter() for name in STAGES}
    path = sim.engine.path

    def spied(name: str, step: Any) -> Any:
        def spy(call: Call) -> Any:
            verdict = step(call)
            seen[name][int.from_bytes(call.frame[:2])] += 1
            return verdict

        return spy

    path.steps = {stage: spied(stage.name, step) for stage, step in path.steps.items()}
    client = Client(sim)
    client.ask(OF_A_CLASSIC_TOPIC, 12, client_id="diskless_az=b")
    client.ask(OF_A_CLASSIC_TOPIC, 12, client_id="diskless_az=b")
    client.ask(produce_request(batch(b"a")), 12)
    sim.ask(OF_A_CLASSIC_TOPIC, version=12, client_id="diskless_az=b")
    sim.ask(produce_request(batch(b"a")), version=12)
    for name in STAGES[:-1]:
        assert seen[name] == Counter({3: 3, 0: 2}), name
    assert seen["HANDLER"] == Counter({3: 1, 0: 2}), "Metadata came from the cache twice"


def test_faults_see_requests_whose_answer_is_cached(sim):
    seen: list[str] = []
    sim.engine.path.faults.append(lambda call: seen.append("fault"))
    client = Client(sim)
    client.ask(OF_A_CLASSIC_TOPIC, 12)
    client.ask(OF_A_CLASSIC_TOPIC, 12)
    assert seen == ["fault"] * 2


def test_a_fault_answers_in_place_of_the_handler(sim):
    sim.engine.path.faults.append(lambda call: Verdict(MetadataResponse(controller_id=77)))
    assert Client(sim).ask(METADATA, 12).controller_id == 77


def test_a_fault_may_read_the_request(sim):
    names: list[str] = []
    sim.engine.path.faults.append(lambda call: names.extend(topic.name for topic in call.request.topic_data))
    Client(sim).ask(produce_request(batch(b"a")), 12)
    assert names == [TOPIC]


def test_a_fault_closes_the_connection(sim, outcomes):
    sim.engine.path.faults.append(lambda call: Verdict(closes="cut by a test"))
    client = Client(sim)
    client.write(client.frame(METADATA, 12))
    assert client.connection.closed == "cut by a test"
    assert [(one.ending, one.reason) for one in outcomes] == [(Ending.CLOSED, "cut by a test")]


def test_a_call_that_a_fault_delays_continues_with_the_stages_after_it(sim, outcomes):
    sim.engine.path.faults.append(lambda call: Wait(until_ms=call.now_ms + 200, on=(), then=lambda later: None))
    client = Client(sim)
    client.write(client.frame(METADATA, 12))
    sim.advance(ms=199)
    assert client.frames() == []
    sim.advance(ms=1)
    assert len(client.frames()) == 1
    assert [(one.ending, one.call.arrived_ms, one.at_ms) for one in outcomes] == [(Ending.ANSWERED_LATER, 0, 200)]


def test_each_request_ends_in_exactly_one_outcome(sim, outcomes):
    client = Client(sim)
    client.ask(METADATA, 12)
    client.write(client.frame(produce_request(batch(b"a"), acks=0), 12))
    client.write(client.frame(fetch_request(1, max_wait_ms=500), 12))
    sim.advance(ms=500)
    client.write(client.frame(fetch_request(1, max_wait_ms=500), 12) + client.frame(METADATA, 12))
    client.connection.stopped()
    sim.advance(ms=1000)
    other = Client(sim)
    frame = bytearray(other.frame(ApiVersionsRequest(), 3))
    frame[6:8] = (99).to_bytes(2, "big")
    other.write(bytes(frame))
    other.write(bytes([0, 0, 0, 3]))
    assert [(one.ending, one.call.api_key) for one in outcomes] == [
        (Ending.ANSWERED, 3),
        (Ending.ANSWERED, 0),
        (Ending.ANSWERED_LATER, 1),
        (Ending.DROPPED, 1),
        (Ending.ANSWERED, 18),
        (Ending.CLOSED, -1),
    ]
    assert [one.response_bytes > 0 for one in outcomes] == [True, False, True, False, True, False]


def test_a_request_that_ends_its_connection_is_an_outcome_too(sim, outcomes):
    client = Client(sim)
    client.write(bytes.fromhex("0000000c 0003 0001 00000007 ffff 0000".replace(" ", "")))
    (outcome,) = outcomes
    assert (outcome.ending, outcome.call.api_key, outcome.call.correlation_id) == (Ending.CLOSED, 3, 7)
    assert outcome.reason == client.connection.closed


def test_a_simulated_request_of_a_version_that_is_not_served_is_refused_as_a_real_one(sim):
    frame = protocol.request_frame(METADATA, 12, correlation_id=1)[4:]
    session = sim.engine.session(sim.cluster.brokers[0])
    found: list[Outcome] = []
    sim.engine.path.take(frame[:2] + (99).to_bytes(2, "big") + frame[4:], session, 0, found.append)
    assert [(one.ending, one.reason) for one in found] == [
        (Ending.CLOSED, "expected MetadataRequest version 0-14, got 99")
    ]


def test_an_error_that_escapes_a_handler_is_told_where_the_answer_has_a_place_for_it(sim):
    wrong = FetchRequest(session_id=5, session_epoch=3)
    assert sim.ask(wrong) == FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)


def test_what_a_handler_raises_unforeseen_is_an_unknown_server_error_and_a_traceback(sim, monkeypatch, caplog):
    def broken(call: Call, request: Any) -> None:
        raise ZeroDivisionError("a bug")

    client = Client(sim)
    with monkeypatch.context() as patched:
        patched.setattr("mockbroker.core.path.served_api", lambda api_key: SimpleNamespace(handler=broken))
        response = client.ask(FetchRequest(), 12)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert client.connection.closed is None
    assert "ZeroDivisionError: a bug" in caplog.text


def test_what_a_simulated_request_runs_into_is_raised(sim, monkeypatch):
    def broken(call: Call, request: Any) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("mockbroker.core.path.served_api", lambda api_key: SimpleNamespace(handler=broken))
    with pytest.raises(ZeroDivisionError):
        sim.ask(DescribeTopicPartitionsRequest())
    monkeypatch.undo()
    sim.engine.path.faults.append(lambda call: Verdict(closes="cut by a test"))
    with pytest.raises(ConnectionClosedError, match="cut by a test"):
        sim.ask(METADATA)


def test_a_handler_that_fails_costs_only_its_own_call(sim, monkeypatch, outcomes):
    def fails_later(call: Call, request: Any) -> Wait:
        return Wait(until_ms=100, on=(), then=lambda later: 1 // 0)

    client = Client(sim)
    with monkeypatch.context() as patched:
        patched.setattr("mockbroker.core.path.served_api", lambda api_key: SimpleNamespace(handler=fails_later))
        patched.setattr("mockbroker.core.path.error_response", lambda request, version, error: None)
        client.write(client.frame(fetch_request(), 12))
        sim.advance(ms=100)
    assert client.connection.closed == "ZeroDivisionError: integer division or modulo by zero"
    assert type(outcomes[0].error) is ZeroDivisionError
    assert Client(sim).ask(METADATA, 12).topics


def test_who_waits_for_calls_is_told_of_each_as_it_arrives_even_of_those_that_are_refused(sim, outcomes):
    arrived: list[tuple[bytes, int]] = []
    sim.engine.path.arrivals.append(lambda call: arrived.append((call.frame, len(outcomes))))
    client = Client(sim)
    first, second = client.frame(METADATA, 12), bytes([0, 0, 0, 8, 3, 231, 0, 0, 0, 0, 0, 1])
    client.write(first + second)
    assert arrived == [(first[4:], 0), (second[4:], 1)]
