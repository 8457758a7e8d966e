from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from protocol import ZERO_UUID
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.configs import IncrementalAlterConfigsRequest
from protocol.apis.telemetry import GetTelemetrySubscriptionsRequest, PushTelemetryRequest
from protocol.error_codes import ErrorCode
from protocol.records.compression import CompressionCodec, compress

NAME = b"org.apache.kafka.consumer.fetch"
BUSY = ErrorCode.THROTTLING_QUOTA_EXCEEDED


def field(number: int, content: bytes) -> bytes:
    """A field with a length, as protobuf has it."""
    return bytes([number << 3 | 2, len(content)]) + content


METRICS = field(1, field(2, field(2, field(1, NAME))))


@pytest.fixture
def sim() -> Simulation:
    """Brokers that keep what clients push, of which they want two metrics each second."""
    sim = Simulation(settings={"client.telemetry.enable": "true", "telemetry.max.bytes": "100"})
    subscribe(sim, "all", **{"interval.ms": "1000", "metrics": "b,a"})
    return sim


def subscribe(sim: Simulation, name: str, **configs: str) -> None:
    resource = IncrementalAlterConfigsRequest.Resource(resource_type=16, resource_name=name)
    for config, value in configs.items():
        resource.configs.append(resource.Config(name=config, config_operation=0, value=value))
    (answer,) = sim.ask(IncrementalAlterConfigsRequest(resources=[resource]), version=1).responses
    assert answer.error_code == 0, answer.error_message


def get(sim: Simulation, client: bytes = ZERO_UUID, **where):
    return sim.ask(GetTelemetrySubscriptionsRequest(client_instance_id=client), version=0, **where)


def push(sim: Simulation, subscription, metrics: bytes = METRICS, **fields) -> int:
    told = {
        "client_instance_id": subscription.client_instance_id,
        "subscription_id": subscription.subscription_id,
        "metrics": metrics,
    } | fields
    return sim.ask(PushTelemetryRequest(**told), version=0).error_code


def test_a_client_is_given_an_id_and_told_what_to_push_and_how_often(sim):
    told = get(sim)
    assert told.error_code == 0
    assert told.client_instance_id != ZERO_UUID
    assert (told.requested_metrics, told.push_interval_ms, told.telemetry_max_bytes) == (["a", "b"], 1000, 100)
    assert told.accepted_compression_types == [4, 3, 1, 2]


def test_what_is_pushed_is_kept_with_the_names_of_its_metrics(sim):
    told = get(sim)
    assert push(sim, told) == 0
    sim.advance(1000)
    packed = compress(CompressionCodec.GZIP, METRICS)
    assert push(sim, told, packed, compression_type=int(CompressionCodec.GZIP)) == 0
    assert [one.names for one in sim.cluster.configs.reports.pushes] == [(NAME.decode(),)] * 2


def test_a_client_comes_once_an_interval(sim):
    told = get(sim)
    assert get(sim, told.client_instance_id).error_code == BUSY
    assert push(sim, told) == 0
    sim.advance(999)
    assert push(sim, told) == BUSY
    sim.advance(1)
    assert push(sim, told) == 0


def test_what_cannot_be_taken_is_refused(sim):
    told = get(sim)
    assert push(sim, told, client_instance_id=ZERO_UUID) == ErrorCode.INVALID_REQUEST
    assert push(sim, told, subscription_id=told.subscription_id + 1) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert get(sim, told.client_instance_id).error_code == 0, "whoever has the wrong subscription may ask at once"
    for wrong, code in (
        ({"compression_type": 5}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"metrics": b"x" * 101}, ErrorCode.TELEMETRY_TOO_LARGE),
        ({"metrics": b"\xff"}, ErrorCode.INVALID_RECORD),
    ):
        sim.advance(1000)
        assert push(sim, told, **wrong) == code


def test_nothing_follows_the_last_push(sim):
    told = get(sim)
    assert push(sim, told, terminating=True) == 0
    sim.advance(1000)
    assert push(sim, told, terminating=True) == ErrorCode.INVALID_REQUEST


def test_a_new_subscription_is_for_those_that_it_matches(sim):
    told = get(sim, client_id="app-1")
    subscribe(sim, "some", **{"match": "client_id=app-.*", "metrics": "*", "interval.ms": "200"})
    assert push(sim, told) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    again = get(sim, told.client_instance_id, client_id="app-1")
    assert (again.requested_metrics, again.push_interval_ms) == (["*"], 200)
    assert get(sim, client_id="other").requested_metrics == ["a", "b"]


def test_clients_hear_of_telemetry_only_where_something_keeps_it(sim):
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    for cluster, shown in ((sim, {71, 72}), (Simulation(), set())):
        versions = cluster.ask(request, version=3).api_keys
        assert {one.api_key for one in versions} & {71, 72} == shown


def test_a_broker_forgets_a_client_that_is_gone(sim):
    told = get(sim)
    sim.advance(60_000)
    assert not sim.cluster.configs.reports.clients[0]
    assert push(sim, told) == 0, "its subscription is still what it was"


def test_pushes_are_kept_up_to_some_bytes(sim, monkeypatch):
    monkeypatch.setattr("mockbroker.state.client_metrics.MAX_KEPT_BYTES", 3 * len(METRICS))
    told = get(sim)
    for _ in range(5):
        assert push(sim, told) == 0
        sim.advance(1000)
    assert len(sim.cluster.configs.reports.pushes) == 3
