"""DescribeCluster (key 60): the brokers and the controller.

Reads cluster.brokers. Errors: UNSUPPORTED_ENDPOINT_TYPE.
Source: KIP-700, KIP-919, KIP-1073; KafkaApis.handleDescribeCluster, Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Sequence

from mockbroker.call import Call, handles
from mockbroker.handlers.metadata import ALL_CLUSTER_OPERATIONS, NOT_ASKED_FOR
from mockbroker.state.metadata.view import KnownBroker
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
    with_fenced = call.version >= FENCED_VERSION and request.include_fenced_brokers
    known: Sequence[KnownBroker] = list(cluster.brokers.values()) if with_fenced else call.view.live_brokers()
    return DescribeClusterResponse(
        cluster_id=cluster.id,
        controller_id=call.view.controller_id,
        brokers=[broker_entry(call, broker) for broker in known],
        cluster_authorized_operations=(
            ALL_CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED_FOR
        ),
    )


def broker_entry(call: Call, broker: KnownBroker) -> DescribeClusterResponse.Broker:
    listener = broker.listener(call.session.listener)
    return DescribeClusterResponse.Broker(
        broker_id=broker.id,
        host=listener.host,
        port=listener.port,
        rack=broker.rack,
        is_fenced=call.version >= FENCED_VERSION and not call.view.is_alive(broker.id),
    )
