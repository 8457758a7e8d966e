"""What runs a cluster in real time: the engine's clock and timer, and what all sockets of the cluster share."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any

from mockbroker.adapters.background import BackgroundThread
from mockbroker.adapters.freed_memory import FreedMemory
from mockbroker.call import BackgroundWork
from mockbroker.core.engine import Engine
from mockbroker.core.held_bytes import HeldBytes
from mockbroker.state.cluster import Cluster
from mockbroker.state.settings import UNFINISHED_BYTES

if TYPE_CHECKING:
    from mockbroker.adapters.capture import Capture
    from mockbroker.adapters.controller_channels import ControllerChannels
    from mockbroker.adapters.sockets import ClientProtocol


RELIEF_S = 1.0
"""Between two looks at who stands still while connections hold too much."""
LOOK_S = 5.0
"""Between two looks for idle connections and freed memory."""


class Runtime:
    """Drives the engine of one cluster.

    Args:
        state: the cluster.
        rng: for what handlers draw.
        engine: what takes the calls, one that has them answered here unless given.

    ``unsent`` and ``unfinished`` count what all connections hold of answers and of requests.
    ``capture`` and ``channels`` are there while the cluster runs, as far as it has any.
    """

    def __init__(self, state: Cluster, rng: Random, engine: Engine | None = None) -> None:
        self.engine = Engine(state, rng, secrets.token_bytes) if engine is None else engine
        self._background = BackgroundThread(self.settle)
        self.engine.path.in_background = self._background.run
        self._cleaner = BackgroundThread(self.settle)
        state.run_aside = self._run_aside
        self.capture: Capture | None = None
        self.channels: ControllerChannels | None = None
        settings = state.settings
        self.unsent: HeldBytes[ClientProtocol] = HeldBytes(
            settings["queued.max.response.bytes"],
            lambda client: client.unsent_bytes(),
            "clients do not read their answers",
            self._unsent_changed,
        )
        self.unfinished: HeldBytes[ClientProtocol] = HeldBytes(
            settings["queued.max.request.bytes"] if settings["queued.max.request.bytes"] > 0 else UNFINISHED_BYTES,
            lambda client: client.partial_bytes(),
            "clients do not finish their requests",
            self._relieve_later,
        )
        self._relief: asyncio.TimerHandle | None = None
        self._look: asyncio.TimerHandle | None = None
        self._freed = FreedMemory()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._connections = 0
        self._epoch_ms = int(time.time() * 1000) - int(time.monotonic() * 1000)

    def _run_aside(self, function: Callable[[], Any], done: Callable[[Callable[[], Any]], None]) -> None:
        self._cleaner.run(BackgroundWork(function), lambda work: done(work.result))

    def now_ms(self) -> int:
        """The time, in ms since 1970, that never goes back."""
        return self._epoch_ms + int(time.monotonic() * 1000)

    def settle(self) -> None:
        """Let the engine do what is due, and be called again when the next thing is."""
        self.engine.advance(self.now_ms())
        self.schedule()

    def schedule(self) -> None:
        """See to it that the engine is called at its next deadline, and that brokers are told what has changed."""
        self.send_updates()
        deadline = self.engine.next_deadline_ms()
        if deadline is None or (self._timer is not None and self._timer_ms <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = deadline
        delay_ms = max(0, deadline - self.now_ms())
        self._timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self._on_timer)

    @contextmanager
    def syncing_here(self) -> Iterator[None]:
        """What is written inside is on the disk before it goes on, if that is asked for at all: nobody is answered."""
        syncs = self.engine.path.syncs
        before, syncs.is_deferred = syncs.is_deferred, False
        try:
            yield
        finally:
            syncs.is_deferred = before

    def send_updates(self) -> None:
        """In ZooKeeper mode have the brokers told what has changed."""
        if self.channels is not None:
            self.channels.send()

    async def metadata_propagated(self) -> None:
        """Wait until they have been told."""
        if self.channels is not None:
            self.channels.send()
            await self.channels.settled()

    def next_connection_number(self) -> int:
        """A number that no connection has had."""
        self._connections += 1
        return self._connections

    def look_after(self) -> None:
        """End the connections that are idle for too long, and give back freed memory, now and from now on."""
        self._look = asyncio.get_running_loop().call_later(LOOK_S, self.look_after)
        max_idle_ms = self.engine.cluster.settings["connections.max.idle.ms"]
        if max_idle_ms >= 0:
            self.engine.path.expire_idle(self.now_ms(), max_idle_ms)
        self.engine.path.end_late(self.now_ms())
        self._freed.give_back()

    def _unsent_changed(self) -> None:
        self.engine.cluster.answer_room_bytes = self.unsent.room
        self._relieve_later()

    def _relieve_later(self) -> None:
        if self._relief is None and (self.unsent.is_over or self.unfinished.is_over):
            self._relief = asyncio.get_running_loop().call_later(RELIEF_S, self._relieve)

    def _relieve(self) -> None:
        self._relief = None
        now_ms = self.now_ms()
        self.unsent.shed(now_ms)
        self.unfinished.shed(now_ms)
        self._relieve_later()

    def stop(self) -> None:
        """End what runs by itself. The capture goes on, since connections have yet to end."""
        self._background.stop()
        self._cleaner.stop()
        for handle in (self._relief, self._look):
            if handle is not None:
                handle.cancel()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.channels is not None:
            self.channels.close()

    def _on_timer(self) -> None:
        self._timer = None
        self.settle()
