"""Takes a history operation by operation, and tells what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from kafka_rack.consistency.findings import Findings
from kafka_rack.consistency.history import (
    Assignment,
    LogStart,
    Operation,
    Poll,
    Read,
    Seek,
    Send,
    TopicPartition,
    Transaction,
)
from kafka_rack.consistency.ownership import Ownership
from kafka_rack.consistency.partition_history import PartitionHistory
from kafka_rack.consistency.permission import HistorySettings
from kafka_rack.consistency.report import Report

MAX_EXAMPLES = 5
SettingsOfTopic = Callable[[str], HistorySettings]


def check(
    history: Iterable[Operation],
    *,
    settings: HistorySettings | None = None,
    settings_of_topic: SettingsOfTopic | None = None,
    max_examples: int = MAX_EXAMPLES,
    max_records: int | None = None,
) -> Report:
    """Name the anomalies of a history, and say of each whether Kafka permits it.

    Args:
        history: operations, in about the order of their ends; a generator is read once.
        settings: what clients and topics were set to where operations do not say; Kafka's defaults.
        settings_of_topic: gives those of a topic by its name, where topics differ.
        max_examples: of each kind that keep their evidence. All are counted.
        max_records: keeps so many records (batches) at a time, None for all of them. Beyond that the older half is
            judged by what is known then, and forgotten. A poll without a span goes on then where the client's last one
            without a span ended.

    >>> check([]).is_consistent
    True
    """
    checker = Checker(settings, settings_of_topic=settings_of_topic, max_examples=max_examples, max_records=max_records)
    for operation in history:
        checker.add(operation)
    return checker.report()


class Checker:
    """The same, for a history that goes on; ``report`` may be asked again and again."""

    def __init__(
        self,
        settings: HistorySettings | None = None,
        *,
        settings_of_topic: SettingsOfTopic | None = None,
        max_examples: int = MAX_EXAMPLES,
        max_records: int | None = None,
    ) -> None:
        if max_records is not None and max_records < 2:
            raise ValueError(f"max_records: expected 2 or more, got {max_records}")
        self.settings = settings or HistorySettings()
        self._settings_of_topic = settings_of_topic
        self._max_records = max_records
        self._findings = Findings(max_examples)
        self._ownership = Ownership(max_records)
        self._partitions: dict[TopicPartition, PartitionHistory] = {}
        self._transactions: dict[Hashable, Transaction] = {}
        self._partitions_of: dict[str, set[TopicPartition]] = {}  # that a client has polled
        self._sends = self._polls = self._reads = self._forgotten = 0
        self._room = max_records

    def add(self, operation: Operation) -> None:
        """Take the next operation."""
        match operation:
            case Send():
                self._sends += 1
                self._partition((operation.topic, operation.partition)).sent(operation, self._findings)
                self._make_room(1)
            case Poll():
                self._polled(operation)
            case Transaction():
                self._transaction(operation)
            case Assignment():
                self._ownership.assigned(operation, self._findings)
                self._reset(operation.client)
            case Seek():
                place = (operation.topic, operation.partition)
                self._partition(place).positions.reset(operation.client, operation.offset)
                self._note_reader(operation.client, place)
                self._make_room(1)
            case LogStart():
                history = self._partition((operation.topic, operation.partition))
                history.log_start = max(history.log_start, operation.offset)
                self._make_room(1)
            case _:
                raise TypeError(f"expected an operation of a history, got {type(operation).__name__}")

    def report(self) -> Report:
        """What was found, by all that is known up to now."""
        findings = self._findings.copy()
        for history in self._partitions.values():
            history.judge(history.records, self._transactions.get, findings)
            history.judge_skips(self._transactions.get, findings, remember=False)
        return Report(
            tuple(findings.examples),
            findings.counts,
            findings.permitted_counts,
            self._sends,
            self._polls,
            self._reads,
            self._forgotten,
        )

    def _polled(self, poll: Poll) -> None:
        self._polls += 1
        self._reads += sum(not read.is_control for read in poll.reads)
        spans = poll.spans or {}
        reads_of: dict[TopicPartition, list[Read]] = {place: [] for place in spans}
        for read in poll.reads:
            reads_of.setdefault((read.topic, read.partition), []).append(read)
        isolation_level = poll.isolation_level or self.settings.isolation_level
        for place, reads in reads_of.items():
            span = spans.get(place)
            if span is None or self._max_records is None:
                self._note_reader(poll.client, place)
            history = self._partition(place)
            history.polled(poll, reads, span, isolation_level, self._findings)
        self._make_room(max(1, len(poll.reads)))

    def _note_reader(self, client: str, place: TopicPartition) -> None:
        places = self._partitions_of.get(client)
        if places is None:
            places = self._partitions_of[client] = set()
            if self._max_records is not None and len(self._partitions_of) > self._max_records:
                self._reset(next(iter(self._partitions_of)))
        places.add(place)

    def _reset(self, client: str) -> None:
        """Nobody knows where this reader goes on."""
        for place in self._partitions_of.pop(client, ()):
            if place in self._partitions:
                self._partitions[place].positions.reset(client)

    def _transaction(self, transaction: Transaction) -> None:
        known = self._transactions.get(transaction.id)
        if known is not None and "open" not in {known.ending, transaction.ending}:  # a retry of its end
            first = known if known.ending in {"committed", "aborted"} else transaction
            begun_at = min(known.begun_at, transaction.begun_at)
            self._transactions[transaction.id] = first._replace(begun_at=begun_at)
        elif known is None or known.ending == "open":
            self._transactions[transaction.id] = transaction
            if self._max_records is not None and len(self._transactions) > self._max_records:
                del self._transactions[next(iter(self._transactions))]

    def _partition(self, place: TopicPartition) -> PartitionHistory:
        history = self._partitions.get(place)
        if history is None:
            settings = self.settings if self._settings_of_topic is None else self._settings_of_topic(place[0])
            history = self._partitions[place] = PartitionHistory(place, settings, self._max_records)
        return history

    def _make_room(self, added: int) -> None:
        """Judge and forget the older half of each partition's records, once there are too many."""
        if self._room is None or self._max_records is None:
            return
        self._room -= added
        if self._room > 0:
            return
        num_records = sum(map(len, (history.records for history in self._partitions.values())))
        if num_records + len(self._partitions) > self._max_records:
            for place, history in list(self._partitions.items()):
                number = (len(history.records) + 1) // 2
                history.judge(history.records.oldest(number), self._transactions.get, self._findings)
                history.judge_skips(self._transactions.get, self._findings, remember=True)
                history.forget(number)
                self._forgotten += number
                num_records -= number
                if not history.records:
                    del self._partitions[place]
        self._room = max(1, self._max_records - num_records - len(self._partitions))
