"""The history of sends and polls of a journal, for kafka_rack.consistency.

``ObservedHistory`` has the whole history: it reads each batch as calls end, and stores its offsets, and its producer's
numbers or its checksum. ``check_records`` uses what the journal stores anyway: the offsets of each Produce and Fetch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kafka_rack.consistency import Checker, LogStart, Operation, Poll, Read, Report, Send, check
from kafka_rack.consistency.wire import NO_ID, NOT_APPENDED, RECREATED, WireCall, WireHistory
from mockbroker.call import Outcome
from mockbroker.core.journal.records import CallRecord
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

MAX_EXAMPLES = 5


class ObservedHistory:
    """Checks what clients send and receive, call by call.

    >>> ObservedHistory().report().is_consistent
    True
    """

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._wire = WireHistory(self._topic_name)
        self._checker = Checker(max_examples=MAX_EXAMPLES)
        self._api_keys = self._wire.api_keys

    def call_ended(self, outcome: Outcome) -> None:
        """Add a call that ended to the history."""
        call = outcome.call
        if call.api_key not in self._api_keys or not call.body_start:
            return
        self._cluster = call.cluster
        try:
            request = call.request
        except ProtocolError:
            return
        for part in call.parts or ():
            if part.topic and part.topic_id != NO_ID:
                self._wire.learn_topic(part.topic, part.topic_id)
        session = call.session
        wire_call = WireCall(
            call.api_key,
            session.client_id,
            session.connection,
            call.arrived_ms,
            outcome.at_ms,
            request,
            outcome.response,
            session.broker.id,
        )
        for operation in self._wire.operations(wire_call):
            self._checker.add(operation)

    def report(self) -> Report:
        """The report on the calls so far."""
        return self._checker.report()

    def _topic_name(self, topic_id: bytes) -> str | None:
        topic = self._cluster.topic_by_id.get(topic_id) if self._cluster is not None else None
        return topic.name if topic is not None else None


def check_records(records: Sequence[CallRecord], cluster: Cluster) -> Report:
    """The report on the offsets that a journal has stored: without batches that were read, and transactions."""
    labels = TopicLabels()
    history = [operation for record in records for operation in operations_of(record, labels)]
    return check([*history, *log_starts(records, cluster, labels)], max_examples=MAX_EXAMPLES)


def operations_of(record: CallRecord, labels: TopicLabels) -> Iterator[Operation]:
    """The operations of a stored call; topics are distinguished by id, so a recreated topic is another."""
    client = f"{record.client.client_id or 'a client'} (connection {record.client.connection})"
    for part in record.written:
        entry = part.entry
        if entry.error_code in NOT_APPENDED or part.end_offset <= entry.base_offset or entry.base_offset < 0:
            continue
        yield Send(
            client,
            labels.of(part.topic, part.topic_id),
            entry.index,
            (part.crc, part.size_bytes, entry.base_offset),
            record.arrived_ms,
            record.at_ms,
            "acknowledged" if entry.error_code == ErrorCode.NONE else "unknown",
            entry.base_offset,
            acks=part.acks,
            is_idempotent=False,
            num_offsets=part.end_offset - entry.base_offset,
        )
    for read in record.read:
        if read.error_code or not read.size_bytes or read.topic is None or read.next_offset <= read.first_offset:
            continue
        topic = labels.of(read.topic, read.topic_id)
        span = read.fetch_offset, max(read.next_offset, read.fetch_offset)
        yield Poll(
            client,
            [Read(topic, read.partition, read.first_offset, None, read.next_offset - read.first_offset)],
            record.arrived_ms,
            record.at_ms,
            {(topic, read.partition): span},
        )


def log_starts(records: Iterable[CallRecord], cluster: Cluster, labels: TopicLabels) -> Iterator[LogStart]:
    """The logs of the partitions written or read that no longer begin with their first record."""
    places = {(part.topic_id, part.entry.index) for record in records for part in record.written}
    places |= {(part.topic_id, part.partition) for record in records for part in record.read}
    for topic_id, number in sorted(places):
        topic = cluster.topic_by_id.get(topic_id)
        if topic is None or topic.is_internal or not 0 <= number < len(topic.partitions):
            continue
        offset = topic.partitions[number].log.start_offset
        if offset:
            yield LogStart(labels.of(topic.name, topic_id), number, offset, 0)


class TopicLabels:
    """Labels of topics in a history: the name, and another label for a recreated topic of the same name.

    >>> labels = TopicLabels()
    >>> labels.of("orders", b"1"), labels.of("orders", b"2"), labels.of("orders", b"1")
    ('orders', 'orders (recreated, 1)', 'orders')
    """

    def __init__(self) -> None:
        self._ids: dict[str, list[bytes]] = {}

    def of(self, name: str, topic_id: bytes) -> str:
        ids = self._ids.setdefault(name, [])
        if topic_id not in ids:
            ids.append(topic_id)
        number = ids.index(topic_id)
        return f"{name}{RECREATED}{number})" if number else name
