"""The engine of a cluster: takes frames and the time, returns outcomes.

No asyncio, no sockets, no clock. The caller passes the time with every call, and calls ``advance`` when
``next_deadline_ms`` is reached.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.api import served_versions
from mockbroker.core.path import CallPath
from mockbroker.session import Session
from mockbroker.state.brokers.broker import DEFAULT_LISTENER, Broker
from mockbroker.state.cluster import Cluster

if TYPE_CHECKING:
    from kafka_rack.locality.rack_rules import RackRules
    from mockbroker.state.restart import ClusterSnapshot


class Origin(NamedTuple):
    """The start of a cluster: its state, and the state of the random generator of members' ids."""

    snapshot: ClusterSnapshot
    rng_state: Any


class Engine:
    """One running cluster. ``path`` processes its calls; ``entropy`` returns unpredictable bytes.

    ``client_racks`` is a racks file, for clients that connect later and name no rack.
    """

    def __init__(self, path: CallPath, entropy: Callable[[int], bytes] | None = None) -> None:
        self.path = path
        self.entropy = entropy or Random(0).randbytes
        self.client_racks: RackRules | None = None

    def session(
        self,
        broker: Broker,
        *,
        address: str = "",
        connection: int = 0,
        listener: str = DEFAULT_LISTENER,
        listener_rack: str | None = None,
        principal: str | None = None,
    ) -> Session:
        """The session of a connection that a broker has accepted; ``principal`` is that of the client's certificate."""
        served = served_versions(self.cluster, broker.id)
        racks = self.cluster.liveness.known_racks
        place = self.cluster.diskless.place(address, listener_rack)
        session = self.path.session_type(
            broker, address, connection, listener, place, served, racks=racks, client_racks=self.client_racks
        )
        session.authenticator = self.cluster.security.authenticator(
            self.cluster, broker.listener(listener), self.entropy
        )
        if principal is not None:
            session.authenticated(principal)
        return session

    @property
    def cluster(self) -> Cluster:
        """The cluster; a reset replaces it, so do not store it."""
        return self.path.cluster

    def origin(self) -> Origin:
        """The cluster's current state, from which others can start."""
        from mockbroker.state.restart import snapshot_of

        return Origin(snapshot_of(self.cluster), self.path.rng.getstate())

    def begin_with(self, origin: Origin, now_ms: int) -> None:
        """Replace the cluster by a new one that starts from ``origin``; no call may wait."""
        self.path.begin_with(self.cluster.replaced(origin.snapshot, now_ms))
        self.path.rng.setstate(origin.rng_state)

    def advance(self, now_ms: int) -> None:
        """Advance the time to ``now_ms``: run due timers, and continue calls that waited for them."""
        self.cluster.tick(now_ms)
        self.path.purgatory.advance(now_ms)

    def wake(self, now_ms: int) -> None:
        """Continue the calls whose keys were notified outside of a call, as by a command."""
        self.path.purgatory.wake(now_ms)

    def finish(self, now_ms: int) -> None:
        """The cluster is about to end: answer waiting and later reads at once, with the records that exist."""
        self.cluster.is_ending = True
        self.path.purgatory.look_again(now_ms)

    def next_deadline_ms(self) -> int | None:
        """The time at which ``advance`` must run next; None if nothing waits for a time."""
        deadlines = (self.path.purgatory.next_deadline_ms(), self.cluster.timers.next_ms())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    @property
    def parked_calls(self) -> int:
        """The number of waiting calls."""
        return len(self.path.purgatory.parked)
