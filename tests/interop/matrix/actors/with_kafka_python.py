"""kafka-python, whose consumers are of one thread."""

from __future__ import annotations

from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

from tests.interop.matrix.actors.orders import Actor, given, serve, told

QUICK = {"retry_backoff_ms": 20, "metadata_max_age_ms": 2000}


class KafkaPythonConsumer:
    def __init__(self, topic: str, settings: dict[str, Any]) -> None:
        self.client = KafkaConsumer(**settings)
        self.client.subscribe([topic])
        self.client.partitions_for_topic(
            topic
        )  # or it may take itself for joined when it is not; see the demo's client

    def poll(self, timeout_s: float) -> list[str]:
        found = self.client.poll(timeout_ms=int(timeout_s * 1000))
        return [
            told(one.partition, one.offset, one.key, one.value, one.headers)
            for batch in found.values()
            for one in batch
        ]

    def partitions(self) -> int:
        return len(self.client.assignment())

    def commit(self) -> None:
        self.client.commit()

    def close(self) -> None:
        self.client.close()


class KafkaPython(Actor):
    def __init__(self) -> None:
        super().__init__()
        self.transactional: dict[str, KafkaProducer] = {}

    def settings(self, **more: Any) -> dict[str, Any]:
        return {"bootstrap_servers": self.address.split(","), "client_id": self.client_id, **QUICK, **more}

    def servers(self, address: str, client_id: str = "actor") -> None:
        super().servers(address, client_id)
        self.kept_admin: KafkaAdminClient | None = None

    @property
    def admin(self) -> KafkaAdminClient:
        if self.kept_admin is None:
            self.kept_admin = KafkaAdminClient(bootstrap_servers=self.address.split(","))
        return self.kept_admin

    def create(self, topic: str, partitions: str) -> None:
        self.admin.create_topics([NewTopic(topic, int(partitions), 3)])

    def topics(self) -> str:
        return " ".join(sorted(self.admin.list_topics()))

    def configure(self, topic: str, name: str, value: str) -> str:
        self.admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs={name: value})])
        found = self.admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        return found["topic"][topic][name]["value"]

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])

    def produce(self, topic: str, compression: str, *records: str) -> str:
        codec = None if compression == "none" else compression
        producer = KafkaProducer(**self.settings(compression_type=codec, linger_ms=5))
        try:
            return send(producer, topic, records)
        finally:
            producer.close()

    def transact(self, name: str, topic: str, end: str, *records: str) -> None:
        producer = self.transactional.get(name)
        if producer is None:
            producer = self.transactional[name] = KafkaProducer(**self.settings(transactional_id=name))
            producer.init_transactions()
        producer.begin_transaction()
        send(producer, topic, records)
        producer.commit_transaction() if end == "commit" else producer.abort_transaction()

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
        return KafkaPythonConsumer(topic, self.settings(**more))


def send(producer: KafkaProducer, topic: str, records: tuple[str, ...]) -> str:
    sent = []
    for text in records:
        record = given(text)
        sent.append(producer.send(topic, record.value, record.key, record.headers or None, record.partition))
    producer.flush()
    places = [future.get() for future in sent]
    return " ".join(f"{place.partition}/{place.offset}" for place in places)


if __name__ == "__main__":
    serve(KafkaPython())
