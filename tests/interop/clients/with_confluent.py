"""confluent-kafka, that is librdkafka, as a client program."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from tests.interop.clients.common import FOREVER_S, LINGER_S, PAUSE_S, as_bytes, as_text, say, stopped, translated

NAMES = {
    "servers": "bootstrap.servers",
    "client_id": "client.id",
    "rack": "client.rack",
    "group": "group.id",
    "acks": "acks",
    "compression": "compression.type",
    "heartbeat_ms": "heartbeat.interval.ms",
    "session_ms": "session.timeout.ms",
    "idempotence": "enable.idempotence",
    "metadata_max_age_ms": "topic.metadata.refresh.interval.ms",
    "largest_bytes": "message.max.bytes",
    "timeout_ms": "socket.timeout.ms",
}


def produce(runs: list[dict[str, Any]]) -> None:
    for run in runs:
        producer = Producer(translated(run["settings"], NAMES, {"log_level": 2}))
        answers: list[Any] = [None] * len(run["records"])

        def noted(at: int, answers: list[Any] = answers) -> Any:
            def delivered(error: Any, message: Message) -> None:
                answers[at] = str(error) if error else [message.partition(), message.offset()]

            return delivered

        for at, (partition, key, value, headers) in enumerate(run["records"]):
            where = {} if partition is None else {"partition": partition}
            pairs = [(name, as_bytes(content)) for name, content in headers]
            producer.produce(
                run["topic"],
                key=as_bytes(key),
                value=as_bytes(value),
                headers=pairs or None,
                on_delivery=noted(at),
                **where,
            )
            producer.poll(0)
        producer.flush()
        say(acknowledged=answers)


def produce_steadily(settings: dict[str, Any], topic: str) -> None:
    producer = Producer(translated(settings, NAMES, {"log_level": 2}))

    def delivered(error: Any, message: Message) -> None:
        name = as_text(message.value())
        if error:
            say(failed=name, why=str(error))
        else:
            say(acknowledged=name, at=[message.partition(), message.offset()])

    sent = 0
    while not stopped.wait(PAUSE_S):
        producer.produce(topic, str(sent).encode(), on_delivery=delivered)
        producer.poll(0)
        sent += 1
    producer.flush()


def consume(settings: dict[str, Any], topics: list[str], count: int | None = None) -> None:
    ours = {"group.id": "nobody", "enable.auto.commit": "group" in settings, "auto.offset.reset": "earliest"}
    consumer = Consumer(translated(settings, NAMES, {**ours, "log_level": 2}))
    if "group" in settings:
        consumer.subscribe(topics, on_assign=lambda _, partitions: say(assigned=[places(partitions)]))
    else:
        known = consumer.list_topics().topics
        consumer.assign([TopicPartition(name, at, 0) for name in topics for at in known[name].partitions])
    seen, deadline = 0, FOREVER_S
    while time.monotonic() < deadline and not stopped.is_set():
        messages = consumer.consume(500, timeout=0.1)
        bad = [str(message.error()) for message in messages if message.error()]
        good = [message for message in messages if not message.error()]
        if bad:
            say(errors=bad)
        if good:
            say(records=[as_record(message) for message in good])
        seen += len(good)
        if count is not None and seen >= count:
            count, deadline = None, time.monotonic() + LINGER_S
    consumer.close()


def as_record(message: Message) -> list[Any]:
    headers = [[name, as_text(content)] for name, content in message.headers() or ()]
    key, value = as_text(message.key()), as_text(message.value())
    return [message.topic(), message.partition(), message.offset(), key, value, headers]


def places(partitions: list[TopicPartition]) -> list[list[Any]]:
    return sorted([partition.topic, partition.partition] for partition in partitions)
