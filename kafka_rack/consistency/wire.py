"""A history from requests and their answers, as a broker or an observer of the wire sees them.

Producers are identified by their producer id, or else by connection; readers by connection. A batch represents its
records: docs/journal.md says what the wire cannot prove.

>>> history = WireHistory()
>>> list(history.operations(WireCall(18, "client", 1, 0, 1, request=None)))
[]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, NamedTuple

from kafka_rack.consistency.batches import HistoryBatch, read_batches, without_aborted
from kafka_rack.consistency.history import (
    Ending,
    LogStart,
    Operation,
    Outcome,
    Poll,
    Read,
    Send,
    TopicPartition,
    Transaction,
)
from protocol.error_codes import ErrorCode
from protocol.uuids import uuid_to_text

PRODUCE, FETCH, METADATA, CREATE_TOPICS, DELETE_TOPICS, END_TXN, DESCRIBE_TOPIC_PARTITIONS = 0, 1, 3, 19, 20, 26, 75
CONSUMER = -1
NO_ID = bytes(16)
RECREATED = " (recreated, "

NOT_APPENDED = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode.INVALID_RECORD,
    }
)
"""Errors of Produce after which no record of the request is in the log. After all others it may be."""

NO_SUCH_PARTITION = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID}
)
"""Errors without operations: the partition does not exist, or no longer."""


class WireCall(NamedTuple):
    """A request and its answer, None without one.

    Times are in ms; ``ended_at`` is when the answer was sent, or it was certain that none would be. ``server`` is the
    broker, if known; numbers of connections are per broker, unless ``connection`` contains the broker.
    """

    api_key: int
    client_id: str | None
    connection: Hashable
    begun_at: float
    ended_at: float
    request: Any
    response: Any = None
    server: Hashable = None


class OpenTransaction:
    """The current transaction of a producer, or its last one."""

    __slots__ = ("id", "is_ended", "number")

    def __init__(self, producer_id: int, producer_epoch: int, number: int) -> None:
        self.number, self.is_ended = number, False
        self.id = (producer_id, producer_epoch, number)


class WireHistory:
    """Turns calls into operations, one after the other, approximately in the order of their ends.

    ``topic_name`` returns the name of a topic id that no Metadata answer contained.
    """

    def __init__(self, topic_name: Callable[[bytes], str | None] | None = None) -> None:
        self._topic_name = topic_name
        self._names: dict[bytes, str] = {}
        self._ids: dict[str, bytes] = {}
        self._made_anew: dict[str, int] = {}
        self._sessions: dict[tuple[Hashable, int], dict[TopicPartition, int]] = {}
        self._transactions: dict[int, OpenTransaction] = {}
        self._log_starts: dict[TopicPartition, int] = {}
        self._handlers: Mapping[int, Callable[[WireCall], Iterator[Operation]]] = {
            PRODUCE: self._produce,
            FETCH: self._fetch,
            METADATA: self._topics,
            CREATE_TOPICS: self._topics,
            DELETE_TOPICS: self._delete_topics,
            END_TXN: self._end_transaction,
            DESCRIBE_TOPIC_PARTITIONS: self._topics,
        }

    @property
    def api_keys(self) -> frozenset[int]:
        """The APIs whose calls have operations."""
        return frozenset(self._handlers)

    def operations(self, call: WireCall) -> Iterator[Operation]:
        """The operations of a call."""
        handler = self._handlers.get(call.api_key)
        return handler(call) if handler is not None else iter(())

    # records

    def _produce(self, call: WireCall) -> Iterator[Operation]:
        request, response = call.request, call.response
        answers: dict[tuple[str, bytes, int], Any] = {}
        if response is not None:
            for told in response.responses:
                for one in told.partition_responses:
                    answers[told.name, told.topic_id, one.index] = one
        for topic in request.topic_data:
            name = self._name(topic.name, topic.topic_id)
            for partition in topic.partition_data:
                answer = answers.get((topic.name, topic.topic_id, partition.index))
                yield from self._sends(call, name, partition, answer)

    def _sends(self, call: WireCall, topic: str, partition: Any, answer: Any) -> Iterator[Operation]:
        if answer is not None and answer.error_code in NO_SUCH_PARTITION:
            return
        outcome: Outcome = "unknown"
        base_offset = None
        if answer is not None and answer.error_code == ErrorCode.NONE:
            outcome = "acknowledged"
            base_offset = answer.base_offset if answer.base_offset >= 0 else None
        elif answer is not None and answer.error_code in NOT_APPENDED:
            outcome = "failed"
        for batch in read_batches(partition.records):
            if batch.is_control:
                continue
            offset = base_offset
            if base_offset is not None and batch.value is not None:
                base_offset += batch.num_offsets
            elif batch.value is None:  # its number of offsets is unknown
                return
            is_idempotent = batch.producer_id >= 0
            yield Send(
                producer_name(call, batch),
                topic,
                partition.index,
                batch.value,
                call.begun_at,
                call.ended_at if call.response is not None else None,
                outcome,
                offset,
                self._transaction_of(batch) if batch.is_transactional else None,
                call.request.acks,
                is_idempotent,
                batch.num_offsets,
                batch.form,
            )
        if answer is not None:
            yield from self._log_start(topic, partition.index, answer.log_start_offset, call.ended_at)

    def _fetch(self, call: WireCall) -> Iterator[Operation]:
        request, response = call.request, call.response
        if max(request.replica_id, request.replica_state.replica_id) != CONSUMER:
            return
        positions = self._positions(call)
        if response is None or response.error_code:
            return
        reads: list[Read] = []
        spans: dict[TopicPartition, tuple[int, int]] = {}
        is_committed = request.isolation_level == 1
        for told in response.responses:
            topic = self._name(told.topic, told.topic_id)
            for one in told.partitions:
                place = topic, one.partition_index
                if one.error_code:
                    continue
                yield from self._log_start(*place, one.log_start_offset, call.ended_at)
                if not one.records:
                    continue
                start = positions.get(place)
                found = list(read_batches(bytes(one.records), start or 0))  # a broker's may be in pieces
                if not found:
                    continue
                end = found[-1].offset + found[-1].num_offsets
                kept = without_aborted(found, one.aborted_transactions) if is_committed else found
                reads += [read_of(place, batch) for batch in kept]
                spans[place] = (found[0].offset, end) if start is None else (start, max(start, end))
        if spans:
            yield Poll(reader_name(call), reads, call.begun_at, call.ended_at, spans, is_committed)

    def _positions(self, call: WireCall) -> dict[TopicPartition, int]:
        """The offsets of a Fetch: those of the request, and the earlier ones of its session (KIP-227)."""
        request, response = call.request, call.response
        key = call.server, request.session_id
        positions = self._sessions.pop(key, {})
        if request.session_epoch <= 0:
            positions = {}
        for forgotten in request.forgotten_topics_data:
            name = self._name(forgotten.topic, forgotten.topic_id)
            for partition in forgotten.partitions:
                positions.pop((name, partition), None)
        for topic in request.topics:
            name = self._name(topic.topic, topic.topic_id)
            for one in topic.partitions:
                positions[name, one.partition] = one.fetch_offset
        session_id = response.session_id if response is not None and not response.error_code else request.session_id
        if session_id:
            self._sessions[call.server, session_id] = positions
        return positions

    def _log_start(self, topic: str, partition: int, offset: int, at: float) -> Iterator[Operation]:
        place = topic, partition
        if offset > self._log_starts.get(place, 0):
            self._log_starts[place] = offset
            yield LogStart(topic, partition, offset, at)

    # transactions

    def _transaction_of(self, batch: HistoryBatch) -> Hashable:
        known = self._transactions.get(batch.producer_id)
        if known is None or known.is_ended or known.id[1] != batch.producer_epoch:
            number = 0 if known is None else known.number + 1
            known = OpenTransaction(batch.producer_id, batch.producer_epoch, number)
            self._transactions[batch.producer_id] = known
        return known.id

    def _end_transaction(self, call: WireCall) -> Iterator[Operation]:
        request, response = call.request, call.response
        known = self._transactions.get(request.producer_id)
        if known is None or known.is_ended or known.id[1] != request.producer_epoch:
            return
        if response is not None and response.error_code == ErrorCode.NONE:
            known.is_ended = True
            ending: Ending = "committed" if request.committed else "aborted"
            yield Transaction(request.transactional_id, known.id, ending, call.begun_at, call.ended_at)
        else:
            yield Transaction(request.transactional_id, known.id, "unknown", call.begun_at, None)

    # names

    def _topics(self, call: WireCall) -> Iterator[Operation]:
        for topic in call.response.topics if call.response is not None else ():
            if topic.name and topic.topic_id != NO_ID and not topic.error_code:
                self.learn_topic(topic.name, topic.topic_id)
        return iter(())

    def _delete_topics(self, call: WireCall) -> Iterator[Operation]:
        for one in call.response.responses if call.response is not None else ():
            if not one.error_code:
                name = one.name or self._names.get(one.topic_id)
                if name is not None:
                    self._ids.pop(name, None)
                    self._count_anew(name)
        return iter(())

    def learn_topic(self, name: str, topic_id: bytes) -> None:
        """Set a topic's id; a new id means that the topic was created again."""
        if self._names.get(topic_id) == name:
            return
        if self._ids.get(name) not in {None, topic_id}:
            self._count_anew(name)
        self._names[topic_id], self._ids[name] = name, topic_id

    def _name(self, name: str, topic_id: bytes) -> str:
        """The history's name for a topic that a message names by name or by id."""
        if not name:
            known = self._names.get(topic_id)
            if known is None and self._topic_name is not None:
                known = self._topic_name(topic_id)
                if known is not None:
                    self.learn_topic(known, topic_id)
            if known is None:
                return uuid_to_text(topic_id)
            name = known
        return self._label(name)

    def _label(self, name: str) -> str:
        """The history's label of a topic; a topic that was deleted and created again has another one."""
        number = self._made_anew.get(name)
        return name if number is None else f"{name}{RECREATED}{number})"

    def _count_anew(self, name: str) -> None:
        self._made_anew[name] = self._made_anew.get(name, 0) + 1


def read_of(place: TopicPartition, batch: HistoryBatch) -> Read:
    is_idempotent = batch.producer_id >= 0 and batch.value is not None
    return Read(
        *place,
        batch.offset,
        batch.value,
        batch.num_offsets,
        batch.form,
        batch.is_control,
        is_idempotent,
        batch.lacks_records,
    )


def producer_name(call: WireCall, batch: HistoryBatch) -> str:
    name = call.client_id or "a client"
    if batch.producer_id >= 0:
        return f"{name} (producer {batch.producer_id})"
    return f"{name} (connection {call.connection})"


def reader_name(call: WireCall) -> str:
    return f"{call.client_id or 'a client'} (connection {call.connection})"


def topic_of(label: str) -> str:
    """The name of a topic from its label in a history.

    >>> topic_of("orders (recreated, 1)")
    'orders'
    """
    return label.partition(RECREATED)[0]
