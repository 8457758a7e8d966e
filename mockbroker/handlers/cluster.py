"""UpdateFeatures (key 57), DescribeCluster (60), UnregisterBroker (64): the brokers, the controller and their features.

Reads cluster.brokers; UpdateFeatures changes the levels of features, UnregisterBroker the registrations.
Errors: UNSUPPORTED_ENDPOINT_TYPE, MISMATCHED_ENDPOINT_TYPE, INVALID_UPDATE_VERSION, BROKER_ID_NOT_REGISTERED.
Source: KIP-584, KIP-700, KIP-778, KIP-919, KIP-1022, KIP-1073; KafkaApis.handleDescribeCluster and
QuorumController.updateFeatures, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller
from mockbroker.handlers.metadata import cluster_operations
from mockbroker.state.features import FeatureUpdate, update_features
from mockbroker.state.metadata import KnownBroker
from protocol.apis.cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from protocol.error_codes import ErrorCode

BROKERS, CONTROLLERS = 1, 2  # endpoint types; controllers have no endpoints here
FENCED_VERSION = 2
RESULTS_VERSION = 1  # the last in which UpdateFeatures answers feature by feature


@handles(DescribeClusterRequest, access=Needs(note="authorized operations: Describe on the cluster"))
def describe_cluster(call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """The brokers that are up, and on request those that are down, as fenced."""
    cluster = call.cluster
    if call.version >= 1 and request.endpoint_type != BROKERS:
        is_known = request.endpoint_type == CONTROLLERS
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE if is_known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"expected endpoint type 1, brokers, got {request.endpoint_type}",
        )
    with_fenced = call.version >= FENCED_VERSION and request.include_fenced_brokers
    known: Sequence[KnownBroker] = call.view.live_brokers()
    if with_fenced:
        known = [broker for broker in cluster.brokers.values() if broker.registration is not None]
    return DescribeClusterResponse(
        cluster_id=cluster.id,
        controller_id=call.view.controller_id,
        brokers=[broker_entry(call, broker) for broker in known],
        cluster_authorized_operations=cluster_operations(call, request),
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


@handles(UpdateFeaturesRequest, access=Needs(cluster="Alter", in_words=True))
def update_feature_levels(call: Call, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    """Change the levels of all features of the request, or of none. Version 0 can only raise levels."""
    check_controller(call)
    updates = [FeatureUpdate(one.feature, one.max_version_level, one.upgrade_type) for one in request.feature_updates]
    update_features(call.cluster, updates, validate_only=request.validate_only)
    if call.version > RESULTS_VERSION:
        return UpdateFeaturesResponse(error_message=None)
    return UpdateFeaturesResponse(
        error_message=None,
        # Kafka's message is NONE here, null elsewhere.
        results=[UpdateFeaturesResponse.Result(feature=one.name, error_message="NONE") for one in updates],
    )


@handles(UnregisterBrokerRequest, access=Needs(cluster="Alter"), errors=Errors(words="meaning"))
def unregister_broker(call: Call, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    """Forget a broker until it starts again."""
    check_controller(call)
    call.cluster.cluster_control.unregister(request.broker_id, call.now_ms)
    return UnregisterBrokerResponse(error_message=None)
