"""confluent-kafka, that is librdkafka, in the demo."""

from __future__ import annotations

import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from kafka_rack.cli.commands.demo.plan import METADATA_MAX_AGE_MS, TOPICS, WorkerPlan
from kafka_rack.cli.commands.demo.worker import DemoLedger, produce

COMMIT_WITHIN_S = 20.0


def run(plan: WorkerPlan, ledger: DemoLedger) -> None:
    """Produce in a thread, consume here."""
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

    thread = threading.Thread(target=produce, args=(ledger, send, lambda: producer.flush(60)))
    thread.start()
    consumer = Consumer(
        common
        | {
            "client.id": plan.client_id("consumer"),  # no client.rack: see docs/racks.md
            "group.id": plan.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,  # a commit in the background, tried again, might arrive behind a newer one
        }
    )
    consumer.subscribe(list(TOPICS), on_revoke=commit_before_leaving)
    while not ledger.finish.is_set():
        message = consumer.poll(0.1)  # one by one: what was seen is just what commit_before_leaving commits
        if message is not None and message.error() is None:
            ledger.see(message.value() or b"")
        ledger.assigned = ledger.assigned or bool(consumer.assignment())
    thread.join()
    consumer.close()


def commit_before_leaving(consumer: Consumer, _: list[TopicPartition]) -> None:
    """Commit what was read, so that whoever gets the partitions does not read it again.

    The group's coordinator may be moving just then: so the commit is tried again until it is taken.
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
