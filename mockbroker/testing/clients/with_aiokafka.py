"""aiokafka as a client process."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError

from mockbroker.testing.clients.process import METADATA_MAX_AGE_MS
from mockbroker.testing.clients.program import PAUSE_S, ClientLedger


def run(ledger: ClientLedger) -> None:
    """Produce and consume in one event loop."""
    asyncio.run(both(ledger))


async def both(ledger: ClientLedger) -> None:
    plan = ledger.plan
    common = {"bootstrap_servers": plan.bootstrap_servers, "metadata_max_age_ms": METADATA_MAX_AGE_MS}
    producer = AIOKafkaProducer(**common, client_id=plan.client_id("producer"), enable_idempotence=True, linger_ms=5)
    consumer = AIOKafkaConsumer(
        *plan.topics,
        **common,
        client_id=plan.client_id("consumer"),
        client_rack=plan.rack,
        group_id=plan.group,
        auto_offset_reset="earliest",
    )
    async with producer, consumer:
        await asyncio.gather(produce(producer, ledger), consume(consumer, ledger))


async def produce(producer: AIOKafkaProducer, ledger: ClientLedger) -> None:
    """Send records at an even pace from ``go`` to ``drain``."""
    await asyncio.to_thread(ledger.orders["go"].wait)
    sending = set()
    while not ledger.orders["drain"].is_set():
        for topic, value in ledger.next_records():
            task = asyncio.create_task(send(producer, ledger, topic, value))
            sending.add(task)
            task.add_done_callback(sending.discard)
        await asyncio.sleep(PAUSE_S)
    await asyncio.gather(*sending)
    ledger.drained = True


async def send(producer: AIOKafkaProducer, ledger: ClientLedger, topic: str, value: bytes) -> None:
    """Send one record and wait for its acknowledgement."""
    try:
        await producer.send_and_wait(topic, value)
    except KafkaError as error:
        ledger.fail(error)
    else:
        ledger.acknowledge(value)


async def consume(consumer: AIOKafkaConsumer, ledger: ClientLedger) -> None:
    """Read until ``finish``."""
    while not ledger.orders["finish"].is_set():
        for records in (await consumer.getmany(timeout_ms=100)).values():
            for record in records:
                ledger.see(record.value)
        ledger.assigned = ledger.assigned or bool(consumer.assignment())
