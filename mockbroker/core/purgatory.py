"""Calls that wait for a key or for a time: Kafka's purgatory.

No clock: the caller passes the time with every call, and calls ``advance`` when ``next_deadline_ms`` is reached.
Source: DelayedOperationPurgatory, Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.call import Call, Wait
from mockbroker.state.timers import Timers

if TYPE_CHECKING:
    from mockbroker.core.path import Stage


@dataclass(slots=True, eq=False)
class Purgatory:
    """The parked calls of one cluster.

    ``woken`` collects the notified keys. ``resume(call, wait, stage)`` is called for each call whose wait is over.
    ``parked`` has each call with its wait, its stage and the number of the wait, in the order in which waits began.
    Deadlines refer to waits by number, so that a stale one keeps no call in memory.
    """

    woken: list[Hashable]
    resume: Callable[[Call, Wait, Stage], None]
    parked: dict[Call, tuple[Wait, Stage, int]] = field(default_factory=dict)
    _by_key: dict[Hashable, dict[Call, None]] = field(default_factory=dict)
    _by_number: dict[int, Call] = field(default_factory=dict)
    _deadlines: Timers[int] = field(default_factory=Timers)
    _count: int = 0
    _waking: bool = False

    def park(self, call: Call, wait: Wait, stage: Stage) -> None:
        """Park a call. The same keys in the same order wake calls in the order in which they were parked."""
        self._count += 1
        self.parked[call] = wait, stage, self._count
        self._by_number[self._count] = call
        for key in wait.on:
            self._by_key.setdefault(key, {})[call] = None
        if wait.until_ms is not None:
            self._deadlines.set(self._count, wait.until_ms)

    def drop(self, call: Call) -> bool:
        """Drop a call, because its client has gone. False if it does not wait."""
        if call not in self.parked:
            return False
        self._take_off(call)
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
                    for call in list(self._by_key.get(key, ())):
                        self._continue(call, now_ms)
        finally:
            self._waking = False

    def advance(self, now_ms: int) -> None:
        """Advance the time to ``now_ms``: continue the calls that waited for it."""
        self.wake(now_ms)
        while (next_ms := self.next_deadline_ms()) is not None and next_ms <= now_ms:
            self._continue(self._by_number[self._deadlines.take()], now_ms)
            self.wake(now_ms)

    def look_again(self, now_ms: int) -> None:
        """Check each call that waits for a key again."""
        self.woken += self._by_key
        self.wake(now_ms)

    def next_deadline_ms(self) -> int | None:
        """The time at which ``advance`` must run next; None if no call waits for a time."""
        return self._deadlines.next_ms()

    def _continue(self, call: Call, now_ms: int) -> None:
        """Resume a call, unless it was dropped or resumed meanwhile."""
        if call in self.parked:
            wait, stage = self._take_off(call)
            call.now_ms = now_ms
            self.resume(call, wait, stage)

    def _take_off(self, call: Call) -> tuple[Wait, Stage]:
        wait, stage, number = self.parked.pop(call)
        del self._by_number[number]
        self._deadlines.cancel(number)
        for key in wait.on:
            waiting = self._by_key.get(key, {})
            waiting.pop(call, None)
            if not waiting:
                self._by_key.pop(key, None)
        return wait, stage
