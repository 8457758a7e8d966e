"""KRaft mode: a broker that reaches the controller has current metadata; one that does not, the metadata of before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

from mockbroker.state.logs.log import Log
from mockbroker.state.metadata.view import (
    NO_CONTROLLER,
    Address,
    CachedBroker,
    KnownPartition,
    MetadataCache,
    MetadataSupport,
    PartitionState,
)
from mockbroker.state.releases import kraft_line, versions_of_release
from mockbroker.state.replicas.replication import ReplicaStates
from mockbroker.state.topics.topic import Partition, Topic

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.brokers.liveness import Liveness

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

    def view(self, broker_id: int) -> CurrentView | MetadataCache:
        return self.cut_off.get(broker_id) or self.current

    def leadership(self, broker_id: int, partition: Partition) -> KnownPartition:
        cache = self.cut_off.get(broker_id) if self.cut_off else None
        if cache is None:
            return partition
        topic = partition.topic
        if cache.topic_ids.get(topic.name) != topic.id:
            return UNKNOWN_PARTITION  # or the topic of this name was deleted since
        return cache.topics[topic.name].get(partition.index, UNKNOWN_PARTITION)

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
    topics = {
        topic.name: {one.index: PartitionState.of(one, view.offline_replicas(one)) for one in topic.partitions}
        for topic in view.topics.values()
    }
    return MetadataCache(
        view.controller_id,
        brokers=brokers,
        topics=topics,
        topic_ids={topic.name: topic.id for topic in view.topics.values()},
        diskless_topics=frozenset(topic.name for topic in view.topics.values() if topic.diskless),
    )


def depose(partition: Partition) -> Partition:
    """A copy of a partition and its producers, for the leader that was replaced while it was cut off.

    It serves readers up to the high watermark of now. Its later appends are not replicated and not read by consumers,
    and are truncated once it learns of the new leader.
    """
    registration, states = partition.registration.copy(), ReplicaStates(partition.high_watermark)
    log, producers = Log(partition.log.start_offset, partition.log.end_offset), deepcopy(partition.producers)
    return Partition(partition.topic, partition.index, registration, states, _log=log, _producers=producers)
