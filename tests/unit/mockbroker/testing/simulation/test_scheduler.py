"""Virtual time: tasks run in one order, and time moves to the next timer only."""

from __future__ import annotations

import pytest

from mockbroker.testing.simulation.scheduler import Future, Scheduler, Signal


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler()


def test_timers_of_one_time_run_in_the_order_in_which_they_were_set(scheduler):
    ran = []
    for name in ("first", "second"):
        scheduler.call_at(5, lambda name=name: ran.append((name, scheduler.now_ms)))
    scheduler.call_at(3, lambda: ran.append(("early", scheduler.now_ms)))
    scheduler.run_until(4)
    assert ran == [("early", 3)]
    scheduler.run_until(5)
    assert ran[1:] == [("first", 5), ("second", 5)]


def test_a_deadline_of_the_cluster_comes_before_a_timer_of_the_same_time(scheduler):
    ran = []
    deadlines = [7]
    scheduler.next_deadline_ms = lambda: deadlines[0] if deadlines else None

    def on_deadline(now_ms: int) -> None:
        deadlines.clear()
        ran.append(("deadline", now_ms))

    scheduler.on_deadline = on_deadline
    scheduler.call_at(7, lambda: ran.append(("timer", scheduler.now_ms)))
    scheduler.run_until(10)
    assert ran == [("deadline", 7), ("timer", 7)]


def test_what_a_task_raises_goes_to_whoever_awaits_it(scheduler):
    async def fails() -> None:
        await scheduler.sleep(1)
        raise ValueError("no")

    async def waits() -> str:
        with pytest.raises(ValueError, match="no"):
            await scheduler.spawn(fails())
        return "told"

    task = scheduler.spawn(waits())
    scheduler.run_until(10)
    assert task.result == "told"
    assert scheduler.failures == []


def test_what_nobody_awaits_is_a_failure(scheduler):
    async def fails() -> None:
        raise ValueError("no")

    scheduler.spawn(fails())
    scheduler.run_until(1)
    assert [str(error) for error in scheduler.failures] == ["no"]


def test_a_wait_ends_with_the_future_or_with_its_time(scheduler):
    future: Future[int] = Future()
    found = []

    async def waits(ms: int) -> None:
        found.append((await scheduler.wait(future, ms), scheduler.now_ms))

    scheduler.spawn(waits(4))
    scheduler.spawn(waits(50))
    scheduler.call_at(20, lambda: future.resolve(1))
    scheduler.run_until(100)
    assert found == [(False, 4), (True, 20)]


def test_a_cancelled_task_goes_on_no_more(scheduler):
    ran = []

    async def sleeps() -> None:
        await scheduler.sleep(5)
        ran.append(scheduler.now_ms)

    task = scheduler.spawn(sleeps())
    scheduler.run_until(1)
    task.cancel()
    scheduler.run_until(10)
    assert ran == []
    assert not task.is_done


def test_a_signal_wakes_all_who_wait_for_it_once(scheduler):
    woken = []
    signal = Signal()

    async def waits(name: str) -> None:
        await signal.wait()
        woken.append(name)

    for name in ("a", "b"):
        scheduler.spawn(waits(name))
    scheduler.run_until(1)
    signal.set()
    signal.set()
    scheduler.run_until(2)
    assert woken == ["a", "b"]
