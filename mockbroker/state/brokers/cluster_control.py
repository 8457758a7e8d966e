"""Brokers' lives: they start and register, stop, lose the controller and find it again.

Source: ClusterControlManager and BrokerHeartbeatManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.state.replicas.network import CONTROLLER
from mockbroker.state.timers import Timers

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster


@dataclass(slots=True, eq=False)
class ClusterControl:
    """The commands on a cluster's brokers and on the links between them."""

    cluster: Cluster
    _sessions: Timers[int] = field(init=False)  # of brokers that do not reach the controller

    def __post_init__(self) -> None:
        self._sessions = self.cluster.timers.subsystem("broker sessions", self._session_expired)

    def register(self, brokers: Iterable[Broker]) -> None:
        """Have brokers begin a life, each in an epoch above its last, and serve."""
        from mockbroker.state.brokers.records import registration

        registered = self.cluster.image.brokers
        for broker in brokers:
            epoch = registered[broker.id].epoch + 1 if broker.id in registered else 0
            self.cluster.writer.commit([registration(broker, epoch)])
            broker.registration = registered[broker.id]
            self.fence([broker.id], fenced=False)

    def fence(self, broker_ids: Iterable[int], *, fenced: bool) -> None:
        """Have brokers serve no longer, or from now on."""
        from mockbroker.state.brokers.records import fencing

        self.cluster.writer.commit(
            [fencing(self.cluster.image.brokers[broker_id], fenced=fenced) for broker_id in broker_ids]
        )

    def stop(self, broker_id: int, now_ms: int) -> bool:
        """Take a broker out of the cluster, as a controlled shutdown does: its partitions elect leaders at once.

        Gives False if it was down. Raises KeyError: no such broker.
        """
        broker = self.cluster.brokers[broker_id]
        if not broker.is_running:
            return False
        self.cluster.now_ms = now_ms
        broker.is_running = False
        self._sessions.cancel(broker_id)
        if broker.online:
            self.fence([broker_id], fenced=True)
        self.cluster.support.broker_stopped(broker, now_ms)
        self.cluster.fetch_sessions.pop(broker_id, None)
        self.cluster.producers.forget_block(broker_id)
        self.cluster.brokers_changed()
        if self.cluster.has_groups:
            coordinators = self.cluster.liveness.coordinators
            self.cluster.groups.restart_sessions([key for key, at in coordinators.items() if at == broker_id], now_ms)
        return True

    def crash(self, broker_id: int, now_ms: int) -> bool:
        """End a broker without a word to anybody; it counts as gone once its session has expired.

        Until then it stays the leader of what it leads, and in the ISRs where it lacks records for less than
        ``replica.lag.time.max.ms``. Gives False if it was down. Raises KeyError: no such broker.
        """
        broker = self.cluster.brokers[broker_id]
        if not broker.is_running:
            return False
        self.cluster.now_ms = now_ms
        broker.is_running = False
        self.cluster.network.crash(broker_id)
        self.cluster.fetch_sessions.pop(broker_id, None)
        self.cluster.producers.forget_block(broker_id)
        if broker.online:
            self._sessions.set(broker_id, now_ms + self._session_timeout_ms())
        self.cluster.replication.refresh(self.cluster.partitions(), now_ms)
        self.cluster.changed()
        return True

    def start(self, broker_id: int, now_ms: int) -> bool:
        """Bring a broker back: it rejoins ISRs and leads what it is the preferred leader of. False if it was up.

        One that does not reach the controller stays fenced until it does.
        """
        broker = self.cluster.brokers[broker_id]
        if broker.is_running:
            return False
        self.cluster.now_ms = now_ms
        if broker.online:  # it crashed, and its session has not expired
            self._session_expired(broker_id, now_ms)
        self._sessions.cancel(broker_id)
        self.cluster.network.revive(broker_id)
        first = not self.cluster.online_brokers()
        broker.is_running = True
        if self.cluster.network.connects(broker_id, CONTROLLER):
            self.register([broker])
            self.cluster.support.broker_started(broker, now_ms)
        else:
            self.cluster.support.lost_controller(broker_id)
        self.cluster.brokers_changed()
        if first and self.cluster.has_groups:
            self.cluster.groups.restart_sessions(self.cluster.liveness.coordinators, now_ms)
        return True

    def register_anew(self, now_ms: int) -> None:
        """Have the brokers that are up register anew where their addresses have changed; in ZooKeeper mode all of them,
        and elect a controller.

        Raises ValueError: a broker has listeners that its version has no names for.
        """
        self.cluster.now_ms = now_ms
        self.register(broker for broker in self.cluster.online_brokers() if broker.has_moved())
        self.cluster.support = self.cluster.support.restarted()
        for broker in self.cluster.online_brokers():
            self.cluster.support.broker_started(broker, now_ms)
        self.cluster.support.brokers_changed(self.cluster.topics)

    # links

    def cut_link(self, node: int, other: int, now_ms: int) -> None:
        """Have two nodes, broker ids or ``CONTROLLER``, no longer reach each other, though both are up.

        A follower that does not reach its leader stays where it is, and falls out of the ISR once it has lacked
        records for ``replica.lag.time.max.ms``. A broker that does not reach the controller hears of no change, and
        counts as gone after ``broker.session.timeout.ms``, in ZooKeeper mode ``zookeeper.session.timeout.ms``.
        """
        self._cut([(node, other)], now_ms)

    def mend_link(self, node: int, other: int, now_ms: int) -> None:
        """Have two nodes reach each other again: followers catch up, and a broker hears of all that has changed."""
        self.cluster.network.mend(node, other)
        self._mended({node, other}, now_ms)

    def isolate(self, broker_id: int, now_ms: int) -> None:
        """Cut a broker off from every other and from the controller. Clients still reach it. Raises KeyError."""
        broker = self.cluster.brokers[broker_id]
        self._cut([(broker.id, other) for other in (*self.cluster.brokers, CONTROLLER) if other != broker.id], now_ms)

    def rejoin(self, broker_id: int, now_ms: int) -> None:
        """Mend every link of a broker. Raises KeyError."""
        self.cluster.network.mend_all(self.cluster.brokers[broker_id].id)
        self._mended({broker_id, CONTROLLER}, now_ms)

    def _cut(self, links: Iterable[tuple[int, int]], now_ms: int) -> None:
        self.cluster.now_ms = now_ms
        for node, other in links:
            if not self.cluster.network.connects(node, other):
                continue
            self.cluster.network.cut(node, other)
            broker = self.cluster.brokers.get(max(node, other))
            if CONTROLLER in (node, other) and broker is not None and broker.online:
                self.cluster.support.lost_controller(broker.id)
                self._sessions.set(broker.id, now_ms + self._session_timeout_ms())
        self.cluster.replication.refresh(self.cluster.partitions(), now_ms)
        self.cluster.changed()

    def _mended(self, nodes: set[int], now_ms: int) -> None:
        self.cluster.now_ms = now_ms
        broker = self.cluster.brokers.get(max(nodes))
        if CONTROLLER in nodes and broker is not None and broker.is_running:
            self._sessions.cancel(broker.id)
            if not broker.online:
                self.register([broker])
            self.cluster.support.found_controller(broker, now_ms)
        self.cluster.replication.refresh(self.cluster.partitions(), now_ms)
        self.cluster.brokers_changed()

    def _session_expired(self, broker_id: int, now_ms: int) -> None:
        """A broker has not been heard of for too long: it is fenced, though its clients still reach it."""
        self.cluster.now_ms = now_ms
        self.cluster.support.session_expired(broker_id, now_ms)
        self.fence([broker_id], fenced=True)
        self.cluster.brokers_changed()

    def _session_timeout_ms(self) -> int:
        name = "broker.session.timeout.ms" if self.cluster.support.is_kraft else "zookeeper.session.timeout.ms"
        return int(self.cluster.settings[name])
