"""The state of a real cluster, from its Metadata answers.

Journal, faults, metrics and the control API read this state as they read our own cluster's. It changes only by answers:
brokers, topics, leaders and in-sync replicas are those of the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple
from uuid import NAMESPACE_OID, uuid5

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from protocol.embedded.metadata_topics import PartitionRecord, RemoveTopicRecord, TopicRecord

NO_ID = bytes(16)
SETTINGS: Mapping[str, Any] = {
    "auto.create.topics.enable": "false",
    "connections.max.idle.ms": -1,  # the real broker ends idle connections
    "socket.request.max.bytes": 2**31 - 1,  # and refuses large requests
    "connection.first.byte.timeout.ms": 2**31 - 1,
    "max.incremental.fetch.session.cache.slots": 100_000,  # and knows how many sessions it has
}


class BrokerAddress(NamedTuple):
    """The address of a real broker, from its cluster's answers."""

    host: str
    port: int


def empty_mirror(seed: int = 0, settings: Mapping[str, Any] | None = None) -> Cluster:
    """The empty state of a cluster. Raises ValueError: an unknown setting."""
    cluster = Cluster.create([], settings={**SETTINGS, **(settings or {})}, seed=seed)
    cluster.is_mirror = True
    return cluster


class Mirror:
    """Keeps ``cluster`` equal to the real one, from its answers.

    Args:
        racks: racks of brokers, for clients and metrics, that replace the real ones.
        listen: called with each new broker, before clients see it; creates its listeners.
    """

    def __init__(
        self, cluster: Cluster, racks: Mapping[int, str | None], listen: Callable[[Broker], None] = lambda _broker: None
    ) -> None:
        self.cluster, self._racks, self._listen = cluster, racks, listen
        self.upstream: dict[int, BrokerAddress] = {}
        """The addresses of the real brokers, also of those that are down."""
        self.diskless_topics: set[str] = set()
        """The diskless topics by a topic config, if one is configured for it."""

    def place_of(
        self, listener: str, node_id: int, host: str, port: int, rack: str | None
    ) -> tuple[str, int, str | None]:
        """Host and port of a broker's listener of this name, and its rack for clients; a new broker gets listeners."""
        found = self.broker_at(node_id, host, port).listener(listener)
        return found.host, found.port, self.rack_of(node_id, rack)

    def broker_at(self, node_id: int, host: str, port: int, rack: str | None = None) -> Broker:
        """A broker that an answer names; a new one gets listeners."""
        broker = self.cluster.brokers.get(node_id)
        if broker is None:
            broker = Broker(node_id, self.rack_of(node_id, rack), [])
            self._listen(broker)
            self.cluster.liveness.add(broker)
            self.cluster.cluster_control.register([broker])
            self.cluster.liveness.brokers_changed()
        self.upstream[node_id] = BrokerAddress(host, port)
        return broker

    def rack_of(self, node_id: int, rack: str | None) -> str | None:
        """A broker's rack for clients, from its real one."""
        return self._racks.get(node_id, rack) or None

    # what answers say

    def learn_brokers(self, brokers: Iterable[tuple[int, str, int, str | None]], *, names_racks: bool = True) -> None:
        """Set the brokers that are up, each with its id, host, port and rack; the others are down."""
        cluster, up, has_changed = self.cluster, set(), False
        for node_id, host, port, rack in sorted(brokers, key=lambda one: one[0]):
            broker, shown = self.broker_at(node_id, host, port, rack), self.rack_of(node_id, rack)
            up.add(node_id)
            if names_racks and broker.rack != shown:
                broker.rack, has_changed = shown, True
        for broker in cluster.brokers.values():
            if up and broker.online is not (broker.id in up):
                cluster.cluster_control.fence([broker.id], fenced=broker.id not in up)
                has_changed = True
        if has_changed:
            cluster.liveness.brokers_changed()
            cluster.changed()

    def learn(self, answer: Any, version: int, *, is_whole: bool = False) -> None:
        """Apply a Metadata answer; topics missing from a whole one were deleted."""
        names_racks = version >= 1
        self.learn_brokers(
            [(one.node_id, one.host, one.port, one.rack) for one in answer.brokers], names_racks=names_racks
        )
        if answer.cluster_id:
            self.cluster.id = answer.cluster_id
        for topic in answer.topics:
            if not topic.error_code and topic.name:
                self._learn_topic(topic)
        if is_whole:
            named = {topic.name for topic in answer.topics}
            for name in [name for name in self.cluster.topics if name not in named]:
                self.forget_topic(name)

    def learn_diskless(self, names: set[str]) -> None:
        """Set which topics are diskless, by their configs."""
        if names == self.diskless_topics:
            return
        self.diskless_topics = names
        for topic in self.cluster.topics.values():
            topic.diskless = topic.name in names
        self.cluster.changed()

    def forget_topic(self, name: str) -> None:
        """Remove a deleted topic."""
        topic = self.cluster.topics.pop(name, None)
        if topic is not None:
            self.cluster.writer.commit([RemoveTopicRecord(topic_id=topic.id)])
            del self.cluster.topic_by_id[topic.id]

    # inside

    def _learn_topic(self, said: Any) -> None:
        """Apply an answer's topic, if it differs from the state."""
        known = self.cluster.topics.get(said.name)
        topic_id = getattr(said, "topic_id", NO_ID)
        if topic_id == NO_ID:  # versions before 10 have none
            topic_id = known.id if known is not None else made_id(said.name)
        found = sorted(said.partitions, key=lambda one: int(one.partition_index))
        if [one.partition_index for one in found] != list(range(len(found))):
            return
        states = [
            (tuple(one.replica_nodes), tuple(one.isr_nodes), one.leader_id, max(0, getattr(one, "leader_epoch", 0)))
            for one in found
        ]
        if (
            known is not None
            and known.id == topic_id
            and states == [(one.replicas, one.isr, one.leader, one.leader_epoch) for one in known.partitions]
        ):
            return
        records = [
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=[*replicas],
                isr=[*isr],
                leader=leader,
                leader_epoch=epoch,
            )
            for index, (replicas, isr, leader, epoch) in enumerate(states)
        ]
        self.forget_topic(said.name)
        self.cluster.writer.commit([TopicRecord(name=said.name, topic_id=topic_id), *records])
        self.cluster.replication_control.run(topic_id).diskless = said.name in self.diskless_topics


def made_id(name: str) -> bytes:
    """An id for a topic whose cluster returns none."""
    return uuid5(NAMESPACE_OID, name).bytes
