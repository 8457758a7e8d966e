"""Calls that wait go on when their key is notified or their time has come, once, and in order."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.call import Call, Wait
from mockbroker.core.path import Stage
from mockbroker.core.purgatory import Purgatory
from mockbroker.core.simulation import Simulation
from mockbroker.state.timers import MAX_STALE


class Waiting:
    """A purgatory of its own; ``went_on`` has what each call's ``then`` gave."""

    def __init__(self) -> None:
        self.sim = Simulation()
        self.woken: list[Any] = []
        self.went_on: list[Any] = []
        self.purgatory = Purgatory(self.woken, self.go_on)

    def park(self, wait: Wait) -> Call:
        session = self.sim.engine.session(self.sim.cluster.brokers[0])
        call = Call(self.sim.cluster, session, b"", 0, self.sim.engine.path.rng)
        self.purgatory.park(call, wait, Stage.HANDLER)
        return call

    def go_on(self, call: Call, wait: Wait, stage: Stage) -> None:
        result = wait.then(call)
        if isinstance(result, Wait):
            self.purgatory.park(call, result, stage)
        else:
            self.went_on.append(result)

    def notify(self, key: Any, now_ms: int = 0) -> None:
        self.woken.append(key)
        self.purgatory.wake(now_ms)


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


def test_a_wait_ends_with_its_key_and_knows_the_time(waiting):
    waiting.park(Wait(until_ms=100, on=("key",), then=lambda later: later.now_ms))
    waiting.notify("other", 40)
    assert waiting.went_on == []
    waiting.notify("key", 50)
    assert waiting.went_on == [50]
    waiting.purgatory.advance(100)
    assert waiting.went_on == [50]
    assert waiting.purgatory.next_deadline_ms() is None


def test_a_wait_for_a_time_alone_ends_then(waiting):
    waiting.park(Wait(until_ms=100, on=(), then=lambda later: later.now_ms))
    assert len(waiting.purgatory.parked) == 1
    waiting.purgatory.advance(99)
    assert waiting.went_on == []
    waiting.purgatory.advance(100)
    assert (waiting.went_on, len(waiting.purgatory.parked)) == ([100], 0)


def test_a_wait_may_lead_to_another(waiting):
    def second(call: Call) -> Wait:
        return Wait(until_ms=200, on=("second",), then=lambda later: "done")

    waiting.park(Wait(until_ms=100, on=(), then=second))
    waiting.purgatory.advance(100)
    assert (waiting.went_on, waiting.purgatory.next_deadline_ms()) == ([], 200)
    waiting.notify("second", 150)
    assert waiting.went_on == ["done"]


def test_a_call_that_goes_on_may_wake_the_next(waiting):
    def first(call: Call) -> str:
        waiting.woken.append("second")
        return "first"

    waiting.park(Wait(until_ms=None, on=("second",), then=lambda later: "second"))
    waiting.park(Wait(until_ms=None, on=("first",), then=first))
    waiting.notify("first")
    assert waiting.went_on == ["first", "second"]


def test_calls_that_wait_for_one_key_go_on_in_the_order_they_came(waiting):
    for place in range(5):
        waiting.park(Wait(None, ("key",), lambda later, place=place: place))
    waiting.notify("key")
    assert waiting.went_on == [0, 1, 2, 3, 4]


def test_a_dropped_call_never_goes_on(waiting):
    parked = waiting.park(Wait(until_ms=100, on=("key",), then=lambda later: "late"))
    assert waiting.purgatory.drop(parked)
    assert not waiting.purgatory.drop(parked)
    waiting.notify("key")
    waiting.purgatory.advance(100)
    assert (waiting.went_on, len(waiting.purgatory.parked), waiting.purgatory.next_deadline_ms()) == ([], 0, None)


def test_of_calls_that_wait_no_longer_nothing_is_kept_until_their_time_would_have_come(waiting):
    parked = waiting.park(Wait(10**9, ("key",), lambda call: None))
    assert waiting.purgatory.drop(parked)
    assert waiting.purgatory._by_number == {}
    for _ in range(3 * MAX_STALE):
        waiting.park(Wait(10**9, ("key",), lambda call: "woken"))
        waiting.notify("key")
    assert len(waiting.purgatory._deadlines._heap) <= MAX_STALE + 4
    last = waiting.park(Wait(5, ("other",), lambda call: "late"))
    waiting.purgatory.advance(5)
    assert (last in waiting.purgatory.parked, waiting.went_on[-1]) == (False, "late")
