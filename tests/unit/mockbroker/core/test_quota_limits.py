"""Quotas throttle: clients are told for how long to be quiet, by Kafka's window of eleven samples."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.quotas.client_quotas import quota_records
from mockbroker.state.quotas.usage import Usage
from protocol.apis.produce import ProduceRequest
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request

RATE = 1000.0


@pytest.fixture
def sim() -> Simulation:
    """One partition, led by broker 0, with one record of 20,000 bytes."""
    sim = Simulation("a,b")
    sim.cluster.replication_control.create(TOPIC, assignment=[[0], [1]])
    produce(sim, 20_000)
    return sim


def limit(sim: Simulation, entity: dict[str, str | None], key: str, rate: float | None = RATE) -> None:
    sim.cluster.writer.commit(quota_records(sim.cluster.image, entity, [(key, rate)]))


def produce(sim: Simulation, size: int, *, client_id: str = "app", index: int = 0) -> int:
    entry = ProduceRequest.Topic.Partition(index=index, records=batch(b"x" * size))
    request = ProduceRequest(
        acks=1, timeout_ms=1000, topic_data=[ProduceRequest.Topic(name=TOPIC, partition_data=[entry])]
    )
    ticket = sim.send(request, version=9, broker=index, client_id=client_id)
    answer = sim.replies[ticket]
    assert answer.responses[0].partition_responses[0].error_code == 0
    return int(answer.throttle_time_ms)


def fetch(sim: Simulation, *, client_id: str = "app") -> int:
    ticket = sim.send(fetch_request(0, topic=TOPIC), version=12, client_id=client_id)
    answer = sim.replies[ticket]
    assert answer.responses[0].partitions[0].records
    return int(answer.throttle_time_ms)


def test_without_a_quota_nobody_is_throttled(sim):
    assert produce(sim, 100_000) == fetch(sim) == 0


def test_ten_seconds_worth_may_come_at_once_and_what_is_more_takes_its_time(sim):
    limit(sim, {"client-id": "app"}, "producer_byte_rate")
    assert produce(sim, 9_000) == 0
    throttle_ms = produce(sim, 9_000)
    assert 8_000 < throttle_ms < 9_000
    sim.advance(21_000)
    assert produce(sim, 1_000) == 0


def test_a_reader_that_is_given_too_much_is_told_to_be_quiet(sim):
    limit(sim, {"client-id": "app"}, "consumer_byte_rate")
    assert 10_000 < fetch(sim) < 11_000
    assert produce(sim, 100_000) == 0


def test_a_client_is_not_held_to_the_quota_of_another(sim):
    limit(sim, {"client-id": "app"}, "producer_byte_rate")
    assert produce(sim, 100_000, client_id="other") == 0
    assert produce(sim, 100_000) > 0


def test_clients_of_a_default_quota_count_each_by_itself(sim):
    limit(sim, {"client-id": None}, "producer_byte_rate")
    assert produce(sim, 9_000, client_id="one") == 0
    assert produce(sim, 9_000, client_id="two") == 0
    assert produce(sim, 9_000, client_id="one") > 0


def test_clients_of_one_user_share_his_quota(sim):
    limit(sim, {"user": "ANONYMOUS"}, "producer_byte_rate")
    assert produce(sim, 9_000, client_id="one") == 0
    assert produce(sim, 9_000, client_id="two") > 0


def test_the_quota_of_user_and_client_counts_before_the_others(sim):
    limit(sim, {"user": "ANONYMOUS"}, "producer_byte_rate")
    limit(sim, {"user": "ANONYMOUS", "client-id": "app"}, "producer_byte_rate", 1e9)
    assert produce(sim, 100_000) == 0
    assert produce(sim, 100_000, client_id="other") > 0


def test_each_broker_counts_by_itself(sim):
    limit(sim, {"client-id": "app"}, "producer_byte_rate")
    assert produce(sim, 9_000) == 0
    assert produce(sim, 9_000, index=1) == 0


def test_a_quota_that_was_removed_throttles_nobody(sim):
    limit(sim, {"client-id": "app"}, "producer_byte_rate")
    assert produce(sim, 100_000) > 0
    limit(sim, {"client-id": "app"}, "producer_byte_rate", None)
    assert produce(sim, 100_000) == 0


def test_samples_are_forgotten_after_eleven_seconds():
    usage = Usage()
    for second in range(11):
        usage.record(1_500, second * 1000)
    assert usage.throttle_ms(RATE, 10_999) > 0
    assert usage.throttle_ms(RATE, 16_000) == 0
