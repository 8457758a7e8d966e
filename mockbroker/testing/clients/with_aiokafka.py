"""aiokafka as a client process."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from mockbroker.testing.clients.process import METADATA_MAX_AGE_MS
from mockbroker.testing.clients.program import ClientLedger

T = TypeVar("T")


def run(ledger: ClientLedger) -> None:
    """Produce in a thread, consume in another; the client is in an event loop here."""
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
    loop = asyncio.get_running_loop()

    def awaited(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    async def send(topic: str, value: bytes) -> None:
        (await producer.send(topic, value)).add_done_callback(partial(acknowledged, ledger, value))

    def poll() -> list[bytes]:
        polled = awaited(consumer.getmany(timeout_ms=100))
        return [record.value for records in polled.values() for record in records]

    async with producer, consumer:
        await asyncio.to_thread(
            ledger.run,
            lambda topic, value: awaited(send(topic, value)),
            lambda: awaited(producer.flush()),
            poll,
            consumer.assignment,
        )


def acknowledged(ledger: ClientLedger, value: bytes, sent: asyncio.Future[object]) -> None:
    """Note the result of a record."""
    error = sent.exception()
    ledger.acknowledge(value) if error is None else ledger.fail(error)
