"""AlterPartitionReassignments (key 45), ListPartitionReassignments (46): moves of replicas to other brokers.

A move to brokers that are up completes before its answer is sent, unless throttles slow its replicas.
Reads cluster.topics; AlterPartitionReassignments changes partitions' replicas.
Errors, per partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR,
NO_REASSIGNMENT_IN_PROGRESS, NOT_CONTROLLER in ZooKeeper mode.
Source: KIP-455, KIP-860; ReplicationControlManager.alterPartitionReassignments, Apache Kafka.
"""

from __future__ import annotations

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller, check_deadline
from mockbroker.handlers.error_responses import answer_parts
from mockbroker.state.topics.reassigning import Move
from protocol.apis.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

TopicMove = ListPartitionReassignmentsResponse.Topic
FACTOR_VERSION = 1


@handles(
    AlterPartitionReassignmentsRequest,
    access=Needs(cluster="Alter", in_words=True),
    errors=Errors(injected="request", parts="0+"),
)
def alter_reassignments(call: Call, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
    """Move each partition; all moves start from the replicas before the request."""
    if not request.topics:
        return AlterPartitionReassignmentsResponse()
    check_deadline(call, request.timeout_ms)
    may_resize = request.allow_replication_factor_change or call.version < FACTOR_VERSION
    moves: list[Move] = []
    reassignments = call.cluster.replication_control.reassignments

    def plan(
        _call: Call,
        entry: AlterPartitionReassignmentsResponse.Topic.Partition,
        topic: AlterPartitionReassignmentsRequest.Topic,
        wanted: AlterPartitionReassignmentsRequest.Topic.Partition,
    ) -> None:
        entry.error_message = None
        check_controller(call)
        moves.append(reassignments.plan(topic.name, wanted.partition_index, wanted.replicas, may_resize=may_resize))

    response = answer_parts(call, request, AlterPartitionReassignmentsResponse, plan)
    response.allow_replication_factor_change = request.allow_replication_factor_change
    response.error_message = None
    if moves:
        reassignments.start(moves)
    return response


@handles(
    ListPartitionReassignmentsRequest,
    access=Needs(cluster="Describe", in_words=True),
    errors=Errors(parts="0+", answered=("topics", "partitions")),
)
def list_reassignments(call: Call, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    """The moves in progress, of the requested partitions or of all."""
    check_controller(call)
    moving: dict[str, dict[int, TopicMove.Partition]] = {}
    for partition in call.cluster.replication_control.reassignments.under_way():
        moving.setdefault(partition.topic.name, {})[partition.index] = TopicMove.Partition(
            partition_index=partition.index,
            replicas=list(partition.replicas),
            adding_replicas=list(partition.registration.adding_replicas),
            removing_replicas=list(partition.registration.removing_replicas),
        )
    wanted = [(name, list(entries)) for name, entries in moving.items()]
    if request.topics is not None:
        wanted = [(topic.name, topic.partition_indexes) for topic in request.topics]
    topics = []
    for name, indexes in wanted:
        entries = moving.get(name, {})
        if found := [entries[index] for index in indexes if index in entries]:
            topics.append(TopicMove(name=name, partitions=found))
    return ListPartitionReassignmentsResponse(error_message=None, topics=topics)
