"""The metadata of one broker, and the mode by which brokers get it: interfaces for KRaft and ZooKeeper mode.

A ``MetadataView`` is a broker's metadata from the controller, which in KRaft mode is current unless the broker is cut
off; otherwise it is a cache. In ZooKeeper mode each UpdateMetadata has every live broker, and the changed partitions;
the cache of a broker that starts is empty.

``MetadataSupport`` is the mode: it has the controller, the versions that a broker serves, and the updates to brokers.
Source: MetadataCache, Kafka 0.10; ZkMetadataCache and MetadataSupport, Apache Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.image import LISTS, NUMBERS, PartitionRegistration
from mockbroker.state.topics.topic import INTERNAL_TOPICS, Partition, Topic

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.metadata.kraft import CurrentView

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


class CachedTopic(NamedTuple):
    """A topic in the cache."""

    name: str
    id: bytes
    diskless: bool
    partitions: tuple[PartitionState, ...]

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


@dataclass(slots=True, eq=False)
class MetadataCache:
    """The live brokers by id, and the partitions by topic and index; a ``MetadataView``."""

    is_shared: ClassVar[bool] = False
    controller_id: int = NO_CONTROLLER
    controller_epoch: int = 0
    brokers: dict[int, CachedBroker] = field(default_factory=dict)
    topics: dict[str, dict[int, PartitionState]] = field(default_factory=dict)
    topic_ids: dict[str, bytes] = field(default_factory=dict)
    diskless_topics: frozenset[str] = frozenset()
    shows_isr_without_leader: bool = True

    def live_brokers(self) -> list[CachedBroker]:
        return [self.brokers[broker_id] for broker_id in sorted(self.brokers)]

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self.brokers

    def topic_names(self) -> list[str]:
        return sorted(self.topics)

    def topic(self, name: str) -> CachedTopic | None:
        states = self.topics.get(name)
        if states is None:
            return None
        partitions = tuple(states[index] for index in sorted(states))
        return CachedTopic(name, self.topic_ids[name], name in self.diskless_topics, partitions)

    def topic_of_id(self, topic_id: bytes) -> CachedTopic | None:
        if topic_id == NO_TOPIC_ID:
            return None
        name = next((name for name, known in self.topic_ids.items() if known == topic_id), None)
        return None if name is None else self.topic(name)

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
            if one.state.leader != DELETED:
                self.topics.setdefault(one.topic, {})[one.state.index] = one.state
                self.topic_ids[one.topic] = one.topic_id
            elif one.topic in self.topics:
                self.topics[one.topic].pop(one.state.index, None)
                if not self.topics[one.topic]:
                    del self.topics[one.topic]
                    del self.topic_ids[one.topic]


KnownBroker = Broker | CachedBroker
KnownPartition = Partition | PartitionState
KnownTopic = Topic | CachedTopic
MetadataView: TypeAlias = "CurrentView | MetadataCache"


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

    def view(self, broker_id: int) -> CurrentView | MetadataCache:
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

    def brokers_changed(self, topics: Mapping[str, Topic]) -> None:
        """Update metadata after brokers started or stopped and leaders were elected."""

    def lost_controller(self, broker_id: int) -> None:
        """Handle the loss of a broker's connection to the controller."""

    def leader_changes(self, partition: Partition) -> None:
        """Handle a leader change that is about to happen."""

    def session_expired(self, broker_id: int, now_ms: int) -> None:
        """Handle the end of a broker's session while the broker is up."""

    def found_controller(self, broker: Broker, now_ms: int) -> None:
        """Handle a broker's new connection to the controller: update its metadata."""
