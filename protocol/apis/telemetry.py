"""GetTelemetrySubscriptions (key 71) and PushTelemetry (72): clients report their metrics (KIP-714)."""

from ..declare import field, request, response
from ..wire import Array, Bool, Bytes, Int8, Int16, Int32, String, Uuid


@request(key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsRequest:
    """A client asks what to report."""

    client_instance_id: bytes = field(Uuid)  # zero: give me one


@response(key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsResponse:
    """Which metrics, how often, how compressed."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    client_instance_id: bytes = field(Uuid)
    subscription_id: int = field(Int32)
    accepted_compression_types: list[int] = field(Array(Int8))
    push_interval_ms: int = field(Int32)
    telemetry_max_bytes: int = field(Int32)
    delta_temporality: bool = field(Bool)
    requested_metrics: list[str] = field(Array(String))  # prefixes of names; one empty name: all


@request(key=72, versions="0", flexible="0+")
class PushTelemetryRequest:
    """The metrics, in the format of OpenTelemetry."""

    client_instance_id: bytes = field(Uuid)
    subscription_id: int = field(Int32)
    terminating: bool = field(Bool)  # the last push
    compression_type: int = field(Int8)
    metrics: bytes = field(Bytes)


@response(key=72, versions="0", flexible="0+")
class PushTelemetryResponse:
    """Says if the broker took the metrics."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
