"""Drives a transactional producer by hand through the frames of a Simulation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mockbroker.core.simulation import Simulation
from mockbroker.state.topics.coordinator_keys import TRANSACTIONS_TOPIC
from protocol.apis.fetch import FetchRequest
from protocol.apis.group_offsets import OffsetFetchRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.producer_ids import InitProducerIdRequest
from protocol.apis.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    TxnOffsetCommitRequest,
)
from protocol.records import ControlType, Record, build_batch, control_type, iter_records

TOPIC = "orders"
OLD, NEW = 1, 2  # how clients go by transaction.version: they add partitions themselves, or leave it to the broker
READ_COMMITTED = 1


class TransactionalProducer:
    """A producer with a transactional id, which goes by version 2 of transactions or by the one before.

    Each method gives the error code of the answer; ``epoch``, ``producer_id`` and ``sequences`` are kept as a client
    keeps them.
    """

    def __init__(
        self, sim: Simulation, transactional_id: str = "payments", *, version: int = NEW, timeout_ms: int = 60_000
    ) -> None:
        self.sim = sim
        self.id = transactional_id
        self.version = version
        self.timeout_ms = timeout_ms
        self.producer_id, self.epoch = -1, -1
        self.sequences: dict[tuple[str, int], int] = {}

    @property
    def coordinator(self) -> int:
        return self.sim.cluster.internal_topics.coordinator(self.id, TRANSACTIONS_TOPIC).id

    def init(self, *, continues: bool = False) -> int:
        """Begin, or with ``continues`` go on after an error (KIP-360)."""
        request = InitProducerIdRequest(transactional_id=self.id, transaction_timeout_ms=self.timeout_ms)
        if continues:
            request.producer_id, request.producer_epoch = self.producer_id, self.epoch
        answer = self.sim.ask(request, version=5, broker=self.coordinator)
        if answer.error_code == 0:
            self._take(answer)
        return answer.error_code

    def add(self, *indexes: int, topic: str = TOPIC) -> int:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=list(indexes))],
        )
        answer = self.sim.ask(request, version=3, broker=self.coordinator)
        return max(
            one.partition_error_code
            for result in answer.results_by_topic_v3_and_below
            for one in result.results_by_partition
        )

    def send(
        self,
        *values: bytes,
        index: int = 0,
        topic: str = TOPIC,
        adds: bool = True,
        timestamp: int | None = None,
        **fields: Any,
    ) -> int:
        """Produce one batch to the leader, which gets the partition added before where the version needs that."""
        if self.version == OLD and adds:
            error = self.add(index, topic=topic)
            if error:
                return error
        place = (topic, index)
        sequence = self.sequences.get(place, 0)
        records = build_batch(
            [Record(value=value, timestamp=self.sim.now_ms if timestamp is None else timestamp) for value in values],
            **{
                "producer_id": self.producer_id,
                "producer_epoch": self.epoch,
                "base_sequence": sequence,
                "transactional": True,
            }
            | fields,
        )
        request = ProduceRequest(
            transactional_id=self.id,
            acks=1,
            timeout_ms=1000,
            topic_data=[
                ProduceRequest.Topic(
                    name=topic, partition_data=[ProduceRequest.Topic.Partition(index=index, records=records)]
                )
            ],
        )
        leader = self.sim.cluster.find_partition(topic, index).leader
        answer = self.sim.ask(request, version=12 if self.version == NEW else 9, broker=max(0, leader))
        error: int = answer.responses[0].partition_responses[0].error_code
        if error == 0:
            self.sequences[place] = sequence + len(values)
        return error

    def add_offsets(self, group: str) -> int:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.id, producer_id=self.producer_id, producer_epoch=self.epoch, group_id=group
        )
        error: int = self.sim.ask(request, version=3, broker=self.coordinator).error_code
        return error

    def commit_offset(self, offset: int, *, group: str = "readers", index: int = 0, **fields: Any) -> int:
        if self.version == OLD:
            error = self.add_offsets(group)
            if error:
                return error
        partition = TxnOffsetCommitRequest.Topic.Partition(
            partition_index=index, committed_offset=offset, committed_metadata=""
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self.id,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequest.Topic(name=TOPIC, partitions=[partition])],
            **fields,
        )
        broker = self.sim.cluster.internal_topics.coordinator(group).id
        answer = self.sim.ask(request, version=5 if self.version == NEW else 3, broker=broker)
        error_code: int = answer.topics[0].partitions[0].error_code
        return error_code

    def end(self, *, commit: bool = True) -> int:
        request = EndTxnRequest(
            transactional_id=self.id, producer_id=self.producer_id, producer_epoch=self.epoch, committed=commit
        )
        answer = self.sim.ask(request, version=5 if self.version == NEW else 3, broker=self.coordinator)
        if answer.error_code == 0 and self.version == NEW:
            self._take(answer)
        return answer.error_code

    def _take(self, answer: Any) -> None:
        if (answer.producer_id, answer.producer_epoch) != (self.producer_id, self.epoch):
            self.sequences.clear()
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch


def fetched(
    sim: Simulation,
    *,
    isolation_level: int = READ_COMMITTED,
    index: int = 0,
    offset: int = 0,
    max_bytes: int = 10**6,
) -> Any:
    """The entry of one partition of a Fetch answer, from its leader."""
    wanted = FetchRequest.Topic.Partition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(
        isolation_level=isolation_level,
        max_bytes=10**6,
        topics=[FetchRequest.Topic(topic=TOPIC, partitions=[wanted])],
    )
    leader = sim.cluster.find_partition(TOPIC, index).leader
    return sim.ask(request, version=12, broker=leader).responses[0].partitions[0]


def visible(entry: Any) -> list[bytes]:
    """The values that a consumer of committed records is given, worked out as clients do it."""
    aborted = sorted(entry.aborted_transactions or (), key=lambda one: one.first_offset)
    open_aborted: set[int] = set()
    values = []
    for record in iter_records(entry.records or b""):
        assert record.batch is not None
        producer_id = record.batch.producer_id
        while aborted and aborted[0].first_offset <= record.offset:
            open_aborted.add(aborted.pop(0).producer_id)
        if record.is_control:
            if control_type(record) is ControlType.ABORT:
                open_aborted.discard(producer_id)
        elif not (record.batch.is_transactional and producer_id in open_aborted):
            assert record.value is not None
            values.append(record.value)
    return values


def committed_offset(
    sim: Simulation, group: str = "readers", *, stable: bool = False, index: int = 0
) -> tuple[int, int]:
    """(offset, error code) of what a group has committed."""
    topics = [OffsetFetchRequest.Topic(name=TOPIC, partition_indexes=[index])]
    request = OffsetFetchRequest(group_id=group, topics=topics, require_stable=stable)
    answer = sim.ask(request, version=7, broker=sim.cluster.internal_topics.coordinator(group).id)
    entry = answer.topics[0].partitions[0]
    return (entry.committed_offset, entry.error_code)


def values(entries: Iterable[Any]) -> list[bytes]:
    return [value for entry in entries for value in visible(entry)]
