"""A cluster without sockets or a clock: requests go straight into the engine, and time moves only when told.

>>> from mockbroker.core.simulation import Simulation
>>> sim = Simulation(racks="a,b,c")
>>> sim.cluster.stop_broker(1, sim.now_ms)
True
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from mockbroker.call import Call
from mockbroker.core.engine import Engine
from mockbroker.core.outcome import Ending, Outcome
from mockbroker.state.brokers.broker import DEFAULT_LISTENER, Broker, Listener
from mockbroker.state.cluster import Cluster
from mockbroker.state.zookeeper.controller import MetadataUpdate
from protocol.headers import read_response, request_frame

if TYPE_CHECKING:
    from mockbroker.state.image.record_log import RecordLog


class ConnectionClosedError(Exception):
    """The cluster closed the connection in place of an answer; the text says why."""


class Simulation:
    """Brokers 0, 1, ... on the racks given, at time 0; only ``advance`` moves time.

    Requests go as frames along the path that those of real clients take, each on a connection of its own. ``send``
    gives a ticket. ``replies[ticket]`` is its answer once there is one, read from its frame, None where the protocol
    has none; ``calls[ticket]`` is the call. ``send`` and ``advance`` raise what our own code raised, and
    ConnectionClosedError where the connection was closed in place of an answer.
    """

    def __init__(
        self,
        racks: str = "a,b,c",
        *,
        seed: int = 0,
        settings: Mapping[str, Any] | None = None,
        release: str | None = None,
        record_log: RecordLog | None = None,
    ) -> None:
        names = racks.split(",")
        brokers = [Broker(index, rack or None, [Listener(port=9092 + index)]) for index, rack in enumerate(names)]
        self.cluster = Cluster.create(brokers, settings=settings, seed=seed, release=release, record_log=record_log)
        self.engine = Engine(self.cluster, Random(seed))
        self.now_ms = 0
        self.replies: dict[int, Any] = {}
        self.calls: dict[int, Call] = {}
        self.next_ticket = 1
        self._waiting: dict[int, Call] = {}
        self._failures: list[Exception] = []

    def send(
        self,
        request: Any,
        *,
        version: int | None = None,
        broker: int = 0,
        client_id: str | None = "test",
        listener_rack: str | None = None,
        listener: str = DEFAULT_LISTENER,
        may_close: bool = False,
    ) -> int:
        """Hand a request to a broker, in its newest version unless told; gives the ticket of its answer.

        With ``may_close`` a connection that is closed in place of an answer counts as None for an answer.
        """
        ticket = self.next_ticket
        self.next_ticket += 1
        if version is None:
            version = type(request).valid_versions.highest
        frame = request_frame(request, version, correlation_id=ticket, client_id=client_id)
        session = self.engine.session(
            self.cluster.brokers[broker],
            address="127.0.0.1",
            connection=ticket,
            listener=listener,
            listener_rack=listener_rack,
        )
        waiting = self.engine.path.take(frame[4:], session, self.now_ms, self._finish)
        if waiting is not None:
            self._waiting[ticket] = waiting
        if may_close:
            self._failures = [one for one in self._failures if not isinstance(one, ConnectionClosedError)]
        self._raise_failures()
        return ticket

    def stop_broker(self, broker_id: int) -> bool:
        """Stop a broker, whose connections end: what waited there is dropped. False if it was down."""
        was_up = self.cluster.stop_broker(broker_id, self.now_ms)
        self._end_connections(broker_id)
        return was_up

    def crash_broker(self, broker_id: int) -> bool:
        """The same for a broker that ends without a word to the others."""
        was_up = self.cluster.crash_broker(broker_id, self.now_ms)
        self._end_connections(broker_id)
        return was_up

    def _end_connections(self, broker_id: int) -> None:
        for call in list(self._waiting.values()):
            if call.broker.id == broker_id:
                self.engine.path.drop(call, self.now_ms)
        self.engine.wake(self.now_ms)
        self._raise_failures()

    def _finish(self, outcome: Outcome) -> None:
        call = outcome.call
        ticket = call.session.connection
        self.calls[ticket] = call
        self._waiting.pop(ticket, None)
        if outcome.error is not None:
            self._failures.append(outcome.error)
        elif outcome.ending is Ending.CLOSED:
            self.replies[ticket] = None
            self._failures.append(ConnectionClosedError(outcome.reason))
        elif outcome.output:
            _, self.replies[ticket] = read_response(b"".join(outcome.output)[4:], call.api_key, call.version)
        else:
            self.replies[ticket] = None

    def ask(self, request: Any, **where: Any) -> Any:
        """Send a request that is answered at once, and give its answer."""
        ticket = self.send(request, **where)
        assert ticket in self.replies, f"{type(request).__name__} waits"
        return self.replies[ticket]

    def tell(self, *broker_ids: int) -> list[MetadataUpdate]:
        """Carry what the controller in ZooKeeper mode has to say to these brokers, or to all; gives all there was.

        What is for others is lost.
        """
        from mockbroker.handlers.update_metadata import request_of

        updates = self.cluster.take_updates()
        for update in updates:
            if not broker_ids or update.broker_id in broker_ids:
                message = request_of(update)
                self.ask(message, version=update.version, broker=update.broker_id, client_id=str(update.controller_id))
        return updates

    def advance(self, ms: int) -> None:
        """Let time pass, stopping at each deadline on the way."""
        until_ms = self.now_ms + ms
        while True:
            deadline = self.engine.next_deadline_ms()
            if deadline is None or deadline > until_ms:
                break
            self.now_ms = max(self.now_ms, deadline)
            self.engine.advance(self.now_ms)
        self.now_ms = until_ms
        self.engine.advance(self.now_ms)
        self._raise_failures()

    def _raise_failures(self) -> None:
        if self._failures:
            raise self._failures.pop(0)
