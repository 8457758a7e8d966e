"""Connections between simulated clients and brokers: frames take their time, and may never come.

Frames of one connection keep their order, in both directions. A connection that breaks loses what is on its way: a
request may have been carried out whose answer never comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from mockbroker.core.connection import Connection

if TYPE_CHECKING:
    from mockbroker.testing.simulation.cluster import SimulatedCluster
    from mockbroker.testing.simulation.scheduler import Scheduler

SAME_RACK_MS, OTHER_RACK_MS = (0, 1), (1, 4)
"""How long a frame takes, least and most."""


class ClientConnection:
    """A client's end of a connection. ``is_open`` until either side has ended it."""

    def __init__(
        self,
        network: SimulatedNetwork,
        client: str,
        rack: str,
        broker_id: int,
        on_frame: Callable[[bytes], None],
        on_lost: Callable[[], None],
    ) -> None:
        self.network, self.client, self.rack, self.broker_id = network, client, rack, broker_id
        self.is_open = True
        self._is_dead = False  # what a silence has swallowed is not sent again: nothing comes through any more
        self._on_frame, self._on_lost = on_frame, on_lost
        self._broker_end: Connection | None = None
        self._sent_ms = self._received_ms = 0  # when the last frame arrives, each way
        self._inbox: deque[bytes] = deque()  # what the broker has sent and the client has not read

    def send(self, frame: bytes) -> None:
        """Send a frame, its length in front."""
        if self.is_open and not self._is_swallowed():
            self._sent_ms = self.network.arrival(self, self._sent_ms)
            self.network.scheduler.call_at(self._sent_ms, lambda: self._arrived(frame))

    def close(self) -> None:
        """End it from the client's side, without hearing of it."""
        if self.is_open:
            self.is_open = False
            self.network.connections.pop(self, None)
            if self._broker_end is not None:
                self._broker_end.stopped()
                self.network.cluster.settle()

    def lose(self) -> None:
        """Break it: the client hears of it at once unless it is frozen, what was on its way is lost."""
        if self.is_open:
            self.close()
            self._tell_lost()

    def _tell_lost(self) -> None:
        if not self.network.when_thawed(self.client, self._tell_lost):
            self._on_lost()

    def _arrived(self, frame: bytes) -> None:
        if not self.is_open:
            return
        cluster, now_ms = self.network.cluster, self.network.scheduler.now_ms
        broker = cluster.state.brokers[self.broker_id]
        if not broker.is_running:
            self.lose()
            return
        if self._broker_end is None:
            session = cluster.engine.session(broker, address="10.0.0.1", connection=self.network.next_number())
            self._broker_end = Connection(cluster.engine.path, session, on_output=self._answer)
        self._broker_end.receive(frame, now_ms)
        self._answer()
        if cluster.state.woken or not cluster.state.support.is_kraft:
            cluster.settle()

    def _answer(self) -> None:
        """Send on what the broker has to say."""
        broker_end = self._broker_end
        assert broker_end is not None
        while True:
            for piece in broker_end.take_output():
                if not self._is_swallowed():
                    self._received_ms = self.network.arrival(self, self._received_ms)
                    self._inbox.append(piece)
                    self.network.scheduler.call_at(self._received_ms, self._deliver)
            if not broker_end.is_held:
                break
            broker_end.go_on(self.network.scheduler.now_ms)
        if broker_end.closed is not None and self.is_open:
            self._received_ms = self.network.arrival(self, self._received_ms)
            self.network.scheduler.call_at(self._received_ms, self.lose)

    def _is_swallowed(self) -> bool:
        """Whether what is sent now never arrives."""
        self._is_dead = self._is_dead or self.network.is_silent(self)
        return self._is_dead

    def _deliver(self) -> None:
        if self.is_open and not self.network.when_thawed(self.client, self._deliver):
            self._on_frame(self._inbox.popleft())


class SimulatedNetwork:
    """All connections of a simulation.

    ``silent`` has pairs of a client's rack and a broker between which all frames are lost, and nobody hears of it; a
    connection that has lost one loses all that follow.
    ``frozen`` has clients that do nothing until a time, as in a long pause of the garbage collector: they read nothing,
    and notice no time-out.
    """

    def __init__(self, scheduler: Scheduler, rng: Random) -> None:
        self.scheduler, self._rng = scheduler, rng
        self.cluster: SimulatedCluster  # whoever makes both sets it
        self.connections: dict[ClientConnection, None] = {}
        self.silent: dict[tuple[str, int], None] = {}
        self.frozen: dict[str, int] = {}
        self._number = 0

    def connect(
        self, client: str, rack: str, broker_id: int, on_frame: Callable[[bytes], None], on_lost: Callable[[], None]
    ) -> ClientConnection:
        """A connection; that the broker does not run is heard of with the first frame.

        Args:
            on_frame: gets what the broker sends, in its order, as bytes in any cut.
            on_lost: called when it has ended, unless the client itself ended it.
        """
        connection = ClientConnection(self, client, rack, broker_id, on_frame, on_lost)
        self.connections[connection] = None
        return connection

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def is_silent(self, connection: ClientConnection) -> bool:
        return (connection.rack, connection.broker_id) in self.silent

    def arrival(self, connection: ClientConnection, not_before_ms: int) -> int:
        """When a frame that is sent now arrives."""
        rack = self.cluster.racks[connection.broker_id]
        least, most = SAME_RACK_MS if rack == connection.rack else OTHER_RACK_MS
        return max(self.scheduler.now_ms + self._rng.randint(least, most), not_before_ms)

    def freeze(self, client: str, ms: int) -> None:
        """Have a client do nothing for so long, or for longer if it is frozen already."""
        self.frozen[client] = max(self.frozen.get(client, 0), self.scheduler.now_ms + ms)

    def when_thawed(self, client: str, callback: Callable[[], None]) -> bool:
        """Have this called when a client thaws; False, and nothing, where it is not frozen."""
        thaws_ms = self.frozen.get(client, 0)
        if thaws_ms <= self.scheduler.now_ms:
            return False
        self.scheduler.call_at(thaws_ms, callback)
        return True

    def broker_gone(self, broker_id: int) -> None:
        """Break the connections of a broker."""
        self.break_where(lambda connection: connection.broker_id == broker_id)

    def break_where(self, is_meant: Callable[[ClientConnection], bool]) -> int:
        """Break connections; gives how many."""
        meant = [connection for connection in self.connections if is_meant(connection)]
        for connection in meant:
            connection.lose()
        return len(meant)
