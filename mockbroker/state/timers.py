"""Deadlines that are put off far more often than they are reached: sessions, rebalances, pending syncs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Timer(Enum):
    """What a group's deadline is about."""

    SESSION = "a member's next sign of life"
    JOIN = "all members have joined"
    SYNC = "all members have asked for their assignment"


TimerKey = tuple[str, Timer, str]  # group id, what for, member id or empty


@dataclass(slots=True, eq=False)
class Timers(Generic[Key]):
    """One deadline a key, in milliseconds; setting it again replaces it.

    The heap holds at most one entry a key: a deadline put off stays where it was and is moved when it comes up, since a
    heartbeat puts off a session that is hardly ever reached.

    >>> timers = Timers()
    >>> timers.set("session", 10)
    >>> timers.set("session", 30)
    >>> list(timers.due(10)), timers.next_ms(), list(timers.due(30))
    ([], 30, ['session'])
    """

    _deadlines: dict[Key, int] = field(default_factory=dict)
    _queued: dict[Key, tuple[int, int]] = field(default_factory=dict)  # the key's entry in the heap: when, which
    _heap: list[tuple[int, int, Key]] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)  # equal deadlines come in the order they were queued

    def set(self, key: Key, deadline_ms: int) -> None:
        self._deadlines[key] = deadline_ms
        queued = self._queued.get(key)
        if queued is None or deadline_ms < queued[0]:
            self._queue(key, deadline_ms)

    def cancel(self, key: Key) -> None:
        self._deadlines.pop(key, None)

    def next_ms(self) -> int | None:
        """The earliest deadline, None if there is none."""
        self._settle()
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int) -> Iterator[Key]:
        """The keys whose time has come, earliest first, each taken off as it is given out.

        What is set meanwhile counts too, so whoever sets a deadline while handling one sets a later one.
        """
        while (next_ms := self.next_ms()) is not None and next_ms <= now_ms:
            key = heappop(self._heap)[2]
            del self._queued[key], self._deadlines[key]
            yield key

    def _queue(self, key: Key, deadline_ms: int) -> None:
        entry = (deadline_ms, next(self._numbers))
        self._queued[key] = entry
        heappush(self._heap, (*entry, key))

    def _settle(self) -> None:
        """Bring the heap's top in line with what was set: drop what was cancelled, move what was put off."""
        while self._heap:
            queued_ms, number, key = self._heap[0]
            current = self._queued.get(key) == (queued_ms, number)
            deadline_ms = self._deadlines.get(key)
            if current and deadline_ms == queued_ms:
                return
            heappop(self._heap)
            if current:
                del self._queued[key]
                if deadline_ms is not None:
                    self._queue(key, deadline_ms)
