"""What happens to a cluster of one real broker before its data directory is kept: a little of all that lasts.

Clients are librdkafka's, by confluent-kafka; what it has no call for goes as a request. Names and numbers are chosen so
that a few kilobytes have several segments, every compression, transactions that were committed, aborted and left open,
a compacted topic, deleted records, and offsets of each kind of group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.progress import wait_until
from tests.storage.questions import NEWEST, READ_UNCOMMITTED, Asker, list_offsets

GROUPS = {"classic-readers": "classic", "consumer-readers": "consumer"}
SMALL_SEGMENTS = {"internal.segment.bytes": "1500", "index.interval.bytes": "200"}
TOPICS = {
    "orders": (3, {**SMALL_SEGMENTS, "retention.ms": "604800000"}),
    "codecs": (1, {"index.interval.bytes": "100"}),
    "payments": (2, {}),
    "accounts": (
        1,
        {
            "cleanup.policy": "compact",
            "internal.segment.bytes": "600",
            "min.cleanable.dirty.ratio": "0.01",
            "delete.retention.ms": "3600000",
        },
    ),
    "trimmed": (1, SMALL_SEGMENTS),
    "empty": (1, {}),
}
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ACCOUNTS, ACCOUNT_PASSES = 5, 12
PATIENCE_S = 60


def happen(address: str, began_ms: int, *, unfinished: bool) -> None:
    """All of it. ``unfinished`` leaves a transaction open, which nobody aborts while the test lasts."""
    make_topics(address)
    for partition in range(3):
        produce(address, "orders", partition, orders(partition, began_ms), {"enable.idempotence": True})
    for codec in CODECS:
        made = ((f"{codec}-{one}".encode(), f"{codec} {one} ".encode() * 9, began_ms + one) for one in range(4))
        produce(address, "codecs", 0, made, {"compression.type": codec})
    transactions(address, began_ms, unfinished=unfinished)
    compact(address, began_ms)
    produce(address, "trimmed", 0, ((None, b"record %d " % one * 4, began_ms + one) for one in range(60)), {})
    admin = AdminClient({"bootstrap.servers": address})
    for one in admin.delete_records([TopicPartition("trimmed", 0, 37)]).values():
        one.result(PATIENCE_S)
    commit_offsets(address)
    settings_and_rights(address)


def happen_to_ours(
    address: str, began_ms: int, topics: Mapping[str, tuple[int, Mapping[str, str]]], *, records_a_codec: int
) -> None:
    """What of it needs none of Kafka's settings that are for its own tests alone, on topics named as in ``TOPICS``."""
    make_topics(address, topics)
    for partition in range(3):
        produce(address, "orders", partition, orders(partition, began_ms), {"enable.idempotence": True})
    for codec in CODECS:
        made = ((b"key", f"{codec} ".encode() * 90, began_ms + one) for one in range(records_a_codec))
        produce(address, "codecs", 0, made, {"compression.type": codec})
    transactions(address, began_ms, unfinished=False)
    commit_offsets(address)
    settings_and_rights(address)


def make_topics(address: str, topics: Mapping[str, tuple[int, Mapping[str, str]]] = TOPICS) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    made = admin.create_topics(
        [NewTopic(name, partitions, 1, config=dict(configs)) for name, (partitions, configs) in topics.items()]
    )
    for one in made.values():
        one.result(PATIENCE_S)


def orders(partition: int, began_ms: int) -> Iterator[tuple[bytes, bytes, int]]:
    for one in range(40):
        yield (
            b"order-%d-%d" % (partition, one),
            b'{"order": %d, "lines": 3, "total": %d}' % (one, one * 7),
            began_ms + one,
        )


def produce(
    address: str,
    topic: str,
    partition: int,
    records: Iterator[tuple[bytes | None, bytes | None, int]],
    settings: Mapping[str, Any],
    records_in_batch: int = 4,
) -> None:
    """Send records in batches of a few, each with a header, and wait for their acknowledgement."""
    producer = Producer({"bootstrap.servers": address, "linger.ms": 1000, **settings})
    for count, (key, value, timestamp) in enumerate(records, 1):
        headers = [("source", b"history")] if value else None
        producer.produce(topic, value, key, partition, timestamp=timestamp, headers=headers)
        if count % records_in_batch == 0:
            assert producer.flush(PATIENCE_S) == 0
    assert producer.flush(PATIENCE_S) == 0


def transactions(address: str, began_ms: int, *, unfinished: bool) -> None:
    """Five transactions over both partitions, the second and fourth aborted, with offsets in the last one."""
    producer = transactional(address, "cashier")
    for number in range(5):
        producer.begin_transaction()
        for one in range(6):
            value = b"payment %d of transaction %d" % (one, number)
            producer.produce("payments", value, b"%d" % number, one % 2, timestamp=began_ms + number)
        producer.flush(PATIENCE_S)
        if number % 2:
            producer.abort_transaction(PATIENCE_S)
            continue
        if number == 4:
            reader = Consumer({"bootstrap.servers": address, "group.id": "classic-readers"})
            moved = [TopicPartition("payments", 1, 6)]
            producer.send_offsets_to_transaction(moved, reader.consumer_group_metadata(), PATIENCE_S)
            reader.close()
        producer.commit_transaction(PATIENCE_S)
    if unfinished:
        left = transactional(address, "interrupted")
        left.begin_transaction()
        left.produce("payments", b"nobody may see this yet", b"open", 0, timestamp=began_ms + 9)
        assert left.flush(PATIENCE_S) == 0
        LEFT_OPEN.append(left)  # its end would abort the transaction
    produce(address, "payments", 0, iter([(b"plain", b"outside of transactions", began_ms + 10)]), {})


LEFT_OPEN: list[Producer] = []


def transactional(address: str, transactional_id: str) -> Producer:
    settings = {"bootstrap.servers": address, "transactional.id": transactional_id, "transaction.timeout.ms": 900_000}
    producer = Producer(settings)
    producer.init_transactions(PATIENCE_S)
    return producer


def compact(address: str, began_ms: int) -> None:
    """Write the same keys again and again, two of them deleted at last, until the cleaner has been at work."""
    with Asker(address) as asker:
        for pass_number in range(ACCOUNT_PASSES):
            made = (
                (
                    b"account-%d" % one,
                    None if one < 2 and pass_number == 6 else b"balance %d" % (pass_number * one),
                    began_ms,
                )
                for one in range(ACCOUNTS)
                if pass_number <= 6 or one >= 2
            )
            produce(address, "accounts", 0, made, {})
        end = asker.ask("ListOffsets", 10, list_offsets("accounts", range(1), NEWEST, READ_UNCOMMITTED))
        ends = end.topics[0].partitions[0].offset

        def records_kept() -> int:
            consumer = Consumer({"bootstrap.servers": address, "group.id": "looking", "enable.auto.commit": False})
            consumer.assign([TopicPartition("accounts", 0, 0)])
            kept, position = 0, 0
            while position < ends:
                message = consumer.poll(PATIENCE_S)
                assert message is not None
                if message.error():
                    assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                    continue
                kept, position = kept + 1, message.offset() + 1
            consumer.close()
            return kept

        wait_until(lambda: records_kept() < ends // 2, "Kafka's log cleaner", records_kept)


def commit_offsets(address: str) -> None:
    for group, protocol in GROUPS.items():
        settings = {
            "bootstrap.servers": address,
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        consumer = Consumer(settings)
        consumer.subscribe(["orders"])
        read = 0
        while read < 100:
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            assert message.error() is None, message.error()
            read += 1
        offsets = [TopicPartition("orders", one, 10 + one, metadata=f"at {one}") for one in range(3)]
        consumer.commit(offsets=offsets, asynchronous=False)
        consumer.close()


def settings_and_rights(address: str) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    rights = [
        AclBinding(
            *(ResourceType.TOPIC, "orders", ResourcePatternType.LITERAL, "User:alice", "*"),
            *(AclOperation.READ, AclPermissionType.ALLOW),
        ),
        AclBinding(
            *(ResourceType.GROUP, "team-", ResourcePatternType.PREFIXED, "User:bob", "127.0.0.1"),
            *(AclOperation.ALL, AclPermissionType.DENY),
        ),
    ]
    for one in admin.create_acls(rights).values():
        one.result(PATIENCE_S)
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    user = UserScramCredentialUpsertion("alice", credential, b"wonderland", b"salt of a fixture")
    for one in admin.alter_user_scram_credentials([user]).values():
        one.result(PATIENCE_S)
    changed = [
        configured(ResourceType.BROKER, "0", "max.connections.per.ip", "700"),
        configured(ResourceType.TOPIC, "codecs", "max.message.bytes", "500000"),
    ]
    for one in admin.incremental_alter_configs(changed).values():
        one.result(PATIENCE_S)
    with Asker(address) as asker:
        value = {"configs": [{"name": "consumer.session.timeout.ms", "configOperation": 0, "value": "50000"}]}
        resource = {"resourceType": 32, "resourceName": "classic-readers", **value}
        answer = asker.ask("IncrementalAlterConfigs", 1, {"resources": [resource]})
        assert answer.responses[0].error_code == 0, answer
        entity = [{"entityType": "user", "entityName": "alice"}]
        quota = {"entity": entity, "ops": [{"key": "producer_byte_rate", "value": 1048576.0, "remove": False}]}
        answer = asker.ask("AlterClientQuotas", 1, {"entries": [quota]})
        assert answer.entries[0].error_code == 0, answer


def configured(kind: ResourceType, name: str, key: str, value: str) -> ConfigResource:
    entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
    return ConfigResource(kind, name, incremental_configs=[entry])
