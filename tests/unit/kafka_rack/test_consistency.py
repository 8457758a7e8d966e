"""What each anomaly looks like, what Kafka may do without one, and how a report reads."""

from __future__ import annotations

import json

import pytest

from kafka_rack.consistency import LogStart, Poll, Read, Send, Transaction, check


def send(value, offset=None, at=0, client="producer", **more):
    return Send(client, "t", 0, value, at, at + 1, offset=offset, **more)


def poll(*reads, at=100, client="reader", span=None, is_committed=False):
    records = [Read("t", 0, *read) for read in reads]
    return Poll(client, records, at, at + 1, {("t", 0): span} if span else None, is_committed)


def found(history, **more):
    return dict(check(history, **more).counts)


LOST = [send("a", 0), send("b", 1, at=2), send("c", 2, at=4), poll((0, "a"), (2, "c"))]


@pytest.mark.parametrize("acks", [0, 1])
def test_what_was_not_acknowledged_by_all_in_sync_may_be_lost(acks):
    assert found(LOST) == {"lost-write": 1}
    assert found([one._replace(acks=acks) if isinstance(one, Send) else one for one in LOST]) == {}


def test_a_lossy_topic_may_lose_records_and_no_other():
    other = [one._replace(topic="u") for one in LOST[:3]]
    other.append(poll()._replace(reads=[Read("u", 0, 0, "a"), Read("u", 0, 2, "c")]))
    report = check([*LOST, *other], is_lossy=lambda topic: topic == "u")
    assert [one.topic for one in report.anomalies] == ["t"]


def test_what_is_before_the_start_of_the_log_was_deleted_and_not_lost():
    assert found([*LOST, LogStart("t", 0, 2, at=50)]) == {}


def test_a_batch_that_lacks_records_shows_that_its_topic_is_compacted():
    compacted = poll()._replace(reads=[Read("t", 0, 3, "d", 2, lacks_records=True)])
    assert found([*LOST, compacted]) == {}


def test_an_acknowledged_record_whose_offset_another_took_is_lost():
    assert found([send("a", 0), poll((0, "b"), (1, "c"))]) == {"lost-write": 1}


def test_nothing_is_lost_that_no_reader_came_to():
    assert found([send("a", 0), send("b", 1, at=2), poll((0, "a"))]) == {}


def test_a_record_within_the_span_of_a_poll_that_did_not_return_it_is_lost():
    assert found([send("a", 0), send("b", 1, at=2), poll((0, "a"), span=(0, 2))]) == {"lost-write": 1}


def test_sends_of_unknown_outcome_may_be_there_or_not():
    assert found([send("a", outcome="unknown"), send("b", 0, at=2), poll((0, "b"), span=(0, 2))]) == {}
    assert found([send("a", outcome="unknown"), send("b", 1, at=2), poll((0, "a"), (1, "b"))]) == {}


def test_a_retry_that_is_refused_makes_no_aborted_read_of_a_record_that_is_in_the_log():
    history = [send("a", outcome="unknown"), send("a", outcome="failed", at=2), poll((0, "a"))]
    assert found(history) == {}
    assert found(history[1:]) == {"aborted-read": 1}


@pytest.mark.parametrize(
    ("attempts", "is_idempotent", "count"), [(1, True, 1), (2, True, 1), (1, False, 1), (2, False, 0), (0, False, 0)]
)
def test_a_record_is_stored_twice_only_by_a_retry_without_idempotence(attempts, is_idempotent, count):
    sends = [send("a", outcome="unknown", at=at, is_idempotent=is_idempotent) for at in range(attempts)]
    assert check([*sends, poll((0, "a"), (1, "a"))]).counts["duplicate"] == count


def test_a_record_at_many_offsets_is_one_duplicate():
    report = check([send("a", 0), poll(*((offset, "a") for offset in range(9)))])
    assert report.counts == {"duplicate": 1}
    assert "is at offsets 0 and 1 and 2 and 3 and 5 more; it was sent once" in report.anomalies[0].evidence


def test_values_are_compared_where_their_forms_are_equal():
    history = [send("a", 0, form="plain"), Poll("reader", [Read("t", 0, 0, "x", form="packed")], 5, 6)]
    assert found(history) == {}


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_reader_of_committed_records_reads_none_of_an_aborted_transaction(is_committed):
    history = [send("a", 0, transaction=1), Transaction("producer", 1, "aborted", 2, 3)]
    assert found([*history, poll((0, "a"), is_committed=is_committed)]) == ({"aborted-read": 1} if is_committed else {})
    assert found([*history, poll(span=(0, 1), is_committed=is_committed)]) == {}, "it passes over them"


def test_an_end_without_an_answer_leaves_what_a_later_one_says():
    unknown = Transaction("producer", 1, "unknown", 2)
    history = [send("a", 0, transaction=1), unknown, poll(span=(0, 1), is_committed=True)]
    assert found(history) == {}
    assert found([*history, Transaction("producer", 1, "committed", 4, 5)]) == {"lost-write": 1}


@pytest.mark.parametrize(
    ("begun_at", "more", "count"),
    [
        (2, {}, 1),
        (2, {"is_idempotent": False}, 1),
        (0.5, {}, 1),
        (0.5, {"is_idempotent": False}, 0),
        (2, {"acks": 1}, 0),
    ],
)
def test_sends_change_their_order_only_in_retries_without_idempotence_or_without_all_in_sync(begun_at, more, count):
    history = [send("a", 5, **more), send("b", 4, at=begun_at, **more)]
    assert check(history).counts["nonmonotonic-send"] == count


def test_a_retry_that_gets_its_first_offset_again_is_in_order():
    assert found([send("a", 0), send("b", 1, at=2), send("a", 0, at=4)]) == {}


def test_reads_without_values_show_that_nothing_was_lost_there():
    read = Poll("reader", [Read("t", 0, 0, None, 3)], 5, 6, {("t", 0): (0, 3)})
    assert found([send("a", 0), send("b", 1, at=2), send("c", 2, at=3), read]) == {}


def test_a_report_reads_like_a_report():
    first, kind, evidence = str(check(LOST)).splitlines()
    assert first == "not consistent: 3 sends, 1 poll, 2 reads"
    assert kind == "  lost-write (1): a record was acknowledged, and a reader that passed its offset did not get it"
    assert evidence.startswith("    t-0: 'b' from producer was acknowledged at offset 1 at 3 ms; the poll of reader at")


def test_a_report_as_json_has_counts_and_examples():
    said = json.loads(json.dumps(check(LOST).to_json()))
    assert (said["is_consistent"], said["sends"], said["polls"], said["reads"]) == (False, 3, 1, 2)
    (lost,) = said["anomalies"]
    assert (lost["kind"], lost["count"], lost["examples"][0]["offsets"]) == ("lost-write", 1, [1])
    assert lost["examples"][0]["clients"] == ["producer", "reader"]


def test_all_are_counted_and_the_first_few_stored():
    history = [*(send(number, number, at=number) for number in range(9)), poll((9, "x"), span=(0, 10))]
    report = check(history, max_examples=2)
    assert (report.counts, len(report.anomalies)) == ({"lost-write": 9}, 2)
    assert str(report).endswith("    and 7 more")


def test_long_values_and_names_are_cut():
    history = [send("v" * 9_000, 0, client="c" * 9_000), poll(span=(0, 1), client="r" * 9_000)]
    assert len(check(history).anomalies[0].evidence) < 500


def test_what_is_no_operation_is_refused():
    with pytest.raises(TypeError, match="expected an operation of a history, got str"):
        check(["send"])


def test_a_name_out_of_a_capture_writes_no_lines_of_its_own():
    history = [send("a", 0, client="one\ntwo"), poll(span=(0, 1))]
    assert "one\\x0atwo" in str(check(history))
