"""The log directories of brokers, and which of them has a replica: ``log.dirs``, the same paths on every broker.

A replica that was never moved is in the directory of its partition's number, so that they are spread evenly. The
records of a partition are kept once, whatever directories its replicas are in.

Source: KIP-113, KIP-827, KIP-858, KIP-1066; LogManager and ReplicaManager.describeLogDirs, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.state.errors import ApiError
from mockbroker.state.topics.topic import NO_LEADER, Partition
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

VOLUME_BYTES = 2**40
"""How large the volume of each directory is said to be; nothing ever fills it but ``fill_disk``."""

MAX_DIRECTORY_NAME = 255
FUTURE_SUFFIX_LENGTH = len(".") + 32 + len("-future")
"""Of the directory of a replica that is moved, which is named by 32 random digits too. Source: LocalLog."""


class ReplicaSize(NamedTuple):
    """A replica in a directory: its partition, its bytes, and by how many records it is behind the high watermark."""

    partition: Partition
    size_bytes: int
    lag: int


def log_dirs(cluster: Cluster) -> list[str]:
    """The paths of the directories that each broker has, at least one. They are names: nothing is written there."""
    return list(cluster.configs.broker(None, "log.dirs") or cluster.configs.broker(None, "log.dir"))


def is_cordoned(cluster: Cluster, broker_id: int, path: str | None = None) -> bool:
    """True if a broker's directory takes no new replicas, or, without a path, none of its directories does."""
    cordoned = cluster.configs.broker(broker_id, "cordoned.log.dirs")
    return "*" in cordoned or all(one in cordoned for one in ([path] if path else log_dirs(cluster)))


def directory_id(cluster: Cluster, broker_id: int, path: str) -> bytes:
    """The id of a broker's directory (KIP-858), the same in every life of the cluster."""
    return sha256(f"{cluster.id} {broker_id} {path}".encode()).digest()[:16]


def directory_of(cluster: Cluster, partition: Partition, broker_id: int) -> str:
    """The directory that a broker's replica is in."""
    paths = log_dirs(cluster)
    held = partition.registration.directory_of(broker_id)
    for path in paths:
        if held is not None and directory_id(cluster, broker_id, path) == held:
            return path
    return paths[partition.index % len(paths)]


def replicas_in(cluster: Cluster, broker_id: int, path: str) -> Iterator[ReplicaSize]:
    """The replicas in one directory of a broker, by topic and partition as they were created."""
    for partition in cluster.partitions():
        if broker_id in partition.replicas and directory_of(cluster, partition, broker_id) == path:
            behind = 0
            states = partition.replica_states
            if states is not None and broker_id in states.followers and partition.leader not in (broker_id, NO_LEADER):
                behind = max(0, states.high_watermark - states.followers[broker_id].end_offset)
            yield ReplicaSize(partition, partition.log.size_bytes, behind)


def is_full(cluster: Cluster, partition: Partition, broker_id: int) -> bool:
    """Whether the directory with a broker's replica has failed."""
    return partition.overrides is not None and broker_id in partition.overrides.offline


def move_replica(cluster: Cluster, broker_id: int, topic: str, index: int, path: str) -> None:
    """Move a broker's replica to another of its directories, at once; one that it has not got yet will be made there.

    Raises ApiError: INVALID_TOPIC_EXCEPTION for a name that leaves its directory no room for the suffix of a replica
        on its way, LOG_DIR_NOT_FOUND, INVALID_REPLICA_ASSIGNMENT for a cordoned directory,
        UNKNOWN_TOPIC_OR_PARTITION, REPLICA_NOT_AVAILABLE for a partition of which the broker has no replica,
        KAFKA_STORAGE_ERROR where the directory that has it failed.
    """
    if len(f"{topic}-{index}") + FUTURE_SUFFIX_LENGTH > MAX_DIRECTORY_NAME:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, "the name is too long")
    paths = log_dirs(cluster)
    if path not in paths:
        raise ApiError(ErrorCode.LOG_DIR_NOT_FOUND, f"expected a directory of {', '.join(paths)}; got {path}")
    if is_cordoned(cluster, broker_id, path):
        raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"the log directory {path} is cordoned")
    partition = cluster.find_partition(topic, index)
    if broker_id not in partition.replicas:
        chosen = cluster.brokers[broker_id].chosen_dirs
        for topic_id, other in [one for one in chosen if one[0] not in cluster.topic_by_id]:
            del chosen[topic_id, other]
        chosen[partition.topic.id, index] = path
        raise ApiError(ErrorCode.REPLICA_NOT_AVAILABLE, f"broker {broker_id} has no replica of {topic}-{index}")
    if is_full(cluster, partition, broker_id):
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"the directory of {topic}-{index} on broker {broker_id} is full")
    if directory_of(cluster, partition, broker_id) == path:
        return
    _record(cluster, partition, {broker_id: path})


def put_replicas(cluster: Cluster, partitions: Iterable[Partition], new: Collection[int] | None = None) -> None:
    """Record where new replicas are that do not go where their number says: as chosen, or beside what is cordoned.

    Args:
        new: the brokers whose replicas are new; all unless given.
    """
    special = {
        broker.id: broker.chosen_dirs
        for broker in cluster.brokers.values()
        if broker.chosen_dirs or cluster.configs.broker(broker.id, "cordoned.log.dirs")
    }
    for partition in partitions if special else ():
        paths = {}
        for broker_id in partition.replicas if new is None else new:
            own = directory_of(cluster, partition, broker_id)
            path = special.get(broker_id, {}).pop((partition.topic.id, partition.index), own)
            if is_cordoned(cluster, broker_id, path):
                path = next((one for one in log_dirs(cluster) if not is_cordoned(cluster, broker_id, one)), path)
            if path != own:
                paths[broker_id] = path
        if paths:
            _record(cluster, partition, paths)


def _record(cluster: Cluster, partition: Partition, paths: Mapping[int, str]) -> None:
    from protocol.embedded.metadata_topics import PartitionChangeRecord

    directories = [
        directory_id(cluster, replica, paths.get(replica) or directory_of(cluster, partition, replica))
        for replica in partition.replicas
    ]
    topic_id = partition.topic.id
    cluster.writer.commit(
        [PartitionChangeRecord(partition_id=partition.index, topic_id=topic_id, directories=directories)]
    )
