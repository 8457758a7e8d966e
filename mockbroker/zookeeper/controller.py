"""ZooKeeper mode: elects the controller, and decides which updates it sends to which broker.

Brokers register as JSON under ``/brokers/ids``. The first that can becomes the controller and reads the registrations.
It sends each live broker the live brokers and the partition leaders, which is all that brokers report to clients.
``take_updates`` returns the updates to send; the caller sends them.

Left out: LeaderAndIsr and StopReplica, because brokers read leaders and ISRs from the cluster at once, even while cut
off. A broker that stops is unregistered at once; one that is cut off stays registered until its session expires.
Source: KIP-36; KafkaController and ControllerBrokerRequestBatch, Kafka 0.9 to 3.9.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import msgspec

from kafka_rack.broker_registration import SECURITY_PROTOCOL, read_broker, write_broker
from kafka_rack.errors import KafkaRackError, UnreadableRegistrationError
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.metadata import (
    DELETED,
    NO_CONTROLLER,
    Address,
    CachedBroker,
    MetadataCache,
    MetadataSupport,
    PartitionState,
    TopicPartitionState,
)
from mockbroker.state.releases import Version
from mockbroker.state.security.protocols import ANONYMOUS, PLAINTEXT
from mockbroker.state.settings import PROTOCOL_SETTING
from mockbroker.zookeeper.releases import (
    ROLES_SETTING,
    ZOOKEEPER_SETTING,
    BrokerSoftware,
    is_zookeeper,
    software_of,
)
from mockbroker.zookeeper.update_metadata import MetadataUpdate

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.settings import KafkaSettings
    from mockbroker.state.topics.topic import Topic

ISR_WITHOUT_LEADER = "2.4"
"""The release since which a partition without a leader shows its ISR."""
KNOWS_RACKS = "0.10.0"
"""The release since which brokers place replicas across racks (KIP-36)."""
MAX_DELIVERIES = 10_000
BROKER_IDS = "/brokers/ids"
"""The node of ZooKeeper with the brokers' registrations."""
NOT_REGISTERED = -1

TAKEN, STALE, REFUSED, UNREACHABLE = "taken", "stale", "refused", "unreachable"
"""Outcomes of an update: the broker took it, knows a newer controller, closed the connection, or was unreachable."""

States = dict[tuple[str, int], TopicPartitionState]
"""By topic and partition."""


class Registration(NamedTuple):
    """A broker's registration: its JSON, and the zxid of its node, which is the broker's epoch."""

    data: bytes
    epoch: int


class UpdateDelivery(msgspec.Struct):
    """An UpdateMetadata that was sent: ``outcome`` is taken, stale, refused or unreachable; once for each attempt."""

    version: int
    controller: int
    outcome: str


@dataclass(slots=True, eq=False)
class ZooKeeperMode(MetadataSupport):
    """A cluster's registrations and controller, and the software and metadata cache of each broker.

    ``registrations`` are those in ZooKeeper, by broker, sorted; ``live`` those that the controller has read.
    ``problem`` says why the controller could not read the registrations, None if it could; it then continues with the
    brokers that it knew, as Kafka 0.9.0.0 does.
    """

    forwards: ClassVar[bool] = False
    is_kraft: ClassVar[bool] = False
    name: ClassVar[str] = "ZooKeeper"
    session_timeout: ClassVar[str] = "zookeeper.session.timeout.ms"
    configured: dict[int, BrokerSoftware]
    """The software of each broker from its next start on."""
    running: dict[int, BrokerSoftware] = field(init=False)
    registrations: dict[int, Registration] = field(default_factory=dict)
    caches: dict[int, MetadataCache] = field(default_factory=dict)
    controller_id: int = NO_CONTROLLER
    controller_epoch: int = 0
    live: dict[int, CachedBroker] = field(default_factory=dict)
    problem: str | None = None
    deliveries: deque[tuple[int, UpdateDelivery]] = field(default_factory=lambda: deque(maxlen=MAX_DELIVERIES))
    """The last updates that were sent, each with its broker."""
    _states: States = field(default_factory=dict)
    _sent: dict[int, tuple[int, tuple[CachedBroker, ...], States]] = field(default_factory=dict)
    """The epoch of each live broker, and the brokers and partitions that the controller has sent it."""
    _cut_off: set[int] = field(default_factory=set)  # brokers that the controller cannot reach
    _propagated_version: int = -1
    _zxid: int = 0

    def __post_init__(self) -> None:
        self.running = dict(self.configured)

    def restarted(self) -> MetadataSupport:
        return ZooKeeperMode(self.configured)

    def served_versions(self, broker_id: int) -> dict[int, tuple[int, int]]:
        return self.running[broker_id].served

    def view(self, broker_id: int) -> MetadataCache:
        return self.caches[broker_id]

    def check(self, cluster: Cluster) -> None:
        """Raises ValueError unless brokers accept the controller's requests, which come without a login."""
        from mockbroker.state.security.access import access_of
        from mockbroker.state.security.operations import Operation

        if not access_of(cluster, ANONYMOUS, "127.0.0.1").may_cluster(Operation.CLUSTER_ACTION):
            raise ValueError(
                f"authorizer.class.name in ZooKeeper mode: expected {ANONYMOUS}, who the controller is to the brokers, "
                f"among super.users, got {cluster.settings['super.users']!r}"
            )
        for broker in cluster.brokers.values():
            for listener in broker.listeners:
                if listener.protocol != PLAINTEXT:
                    raise ValueError(
                        f"listener {listener.name}: expected {PLAINTEXT}, the one security protocol in ZooKeeper mode, "
                        f"got {listener.protocol}"
                    )

    # events of brokers

    def broker_started(self, broker: Broker, now_ms: int) -> None:
        """Register a broker that starts, with an empty metadata cache."""
        self._register(broker, now_ms)
        shows_isr = self.running[broker.id].since(ISR_WITHOUT_LEADER)
        self.caches[broker.id] = MetadataCache(shows_isr_without_leader=shows_isr)

    def _register(self, broker: Broker, now_ms: int) -> None:
        """Write a broker's registration, in the JSON version of its protocol."""
        software = self.running[broker.id]
        check_listeners(broker, software)
        listeners = [(listener.name, listener.host, listener.port) for listener in broker.listeners]
        try:
            data = write_broker(listeners, broker.rack, version=software.registration_version, timestamp_ms=now_ms)
        except KafkaRackError as error:
            raise ValueError(f"broker {broker.id} cannot register: {error}") from None
        self._zxid += 1
        registrations = self.registrations | {broker.id: Registration(data, self._zxid)}
        self.registrations = dict(sorted(registrations.items()))
        self._cut_off.discard(broker.id)

    def broker_stopped(self, broker: Broker, now_ms: int) -> None:
        """Unregister a stopped broker; ``brokers_changed`` elects the next controller."""
        self.caches[broker.id] = MetadataCache()
        self.running[broker.id] = self.configured[broker.id]
        self._cut_off.discard(broker.id)
        self.session_expired(broker.id)

    def lost_controller(self, broker_id: int) -> None:
        """Stop updates to a broker; its session lasts until ``session_expired``.

        If it is the controller, it stops all updates, and catches up if it reconnects in time.
        """
        self._cut_off.add(broker_id)

    def session_expired(self, broker_id: int) -> None:
        """Unregister a broker; its metadata cache is unchanged."""
        self.registrations.pop(broker_id, None)
        if broker_id == self.controller_id:
            self.controller_id = NO_CONTROLLER

    def found_controller(self, broker: Broker, now_ms: int) -> None:
        """Send the broker updates again; registers it again if its session has expired."""
        if broker.id in self._cut_off and broker.id not in self.registrations:
            self._register(broker, now_ms)
        self._cut_off.discard(broker.id)

    def configure(self, broker_id: int, release: str | None, protocol: str | None) -> BrokerSoftware:
        """Change a broker's software from its next start on; None leaves a value unchanged.

        Raises ValueError: an unknown version, or a protocol that the release does not know.
        """
        now = self.configured[broker_id]
        changed = software_of(release or now.release.text, protocol or now.protocol.text)
        self.configured[broker_id] = changed
        if broker_id not in self.registrations:
            self.running[broker_id] = changed
        return changed

    def broker_epoch(self, broker_id: int) -> int:
        """The zxid of a broker's registration, -1 if it is not registered."""
        registration = self.registrations.get(broker_id)
        return NOT_REGISTERED if registration is None else registration.epoch

    # the controller

    def brokers_changed(self) -> None:
        """Elect a controller if there is none, else let it read the changed registrations.

        The first registered broker that reaches ZooKeeper and can read all registrations becomes the controller.
        """
        if self.controller_id == NO_CONTROLLER:
            reaching = (one for one in self.registrations if one not in self._cut_off)
            candidate = next((one for one in reaching if self._read_live(self.running[one])), None)
            if candidate is not None:
                self.controller_id = candidate
                self.controller_epoch += 1
                self._sent.clear()
        elif self.controller_id not in self._cut_off:
            self._read_live(self.running[self.controller_id])

    def take_updates(self, topics: Mapping[str, Topic], version: int) -> list[MetadataUpdate]:
        """The updates to send since the last call, by broker: the live brokers, and partitions that have changed."""
        is_alone = self.controller_id == NO_CONTROLLER or self.controller_id in self._cut_off
        if is_alone or self._propagated_version == version:
            return []
        self._propagated_version = version
        states = self._states = self._states_now(topics)
        live = tuple(self.live[broker_id] for broker_id in sorted(self.live))
        sender = self.running[self.controller_id].update_metadata_version, self.controller_id, self.controller_epoch
        sent_before, self._sent = self._sent, {}
        updates = []
        for broker_id in [one.id for one in live if one.id not in self._cut_off]:
            epoch = self.broker_epoch(broker_id)
            known_epoch, known_brokers, known = sent_before.get(broker_id, (NOT_REGISTERED, (), {}))
            if known_epoch != epoch:
                known_brokers, known = (), {}
            self._sent[broker_id] = epoch, live, states
            changed = {key: deleted(state) for key, state in known.items() if key not in states}
            changed |= {key: state for key, state in states.items() if known.get(key) != state}
            if changed or live != known_brokers:
                partitions = tuple(changed[key] for key in sorted(changed))
                updates.append(MetadataUpdate(broker_id, epoch, *sender, live, partitions))
        return updates

    # placing replicas

    def racks(self, requesting_broker_id: int | None = None) -> dict[int, str | None]:
        """Rack by registered broker, from the registrations.

        Args:
            requesting_broker_id: the broker that places replicas; its code may not know racks.
        """
        if requesting_broker_id is not None and not self.running[requesting_broker_id].since(KNOWS_RACKS):
            return dict.fromkeys(self.registrations)
        return {broker_id: read_broker(one.data).rack for broker_id, one in self.registrations.items()}

    def missing_racks(self, broker_id: int) -> bool:
        """True if this broker is the controller and only some of the registered brokers have a rack."""
        racks = self.racks().values() if broker_id == self.controller_id else ()
        return None in racks and any(racks)

    # internals

    def _read_live(self, software: BrokerSoftware) -> bool:
        """Read every registration as this software does; if one cannot be read, nothing changes."""
        live = {}
        for broker_id, registration in self.registrations.items():
            try:
                found = read_broker(registration.data, strict=software.reads_strictly)
            except UnreadableRegistrationError as error:
                self.problem = f"Kafka {software.release} cannot read {BROKER_IDS}/{broker_id}: {error}"
                return False
            live[broker_id] = CachedBroker(broker_id, tuple(Address(*one) for one in found.addresses), found.rack)
        self.live, self.problem = live, None
        return True

    def _states_now(self, topics: Mapping[str, Topic]) -> States:
        states: States = {}
        for topic in topics.values():
            for partition in topic.partitions:
                key = (topic.name, partition.index)
                offline = [replica for replica in partition.replicas if replica not in self.live]
                before = self._states.get(key)
                epoch = self.controller_epoch if before is None else before.state.controller_epoch
                state = PartitionState.of(partition, offline, epoch)
                if before is not None and state != before.state:
                    state.controller_epoch = self.controller_epoch
                states[key] = TopicPartitionState(topic.name, topic.id, state)
        return states


def deleted(one: TopicPartitionState) -> TopicPartitionState:
    """The state by which brokers delete a partition from their cache."""
    return one._replace(state=replace(one.state, leader=DELETED, leader_epoch=0, partition_epoch=0))


def check_listeners(broker: Broker, software: BrokerSoftware) -> None:
    """Raises ValueError: listener names that the software does not support."""
    names = [listener.name for listener in broker.listeners]
    if any(name != name.upper() for name in names):
        raise ValueError(
            f"broker {broker.id} has the listeners {', '.join(names)}, but in ZooKeeper mode names are in capitals"
        )
    if software.since("0.10.2") and software.protocol >= Version("0.10.2-IV0"):
        return
    if names != [SECURITY_PROTOCOL]:
        raise ValueError(
            f"broker {broker.id} has the listeners {', '.join(names)}, but before {PROTOCOL_SETTING}=0.10.2 "
            f"there is one, {SECURITY_PROTOCOL}"
        )


def zookeeper_mode_of(brokers: Iterable[Broker], settings: KafkaSettings, release: str | None) -> ZooKeeperMode | None:
    """The ZooKeeper mode of a cluster with these settings; None for KRaft, the default.

    Args:
        release: the release of each broker without one of its own.

    Raises ValueError: versions that are unknown or contradict each other, or brokers of both modes.
    """
    address = settings.get(ZOOKEEPER_SETTING)
    software = {}
    for broker in brokers:
        code, protocol = broker.release or release, broker.protocol or settings.get(PROTOCOL_SETTING)
        is_one = is_zookeeper(protocol, code, address, settings.get(ROLES_SETTING))
        software[broker.id] = (code, protocol) if is_one else None
    kraft = [broker_id for broker_id, one in software.items() if one is None]
    if len(kraft) == len(software):
        if any(broker.release for broker in brokers):
            raise ValueError("in KRaft mode all brokers emulate one release, the cluster's")
        return None
    if kraft:
        raise ValueError(
            f"broker {kraft[0]} is in KRaft mode, but others are in ZooKeeper mode by {PROTOCOL_SETTING} or release"
        )
    return ZooKeeperMode({broker_id: software_of(*one) for broker_id, one in software.items() if one is not None})
