"""Requests that may name very many things: how much of them is read and dealt with at a time, and who stands in line.

A name takes some ten bytes on the wire and some hundred in memory, read and answered: a few dozen clients that name a
million topics each would take all that a machine has. A Produce of few large batches is none of these requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mockbroker.call import Call, Wait
from mockbroker.state.settings import UNFINISHED_BYTES

if TYPE_CHECKING:
    from mockbroker.core.purgatory import ParkedCall

LIMIT = "large.requests.max.bytes"
LOOK_MS = 1_000  # how often who stands in line looks for one that holds up others
Read = Callable[[Call], Any]


class TooLargeError(Exception):
    """There will be no room for a request, or too much stands in line for it."""


class LargeRequests:
    """Those of one cluster; ``parked`` has the calls that wait, of whatever size."""

    def __init__(self, parked: Mapping[Call, ParkedCall], close: Callable[[Call, str, int], None]) -> None:
        self._parked, self._close = parked, close
        self._held: dict[Call, int] = {}  # bytes of those that are read and dealt with
        self._in_line: dict[Call, int] = {}
        self._idle: dict[ParkedCall, int] = {}  # since when they were seen to wait for something else than their turn

    def enter(self, call: Call, read: Read) -> Any:
        """What ``read`` gives, or a wait until there is room. Raises TooLargeError."""
        size, limit = len(call.frame), call.cluster.settings[LIMIT]
        if size > limit:
            raise TooLargeError(f"a request of {size} bytes that names things, and {LIMIT} is {limit}")
        if not self._in_line and self._has_room(call):
            return self._begin(call, read)
        waiting = sum(self._in_line.values())
        if waiting + size > UNFINISHED_BYTES:
            raise TooLargeError(f"a request of {size} bytes, and {waiting} bytes of such stand in line")
        self._in_line[call] = size
        return self._wait(call, read)

    def ended(self, call: Call) -> None:
        """A call has ended, perhaps one of these."""
        if self._held.pop(call, None) is not None or self._in_line.pop(call, None) is not None:
            call.cluster.notify(self)

    def _has_room(self, call: Call) -> bool:
        limit: int = call.cluster.settings[LIMIT]
        return sum(self._held.values()) + len(call.frame) <= limit

    def _begin(self, call: Call, read: Read) -> Any:
        self._held[call] = len(call.frame)
        return read(call)

    def _wait(self, call: Call, read: Read) -> Wait:
        return Wait(call.now_ms + LOOK_MS, (self,), lambda later: self._look(later, read))

    def _look(self, call: Call, read: Read) -> Any:
        if next(iter(self._in_line)) is call:
            self._end_idle(call.now_ms)
            if self._has_room(call):
                del self._in_line[call]
                return self._begin(call, read)
        return self._wait(call, read)

    def _end_idle(self, now_ms: int) -> None:
        """End those that hold others up without taking turns, as a Fetch that waits for records, for a second now."""
        idle: dict[ParkedCall, int] = {}
        late = []
        for call in self._held:
            parked = self._parked.get(call)
            if parked is None or parked.wait is None or parked.wait.is_turn or parked.wait.work is not None:
                continue
            idle[parked] = since_ms = self._idle.get(parked, now_ms)
            if now_ms - since_ms >= LOOK_MS:
                late.append(call)
        self._idle = idle
        for call in late:
            self._close(call, f"a request of {len(call.frame)} bytes waits, and others stand in line for it", now_ms)
