"""What each anomaly looks like, what Kafka permits under which settings, and how a report reads."""

from __future__ import annotations

import json
import pickle

import pytest

from kafka_rack.consistency import (
    Assignment,
    Checker,
    HistorySettings,
    LogStart,
    Poll,
    Read,
    Seek,
    Send,
    Transaction,
    check,
)


def send(value, offset=None, at=0, client="producer", **more):
    return Send(client, "t", 0, value, at, at + 1, offset=offset, **more)


def poll(*reads, at=100, client="reader", span=None, isolation_level=None):
    records = [Read("t", 0, *read) for read in reads]
    return Poll(client, records, at, at + 1, {("t", 0): span} if span else None, isolation_level)


def found(history, **settings):
    """Kind -> whether Kafka permits it."""
    return {one.kind: one.is_permitted for one in check(history, settings=HistorySettings(**settings)).anomalies}


LOST = [send("a", 0), send("b", 1, at=2), send("c", 2, at=4), poll((0, "a"), (2, "c"))]


@pytest.mark.parametrize(
    ("settings", "is_permitted"),
    [
        ({}, False),
        ({"acks": 1}, True),
        ({"acks": 0}, True),
        ({"unclean_leader_election": True}, True),
        ({"deletes_records": True}, True),
        ({"compacts": True}, True),
    ],
)
def test_a_write_may_be_lost_where_kafka_does_not_promise_to_keep_it(settings, is_permitted):
    assert found(LOST, **settings) == {"lost-write": is_permitted}


def test_a_sends_own_acks_go_before_those_of_the_settings():
    assert found([one._replace(acks=1) if isinstance(one, Send) else one for one in LOST]) == {"lost-write": True}


def test_topics_may_be_set_each_to_its_own():
    other = [one._replace(topic="u") for one in LOST[:3]]
    other.append(poll()._replace(reads=[Read("u", 0, 0, "a"), Read("u", 0, 2, "c")]))
    report = check([*LOST, *other], settings_of_topic=lambda topic: HistorySettings(compacts=topic == "u"))
    assert [one.topic for one in report.forbidden] == ["t"]
    assert [one.topic for one in report.permitted] == ["u"]


def test_what_is_before_the_start_of_the_log_was_deleted_and_not_lost():
    assert found([*LOST, LogStart("t", 0, 2, at=50)]) == {"lost-write": True}


def test_an_acknowledged_record_whose_offset_another_took_is_lost():
    history = [send("a", 0), poll((0, "b"), (1, "c")), poll((0, "b"), client="other")]
    assert found(history) == {"inconsistent-offsets": False, "lost-write": False}
    assert found(history, acks=1) == {"inconsistent-offsets": True, "lost-write": True}
    assert found(history, unclean_leader_election=True) == {"inconsistent-offsets": True, "lost-write": True}


def test_two_records_that_were_both_read_at_one_offset_need_an_unclean_election():
    history = [poll((0, "a")), poll((0, "b"), client="other")]
    assert found(history, acks=1) == {"inconsistent-offsets": False}
    assert found(history, unclean_leader_election=True) == {"inconsistent-offsets": True}


def test_nothing_is_lost_that_no_reader_came_to():
    assert found([send("a", 0), send("b", 1, at=2), poll((1, "b"))]) == {"unseen": True}
    assert found([send("a", 0), poll(span=(0, 0))], reads_to_end=True) == {"unseen": False}


def test_a_record_within_the_span_of_a_poll_that_did_not_give_it_is_lost():
    assert found([send("a", 0), poll(span=(0, 1))]) == {"lost-write": False}


def test_sends_of_unknown_outcome_may_be_there_or_not():
    sends = [send("a", at=0, outcome="unknown"), send("b", at=2, outcome="unknown")]
    assert found([*sends, poll((0, "b"), span=(0, 1))], reads_to_end=True) == {}


def test_a_retry_that_is_refused_makes_no_aborted_read_of_a_record_that_is_in_the_log():
    assert found([send("a", at=0, outcome="unknown"), send("a", at=2, outcome="failed"), poll((0, "a"))]) == {}
    assert found([send("a", at=0, outcome="failed"), send("a", at=2, outcome="failed"), poll((0, "a"))]) == {
        "aborted-read": False
    }


@pytest.mark.parametrize(
    ("attempts", "settings", "is_permitted"),
    [
        (1, {"is_idempotent": True}, False),
        (1, {"is_idempotent": False}, True),  # a client's own history does not show its retries
        (1, {"is_idempotent": False, "shows_retries": True}, False),
        (2, {"is_idempotent": False, "shows_retries": True}, True),
        (2, {"is_idempotent": True, "shows_retries": True}, False),
    ],
)
def test_a_record_stands_twice_only_where_a_retry_may_be_stored_again(attempts, settings, is_permitted):
    sends = [send("a", number, at=10 * number) for number in range(attempts)]
    assert found([*sends, poll((0, "a"), (1, "a"))], **settings) == {"duplicate": is_permitted}


def test_a_record_that_stands_at_many_offsets_is_one_duplicate():
    report = check([poll(*((number, "a") for number in range(9)))])
    assert report.counts == {"duplicate": 1}
    assert "'a' stands at offsets 0 and 1 and 2 and 3 and 5 more" in report.anomalies[0].evidence


@pytest.mark.parametrize("is_idempotent", [True, False])
def test_a_record_that_stands_at_many_offsets_goes_by_its_producer_whichever_of_them_it_was_told(is_idempotent):
    acknowledged = send("a", 8, at=50, is_idempotent=is_idempotent)
    assert found([poll(*((number, "a") for number in range(9))), acknowledged]) == {"duplicate": not is_idempotent}


def test_values_are_compared_where_their_forms_are_equal():
    history = [send("crc of lz4", 0, form="lz4"), poll((0, "crc of zstd", 1, "zstd"))]
    assert found(history, reads_to_end=True) == {}
    assert found([*history, poll((0, "another", 1, "lz4"), client="other")]) == {"inconsistent-offsets": False}


@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
def test_isolation_decides_whether_aborted_and_open_transactions_may_be_read(isolation_level):
    is_permitted = isolation_level == "read_uncommitted"
    begun = [Transaction("producer", 1, "open", 0), send("a", 0, transaction=1)]
    read = poll((0, "a"), isolation_level=isolation_level)
    committed, aborted = (
        Transaction("producer", 1, "committed", 200, 201),
        Transaction("producer", 1, "aborted", 50, 51),
    )
    assert found([*begun, read]) == {"precommitted-read": is_permitted}
    assert found([*begun, read, committed]) == {"precommitted-read": is_permitted}
    assert found([*begun, read, aborted]) == {"aborted-read": is_permitted}
    assert found([*begun, committed._replace(begun_at=50, ended_at=51), read]) == {}


def test_a_read_while_the_commit_is_under_way_is_no_precommitted_read():
    history = [send("a", 0, transaction=1), Transaction("producer", 1, "committed", 50, 300)]
    assert found([*history, poll((0, "a"), isolation_level="read_committed")]) == {}


def test_readers_of_committed_records_pass_over_aborted_ones():
    history = [
        send("a", 0, transaction=1),
        Transaction("producer", 1, "aborted", 10, 11),
        send("b", 2, at=20),
        poll((0, "a"), (2, "b"), client="uncommitted"),
        poll((2, "b"), span=(0, 3), isolation_level="read_committed"),
    ]
    assert found(history) == {"aborted-read": True}


SKIP = [poll((0, "a"), (1, "b"), (2, "c"), client="other"), poll((0, "a")), poll((2, "c"), at=110)]


@pytest.mark.parametrize(
    ("settings", "is_permitted"),
    [
        ({}, False),
        ({"deletes_records": True}, True),
        ({"deletes_records": True, "auto_offset_reset": "none"}, False),
        ({"unclean_leader_election": True}, True),
        ({"unclean_leader_election": True, "auto_offset_reset": "earliest"}, False),
        ({"compacts": True}, True),
    ],
)
def test_a_consumer_may_skip_where_its_position_can_be_lost(settings, is_permitted):
    assert found(SKIP, **settings) == {"poll-skip": is_permitted}


def test_within_one_poll_only_compaction_leaves_records_out():
    history = [SKIP[0], poll((0, "a"), (2, "c"))]
    assert found(history, deletes_records=True, unclean_leader_election=True) == {"internal-poll-skip": False}
    assert found(history, compacts=True) == {"internal-poll-skip": True}


@pytest.mark.parametrize(
    "between",
    [Seek("reader", "t", 0, 105), Seek("reader", "t", 0, 105, 2), Assignment("reader", "g", 2, [("t", 0)], 105)],
)
def test_whoever_seeks_or_is_assigned_anew_skips_and_repeats_nothing(between):
    assert found([*SKIP[:2], between, SKIP[2]]) == {}
    assert (
        found([SKIP[0], SKIP[2], between._replace(offset=0) if isinstance(between, Seek) else between, SKIP[1]]) == {}
    )


def test_a_seek_says_where_reading_goes_on():
    assert found([*SKIP[:2], Seek("reader", "t", 0, 105, 1), SKIP[2]]) == {"poll-skip": False}


def test_a_consumer_goes_back_only_where_the_log_may_get_shorter():
    history = [poll((0, "a"), (1, "b")), poll((1, "b"), at=110)]
    assert found(history) == {"nonmonotonic-poll": False}
    assert found(history, unclean_leader_election=True) == {"nonmonotonic-poll": True}
    within = [poll((1, "b"), (0, "a"))]
    assert found(within, unclean_leader_election=True) == {"internal-nonmonotonic-poll": False}


@pytest.mark.parametrize(
    ("begun_at", "settings", "is_permitted"),
    [
        (20, {}, False),
        (20, {"is_idempotent": False}, False),  # one after the other
        (5, {}, False),
        (5, {"is_idempotent": False}, True),
        (5, {"is_idempotent": False, "max_in_flight": 1}, False),
        (20, {"acks": 1}, True),
        (20, {"unclean_leader_election": True}, True),
    ],
)
def test_sends_change_their_order_only_where_retries_or_failovers_may(begun_at, settings, is_permitted):
    first, later = Send("producer", "t", 0, "a", 0, 10, offset=1), Send("producer", "t", 0, "b", begun_at, 30, offset=0)
    read = poll((0, "b"), (1, "a"))
    assert found([first, later, read], **settings) == {"nonmonotonic-send": is_permitted}
    assert found([later, first, read], **settings) == {"nonmonotonic-send": is_permitted}
    both = [one._replace(transaction=1) for one in (first, later)]
    assert found([*both, read], **settings) == {"internal-nonmonotonic-send": is_permitted}


def test_a_retry_that_gets_its_first_offset_again_is_in_order():
    sends = [send("a", at=0, outcome="unknown"), send("b", 1, at=1), send("a", 0, at=10)]
    assert found([*sends, poll((0, "a"), (1, "b"))]) == {}


def test_producers_beside_each_other_are_told_and_permitted():
    history = [send("a", 0), send("x", 1, at=2, client="other"), send("b", 2, at=4), poll((0, "a"), (1, "x"), (2, "b"))]
    assert found(history) == {"send-skip": True}
    within = [one._replace(transaction=one.client) if isinstance(one, Send) else one for one in history]
    assert found(within) == {"internal-send-skip": True}


def test_a_partition_goes_from_member_to_member_with_the_generations():
    one = Assignment("one", "g", 1, [("t", 0), ("t", 1)], 0)
    assert found([one, Assignment("two", "g", 2, [("t", 0)], 1)]) == {}
    assert found([one, one._replace(partitions=[("t", 1)]), Assignment("two", "g", 1, [("t", 0)], 1)]) == {}
    assert found([one, Assignment("two", "other", 1, [("t", 0)], 1)]) == {}
    assert found([one, Assignment("two", "g", 1, [("t", 0)], 1)]) == {"double-ownership": False}


def test_a_bounded_checker_forgets_the_groups_that_changed_longest_ago():
    def owners(group, client="one"):
        return Assignment(client, group, 1, [("t", number) for number in range(10)], 0)

    report = check([owners("a"), owners("b"), owners("b", "two")], max_records=15)
    assert report.counts == {"double-ownership": 10}
    assert check([owners("a"), owners("b"), owners("a", "two")], max_records=15).counts == {}
    assert check([owners("a"), owners("b"), owners("a", "two")]).counts == {"double-ownership": 10}


def test_batches_of_one_form_do_not_overlap():
    assert found([poll((0, "a", 3), (3, "b", 2)), poll((1, "c", 2), client="other")]) == {"inconsistent-offsets": False}
    assert found([poll((0, "a", 3), (3, "b", 2)), poll((3, "b", 2), client="other", span=(4, 5))]) == {}


def test_offsets_that_were_read_without_values_show_that_nothing_was_lost_there():
    sends = [send(number, number, at=10 * number) for number in range(6)]
    assert found([*sends, poll((0, None, 6))], reads_to_end=True) == {}
    assert found([*sends, poll((0, None, 2), (4, None, 2))]) == {"lost-write": False}
    assert found([*sends, poll((0, None, 4))]) == {"unseen": True}


def test_a_report_reads_like_a_report():
    producer = LOST[1].client
    assert str(check([*LOST, poll((0, "a"), client="late", at=200)])).splitlines() == [
        "not consistent: 3 sends, 2 polls, 3 reads",
        "Kafka does not permit:",
        "  lost-write (1): a record was acknowledged, and nobody who read past its offset was given it",
        (
            f"    t-0: 'b' from {producer} was acknowledged at offset 1 at 3 ms; "
            "the poll of reader at 101 ms passed over offset 1"
        ),
        "      acks=all without unclean leader election: acknowledged records stay",
    ]


def test_a_report_as_json_has_counts_and_examples():
    said = json.loads(json.dumps(check([*SKIP, poll((0, "a"), (2, "c"), at=300, client="third")]).to_json()))
    assert said["is_consistent"] is False
    assert [(one["kind"], one["count"], one["permitted"]) for one in said["anomalies"]] == [
        ("poll-skip", 1, 0),
        ("internal-poll-skip", 1, 0),
    ]
    assert said["anomalies"][0]["examples"][0]["clients"] == ["reader", "other"]


def test_all_are_counted_and_the_first_few_kept():
    sends = [send(number, number, at=10 * number, acks=1) for number in range(1000)]
    report = check([*sends, poll(span=(0, 1000))], max_examples=3)
    assert report.counts == {"lost-write": 1000}
    assert len(report.anomalies) == 3
    assert "and 997 more" in str(report)


def test_a_bounded_checker_finds_what_shows_within_its_window():
    checker = Checker(max_records=100)
    for number in range(10_000):
        checker.add(send(number, number, at=10 * number))
        if number % 10 == 9:
            given = [(offset, offset) for offset in range(number - 9, number + 1) if offset != 5_005]
            checker.add(poll(*given, at=10 * number + 5))
    report = checker.report()
    assert report.counts == {"lost-write": 1}
    assert report.forbidden[0].offsets == (5_005,)
    assert report.forgotten > 9_800


def test_readers_that_say_where_they_read_from_leave_nothing_behind():
    def size_after(number_of_readers):
        checker = Checker(max_records=1_000)
        checker.add(send("a", 0))
        for number in range(number_of_readers):
            checker.add(poll((0, "a"), client=f"reader-{number}", span=(0, 1)))
        assert checker.report().is_consistent
        return len(pickle.dumps(checker))

    assert size_after(900) < size_after(90) + 100


def test_long_values_and_names_are_cut():
    report = check([send("v" * 9_999, 0, client="c" * 9_999), poll(span=(0, 1))])
    assert len(report.anomalies[0].evidence) < 300
    assert len(report.anomalies[0].clients[0]) < 100


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"acks": 2}, "acks: expected -1, 0 or 1, got 2"),
        ({"isolation_level": "x"}, "isolation_level: expected 'read_uncommitted' or 'read_committed', got 'x'"),
        ({"auto_offset_reset": "x"}, "auto_offset_reset: expected 'latest', 'earliest' or 'none', got 'x'"),
    ],
)
def test_wrong_settings_are_refused(settings, text):
    with pytest.raises(ValueError, match=text):
        HistorySettings(**settings)


def test_what_is_no_operation_is_refused():
    with pytest.raises(TypeError, match="expected an operation of a history, got str"):
        check(["x"])
    with pytest.raises(ValueError, match="max_records: expected 2 or more, got 1"):
        check([], max_records=1)


def test_a_name_out_of_a_capture_writes_no_lines_of_its_own():
    history = [*LOST[:3], poll((0, "a"), (2, "c"), client="reader\nconsistent: all is well\x1b[2J")]
    report = str(check(history))
    assert r"reader\x0aconsistent: all is well\x1b[2J" in report
    assert not any(line.startswith("consistent") for line in report.splitlines())
