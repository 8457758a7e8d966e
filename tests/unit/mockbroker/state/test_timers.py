"""Deadlines by key."""

from __future__ import annotations

from mockbroker.state.timers import Timers


def test_keys_come_due_in_the_order_of_their_deadlines():
    timers: Timers[str] = Timers()
    timers.set("late", 30)
    timers.set("early", 10)
    timers.set("beyond", 31)
    assert list(timers.due(30)) == ["early", "late"]
    assert timers.next_ms() == 31


def test_equal_deadlines_come_due_in_the_order_they_were_set():
    timers: Timers[str] = Timers()
    for key in "cab":
        timers.set(key, 5)
    assert list(timers.due(5)) == ["c", "a", "b"]


def test_a_deadline_put_off_is_reached_once_and_only_then():
    timers: Timers[str] = Timers()
    timers.set("session", 10)
    timers.set("session", 20)
    assert list(timers.due(19)) == []
    assert timers.next_ms() == 20
    assert list(timers.due(20)) == ["session"]
    assert timers.next_ms() is None


def test_a_deadline_brought_forward_is_reached_once_and_only_then():
    timers: Timers[str] = Timers()
    timers.set("session", 20)
    timers.set("session", 10)
    assert list(timers.due(10)) == ["session"]
    assert list(timers.due(20)) == []


def test_what_was_cancelled_never_comes_due():
    timers: Timers[str] = Timers()
    timers.set("session", 10)
    timers.cancel("session")
    timers.cancel("unheard of")
    assert timers.next_ms() is None
    assert list(timers.due(100)) == []


def test_a_key_set_again_after_cancelling_has_the_new_deadline():
    timers: Timers[str] = Timers()
    timers.set("session", 10)
    timers.cancel("session")
    timers.set("session", 15)
    assert list(timers.due(14)) == []
    assert list(timers.due(15)) == ["session"]


def test_what_is_cancelled_while_others_come_due_is_left_out():
    timers: Timers[str] = Timers()
    timers.set("first", 10)
    timers.set("second", 10)
    reached = []
    for key in timers.due(10):
        reached.append(key)
        timers.cancel("second")
    assert reached == ["first"]


def test_putting_off_a_deadline_a_thousand_times_keeps_one_entry():
    timers: Timers[str] = Timers()
    for deadline in range(1000):
        timers.set("session", deadline)
    assert len(timers._heap) == 1
