"""Broker lifecycle: start and registration, stop, fencing, and links to the controller and other brokers.

Source: ClusterControlManager, BrokerHeartbeatManager, ReplicationControlManager.handleBrokerFenced, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.state.configs.loggers import BrokerLoggers
from mockbroker.state.errors import ApiError
from mockbroker.state.image import FENCED, UNFENCED
from mockbroker.state.replicas.network import CONTROLLER
from mockbroker.state.replicas.overrides import override
from mockbroker.state.security.protocols import SECURITY_PROTOCOLS
from mockbroker.state.timers import Timers
from protocol.embedded.metadata_brokers import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster


@dataclass(slots=True, eq=False)
class ClusterControl:
    """The commands on a cluster's brokers and their links."""

    cluster: Cluster
    _sessions: Timers[int] = field(init=False)  # of brokers that do not reach the controller
    fenced: set[int] = field(default_factory=set)  # by command: their heartbeats do not unfence them
    full_disks: set[int] = field(default_factory=set)  # brokers whose log directory has failed
    _unregistered: dict[int, int] = field(default_factory=dict)  # the last epoch of unregistered brokers

    def __post_init__(self) -> None:
        self._sessions = self.cluster.timers.subsystem("broker sessions", self._session_expired)

    def register(self, brokers: Iterable[Broker]) -> None:
        """Register and unfence brokers, each with a higher epoch than before."""
        registered = self.cluster.image.brokers
        for broker in brokers:
            known = registered.get(broker.id)
            last = self._unregistered.get(broker.id, -1) if known is None else known.broker_epoch
            self.cluster.writer.commit([registration(broker, last + 1)])
            broker.registration = registered[broker.id]
            if broker.id not in self.fenced:
                self.fence([broker.id], fenced=False)

    def fence(self, broker_ids: Iterable[int], *, fenced: bool) -> None:
        """Fence or unfence brokers."""
        registered, change = self.cluster.image.brokers, FENCED if fenced else UNFENCED
        self.cluster.writer.commit(
            BrokerRegistrationChangeRecord(broker_id=one, broker_epoch=registered[one].broker_epoch, fenced=change)
            for one in broker_ids
        )

    def stop(self, broker_id: int, now_ms: int) -> bool:
        """Stop a broker by a controlled shutdown: its partitions elect leaders at once.

        Returns False if it was down. Raises KeyError: no such broker.
        """
        broker = self._broker(broker_id, now_ms)
        if not broker.is_running:
            return False
        broker.is_running = False
        self._sessions.cancel(broker_id)
        if broker.online:
            self.fence([broker_id], fenced=True)
        self.cluster.support.broker_stopped(broker, now_ms)
        self._process_ended(broker)
        self.cluster.brokers_changed()
        return True

    def _process_ended(self, broker: Broker) -> None:
        """Discard the state of a broker's process: its producer ids, fetch sessions, levels and directories."""
        broker.loggers = BrokerLoggers()
        broker.chosen_dirs.clear()
        self.cluster.producers.forget_block(broker.id)
        self.cluster.fetch_sessions.pop(broker.id, None)
        for extension in self.cluster.extensions():
            extension.broker_stopped(broker.id)

    def crash(self, broker_id: int, now_ms: int) -> bool:
        """End a broker without notice; it is fenced when its session expires.

        Until then it remains the leader of its partitions, and in ISRs until it has lacked records for
        ``replica.lag.time.max.ms``. Returns False if it was down. Raises KeyError: no such broker.
        """
        broker = self._broker(broker_id, now_ms)
        if not broker.is_running:
            return False
        broker.is_running = False
        self.cluster.network.crashed.add(broker_id)
        self._process_ended(broker)
        if broker.online:
            self._sessions.set(broker_id, now_ms + self._session_timeout_ms())
        self.cluster.replication.refresh(self.cluster.partitions(), now_ms)
        self.cluster.changed()
        return True

    def start(self, broker_id: int, now_ms: int) -> bool:
        """Start a broker: it joins ISRs and leads its preferred partitions. Returns False if it was up.

        A broker that does not reach the controller remains fenced until it does.
        """
        broker = self._broker(broker_id, now_ms)
        if broker.is_running:
            return False
        if broker.online:  # crashed, and its session has not expired
            self._session_expired(broker_id, now_ms)
        if broker_id in self.cluster.network.crashed:
            self.cluster.replication_control.leaders.lose(broker_id)
        self._sessions.cancel(broker_id)
        self.fenced.discard(broker_id)
        self.cluster.network.crashed.discard(broker_id)
        broker.is_running = True
        if self.cluster.network.connects(broker_id, CONTROLLER):
            self.register([broker])
            self.cluster.support.broker_started(broker, now_ms)
        else:
            self.cluster.support.lost_controller(broker_id)
        self.cluster.brokers_changed()
        return True

    def fence_broker(self, broker_id: int, now_ms: int) -> bool:
        """Fence a running broker until ``unfence_broker`` or its next start.

        It leads no partition, is in no ISR, coordinates no group and is not in Metadata responses, but clients that
        know it still reach it, and it gets metadata updates. Returns False if it was fenced by command, or is down.

        Raises KeyError: no such broker. ValueError: ZooKeeper mode has no fencing.
        """
        self._only_in_kraft("brokers are fenced")
        broker = self._broker(broker_id, now_ms)
        if not broker.is_running or broker_id in self.fenced:
            return False
        self.fenced.add(broker_id)
        if broker.online:
            self._sessions.cancel(broker_id)
            self.fence([broker_id], fenced=True)
            self.cluster.brokers_changed()
        return True

    def unfence_broker(self, broker_id: int, now_ms: int) -> bool:
        """Unfence a broker that was fenced by command; returns False if it was not, or was unregistered since.

        Raises KeyError: no such broker.
        """
        broker = self._broker(broker_id, now_ms)
        if broker_id not in self.fenced:
            return False
        self.fenced.discard(broker_id)
        if broker.registration is None:
            return False
        if broker.is_running and self.cluster.network.connects(broker_id, CONTROLLER):
            self.fence([broker_id], fenced=False)
            self.cluster.brokers_changed()
        return True

    def set_disk(self, broker_id: int, now_ms: int, *, full: bool) -> bool:
        """Let the log directory of all of a broker's replicas fail, as a full disk does, or work again.

        The broker stays up, as if it had a second log directory, and returns KAFKA_STORAGE_ERROR for these partitions;
        their replicas are offline, and others lead. New partitions go to its other directory. A Kafka broker without
        another directory halts: for that, use ``crash``. Replicas catch up once the directory works; in Kafka this
        requires a restart.

        Returns False if nothing changes. Raises KeyError: no such broker. ValueError: in ZooKeeper mode.
        Source: LogManager.handleLogDirFailure, ReplicaManager.getPartitionOrError and
            ReplicationControlManager.handleDirectoriesOffline, Apache Kafka 4.4; KIP-858.
        """
        self._only_in_kraft("log directories fail")
        cluster = self.cluster
        self._broker(broker_id, now_ms)
        if (broker_id in self.full_disks) is full:
            return False
        self.full_disks ^= {broker_id}
        changed = []
        for partition in cluster.partitions():
            offline = partition.overrides.offline
            if broker_id in partition.replicas and (broker_id in offline) is not full:
                override(partition, offline=offline ^ {broker_id})
                changed.append(partition)
        cluster.replication.refresh(changed, now_ms)
        cluster.woken.extend(changed)
        cluster.replication_control.leaders.elect({partition.topic: None for partition in changed})
        cluster.changed()
        return True

    def unregister(self, broker_id: int, now_ms: int) -> None:
        """Unregister a broker: it is fenced, and gets no new replicas, until it starts again.

        Raises ApiError: BROKER_ID_NOT_REGISTERED. ValueError: in ZooKeeper mode.
        """
        self._only_in_kraft("brokers are unregistered")
        registered = self.cluster.image.brokers.get(broker_id)
        if registered is None:
            raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {broker_id} is not registered")
        self.cluster.now_ms = now_ms
        was_online = not registered.fenced
        if was_online:
            self._sessions.cancel(broker_id)
            self.fence([broker_id], fenced=True)
        self.cluster.writer.commit([UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=registered.broker_epoch)])
        broker = self.cluster.brokers.get(broker_id)
        if broker is not None:
            broker.registration = None
            self._unregistered[broker_id] = registered.broker_epoch
        self.cluster.brokers_changed()

    def register_again(self, now_ms: int) -> None:
        """Register running brokers again if their addresses have changed; in ZooKeeper mode register all of them,
        and elect a controller.

        Raises ValueError: a broker has listeners that its version does not support.
        """
        self.cluster.now_ms = now_ms
        registered = self.cluster.image.brokers
        online = self.cluster.liveness.online_brokers
        self.register(one for one in online if registered[one.id].end_points != end_points(one))
        self.cluster.support = self.cluster.support.restarted()
        for broker in online:
            self.cluster.support.broker_started(broker, now_ms)
        self.cluster.support.brokers_changed()

    # links

    def cut_link(self, node: int, other: int, now_ms: int) -> None:
        """Cut the link between two nodes, broker ids or ``CONTROLLER``; both stay up.

        A follower that does not reach its leader stops at its log end offset, and leaves the ISR once it has lacked
        records for ``replica.lag.time.max.ms``. A broker that does not reach the controller gets no updates, and is
        fenced after ``broker.session.timeout.ms``, in ZooKeeper mode ``zookeeper.session.timeout.ms``.
        """
        self._check_link(node, other)
        self._cut([(node, other)], now_ms)

    def restore_link(self, node: int, other: int, now_ms: int) -> None:
        """Restore the link between two nodes: followers catch up, and a broker gets missed updates."""
        self._check_link(node, other)
        self.cluster.network.restore(node, other)
        self._restored({node, other}, now_ms)

    def isolate(self, broker_id: int, now_ms: int) -> None:
        """Cut a broker's links to all others and to the controller. Clients still reach it. Raises KeyError."""
        broker = self.cluster.liveness.broker(broker_id)
        self._cut([(broker.id, other) for other in (*self.cluster.brokers, CONTROLLER) if other != broker.id], now_ms)

    def set_follower_lag(self, broker_id: int, records: int, now_ms: int | None = None) -> None:
        """Let the followers on a broker lag this many records behind their leaders; 0 ends it.

        Their own readers see that many records less. While they are in sync, the high watermark and any Produce with
        acks=all wait for them, until they leave the ISR after ``replica.lag.time.max.ms``.

        Raises KeyError: no such broker. ValueError: a lag below 0.
        """
        cluster = self.cluster
        if records < 0:
            raise ValueError(f"a lag of {records} records, but 0 is the least")
        if now_ms is not None:
            cluster.now_ms = now_ms
        cluster.liveness.broker(broker_id)
        cluster.replication.lags[broker_id] = records
        partitions = [partition for partition in cluster.partitions() if broker_id in partition.replicas]
        cluster.replication.refresh(partitions, cluster.now_ms)
        cluster.woken.extend(partitions)
        cluster.replication_control.leaders.elect(cluster.topics.values())

    def rejoin(self, broker_id: int, now_ms: int) -> None:
        """Restore every link of a broker. Raises KeyError."""
        self.cluster.network.restore_all(self.cluster.liveness.broker(broker_id).id)
        self._restored({broker_id, CONTROLLER}, now_ms)

    def _broker(self, broker_id: int, now_ms: int) -> Broker:
        """The broker of a command at this time. Raises KeyError: no such broker."""
        self.cluster.now_ms = now_ms
        return self.cluster.liveness.broker(broker_id)

    def _only_in_kraft(self, what: str) -> None:
        if not self.cluster.support.is_kraft:
            raise ValueError(f"{what} in KRaft mode only, and this cluster is in {self.cluster.support.name} mode")

    def _check_link(self, node: int, other: int) -> None:
        """Raises KeyError: no such broker. ValueError: both nodes are the same."""
        for one in (node, other):
            if one != CONTROLLER:
                self.cluster.liveness.broker(one)
        if node == other:
            raise ValueError(f"expected two nodes for a link, got {node} twice")

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

    def _restored(self, nodes: set[int], now_ms: int) -> None:
        self.cluster.now_ms = now_ms
        broker = self.cluster.brokers.get(max(nodes))
        if CONTROLLER in nodes and broker is not None and broker.is_running:
            self._sessions.cancel(broker.id)
            if not broker.online:
                self.register([broker])
            self.cluster.support.found_controller(broker, now_ms)
        self.cluster.brokers_changed()

    def _session_expired(self, broker_id: int, now_ms: int) -> None:
        """Fence a broker whose session has expired; clients still reach it."""
        self.cluster.support.session_expired(broker_id)
        self.fence([broker_id], fenced=True)
        self.cluster.brokers_changed()

    def _session_timeout_ms(self) -> int:
        return int(self.cluster.settings[self.cluster.support.session_timeout])


def registration(broker: Broker, epoch: int) -> RegisterBrokerRecord:
    """The registration of a broker that starts, fenced. Its incarnation id is made of epoch and broker id."""
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=epoch.to_bytes(8) + broker.id.to_bytes(8),
        broker_epoch=epoch,
        end_points=end_points(broker),
        rack=broker.rack,
        fenced=True,
    )


def end_points(broker: Broker) -> list[RegisterBrokerRecord.Endpoint]:
    """The listeners of a broker in its registration."""
    return [
        RegisterBrokerRecord.Endpoint(
            name=one.name, host=one.host, port=one.port, security_protocol=SECURITY_PROTOCOLS[one.protocol]
        )
        for one in broker.listeners
    ]
