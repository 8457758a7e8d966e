"""Checks a history operation by operation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from kafka_rack.consistency.history import LogStart, Operation, Poll, Read, Send, TopicPartition, Transaction
from kafka_rack.consistency.partition_history import PartitionHistory
from kafka_rack.consistency.report import Findings, Report

MAX_EXAMPLES = 5
IsLossy = Callable[[str], bool]


def check(
    history: Iterable[Operation],
    *,
    is_lossy: IsLossy | None = None,
    max_examples: int = MAX_EXAMPLES,
    max_records: int | None = None,
) -> Report:
    """Find the anomalies of a history that Kafka never permits.

    Args:
        history: operations, in about the order of their ends; a generator is read once.
        is_lossy: says of a topic whether Kafka may drop its acknowledged records: by compaction, retention or unclean
            leader election.
        max_examples: anomalies of each kind with their evidence. All are counted.
        max_records: records (batches) stored at a time, None for all of them. Beyond that the older half is judged
            by what is known then, and forgotten.

    >>> check([]).is_consistent
    True
    """
    checker = Checker(is_lossy=is_lossy, max_examples=max_examples, max_records=max_records)
    for operation in history:
        checker.add(operation)
    return checker.report()


class Checker:
    """The same for a history that continues; ``report`` may be called at any time."""

    def __init__(
        self, *, is_lossy: IsLossy | None = None, max_examples: int = MAX_EXAMPLES, max_records: int | None = None
    ) -> None:
        if max_records is not None and max_records < 2:
            raise ValueError(f"max_records: expected 2 or more, got {max_records}")
        self._is_lossy, self._max_records = is_lossy, max_records
        self._findings = Findings(max_examples)
        self._partitions: dict[TopicPartition, PartitionHistory] = {}
        self._transactions: dict[Hashable, Transaction] = {}
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
                known = self._transactions.get(operation.id)
                if known is None or known.ending == "unknown":  # later ones repeat its end
                    self._transactions[operation.id] = operation
                    if self._max_records is not None and len(self._transactions) > self._max_records:
                        del self._transactions[next(iter(self._transactions))]
            case LogStart():
                history = self._partition((operation.topic, operation.partition))
                history.log_start = max(history.log_start, operation.offset)
                self._make_room(1)
            case _:
                raise TypeError(f"expected an operation of a history, got {type(operation).__name__}")

    def report(self) -> Report:
        """The anomalies, by all that is known up to now."""
        findings = self._findings.copy()
        for history in self._partitions.values():
            history.judge(len(history), self._transactions.get, findings)
        return Report(tuple(findings.examples), findings.counts, self._sends, self._polls, self._reads, self._forgotten)

    def _polled(self, poll: Poll) -> None:
        self._polls += 1
        self._reads += sum(not read.is_control for read in poll.reads)
        spans = poll.spans or {}
        reads_of: dict[TopicPartition, list[Read]] = {place: [] for place in spans}
        for read in poll.reads:
            reads_of.setdefault((read.topic, read.partition), []).append(read)
        for place, reads in reads_of.items():
            self._partition(place).polled(poll, reads, spans.get(place), self._findings)
        self._make_room(max(1, len(poll.reads)))

    def _partition(self, place: TopicPartition) -> PartitionHistory:
        history = self._partitions.get(place)
        if history is None:
            is_lossy = self._is_lossy is not None and self._is_lossy(place[0])
            history = self._partitions[place] = PartitionHistory(place, self._max_records, is_lossy=is_lossy)
        return history

    def _make_room(self, added: int) -> None:
        """Judge and forget the older half of each partition's batches, once there are too many."""
        if self._room is None or self._max_records is None:
            return
        self._room -= added
        if self._room > 0:
            return
        total = sum(map(len, self._partitions.values()))
        if total + len(self._partitions) > self._max_records:
            for place, history in list(self._partitions.items()):
                number = (len(history) + 1) // 2
                history.judge(number, self._transactions.get, self._findings)
                history.forget(number)
                self._forgotten += number
                total -= number
                if not len(history):
                    del self._partitions[place]
        self._room = max(1, self._max_records - total - len(self._partitions))
