"""aiokafka; each consumer has an event loop in its own thread, all else is done in one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.interop.matrix.actors.orders import Actor, given, serve, told

QUICK = {"retry_backoff_ms": 20, "metadata_max_age_ms": 2000}


class AiokafkaConsumer:
    def __init__(self, topic: str, settings: dict[str, Any]) -> None:
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)

        async def started() -> AIOKafkaConsumer:
            consumer = AIOKafkaConsumer(topic, **settings)
            await consumer.start()
            return consumer

        self.client = self.loop.run_until_complete(started())

    def poll(self, timeout_s: float) -> list[str]:
        found = self.loop.run_until_complete(self.client.getmany(timeout_ms=int(timeout_s * 1000)))
        return [
            told(one.partition, one.offset, one.key, one.value, one.headers)
            for batch in found.values()
            for one in batch
        ]

    def partitions(self) -> int:
        return len(self.client.assignment())

    def commit(self) -> None:
        self.loop.run_until_complete(self.client.commit())

    def close(self) -> None:
        self.loop.run_until_complete(self.client.stop())
        self.loop.close()


class Aiokafka(Actor):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.transactional: dict[str, AIOKafkaProducer] = {}

    def settings(self, **more: Any) -> dict[str, Any]:
        return {"bootstrap_servers": self.address, "client_id": self.client_id, **QUICK, **more}

    def done(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    async def administered(self, name: str, *arguments: Any) -> Any:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.address)
        await admin.start()
        try:
            return await getattr(admin, name)(*arguments)
        finally:
            await admin.close()

    def create(self, topic: str, partitions: str) -> None:
        self.done(self.administered("create_topics", [NewTopic(topic, int(partitions), 3)]))

    def topics(self) -> str:
        return " ".join(sorted(self.done(self.administered("list_topics"))))

    def configure(self, topic: str, name: str, value: str) -> str:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: value})
        self.done(self.administered("alter_configs", [resource]))
        answers = self.done(self.administered("describe_configs", [ConfigResource(ConfigResourceType.TOPIC, topic)]))
        configs = answers[0].resources[0][4]
        return next(config[1] for config in configs if config[0] == name)

    def delete(self, topic: str) -> None:
        self.done(self.administered("delete_topics", [topic]))

    def produce(self, topic: str, compression: str, *records: str) -> str:
        async def produced() -> str:
            codec = None if compression == "none" else compression
            async with AIOKafkaProducer(**self.settings(compression_type=codec, linger_ms=5)) as producer:
                return await send(producer, topic, records)

        return self.done(produced())

    def transact(self, name: str, topic: str, end: str, *records: str) -> None:
        async def carried_out() -> None:
            producer = self.transactional.get(name)
            if producer is None:
                producer = self.transactional[name] = AIOKafkaProducer(**self.settings(transactional_id=name))
                await producer.start()
            await producer.begin_transaction()
            await send(producer, topic, records)
            await (producer.commit_transaction() if end == "commit" else producer.abort_transaction())

        self.done(carried_out())

    def consumer(self, topic: str, group: str, settings: dict[str, str]) -> Any:
        more = {
            "group_id": group,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "heartbeat_interval_ms": 200,
            "session_timeout_ms": 60_000,
            "client_rack": settings.get("rack", ""),
            "isolation_level": settings.get("isolation", "read_uncommitted"),
        }
        if not more["client_rack"]:
            del more["client_rack"]
        return AiokafkaConsumer(topic, self.settings(**more))


async def send(producer: AIOKafkaProducer, topic: str, records: tuple[str, ...]) -> str:
    sent = []
    for text in records:
        record = given(text)
        sent.append(
            await producer.send(topic, record.value, record.key, record.partition, headers=record.headers or None)
        )
    await producer.flush()
    places = [await future for future in sent]
    return " ".join(f"{place.partition}/{place.offset}" for place in places)


if __name__ == "__main__":
    serve(Aiokafka())
