"""aiokafka as a client program."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener
from aiokafka.errors import KafkaError

from tests.interop.clients.common import FOREVER_S, LINGER_S, PAUSE_S, as_bytes, as_text, say, stopped, translated

NAMES = {
    "servers": "bootstrap_servers",
    "rack": "client_rack",
    "group": "group_id",
    "compression": "compression_type",
    "heartbeat_ms": "heartbeat_interval_ms",
    "session_ms": "session_timeout_ms",
    "idempotence": "enable_idempotence",
    "largest_bytes": "max_request_size",
    "timeout_ms": "request_timeout_ms",
}


def own_settings(settings: dict[str, Any], ours: dict[str, Any] | None = None) -> dict[str, Any]:
    given = translated(settings, NAMES, ours or {})
    if given.get("compression_type") == "none":
        given["compression_type"] = None
    return given


def produce(runs: list[dict[str, Any]]) -> None:
    asyncio.run(produce_runs(runs))


async def produce_runs(runs: list[dict[str, Any]]) -> None:
    for run in runs:
        async with AIOKafkaProducer(**own_settings(run["settings"])) as producer:
            sent = []
            for partition, key, value, headers in run["records"]:
                pairs = [(name, as_bytes(content)) for name, content in headers]
                sent.append(
                    await producer.send(
                        run["topic"],
                        key=as_bytes(key),
                        value=as_bytes(value),
                        headers=pairs or None,
                        partition=partition,
                    )
                )
            say(acknowledged=[await outcome(one) for one in sent])


async def outcome(sent: Any) -> Any:
    try:
        metadata = await sent
    except KafkaError as error:
        return f"{type(error).__name__}: {error}"
    return None if metadata is None else [metadata.partition, metadata.offset]  # None: acks=0 asks for no answer


def produce_steadily(settings: dict[str, Any], topic: str) -> None:
    asyncio.run(produce_until_stopped(settings, topic))


async def produce_until_stopped(settings: dict[str, Any], topic: str) -> None:
    async with AIOKafkaProducer(**own_settings(settings)) as producer, asyncio.TaskGroup() as sending:
        number = 0
        while not stopped.is_set():
            sending.create_task(send_one(producer, topic, str(number)))
            number += 1
            await asyncio.sleep(PAUSE_S)


async def send_one(producer: AIOKafkaProducer, topic: str, name: str) -> None:
    try:
        metadata = await producer.send_and_wait(topic, name.encode())
    except KafkaError as error:
        say(failed=name, why=f"{type(error).__name__}: {error}")
    else:
        say(acknowledged=name, at=[metadata.partition, metadata.offset])


class Assigned(ConsumerRebalanceListener):
    """Tells what was assigned."""

    async def on_partitions_revoked(self, revoked: Any) -> None:
        pass

    async def on_partitions_assigned(self, assigned: Any) -> None:
        say(assigned=[sorted([partition.topic, partition.partition] for partition in assigned)])


def consume(settings: dict[str, Any], topics: list[str], count: int | None = None) -> None:
    asyncio.run(consume_until(settings, topics, count))


async def consume_until(settings: dict[str, Any], topics: list[str], count: int | None) -> None:
    ours = {"auto_offset_reset": "earliest", "enable_auto_commit": "group" in settings}
    async with AIOKafkaConsumer(**own_settings(settings, ours)) as consumer:
        consumer.subscribe(topics, listener=Assigned())  # without a group it takes every partition
        seen, deadline = 0, FOREVER_S
        while time.monotonic() < deadline and not stopped.is_set():
            records = [record for some in (await consumer.getmany(timeout_ms=100)).values() for record in some]
            if records:
                say(records=[as_record(record) for record in records])
            seen += len(records)
            if count is not None and seen >= count:
                count, deadline = None, time.monotonic() + LINGER_S


def as_record(record: Any) -> list[Any]:
    headers = [[name, as_text(content)] for name, content in record.headers]
    return [record.topic, record.partition, record.offset, as_text(record.key), as_text(record.value), headers]
