"""Calls and time in, replies out: runs handlers, parks those that wait, wakes them by key or by time.

No asyncio, no sockets, no clock. Whoever drives the engine passes the time with every call, and calls ``advance`` when
``next_deadline_ms`` is reached.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mockbroker.call import Call, Wait
from mockbroker.core.response_cache import ResponseCache
from mockbroker.handlers import handler_of
from mockbroker.state.cluster import Cluster
from mockbroker.state.errors import ApiError

log = logging.getLogger("mockbroker")

Answer = Callable[[Any], None]


@dataclass(slots=True, eq=False)
class Parked:
    """A call whose answer is put off. ``wait`` is None once it was answered or dropped."""

    call: Call
    wait: Wait | None
    answer: Answer
    failed: Callable[[Exception], None]


@dataclass(slots=True, eq=False)
class Engine:
    """Runs the calls of one cluster, in the order in which they come."""

    cluster: Cluster
    rng: Random = field(default_factory=lambda: Random(0))
    response_cache: ResponseCache = field(init=False)
    _parked: dict[Hashable, dict[Parked, None]] = field(default_factory=dict)
    _deadlines: list[tuple[int, int, Parked]] = field(default_factory=list)
    _count: int = 0
    _waking: bool = False

    def __post_init__(self) -> None:
        self.response_cache = ResponseCache(self.cluster)

    def submit(self, call: Call, request: Any, answer: Answer, failed: Callable[[Exception], None]) -> Parked | None:
        """Run a call. ``answer(response)`` is called now or later, with None where the protocol has no answer.

        ``failed`` is called in its place where the request cannot be answered at all.
        Gives the parked call where the answer is put off, for ``drop``.
        """
        try:
            handler = handler_of(call.api_key)
            assert handler is not None, call.api_key
            result = handler(call, request)
        except Exception as error:  # noqa: BLE001 - a handler that fails costs one connection, not the cluster
            failed(error)
            result = None
        else:
            if type(result) is Wait:
                parked = Parked(call, result, answer, failed)
                self._park(parked, result)
                if self.cluster.woken:
                    self.wake(call.now_ms)
                return parked if parked.wait is not None else None
            answer(result)
        if self.cluster.woken:
            self.wake(call.now_ms)
        return None

    def drop(self, parked: Parked) -> None:
        """Forget a parked call, since whoever asked has gone."""
        if parked.wait is not None:
            self._unpark(parked)

    def advance(self, now_ms: int) -> None:
        """Let time reach ``now_ms``: what is due happens, and calls that waited for it are answered."""
        deadline = self.cluster.next_deadline_ms()
        if deadline is not None and deadline <= now_ms:
            self.cluster.tick(now_ms)
        self.wake(now_ms)
        deadlines = self._deadlines
        while deadlines and deadlines[0][0] <= now_ms:
            until_ms, _, parked = heapq.heappop(deadlines)
            if parked.wait is not None and parked.wait.until_ms == until_ms:
                self._continue(parked, now_ms)
                self.wake(now_ms)

    def next_deadline_ms(self) -> int | None:
        """When ``advance`` has to run next; None while nothing waits for time."""
        deadlines = self._deadlines
        while deadlines and (deadlines[0][2].wait is None or deadlines[0][2].wait.until_ms != deadlines[0][0]):
            heapq.heappop(deadlines)
        own = deadlines[0][0] if deadlines else None
        state = self.cluster.next_deadline_ms()
        if own is None or state is None:
            return state if own is None else own
        return min(own, state)

    def wake(self, now_ms: int) -> None:
        """Continue the calls whose keys were notified, until no key is left."""
        if self._waking:
            return  # an answer led to another call: the loop below sees what that one notified
        self._waking = True
        try:
            woken = self.cluster.woken
            while woken:
                keys = dict.fromkeys(woken)
                woken.clear()
                for key in keys:
                    for parked in list(self._parked.get(key, ())):
                        if parked.wait is not None:
                            self._continue(parked, now_ms)
        finally:
            self._waking = False

    @property
    def parked_calls(self) -> int:
        """How many calls wait."""
        return len({parked for waiting in self._parked.values() for parked in waiting})

    def _continue(self, parked: Parked, now_ms: int) -> None:
        wait = parked.wait
        assert wait is not None
        self._unpark(parked)
        parked.call.now_ms = now_ms
        try:
            result = wait.then(parked.call)
        except Exception as error:  # noqa: BLE001 - as in submit
            parked.failed(error)
            return
        if type(result) is Wait:
            parked.wait = result
            self._park(parked, result)
        else:
            parked.answer(result)

    def _park(self, parked: Parked, wait: Wait) -> None:
        for key in wait.on:
            self._parked.setdefault(key, {})[parked] = None
        if wait.until_ms is not None:
            self._count += 1
            heapq.heappush(self._deadlines, (wait.until_ms, self._count, parked))

    def _unpark(self, parked: Parked) -> None:
        assert parked.wait is not None
        for key in parked.wait.on:
            waiting = self._parked.get(key)
            if waiting is not None:
                waiting.pop(parked, None)
                if not waiting:
                    del self._parked[key]
        parked.wait = None


def top_level_error(response_class: Any, error: Exception) -> Any:
    """A response with nothing but an ApiError's code, None where the message has no field for it."""
    if not isinstance(error, ApiError) or "error_code" not in response_class.__struct_fields__:
        return None
    return response_class(error_code=int(error.code))
