"""Real clients with racks, for as long as a test needs them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaException, Producer

from tests.progress import wait_until


def produce(servers: str, topic: str, values: Sequence[bytes], **settings: str) -> None:
    """Write records; each is acknowledged when this ends."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, **settings})
    errors: list[object] = []
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error))
    wait_until(lambda: producer.flush(0.1) == 0, "acknowledgements", lambda: len(errors))
    assert [error for error in errors if error] == []


class Reader:
    """A consumer in a thread of its own; ``values`` are what it has read."""

    def __init__(self, servers: str, topic: str, client_id: str, rack: str | None, group: str) -> None:
        self.values: list[bytes] = []
        self._ending = threading.Event()
        settings = {
            "bootstrap.servers": servers,
            "client.id": client_id,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 200,
            "topic.metadata.refresh.interval.ms": 1000,
        }
        if rack is not None:
            settings["client.rack"] = rack
        self._consumer = Consumer(settings)
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while not self._ending.is_set():
            try:
                message = self._consumer.poll(0.1)
            except KafkaException:
                continue
            if message is not None and message.error() is None:
                self.values.append(message.value())
        self._consumer.close()

    def end(self) -> None:
        self._ending.set()
        self._thread.join()


@contextmanager
def reading(servers: str, topic: str, client_id: str, rack: str | None, group: str | None = None) -> Iterator[Reader]:
    """A consumer that reads until the block ends."""
    reader = Reader(servers, topic, client_id, rack, group or client_id)
    try:
        yield reader
    finally:
        reader.end()
