"""A worker for ``kafka-rack certify`` with kafka-python."""

from __future__ import annotations

import signal
import threading

from kafka import KafkaConsumer, KafkaProducer

from tests.interop.clients.worker_options import PAUSE_S, Options, read_options

over = threading.Event()


def main(options: Options) -> None:
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    common = {"bootstrap_servers": options.brokers, "client_id": options.client_id}
    if options.work == "produce":
        producer = KafkaProducer(**common, enable_idempotence=True)
        while not over.wait(PAUSE_S):
            producer.send(options.topic, b"a record")
        producer.close(10)
        return
    consumer = KafkaConsumer(
        options.topic, **common, client_rack=options.rack, group_id=options.group, auto_offset_reset="earliest"
    )
    consumer.partitions_for_topic(options.topic)  # or it may take itself for joined; see the demo's client
    while not over.is_set():
        consumer.poll(timeout_ms=200)
    consumer.close()


if __name__ == "__main__":
    main(read_options())
