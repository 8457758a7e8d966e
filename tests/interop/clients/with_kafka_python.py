"""kafka-python as a client program. ``api_version`` in its settings makes it speak as it did with a broker that old."""

from __future__ import annotations

import time
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError

from tests.interop.clients.common import FOREVER_S, LINGER_S, PAUSE_S, as_bytes, as_text, say, stopped, translated

NAMES = {
    "servers": "bootstrap_servers",
    "rack": "client_rack",
    "group": "group_id",
    "compression": "compression_type",
    "heartbeat_ms": "heartbeat_interval_ms",
    "session_ms": "session_timeout_ms",
    "idempotence": "enable_idempotence",
    "largest_bytes": "max_request_size",
    "timeout_ms": "request_timeout_ms",
}
ALL_REPLICAS = -1


def own_settings(settings: dict[str, Any], ours: dict[str, Any] | None = None) -> dict[str, Any]:
    given = translated(settings, NAMES, ours or {})
    if "api_version" in given:
        given["api_version"] = tuple(given["api_version"])
    if given.get("acks") == "all":
        given["acks"] = ALL_REPLICAS
    if given.get("compression_type") == "none":
        given["compression_type"] = None
    return given


def produce(runs: list[dict[str, Any]]) -> None:
    for run in runs:
        producer = KafkaProducer(**own_settings(run["settings"]))
        sent = []
        for partition, key, value, headers in run["records"]:
            pairs = [(name, as_bytes(content)) for name, content in headers]
            sent.append(
                producer.send(
                    run["topic"], key=as_bytes(key), value=as_bytes(value), headers=pairs or None, partition=partition
                )
            )
        say(acknowledged=[outcome(one) for one in sent])
        producer.close()


def outcome(sent: Any) -> Any:
    try:
        metadata = sent.get()
    except KafkaError as error:
        return f"{type(error).__name__}: {error}"
    return [metadata.partition, metadata.offset]


def produce_steadily(settings: dict[str, Any], topic: str) -> None:
    producer = KafkaProducer(**own_settings(settings))
    number = 0
    while not stopped.wait(PAUSE_S):
        sent = producer.send(topic, str(number).encode())
        name = str(number)
        sent.add_callback(acknowledged, name)
        sent.add_errback(failed, name)
        number += 1
    producer.flush()
    producer.close()


def acknowledged(name: str, metadata: Any) -> None:
    say(acknowledged=name, at=[metadata.partition, metadata.offset])


def failed(name: str, error: Exception) -> None:
    say(failed=name, why=f"{type(error).__name__}: {error}")


class Assigned(ConsumerRebalanceListener):
    """Tells what was assigned."""

    def on_partitions_revoked(self, revoked: Any) -> None:
        pass

    def on_partitions_assigned(self, assigned: Any) -> None:
        say(assigned=[sorted([partition.topic, partition.partition] for partition in assigned)])


def consume(settings: dict[str, Any], topics: list[str], count: int | None = None) -> None:
    grouped = "group" in settings
    ours = {"auto_offset_reset": "earliest", "enable_auto_commit": grouped}
    consumer = KafkaConsumer(**own_settings(settings, ours))
    if grouped:
        consumer.subscribe(topics, listener=Assigned())
        for topic in topics:  # or it may take itself for joined when it is not; see the demo's client
            consumer.partitions_for_topic(topic)
    else:
        known = [(topic, at) for topic in topics for at in sorted(consumer.partitions_for_topic(topic))]
        consumer.assign([TopicPartition(*one) for one in known])
    seen, deadline = 0, FOREVER_S
    while time.monotonic() < deadline and not stopped.is_set():
        try:
            records = [record for some in consumer.poll(timeout_ms=100).values() for record in some]
        except KafkaError as error:
            say(errors=[type(error).__name__])
            continue
        if records:
            say(records=[as_record(record) for record in records])
        seen += len(records)
        if count is not None and seen >= count:
            count, deadline = None, time.monotonic() + LINGER_S
    consumer.close()


def as_record(record: Any) -> list[Any]:
    headers = [[name, as_text(content)] for name, content in record.headers]
    return [record.topic, record.partition, record.offset, as_text(record.key), as_text(record.value), headers]
