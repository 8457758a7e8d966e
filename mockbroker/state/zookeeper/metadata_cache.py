"""What one broker was told by the controller, which is all that it tells clients in Zookeeper mode.

Each UpdateMetadata brings every live broker, and the partitions that have changed. A broker that starts knows nothing.
Source: MetadataCache, Kafka 0.10; ZkMetadataCache, Apache Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

NO_CONTROLLER = -1
DELETED = -2
"""The leader of a partition whose topic is deleted."""


class Address(NamedTuple):
    """Where a listener of a broker can be reached; ``listener`` is the security protocol's name before 0.10.2."""

    listener: str
    host: str
    port: int


class LiveBroker(NamedTuple):
    """A live broker as the controller knows it; the rack is None where the broker has none, or none came along."""

    id: int
    addresses: tuple[Address, ...]
    rack: str | None = None

    def address(self, listener: str) -> Address:
        """That of the listener, the first where there is none of this name."""
        return next((one for one in self.addresses if one.listener == listener), self.addresses[0])


class PartitionState(NamedTuple):
    """Who leads a partition, and with whom. ``zk_version`` counts the changes of its state in Zookeeper."""

    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()


class ToldPartition(NamedTuple):
    """The state of one partition of a topic, whose id (16 bytes) only some versions carry."""

    topic: str
    topic_id: bytes
    partition: int
    state: PartitionState


@dataclass(slots=True, eq=False)
class MetadataCache:
    """The live brokers by id, and the partitions by topic and index."""

    controller_id: int = NO_CONTROLLER
    controller_epoch: int = 0
    brokers: dict[int, LiveBroker] = field(default_factory=dict)
    topics: dict[str, dict[int, PartitionState]] = field(default_factory=dict)
    topic_ids: dict[str, bytes] = field(default_factory=dict)

    def update(
        self,
        controller_id: int,
        controller_epoch: int,
        brokers: Iterable[LiveBroker],
        partitions: Iterable[ToldPartition],
    ) -> None:
        """Take what the controller says: its brokers replace all known ones, its partitions only themselves."""
        self.controller_id, self.controller_epoch = controller_id, controller_epoch
        self.brokers = {broker.id: broker for broker in brokers}
        for told in partitions:
            if told.state.leader != DELETED:
                self.topics.setdefault(told.topic, {})[told.partition] = told.state
                self.topic_ids[told.topic] = told.topic_id
            elif told.topic in self.topics:
                self.topics[told.topic].pop(told.partition, None)
                if not self.topics[told.topic]:
                    del self.topics[told.topic]
                    del self.topic_ids[told.topic]
