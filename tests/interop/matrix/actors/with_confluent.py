"""confluent-kafka, that is librdkafka."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, Producer, ShareConsumer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from tests.interop.matrix.actors.orders import Actor, given, serve, told

QUICK = {"log_level": 2, "topic.metadata.refresh.interval.ms": 1000}
MAX_AT_ONCE = 500


class ConfluentConsumer:
    def __init__(self, topic: str, settings: dict[str, Any]) -> None:
        self.client = Consumer(settings)
        self.client.subscribe([topic])

    def poll(self, timeout_s: float) -> list[str]:
        found = []
        for message in self.client.consume(MAX_AT_ONCE, timeout_s):
            if message.error():
                raise RuntimeError(str(message.error()))
            found.append(shown(message))
        return found

    def partitions(self) -> int:
        return len(self.client.assignment())

    def commit(self) -> None:
        self.client.commit(asynchronous=False)

    def close(self) -> None:
        self.client.close()


class ConfluentShareConsumer:
    def __init__(self, topic: str, settings: dict[str, Any]) -> None:
        self.client = ShareConsumer(settings)
        self.client.subscribe([topic])

    def poll(self, timeout_s: float) -> list[str]:
        return [shown(message) for message in self.client.poll(timeout_s) if not message.error()]

    def partitions(self) -> int:
        return 0

    def commit(self) -> None:
        pass  # the next poll acknowledges

    def close(self) -> None:
        self.client.close()


def shown(message: Any) -> str:
    return told(message.partition(), message.offset(), message.key(), message.value(), message.headers())


class Confluent(Actor):
    def __init__(self) -> None:
        super().__init__()
        self.transactional: dict[str, Producer] = {}

    def settings(self, **more: Any) -> dict[str, Any]:
        ours = {name.replace("_", "."): value for name, value in more.items()}
        return {"bootstrap.servers": self.address, "client.id": self.client_id, **QUICK, **ours}

    def servers(self, address: str, client_id: str = "actor") -> None:
        super().servers(address, client_id)
        self.admin = AdminClient({"bootstrap.servers": address, "log_level": 2})

    def create(self, topic: str, partitions: str) -> None:
        done(self.admin.create_topics([NewTopic(topic, int(partitions), 3)]))

    def topics(self) -> str:
        return " ".join(sorted(self.admin.list_topics(timeout=30).topics))

    def configure(self, topic: str, name: str, value: str) -> str:
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        done(self.admin.incremental_alter_configs([ConfigResource("topic", topic, incremental_configs=[entry])]))
        [configs] = done(self.admin.describe_configs([ConfigResource("topic", topic)]))
        return configs[name].value

    def delete(self, topic: str) -> None:
        done(self.admin.delete_topics([topic]))

    def produce(self, topic: str, compression: str, *records: str) -> str:
        return send(Producer(self.settings(compression_type=compression, linger_ms=5)), topic, records)

    def transact(self, name: str, topic: str, end: str, *records: str) -> None:
        producer = self.transactional.get(name)
        if producer is None:
            producer = self.transactional[name] = Producer(self.settings(transactional_id=name))
            producer.init_transactions()
        producer.begin_transaction()
        send(producer, topic, records)
        producer.commit_transaction() if end == "commit" else producer.abort_transaction()

    def consumer(self, topic: str, group: str, settings: dict[str, str]) -> Any:
        protocol = settings.get("protocol", "classic")
        named = {"group.id": group, "client.rack": settings.get("rack", "")}
        if protocol == "share":
            return ConfluentShareConsumer(topic, self.settings() | named)
        named |= {
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "group.protocol": protocol,
            "isolation.level": settings.get("isolation", "read_uncommitted"),
        }
        if protocol == "classic":
            named |= {"heartbeat.interval.ms": 200}
        return ConfluentConsumer(topic, self.settings() | named)


def send(producer: Producer, topic: str, records: tuple[str, ...]) -> str:
    places: list[str] = [""] * len(records)
    problems = []

    def noted(at: int) -> Any:
        def delivered(error: Any, message: Any) -> None:
            if error:
                problems.append(error)
            else:
                places[at] = f"{message.partition()}/{message.offset()}"

        return delivered

    for at, text in enumerate(records):
        record = given(text)
        producer.produce(
            topic,
            record.value,
            record.key,
            partition=record.partition,
            headers=record.headers or None,
            on_delivery=noted(at),
        )
    producer.flush()
    if problems:
        raise RuntimeError(str(problems[0]))
    return " ".join(places)


def done(futures: dict[Any, Any]) -> list[Any]:
    return [future.result() for future in futures.values()]


if __name__ == "__main__":
    serve(Confluent())
