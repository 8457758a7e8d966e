"""DescribeCluster (key 60): the brokers and the controller.

Reads cluster.brokers. Errors: UNSUPPORTED_ENDPOINT_TYPE.
Source: KIP-700, KIP-919, KIP-1073; KafkaApis.handleDescribeCluster, Apache Kafka.
"""

from __future__ import annotations

from mockbroker.call import Call, handles
from mockbroker.handlers.metadata import ALL_CLUSTER_OPERATIONS, NOT_ASKED_FOR
from protocol.apis.cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.error_codes import ErrorCode

BROKERS = 1  # endpoint type; 2 is controllers, which have no endpoints here
FENCED_VERSION = 2


@handles(DescribeClusterRequest)
def describe_cluster(call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """The brokers that are up; those that are down too, as fenced, where the client asks for them."""
    cluster = call.cluster
    if call.version >= 1 and request.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"endpoint type {request.endpoint_type}, but 1 is served",
            endpoint_type=request.endpoint_type,
        )
    if cluster.zookeeper is not None:
        return told_cluster(call, request)
    with_fenced = call.version >= FENCED_VERSION and request.include_fenced_brokers
    brokers = []
    for broker in cluster.brokers.values() if with_fenced else cluster.online_brokers():
        listener = broker.listener(call.session.listener)
        entry = DescribeClusterResponse.Broker(
            broker_id=broker.id, host=listener.host, port=listener.port, rack=broker.rack
        )
        if not broker.online:
            entry.is_fenced = True
        brokers.append(entry)
    return DescribeClusterResponse(
        cluster_id=cluster.id,
        controller_id=cluster.controller_id(),
        brokers=brokers,
        cluster_authorized_operations=(
            ALL_CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED_FOR
        ),
    )


def told_cluster(call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """What the broker was told, in Zookeeper mode."""
    from mockbroker.handlers.metadata_told import cache_of, told_brokers

    cache = cache_of(call)
    operations = ALL_CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED_FOR
    return DescribeClusterResponse(
        cluster_id=call.cluster.id,
        controller_id=cache.controller_id,
        brokers=[
            DescribeClusterResponse.Broker(broker_id=one.node_id, host=one.host, port=one.port, rack=one.rack)
            for one in told_brokers(call, cache)
        ],
        cluster_authorized_operations=operations,
    )
