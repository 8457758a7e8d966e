from __future__ import annotations

from random import Random

import pytest

from mockbroker.state.errors import ApiError
from mockbroker.state.sessions import fetch_sessions
from mockbroker.state.sessions.fetch_sessions import LAST_EPOCH, FetchPartition, FetchSessions
from protocol.error_codes import ErrorCode


@pytest.fixture
def sessions() -> FetchSessions:
    return FetchSessions(Random(0), max_sessions=2)


def code_of(sessions: FetchSessions, session_id: int, epoch: int, by_topic_id: bool = True) -> int:
    with pytest.raises(ApiError) as caught:
        sessions.resume(session_id, epoch, by_topic_id)
    return caught.value.code


def test_each_request_counts_the_epoch_on(sessions):
    session = sessions.open(True, [])
    sessions.resume(session.id, 1, True)
    sessions.resume(session.id, 2, True)
    assert code_of(sessions, session.id, 2) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    session.epoch = LAST_EPOCH
    sessions.resume(session.id, LAST_EPOCH, True)
    assert session.epoch == 1


def test_unknown_and_mixed_sessions_are_refused(sessions):
    session = sessions.open(True, [])
    assert code_of(sessions, session.id + 1, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert code_of(sessions, session.id, 1, by_topic_id=False) == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_at_another_epoch_is_refused_for_that_before_names_are_compared_with_ids(sessions):
    session = sessions.open(True, [])
    assert code_of(sessions, session.id, 2, by_topic_id=False) == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_a_full_cache_drops_the_session_that_was_unused_longest(sessions):
    first, second = sessions.open(True, []), sessions.open(True, [])
    sessions.resume(first.id, 1, True)
    third = sessions.open(True, [])
    assert code_of(sessions, second.id, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    sessions.resume(first.id, 2, True)
    sessions.resume(third.id, 1, True)


def test_a_cache_without_room_opens_nothing():
    assert FetchSessions(Random(0), max_sessions=0).open(True, []) is None


def test_a_request_adds_changes_and_drops_partitions(sessions):
    session = sessions.open(False, [FetchPartition("orders", 0, 5, 100), FetchPartition("orders", 1, 0, 100)])
    session.partitions["orders", 0].sent_high_watermark = 9
    session.update(
        [FetchPartition("orders", 0, 8, 50), FetchPartition("bills", 0, 0, 100)], [("orders", 1), ("none", 3)]
    )
    assert list(session.partitions) == [("orders", 0), ("bills", 0)]
    changed = session.partitions["orders", 0]
    assert (changed.fetch_offset, changed.max_bytes, changed.sent_high_watermark) == (8, 50, 9)


def wanted(count: int, topic: str = "orders") -> list[FetchPartition]:
    return [FetchPartition(topic, index, 0, 1) for index in range(count)]


def test_all_sessions_together_have_a_bound_and_the_longest_unused_end(monkeypatch):
    monkeypatch.setattr(fetch_sessions, "MAX_PARTITIONS", 10)
    sessions = FetchSessions(Random(0), max_sessions=100)
    assert sessions.open(False, wanted(11)) is None
    first, second = sessions.open(False, wanted(4)), sessions.open(False, wanted(4))
    sessions.resume(first.id, 1, False)
    sessions.update(first, wanted(2, "more"), [])
    assert (list(sessions.by_id), sessions.partitions) == ([second.id, first.id], 10)
    sessions.update(first, wanted(3, "more"), [("orders", 0)])
    assert (list(sessions.by_id), sessions.partitions) == ([second.id, first.id], 10)
    third = sessions.open(False, wanted(5))
    assert (list(sessions.by_id), sessions.partitions) == ([third.id], 5)
    sessions.resume(third.id, 1, False)
    sessions.update(third, wanted(9, "more"), [])
    assert (sessions.by_id, sessions.partitions) == ({}, 0)
    assert code_of(sessions, third.id, 2, by_topic_id=False) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_that_is_closed_makes_room(sessions):
    session = sessions.open(False, wanted(4))
    sessions.close(session.id)
    assert sessions.partitions == 0
