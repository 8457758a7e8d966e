"""A worker for ``kafka-rack certify`` with confluent-kafka: reads in a group, or writes, until SIGTERM."""

from __future__ import annotations

import signal
import threading
from typing import Any

from confluent_kafka import Consumer, Producer

from tests.interop.clients.worker_options import PAUSE_S, Options, read_options

over = threading.Event()


def main(options: Options) -> None:
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    common: dict[str, Any] = {"bootstrap.servers": options.brokers, "client.id": options.client_id, "log_level": 2}
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


def produce(producer: Producer, topic: str) -> None:
    number = 0
    while not over.wait(PAUSE_S):
        producer.produce(topic, str(number).encode())
        producer.poll(0)
        number += 1
    producer.flush(10)


if __name__ == "__main__":
    main(read_options())
