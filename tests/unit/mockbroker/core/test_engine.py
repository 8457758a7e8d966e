from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mockbroker.call import Call, Client, Wait
from mockbroker.core.engine import Engine, top_level_error
from mockbroker.core.simulation import Simulation
from mockbroker.state.errors import ApiError
from protocol.apis.fetch import FetchRequest, FetchResponse
from protocol.apis.metadata import DescribeTopicPartitionsResponse
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request


class Waiting:
    """Calls whose handler is given by the test, on an engine of their own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sim = Simulation()
        self.engine: Engine = self.sim.engine
        self.answers: list[Any] = []
        self.failures: list[Exception] = []
        self.handler: Callable[[Call, Any], Any] = lambda call, request: None
        monkeypatch.setattr("mockbroker.core.engine.handler_of", lambda api_key: self.handler)

    def submit(self, handler: Callable[[Call, Any], Any]) -> Any:
        self.handler = handler
        cluster = self.sim.cluster
        call = Call(cluster, cluster.brokers[0], Client("c", None, ""), 0, self.sim.now_ms, self.engine.rng, 3)
        return self.engine.submit(call, None, self.answers.append, self.failures.append)


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Waiting:
    return Waiting(monkeypatch)


def test_an_answer_that_is_there_comes_at_once(waiting):
    assert waiting.submit(lambda call, request: "done") is None
    assert waiting.answers == ["done"]


def test_a_wait_ends_with_its_key_and_knows_the_time(waiting):
    waiting.submit(lambda call, request: Wait(until_ms=100, on=("key",), then=lambda later: later.now_ms))
    waiting.sim.cluster.notify("other")
    waiting.engine.wake(40)
    assert waiting.answers == []
    waiting.sim.cluster.notify("key")
    waiting.engine.wake(50)
    assert waiting.answers == [50]
    waiting.engine.advance(100)
    assert waiting.answers == [50]
    assert waiting.engine.next_deadline_ms() is None


def test_a_wait_may_lead_to_another(waiting):
    def second(call: Call) -> Wait:
        return Wait(until_ms=200, on=("second",), then=lambda later: "done")

    waiting.submit(lambda call, request: Wait(until_ms=100, on=(), then=second))
    waiting.engine.advance(100)
    assert (waiting.answers, waiting.engine.next_deadline_ms()) == ([], 200)
    waiting.sim.cluster.notify("second")
    waiting.engine.wake(150)
    assert waiting.answers == ["done"]


def test_an_answer_may_wake_the_next_call(waiting):
    def first(call: Call) -> str:
        call.cluster.notify("second")
        return "first"

    waiting.submit(lambda call, request: Wait(until_ms=None, on=("second",), then=lambda later: "second"))
    waiting.submit(lambda call, request: Wait(until_ms=None, on=("first",), then=first))
    waiting.sim.cluster.notify("first")
    waiting.engine.wake(0)
    assert waiting.answers == ["first", "second"]


def test_calls_that_wait_for_one_key_are_answered_in_the_order_they_came(waiting):
    for place in range(5):
        waiting.submit(lambda call, request, place=place: Wait(None, ("key",), lambda later: place))
    waiting.sim.cluster.notify("key")
    waiting.engine.wake(0)
    assert waiting.answers == [0, 1, 2, 3, 4]


def test_a_dropped_call_is_never_answered(waiting):
    parked = waiting.submit(lambda call, request: Wait(until_ms=100, on=("key",), then=lambda later: "late"))
    waiting.engine.drop(parked)
    waiting.engine.drop(parked)
    waiting.sim.cluster.notify("key")
    waiting.engine.advance(100)
    assert (waiting.answers, waiting.engine.parked_calls, waiting.engine.next_deadline_ms()) == ([], 0, None)


def test_a_handler_that_fails_costs_only_its_own_call(waiting):
    def fail(call: Call, request: Any = None) -> None:
        raise ZeroDivisionError

    waiting.submit(lambda call, request: Wait(until_ms=None, on=("key",), then=fail))
    waiting.submit(lambda call, request: Wait(until_ms=None, on=("key",), then=lambda later: "well"))
    waiting.submit(fail)
    waiting.sim.cluster.notify("key")
    waiting.engine.wake(0)
    assert waiting.answers == ["well"]
    assert [type(error) for error in waiting.failures] == [ZeroDivisionError, ZeroDivisionError]


def test_an_error_that_escapes_a_handler_is_the_answers_top_level_error(sim):
    wrong = FetchRequest(session_id=5, session_epoch=3)
    assert sim.ask(wrong) == FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)


def test_an_answer_without_a_place_for_an_error_cannot_tell_it():
    error = ApiError(ErrorCode.INVALID_REQUEST)
    assert top_level_error(DescribeTopicPartitionsResponse, error) is None
    assert top_level_error(FetchResponse, ZeroDivisionError()) is None


class FetchWaits(RuleBasedStateMachine):
    """Each parked fetch is answered once, and never after its deadline."""

    def __init__(self) -> None:
        super().__init__()
        self.sim = Simulation()
        self.sim.cluster.create_topic(TOPIC, 3, assignment=[[0]] * 3)
        self.deadline: dict[int, int] = {}
        self.answered_at: dict[int, int] = {}

    @rule(wait_ms=st.integers(0, 300), index=st.integers(0, 2), min_bytes=st.integers(0, 200))
    def fetch(self, wait_ms: int, index: int, min_bytes: int) -> None:
        end = self.sim.cluster.topics[TOPIC].partitions[index].log.end_offset
        request = fetch_request(end, index=index, max_wait_ms=wait_ms, min_bytes=min_bytes)
        ticket = self.sim.send(request, version=12)
        self.deadline[ticket] = self.sim.now_ms + wait_ms

    @rule(index=st.integers(0, 2))
    def produce(self, index: int) -> None:
        self.sim.send(produce_request(batch(b"x" * 50), index=index), version=12)

    @rule(ms=st.integers(0, 120))
    def pass_time(self, ms: int) -> None:
        self.sim.advance(ms)

    @invariant()
    def answered_once_and_in_time(self) -> None:
        for ticket, deadline in self.deadline.items():
            if ticket in self.sim.replies:
                at = self.answered_at.setdefault(ticket, self.sim.now_ms)
                assert at - 120 <= deadline
            else:
                assert self.sim.now_ms < deadline

    @invariant()
    def nothing_is_left_behind(self) -> None:
        open_ones = [ticket for ticket in self.deadline if ticket not in self.sim.replies]
        assert self.sim.engine.parked_calls == len(open_ones)


TestFetchWaits = FetchWaits.TestCase
