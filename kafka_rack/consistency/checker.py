"""Checks a history operation by operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

from kafka_rack.consistency.history import LogStart, Operation, Poll, Read, Send, TopicPartition, Transaction
from kafka_rack.consistency.partition_history import PartitionHistory
from kafka_rack.consistency.report import KINDS, Anomaly, Kind, Report

MAX_EXAMPLES = 5
IsLossy = Callable[[str], bool]


def check(history: Iterable[Operation], *, is_lossy: IsLossy | None = None, max_examples: int = MAX_EXAMPLES) -> Report:
    """Find the anomalies of a history that Kafka never permits.

    Args:
        history: operations, approximately in the order of their ends; a generator is read once.
        is_lossy: returns True for a topic of which Kafka may drop acknowledged records: by compaction, retention or
            unclean leader election.
        max_examples: the most anomalies of each kind with evidence. All are counted.

    >>> check([]).is_consistent
    True
    """
    checker = Checker(is_lossy=is_lossy, max_examples=max_examples)
    for operation in history:
        checker.add(operation)
    return checker.report()


class Checker:
    """``check`` for a history that continues; ``report`` may be called at any time."""

    def __init__(self, *, is_lossy: IsLossy | None = None, max_examples: int = MAX_EXAMPLES) -> None:
        self._is_lossy, self._max_examples = is_lossy, max_examples
        self._partitions: dict[TopicPartition, PartitionHistory] = {}
        self._transactions: dict[Hashable, Transaction] = {}
        self._sends = self._polls = self._reads = 0

    def add(self, operation: Operation) -> None:
        """Add the next operation."""
        match operation:
            case Send():
                self._sends += 1
                self._partition((operation.topic, operation.partition)).sent(operation)
            case Poll():
                self._polled(operation)
            case Transaction():
                known = self._transactions.get(operation.id)
                if known is None or known.ending == "unknown":  # later ones repeat its end
                    self._transactions[operation.id] = operation
            case LogStart():
                history = self._partition((operation.topic, operation.partition))
                history.log_start = max(history.log_start, operation.offset)
            case _:
                raise TypeError(f"expected an operation of a history, got {type(operation).__name__}")

    def report(self) -> Report:
        """The anomalies in all operations until now."""
        found: dict[Kind, list[Anomaly]] = {kind: [] for kind in KINDS}
        counts: Counter[Kind] = Counter()
        for history in self._partitions.values():
            for one in history.anomalies(self._transactions.get):
                counts[one.kind] += 1
                if len(found[one.kind]) < self._max_examples:
                    found[one.kind].append(one)
        examples = tuple(one for kind in KINDS for one in found[kind])
        return Report(examples, counts, self._sends, self._polls, self._reads)

    def _polled(self, poll: Poll) -> None:
        self._polls += 1
        self._reads += sum(not read.is_control for read in poll.reads)
        spans = poll.spans or {}
        reads_of: dict[TopicPartition, list[Read]] = {place: [] for place in spans}
        for read in poll.reads:
            reads_of.setdefault((read.topic, read.partition), []).append(read)
        for place, reads in reads_of.items():
            self._partition(place).polled(poll, reads, spans.get(place))

    def _partition(self, place: TopicPartition) -> PartitionHistory:
        history = self._partitions.get(place)
        if history is None:
            is_lossy = self._is_lossy is not None and self._is_lossy(place[0])
            history = self._partitions[place] = PartitionHistory(place, is_lossy=is_lossy)
        return history
