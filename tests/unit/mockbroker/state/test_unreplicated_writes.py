"""Coordinators while too few replicas of their partition are in sync; what Kafka answers is in fixtures/answers."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, SHARE_TOPIC, TRANSACTIONS_TOPIC
from protocol.error_codes import ErrorCode
from tests.transaction_driver import TransactionalProducer, fetched


@pytest.fixture
def sim(sim: Simulation) -> Simulation:
    """Three brokers on racks a, b and c; topic orders with two partitions."""
    sim.cluster.create_topic("orders", 2)
    return sim


def two_down(sim: Simulation, topic: str, key: str) -> int:
    """Leave one broker of three; gives it, which coordinates the key then."""
    left: int = sim.cluster.internal_topics.coordinator(topic, key).id
    for broker in range(3):
        if broker != left:
            sim.stop_broker(broker)
    return left


def all_up(sim: Simulation) -> None:
    for broker in range(3):
        sim.start_broker(broker)


# transactions


def test_a_transaction_ends_only_once_enough_replicas_are_in_sync(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == producer.send(b"a") == 0
    two_down(sim, TRANSACTIONS_TOPIC, producer.id)
    assert producer.end() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert fetched(sim, isolation_level=0).last_stable_offset == 0
    all_up(sim)
    assert producer.end() == 0
    assert fetched(sim, isolation_level=0).last_stable_offset == 2


def test_one_rack_of_three_may_be_down(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == producer.send(b"a") == 0
    sim.stop_rack("b")
    assert producer.end() == 0


def test_a_transaction_does_not_time_out_while_that_could_not_be_written(sim):
    producer = TransactionalProducer(sim, timeout_ms=1000)
    assert producer.init() == producer.send(b"a") == 0
    two_down(sim, TRANSACTIONS_TOPIC, producer.id)
    sim.advance(60_000)
    assert sim.cluster.transactions.get(producer.id).producer_epoch == 0
    all_up(sim)
    sim.advance(60_000)
    assert fetched(sim, isolation_level=0).last_stable_offset == 2


def test_an_id_that_could_not_be_written_is_the_same_later(sim):
    producer = TransactionalProducer(sim)
    sim.cluster.internal_topics.topic(TRANSACTIONS_TOPIC)
    two_down(sim, TRANSACTIONS_TOPIC, producer.id)
    assert producer.init() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    begun = sim.cluster.transactions.get(producer.id)
    assert producer.id not in sim.cluster.image.transactions
    all_up(sim)
    assert producer.init() == 0
    assert sim.cluster.transactions.get(producer.id).producer_id == begun.producer_id


@pytest.mark.parametrize(("racks", "min_isr"), [("a", 1), ("a,b", 1), ("a,b,c", 2), ("a,b,c,a", 2)])
def test_a_small_cluster_may_lack_as_many_replicas_as_one_with_all_of_them(racks, min_isr):
    sim = Simulation(racks=racks)
    topics = sim.cluster.internal_topics
    for name in (TRANSACTIONS_TOPIC, SHARE_TOPIC):
        assert topics.topic(name).config("min.insync.replicas") == min_isr
    assert topics.topic(OFFSETS_TOPIC).config("min.insync.replicas") == 1


def test_a_cluster_of_two_keeps_its_transactions_with_one_down():
    sim = Simulation(racks="a,b")
    sim.cluster.create_topic("orders", 2)
    producer = TransactionalProducer(sim)
    assert producer.init() == 0
    other = 1 - sim.cluster.internal_topics.coordinator(TRANSACTIONS_TOPIC, producer.id).id
    sim.stop_broker(other)
    assert producer.send(b"a") == producer.end() == 0


def test_another_min_isr_counts_at_once(sim):
    producer = TransactionalProducer(sim)
    assert producer.init() == producer.send(b"a") == 0
    two_down(sim, TRANSACTIONS_TOPIC, producer.id)
    sim.cluster.configs.write("topic", TRANSACTIONS_TOPIC, {"min.insync.replicas": "1"})
    assert producer.end() == 0
