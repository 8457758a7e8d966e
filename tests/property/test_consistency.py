"""Histories of a log that is right have no anomalies; one that is planted in them is found, and no other is named."""

from __future__ import annotations

import random
from collections import Counter
from itertools import count

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kafka_rack.consistency import (
    KINDS,
    Assignment,
    HistorySettings,
    Poll,
    Read,
    Seek,
    Send,
    Transaction,
    check,
)

TO_THE_END = HistorySettings(reads_to_end=True)
SEND_SKIPS = {"send-skip", "internal-send-skip"}
OF_UNCOMMITTED_READS = {"aborted-read", "precommitted-read"}


class CorrectLog:
    """Partitions that do what Kafka promises, and clients that write down what they did."""

    def __init__(self, num_partitions: int, isolation_level: str) -> None:
        self.isolation_level = isolation_level
        self.logs = [[] for _ in range(num_partitions)]  # (value or None for a marker, transaction)
        self.history = []
        self.endings = {}  # transaction -> ending
        self.open = {}  # producer -> transaction
        self.positions = {}  # (consumer, partition) -> offset
        self.clock, self.values, self.transactions, self.generation = count(), count(), count(), count(1)

    def send(self, producer, partition, outcome):
        begun, value, transaction = next(self.clock), next(self.values), self.open.get(producer)
        offset = None
        if outcome in {"acknowledged", "stored"}:
            self.logs[partition].append((value, transaction))
            offset = len(self.logs[partition]) - 1 if outcome == "acknowledged" else None
        said = "unknown" if outcome == "stored" else outcome
        self.history.append(
            Send(
                producer, "t", partition, value, begun, next(self.clock), said, offset, transaction, is_idempotent=True
            )
        )

    def begin(self, producer):
        if producer not in self.open:
            self.open[producer] = next(self.transactions)
            transaction = self.open[producer]
            self.history.append(Transaction(producer, transaction, "open", next(self.clock)))

    def end(self, producer, ending):
        transaction = self.open.pop(producer, None)
        if transaction is None:
            return
        begun = next(self.clock)
        self.endings[transaction] = ending
        for log in self.logs:
            if any(one[1] == transaction for one in log):
                log.append((None, transaction))
        self.history.append(Transaction(producer, transaction, ending, begun, next(self.clock)))

    def poll(self, consumer, partition, max_records, *, with_span=False):
        log, position = self.logs[partition], self.positions.get((consumer, partition), 0)
        begun, reads, start, end = next(self.clock), [], position, len(log)
        is_committed = self.isolation_level == "read_committed"
        if is_committed:  # up to the last stable offset
            open_ones = set(self.open.values())
            end = next((offset for offset, (_, transaction) in enumerate(log) if transaction in open_ones), end)
        while position < end and len(reads) < max_records:
            value, transaction = log[position]
            if is_committed and self.endings.get(transaction) == "aborted":
                value = None
            if value is not None:
                reads.append(Read("t", partition, position, value))
            position += 1
        self.positions[consumer, partition] = position
        spans = {("t", partition): (start, position)} if with_span else None
        self.history.append(Poll(consumer, reads, begun, next(self.clock), spans, self.isolation_level))

    def rebalance(self, consumers):
        generation = next(self.generation)
        shares = {consumer: [] for consumer in consumers}
        for partition in range(len(self.logs)):
            shares[consumers[(partition + generation) % len(consumers)]].append(("t", partition))
        for consumer, share in shares.items():
            self.history.append(Assignment(consumer, "group", generation, share, next(self.clock)))
            for _, partition in share:
                self.positions[consumer, partition] = max(0, self.positions.get((consumer, partition), 0) - 2)

    def seek(self, consumer, partition, share):
        offset = int(len(self.logs[partition]) * share)
        self.positions[consumer, partition] = offset
        self.history.append(Seek(consumer, "t", partition, next(self.clock), offset))

    def audit(self):
        """A reader of all there is."""
        for partition, log in enumerate(self.logs):
            self.positions["auditor", partition] = 0
            self.poll("auditor", partition, len(log), with_span=True)


def correct_history(seed, steps, isolation_level, num_producers, num_partitions, with_audit):
    chance = random.Random(seed)
    log = CorrectLog(num_partitions, isolation_level)
    producers = [f"producer-{number}" for number in range(num_producers)]
    consumers = [f"consumer-{number}" for number in range(chance.randint(1, 3))]
    for _ in range(steps):
        producer, consumer = chance.choice(producers), chance.choice(consumers)
        partition = chance.randrange(num_partitions)
        match chance.choices(["send", "poll", "begin", "end", "rebalance", "seek"], [10, 6, 1, 2, 1, 1])[0]:
            case "send":
                outcomes = ["acknowledged", "failed", "unknown", "stored"]
                log.send(producer, partition, chance.choices(outcomes, [9, 1, 1, 1])[0])
            case "poll":
                log.poll(consumer, partition, chance.randint(1, 5))
            case "begin":
                log.begin(producer)
            case "end":
                log.end(producer, chance.choice(["committed", "committed", "aborted"]))
            case "rebalance":
                log.rebalance(consumers)
            case "seek":
                log.seek(consumer, partition, chance.random())
    for producer in producers:
        log.end(producer, "committed")
    if with_audit:
        log.audit()
    return log.history


def correct_histories(isolation_level="read_committed", max_producers=3, max_partitions=2, with_audit=True):
    return st.builds(
        correct_history,
        st.integers(0, 1 << 32),
        st.integers(30, 150),
        st.just(isolation_level),
        st.integers(1, max_producers),
        st.integers(1, max_partitions),
        st.just(with_audit),
    )


def kinds_in(report):
    assert set(report.counts) <= set(KINDS)
    return {kind for kind, number in report.counts.items() if number}


def forbidden_in(report):
    return {kind for kind in report.counts if report.forbidden_count(kind)}


def acknowledged(history):
    """Sends that were acknowledged, outside transactions or in one that was committed."""
    committed = {one.id for one in history if isinstance(one, Transaction) and one.ending == "committed"}
    return [
        send
        for send in history
        if isinstance(send, Send)
        and send.outcome == "acknowledged"
        and (send.transaction is None or send.transaction in committed)
    ]


def with_reads(history, change):
    """The history, each read replaced by what ``change(poll, read)`` gives, None to leave it out."""
    changed = []
    for one in history:
        if isinstance(one, Poll):
            reads = [change(one, read) for read in one.reads]
            changed.append(one._replace(reads=[read for read in reads if read is not None]))
        else:
            changed.append(one)
    return changed


def is_at(read, send):
    return (read.partition, read.offset) == (send.partition, send.offset)


@given(correct_histories(max_producers=1))
def test_a_correct_history_of_one_producer_has_no_anomalies(history):
    assert check(history, settings=TO_THE_END).counts == {}


@given(correct_histories())
def test_of_many_producers_it_only_shows_that_they_write_beside_each_other(history):
    report = check(history, settings=TO_THE_END)
    assert kinds_in(report) <= SEND_SKIPS
    assert report.is_consistent


@given(correct_histories(isolation_level="read_uncommitted", with_audit=False))
def test_uncommitted_reads_show_only_what_kafka_permits_them(history):
    report = check(history)
    assert kinds_in(report) <= SEND_SKIPS | OF_UNCOMMITTED_READS | {"unseen"}
    assert report.is_consistent


@given(correct_histories(), st.data())
def test_a_record_that_is_given_to_nobody_is_a_lost_write(history, data):
    sends = acknowledged(history)
    assume(sends)
    lost = data.draw(st.sampled_from(sends))
    report = check(with_reads(history, lambda _, read: None if is_at(read, lost) else read), settings=TO_THE_END)
    assert kinds_in(report) - SEND_SKIPS == {"lost-write"}
    assert report.counts["lost-write"] == 1
    assert report.forbidden[0].offsets == (lost.offset,)
    assert lost.client in report.forbidden[0].evidence


@given(correct_histories(), st.data())
def test_a_record_in_the_place_of_another_is_a_duplicate(history, data):
    sends = acknowledged(history)
    assume(len(sends) > 1)
    first = data.draw(st.sampled_from(sends))
    others = [send for send in sends if send.partition == first.partition and send.offset > first.offset]
    assume(others)
    other = data.draw(st.sampled_from(others))
    copied = with_reads(
        [one for one in history if one is not other],
        lambda _, read: read._replace(value=first.value) if is_at(read, other) else read,
    )
    report = check(copied, settings=TO_THE_END)
    assert kinds_in(report) - SEND_SKIPS == {"duplicate"}
    assert forbidden_in(report) == {"duplicate"}
    permitted = check([one._replace(is_idempotent=False) if isinstance(one, Send) else one for one in copied])
    assert permitted.is_consistent
    assert permitted.counts["duplicate"] == 1


@given(correct_histories(), st.data())
def test_another_record_at_an_offset_is_an_inconsistency(history, data):
    seen = [read for one in history if isinstance(one, Poll) for read in one.reads]
    assume(seen)
    chosen = data.draw(st.sampled_from(seen))
    report = check(
        [*history, Poll("other", [chosen._replace(value="another")], 1e6, 1e6, None, "read_committed")],
        settings=TO_THE_END,
    )
    assert forbidden_in(report) == {"inconsistent-offsets"}
    assert kinds_in(report) - SEND_SKIPS == {"inconsistent-offsets"}
    assert report.forbidden[0].offsets == (chosen.offset,)


@given(correct_histories(), st.data())
def test_what_failed_and_was_read_is_an_aborted_read(history, data):
    sends = acknowledged(history)
    assume(sends)
    failed = data.draw(st.sampled_from(sends))
    planted = [one._replace(outcome="failed", offset=None) if one is failed else one for one in history]
    report = check(planted, settings=TO_THE_END)
    assert kinds_in(report) - SEND_SKIPS == {"aborted-read"}
    assert forbidden_in(report) == {"aborted-read"}


@given(correct_histories(), st.data())
def test_reads_of_an_aborted_transaction_are_aborted_reads(history, data):
    sends = [send for send in acknowledged(history) if send.transaction is not None]
    assume(sends)
    chosen = data.draw(st.sampled_from(sends)).transaction
    report = check(
        [
            one._replace(ending="aborted") if isinstance(one, Transaction) and one.id == chosen else one
            for one in history
        ],
        settings=TO_THE_END,
    )
    assert kinds_in(report) - SEND_SKIPS == {"aborted-read"}
    assert forbidden_in(report) == {"aborted-read"}


@given(correct_histories(), st.data())
def test_a_read_before_the_commit_is_precommitted(history, data):
    sends = [send for send in acknowledged(history) if send.transaction is not None]
    assume(sends)
    chosen = data.draw(st.sampled_from(sends)).transaction
    late = [
        one._replace(begun_at=1e6, ended_at=1e6)
        if isinstance(one, Transaction) and one.id == chosen and one.ending == "committed"
        else one
        for one in history
    ]
    never = [one for one in history if one not in late]
    assert never
    for planted in (late, [one for one in history if one not in never]):
        report = check(planted, settings=TO_THE_END)
        assert kinds_in(report) - SEND_SKIPS == {"precommitted-read"}
        assert forbidden_in(report) == {"precommitted-read"}


@given(correct_histories(with_audit=False), st.data())
def test_what_nobody_came_to_read_is_unseen(history, data):
    sends = acknowledged(history)
    assume(sends)
    first = data.draw(st.sampled_from(sends))
    cut = with_reads(
        history, lambda _, read: None if read.partition == first.partition and read.offset >= first.offset else read
    )
    report = check(cut)
    assert kinds_in(report) - SEND_SKIPS == {"unseen"}
    assert report.is_consistent
    assert forbidden_in(check(cut, settings=TO_THE_END)) == {"unseen"}


@given(correct_histories(), st.data())
def test_a_poll_that_leaves_out_what_others_read_skips(history, data):
    inner = [(number, place) for number, one in enumerate(history) if isinstance(one, Poll) and one.client != "auditor"
             for place in range(1, len(one.reads) - 1)]  # fmt: skip
    assume(inner)
    number, place = data.draw(st.sampled_from(inner))
    poll = history[number]
    skipped = poll._replace(reads=[read for index, read in enumerate(poll.reads) if index != place])
    report = check([*history[:number], skipped, *history[number + 1 :]], settings=TO_THE_END)
    assert kinds_in(report) - SEND_SKIPS == {"internal-poll-skip"}
    assert forbidden_in(report) == {"internal-poll-skip"}
    assert report.forbidden[0].offsets == (poll.reads[place].offset,)
    halves = split(skipped, place)
    report = check([*history[:number], *halves, *history[number + 1 :]], settings=TO_THE_END)
    assert kinds_in(report) - SEND_SKIPS == {"poll-skip"}


@given(correct_histories(), st.data())
def test_a_poll_that_comes_twice_goes_back(history, data):
    polls = [number for number, one in enumerate(history) if isinstance(one, Poll) and one.reads and not one.spans]
    assume(polls)
    number = data.draw(st.sampled_from(polls))
    report = check([*history[: number + 1], *history[number:]], settings=TO_THE_END)
    assert kinds_in(report) - SEND_SKIPS == {"nonmonotonic-poll"}
    assert forbidden_in(report) == {"nonmonotonic-poll"}
    assert report.counts["nonmonotonic-poll"] == 1


@given(correct_histories(), st.data())
def test_records_in_the_wrong_order_within_a_poll_are_named_so(history, data):
    polls = [number for number, one in enumerate(history) if isinstance(one, Poll) and len(one.reads) > 1]
    assume(polls)
    number = data.draw(st.sampled_from(polls))
    reads = data.draw(st.permutations(history[number].reads))
    assume(reads != history[number].reads)
    planted = [*history[:number], history[number]._replace(reads=reads), *history[number + 1 :]]
    report = check(planted, settings=TO_THE_END)
    assert kinds_in(report) - SEND_SKIPS == {"internal-nonmonotonic-poll"}
    assert forbidden_in(report) == {"internal-nonmonotonic-poll"}


@given(correct_histories(), st.data())
def test_sends_whose_offsets_are_swapped_are_out_of_order(history, data):
    sends = acknowledged(history)
    assume(len(sends) > 1)
    first = data.draw(st.sampled_from(sends))
    same = (first.partition, first.client, first.transaction)
    others = [send for send in sends if (send.partition, send.client, send.transaction) == same and send is not first]
    assume(others)
    other = data.draw(st.sampled_from(others))
    swapped = with_reads(
        [
            one._replace(offset=other.offset)
            if one is first
            else one._replace(offset=first.offset)
            if one is other
            else one
            for one in history
        ],
        lambda _, read: (
            read._replace(value=other.value)
            if is_at(read, first)
            else read._replace(value=first.value)
            if is_at(read, other)
            else read
        ),
    )
    report = check(swapped, settings=TO_THE_END)
    kind = "nonmonotonic-send" if first.transaction is None else "internal-nonmonotonic-send"
    assert kind in kinds_in(report)
    assert kinds_in(report) - SEND_SKIPS <= {"nonmonotonic-send", "internal-nonmonotonic-send"}
    assert kind in forbidden_in(report)


@given(correct_histories(), st.data())
def test_a_partition_that_two_members_have_in_a_generation_is_named(history, data):
    given_out = [number for number, one in enumerate(history) if isinstance(one, Assignment) and one.partitions]
    assume(given_out)
    number = data.draw(st.sampled_from(given_out))
    twice = history[number]._replace(client="stranger")
    report = check([*history[: number + 1], twice, *history[number + 1 :]], settings=TO_THE_END)
    assert kinds_in(report) - SEND_SKIPS == {"double-ownership"}
    assert report.forbidden_count("double-ownership") == len(twice.partitions)
    assert "stranger" in report.forbidden[0].evidence


@st.composite
def wrong_histories(draw):
    """Correct ones with reads left out, changed and swapped."""
    history = draw(correct_histories(isolation_level=draw(st.sampled_from(["read_committed", "read_uncommitted"]))))
    chance = random.Random(draw(st.integers(0, 1 << 32)))

    def damage(_, read):
        turn = chance.random()
        if turn < 0.1:
            return None
        if turn < 0.2:
            return read._replace(value=chance.randrange(20))
        return read._replace(offset=max(0, read.offset + chance.choice((-1, 1)))) if turn < 0.3 else read

    return with_reads(history, damage)


def split(poll, place):
    return [poll._replace(reads=poll.reads[:place]), poll._replace(reads=poll.reads[place:])]


@given(wrong_histories())
def test_other_names_change_no_counts(history):
    def renamed(one):
        if isinstance(one, Send):
            return one._replace(client=f"x{one.client}", topic="u", value=("value", one.value))
        if isinstance(one, Poll):
            reads = [read._replace(topic="u", value=("value", read.value)) for read in one.reads]
            spans = one.spans and {("u", partition): span for (_, partition), span in one.spans.items()}
            return one._replace(client=f"x{one.client}", reads=reads, spans=spans)
        if isinstance(one, Assignment):
            return one._replace(client=f"x{one.client}", partitions=[("u", number) for _, number in one.partitions])
        if isinstance(one, Seek):
            return one._replace(client=f"x{one.client}", topic="u")
        return one

    assert check(map(renamed, history)).counts == check(history).counts


def without_internal(counts):
    merged = Counter()
    for kind, number in counts.items():
        merged[kind.removeprefix("internal-")] += number
    return merged


@given(wrong_histories(), st.data())
def test_splitting_polls_only_makes_what_was_internal_external(history, data):
    pieces = []
    for one in history:
        if isinstance(one, Poll) and not one.spans and len(one.reads) > 1:
            in_order = all(a.offset < b.offset for a, b in zip(one.reads, one.reads[1:], strict=False))
            pieces += split(one, data.draw(st.integers(1, len(one.reads) - 1))) if in_order else [one]
        else:
            pieces.append(one)
    assert without_internal(check(pieces).counts) == without_internal(check(history).counts)


@given(wrong_histories(), st.randoms(use_true_random=False))
def test_operations_of_different_clients_may_come_in_any_order(history, chance):
    clients = [one.client for one in history]
    chance.shuffle(clients)
    queues = {client: [one for one in history if one.client == client] for client in clients}
    shuffled = [queues[client].pop(0) for client in clients]
    assert without_send_skips(check(shuffled).counts) == without_send_skips(check(history).counts)


def without_send_skips(counts):
    """Of two records at one offset, the one that was seen first stands for it among the sends."""
    return {kind: number for kind, number in counts.items() if kind not in SEND_SKIPS}


@given(wrong_histories(), st.integers(2, 30))
def test_a_bounded_checker_forgets_and_finds_nothing_in_correct_histories(history, max_records):
    report = check(history, max_records=max_records)
    assert report.forgotten or report.counts == check(history).counts


@pytest.mark.parametrize("max_records", [2, 3, 10])
@given(history=correct_histories())
def test_what_was_forgotten_makes_no_anomaly(history, max_records):
    report = check(history, max_records=max_records)
    assert kinds_in(report) <= SEND_SKIPS | {"unseen"}
    assert report.is_consistent


@given(wrong_histories())
def test_reports_do_not_change_what_was_found(history):
    from kafka_rack.consistency import Checker

    checker = Checker()
    for one in history:
        checker.add(one)
        checker.report()
    assert checker.report() == check(history)
