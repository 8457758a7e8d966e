"""The transactions in a partition's log: open ones, aborted ones, and the last stable offset.

All state follows from the log. Source: ProducerStateManager and TransactionIndex, Apache Kafka 4.4; KIP-98.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

NO_OFFSET = -1


class AbortedTransaction(NamedTuple):
    """An aborted transaction: its first offset, its marker's offset, and the last stable offset after its end."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class EndedTransaction(NamedTuple):
    """A transaction whose marker some replicas may lack, by the marker's offset."""

    last_offset: int
    first_offset: int


@dataclass(slots=True, eq=False)
class LogTransactions:
    """``open`` has the first offset of each open transaction by producer id, oldest first.

    ``ended`` has transactions that ended while replicas lagged, ``aborted`` all aborted ones; both ordered by marker.

    >>> transactions = LogTransactions()
    >>> transactions.begin(producer_id=7, first_offset=3)
    >>> transactions.last_stable_offset(10)
    3
    >>> transactions.end(producer_id=7, marker_offset=10, committed=False)
    >>> transactions.last_stable_offset(10), transactions.last_stable_offset(11)
    (3, 11)
    >>> [(one.producer_id, one.first_offset) for one in transactions.aborted_between(0, 11)]
    [(7, 3)]
    """

    open: dict[int, int] = field(default_factory=dict)
    ended: list[EndedTransaction] = field(default_factory=list)
    aborted: list[AbortedTransaction] = field(default_factory=list)

    def begin(self, producer_id: int, first_offset: int) -> None:
        """Record the first offset of a producer's transaction, unless one is open."""
        self.open.setdefault(producer_id, first_offset)

    def end(self, producer_id: int, marker_offset: int, *, committed: bool) -> None:
        """Record a marker, which ends the producer's transaction if one is open."""
        first_offset = self.open.pop(producer_id, None)
        if first_offset is None:
            return
        self.ended.append(EndedTransaction(marker_offset, first_offset))
        if not committed:
            stable = next(iter(self.open.values()), marker_offset + 1)
            self.aborted.append(AbortedTransaction(producer_id, first_offset, marker_offset, stable))

    def last_stable_offset(self, end_offset: int) -> int:
        """The last stable offset, for a replica with high watermark ``end_offset``."""
        later = self.ended[bisect_left(self.ended, (end_offset, NO_OFFSET)) :]
        oldest = islice(self.open.values(), 1)
        return min([end_offset, *oldest, *(one.first_offset for one in later)])

    def aborted_between(self, offset: int, upper_bound: int) -> list[AbortedTransaction]:
        """The aborted transactions with records from ``offset`` to before ``upper_bound``."""
        found = []
        for one in self.aborted[bisect_left(self.aborted, offset, key=attrgetter("last_offset")) :]:
            if one.first_offset < upper_bound:
                found.append(one)
            if one.last_stable_offset >= upper_bound:
                break
        return found

    def forget_before(self, offset: int) -> None:
        """Remove the aborted transactions whose markers are no longer in the log."""
        del self.aborted[: bisect_left(self.aborted, offset, key=attrgetter("last_offset"))]
