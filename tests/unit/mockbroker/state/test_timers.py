"""Deadlines by key."""

from __future__ import annotations

from collections.abc import Iterator

from mockbroker.state.timers import MAX_STALE, Timers, TimerService


def due(timers: Timers[str], now_ms: int) -> Iterator[str]:
    """The keys that are due, as TimerService takes them."""
    while (next_ms := timers.next_ms()) is not None and next_ms <= now_ms:
        yield timers.take()


def test_keys_come_due_in_the_order_of_their_deadlines():
    timers: Timers[str] = Timers()
    timers.set("late", 30)
    timers.set("early", 10)
    timers.set("beyond", 31)
    assert list(due(timers, 30)) == ["early", "late"]
    assert timers.next_ms() == 31


def test_equal_deadlines_come_due_in_the_order_they_were_set():
    timers: Timers[str] = Timers()
    for key in "cab":
        timers.set(key, 5)
    assert list(due(timers, 5)) == ["c", "a", "b"]


def test_a_deadline_put_off_is_reached_once_and_only_then():
    timers: Timers[str] = Timers()
    timers.set("session", 10)
    timers.set("session", 20)
    assert list(due(timers, 19)) == []
    assert timers.next_ms() == 20
    assert list(due(timers, 20)) == ["session"]
    assert timers.next_ms() is None


def test_a_deadline_brought_forward_is_reached_once_and_only_then():
    timers: Timers[str] = Timers()
    timers.set("session", 20)
    timers.set("session", 10)
    assert list(due(timers, 10)) == ["session"]
    assert list(due(timers, 20)) == []


def test_what_was_cancelled_never_comes_due():
    timers: Timers[str] = Timers()
    timers.set("session", 10)
    timers.cancel("session")
    timers.cancel("unheard of")
    assert timers.next_ms() is None
    assert list(due(timers, 100)) == []


def test_a_key_set_again_after_cancelling_has_the_new_deadline():
    timers: Timers[str] = Timers()
    timers.set("session", 10)
    timers.cancel("session")
    timers.set("session", 15)
    assert list(due(timers, 14)) == []
    assert list(due(timers, 15)) == ["session"]


def test_what_is_cancelled_while_others_come_due_is_left_out():
    timers: Timers[str] = Timers()
    timers.set("first", 10)
    timers.set("second", 10)
    reached = []
    for key in due(timers, 10):
        reached.append(key)
        timers.cancel("second")
    assert reached == ["first"]


def test_a_deadline_that_is_put_off_again_and_again_takes_no_room():
    timers: Timers[str] = Timers()
    for deadline in range(3 * MAX_STALE):
        timers.set("session", deadline)
        assert len(timers._heap) <= MAX_STALE + 10
    assert (timers.next_ms(), list(due(timers, 3 * MAX_STALE))) == (3 * MAX_STALE - 1, ["session"])


def test_the_service_takes_deadlines_of_all_subsystems_in_the_order_of_time():
    service = TimerService()
    reached: list[tuple[str, str, int]] = []
    first = service.subsystem("first", lambda key, now_ms: reached.append(("first", key, now_ms)))
    second = service.subsystem("second", lambda key, now_ms: reached.append(("second", key, now_ms)))
    first.set("b", 20)
    second.set("a", 10)
    second.set("c", 20)
    assert service.next_ms() == 10
    service.advance(20)
    assert reached == [("second", "a", 20), ("first", "b", 20), ("second", "c", 20)]
    assert service.next_ms() is None


def test_a_deadline_set_while_another_is_reached_counts_too():
    service = TimerService()
    reached: list[str] = []

    def on_timer(key: str, now_ms: int) -> None:
        reached.append(key)
        if key == "first":
            timers.set("second", now_ms)

    timers = service.subsystem("only", on_timer)
    timers.set("first", 5)
    service.advance(7)
    assert reached == ["first", "second"]


def test_the_time_of_a_subsystem_that_does_not_run_stands_still_until_it_runs():
    service = TimerService()
    reached: list[int] = []
    runs = False
    timers = service.subsystem("groups", lambda key, now_ms: reached.append(now_ms), runs=lambda: runs)
    timers.set("session", 10)
    service.advance(50)
    assert (reached, service.next_ms()) == ([], None)
    runs = True
    service.advance(60)
    assert reached == [60]


def test_nothing_is_kept_of_keys_that_are_forgotten():
    timers: Timers[str] = Timers()
    for key, deadline_ms in (("gone", 1000), ("stays", 2000), ("gone too", 3000), ("cancelled", 4000)):
        timers.set(key, deadline_ms)
    timers.cancel("cancelled")
    timers.set("stays", 500)
    timers.forget(["gone", "gone too", "never there"])
    assert [entry[2] for entry in timers._heap] == ["stays"]
    assert (timers.next_ms(), list(due(timers, 5000))) == (500, ["stays"])


def test_deadlines_that_are_set_and_cancelled_again_and_again_take_no_room():
    timers: Timers[int] = Timers()
    timers.set(-1, 10)
    for key in range(3 * MAX_STALE):
        timers.set(key, 10**9)
        timers.cancel(key)
    assert len(timers._heap) <= MAX_STALE + 10
    assert list(due(timers, 10**9)) == [-1]
