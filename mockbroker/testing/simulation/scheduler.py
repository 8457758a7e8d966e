"""Virtual time, and tasks that wait on it: coroutines that are resumed in an order that only the seed decides.

A task is an ``async def`` whose awaits end in a ``Future``. Nothing here reads a clock: time moves to the next timer,
or to the next deadline of the cluster, whichever comes first.

>>> scheduler = Scheduler()
>>> async def nap() -> int:
...     await scheduler.sleep(20)
...     return scheduler.now_ms
>>> task = scheduler.spawn(nap())
>>> scheduler.run_until(100)
>>> task.result, scheduler.now_ms
(20, 100)
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
MAX_TURNS = 20_000  # at one time


class TimeStandsStillError(Exception):
    """Things go on and on without time passing."""


class Future(Generic[T]):
    """A value, or an error, that will be there later; ``await`` gives it."""

    __slots__ = ("_callbacks", "_error", "_result", "is_done")

    def __init__(self) -> None:
        self.is_done = False
        self._result: Any = None
        self._error: Exception | None = None
        self._callbacks: list[Callable[[], None]] = []

    @property
    def result(self) -> T:
        """What there is now. Raises the error if there is one."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[no-any-return]

    def resolve(self, result: T) -> None:
        """Be done, with this value; what is done already stays as it is."""
        if not self.is_done:
            self._result = result
            self._finish()

    def fail(self, error: Exception) -> None:
        """Be done, with this error; what is done already stays as it is."""
        if not self.is_done:
            self._error = error
            self._finish()

    def on_done(self, callback: Callable[[], None]) -> None:
        """Call this once it is done."""
        if self.is_done:
            callback()
        else:
            self._callbacks.append(callback)

    def _finish(self) -> None:
        self.is_done = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def __await__(self) -> Generator[Future[T], None, T]:
        if not self.is_done:
            yield self
        return self.result


class Task(Future[T]):
    """A coroutine at work; itself the future of what it returns."""

    __slots__ = ("_coroutine", "_scheduler", "is_cancelled")

    def __init__(self, scheduler: Scheduler, coroutine: Coroutine[Any, None, T]) -> None:
        super().__init__()
        self._scheduler, self._coroutine = scheduler, coroutine
        self.is_cancelled = False

    def cancel(self) -> None:
        """End it where it waits; it is never done then. A task does not cancel itself."""
        if not self.is_done and not self.is_cancelled:
            self.is_cancelled = True
            self._coroutine.close()

    def step(self) -> None:
        """Run on to where it waits next."""
        if self.is_cancelled:
            return
        try:
            waits_for = self._coroutine.send(None)
        except StopIteration as stop:
            self.resolve(stop.value)
        except Exception as error:  # noqa: BLE001 - whoever awaits the task is told; who else, the scheduler's user
            has_listeners = bool(self._callbacks)
            self.fail(error)
            if not has_listeners:
                self._scheduler.failures.append(error)
        else:
            waits_for.on_done(lambda: self._scheduler.ready.append(self.step))


class Signal:
    """Wakes whoever waits for something to change."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: Future[None] | None = None

    def wait(self) -> Future[None]:
        """Done with the next ``set``."""
        if self._waiting is None:
            self._waiting = Future()
        return self._waiting

    def set(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.resolve(None)


class Scheduler:
    """Time in ms, the timers and the tasks that are ready to go on.

    ``failures`` has what tasks raised that nobody awaited. ``next_deadline_ms`` and ``on_deadline`` let something else
    have deadlines of its own, which come before the timers of the same time.
    """

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self.ready: deque[Callable[[], None]] = deque()
        self.failures: list[Exception] = []
        self.next_deadline_ms: Callable[[], int | None] = lambda: None
        self.on_deadline: Callable[[int], None] = lambda now_ms: None
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self._turns, self._turns_at_ms = 0, now_ms

    def spawn(self, coroutine: Coroutine[Any, None, T]) -> Task[T]:
        """Have a coroutine run, from the next turn on."""
        task = Task(self, coroutine)
        self.ready.append(task.step)
        return task

    def call_at(self, at_ms: int, callback: Callable[[], None]) -> None:
        """Call this at a time; what has passed is now. Callbacks of one time keep the order in which they were set."""
        self._count += 1
        heapq.heappush(self._timers, (max(at_ms, self.now_ms), self._count, callback))

    def sleep(self, ms: int) -> Future[None]:
        """Done after so many ms."""
        future: Future[None] = Future()
        self.call_at(self.now_ms + ms, lambda: future.resolve(None))
        return future

    async def wait(self, future: Future[Any], timeout_ms: int) -> bool:
        """Wait for a future, or so long; whether it is done. Its error is left in it."""
        if future.is_done:
            return True
        either: Future[None] = self.sleep(timeout_ms)
        future.on_done(lambda: either.resolve(None))
        await either
        return future.is_done

    def run_until(self, until_ms: int, is_over: Callable[[], bool] = lambda: False) -> None:
        """Let time pass until then, or until ``is_over`` says so after a turn. Raises TimeStandsStillError."""
        while True:
            self._run_ready()
            if is_over():
                return
            deadline = self.next_deadline_ms()
            timer = self._timers[0][0] if self._timers else None
            following = min((one for one in (deadline, timer) if one is not None), default=None)
            if following is None or following > until_ms:
                self.now_ms = max(self.now_ms, until_ms)
                return
            self.now_ms = max(self.now_ms, following)
            self._turn()
            if deadline is not None and deadline <= self.now_ms:
                self.on_deadline(self.now_ms)
            while self._timers and self._timers[0][0] <= self.now_ms:
                heapq.heappop(self._timers)[2]()
                self._run_ready()

    def _run_ready(self) -> None:
        ready = self.ready
        while ready:
            self._turn()
            ready.popleft()()

    def _turn(self) -> None:
        if self._turns_at_ms != self.now_ms:
            self._turns, self._turns_at_ms = 0, self.now_ms
        self._turns += 1
        if self._turns > MAX_TURNS:
            raise TimeStandsStillError(f"{MAX_TURNS} turns at {self.now_ms} ms")
