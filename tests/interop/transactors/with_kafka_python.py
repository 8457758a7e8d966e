"""A transactional producer of kafka-python; see ``lines`` and ``tests/interop/transactor.py``."""

from __future__ import annotations

import sys

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from tests.interop.transactors.lines import serve

bootstrap, transactional_id, timeout_ms = sys.argv[1:4]
servers = bootstrap.split(",")
producer = KafkaProducer(
    bootstrap_servers=servers,
    transactional_id=transactional_id,
    transaction_timeout_ms=int(timeout_ms),
)


def consumer(group: str | None) -> KafkaConsumer:
    return KafkaConsumer(
        bootstrap_servers=servers,
        group_id=group,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )


def read(topic: str, count: int) -> str:
    reader = consumer(None)
    reader.assign([TopicPartition(topic, index) for index in sorted(reader.partitions_for_topic(topic))])
    reader.seek_to_beginning()
    values: list[str] = []
    while len(values) < count:
        for records in reader.poll(timeout_ms=500).values():
            values.extend(record.value.decode() for record in records)
    reader.close()
    return " ".join(values)


def pipe(source: str, target: str, group: str, count: int) -> int:
    reader = consumer(group)
    reader.subscribe([source])
    moved = 0
    while moved < count:
        found = reader.poll(timeout_ms=500)
        if not found:
            continue
        producer.begin_transaction()
        offsets = {}
        for partition, records in found.items():
            for record in records:
                producer.send(target, record.value.upper())
                offsets[partition] = OffsetAndMetadata(record.offset + 1, "", -1)
                moved += 1
        producer.send_offsets_to_transaction(offsets, group)
        producer.commit_transaction()
    reader.close()
    return moved


def command(words: list[str]) -> object:
    match words:
        case ["init"]:
            return producer.init_transactions()
        case ["begin"]:
            return producer.begin_transaction()
        case ["send", topic, partition, value]:
            future = producer.send(topic, value.encode(), partition=int(partition))
            return str(future.get(timeout=60).offset)
        case ["offset", group, topic, partition, number]:
            place = TopicPartition(topic, int(partition))
            return producer.send_offsets_to_transaction({place: OffsetAndMetadata(int(number), "", -1)}, group)
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
