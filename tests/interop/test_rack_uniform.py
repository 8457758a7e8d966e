"""A group of real consumers by the consumer protocol: rack-uniform keeps each in its rack, uniform does not."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack

from confluent_kafka import Consumer, Producer

from mockbroker import MockCluster
from tests.progress import wait_until

RACKS = ("a", "b", "c")
PARTITIONS = 12
RECORDS = 600
FETCH = 1
SETTINGS = {
    "replica.placer.class.name": "rack-aware",  # every third partition in each rack
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
}


def bytes_in_rack(assignor: str) -> tuple[int, int]:
    """Record bytes that three consumers read inside their rack, and all that they read; one replica a partition."""
    settings = SETTINGS | {"group.consumer.assignors": assignor}
    with ExitStack() as closing:
        cluster = closing.enter_context(MockCluster(racks=RACKS, topics={"orders": (PARTITIONS, 1)}, settings=settings))
        group = [consumer_in(rack, cluster.bootstrap_servers) for rack in RACKS]
        for consumer in group:
            closing.callback(consumer.close)
            consumer.subscribe(["orders"])

        def is_shared_out() -> bool:
            for consumer in group:
                consumer.poll(0.01)
            return all(len(consumer.assignment()) == PARTITIONS // len(RACKS) for consumer in group)

        wait_until(is_shared_out, "even shares", lambda: [str(consumer.assignment()) for consumer in group])
        if assignor == "rack-uniform":
            wait_for_earlier_fetches(cluster)
        before = len(cluster.journal)
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(RECORDS):
            producer.produce("orders", bytes(100), partition=number % PARTITIONS)
        producer.flush()
        read = 0

        def is_read() -> bool:
            nonlocal read
            read += sum(
                message.error() is None for consumer in group for message in consumer.consume(RECORDS, timeout=0.01)
            )
            return read >= RECORDS

        wait_until(is_read, "all records", lambda: read)
        fetches = [call for call in list(cluster.journal)[before:] if call.api == "Fetch" and call.traffic]
        near = sum(sum(call.traffic.values()) for call in fetches if call.client_rack == call.rack)
        return near, sum(sum(call.traffic.values()) for call in fetches)


def wait_for_earlier_fetches(cluster: MockCluster) -> None:
    """Until no Fetch waits that its consumer sent before it gave a partition away: it would still be answered with that
    partition's first records. The brokers have such a Fetch once each consumer has two answers to later ones; it waits
    outside the consumer's rack.
    """
    since = len(cluster.journal)

    def answers() -> Counter[str | None]:
        return Counter(call.client_rack for call in list(cluster.journal)[since:] if call.api == "Fetch")

    wait_until(lambda: all(answers()[reader] >= 2 for reader in RACKS), "two Fetches of each consumer", answers)

    def outside() -> list[str | None]:
        parked = cluster.run(lambda one: list(one.engine.path.purgatory.parked))
        return [call.session.rack for call in parked if call.api_key == FETCH and call.session.rack != call.broker.rack]

    wait_until(lambda: not outside(), "the end of Fetches outside the racks of their consumers", outside)


def consumer_in(rack: str, servers: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "readers",
            "group.protocol": "consumer",
            "client.rack": rack,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )


def test_with_rack_uniform_all_that_a_group_reads_is_of_its_racks():
    near, everything = bytes_in_rack("rack-uniform")
    assert near == everything > RECORDS * 100


def test_with_uniform_some_of_it_crosses_racks():
    near, everything = bytes_in_rack("uniform")
    assert near < everything
