"""Whether a share group gave out records as promised, by what its members saw."""

from __future__ import annotations

from typing import Any

from kafka_rack.consistency.sharing import (
    SHARING_KINDS,
    LostShareFetch,
    ShareAcknowledgement,
    ShareDelivery,
    check_sharing,
)

LOCK_MS, LIMIT = 1_000, 3


def given(at: int, member: str = "one", count: int = 1, **fields: Any) -> ShareDelivery:
    """Offset 7 was given to a member that asked a millisecond before."""
    return ShareDelivery(member, "workers", "orders", 0, 7, count, at - 1, at, **fields)


def said(delivery: ShareDelivery, what: Any, at: int, *, answered: bool = True, taken: bool = True):
    return ShareAcknowledgement(delivery, what, at, at + 1 if answered else None, is_taken=answered and taken)


def kinds(
    deliveries: list[ShareDelivery],
    acknowledgements: list[ShareAcknowledgement] | None = None,
    lost: list[LostShareFetch] | None = None,
    *,
    is_expected: bool = False,
) -> list[str]:
    expected = {("workers", "orders", 0): [7]} if is_expected else {}
    found = check_sharing(
        deliveries, acknowledgements or [], lost or [], lock_ms=LOCK_MS, max_delivery_count=LIMIT, expected=expected
    )
    assert {one.kind for one in found} <= set(SHARING_KINDS)
    return [one.kind for one in found]


def test_a_record_that_was_accepted_or_rejected_is_not_given_again():
    first = given(10)
    later = given(100, "two", 2)
    assert kinds([first, later], [said(first, "accept", 20)]) == ["settled-again"]
    assert kinds([first, later], [said(first, "reject", 20)]) == ["settled-again"]


def test_what_was_released_or_has_no_known_answer_may_be_given_again():
    first, later = given(10), given(100, "two", 2)
    assert kinds([first, later], [said(first, "release", 20)]) == []
    assert kinds([first, later], [said(first, "accept", 20, answered=False)]) == []
    assert kinds([first, later], [said(first, "accept", 20, taken=False)]) == []


def test_a_count_is_at_most_the_limit_and_at_most_the_deliveries_that_there_were():
    assert kinds([given(10), given(2_000, "two", 3)]) == ["dishonest-count"]
    lost = LostShareFetch("workers", (("orders", 0),), 500)
    assert kinds([given(10), given(2_000, "two", 3)], lost=[lost]) == []
    often = [given(10), given(2_000, count=2), given(4_000, count=3), given(6_000, count=4)]
    assert kinds(often) == ["delivered-too-often"]


def test_a_count_is_above_that_of_a_release_that_counted_while_a_new_leader_may_forget_others():
    first = given(10)
    assert kinds([first, given(2_000, "two", 1)], [said(first, "release", 20)]) == ["dishonest-count"]
    assert kinds([first, given(2_000, "two", 1)]) == []


def test_a_lock_that_was_renewed_holds_from_then_on():
    later = given(1_500, "two", 2)
    assert kinds([given(10), later]) == []
    assert kinds([given(10, renewed=(800, 801)), later]) == ["acquired-twice"]
    assert kinds([given(10, renewed=(400, 401)), later]) == []


def test_a_renewal_after_the_lock_had_run_out_locks_nothing():
    assert kinds([given(10, renewed=(1_100, 1_101)), given(1_050, "two", 2)]) == []


def test_a_record_with_a_lock_is_not_given_to_another_under_the_same_leader():
    first = given(10, leadership=("epoch 1", "epoch 1"))
    assert kinds([first, given(500, "two", 2, leadership=("epoch 1", "epoch 1"))]) == ["acquired-twice"]
    assert kinds([first, given(500, "two", 2, leadership=("epoch 1", "epoch 2"))]) == []
    assert kinds([first, given(1_500, "two", 2, leadership=("epoch 1", "epoch 1"))]) == []


def test_a_lock_ends_with_the_session_and_with_a_word_of_the_member():
    ended = given(10, released_at=100)
    assert kinds([ended, given(500, "two", 2)]) == []
    silent = given(10)
    assert kinds([silent, given(500, "two", 2)], [said(silent, "release", 200)]) == []


def test_an_acknowledgement_does_not_count_once_another_member_has_acquired_the_record():
    first, second = given(10), given(2_000, "two", 2)
    assert kinds([first, second], [said(first, "accept", 2_500)]) == ["acknowledged-by-another"]
    assert kinds([first, second], [said(first, "accept", 2_500, taken=False)]) == []


def test_what_is_said_of_a_record_that_all_are_done_with_is_answered_without_an_error():
    first, second = given(10), given(2_000, "two", 2)
    assert kinds([first, second], [said(second, "accept", 2_100), said(first, "accept", 2_500)]) == []


def test_a_record_is_done_with_once_it_was_accepted_rejected_or_delivered_often_enough():
    first = given(10)
    assert kinds([], is_expected=True) == ["never-settled"]
    assert kinds([first], is_expected=True) == ["never-settled"]
    assert kinds([first], [said(first, "release", 20)], is_expected=True) == ["never-settled"]
    assert kinds([first], [said(first, "reject", 20)], is_expected=True) == []
    assert kinds([first], [said(first, "accept", 20, answered=False)], is_expected=True) == []
    assert kinds([first, given(2_000, count=2), given(4_000, count=3)], is_expected=True) == []
