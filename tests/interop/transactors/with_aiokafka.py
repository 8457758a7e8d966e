"""A transactional producer of aiokafka; see ``lines`` and ``tests/interop/transactor.py``."""

from __future__ import annotations

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.interop.transactors.lines import serve

bootstrap, transactional_id, timeout_ms = sys.argv[1:4]
loop = asyncio.new_event_loop()
started: list[AIOKafkaProducer] = []


async def init() -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=int(timeout_ms)
    )
    started.append(producer)
    await producer.start()


def consumer(*topics: str, group: str | None = None) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        *topics,
        bootstrap_servers=bootstrap,
        group_id=group,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )


async def read(topic: str, count: int) -> str:
    values: list[str] = []
    async with consumer(topic) as reader:
        while len(values) < count:
            for records in (await reader.getmany(timeout_ms=500)).values():
                values.extend(record.value.decode() for record in records)
    return " ".join(values)


async def pipe(source: str, target: str, group: str, count: int) -> str:
    producer, moved = started[-1], 0
    async with consumer(source, group=group) as reader:
        while moved < count:
            found = await reader.getmany(timeout_ms=500)
            if not found:
                continue
            async with producer.transaction():
                offsets = {}
                for partition, records in found.items():
                    for record in records:
                        await producer.send(target, record.value.upper())
                        offsets[partition] = record.offset + 1
                        moved += 1
                await producer.send_offsets_to_transaction(offsets, group)
    return str(moved)


async def do(words: list[str]) -> object:
    match words:
        case ["init"]:
            return await init()
        case ["begin"]:
            return await started[-1].begin_transaction()
        case ["send", topic, partition, value]:
            return str((await started[-1].send_and_wait(topic, value.encode(), partition=int(partition))).offset)
        case ["offset", group, topic, partition, number]:
            return await started[-1].send_offsets_to_transaction(
                {TopicPartition(topic, int(partition)): int(number)}, group
            )
        case ["commit"]:
            return await started[-1].commit_transaction()
        case ["abort"]:
            return await started[-1].abort_transaction()
        case ["read", topic, count]:
            return await read(topic, int(count))
        case ["pipe", source, target, group, count]:
            return await pipe(source, target, group, int(count))
        case _:
            raise ValueError(f"unknown command {words}")


serve(lambda words: loop.run_until_complete(do(words)))
