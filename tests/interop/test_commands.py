"""Commands on the cluster's state, as clients meet them: they go on as they do against Kafka, and lose nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, KafkaError, Message, Producer

from mockbroker import BlockingMockCluster, MockCluster
from tests.progress import wait_until

TOPIC = "orders"
DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def cluster() -> Iterator[BlockingMockCluster]:
    """Three brokers; one topic of one partition, which broker 0 leads."""
    with MockCluster(topics={TOPIC: (1, 3)}, settings={"broker.session.timeout.ms": 300}) as cluster:
        cluster.move_replicas(TOPIC, 0, [0, 1, 2])
        yield cluster


class Writer:
    """A producer of librdkafka that is sure of what it wrote."""

    def __init__(self, cluster: BlockingMockCluster) -> None:
        self.written: list[bytes] = []
        self.refused: list[KafkaError] = []
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "client.id": "writer",
                "enable.idempotence": True,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 10,
            }
        )

    def send(self, *values: bytes) -> None:
        for value in values:
            self._producer.produce(TOPIC, value, on_delivery=self._delivered)
        self._producer.poll(0)

    def write(self, *values: bytes) -> None:
        """Send records and wait until each was taken."""
        self.send(*values)
        self.flush()
        assert self.refused == []

    def flush(self) -> None:
        wait_until(lambda: self._producer.flush(0.2) == 0, "all records", lambda: (len(self.written), self.refused))

    def brokers(self) -> set[int]:
        """The brokers that it is told of."""
        return set(self._producer.list_topics(timeout=60).brokers)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.written.append(message.value())
        else:
            self.refused.append(error)


class Reader:
    """A consumer of librdkafka in a group, which commits what it has read."""

    def __init__(self, cluster: BlockingMockCluster, **settings: object) -> None:
        self.messages: list[Message] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "client.id": "reader",
                "group.id": "readers",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 100,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
                **settings,
            }
        )
        self._consumer.subscribe([TOPIC])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    @property
    def values(self) -> list[bytes]:
        return [message.value() for message in self.messages]

    def read(self, count: int) -> list[bytes]:
        """Read on until there are so many records."""
        wait_until(lambda: self.poll() and len(self.messages) >= count, f"{count} records", lambda: len(self.messages))
        return self.values

    def commit(self) -> None:
        self._consumer.commit(asynchronous=False)

    def poll_until(self, done: Callable[[], object], what: str) -> None:
        wait_until(lambda: self.poll() and done(), what)

    def poll(self) -> bool:
        message = self._consumer.poll(0.05)
        if message is not None and message.error() is None:
            self.messages.append(message)
        return True


def numbered(first: int, last: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, last)]


def leader(cluster: BlockingMockCluster) -> int:
    return cluster.run(lambda running: running.state.topics[TOPIC].partitions[0].leader)


def isr(cluster: BlockingMockCluster) -> tuple[int, ...]:
    return cluster.run(lambda running: running.state.topics[TOPIC].partitions[0].isr)


def test_a_group_follows_its_coordinator_and_keeps_its_generation(cluster):
    cluster.move_coordinator("readers", 1)
    writer = Writer(cluster)
    writer.write(*numbered(0, 5))
    with Reader(cluster) as reader:
        reader.read(5)
        reader.commit()
        joins = cluster.journal.count(api="JoinGroup", error="")
        mark = cluster.journal.mark()
        cluster.move_coordinator("readers", 2)
        reader.poll_until(
            lambda: cluster.journal.count(api="Heartbeat", broker=2, error="", since=mark) > 0,
            "a sign of life at the new coordinator",
        )
        assert cluster.journal.count(error="NOT_COORDINATOR", broker=1, since=mark) > 0
        assert cluster.journal.count(api="JoinGroup", error="") == joins
        writer.write(*numbered(5, 10))
        assert reader.read(10) == numbered(0, 10)
        reader.commit()
    offsets = cluster.run(lambda running: running.state.groups.offsets("readers").get((TOPIC, 0)).offset)
    assert offsets == 10


def test_members_that_wait_at_a_coordinator_join_at_the_next(cluster):
    cluster.move_coordinator("readers", 1)
    Writer(cluster).write(b"one")
    with Reader(cluster) as first, Reader(cluster) as second:
        cluster.move_coordinator("readers", 0)
        wait_until(
            lambda: first.poll() and second.poll() and first.values + second.values == [b"one"],
            "the record at one of them",
        )
    assert cluster.journal.count(api="JoinGroup", broker=0, error="") >= 2


def test_records_go_to_the_leader_that_was_named(cluster):
    writer = Writer(cluster)
    writer.write(*numbered(0, 3))
    mark = cluster.journal.mark()
    cluster.move_leader(TOPIC, 0, 2)
    writer.write(*numbered(3, 6))
    assert cluster.journal.count(api="Produce", broker=2, error="", since=mark) > 0
    with Reader(cluster) as reader:
        assert reader.read(6) == numbered(0, 6)


def test_replicas_that_are_moved_serve_on(cluster):
    writer = Writer(cluster)
    with Reader(cluster) as reader:
        writer.write(*numbered(0, 3))
        reader.read(3)
        cluster.move_replicas(TOPIC, 0, [2, 1])
        assert leader(cluster) == 2
        writer.write(*numbered(3, 6))
        assert reader.read(6) == numbered(0, 6)


def test_a_full_disk_sends_clients_to_the_new_leader_and_room_brings_them_back(cluster):
    writer = Writer(cluster)
    with Reader(cluster) as reader:
        writer.write(*numbered(0, 3))
        reader.read(3)
        cluster.fill_disk(0)
        assert leader(cluster) == 1
        writer.write(*numbered(3, 6))
        assert reader.read(6) == numbered(0, 6)
        assert cluster.journal.count(error="KAFKA_STORAGE_ERROR", broker=0) > 0
        cluster.empty_disk(0)
        assert leader(cluster) == 0
        writer.write(*numbered(6, 9))
        assert reader.read(9) == numbered(0, 9)


def test_a_fenced_broker_is_left_and_found_again(cluster):
    writer = Writer(cluster)
    with Reader(cluster) as reader:
        writer.write(*numbered(0, 3))
        reader.read(3)
        cluster.fence_broker(0)
        assert writer.brokers() == {1, 2}
        writer.write(*numbered(3, 6))
        assert reader.read(6) == numbered(0, 6)
        cluster.unfence_broker(0)
        assert leader(cluster) == 0
        writer.write(*numbered(6, 9))
        assert reader.read(9) == numbered(0, 9)


def test_a_producer_waits_until_enough_replicas_are_in_sync(cluster):
    cluster.create_topic("strict", configs={"min.insync.replicas": 3})
    delivered: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "retry.backoff.ms": 10})
    out = cluster.run(lambda running: running.state.topics["strict"].partitions[0].isr[1:])
    cluster.shrink_isr("strict", 0, out)
    producer.produce("strict", b"one", on_delivery=lambda error, _: delivered.append(error))
    wait_until(
        lambda: producer.poll(0.05) >= 0 and cluster.journal.count(api="Produce", error="NOT_ENOUGH_REPLICAS") > 1,
        "a second try",
    )
    assert delivered == []
    cluster.grow_isr("strict", 0, out)
    wait_until(lambda: producer.flush(0.2) == 0, "the record")
    assert delivered == [None]


def test_nothing_acknowledged_is_lost_when_the_leader_crashes(cluster):
    writer = Writer(cluster)
    writer.write(*numbered(0, 3))
    cluster.crash_broker(0)
    writer.send(*numbered(3, 6))
    writer.flush()
    assert (writer.refused, leader(cluster)) == ([], 1)
    cluster.start_broker(0)
    with Reader(cluster) as reader:
        assert reader.read(6) == numbered(0, 6)


def test_a_restarted_rack_is_back_with_its_records(cluster):
    writer = Writer(cluster)
    with Reader(cluster) as reader:
        writer.write(*numbered(0, 3))
        reader.read(3)
        assert cluster.restart_rack("a") == [0]
        writer.write(*numbered(3, 6))
        assert reader.read(6) == numbered(0, 6)
    wait_until(lambda: isr(cluster) == (0, 1, 2), "the whole ISR")


def test_an_isolated_broker_serves_no_more_once_its_session_is_over(cluster):
    writer = Writer(cluster)
    writer.write(*numbered(0, 3))
    cluster.isolate_broker(0)
    wait_until(lambda: leader(cluster) == 1, "another leader")
    cluster.rejoin_broker(0)
    writer.write(*numbered(3, 6))
    with Reader(cluster) as reader:
        assert reader.read(6) == numbered(0, 6)


def test_the_wall_clock_is_what_records_are_stamped_with(cluster):
    cluster.create_topic("stamped", configs={"message.timestamp.type": "LogAppendTime"})
    stamps: list[int] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})

    def write() -> None:
        producer.produce("stamped", b"one", on_delivery=lambda _, message: stamps.append(message.timestamp()[1]))
        wait_until(lambda: producer.flush(0.2) == 0, "the record")

    write()
    cluster.jump_clock(DAY_MS)
    write()
    assert DAY_MS <= stamps[1] - stamps[0] < 2 * DAY_MS


def test_what_is_too_old_after_a_jump_is_gone_and_readers_go_on_behind_it(cluster):
    writer = Writer(cluster)
    writer.write(*numbered(0, 3))  # before there is a reader: its first Fetch brings it all of them
    with Reader(cluster) as reader:
        assert reader.read(1)[0] == b"0"
        cluster.jump_clock(8 * DAY_MS)
        writer.write(b"3")
        assert reader.read(4)[-1] == b"3"
    with Reader(cluster, **{"group.id": "others"}) as late:
        assert late.read(1) == [b"3"]


def test_a_clock_that_went_back_has_records_refused_as_from_the_future(cluster):
    cluster.jump_clock(-2 * 60 * 60 * 1000)
    writer = Writer(cluster)
    writer.send(b"one")
    writer.flush()
    assert [error.name() for error in writer.refused] == ["INVALID_TIMESTAMP"]


@pytest.mark.parametrize("what", ["leader", "coordinator", "disk", "fence", "isr", "restart"])
async def test_an_asyncio_client_goes_on(what):
    async with (
        MockCluster(topics={TOPIC: (1, 3)}) as cluster,
        AIOKafkaProducer(bootstrap_servers=cluster.bootstrap_servers, retry_backoff_ms=10) as producer,
        AIOKafkaConsumer(
            TOPIC,
            bootstrap_servers=cluster.bootstrap_servers,
            group_id="readers",
            auto_offset_reset="earliest",
            retry_backoff_ms=10,
            metadata_max_age_ms=100,  # of KAFKA_STORAGE_ERROR its fetcher does not look for another leader by itself
        ) as consumer,
    ):
        await producer.send_and_wait(TOPIC, b"before")
        assert (await consumer.getone()).value == b"before"
        first, second, third = cluster.state.topics[TOPIC].partitions[0].replicas
        if what == "leader":
            cluster.move_leader(TOPIC, 0, second)
        elif what == "coordinator":
            cluster.move_coordinator("readers", (cluster.state.internal_topics.coordinator("readers").id + 1) % 3)
        elif what == "disk":
            cluster.fill_disk(first)
        elif what == "fence":
            cluster.fence_broker(first)
        elif what == "isr":
            cluster.shrink_isr(TOPIC, 0, [second, third])
        else:
            await cluster.restart_broker(first)
        await producer.send_and_wait(TOPIC, b"after")
        assert (await consumer.getone()).value == b"after"
        await consumer.commit()
        assert cluster.state.groups.offsets("readers").get((TOPIC, 0)).offset == 2
