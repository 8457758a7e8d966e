"""What a broker keeps of what the controller sends it."""

from __future__ import annotations

from mockbroker.state.metadata import (
    DELETED,
    NO_TOPIC_ID,
    Address,
    CachedBroker,
    MetadataCache,
    PartitionState,
    TopicPartitionState,
)

ORDERS = b"o" * 16


def state(leader: int, index: int = 0) -> PartitionState:
    return PartitionState((1, 2), (1, 2), leader, 0, 0, controller_epoch=1, offline_replicas=(2,), index=index)


def cache_of(*partitions: TopicPartitionState) -> MetadataCache:
    cache = MetadataCache()
    cache.update(1, 1, [CachedBroker(2, ()), CachedBroker(1, ())], partitions)
    return cache


def test_brokers_replace_all_that_were_known_and_partitions_only_themselves():
    cache = cache_of(TopicPartitionState("orders", ORDERS, state(1)))
    cache.update(1, 1, [CachedBroker(1, ())], [TopicPartitionState("orders", ORDERS, state(2, 1))])
    assert [broker.id for broker in cache.live_brokers()] == [1]
    assert not cache.is_alive(2)
    topic = cache.topic("orders")
    assert topic is not None
    assert [partition.leader for partition in topic.partitions] == [1, 2]


def test_a_topic_goes_with_the_last_of_its_partitions():
    cache = cache_of(*(TopicPartitionState("orders", ORDERS, state(1, index)) for index in (0, 1)))
    cache.update(1, 1, [], [TopicPartitionState("orders", ORDERS, state(DELETED))])
    assert cache.topic_names() == ["orders"]
    cache.update(1, 1, [], [TopicPartitionState("orders", ORDERS, state(DELETED, 1))])
    assert (cache.topic_names(), cache.topic_of_id(ORDERS)) == ([], None)


def test_a_topic_is_found_by_its_id_unless_that_was_not_sent():
    cache = cache_of(TopicPartitionState("orders", ORDERS, state(1)), TopicPartitionState("old", NO_TOPIC_ID, state(1)))
    found = cache.topic_of_id(ORDERS)
    assert found is not None
    assert found.name == "orders"
    assert cache.topic_of_id(NO_TOPIC_ID) is None


def test_offline_replicas_are_those_that_the_controller_named():
    assert cache_of().offline_replicas(state(1)) == [2]


def test_a_broker_is_reached_by_the_listener_of_a_name_or_by_its_first():
    broker = CachedBroker(1, (Address("PLAINTEXT", "h", 1), Address("RACK_a", "h", 2)))
    assert (broker.listener("RACK_a").port, broker.listener("other").port) == (2, 1)
