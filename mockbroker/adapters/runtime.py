"""Runs a cluster in real time: the engine's clock and timer, and the parts that all sockets of the cluster share."""

from __future__ import annotations

import asyncio
import time
from itertools import count
from typing import TYPE_CHECKING, Protocol

from mockbroker.core.engine import Engine

if TYPE_CHECKING:
    from mockbroker.adapters.capture import Capture


LOOK_S = 5.0
"""Between two looks for idle connections."""


class UpdateChannels(Protocol):
    """Carries what a controller has to send its brokers."""

    def send(self) -> None:
        """Send everything that is pending."""

    async def until_idle(self) -> None:
        """Wait until all of it was accepted, or the last attempt has failed."""

    def close(self) -> None:
        """End every connection."""


class Runtime:
    """Drives the engine of one cluster.

    ``capture`` and ``channels`` are there while the cluster runs, as far as it has any; ``connection_numbers`` are
    those that no connection has had.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.capture: Capture | None = None
        self.channels: UpdateChannels | None = None
        self._look: asyncio.TimerHandle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._planned: asyncio.Handle | None = None
        self.connection_numbers = count(1)
        self._epoch_ms = int(time.time() * 1000) - int(time.monotonic() * 1000)

    @property
    def engine(self) -> Engine:
        """The engine of the cluster's calls: for observers of its path, and for calls without a socket."""
        return self._engine

    def now_ms(self) -> int:
        """The time of journal entries, in ms since 1970, monotonic."""
        return self._epoch_ms + int(time.monotonic() * 1000)

    def settle(self) -> None:
        """Process the consequences of a change of ``state``, or of a call without a socket."""
        self._engine.advance(self.now_ms())
        self._plan()

    def _schedule(self) -> None:
        """Find the next deadline once all sockets that are ready have been read."""
        if self._planned is None:
            self._planned = asyncio.get_running_loop().call_soon(self._plan)

    def _plan(self) -> None:
        """Call the engine at its next deadline, and send brokers what has changed."""
        if self._planned is not None:
            self._planned.cancel()
            self._planned = None
        if self.channels is not None:
            self.channels.send()
        deadline = self._engine.next_deadline_ms()
        if deadline is None or (self._timer is not None and self._timer_ms <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = deadline
        delay_ms = max(0, deadline - self.now_ms())
        self._timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self._on_timer)

    def _look_after(self) -> None:
        """End the connections that are idle or late for too long, now and from now on."""
        self._look = asyncio.get_running_loop().call_later(LOOK_S, self._look_after)
        for connection in list(self._engine.path.connections):
            connection.end_if_late(self.now_ms())

    def _stop_timers(self) -> None:
        """Cancel the timers. The capture continues until connections have ended."""
        for handle in (self._look, self._planned, self._timer):
            if handle is not None:
                handle.cancel()
        self._timer = None
        if self.channels is not None:
            self.channels.close()

    def _on_timer(self) -> None:
        self._timer = None
        self.settle()
