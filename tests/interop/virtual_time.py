"""Runs unmodified asyncio clients against a ``Simulation`` in virtual time: no socket, no clock, no waiting.

The event loop's time moves to the next timer as soon as nothing else is left to do. A seed decides how long bytes
travel, and what clients draw from ``random``. ``time.time`` and ``time.monotonic`` are the loop's while it runs.

>>> async def nap(_: VirtualNetwork) -> float:
...     await asyncio.sleep(3600)
...     return round(time.monotonic(), 3)
>>> run(nap, racks="a,b,c", seed=0)
3600.0
"""

from __future__ import annotations

import asyncio
import random
import selectors
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from unittest.mock import patch

from mockbroker.call import Outcome
from mockbroker.core.connection import Connection
from mockbroker.core.simulation import Simulation

LEAST_S, MOST_S = 0.001, 0.004  # of the way of bytes
TURN_S = 1e-6
"""The least that time moves between two rounds of the loop: clients ask again while less than a tick is left."""
FIRST_PORT = 9092

T = TypeVar("T")


class NothingIsDueError(Exception):
    """Every task waits, and no timer will wake one."""


class JumpingSelector(selectors.SelectSelector):
    """Lets time jump instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise NothingIsDueError
        self.now_s += max(timeout, TURN_S)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose connections lead to the brokers of a simulation, by their ports."""

    def __init__(self, selector: JumpingSelector, network: VirtualNetwork) -> None:
        super().__init__(selector)
        self._network = network

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        return await self._network.connect(protocol_factory, int(port))


class VirtualNetwork:
    """The brokers of ``sim``, and the clients' connections to them.

    Commands go through ``command``, as ``network.command(lambda sim: sim.stop_rack("a"))``.
    """

    def __init__(self, sim: Simulation, selector: JumpingSelector, seed: int) -> None:
        self.sim, self.loop = sim, VirtualLoop(selector, self)
        self.transports: dict[int, VirtualTransport] = {}
        self.failures: list[Exception] = []
        self._selector, self._rng = selector, random.Random(seed)
        self._due: asyncio.TimerHandle | None = None
        self._connections = 0
        sim.engine.path.observers.append(self)

    def call_ended(self, outcome: Outcome) -> None:
        if outcome.error is not None:
            self.failures.append(outcome.error)

    def travel_s(self) -> float:
        return self._rng.uniform(LEAST_S, MOST_S)

    async def connect(self, protocol_factory: Callable[[], asyncio.Protocol], port: int) -> Any:
        await asyncio.sleep(self.travel_s())
        broker = self.sim.cluster.brokers[port - FIRST_PORT]
        if not broker.is_running:
            raise ConnectionRefusedError(f"broker {broker.id} is down")
        self._connections += 1
        protocol = protocol_factory()
        transport = self.transports[self._connections] = VirtualTransport(self, protocol, broker.id, self._connections)
        protocol.connection_made(transport)
        return transport, protocol

    def command(self, change: Callable[[Simulation], object]) -> None:
        """Change the cluster; connections to brokers that are down afterwards break."""
        self.advance()
        change(self.sim)
        self._break(lambda transport: not self.sim.cluster.brokers[transport.broker_id].is_running)
        self.advance()

    def break_connections(self) -> None:
        """Break all connections: requests and answers on their way are lost."""
        self._break(lambda _: True)

    def _break(self, is_meant: Callable[[VirtualTransport], bool]) -> None:
        for transport in [one for one in self.transports.values() if is_meant(one)]:
            transport.lose(ConnectionResetError("the connection broke"))

    def advance(self) -> None:
        """Bring the simulation to the loop's time, and come back at its next deadline."""
        self.sim.advance(int(self._selector.now_s * 1000 + 1e-6) - self.sim.now_ms)
        if self._due is not None:
            self._due.cancel()
        deadline_ms = self.sim.engine.next_deadline_ms()
        self._due = None if deadline_ms is None else self.loop.call_at(deadline_ms / 1000, self.advance)


class VirtualTransport(asyncio.Transport):
    """A client's end of a connection. Bytes keep their order; those on their way are lost when it breaks."""

    def __init__(self, network: VirtualNetwork, protocol: asyncio.Protocol, broker_id: int, number: int) -> None:
        super().__init__()
        self._network, self._protocol, self.broker_id, self._number = network, protocol, broker_id, number
        session = network.sim.engine.session(
            network.sim.cluster.brokers[broker_id], address="127.0.0.1", connection=number
        )
        self._broker_end = Connection(network.sim.engine.path, session, on_output=self._answer)
        self._sent_s = self._received_s = 0.0  # when the last bytes arrive, each way
        self._is_open = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_open:
            self._sent_s = max(self._sent_s, self._network.loop.time() + self._network.travel_s())
            self._network.loop.call_at(self._sent_s, self._arrive, bytes(data))

    def _arrive(self, data: bytes) -> None:
        if self._is_open:
            self._network.advance()
            self._broker_end.receive(data, self._network.sim.now_ms)
            self._answer()
            self._network.advance()

    def _answer(self) -> None:
        broker_end, network = self._broker_end, self._network
        while True:
            for piece in broker_end.take_output():
                self._received_s = max(self._received_s, network.loop.time() + network.travel_s())
                network.loop.call_at(self._received_s, self._deliver, piece)
            if not broker_end.is_held:
                break
            broker_end.resume(network.sim.now_ms)
        if broker_end.closed is not None:
            network.loop.call_at(max(self._received_s, network.loop.time()), self.lose, None)

    def _deliver(self, data: bytes) -> None:
        if self._is_open:
            self._protocol.data_received(data)

    def lose(self, error: Exception | None) -> None:
        """End it, and let the client know."""
        if self._is_open:
            self._is_open = False
            del self._network.transports[self._number]
            self._broker_end.stopped()
            self._network.loop.call_soon(self._protocol.connection_lost, error)

    def close(self) -> None:
        self.lose(None)

    abort = close

    def is_closing(self) -> bool:
        return not self._is_open

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


def run(scenario: Callable[[VirtualNetwork], Awaitable[T]], *, racks: str, seed: int) -> T:
    """The result of a scenario with a new simulation. Raises what our own code raised."""
    selector = JumpingSelector()
    network = VirtualNetwork(Simulation(racks, seed=seed), selector, seed)
    before = random.getstate()
    try:
        with (
            patch.object(time, "time", lambda: selector.now_s),
            patch.object(time, "monotonic", lambda: selector.now_s),
            asyncio.Runner(loop_factory=lambda: network.loop) as runner,
        ):
            random.seed(seed)
            network.advance()

            async def main() -> T:
                return await scenario(network)

            result = runner.run(main())
    finally:
        random.setstate(before)
    if network.failures:
        raise network.failures[0]
    return result
