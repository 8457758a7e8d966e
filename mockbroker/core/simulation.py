"""A cluster without sockets or a clock: requests go straight into the engine, and only calls advance the time.

>>> from mockbroker.core.simulation import Simulation
>>> sim = Simulation(racks="a,b,c")
>>> sim.cluster.cluster_control.stop(1, sim.now_ms)
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from mockbroker.call import Call, Ending, Outcome
from mockbroker.core.commands import Result, StateCommands
from mockbroker.core.engine import Engine, Origin
from mockbroker.core.journal import Journal
from mockbroker.core.path import CallPath
from mockbroker.core.traffic import Traffic
from mockbroker.state.brokers.broker import DEFAULT_LISTENER, Broker, Listener
from mockbroker.state.cluster import Cluster
from protocol.headers import read_response, request_frame

if TYPE_CHECKING:
    from mockbroker.core.faults.faults import Faults
    from mockbroker.state.image import RecordLog


class ConnectionClosedError(Exception):
    """The cluster closed the connection instead of answering; the text says why."""


class Simulation(StateCommands):
    """Brokers 0, 1, ... on these racks, at time 0; only ``advance`` moves time.

    Requests pass as frames through the path of real clients' requests, each on its own connection. ``send`` returns a
    ticket. ``replies[ticket]`` is the decoded answer once it exists, None if the protocol has none; ``calls[ticket]``
    is the call. ``send`` and ``advance`` raise exceptions of our own code, and ConnectionClosedError if the connection
    was closed instead of an answer.
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
        cluster = Cluster.create(brokers, settings=settings, seed=seed, release=release, record_log=record_log)
        self.engine = Engine(CallPath(cluster, Random(seed)))
        self.journal, self.traffic = Journal(), Traffic()
        self.engine.path.observers += [self.journal, self.traffic]
        self.now_ms = 0
        self.replies: dict[int, Any] = {}
        self.calls: dict[int, Call] = {}
        self.next_ticket = 1
        self._seed = seed
        self._faults: Faults | None = None
        self._waiting: dict[int, Call] = {}
        self._failures: list[Exception] = []
        self._origin = self.engine.origin()

    @property
    def cluster(self) -> Cluster:
        """The cluster; a reset replaces it."""
        return self.engine.cluster

    @property
    def faults(self) -> Faults:
        """The faults; new ones take effect at ``now_ms``."""
        if self._faults is None:
            from mockbroker.core.faults.faults import Faults

            self._faults = Faults(self.engine.path, self._seed, lambda: self.now_ms, self._run_due)
        return self._faults

    def send(
        self,
        request: Any,
        *,
        version: int | None = None,
        broker: int = 0,
        client_id: str | None = "test",
        address: str = "127.0.0.1",
        listener_rack: str | None = None,
        listener: str = DEFAULT_LISTENER,
        may_close: bool = False,
    ) -> int:
        """Send a request to a broker, by default in its newest version; returns the ticket of its answer.

        With ``may_close`` the answer is None if the connection is closed instead.
        """
        ticket = self.next_ticket
        self.next_ticket += 1
        if version is None:
            version = type(request).stable_versions.highest
        frame = request_frame(request, version, correlation_id=ticket, client_id=client_id)
        session = self.engine.session(
            self.cluster.brokers[broker],
            address=address,
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
        """Stop a broker; its connections end and its waiting calls are dropped. False if it was down."""
        return self._end_broker(self.cluster.cluster_control.stop, broker_id)

    def crash_broker(self, broker_id: int) -> bool:
        """The same, without a controlled shutdown."""
        return self._end_broker(self.cluster.cluster_control.crash, broker_id)

    def start_broker(self, broker_id: int) -> bool:
        """Start a broker. False if it was up."""
        return self._change(lambda state, now_ms: state.cluster_control.start(broker_id, now_ms))

    def restart_broker(self, broker_id: int) -> bool:
        """Stop a broker, if it is up, and start it. Returns True if it was up."""
        was_up = self.stop_broker(broker_id)
        self.start_broker(broker_id)
        return was_up

    def stop_rack(self, rack: str) -> list[int]:
        """Stop every broker of a rack; returns the ids of those that were up."""
        return [broker.id for broker in self.cluster.liveness.brokers_in(rack) if self.stop_broker(broker.id)]

    def start_rack(self, rack: str) -> list[int]:
        """Start every broker of a rack; returns the ids of those that were down."""
        return [broker.id for broker in self.cluster.liveness.brokers_in(rack) if self.start_broker(broker.id)]

    def restart_rack(self, rack: str) -> list[int]:
        """Stop every broker of a rack that is up, then start all; returns the ids of those that were up."""
        stopped = self.stop_rack(rack)
        self.start_rack(rack)
        return stopped

    def _change(self, command: Callable[[Cluster, int], Result]) -> Result:
        self.cluster.now_ms = self.now_ms
        result = command(self.cluster, self.now_ms)
        self.engine.wake(self.now_ms)
        self._raise_failures()
        return result

    def fork(self) -> Simulation:
        """A new simulation with the cluster's current topics, records, committed offsets and configs, at the same time.
        All brokers are up, groups have no members, and no call waits.
        """
        racks = ",".join(broker.rack or "" for broker in self.cluster.brokers.values())
        fork = Simulation(racks, seed=self._seed, settings=self.cluster.settings, release=self.cluster.release)
        fork.now_ms = self.now_ms
        if self.journal.history is not None:
            fork.journal.watch_history()
        fork._begin_with(self.engine.origin())
        return fork

    def reset(self) -> None:
        """Restore the cluster's first state, without waiting calls; time and tickets continue."""
        for call in list(self._waiting.values()):
            self.engine.path.drop(call, self.now_ms)
        if self._faults is not None:
            self._faults.clear()
        self._begin_with(self._origin)
        self.journal.clear()
        self.traffic.clear()

    def _begin_with(self, origin: Origin) -> None:
        self._origin = origin
        self.engine.begin_with(origin, self.now_ms)

    def _end_broker(self, end: Callable[[int, int], bool], broker_id: int) -> bool:
        was_up = end(broker_id, self.now_ms)
        for call in list(self._waiting.values()):
            if call.broker.id == broker_id:
                self.engine.path.drop(call, self.now_ms)
        self.engine.wake(self.now_ms)
        self._raise_failures()
        return was_up

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
        """Send a request that is answered at once, and return its answer."""
        ticket = self.send(request, **where)
        assert ticket in self.replies, f"{type(request).__name__} waits"
        return self.replies[ticket]

    def tell(self, *broker_ids: int) -> Sequence[Any]:
        """Deliver the updates of ZooKeeper mode's controller to these brokers, or to all; returns all of them.

        Updates for other brokers are lost.
        """
        updates = self.cluster.take_updates()
        for update in updates:
            if not broker_ids or update.broker_id in broker_ids:
                where = {"version": update.version, "broker": update.broker_id}
                self.ask(update.request(), client_id=str(update.controller_id), **where)
        return updates

    def advance(self, ms: int) -> None:
        """Advance the time, stopping at each deadline."""
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

    def _run_due(self) -> None:
        """Continue the calls that a new or removed fault has woken; connections that it cut are not failures."""
        self.engine.advance(self.now_ms)
        self._failures = [one for one in self._failures if not isinstance(one, ConnectionClosedError)]

    def _raise_failures(self) -> None:
        if self._failures:
            raise self._failures.pop(0)
