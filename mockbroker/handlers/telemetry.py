"""GetTelemetrySubscriptions (key 71), PushTelemetry (72): what brokers ask of clients, and what those report.

Read and write cluster.configs.reports. ApiVersions names them only where ``client.telemetry.enable`` is set, as Kafka
does only with a receiver. Errors: INVALID_REQUEST, THROTTLING_QUOTA_EXCEEDED, UNKNOWN_SUBSCRIPTION_ID,
UNSUPPORTED_COMPRESSION_TYPE, TELEMETRY_TOO_LARGE, INVALID_RECORD.
Source: KIP-714; ClientMetricsManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.call import Call, handles
from mockbroker.state.client_metrics import COMPRESSION_TYPES, MAX_BYTES
from protocol.apis.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
    PushTelemetryResponse,
)


@handles(GetTelemetrySubscriptionsRequest)
def get_telemetry_subscriptions(
    call: Call, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    """What a client is to report, and how often."""
    cluster = call.cluster
    client = cluster.configs.reports.subscribe(
        call.broker.id, request.client_instance_id, attributes(call), call.session.connection, call.now_ms
    )
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=client.id,
        subscription_id=client.subscription_id,
        accepted_compression_types=list(COMPRESSION_TYPES),
        push_interval_ms=client.push_interval_ms,
        telemetry_max_bytes=cluster.configs.broker(call.broker.id, MAX_BYTES),
        delta_temporality=True,
        requested_metrics=list(client.metrics),
    )


@handles(PushTelemetryRequest)
def push_telemetry(call: Call, request: PushTelemetryRequest) -> PushTelemetryResponse:
    """Take in what a client reports."""
    call.cluster.configs.reports.push(
        call.broker.id,
        request.client_instance_id,
        attributes(call),
        call.session.connection,
        call.now_ms,
        subscription_id=request.subscription_id,
        compression_type=request.compression_type,
        metrics=bytes(request.metrics),
        is_last=request.terminating,
    )
    return PushTelemetryResponse()


def attributes(call: Call) -> dict[str, str | None]:
    """What subscriptions may ask of a client."""
    name, version = call.session.software
    return {
        "client_id": call.session.client_id,
        "client_software_name": name,
        "client_software_version": version,
        "client_source_address": call.session.address or None,
    }
