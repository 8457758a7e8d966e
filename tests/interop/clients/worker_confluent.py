"""A worker for ``kafka-rack certify`` with confluent-kafka: reads in a group, or writes, until SIGTERM."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer

from mockbroker.adapters.properties_file import read_properties
from mockbroker.state.security.jaas import parse_jaas
from tests.interop.clients.worker_options import PAUSE_S, Options, read_options

over = threading.Event()


def main(options: Options) -> None:
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    own: dict[str, Any] = {"bootstrap.servers": options.brokers, "client.id": options.client_id, "log_level": 2}
    common = own | security()
    if options.work == "produce":
        produce(Producer({**common, "enable.idempotence": True}), options.topic)
        return
    rack = {"client.rack": options.rack} if options.rack else {}
    own = {"group.id": options.group, "auto.offset.reset": "earliest", "topic.metadata.refresh.interval.ms": 5000}
    consumer = Consumer({**common, **own, **rack})
    consumer.subscribe([options.topic])
    while not over.is_set():
        consumer.poll(0.2)
    consumer.close()


def security() -> dict[str, str]:
    """What certify hands on of Kafka's client properties, in librdkafka's words."""
    path = os.environ.get("KAFKA_COMMAND_CONFIG")
    if path is None:
        return {}
    said = read_properties(Path(path))
    login = parse_jaas(said["sasl.jaas.config"]).options
    found = {
        "security.protocol": said["security.protocol"],
        "sasl.mechanism": said["sasl.mechanism"],
        "sasl.username": login["username"],
        "sasl.password": login["password"],
    }
    if "ssl.truststore.location" in said:
        found["ssl.ca.location"] = said["ssl.truststore.location"]
    return found


def produce(producer: Producer, topic: str) -> None:
    number = 0
    while not over.wait(PAUSE_S):
        producer.produce(topic, str(number).encode())
        producer.poll(0)
        number += 1
    producer.flush(10)


if __name__ == "__main__":
    main(read_options())
