"""AlterPartitionReassignments (key 45), ListPartitionReassignments (46): replicas move to other brokers.

A move is done before its answer goes out, since every replica has what its leader has: none is ever under way.
Reads cluster.topics; AlterPartitionReassignments changes partitions' replicas.
Errors, per partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR,
NO_REASSIGNMENT_IN_PROGRESS, NOT_CONTROLLER in ZooKeeper mode.
Source: KIP-455, KIP-860; ReplicationControlManager.alterPartitionReassignments, Apache Kafka.
"""

from __future__ import annotations

from mockbroker.call import Call, handles
from mockbroker.handlers.controlled import check_controller
from mockbroker.state.errors import ApiError
from protocol.apis.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from protocol.error_codes import ErrorCode

TopicMoves = AlterPartitionReassignmentsResponse.Topic
FACTOR_VERSION = 1


@handles(AlterPartitionReassignmentsRequest)
def alter_reassignments(call: Call, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
    """Move each partition by itself."""
    may_resize = request.allow_replication_factor_change or call.version < FACTOR_VERSION
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=[
            TopicMoves(
                name=topic.name,
                partitions=[moved(call, topic.name, partition, may_resize) for partition in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def moved(
    call: Call, topic: str, wanted: AlterPartitionReassignmentsRequest.Topic.Partition, may_resize: bool
) -> TopicMoves.Partition:
    entry = TopicMoves.Partition(partition_index=wanted.partition_index, error_message=None)
    try:
        check_controller(call)
        if wanted.replicas is None:
            call.cluster.find_partition(topic, wanted.partition_index)
            raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "no reassignment is under way")
        call.cluster.reassign(topic, wanted.partition_index, wanted.replicas, may_resize=may_resize)
    except ApiError as error:
        entry.error_code, entry.error_message = error.code, error.message
    return entry


@handles(ListPartitionReassignmentsRequest)
def list_reassignments(call: Call, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    """Moves are done at once, so there are none to list."""
    return ListPartitionReassignmentsResponse(error_message=None)
