"""Calls that wait for a key or for a time: Kafka's purgatory.

No clock: the caller passes the time with every call, and calls ``advance`` when ``next_deadline_ms`` is reached.
Source: DelayedOperationPurgatory, Apache Kafka.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.call import Call, Wait

if TYPE_CHECKING:
    from mockbroker.core.path import Stage

MAX_STALE = 1000
"""The most deadlines of calls that no longer wait, before they are removed."""
Continue = Callable[[Call, Wait, "Stage"], None]


@dataclass(slots=True, eq=False)
class ParkedCall:
    """A call that waits in a stage of its path.

    Its call and wait are None once it continues or was dropped, because its deadline may be far away.
    """

    call: Call | None
    wait: Wait | None
    stage: Stage


@dataclass(slots=True, eq=False)
class Purgatory:
    """The parked calls of one cluster.

    ``woken`` collects the notified keys. ``resume(call, wait, stage)`` is called for each call whose wait is over.
    """

    woken: list[Hashable]
    resume: Continue
    _parked: dict[ParkedCall, None] = field(default_factory=dict)
    _by_key: dict[Hashable, dict[ParkedCall, None]] = field(default_factory=dict)
    _deadlines: list[tuple[int, int, ParkedCall]] = field(default_factory=list)
    _count: int = 0
    _waking: bool = False

    def __len__(self) -> int:
        """The number of waiting calls."""
        return len(self._parked)

    def park(self, call: Call, wait: Wait, stage: Stage) -> ParkedCall:
        """Park a call. The same keys in the same order wake calls in the order in which they were parked."""
        parked = ParkedCall(call, wait, stage)
        call.was_parked = True
        self._parked[parked] = None
        for key in wait.on:
            self._by_key.setdefault(key, {})[parked] = None
        if wait.until_ms is not None:
            self._count += 1
            heapq.heappush(self._deadlines, (wait.until_ms, self._count, parked))
            if len(self._deadlines) > MAX_STALE + 2 * len(self._parked):
                self._deadlines = [entry for entry in self._deadlines if entry[2].wait is not None]
                heapq.heapify(self._deadlines)
        return parked

    def drop(self, parked: ParkedCall) -> bool:
        """Drop a call, because its client has gone. False if it no longer waits."""
        if parked.wait is None:
            return False
        self._take_off(parked)
        return True

    def wake(self, now_ms: int) -> None:
        """Continue the calls whose keys were notified, until no key is left."""
        if self._waking:
            return  # a nested call: the loop of the outer one sees its keys
        self._waking = True
        try:
            woken = self.woken
            while woken:
                keys = dict.fromkeys(woken)
                woken.clear()
                for key in keys:
                    for parked in list(self._by_key.get(key, ())):
                        if parked.wait is not None:
                            self._continue(parked, now_ms)
        finally:
            self._waking = False

    def advance(self, now_ms: int) -> None:
        """Advance the time to ``now_ms``: continue the calls that waited for it."""
        self.wake(now_ms)
        while self._deadlines and self._deadlines[0][0] <= now_ms:
            parked = heapq.heappop(self._deadlines)[2]
            if parked.wait is not None:
                self._continue(parked, now_ms)
                self.wake(now_ms)

    def look_again(self, now_ms: int) -> None:
        """Check each call that waits for a key again."""
        for parked in list(self._parked):
            if parked.wait is not None and parked.wait.on:
                self._continue(parked, now_ms)
        self.wake(now_ms)

    def next_deadline_ms(self) -> int | None:
        """The time at which ``advance`` must run next; None if no call waits for a time."""
        deadlines = self._deadlines
        while deadlines and deadlines[0][2].wait is None:
            heapq.heappop(deadlines)
        return deadlines[0][0] if deadlines else None

    def _continue(self, parked: ParkedCall, now_ms: int) -> None:
        call, wait = parked.call, parked.wait
        assert call is not None
        assert wait is not None
        self._take_off(parked)
        call.now_ms = now_ms
        self.resume(call, wait, parked.stage)

    def _take_off(self, parked: ParkedCall) -> None:
        assert parked.wait is not None
        for key in parked.wait.on:
            waiting = self._by_key.get(key)
            if waiting is not None:
                waiting.pop(parked, None)
                if not waiting:
                    del self._by_key[key]
        parked.call = parked.wait = None
        del self._parked[parked]
