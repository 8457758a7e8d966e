"""DescribeQuorum (key 55): the controller's log, its leader, voters and observers.

The controller is the only voter. The other brokers that it reaches are observers and have read the whole log.
Errors, per partition: UNKNOWN_TOPIC_OR_PARTITION, unless the request has only partition 0 of ``__cluster_metadata``.
Source: KIP-595, KIP-836, KIP-853; KafkaRaftClient.handleDescribeQuorumRequest, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import Any, NoReturn

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller
from mockbroker.handlers.error_responses import answer_parts
from mockbroker.state.brokers.log_dirs import directory_id, log_dirs
from mockbroker.state.errors import ApiError
from mockbroker.state.replicas.network import CONTROLLER
from mockbroker.subjects import nothing_named
from protocol.apis.raft import DescribeQuorumRequest, DescribeQuorumResponse
from protocol.error_codes import ErrorCode

METADATA_TOPIC = "__cluster_metadata"
CONTROLLER_EPOCH = 1
DIRECTORY_VERSION = 2  # directories and addresses
CONTROLLER_LISTENER = "CONTROLLER"
NO_DIRECTORY = bytes(16)  # of a voter by controller.quorum.voters

Topic = DescribeQuorumResponse.Topic
Replica = Topic.Partition.Replica
Node = DescribeQuorumResponse.Node


@handles(
    DescribeQuorumRequest, access=Needs(cluster="Describe"), errors=Errors(words="meaning"), subjects=nothing_named
)
def describe_quorum(call: Call, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """The quorum, if the request has its one partition and no other."""
    check_controller(call)
    requested = [(topic.topic_name, [one.partition_index for one in topic.partitions]) for topic in request.topics]
    if requested == [(METADATA_TOPIC, [0])]:
        return quorum(call)
    return answer_parts(call, request, DescribeQuorumResponse, refuse)


def refuse(*_part: Any) -> NoReturn:
    raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def quorum(call: Call) -> DescribeQuorumResponse:
    cluster = call.cluster
    leader_id, end_offset, wall_ms = cluster.support.controller_id, cluster.version + 1, cluster.clock.at(call.now_ms)
    path = log_dirs(cluster)[0]

    def replica(broker_id: int, directory: bytes) -> Replica:
        return Replica(
            replica_id=broker_id,
            replica_directory_id=directory if call.version >= DIRECTORY_VERSION else NO_DIRECTORY,
            log_end_offset=end_offset,
            last_fetch_timestamp=wall_ms,
            last_caught_up_timestamp=wall_ms,
        )

    observers = [
        replica(broker.id, directory_id(cluster, broker.id, path))
        for broker in cluster.brokers.values()
        if broker.is_running and broker.id != leader_id and cluster.network.connects(broker.id, CONTROLLER)
    ]
    partition = Topic.Partition(
        leader_id=leader_id,
        leader_epoch=CONTROLLER_EPOCH,
        high_watermark=end_offset,
        current_voters=[replica(leader_id, NO_DIRECTORY)],
        observers=observers,
    )
    response = DescribeQuorumResponse(topics=[Topic(topic_name=METADATA_TOPIC, partitions=[partition])])
    leader = cluster.brokers.get(leader_id)
    if leader is not None and call.version >= DIRECTORY_VERSION:
        listener = Node.Listener(name=CONTROLLER_LISTENER, host=leader.host, port=leader.port)
        response.nodes = [Node(node_id=leader_id, listeners=[listener])]
    return response
