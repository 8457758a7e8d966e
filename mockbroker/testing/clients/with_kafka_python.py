"""kafka-python as a client process, also as of an old version of Kafka."""

from __future__ import annotations

import logging
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError

from mockbroker.testing.clients.process import METADATA_MAX_AGE_MS
from mockbroker.testing.clients.program import ClientLedger

TRY_FOR_MS = 60_000


def run(ledger: ClientLedger) -> None:
    """Produce in a thread, consume here."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # it logs every connection that a stopped broker closes
    plan = ledger.plan
    common: dict[str, Any] = {
        "bootstrap_servers": plan.bootstrap_servers.split(","),
        "metadata_max_age_ms": METADATA_MAX_AGE_MS,
    }
    producing: dict[str, Any] = {"enable_idempotence": True, "linger_ms": 5}
    if plan.api_version is not None:
        common["api_version"] = tuple(plan.api_version)
        # no broker before 0.11 knows idempotence
        producing = {"enable_idempotence": False, "acks": -1}
        producing |= {"max_block_ms": TRY_FOR_MS, "delivery_timeout_ms": TRY_FOR_MS}
    producer = KafkaProducer(**common, **producing, client_id=plan.client_id("producer"))

    def send(topic: str, value: bytes) -> None:
        sent = producer.send(topic, value)
        sent.add_callback(lambda _: ledger.acknowledge(value))
        sent.add_errback(ledger.fail)

    def poll() -> list[bytes]:
        try:
            polled = consumer.poll(timeout_ms=100)
        except KafkaError:
            return []  # a broker has gone; the next poll finds another
        return [record.value for records in polled.values() for record in records]

    consumer = KafkaConsumer(
        *plan.topics,
        **common,
        **({"client_rack": plan.rack} if plan.rack else {}),
        client_id=plan.client_id("consumer"),
        group_id=plan.group,
        auto_offset_reset="earliest",
    )
    for topic in plan.topics:
        # A member that joins before it knows the partitions joins again once it does; if a poll times out in the midst
        # of that, kafka-python 3.0.12 takes itself for joined and neither reads nor sends heartbeats any more.
        consumer.partitions_for_topic(topic)
    ledger.run(send, producer.flush, poll, consumer.assignment)
    producer.close()
    consumer.close()
