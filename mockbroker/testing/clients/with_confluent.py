"""confluent-kafka, that is librdkafka, as a client process."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from mockbroker.testing.clients.process import METADATA_MAX_AGE_MS
from mockbroker.testing.clients.program import ClientLedger

COMMIT_WITHIN_S = 20.0


def run(ledger: ClientLedger) -> None:
    """Produce in a thread, consume here."""
    plan = ledger.plan
    common = {
        "bootstrap.servers": plan.bootstrap_servers,
        "topic.metadata.refresh.interval.ms": METADATA_MAX_AGE_MS,
        "log_level": 2,
    }
    producer = Producer(common | {"client.id": plan.client_id("producer"), "enable.idempotence": True, "linger.ms": 5})

    def send(topic: str, value: bytes) -> None:
        producer.produce(topic, value, on_delivery=delivered)
        producer.poll(0)

    def delivered(error: KafkaError | None, message: Message) -> None:
        ledger.fail(error) if error else ledger.acknowledge(message.value() or b"")

    def poll() -> list[bytes]:
        message = consumer.poll(0.1)  # one by one: what was seen is just what commit_before_leaving commits
        return [message.value() or b""] if message is not None and message.error() is None else []

    consumer = Consumer(
        common
        | {
            "client.id": plan.client_id("consumer"),  # no client.rack: see docs/racks.md
            "group.id": plan.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,  # a retried commit in the background might arrive after a newer one
        }
    )
    consumer.subscribe(list(plan.topics), on_revoke=commit_before_leaving)
    ledger.run(send, lambda: producer.flush(60), poll, consumer.assignment)
    consumer.close()


def commit_before_leaving(consumer: Consumer, _: list[TopicPartition]) -> None:
    """Commit what was read, so that the next owner of the partitions does not read it again.

    The commit is retried until it is taken, as the group's coordinator may be moving.
    """
    deadline = time.monotonic() + COMMIT_WITHIN_S
    while time.monotonic() < deadline:
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() == KafkaError._NO_OFFSET:
                return
            time.sleep(0.1)
        else:
            return
