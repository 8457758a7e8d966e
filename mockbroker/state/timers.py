"""Deadlines of a cluster's subsystems, most of which are postponed far more often than reached; and the wall clock,
which may jump.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
MAX_STALE = 1_000
"""Maximum number of stale heap entries, of cancelled and replaced deadlines, before they are removed."""


@dataclass(slots=True, eq=False)
class Timers(Generic[Key]):
    """One deadline per key, in milliseconds; setting it again replaces it.

    The heap has an entry for each deadline that was set; those that differ from the key's current one are stale.

    >>> timers = Timers()
    >>> timers.set("session", 10)
    >>> timers.set("session", 30)
    >>> timers.next_ms(), timers.take(), timers.next_ms()
    (30, 'session', None)
    """

    deadlines: dict[Key, int] = field(default_factory=dict)
    _heap: list[tuple[int, int, Key]] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)  # equal deadlines are due in the order of setting

    def set(self, key: Key, deadline_ms: int) -> None:
        if self.deadlines.get(key) != deadline_ms:
            self.deadlines[key] = deadline_ms
            heappush(self._heap, (deadline_ms, next(self._numbers), key))
            if len(self._heap) > MAX_STALE + 4 * len(self.deadlines):
                self._remove_stale()

    def cancel(self, key: Key) -> None:
        self.deadlines.pop(key, None)

    def forget(self, keys: Iterable[Key]) -> None:
        """Cancel deadlines and remove their heap entries."""
        for key in keys:
            self.deadlines.pop(key, None)
        self._remove_stale()

    def __iter__(self) -> Iterator[Key]:
        """The keys with a deadline, in the order of their first one."""
        return iter(self.deadlines)

    def __contains__(self, key: Key) -> bool:
        return key in self.deadlines

    def next_ms(self) -> int | None:
        """The earliest deadline, None if there is none."""
        heap, deadlines = self._heap, self.deadlines
        while heap and deadlines.get(heap[0][2]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def take(self) -> Key:
        """Remove and return the key with the earliest deadline. Raises IndexError if there is none."""
        self.next_ms()
        key = heappop(self._heap)[2]
        del self.deadlines[key]
        return key

    def _remove_stale(self) -> None:
        self._heap = [(deadline_ms, next(self._numbers), key) for key, deadline_ms in self.deadlines.items()]
        heapify(self._heap)


OnTimer = Callable[[Any, int], None]
Subsystem = tuple[Timers[Any], OnTimer, Callable[[], bool]]
"""Timers, their handler, and a test of whether their time advances."""


@dataclass(slots=True, eq=False)
class TimerService:
    """The deadlines of a cluster's subsystems, by name.

    >>> service = TimerService()
    >>> timers = service.subsystem("sessions", lambda key, now_ms: print(key, now_ms))
    >>> timers.set("member-1", 30)
    >>> service.next_ms()
    30
    >>> service.advance(40)
    member-1 40
    """

    _subsystems: dict[str, Subsystem] = field(default_factory=dict)

    def subsystem(self, name: str, on_timer: OnTimer, *, runs: Callable[[], bool] = lambda: True) -> Timers[Any]:
        """The timers of a new subsystem.

        Args:
            on_timer: called with a key and the time when the key's deadline is reached.
            runs: while it returns False, no deadline is reached; overdue ones are reached afterwards.
        """
        assert name not in self._subsystems, name
        timers: Timers[Any] = Timers()
        self._subsystems[name] = (timers, on_timer, runs)
        return timers

    def next_ms(self) -> int | None:
        """The earliest deadline of all subsystems, None if there is none."""
        found = self._next()
        return None if found is None else found[0]

    def advance(self, now_ms: int) -> None:
        """Run what is due, earliest first; among equal deadlines the first subsystem."""
        while (found := self._next()) is not None and found[0] <= now_ms:
            _next_ms, timers, on_timer = found
            on_timer(timers.take(), now_ms)

    def _next(self) -> tuple[int, Timers[Any], OnTimer] | None:
        earliest: tuple[int, Timers[Any], OnTimer] | None = None
        for timers, on_timer, runs in self._subsystems.values():
            next_ms = timers.next_ms()
            if next_ms is not None and (earliest is None or next_ms < earliest[0]) and runs():
                earliest = (next_ms, timers, on_timer)
        return earliest


def next_multiple(time_ms: int, interval_ms: int) -> int:
    """The first multiple of an interval at or after a time.

    >>> next_multiple(60001, 10000), next_multiple(70000, 10000)
    (70000, 70000)
    """
    return -(-time_ms // interval_ms) * interval_ms


@dataclass(slots=True, eq=False)
class WallClock:
    """The offset of the wall clock from the monotonic time of calls and commands, in ms.

    >>> clock = WallClock()
    >>> clock.offset_ms -= 1000
    >>> clock.at(5000)
    4000
    """

    offset_ms: int = 0

    def at(self, now_ms: int) -> int:
        """The wall-clock time at a monotonic time, in ms since 1970."""
        return now_ms + self.offset_ms
