"""The metadata of one broker, and the mode by which brokers get it: KRaft mode, and the interface of ZooKeeper mode.

A ``MetadataView`` is a broker's metadata from the controller. In KRaft mode it is current, unless the broker is cut
off; then it is a cache with the metadata of before. In ZooKeeper mode it is always a cache: each UpdateMetadata has
every live broker, and the changed partitions; the cache of a broker that starts is empty.

``MetadataSupport`` is the mode: it has the controller, the versions that a broker serves, and the updates to brokers.
Source: MetadataCache, Kafka 0.10; ZkMetadataCache and MetadataSupport, Apache Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from mockbroker.state.brokers.broker import Broker, Liveness
from mockbroker.state.image import LISTS, NUMBERS, PartitionRegistration
from mockbroker.state.logs.log import Log
from mockbroker.state.releases import kraft_line, versions_of_release
from mockbroker.state.replicas.replication import ReplicaStates
from mockbroker.state.topics.topic import INTERNAL_TOPICS, Partition, Topic

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

NO_CONTROLLER = -1
NO_TOPIC_ID = bytes(16)
DELETED = -2
"""The leader of a partition whose topic is deleted."""


class Address(NamedTuple):
    """The address of a broker's listener; ``listener`` is the security protocol's name before 0.10.2."""

    listener: str
    host: str
    port: int


class CachedBroker(NamedTuple):
    """A live broker in the cache; the rack is None if the broker has none, or the update had none."""

    id: int
    addresses: tuple[Address, ...]
    rack: str | None = None

    def listener(self, name: str) -> Address:
        """The address of the listener with this name, or the first one."""
        return next((one for one in self.addresses if one.listener == name), self.addresses[0])


@dataclass(slots=True)
class PartitionState(PartitionRegistration):
    """A partition as the controller sent it; ``partition_epoch`` counts the changes of its state in ZooKeeper."""

    controller_epoch: int = 0
    offline_replicas: tuple[int, ...] = ()
    index: int = 0

    @classmethod
    def of(cls, partition: Partition, offline: Iterable[int], controller_epoch: int = 0) -> PartitionState:
        """The current state of a partition with these offline replicas."""
        present = {name: getattr(partition.registration, name) for name in (*LISTS, *NUMBERS)}
        return cls(**present, controller_epoch=controller_epoch, offline_replicas=tuple(offline), index=partition.index)


class TopicPartitionState(NamedTuple):
    """The state of one partition of a topic; only some versions have the topic's id (16 bytes)."""

    topic: str
    topic_id: bytes
    state: PartitionState


@dataclass(slots=True, eq=False)
class CachedTopic:
    """A topic in the cache; ``states`` has its known partitions by index."""

    name: str
    id: bytes
    diskless: bool = False
    states: dict[int, PartitionState] = field(default_factory=dict)

    @property
    def partitions(self) -> list[PartitionState]:
        return [self.states[index] for index in sorted(self.states)]

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


@dataclass(slots=True, eq=False)
class MetadataCache:
    """The live brokers by id, and the topics by name; a ``MetadataView``."""

    is_shared: ClassVar[bool] = False
    controller_id: int = NO_CONTROLLER
    controller_epoch: int = 0
    brokers: dict[int, CachedBroker] = field(default_factory=dict)
    topics: dict[str, CachedTopic] = field(default_factory=dict)
    shows_isr_without_leader: bool = True

    def live_brokers(self) -> list[CachedBroker]:
        return [self.brokers[broker_id] for broker_id in sorted(self.brokers)]

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self.brokers

    def topic_names(self) -> list[str]:
        return sorted(self.topics)

    def topic(self, name: str) -> CachedTopic | None:
        return self.topics.get(name)

    def topic_of_id(self, topic_id: bytes) -> CachedTopic | None:
        return next((one for one in self.topics.values() if one.id == topic_id != NO_TOPIC_ID), None)

    def offline_replicas(self, partition: Partition | PartitionState) -> list[int]:
        assert isinstance(partition, PartitionState)
        return list(partition.offline_replicas)

    def update(
        self,
        controller_id: int,
        controller_epoch: int,
        brokers: Iterable[CachedBroker],
        partitions: Iterable[TopicPartitionState],
    ) -> None:
        """Apply an update of the controller: its brokers replace all cached ones, its partitions only themselves."""
        self.controller_id, self.controller_epoch = controller_id, controller_epoch
        self.brokers = {broker.id: broker for broker in brokers}
        for one in partitions:
            topic = self.topics.setdefault(one.topic, CachedTopic(one.topic, one.topic_id))
            if one.state.leader != DELETED:
                topic.id = one.topic_id
                topic.states[one.state.index] = one.state
            else:
                topic.states.pop(one.state.index, None)
                if not topic.states:
                    del self.topics[one.topic]


KnownBroker = Broker | CachedBroker
KnownPartition = Partition | PartitionState
KnownTopic = Topic | CachedTopic
UNKNOWN_PARTITION = PartitionState((), (), -1, 0, 0)
"""The state of a partition that was created after the broker was cut off."""


@dataclass(slots=True, eq=False)
class CurrentView:
    """The current metadata of the cluster."""

    liveness: Liveness
    topics: Mapping[str, Topic]
    topic_by_id: Mapping[bytes, Topic]
    is_shared: bool = True
    shows_isr_without_leader: bool = True

    @property
    def controller_id(self) -> int:
        online = self.liveness.online_brokers
        return online[0].id if online else NO_CONTROLLER

    def live_brokers(self) -> Sequence[Broker]:
        return self.liveness.online_brokers

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self.liveness.online_ids

    def topic_names(self) -> list[str]:
        return sorted(self.topics)

    def topic(self, name: str) -> Topic | None:
        return self.topics.get(name)

    def topic_of_id(self, topic_id: bytes) -> Topic | None:
        return self.topic_by_id.get(topic_id)

    def offline_replicas(self, partition: KnownPartition) -> list[int]:
        online = self.liveness.online_ids - cast(Partition, partition).overrides.offline
        return [replica for replica in partition.replicas if replica not in online]


MetadataView = CurrentView | MetadataCache


class MetadataSupport:
    """A cluster's mode: its controller, and the way brokers get their metadata.

    ``forwards``: any broker accepts changes and forwards them to the controller (KIP-590). ``is_kraft``: diskless
    topics and pluggable placers are supported. ``session_timeout`` is the name of the session timeout's setting.
    """

    __slots__ = ()
    name: ClassVar[str]
    forwards: ClassVar[bool]
    is_kraft: ClassVar[bool]
    session_timeout: ClassVar[str]

    @property
    def controller_id(self) -> int:
        """The controller's broker id, -1 for none."""
        raise NotImplementedError

    def served_versions(self, broker_id: int) -> Mapping[int, tuple[int, int]] | None:
        """API key -> lowest and highest version that a broker's release serves; None: all versions."""
        raise NotImplementedError

    def view(self, broker_id: int) -> MetadataView:
        """The metadata of a broker."""
        raise NotImplementedError

    def leadership(self, broker_id: int, partition: Partition) -> KnownPartition:
        """The leader and ISR of a partition, as a broker with a replica sees them."""
        return partition

    def own_copy(self, broker_id: int, partition: Partition) -> Partition:
        """A partition as its leader has it: a copy, if this broker was replaced as leader while it was cut off."""
        return partition

    def racks(self, requesting_broker_id: int | None = None) -> Mapping[int, str | None] | None:
        """Rack by broker for the placement of replicas; None: the brokers' own."""
        return None

    def missing_racks(self, broker_id: int) -> bool:
        """True if this broker may not add partitions, because only some brokers have a rack."""
        return False

    def take_updates(self, topics: Mapping[str, Topic], version: int) -> Sequence[Any]:
        """The controller's updates to brokers since the last call, at this version of the cluster."""
        return ()

    def check(self, cluster: Cluster) -> None:
        """Raises ValueError if the security settings of listeners are not supported in this mode."""

    def restarted(self) -> MetadataSupport:
        """The same mode without registered brokers."""
        return self

    def broker_started(self, broker: Broker, now_ms: int) -> None:
        """Handle the start of a broker."""

    def broker_stopped(self, broker: Broker, now_ms: int) -> None:
        """Handle the stop of a broker."""

    def brokers_changed(self) -> None:
        """Update metadata after brokers started or stopped and leaders were elected."""

    def lost_controller(self, broker_id: int) -> None:
        """Handle the loss of a broker's connection to the controller."""

    def leader_changes(self, partition: Partition) -> None:
        """Handle a leader change that is about to happen."""

    def session_expired(self, broker_id: int) -> None:
        """Handle the end of a broker's session while the broker is up."""

    def found_controller(self, broker: Broker, now_ms: int) -> None:
        """Handle a broker's new connection to the controller: update its metadata."""


@dataclass(slots=True, eq=False)
class KRaftMode(MetadataSupport):
    """The default mode, as in Kafka since 3.3. ``cut_off`` has the metadata of disconnected brokers, by id.

    ``release`` is the emulated release of all brokers; None: they serve all versions.

    Clients see the live broker with the lowest id as the controller; the real one is a node of its own.

    Raises ValueError: no such release, or one without KRaft mode.
    """

    current: CurrentView
    release: str | None = None
    serves_unstable: bool = False
    cut_off: dict[int, MetadataCache] = field(default_factory=dict)
    _deposed: dict[int, dict[Partition, Partition]] = field(default_factory=dict)
    forwards: ClassVar[bool] = True
    is_kraft: ClassVar[bool] = True
    name: ClassVar[str] = "KRaft"
    session_timeout: ClassVar[str] = "broker.session.timeout.ms"

    def __post_init__(self) -> None:
        if self.release is not None:
            kraft_line(self.release)

    @property
    def controller_id(self) -> int:
        return self.current.controller_id

    def served_versions(self, broker_id: int) -> Mapping[int, tuple[int, int]] | None:
        return None if self.release is None else versions_of_release(self.release, unstable=self.serves_unstable)

    def view(self, broker_id: int) -> MetadataView:
        return self.cut_off.get(broker_id) or self.current

    def leadership(self, broker_id: int, partition: Partition) -> KnownPartition:
        cache = self.cut_off.get(broker_id) if self.cut_off else None
        if cache is None:
            return partition
        topic = cache.topics.get(partition.topic.name)
        if topic is None or topic.id != partition.topic.id:
            return UNKNOWN_PARTITION  # or the topic of this name was deleted since
        return topic.states.get(partition.index, UNKNOWN_PARTITION)

    def broker_started(self, broker: Broker, now_ms: int) -> None:
        """Forget the metadata of before, and unreplicated appends."""
        self.cut_off.pop(broker.id, None)
        self._deposed.pop(broker.id, None)

    broker_stopped = found_controller = broker_started

    def lost_controller(self, broker_id: int) -> None:
        if broker_id not in self.cut_off:
            self.cut_off[broker_id] = snapshot(self.current)

    def leader_changes(self, partition: Partition) -> None:
        """Let a disconnected leader continue as a deposed one."""
        broker_id = partition.leader
        if broker_id in self.cut_off and self.leadership(broker_id, partition).leader == broker_id:
            self._deposed.setdefault(broker_id, {}).setdefault(partition, depose(partition))

    def own_copy(self, broker_id: int, partition: Partition) -> Partition:
        led = self._deposed.get(broker_id) if self._deposed else None
        return partition if led is None else led.get(partition, partition)


def snapshot(view: CurrentView) -> MetadataCache:
    """An unchanging copy of the current view."""
    brokers = {
        one.id: CachedBroker(one.id, tuple(Address(at.name, at.host, at.port) for at in one.listeners), one.rack)
        for one in view.live_brokers()
    }
    topics = {}
    for topic in view.topics.values():
        states = {one.index: PartitionState.of(one, view.offline_replicas(one)) for one in topic.partitions}
        topics[topic.name] = CachedTopic(topic.name, topic.id, topic.diskless, states)
    return MetadataCache(view.controller_id, brokers=brokers, topics=topics)


def depose(partition: Partition) -> Partition:
    """A copy of a partition and its producers, for the leader that was replaced while it was cut off.

    It serves readers up to the high watermark of now. Its later appends are not replicated and not read by consumers,
    and are truncated once it learns of the new leader.
    """
    registration, states = copy(partition.registration), ReplicaStates(partition.high_watermark)
    log, producers = Log(partition.log.start_offset, partition.log.end_offset), deepcopy(partition.producers)
    return Partition(partition.topic, partition.index, registration, states, _log=log, _producers=producers)
