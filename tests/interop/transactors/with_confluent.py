"""A transactional producer of confluent-kafka; see ``lines`` and ``tests/interop/transactor.py``."""

from __future__ import annotations

import sys

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.interop.transactors.lines import serve

bootstrap, transactional_id, timeout_ms = sys.argv[1:4]
producer = Producer(
    {
        "bootstrap.servers": bootstrap,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": int(timeout_ms),
        "message.timeout.ms": int(timeout_ms),
        "log_level": 0,
    }
)


def consumer(group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )


def send(topic: str, partition: int, value: str) -> None:
    """Without a delivery report: 2.16 fails in there once a producer is fenced. ``commit`` tells of it."""
    producer.produce(topic, value, partition=partition)
    producer.flush()


def read(topic: str, count: int) -> str:
    reader = consumer("nobody")
    partitions = reader.list_topics(topic).topics[topic].partitions
    reader.assign([TopicPartition(topic, index, 0) for index in partitions])
    values = []
    while len(values) < count:
        message = reader.poll(0.5)
        if message is not None and not message.error():
            values.append(message.value().decode())
    reader.close()
    return " ".join(values)


def pipe(source: str, target: str, group: str, count: int) -> int:
    reader = consumer(group)
    reader.subscribe([source])
    moved = 0
    while moved < count:
        messages = [one for one in reader.consume(100, 0.5) if not one.error()]
        if not messages:
            continue
        producer.begin_transaction()
        for one in messages:
            producer.produce(target, one.value().decode().upper())
        producer.send_offsets_to_transaction(reader.position(reader.assignment()), reader.consumer_group_metadata())
        producer.commit_transaction()
        moved += len(messages)
    reader.close()
    return moved


def offset(group: str, topic: str, partition: int, number: int) -> None:
    reader = consumer(group)
    producer.send_offsets_to_transaction([TopicPartition(topic, partition, number)], reader.consumer_group_metadata())
    reader.close()


def command(words: list[str]) -> object:
    match words:
        case ["init"]:
            return producer.init_transactions()
        case ["begin"]:
            return producer.begin_transaction()
        case ["send", topic, partition, value]:
            return send(topic, int(partition), value)
        case ["offset", group, topic, partition, number]:
            return offset(group, topic, int(partition), int(number))
        case ["commit"]:
            return producer.commit_transaction()
        case ["abort"]:
            return producer.abort_transaction()
        case ["read", topic, count]:
            return read(topic, int(count))
        case ["pipe", source, target, group, count]:
            return pipe(source, target, group, int(count))
        case _:
            raise ValueError(f"unknown command {words}")


serve(command)
