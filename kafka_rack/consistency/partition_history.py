"""One partition's part of a history: takes its operations, and judges its records once they are all known."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple, TypeVar

from kafka_rack.consistency.findings import Findings, shown, shown_name, shown_time
from kafka_rack.consistency.history import Poll, Read, Send, TopicPartition, Transaction
from kafka_rack.consistency.kinds import Kind
from kafka_rack.consistency.permission import (
    SEND_SKIP,
    HistorySettings,
    of_aborted_read,
    of_duplicate,
    of_inconsistent_offsets,
    of_lost_write,
    of_nonmonotonic_send,
    of_poll_skip,
    of_precommitted_read,
    of_unseen,
    permitted,
)
from kafka_rack.consistency.positions import Gap, Positions
from kafka_rack.consistency.ranges import Ranges
from kafka_rack.consistency.records import FirstRead, HistoryRecord, RecordIndex

FindTransaction = Callable[[Hashable], Transaction | None]

T = TypeVar("T")


class PartitionHistory:
    """What is known of one partition."""

    def __init__(self, place: TopicPartition, settings: HistorySettings, max_records: int | None) -> None:
        self.place, self.settings = place, settings
        self.records = RecordIndex()
        self.positions = Positions(place, settings, max_records)
        self.read_ranges = Ranges()
        self.log_start = 0
        self._max_senders = max_records
        self._last_sends: dict[str, Send] = {}
        self._skips_found: set[tuple[int, int, str]] = set()

    def sent(self, send: Send, findings: Findings) -> None:
        """A producer sent this."""
        known = self.records.of_value(send.form, send.value)
        is_retry = known is not None and known.send is not None
        is_placed = send.offset is not None and send.outcome == "acknowledged"
        if send.offset is not None and is_placed:
            record = self.records.placed(send, send.offset)
        elif known is not None:
            record = known
        elif send.value is not None:
            record = self.records.unplaced(send.form, send.value)
        else:
            return
        record.sent(send)
        if is_placed and not is_retry:
            self._check_order(send, findings)

    def _check_order(self, send: Send, findings: Findings) -> None:
        last = self._last_sends.pop(send.client, None)
        self._last_sends[send.client] = send
        if self._max_senders is not None and len(self._last_sends) > self._max_senders:
            del self._last_sends[next(iter(self._last_sends))]
        if last is None:
            return
        earlier, later = (last, send) if last.begun_at <= send.begun_at else (send, last)
        self._last_sends[send.client] = later
        assert earlier.offset is not None
        assert later.offset is not None
        if later.offset >= earlier.offset:
            return
        is_internal = send.transaction is not None and send.transaction == last.transaction
        findings.add(
            "internal-nonmonotonic-send" if is_internal else "nonmonotonic-send",
            of_nonmonotonic_send(
                self.settings,
                acks=weakest((earlier.acks, later.acks), self.settings.acks),
                is_idempotent=first_not_none(later.is_idempotent, earlier.is_idempotent),
                is_concurrent=earlier.ended_at is None or later.begun_at < earlier.ended_at,
            ),
            self.place,
            (earlier.offset, later.offset),
            (send.client,),
            lambda: (
                f"{shown_name(send.client)} sent {shown(earlier.value)} at {shown_time(earlier.begun_at)}, which got "
                f"offset {earlier.offset}, then {shown(later.value)} at {shown_time(later.begun_at)}, which got "
                f"offset {later.offset}"
            ),
        )

    def polled(
        self, poll: Poll, reads: list[Read], span: tuple[int, int] | None, isolation_level: str, findings: Findings
    ) -> None:
        """A consumer polled and was given these records."""
        self.positions.polled(poll, reads, span, isolation_level, findings)
        for read in reads:
            if read.num_offsets > 1:  # a broker may put what was sent one by one into a batch
                self.read_ranges.add(read.offset, read.offset + read.num_offsets)
            if read.lacks_records and not self.settings.compacts:
                self.settings = replace(self.settings, compacts=True)
            if not read.is_control and (read.value is not None or read.num_offsets == 1):
                record = self.records.placed(read, read.offset)
                record.was_read(poll, isolation_level)
                if read.is_idempotent is not None:
                    record.is_idempotent = read.is_idempotent

    def judge(self, records: Iterable[HistoryRecord], find_transaction: FindTransaction, findings: Findings) -> None:
        """Tell what is wrong with these records, as far as all operations so far show."""
        Judgement(self, find_transaction, findings).judge(records)

    def judge_skips(self, find_transaction: FindTransaction, findings: Findings, *, remember: bool) -> None:
        """Tell which polls passed over records; those of a remembered judgement are not told again."""
        found = Judgement(self, find_transaction, findings).judge_skips(self._skips_found)
        if remember:
            self._skips_found |= found
            self._skips_found &= self.positions.gaps.keys()

    def forget(self, number: int) -> None:
        """Drop the oldest records."""
        self.records.forget(number)
        first = min((record.start for record in self.records if record.offset is not None), default=None)
        if first is not None:
            self.read_ranges.forget_before(first)


class Cover(NamedTuple):
    """Gaps that touch, as one, with the first of them."""

    start: int
    end: int
    gap: Gap


class Judgement:
    """One look at a partition's records."""

    def __init__(self, history: PartitionHistory, find_transaction: FindTransaction, findings: Findings) -> None:
        self.place, self.settings, self.log_start = history.place, history.settings, history.log_start
        self.read_ranges = history.read_ranges
        self.all_records, self.gaps = history.records, history.positions.gaps
        self.find_transaction, self.findings = find_transaction, findings

    def judge(self, records: Iterable[HistoryRecord]) -> None:
        ordered = sorted((record for record in records if record.offset is not None), key=attrgetter("offset"))
        covers = merged(self.gaps.values())
        ends = [cover.end for cover in covers]
        for record in ordered:
            self.judge_place(record)
            self.judge_read(record)
            if record.elsewhere:
                self.judge_duplicate(record)
            if not record.was_value_read:
                number = bisect_right(ends, record.start)
                gap = None
                if number < len(covers) and covers[number].start < record.end:
                    gap = covers[number].gap
                self.judge_unread(record, gap)
        self.judge_overlaps(ordered)
        self.judge_send_order(ordered)

    def judge_place(self, record: HistoryRecord) -> None:
        """Is its offset given to others too?"""
        for rival in record.rivals:
            self.add_inconsistent(record, rival)

    def add_inconsistent(self, record: HistoryRecord, rival: HistoryRecord) -> None:
        unread = [one for one in (record, rival) if one.first_read is None]
        acks = weakest((send.acks for one in unread if (send := one.known_send) is not None), self.settings.acks)
        self.findings.add(
            "inconsistent-offsets",
            of_inconsistent_offsets(self.settings, acks=acks, both_read=not unread),
            self.place,
            (record.start, rival.start) if record.start != rival.start else (record.start,),
            [*clients_of(record), *clients_of(rival)],
            lambda: (
                f"offset {rival.start} has {shown(record.value)} ({story_of(record)}) and {shown(rival.value)} "
                f"({story_of(rival)})"
            ),
        )

    def judge_overlaps(self, ordered: Sequence[HistoryRecord]) -> None:
        """Batches of one form whose offsets overlap."""
        before: HistoryRecord | None = None
        for record in ordered:
            if (
                before is not None
                and before.start < record.start < before.end
                and {form for form, _ in before.identities} & {form for form, _ in record.identities}
            ):
                self.add_inconsistent(before, record)
            if before is None or record.end >= before.end:
                before = record

    def judge_duplicate(self, record: HistoryRecord) -> None:
        everyone = (record, *record.elsewhere)
        more = f" and {record.places - len(everyone)} more" if record.places > len(everyone) else ""
        self.findings.add(
            "duplicate",
            of_duplicate(
                self.settings,
                first_not_none(
                    *(one.is_idempotent for one in everyone), record.send.is_idempotent if record.send else None
                ),
                attempts=record.attempts,
                places=record.places,
            ),
            self.place,
            [one.start for one in everyone],
            [client for one in everyone for client in clients_of(one)],
            lambda: (
                f"{shown(record.value)} stands at offsets {' and '.join(str(one.start) for one in everyone)}{more} "
                f"({'; '.join(f'{one.start}: {story_of(one)}' for one in everyone)})"
            ),
        )

    def judge_read(self, record: HistoryRecord) -> None:
        """Was it read though it was aborted, or before it was committed?"""
        send, first_read = record.known_send, record.first_read
        if send is None or first_read is None:
            return
        if send.outcome == "failed":
            self.add_read("aborted-read", record, send, first_read, is_transactional=False, why="its send failed")
            return
        transaction = self.find_transaction(send.transaction) if send.transaction is not None else None
        if transaction is None:
            return
        if transaction.ending == "aborted":
            why = f"its transaction was aborted at {shown_time(transaction.begun_at)}"
            self.add_read("aborted-read", record, send, first_read, is_transactional=True, why=why)
        elif transaction.ending in {"committed", "open"}:
            is_open = transaction.ending == "open"
            why = "its transaction was not committed"
            if not is_open:
                why = f"the commit of its transaction began at {shown_time(transaction.begun_at)}"
            for read in (record.committed_read, record.uncommitted_read):
                if read is not None and (is_open or read.ended_at < transaction.begun_at):
                    self.add_read("precommitted-read", record, send, read, is_transactional=True, why=why)
                    break

    def add_read(
        self, kind: Kind, record: HistoryRecord, send: Send, read: FirstRead, *, is_transactional: bool, why: str
    ) -> None:
        isolation_level = "read_committed" if read is record.committed_read else "read_uncommitted"
        if kind == "aborted-read":
            permission = of_aborted_read(isolation_level, is_transactional=is_transactional)
        else:
            permission = of_precommitted_read(isolation_level)
        self.findings.add(
            kind,
            permission,
            self.place,
            (record.start,),
            (send.client, read.client),
            lambda: (
                f"{shown_name(read.client)} ({isolation_level}) read {shown(record.value)} from "
                f"{shown_name(send.client)} at offset {record.start} at {shown_time(read.ended_at)}; {why}"
            ),
        )

    def judge_unread(self, record: HistoryRecord, gap: Gap | None) -> None:
        """Nobody read it: was it lost, or did nobody come so far?"""
        send = record.send
        if send is None or send.outcome != "acknowledged":
            return
        if send.transaction is not None:
            transaction = self.find_transaction(send.transaction)
            if transaction is None or transaction.ending != "committed":
                return
        is_gone = record.end <= self.log_start
        rival = next((one for one in self.claimants(record) if one.first_read is not None), None)
        what = f"{shown(record.value)} from {shown_name(send.client)} was acknowledged at offset {record.start}"
        clients: Sequence[str]
        if rival is not None and rival.first_read is not None:
            kind: Kind = "lost-write"
            read = rival.first_read
            clients = (send.client, read.client)
            how = f"{shown_name(read.client)} read {shown(rival.value)} there at {shown_time(read.ended_at)}"
        elif self.read_ranges.has(record.start, record.end):
            return
        elif gap is not None:
            kind = "lost-write"
            clients = (send.client, gap.client)
            how = passed_over(gap)
        else:
            kind = "unseen"
            clients = (send.client,)
            how = "nobody read as far"
        if kind == "lost-write":
            permission = of_lost_write(self.settings, send.acks, is_below_log_start=is_gone)
        else:
            permission = of_unseen(self.settings, send.acks, is_below_log_start=is_gone)
        self.findings.add(
            kind,
            permission,
            self.place,
            (record.start,),
            clients,
            lambda: f"{what} at {shown_time(send.ended_at)}; {how}",
        )

    def claimants(self, record: HistoryRecord) -> Sequence[HistoryRecord]:
        """The other records of its offset."""
        there = self.all_records.at(record.start)
        return [one for one in (there, *there.rivals) if one is not record] if there is not None else ()

    def judge_send_order(self, ordered: Sequence[HistoryRecord]) -> None:
        """Do records of others lie between the sends of a producer?"""
        last_of: dict[str, tuple[int, Send]] = {}
        for number, record in enumerate(ordered):
            send = record.known_send
            if send is None:
                continue
            last, last_of[send.client] = last_of.get(send.client), (number, send)
            if last is None or last[0] == number - 1:
                continue
            number_before, before = last
            between, start = ordered[number_before + 1], ordered[number_before].start
            is_internal = send.transaction is not None and send.transaction == before.transaction
            self.findings.add(
                "internal-send-skip" if is_internal else "send-skip",
                SEND_SKIP,
                self.place,
                (start, record.start),
                (send.client, *clients_of(between)[:1]),
                lambda send=send, record=record, start=start, between=between: (  # type: ignore[misc]
                    f"between offsets {start} and {record.start} of {shown_name(send.client)} lies "
                    f"{shown(between.value)} at {between.start} ({story_of(between)})"
                ),
            )

    def judge_skips(self, known: set[tuple[int, int, str]]) -> set[tuple[int, int, str]]:
        """Which polls passed over records that were read; gives their gaps, without those that are known."""
        found: set[tuple[int, int, str]] = set()
        if not self.gaps:
            return found
        ordered = sorted((record for record in self.all_records if record.offset is not None), key=attrgetter("offset"))
        starts = [record.start for record in ordered]
        for key, gap in self.gaps.items():
            if key in known:
                continue
            first = max(0, bisect_left(starts, gap.start) - 1)
            for record in ordered[first : bisect_left(starts, gap.end)]:
                if record.end > gap.start and self.should_be_read(record, gap.isolation_level):
                    found.add(key)
                    self.add_skip(gap, record)
                    break
        return found

    def should_be_read(self, record: HistoryRecord, isolation_level: str) -> bool:
        """Whether a reader that comes by is given it; that others were is what shows it."""
        if record.first_read is None:
            return False
        send = record.known_send
        if send is None or send.transaction is None:
            return isolation_level == "read_uncommitted" or record.committed_read is not None or send is not None
        transaction = self.find_transaction(send.transaction)
        if transaction is not None and transaction.ending == "aborted":
            return isolation_level == "read_uncommitted"
        is_committed = record.committed_read is not None or (
            transaction is not None and transaction.ending == "committed"
        )
        return isolation_level == "read_uncommitted" or is_committed

    def add_skip(self, gap: Gap, record: HistoryRecord) -> None:
        read = record.first_read
        assert read is not None
        permission = of_poll_skip(self.settings, is_internal=gap.is_internal)
        if record.end <= self.log_start:
            permission = permitted("the log starts behind it: retention or DeleteRecords removed it")
        self.findings.add(
            "internal-poll-skip" if gap.is_internal else "poll-skip",
            permission,
            self.place,
            (record.start,),
            (gap.client, read.client),
            lambda: (
                f"{passed_over(gap)}, where {shown_name(read.client)} read {shown(record.value)} at {record.start} at "
                f"{shown_time(read.ended_at)}"
            ),
        )


def passed_over(gap: Gap) -> str:
    offsets = f"offset {gap.start}" if gap.end == gap.start + 1 else f"offsets {gap.start} to {gap.end - 1}"
    return f"the poll of {shown_name(gap.client)} at {shown_time(gap.ended_at)} passed over {offsets}"


def story_of(record: HistoryRecord) -> str:
    """Who sent it, who read it.

    >>> story_of(HistoryRecord(offset=7, num_offsets=1))
    'sent by nobody in this history'
    """
    send, read = record.known_send, record.first_read
    parts = []
    if send is not None:
        parts.append(f"sent by {shown_name(send.client)} at {shown_time(send.begun_at)}")
    if read is not None:
        parts.append(f"read by {shown_name(read.client)} at {shown_time(read.ended_at)}")
    return ", ".join(parts) or "sent by nobody in this history"


def clients_of(record: HistoryRecord) -> list[str]:
    send, read = record.known_send, record.first_read
    return [*([send.client] if send is not None else []), *([read.client] if read is not None else [])]


def merged(gaps: Iterable[Gap]) -> list[Cover]:
    """Gaps as disjoint stretches in the order of their offsets.

    >>> gap = Gap(1, 3, "c", True, "read_uncommitted", 0)
    >>> [
    ...     (cover.start, cover.end)
    ...     for cover in merged([gap._replace(start=5, end=6), gap, gap._replace(start=2, end=4)])
    ... ]
    [(1, 4), (5, 6)]
    """
    covers: list[Cover] = []
    for gap in sorted(gaps):
        if covers and gap.start <= covers[-1].end:
            covers[-1] = covers[-1]._replace(end=max(covers[-1].end, gap.end))
        else:
            covers.append(Cover(gap.start, gap.end, gap))
    return covers


def first_not_none(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)


def weakest(acks: Iterable[int | None], default: int) -> int | None:
    """Of several acks one that is not all, where there is one."""
    values = [default if one is None else one for one in acks]
    return next((one for one in values if one != -1), values[0] if values else None)
