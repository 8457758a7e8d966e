"""The log directories of brokers (``log.dirs``, the same paths on every broker), and the directory of each replica.

A replica that was never moved is in a directory chosen by its partition's number, which spreads them evenly. A
partition's records are stored once, for all directories of its replicas.

Source: KIP-113, KIP-827, KIP-858, KIP-1066; LogManager and ReplicaManager.describeLogDirs, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

from mockbroker.state.errors import ApiError
from mockbroker.state.topics.topic import NO_LEADER, Partition
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

VOLUME_BYTES = 2**40
"""The reported size of each directory's volume; only ``fill_disk`` fills it."""

MAX_DIRECTORY_NAME = 255
FUTURE_SUFFIX_LENGTH = len(".") + 32 + len("-future")
"""Length of the suffix of a moving replica's directory, which includes 32 random digits. Source: LocalLog."""


def log_dirs(cluster: Cluster) -> list[str]:
    """The paths of each broker's directories, at least one. They are names only: no files are written there."""
    return list(cluster.configs.broker(None, "log.dirs") or cluster.configs.broker(None, "log.dir"))


def is_cordoned(cluster: Cluster, broker_id: int, path: str | None = None) -> bool:
    """True if a broker's directory, or without a path all of them, accept no new replicas."""
    cordoned = cluster.configs.broker(broker_id, "cordoned.log.dirs")
    return "*" in cordoned or all(one in cordoned for one in ([path] if path else log_dirs(cluster)))


def directory_id(cluster: Cluster, broker_id: int, path: str) -> bytes:
    """The id of a broker's directory (KIP-858), the same after every restart."""
    return sha256(f"{cluster.id} {broker_id} {path}".encode()).digest()[:16]


def directory_of(cluster: Cluster, partition: Partition, broker_id: int) -> str:
    """The directory of a broker's replica."""
    paths = log_dirs(cluster)
    held = partition.registration.directory_of(broker_id)
    chosen = (path for path in paths if held is not None and directory_id(cluster, broker_id, path) == held)
    return next(chosen, paths[partition.index % len(paths)])


def replicas_in(cluster: Cluster, broker_id: int, path: str) -> list[Partition]:
    """The partitions with a replica in a broker's directory, in the order of topic creation and partition."""
    own = (partition for partition in cluster.partitions() if broker_id in partition.replicas)
    return [partition for partition in own if directory_of(cluster, partition, broker_id) == path]


def lag_of(partition: Partition, broker_id: int) -> int:
    """The lag of a broker's replica behind the high watermark, in records."""
    states = partition.replica_states
    if states is None or broker_id not in states.followers or partition.leader in (broker_id, NO_LEADER):
        return 0
    return max(0, states.high_watermark - states.followers[broker_id].end_offset)


def move_replica(cluster: Cluster, broker_id: int, topic: str, index: int, path: str) -> None:
    """Move a broker's replica to another of its directories at once; a future replica will be created there.

    Raises ApiError: INVALID_TOPIC_EXCEPTION for a name that is too long for the suffix of a moving replica's directory,
        LOG_DIR_NOT_FOUND, INVALID_REPLICA_ASSIGNMENT for a cordoned directory,
        UNKNOWN_TOPIC_OR_PARTITION, REPLICA_NOT_AVAILABLE if the broker has no replica of the partition,
        KAFKA_STORAGE_ERROR if its directory has failed.
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
    if broker_id in partition.overrides.offline:
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"the directory of {topic}-{index} on broker {broker_id} is full")
    if directory_of(cluster, partition, broker_id) == path:
        return
    _record(cluster, partition, {broker_id: path})


def record_directories(cluster: Cluster, partitions: Iterable[Partition], new: Collection[int] | None = None) -> None:
    """Record the directories of new replicas that differ from the default: chosen, or because of cordoned ones.

    Args:
        new: the brokers whose replicas are new; default: all.
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
