"""What a group has committed."""

from __future__ import annotations

from mockbroker.state.groups.offsets import NOTHING_COMMITTED, Committed, GroupOffsets

ORDERS_0, ORDERS_1, EVENTS_0 = ("orders", 0), ("orders", 1), ("events", 0)


def test_a_partition_without_a_commit_has_offset_minus_one_and_empty_metadata():
    assert GroupOffsets().get(ORDERS_0) == Committed(-1, -1, "") == NOTHING_COMMITTED


def test_the_last_commit_of_a_partition_counts():
    offsets = GroupOffsets()
    offsets.commit({ORDERS_0: Committed(5, 1, "a"), ORDERS_1: Committed(1)})
    offsets.commit({ORDERS_0: Committed(4, 2, "b")})
    assert offsets.get(ORDERS_0) == Committed(4, 2, "b")
    assert offsets.get(ORDERS_1) == Committed(1)


def test_partitions_are_listed_by_topic_and_number():
    offsets = GroupOffsets()
    offsets.commit({("orders", 10): Committed(1), ORDERS_1: Committed(1), EVENTS_0: Committed(1)})
    assert offsets.partitions() == [EVENTS_0, ORDERS_1, ("orders", 10)]


def test_deleted_offsets_are_gone_and_the_others_stay():
    offsets = GroupOffsets()
    offsets.commit({ORDERS_0: Committed(5), ORDERS_1: Committed(6)})
    offsets.delete([ORDERS_0, EVENTS_0])
    assert offsets.partitions() == [ORDERS_1]


def test_a_topic_created_again_starts_without_offsets():
    offsets = GroupOffsets()
    offsets.commit({ORDERS_0: Committed(5), EVENTS_0: Committed(6)})
    offsets.stage(7, {ORDERS_1: Committed(8)})
    offsets.forget_topic("orders")
    offsets.end_transaction(7, committed=True)
    assert offsets.partitions() == [EVENTS_0]


def test_staged_offsets_show_only_when_their_transaction_commits():
    offsets = GroupOffsets()
    offsets.stage(7, {ORDERS_0: Committed(5)})
    offsets.stage(8, {ORDERS_1: Committed(6)})
    assert offsets.partitions() == []
    offsets.end_transaction(7, committed=True)
    offsets.end_transaction(8, committed=False)
    assert offsets.partitions() == [ORDERS_0]


def test_a_partition_is_unstable_while_a_transaction_may_commit_another_offset():
    offsets = GroupOffsets()
    offsets.stage(7, {ORDERS_0: Committed(5)})
    assert offsets.is_unstable(ORDERS_0)
    assert not offsets.is_unstable(ORDERS_1)
    offsets.end_transaction(7, committed=False)
    assert not offsets.is_unstable(ORDERS_0)
