"""Starting a cluster from an image or a snapshot: the state that its brokers find, and the effects of a restart.

Source: ReplicationControlManager.handleBrokerShutdown and handleBrokerUnfenced, QuorumController.bootstrap, Apache
Kafka 4.4.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.image import Image, feature_records
from mockbroker.state.logs.store import LogStore
from mockbroker.state.releases import initial_levels, supported_levels
from mockbroker.state.replicas.overrides import NO_OVERRIDES, PartitionOverrides
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from mockbroker.state.topics.topic import NO_LEADER

if TYPE_CHECKING:
    from random import Random

    from mockbroker.state.cluster import Cluster


@dataclass(slots=True, frozen=True, eq=False)
class ClusterSnapshot:
    """A cluster at one moment, unchanging, so that many clusters can start from it: forks and resets.

    It has the state that survives a restart, except group members, which are other programs: groups are empty, with
    their committed offsets. It also has overrides of partitions, the offset of the wall clock, and the state of the
    random generator. In a cluster that starts from it, all brokers are up, no link is cut, no disk is full, and no
    follower lags. Logs are not copied until they are used.
    """

    image: Image
    logs: LogStore
    overrides: dict[tuple[bytes, int], PartitionOverrides]
    """By topic id and partition."""
    last_producer_epochs: dict[str, int]
    clock_offset_ms: int
    cluster_id: str
    release: str | None
    rng: Random


def snapshot_of(cluster: Cluster) -> ClusterSnapshot:
    """The current state of a cluster, from which clusters with the same number of brokers can start."""
    overrides = {
        (topic.id, partition.index): replace(partition.overrides, offline=frozenset(), copying=frozenset())
        for topic in cluster.topics.values()
        for partition in topic.partitions
        if partition.overrides is not NO_OVERRIDES
    }
    return ClusterSnapshot(
        cluster.image.copy(),
        cluster.log_store.fork(),
        overrides,
        dict(cluster.producers.last_epochs),
        cluster.clock.offset_ms,
        cluster.id,
        cluster.release,
        copy(cluster.rng),
    )


def begin_features(cluster: Cluster) -> None:
    """Write the features of a new cluster, as Kafka's controller does when it first starts.

    Raises ValueError: an existing cluster has levels that its brokers do not support.
    """
    if not cluster.support.is_kraft:
        return
    supported, existing = supported_levels(cluster.release), cluster.image.features
    for name, level in sorted(existing.items()):
        highest = supported.get(name, (0, 0))[1]
        if level > highest:
            raise ValueError(
                f"expected brokers that support {name} {level} of the stored cluster, got {cluster.release}, which "
                f"supports it up to {highest}: start a release that is at least as new as before"
            )
    if existing:
        return
    initial = initial_levels(cluster.release)
    cluster.writer.commit(feature_records({name: level for name, level in initial.items() if level}))


def resume(cluster: Cluster, now_ms: int, snapshot: ClusterSnapshot | None = None) -> None:
    """Continue from the cluster's image: fence missing brokers; load topics, groups and transactions."""
    cluster.now_ms = now_ms
    image, control = cluster.image, cluster.replication_control
    if cluster.is_durable:
        begin_features(cluster)
        begin_leader_epochs(cluster)
    gone = [one.broker_id for one in image.brokers.values() if one.broker_id not in cluster.brokers and not one.fenced]
    cluster.cluster_control.fence(gone, fenced=True)
    topics = [control.run(topic_id) for topic_id in image.topics]
    for (topic_id, index), overrides in snapshot.overrides.items() if snapshot is not None else ():
        cluster.topic_by_id[topic_id].partitions[index].overrides = overrides
    control.reassignments.restore()
    control.leaders.elect(topics)
    cluster.replication.refresh(cluster.partitions(), now_ms)
    cluster.log_cleanup.schedule_all(now_ms)
    cluster.internal_topics.restore()
    cluster.support.brokers_changed()
    if snapshot is not None:
        forget_members(cluster)
    if OFFSETS_TOPIC in cluster.topics:
        cluster.groups.restore(now_ms)
    if TRANSACTIONS_TOPIC in cluster.topics:
        cluster.transactions.restore()


def forget_members(cluster: Cluster) -> None:
    """Write records that remove all members, which are other programs; no epoch or generation begins."""
    from protocol.embedded.group_log import GroupMetadataKey

    for shard in cluster.internal_topics.shards(OFFSETS_TOPIC):
        for group_id in list(shard.records):
            records = [
                CoordinatorRecord(record.key, None)
                for record in shard.records_of(group_id)
                if hasattr(record.key, "member_id") or hasattr(record.key, "regular_expression")
            ]
            value: Any = shard.value(GroupMetadataKey, group_id)
            if value is not None and value.members:
                value = structs.replace(value, protocol=None, leader=None, members=[])
                records.append(CoordinatorRecord(GroupMetadataKey(group=group_id), value))
            cluster.internal_topics.write(OFFSETS_TOPIC, group_id, records)


def begin_leader_epochs(cluster: Cluster) -> None:
    """Let each partition lose and regain its leader, which are two epochs, as when all brokers of Kafka start.

    From the new epoch, a reader learns where the log ends if records were lost in a torn log. Source: Apache Kafka
    4.4.0 of one node, killed and stopped in order.
    """
    from protocol.embedded.metadata_topics import PartitionChangeRecord

    cluster.writer.commit(
        PartitionChangeRecord(partition_id=index, topic_id=topic.id, leader=leader)
        for topic in cluster.image.topics.values()
        for index, partition in enumerate(topic.partitions)
        if partition.leader != NO_LEADER
        for leader in (NO_LEADER, partition.leader)
    )
