"""A cluster as JSON: brokers, racks, topics, and what optional parts add.

The classes are the shapes of the answers.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mockbroker.parts import load, merged
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.topics.topic import Partition, Topic
from protocol.uuids import uuid_to_text

HIDDEN = "[hidden]"


class ListenerView(msgspec.Struct):
    """An address of a broker; who comes in by a listener with a rack counts as in that rack."""

    name: str
    host: str
    port: int
    rack: str | None


class BrokerView(msgspec.Struct):
    """A broker: ``running`` while its process is up, ``online`` while the controller counts it as up.

    ``fenced`` and ``disk_full`` are set by commands; ``follower_lag`` is by how many records its followers lag. On a
    proxy it is null, ``running`` says whether clients reach it here, and ``online`` that it is up, too.
    """

    id: int
    rack: str | None
    online: bool
    running: bool
    fenced: bool
    disk_full: bool
    follower_lag: int | None
    listeners: list[ListenerView]


class RackView(msgspec.Struct):
    """The brokers of a rack, and those of them that are up."""

    brokers: list[int]
    online: list[int]


class PartitionView(msgspec.Struct):
    """A partition; a diskless one has no leader and no replicas of its own.

    ``follower_lag``: how many of the leader's records each replica lacks. On a proxy offsets, sizes and lags are null.
    """

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    start_offset: int | None
    high_watermark: int | None
    end_offset: int | None
    size_bytes: int | None
    follower_lag: dict[int, int] | None


class TopicView(msgspec.Struct):
    """A topic with its partitions."""

    name: str
    id: str
    diskless: bool
    partitions: list[PartitionView]


class TopicDetails(TopicView):
    """A topic with its settings, null on a proxy."""

    configs: dict[str, Any] | None


class TopicsView(msgspec.Struct):
    """All topics, by name."""

    topics: list[TopicView]


class CoreView(msgspec.Struct):
    """A cluster. ``version`` grows with each change of what Metadata shows.

    ``cut_links`` are pairs of broker ids, -1 for the controller; ``clock_ms`` is how far the wall clock was moved.
    ``mode`` is kraft, zookeeper, or proxy: then controller and settings are unknown.
    ``zookeeper`` is there in ZooKeeper mode.
    """

    cluster_id: str
    mode: str
    controller: int | None
    version: int
    brokers: list[BrokerView]
    racks: dict[str, RackView]
    settings: dict[str, Any]
    """Broker settings that differ from Kafka's defaults."""
    cut_links: list[tuple[int, int]]
    clock_ms: int
    topics: list[TopicView]


PART_VIEWS = {name: load(path) for name, path in merged("cluster_views").items()}
ClusterView: Any = msgspec.defstruct(
    "ClusterView",
    [(name, view | msgspec.UnsetType, msgspec.UNSET) for name, view in PART_VIEWS.items()],
    bases=(CoreView,),
    module=__name__,
    namespace={"__doc__": CoreView.__doc__},
)


def cluster_of(state: Cluster, *, with_internal: bool = False) -> CoreView:
    """The cluster with its topics, the internal ones only if wanted."""
    view: CoreView = ClusterView(
        cluster_id=state.id,
        mode="proxy" if state.is_mirror else state.support.name.lower(),
        controller=None if state.is_mirror else state.support.controller_id,
        version=state.version,
        brokers=[broker_of(state, broker) for broker in state.brokers.values()],
        racks={rack: rack_of(state, rack) for rack in state.liveness.racks()},
        settings={
            name: shown_setting(name, state.settings[name])
            for name in state.settings
            if state.settings.given(name) and not state.is_mirror
        },
        cut_links=state.network.cut_links,
        clock_ms=state.clock.offset_ms,
        topics=topics_of(state, with_internal=with_internal),
        **{name: view.of(state) for name, view in PART_VIEWS.items()},
    )
    return view


def topics_of(state: Cluster, *, with_internal: bool = False) -> list[TopicView]:
    """All topics by name, the internal ones only if wanted."""
    topics = [state.topics[name] for name in sorted(state.topics)]
    return [view_of(one, knows_logs=not state.is_mirror) for one in topics if with_internal or not one.is_internal]


def shown_setting(name: str, value: Any) -> Any:
    """A setting's value, in place of one that may be a secret Kafka's word for it."""
    from mockbroker.state.configs.definitions import find_definition

    if name.startswith("listener.name."):
        return HIDDEN
    found = find_definition("broker", name)
    return HIDDEN if found is not None and found.is_sensitive else value


def broker_of(state: Cluster, broker: Broker) -> BrokerView:
    return BrokerView(
        id=broker.id,
        rack=broker.rack,
        online=is_up(state, broker),
        running=broker.is_running,
        fenced=broker.id in state.cluster_control.fenced and not state.is_mirror,
        disk_full=broker.id in state.cluster_control.full_disks,
        follower_lag=None if state.is_mirror else state.replication.lags.get(broker.id, 0),
        listeners=msgspec.convert(broker.listeners, list[ListenerView], from_attributes=True),
    )


def rack_of(state: Cluster, rack: str) -> RackView:
    brokers = state.liveness.brokers_in(rack)
    return RackView([broker.id for broker in brokers], [broker.id for broker in brokers if is_up(state, broker)])


def is_up(state: Cluster, broker: Broker) -> bool:
    """True if a broker counts as up; before a real cluster, if it is up there and can be reached here."""
    return broker.online and (broker.is_running or not state.is_mirror)


def view_of(topic: Topic, *, knows_logs: bool) -> TopicView:
    partitions = [partition_of(topic, one, knows_logs=knows_logs) for one in topic.partitions]
    return TopicView(topic.name, uuid_to_text(topic.id), topic.diskless, partitions)


def details_of(topic: Topic, *, knows_logs: bool = True) -> TopicDetails:
    """A topic with its settings."""
    settings = dict(sorted(topic.configs.items())) if knows_logs else None
    return TopicDetails(**msgspec.structs.asdict(view_of(topic, knows_logs=knows_logs)), configs=settings)


def partition_of(topic: Topic, partition: Partition, *, knows_logs: bool = True) -> PartitionView:
    """A partition; without what only its log could say where a real cluster has it."""
    logged: tuple[Any, ...] = (None,) * 5
    if knows_logs:
        logged = (0, 0, 0, 0, {})
    if knows_logs and partition.has_log:
        log, lag = partition.log, follower_lag_of(partition)
        logged = (log.start_offset, partition.high_watermark, log.end_offset, log.size_bytes, lag)
    leader = None if topic.diskless else partition.leader
    replicas, isr = list(partition.replicas), list(partition.isr)
    return PartitionView(partition.index, leader, partition.leader_epoch, replicas, isr, *logged)


def follower_lag_of(partition: Partition) -> dict[int, int]:
    """How many records each follower lacks that lacks any; most partitions have none."""
    states, end_offset = partition.replica_states, partition.log.end_offset
    if states is None or not states.followers:
        return {}
    return {
        broker_id: end_offset - follower.end_offset
        for broker_id, follower in sorted(states.followers.items())
        if broker_id != partition.leader and follower.end_offset < end_offset
    }
