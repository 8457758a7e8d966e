"""Clients that ask for telemetry all the same."""

from __future__ import annotations

import pytest

from protocol import ZERO_UUID
from protocol.apis.telemetry import GetTelemetrySubscriptionsRequest, PushTelemetryRequest
from protocol.error_codes import ErrorCode


def test_a_client_gets_an_id_and_a_subscription_without_metrics(sim):
    found = sim.ask(GetTelemetrySubscriptionsRequest(client_instance_id=ZERO_UUID), version=0)
    assert found.client_instance_id != ZERO_UUID
    assert (found.error_code, found.requested_metrics, found.push_interval_ms) == (0, [], 300_000)
    again = sim.ask(GetTelemetrySubscriptionsRequest(client_instance_id=found.client_instance_id), version=0)
    assert again == found


@pytest.mark.parametrize(
    ("client_id", "is_right", "code"),
    [
        (bytes(range(16)), True, ErrorCode.NONE),
        (bytes(range(16)), False, ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
        (ZERO_UUID, True, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_push_is_taken_by_the_number_of_its_subscription(sim, client_id, is_right, code):
    number = sim.ask(GetTelemetrySubscriptionsRequest(client_instance_id=client_id), version=0).subscription_id
    push = PushTelemetryRequest(
        client_instance_id=client_id, subscription_id=number if is_right else number ^ 1, metrics=b"any"
    )
    assert sim.ask(push, version=0).error_code == code
