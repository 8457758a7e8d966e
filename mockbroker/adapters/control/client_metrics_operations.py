"""Looking at what clients report of themselves (KIP-714)."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from mockbroker.adapters.control.operations import ControlCall, operation
from mockbroker.state.client_metrics import ENABLED, uuid_text
from mockbroker.state.configs.effective import CLIENT_METRICS


class SubscriptionView(msgspec.Struct):
    """What is asked of clients: prefixes of metrics' names, how often, and of which clients."""

    name: str
    metrics: list[str]
    interval_ms: int
    match: list[str]


class ClientView(msgspec.Struct):
    """A client that has asked a broker what to report."""

    id: str
    broker: int
    client_id: str | None
    software_name: str | None
    software_version: str | None
    metrics: list[str]
    push_interval_ms: int


class PushView(msgspec.Struct):
    """What one client reported once; ``names`` are those of its metrics, ``metrics`` the bytes as base64."""

    client: str
    client_id: str | None
    broker: int
    time_ms: int
    is_last: bool
    compression_type: int
    names: list[str]
    metrics: str


class ClientMetricsView(msgspec.Struct):
    """Subscriptions, clients and pushes, the oldest first; of pushes the last 4 MiB."""

    enabled: bool
    subscriptions: list[SubscriptionView]
    clients: list[ClientView]
    pushes: list[PushView]


@operation(
    "GET",
    "/client-metrics",
    "What clients report of themselves",
    tag="cluster",
    answer=ClientMetricsView,
    statuses=(409,),
)
async def client_metrics(call: ControlCall) -> Any:
    """Who is asked for what, and what was pushed. Refused before a real cluster."""
    call.must_be_ours(
        "kafka-client-metrics.sh shows what is asked of them, and GET /requests?api=PushTelemetry who tells"
    )
    state = call.state
    configs = state.configs
    subscriptions = [
        SubscriptionView(
            name,
            list(configs.client_metrics(name, "metrics")),
            configs.client_metrics(name, "interval.ms"),
            list(configs.client_metrics(name, "match")),
        )
        for name in configs.resources(CLIENT_METRICS)
    ]
    view = ClientMetricsView(bool(state.settings[ENABLED]), subscriptions, [], [])
    if state.configs.has_reports:
        view.clients = [
            ClientView(
                uuid_text(client.id),
                broker_id,
                client.attributes.get("client_id"),
                client.attributes.get("client_software_name"),
                client.attributes.get("client_software_version"),
                list(client.metrics),
                client.push_interval_ms,
            )
            for broker_id, clients in sorted(state.configs.reports.clients.items())
            for client in clients.values()
        ]
        view.pushes = [
            PushView(
                push.client_instance_id,
                push.client_id,
                push.broker,
                push.time_ms,
                push.is_last,
                push.compression_type,
                list(push.names),
                base64.b64encode(push.metrics).decode(),
            )
            for push in state.configs.reports.pushes
        ]
    return view
