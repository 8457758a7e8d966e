"""A broker's metadata cache: the source of its Metadata responses in ZooKeeper mode, and in KRaft when cut off.

In ZooKeeper mode each UpdateMetadata has every live broker, and the changed partitions; the cache of a broker that
starts is empty. Source: MetadataCache, Kafka 0.10; ZkMetadataCache, Apache Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from mockbroker.state.topics.topic import INTERNAL_TOPICS

if TYPE_CHECKING:
    from mockbroker.state.topics.topic import Partition

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


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition's leader, ISR and replicas. ``zk_version`` counts the changes of its state in ZooKeeper."""

    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()
    index: int = 0
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    @classmethod
    def of(cls, partition: Partition, offline: Iterable[int], controller_epoch: int = 0) -> PartitionState:
        """The current state of a partition with these offline replicas."""
        return cls(
            controller_epoch,
            partition.leader,
            partition.leader_epoch,
            partition.isr,
            partition.registration.partition_epoch,
            partition.replicas,
            tuple(offline),
            partition.index,
            partition.elr,
            partition.last_known_elr,
        )


class TopicPartitionState(NamedTuple):
    """The state of one partition of a topic; only some versions have the topic's id (16 bytes)."""

    topic: str
    topic_id: bytes
    partition: int
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
                self.topics.setdefault(one.topic, {})[one.partition] = one.state
                self.topic_ids[one.topic] = one.topic_id
            elif one.topic in self.topics:
                self.topics[one.topic].pop(one.partition, None)
                if not self.topics[one.topic]:
                    del self.topics[one.topic]
                    del self.topic_ids[one.topic]
