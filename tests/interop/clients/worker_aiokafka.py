"""A worker for ``kafka-rack certify`` with aiokafka."""

from __future__ import annotations

import asyncio
import signal

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from tests.interop.clients.worker_options import PAUSE_S, Options, read_options


async def main(options: Options) -> None:
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    common = {"bootstrap_servers": options.brokers, "client_id": options.client_id}
    if options.work == "produce":
        async with AIOKafkaProducer(**common, enable_idempotence=True) as producer:
            while not over.is_set():
                await producer.send(options.topic, b"a record")
                await asyncio.sleep(PAUSE_S)
        return
    consumer = AIOKafkaConsumer(
        options.topic, **common, client_rack=options.rack, group_id=options.group, auto_offset_reset="earliest"
    )
    async with consumer:
        while not over.is_set():
            await consumer.getmany(timeout_ms=200)


if __name__ == "__main__":
    asyncio.run(main(read_options()))
