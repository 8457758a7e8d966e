"""AlterReplicaLogDirs (key 34), DescribeLogDirs (35): the broker's log directories and their replicas.

Reads cluster.topics; AlterReplicaLogDirs moves replicas between directories, at once.
Errors, per partition: LOG_DIR_NOT_FOUND, INVALID_REPLICA_ASSIGNMENT, UNKNOWN_TOPIC_OR_PARTITION,
REPLICA_NOT_AVAILABLE, KAFKA_STORAGE_ERROR; the last one also for a directory that has failed.
Source: KIP-113, KIP-827, KIP-1066; KafkaApis.handleAlterReplicaLogDirsRequest and handleDescribeLogDirsRequest,
ReplicaManager.alterReplicaLogDirs and describeLogDirs, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.error_responses import by_topic, reported
from mockbroker.state.brokers.log_dirs import (
    VOLUME_BYTES,
    is_cordoned,
    lag_of,
    log_dirs,
    move_replica,
    replicas_in,
)
from mockbroker.state.image import TopicPartition
from protocol.apis.log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from protocol.error_codes import ErrorCode

Moved = AlterReplicaLogDirsResponse.Topic
Result = DescribeLogDirsResponse.Result


@handles(
    AlterReplicaLogDirsRequest, access=Needs(cluster="Alter"), errors=Errors(requested=("dirs.topics", "partitions"))
)
def alter_replica_log_dirs(call: Call, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    """Move each replica; if a request names several directories for a partition, the last one counts."""
    wanted = {
        (topic.name, index): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    }
    entries = {place: Moved.Partition(partition_index=place[1]) for place in wanted}
    for place, path in wanted.items():
        with reported(entries[place]):
            move_replica(call.cluster, call.broker.id, *place, path)
    return AlterReplicaLogDirsResponse(results=by_topic(Moved, entries, key="topic_name"))


@handles(DescribeLogDirsRequest, access=Needs(cluster="Describe"), errors=Errors(parts="none"))
def describe_log_dirs(call: Call, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """Each directory of the broker, with the requested replicas that it has."""
    wanted: set[TopicPartition] | None = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    return DescribeLogDirsResponse(results=[described(call, path, wanted) for path in log_dirs(call.cluster)])


def described(call: Call, path: str, wanted: set[TopicPartition] | None) -> Result:
    cluster, broker_id = call.cluster, call.broker.id
    partitions = {(one.topic.name, one.index): one for one in replicas_in(cluster, broker_id, path)}
    if any(broker_id in one.overrides.offline for one in partitions.values()):
        return Result(log_dir=path, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    used_bytes = sum(one.log.size_bytes for one in partitions.values())
    entries = {
        place: Result.Topic.Partition(
            partition_index=one.index, partition_size=one.log.size_bytes, offset_lag=lag_of(one, broker_id)
        )
        for place, one in partitions.items()
        if wanted is None or place in wanted
    }
    return Result(
        log_dir=path,
        topics=by_topic(Result.Topic, entries),
        is_cordoned=is_cordoned(cluster, broker_id, path),
        total_bytes=VOLUME_BYTES,
        usable_bytes=max(0, VOLUME_BYTES - used_bytes),
    )
