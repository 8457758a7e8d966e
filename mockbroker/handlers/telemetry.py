"""GetTelemetrySubscriptions (key 71), PushTelemetry (72): subscriptions without metrics.

ApiVersions does not list them, as Kafka lists them only with a receiver of metrics. A client that sends them anyway
gets a subscription without metrics, whatever subscriptions are configured; the broker drops what it pushes.
Errors: INVALID_REQUEST, UNKNOWN_SUBSCRIPTION_ID.
Source: KIP-714; ClientMetricsManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import Needs, handles
from mockbroker.call import Call
from mockbroker.state.errors import ApiError
from mockbroker.state.topics.topic import random_uuid
from protocol import ZERO_UUID
from protocol.apis.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
    PushTelemetryResponse,
)
from protocol.error_codes import ErrorCode
from protocol.records.checksum import crc32c

INTERVAL_MS = 300_000
RESERVED_IDS = (ZERO_UUID, bytes(15) + b"\x01")
COMPRESSION_TYPES = (4, 3, 1, 2)  # zstd, lz4, gzip, snappy: in the broker's order of preference


@handles(GetTelemetrySubscriptionsRequest, access=Needs(note="Nothing"))
def get_telemetry_subscriptions(
    call: Call, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    """A subscription without metrics; a client without an id gets one."""
    client_id = request.client_instance_id
    if client_id == ZERO_UUID:
        client_id = random_uuid(call.cluster.rng)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=client_id,
        subscription_id=subscription_number(client_id),
        accepted_compression_types=list(COMPRESSION_TYPES),
        push_interval_ms=INTERVAL_MS,
        telemetry_max_bytes=call.cluster.configs.broker(call.broker.id, "telemetry.max.bytes"),
        delta_temporality=True,
    )


@handles(PushTelemetryRequest, access=Needs(note="Nothing"))
def push_telemetry(call: Call, request: PushTelemetryRequest) -> PushTelemetryResponse:
    """Drop the client's metrics. Raises ApiError: INVALID_REQUEST for no id, UNKNOWN_SUBSCRIPTION_ID."""
    if request.client_instance_id in RESERVED_IDS:
        raise ApiError(ErrorCode.INVALID_REQUEST, "expected the id of a client instance, got none")
    if request.subscription_id != subscription_number(request.client_instance_id):
        raise ApiError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
    return PushTelemetryResponse()


def subscription_number(client_id: bytes) -> int:
    """The id of a client's subscription without metrics: a signed 32-bit number."""
    number = crc32c(f"[]{INTERVAL_MS}".encode())
    for start in range(0, 16, 4):
        number ^= int.from_bytes(client_id[start : start + 4], "big")
    return number - (1 << 32) if number >= 1 << 31 else number
