"""What must hold of a cluster that was killed and opened again, as its clients see it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.progress import SignsOfWork, wait_until
from tests.torture.killing.asker import Asker
from tests.torture.killing.transactors import Copier, Ledger
from tests.torture.killing.workloads import PARTITIONS, Reader, Writer

LOOK_S, PATIENCE_S = 0.05, 60


def contents(bootstrap: str, topic: str) -> dict[tuple[int, int], bytes]:
    """All that a consumer of committed records reads of a topic that nobody writes to: values by partition and offset.

    A producer is told that its transaction is committed before every partition has the marker, so these are waited for.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wait_until(
        lambda: (
            ends(admin, topic, IsolationLevel.READ_COMMITTED) == ends(admin, topic, IsolationLevel.READ_UNCOMMITTED)
        ),
        f"the markers of transactions in {topic}",
    )
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "checks",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )
    found: dict[tuple[int, int], bytes] = {}
    ended: set[int] = set()
    consumer.assign([TopicPartition(topic, one, 0) for one in range(PARTITIONS)])
    signs = SignsOfWork(f"the end of {topic}", lambda: (len(found), len(ended)))
    while len(ended) < PARTITIONS:
        signs.check()
        for message in consumer.consume(500, LOOK_S):
            error, partition, offset = message.error(), message.partition(), message.offset()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    ended.add(partition or 0)
                else:
                    assert error.retriable() or error.code() < 0, error  # connections come and go
                continue
            ended.discard(partition or 0)
            value = message.value()
            assert isinstance(value, bytes)
            assert partition is not None
            assert offset is not None
            found[partition, offset] = value
    consumer.close()
    return found


def ends(admin: AdminClient, topic: str, isolation: IsolationLevel) -> list[int]:
    """Where readers of a topic get to, by partition."""
    wanted = {TopicPartition(topic, one): OffsetSpec.latest() for one in range(PARTITIONS)}
    found = admin.list_offsets(wanted, isolation_level=isolation)
    return [found[one].result(PATIENCE_S).offset for one in wanted]


def writer_is_right(writer: Writer, bootstrap: str) -> dict[tuple[int, int], bytes]:
    """No acknowledged record is lost or elsewhere, and none is there twice. Gives what the topic has."""
    found = contents(bootstrap, writer.topic)
    lost = {place: value for place, value in writer.acknowledged.items() if found.get(place) != value}
    assert not lost, f"{len(lost)} acknowledged records of {writer.topic} are lost, as {sorted(lost.items())[:3]}"
    doubled = [value for value, count in Counter(found.values()).items() if count > 1]
    assert not doubled, f"{len(doubled)} records of {writer.topic} are there more than once, as {doubled[:3]}"
    return found


def ledger_is_right(ledger: Ledger, bootstrap: str) -> None:
    """Each transaction is there whole and once, or not at all; what was told of its end is so."""
    found = contents(bootstrap, ledger.topic)
    by_partition = [Counter(value for (one, _), value in found.items() if one == index) for index in range(PARTITIONS)]
    for number, outcome in sorted(ledger.outcomes.items()):
        counts = {by_partition[index][b"%d" % number] for index in range(PARTITIONS)}
        allowed: list[set[int]] = {"committed": [{1}], "aborted": [{0}], "unknown": [{0}, {1}]}[outcome]
        assert counts in allowed, (
            f"transaction {number} is {outcome}, but is there {sorted(counts)} times; around it "
            f"{[(one, ledger.course[one]) for one in range(number - 1, number + 3) if one in ledger.course]}"
        )


def copy_is_right(copier: Copier, source: dict[tuple[int, int], bytes], bootstrap: str) -> None:
    """What was copied is what lies before the offsets that were committed with it, in its order, each once."""
    found = contents(bootstrap, copier.target)
    committed = committed_offsets(bootstrap, "copier", copier.source)
    for partition in range(PARTITIONS):
        copied = [value for (one, _), value in sorted(found.items()) if one == partition]
        read = [
            value
            for (one, offset), value in sorted(source.items())
            if one == partition and offset < committed.get(partition, 0)
        ]
        assert copied == read, (
            f"partition {partition}: {len(copied)} records copied, {len(read)} read; first difference at "
            f"{next((at for at, (one, other) in enumerate(zip(copied, read, strict=False)) if one != other), None)}"
        )


def reader_is_right(reader: Reader, topic: str, bootstrap: str) -> None:
    """No committed offset has gone back."""
    kept = committed_offsets(bootstrap, reader.group, topic)
    back = {
        partition: (offset, kept.get(partition))
        for partition, offset in reader.committed.items()
        if kept.get(partition, -1) < offset
    }
    assert not back, f"offsets of {reader.group} have gone back: committed and kept are {back}"


def committed_offsets(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """The offsets that a group has committed, transactions' too once they have ended."""
    wanted = {"groups": [{"groupId": group, "topics": None}], "requireStable": True}
    signs = SignsOfWork(f"the offsets of {group}")
    while True:
        signs.check()
        with Asker(coordinator_of(bootstrap, group)) as asker:
            (answer,) = asker.ask("OffsetFetch", 9, wanted).groups
        found = [one for one in answer.topics if one.name == topic]
        partitions = found[0].partitions if found else []
        if not answer.error_code and not any(one.error_code for one in partitions):
            return {one.partition_index: one.committed_offset for one in partitions}


def coordinator_of(bootstrap: str, key: str, kind: int = 0) -> str:
    signs = SignsOfWork(f"the coordinator of {key}")
    while True:
        signs.check()
        with Asker(bootstrap.split(",", maxsplit=1)[0]) as asker:
            (found,) = asker.ask("FindCoordinator", 4, {"keyType": kind, "coordinatorKeys": [key]}).coordinators
        if not found.error_code:
            return f"{found.host}:{found.port}"


@dataclass
class Observed:
    """What may only grow or stay, as it was seen last."""

    leader_epochs: dict[tuple[str, int], int] = field(default_factory=dict)
    topic_ids: dict[str, Any] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)
    cluster_id: str = ""
    producer: tuple[int, int] = (-1, -1)

    def look(self, bootstrap: str) -> None:
        """Look again, and compare. Raises AssertionError."""
        with Asker(bootstrap.split(",", maxsplit=1)[0]) as asker:
            metadata = asker.ask("Metadata", 13, {"topics": None})
        assert self.cluster_id in ("", metadata.cluster_id)
        self.cluster_id = metadata.cluster_id
        ids = {topic.name: topic.topic_id for topic in metadata.topics}
        gone = {name for name, topic_id in self.topic_ids.items() if ids.get(name) != topic_id}
        assert not gone, f"topics {sorted(gone)} are gone, or are others now"
        self.topic_ids = ids
        for topic in metadata.topics:
            for one in topic.partitions:
                key = (topic.name, one.partition_index)
                before = self.leader_epochs.get(key, 0)
                assert one.leader_epoch >= before, f"the leader epoch of {key} went from {before} to {one.leader_epoch}"
                self.leader_epochs[key] = one.leader_epoch
        self._look_at_producer(bootstrap)

    def _look_at_producer(self, bootstrap: str) -> None:
        """A producer that begins again with its transactional id has its id and a higher epoch."""
        signs = SignsOfWork("a producer id")
        while True:
            signs.check()
            with Asker(coordinator_of(bootstrap, "probe", 1)) as asker:
                given = asker.ask("InitProducerId", 4, {"transactionalId": "probe", "transactionTimeoutMs": 60_000})
            if not given.error_code:
                break
        found = (given.producer_id, given.producer_epoch)
        assert found > self.producer, f"the producer went from {self.producer} to {found}"
        self.producer = found
