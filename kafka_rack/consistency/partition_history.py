"""One partition's part of a history: collects its operations, and checks its batches against all of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import NamedTuple

from kafka_rack.consistency.history import ALL_IN_SYNC, Poll, Read, Send, TopicPartition, Transaction
from kafka_rack.consistency.report import Anomaly, Kind, shown, shown_name, shown_time

FindTransaction = Callable[[Hashable], Transaction | None]
RANK = {"failed": 0, "unknown": 1, "acknowledged": 2}

Identity = tuple[Hashable, Hashable]
"""A form and the value in it."""


class FirstRead(NamedTuple):
    """The poll that read a batch first."""

    client: str
    ended_at: float


class Gap(NamedTuple):
    """Offsets from ``start`` to before ``end`` that a poll skipped."""

    start: int
    end: int
    client: str
    ended_at: float


class SentBatch:
    """A record or batch by its identity: how it was sent, and the offsets at which it was read.

    ``send`` is the most informative attempt, ``attempts`` the number of attempts that may have been stored.
    """

    __slots__ = ("acknowledged_at", "attempts", "committed_read", "identity", "is_idempotent", "read_at", "send")

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.send: Send | None = None
        self.attempts = 0
        self.acknowledged_at: dict[int, Send] = {}
        self.read_at: dict[int, FirstRead] = {}
        self.committed_read: FirstRead | None = None
        self.is_idempotent = False


class PartitionHistory:
    """The known history of one partition."""

    def __init__(self, place: TopicPartition, *, is_lossy: bool) -> None:
        self.place, self.is_lossy, self.log_start = place, is_lossy, 0
        self._batches: dict[Identity, SentBatch] = {}
        self._read_at: dict[int, list[SentBatch]] = {}
        self._gaps: dict[Gap, None] = {}
        self._last_sends: dict[str, Send] = {}
        self._reordered: list[Anomaly] = []

    def sent(self, send: Send) -> None:
        """Add a producer's send."""
        if send.value is None:
            return
        batch = self._batch(send.form, send.value)
        is_retry = batch.send is not None
        if send.outcome != "failed":
            batch.attempts += 1
        if batch.send is None or RANK[send.outcome] > RANK[batch.send.outcome]:
            batch.send = send
        batch.is_idempotent |= send.is_idempotent
        if send.outcome == "acknowledged" and send.offset is not None:
            batch.acknowledged_at.setdefault(send.offset, send)
            if not is_retry:
                self._check_order(send)

    def _check_order(self, send: Send) -> None:
        last = self._last_sends.pop(send.client, send)
        earlier, later = (last, send) if last.begun_at <= send.begun_at else (send, last)
        self._last_sends[send.client] = later
        before, after = earlier.offset, later.offset
        assert before is not None
        assert after is not None
        is_concurrent = earlier.ended_at is None or later.begun_at < earlier.ended_at
        if (
            after >= before
            or self.is_lossy
            or (earlier.acks, later.acks) != (ALL_IN_SYNC, ALL_IN_SYNC)
            or (is_concurrent and not later.is_idempotent)  # a retry of one may come after the other
        ):
            return
        evidence = (
            f"{shown_name(send.client)} sent {shown(earlier.value)} at {shown_time(earlier.begun_at)}, which got "
            f"offset {before}, then {shown(later.value)} at {shown_time(later.begun_at)}, which got offset {after}"
        )
        self._reordered.append(self._anomaly("nonmonotonic-send", (before, after), (send.client,), evidence))

    def polled(self, poll: Poll, reads: list[Read], span: tuple[int, int] | None) -> None:
        """Add a consumer's poll and the records that it returned."""
        for last, read in pairwise(reads):
            if read.offset < last.end:
                evidence = (
                    f"the poll of {shown_name(poll.client)} at {shown_time(poll.ended_at)} returned offset "
                    f"{read.offset} after offset {last.offset}"
                )
                offsets = last.offset, read.offset
                self._reordered.append(self._anomaly("internal-nonmonotonic-poll", offsets, (poll.client,), evidence))
        position = span[0] if span is not None else None
        for read in sorted(reads, key=attrgetter("offset")):
            if position is not None and read.offset > position:
                self._gaps[Gap(position, read.offset, poll.client, poll.ended_at)] = None
            position = max(position or 0, read.end)
            self._read(poll, read)
        if span is not None and position is not None and span[1] > position:
            self._gaps[Gap(position, span[1], poll.client, poll.ended_at)] = None

    def _read(self, poll: Poll, read: Read) -> None:
        self.is_lossy |= read.lacks_records
        if read.is_control or read.value is None:
            return
        batch = self._batch(read.form, read.value)
        batch.is_idempotent |= read.is_idempotent
        first = FirstRead(poll.client, poll.ended_at)
        if read.offset not in batch.read_at:
            batch.read_at[read.offset] = first
            self._read_at.setdefault(read.offset, []).append(batch)
        if poll.is_committed and batch.committed_read is None:
            batch.committed_read = first

    def _batch(self, form: Hashable, value: Hashable) -> SentBatch:
        batch = self._batches.get((form, value))
        if batch is None:
            batch = self._batches[form, value] = SentBatch((form, value))
        return batch

    def anomalies(self, find_transaction: FindTransaction) -> Iterator[Anomaly]:
        """The anomalies of this partition in all operations so far."""
        yield from self._reordered
        gaps = merged(self._gaps)
        for batch in self._batches.values():
            yield from self._duplicates(batch)
            if batch.send is not None:
                transaction = find_transaction(batch.send.transaction) if batch.send.transaction is not None else None
                yield from self._aborted_reads(batch, batch.send, transaction)
                is_committed = transaction is not None and transaction.ending == "committed"
                if batch.send.transaction is None or is_committed:
                    for offset, send in batch.acknowledged_at.items():
                        yield from self._lost_writes(batch, offset, send, gaps)

    def _anomaly(self, kind: Kind, offsets: Sequence[int], clients: Iterable[str], evidence: str) -> Anomaly:
        topic, partition = self.place
        sentence = f"{shown_name(topic)}-{partition}: {evidence}"
        return Anomaly(kind, topic, partition, tuple(offsets), tuple(dict.fromkeys(map(shown_name, clients))), sentence)

    def _duplicates(self, batch: SentBatch) -> Iterator[Anomaly]:
        places = sorted(batch.acknowledged_at.keys() | batch.read_at.keys())
        if len(places) < 2 or not (batch.is_idempotent or 0 < batch.attempts < len(places)):
            return
        producers = [batch.send.client] if batch.send is not None else []
        evidence = (
            f"{shown(batch.identity[1])} is at offsets {' and '.join(map(str, places[:4]))}"
            f"{f' and {len(places) - 4} more' if len(places) > 4 else ''}; "
            + (f"it was sent {batch.attempts} times" if batch.attempts != 1 else "it was sent once")
        )
        clients = chain(producers, (read.client for read in batch.read_at.values()))
        yield self._anomaly("duplicate", places, clients, evidence)

    def _aborted_reads(self, batch: SentBatch, send: Send, transaction: Transaction | None) -> Iterator[Anomaly]:
        read = batch.committed_read
        if send.outcome == "failed":
            read, why = next(iter(batch.read_at.values()), None), "its send failed"
        elif transaction is not None and transaction.ending == "aborted":
            why = f"its transaction was aborted at {shown_time(transaction.begun_at)}"
        else:
            return
        if read is not None:
            offset = next(iter(batch.read_at))
            evidence = (
                f"{shown_name(read.client)} read {shown(send.value)} from {shown_name(send.client)} at offset {offset} "
                f"at {shown_time(read.ended_at)}; {why}"
            )
            yield self._anomaly("aborted-read", (offset,), (send.client, read.client), evidence)

    def _lost_writes(self, batch: SentBatch, offset: int, send: Send, gaps: list[Gap]) -> Iterator[Anomaly]:
        end = offset + send.num_offsets
        if send.acks != ALL_IN_SYNC or self.is_lossy or end <= self.log_start:
            return
        others = (one for one in self._read_at.get(offset, ()) if one.identity[0] == send.form and one is not batch)
        number = bisect_right(gaps, offset, key=attrgetter("end"))
        if (other := next(others, None)) is not None:
            client, at = other.read_at[offset]
            how = f"{shown_name(client)} read {shown(other.identity[1])} there at {shown_time(at)}"
        elif number < len(gaps) and gaps[number].start < end:
            gap = gaps[number]
            client, last = gap.client, gap.end - 1
            offsets = f"offset {last}" if gap.start == last else f"offsets {gap.start} to {last}"
            how = f"the poll of {shown_name(client)} at {shown_time(gap.ended_at)} passed over {offsets}"
        else:
            return
        evidence = (
            f"{shown(send.value)} from {shown_name(send.client)} was acknowledged at offset {offset} at "
            f"{shown_time(send.ended_at)}; {how}"
        )
        yield self._anomaly("lost-write", (offset,), (send.client, client), evidence)


def merged(gaps: Iterable[Gap]) -> list[Gap]:
    """Gaps merged to disjoint ones, in the order of their offsets, each with the reader of its first.

    >>> [gap[:2] for gap in merged([Gap(5, 7, "c", 0), Gap(1, 3, "c", 0), Gap(2, 4, "c", 0), Gap(6, 9, "c", 0)])]
    [(1, 4), (5, 9)]
    """
    found: list[Gap] = []
    for gap in sorted(gaps):
        if found and gap.start < found[-1].end:
            found[-1] = found[-1]._replace(end=max(found[-1].end, gap.end))
        else:
            found.append(gap)
    return found
