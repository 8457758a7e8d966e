from __future__ import annotations

from mockbroker.state.logs.producers import AbortedTransaction, LogTransactions


def test_the_oldest_open_transaction_bounds_what_is_stable():
    transactions = LogTransactions()
    transactions.begin(1, 4)
    transactions.begin(2, 6)
    assert transactions.last_stable_offset(10) == 4
    transactions.end(1, 10, committed=True)
    assert transactions.last_stable_offset(11) == 6
    transactions.end(2, 11, committed=True)
    assert transactions.last_stable_offset(12) == 12


def test_what_ended_is_stable_where_the_marker_is_seen():
    transactions = LogTransactions()
    transactions.begin(1, 4)
    transactions.end(1, 7, committed=True)
    assert [transactions.last_stable_offset(end) for end in (3, 5, 7, 8)] == [3, 4, 4, 8]


def test_a_marker_of_a_producer_without_a_transaction_ends_nothing():
    transactions = LogTransactions()
    transactions.end(1, 7, committed=False)
    assert (transactions.aborted, transactions.ended) == ([], [])


def test_readers_are_told_of_the_aborted_transactions_among_what_they_read():
    transactions = LogTransactions()
    for producer_id, first, last in ((1, 0, 3), (2, 4, 6), (3, 8, 9)):
        transactions.begin(producer_id, first)
        transactions.end(producer_id, last, committed=False)
    found = [one.producer_id for one in transactions.aborted_between(3, 6)]
    assert found == [1, 2]
    assert transactions.aborted_between(4, 5) == [AbortedTransaction(2, 4, 6, 7)]
    assert transactions.aborted_between(10, 20) == []


def test_an_aborted_transaction_is_forgotten_with_its_marker():
    transactions = LogTransactions()
    for producer_id, first, last in ((1, 0, 3), (2, 4, 6)):
        transactions.begin(producer_id, first)
        transactions.end(producer_id, last, committed=False)
    transactions.forget_before(3)
    assert [one.producer_id for one in transactions.aborted] == [1, 2]
    transactions.forget_before(4)
    assert [one.producer_id for one in transactions.aborted] == [2]
