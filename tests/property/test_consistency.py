"""Histories of a log that is right have no anomalies; one that is planted in them is found, and no other is named."""

from __future__ import annotations

import random
from itertools import count

from hypothesis import assume, given
from hypothesis import strategies as st

from kafka_rack.consistency import KINDS, Checker, Poll, Read, Send, Transaction, check


class CorrectLog:
    """Partitions that do what Kafka promises, and clients that write down what they did."""

    def __init__(self, num_partitions: int, isolation_level: str) -> None:
        self.isolation_level = isolation_level
        self.logs = [[] for _ in range(num_partitions)]  # (value or None for a marker, transaction)
        self.history = []
        self.endings = {}  # transaction -> ending
        self.open = {}  # producer -> transaction
        self.positions = {}  # (consumer, partition) -> offset
        self.clock, self.values, self.transactions = count(), count(), count()

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

    def poll(self, consumer, partition, max_records):
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
        spans = {("t", partition): (start, position)}
        self.history.append(Poll(consumer, reads, begun, next(self.clock), spans, is_committed))

    def seek(self, consumer, partition, share):
        offset = int(len(self.logs[partition]) * share)
        self.positions[consumer, partition] = offset

    def audit(self):
        """A reader of all there is."""
        for partition, log in enumerate(self.logs):
            self.positions["auditor", partition] = 0
            self.poll("auditor", partition, len(log))


def correct_history(seed, steps, isolation_level, num_producers, num_partitions, with_audit):
    chance = random.Random(seed)
    log = CorrectLog(num_partitions, isolation_level)
    producers = [f"producer-{number}" for number in range(num_producers)]
    consumers = [f"consumer-{number}" for number in range(chance.randint(1, 3))]
    for _ in range(steps):
        producer, consumer = chance.choice(producers), chance.choice(consumers)
        partition = chance.randrange(num_partitions)
        match chance.choices(["send", "poll", "begin", "end", "seek"], [10, 6, 1, 2, 2])[0]:
            case "send":
                outcomes = ["acknowledged", "failed", "unknown", "stored"]
                log.send(producer, partition, chance.choices(outcomes, [9, 1, 1, 1])[0])
            case "poll":
                log.poll(consumer, partition, chance.randint(1, 5))
            case "begin":
                log.begin(producer)
            case "end":
                log.end(producer, chance.choice(["committed", "committed", "aborted"]))
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


@given(correct_histories())
def test_a_correct_history_has_no_anomalies(history):
    assert check(history).counts == {}


@given(correct_histories(isolation_level="read_uncommitted"))
def test_uncommitted_readers_may_read_what_is_aborted(history):
    assert check(history).counts == {}


@given(correct_histories(), st.data())
def test_a_record_that_no_reader_gets_is_a_lost_write(history, data):
    sends = acknowledged(history)
    assume(sends)
    lost = data.draw(st.sampled_from(sends))
    report = check(with_reads(history, lambda _, read: None if is_at(read, lost) else read))
    assert report.counts == {"lost-write": 1}
    assert report.anomalies[0].offsets == (lost.offset,)
    assert lost.client in report.anomalies[0].evidence


@given(correct_histories(), st.data())
def test_a_record_that_one_poll_leaves_out_is_a_lost_write(history, data):
    committed = {(send.partition, send.offset) for send in acknowledged(history)}
    found = [
        (number, place)
        for number, one in enumerate(history)
        if isinstance(one, Poll)
        for place, read in enumerate(one.reads)
        if (read.partition, read.offset) in committed
    ]
    assume(found)
    number, place = data.draw(st.sampled_from(found))
    poll = history[number]
    skipped = poll._replace(reads=[read for index, read in enumerate(poll.reads) if index != place])
    report = check([*history[:number], skipped, *history[number + 1 :]])
    assert report.counts == {"lost-write": 1}
    assert report.anomalies[0].offsets == (poll.reads[place].offset,)


@given(correct_histories(), st.data())
def test_another_record_at_the_offset_of_an_acknowledged_one_is_a_lost_write(history, data):
    sends = acknowledged(history)
    assume(sends)
    lost = data.draw(st.sampled_from(sends))
    report = check(with_reads(history, lambda _, read: read._replace(value="x") if is_at(read, lost) else read))
    assert report.counts == {"lost-write": 1}
    assert "read 'x' there" in report.anomalies[0].evidence


@given(correct_histories(), st.data())
def test_a_record_in_the_place_of_another_is_a_duplicate(history, data):
    sends = acknowledged(history)
    assume(len(sends) > 1)
    first = data.draw(st.sampled_from(sends))
    others = [send for send in sends if send.partition == first.partition and send.offset > first.offset]
    assume(others)
    other = data.draw(st.sampled_from(others))
    report = check(
        with_reads(
            [one for one in history if one is not other],
            lambda _, read: read._replace(value=first.value) if is_at(read, other) else read,
        )
    )
    assert report.counts == {"duplicate": 1}
    assert report.anomalies[0].offsets == (first.offset, other.offset)


@given(correct_histories(), st.data())
def test_what_failed_and_was_read_is_an_aborted_read(history, data):
    sends = acknowledged(history)
    assume(sends)
    failed = data.draw(st.sampled_from(sends))
    planted = [one._replace(outcome="failed", offset=None) if one is failed else one for one in history]
    assert check(planted).counts == {"aborted-read": 1}


@given(correct_histories(), st.data())
def test_reads_of_an_aborted_transaction_are_aborted_reads(history, data):
    sends = [send for send in acknowledged(history) if send.transaction is not None]
    assume(sends)
    chosen = data.draw(st.sampled_from(sends)).transaction
    planted = [
        one._replace(ending="aborted") if isinstance(one, Transaction) and one.id == chosen else one for one in history
    ]
    assert kinds_in(check(planted)) == {"aborted-read"}


@given(correct_histories(), st.data())
def test_records_in_the_wrong_order_within_a_poll_are_named_so(history, data):
    polls = [number for number, one in enumerate(history) if isinstance(one, Poll) and len(one.reads) > 1]
    assume(polls)
    number = data.draw(st.sampled_from(polls))
    reads = data.draw(st.permutations(history[number].reads))
    assume(reads != history[number].reads)
    planted = [*history[:number], history[number]._replace(reads=reads), *history[number + 1 :]]
    assert kinds_in(check(planted)) == {"internal-nonmonotonic-poll"}


@given(correct_histories(), st.data())
def test_sends_whose_offsets_are_swapped_are_out_of_order(history, data):
    sends = acknowledged(history)
    assume(len(sends) > 1)
    first = data.draw(st.sampled_from(sends))
    others = [one for one in sends if (one.partition, one.client) == (first.partition, first.client)]
    others.remove(first)
    assume(others)
    other = data.draw(st.sampled_from(others))
    assume(first.transaction == other.transaction)
    values = {first.offset: other.value, other.offset: first.value}
    report = check(
        with_reads(
            [
                one._replace(offset=other.offset if one is first else first.offset)
                if one is first or one is other
                else one
                for one in history
            ],
            lambda _, read: (
                read._replace(value=values[read.offset]) if is_at(read, first) or is_at(read, other) else read
            ),
        )
    )
    assert kinds_in(report) == {"nonmonotonic-send"}


@st.composite
def wrong_histories(draw):
    """Correct ones with reads left out, changed and moved."""
    history = draw(correct_histories(isolation_level=draw(st.sampled_from(["read_committed", "read_uncommitted"]))))
    chance = random.Random(draw(st.integers(0, 1 << 32)))

    def damage(_, read):
        drawn = chance.random()
        if drawn < 0.1:
            return None
        if drawn < 0.2:
            return read._replace(value=chance.randrange(20))
        return read._replace(offset=max(0, read.offset + chance.choice((-1, 1)))) if drawn < 0.3 else read

    return with_reads(history, damage)


@given(wrong_histories())
def test_other_names_change_no_counts(history):
    def renamed(one):
        if isinstance(one, Send):
            return one._replace(client=f"x{one.client}", topic="u", value=("value", one.value))
        if isinstance(one, Poll):
            reads = [read._replace(topic="u", value=("value", read.value)) for read in one.reads]
            spans = {("u", partition): span for (_, partition), span in one.spans.items()}
            return one._replace(client=f"x{one.client}", reads=reads, spans=spans)
        return one

    assert check(map(renamed, history)).counts == check(history).counts


@given(wrong_histories(), st.randoms(use_true_random=False))
def test_operations_of_different_clients_may_come_in_any_order(history, chance):
    clients = [one.client for one in history]
    chance.shuffle(clients)
    queues = {client: [one for one in history if one.client == client] for client in clients}
    shuffled = [queues[client].pop(0) for client in clients]
    assert check(shuffled).counts == check(history).counts


@given(wrong_histories())
def test_reports_do_not_change_what_was_found(history):
    checker = Checker()
    for one in history:
        checker.add(one)
        checker.report()
    assert checker.report() == check(history)
