"""Deadlines of a cluster's subsystems, most of which are postponed far more often than reached; and the wall clock,
which may jump.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mockbroker.state.topics.coordinator_keys import TRANSACTIONS_TOPIC

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

Key = TypeVar("Key", bound=Hashable)
MAX_STALE = 10_000
"""Maximum number of stale heap entries of cancelled deadlines before they are removed."""


@dataclass(slots=True, eq=False)
class Timers(Generic[Key]):
    """One deadline per key, in milliseconds; setting it again replaces it.

    The heap has at most one entry per key: the entry of a postponed deadline is moved only when it comes up, because
    heartbeats postpone sessions that rarely expire. The earliest deadline, which is read after each call, is cached
    until a deadline is set or cancelled.

    >>> timers = Timers()
    >>> timers.set("session", 10)
    >>> timers.set("session", 30)
    >>> list(timers.due(10)), timers.next_ms(), list(timers.due(30))
    ([], 30, ['session'])
    """

    deadlines: dict[Key, int] = field(default_factory=dict)
    _queued: dict[Key, tuple[int, int]] = field(default_factory=dict)  # the key's entry in the heap: deadline, number
    _heap: list[tuple[int, int, Key]] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)  # equal deadlines are due in the order of queueing
    _next_ms: int | None = None  # cached
    _is_found: bool = False  # the cache is valid

    def set(self, key: Key, deadline_ms: int) -> None:
        self.deadlines[key] = deadline_ms
        self._is_found = False
        queued = self._queued.get(key)
        if queued is None or deadline_ms < queued[0]:
            self._queue(key, deadline_ms)

    def cancel(self, key: Key) -> None:
        self.deadlines.pop(key, None)
        self._is_found = False
        if len(self._heap) > MAX_STALE + 4 * len(self.deadlines):
            self._clear_away()

    def forget(self, keys: Iterable[Key]) -> None:
        """Cancel deadlines and remove their heap entries."""
        known = [key for key in keys if self.deadlines.pop(key, None) is not None or key in self._queued]
        if known:
            self._is_found = False
            self._clear_away()

    def __iter__(self) -> Iterator[Key]:
        """The keys with a deadline, in the order of their first one."""
        return iter(self.deadlines)

    def __contains__(self, key: Key) -> bool:
        return key in self.deadlines

    def next_ms(self) -> int | None:
        """The earliest deadline, None if there is none."""
        if not self._is_found:
            self._settle()
            self._next_ms = self._heap[0][0] if self._heap else None
            self._is_found = True
        return self._next_ms

    def due(self, now_ms: int) -> Iterator[Key]:
        """The keys that are due, earliest first; each is removed when it is returned.

        Deadlines that are set meanwhile count too, so a handler must set a later one.
        """
        while (next_ms := self.next_ms()) is not None and next_ms <= now_ms:
            yield self.take()

    def take(self) -> Key:
        """Remove and return the key with the earliest deadline. Raises IndexError if there is none."""
        self._settle()
        self._is_found = False
        key = heappop(self._heap)[2]
        del self._queued[key], self.deadlines[key]
        return key

    def _queue(self, key: Key, deadline_ms: int) -> None:
        entry = (deadline_ms, next(self._numbers))
        self._queued[key] = entry
        heappush(self._heap, (*entry, key))

    def _clear_away(self) -> None:
        """Remove the heap entries of cancelled and replaced deadlines."""
        self._queued = {key: entry for key, entry in self._queued.items() if key in self.deadlines}
        self._heap = [entry for entry in self._heap if self._queued.get(entry[2]) == entry[:2]]
        heapify(self._heap)

    def _settle(self) -> None:
        """Update the heap's top: remove cancelled entries, move postponed ones."""
        while self._heap:
            queued_ms, number, key = self._heap[0]
            current = self._queued.get(key) == (queued_ms, number)
            deadline_ms = self.deadlines.get(key)
            if current and deadline_ms == queued_ms:
                return
            heappop(self._heap)
            if current:
                del self._queued[key]
                if deadline_ms is not None:
                    self._queue(key, deadline_ms)


@dataclass(slots=True, eq=False)
class Subsystem:
    """A subsystem's timers, its handler, and a test of whether its time advances."""

    name: str
    timers: Timers[Any]
    on_timer: Callable[[Any, int], None]
    runs: Callable[[], bool]


def always() -> bool:
    return True


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

    def subsystem(
        self, name: str, on_timer: Callable[[Any, int], None], *, runs: Callable[[], bool] = always
    ) -> Timers[Any]:
        """The timers of a new subsystem.

        Args:
            on_timer: called with a key and the time when the key's deadline is reached.
            runs: while it returns False, no deadline is reached; overdue ones are reached afterwards.
        """
        assert name not in self._subsystems, name
        timers: Timers[Any] = Timers()
        self._subsystems[name] = Subsystem(name, timers, on_timer, runs)
        return timers

    def find(self, name: str) -> Timers[Any] | None:
        """The timers of a subsystem, None if there is none of this name."""
        found = self._subsystems.get(name)
        return None if found is None else found.timers

    def next_ms(self) -> int | None:
        """The earliest deadline of all subsystems, None if there is none."""
        found = self._next()
        return None if found is None else found[0]

    def advance(self, now_ms: int) -> None:
        """Run what is due, earliest first; among equal deadlines the first subsystem."""
        while (found := self._next()) is not None and found[0] <= now_ms:
            subsystem = found[1]
            subsystem.on_timer(subsystem.timers.take(), now_ms)

    def _next(self) -> tuple[int, Subsystem] | None:
        earliest: tuple[int, Subsystem] | None = None
        for subsystem in self._subsystems.values():
            next_ms = subsystem.timers.next_ms()
            if next_ms is not None and (earliest is None or next_ms < earliest[0]) and subsystem.runs():
                earliest = (next_ms, subsystem)
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


def expire(cluster: Cluster, now_ms: int) -> None:
    """Remove what is too old by the wall clock: records, offsets of groups without members, producers and ids.

    Timed-out transactions are aborted.
    """
    cluster.log_cleanup.clock_jumped(now_ms)
    if TRANSACTIONS_TOPIC in cluster.topics:
        cluster.transactions.clock_jumped(now_ms)
    if cluster.has_groups:
        cluster.groups.expire(now_ms)
