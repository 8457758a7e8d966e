"""kafka-python in the demo."""

from __future__ import annotations

import logging
import threading

from kafka import KafkaConsumer, KafkaProducer

from kafka_rack.cli.commands.demo.plan import METADATA_MAX_AGE_MS, TOPICS, WorkerPlan
from kafka_rack.cli.commands.demo.worker import DemoLedger, produce


def run(plan: WorkerPlan, ledger: DemoLedger) -> None:
    """Produce in a thread, consume here."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # it logs every connection that a stopped broker closes
    common = {"bootstrap_servers": plan.bootstrap_servers, "metadata_max_age_ms": METADATA_MAX_AGE_MS}
    producer = KafkaProducer(**common, client_id=plan.client_id("producer"), enable_idempotence=True, linger_ms=5)

    def send(topic: str, value: bytes) -> None:
        sent = producer.send(topic, value)
        sent.add_callback(lambda _: ledger.acknowledge(value))
        sent.add_errback(ledger.fail)

    thread = threading.Thread(target=produce, args=(ledger, send, producer.flush))
    thread.start()
    consumer = KafkaConsumer(
        *TOPICS,
        **common,
        client_id=plan.client_id("consumer"),
        client_rack=plan.rack,
        group_id=plan.group,
        auto_offset_reset="earliest",
    )
    for topic in TOPICS:
        # A member that joins before it knows the partitions joins again once it does; if a poll times out in the midst
        # of that, kafka-python 3.0.12 takes itself for joined and neither reads nor sends heartbeats any more.
        consumer.partitions_for_topic(topic)
    while not ledger.finish.is_set():
        for records in consumer.poll(timeout_ms=100).values():
            for record in records:
                ledger.see(record.value)
        ledger.assigned = ledger.assigned or bool(consumer.assignment())
    thread.join()
    producer.close()
    consumer.close()
