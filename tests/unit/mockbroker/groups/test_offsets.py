"""What a group has committed."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mockbroker.groups.offsets import NOTHING_COMMITTED, GroupOffsets, offset_records
from mockbroker.state.coordinator_log import log_record
from mockbroker.state.coordinator_shard import CoordinatorRecord, CoordinatorShard
from protocol.embedded.group_log import OffsetCommitValue

GROUP = "readers"
ORDERS_0, ORDERS_1, EVENTS_0 = ("orders", 0), ("orders", 1), ("events", 0)


@pytest.fixture
def offsets() -> GroupOffsets:
    """Those of a group that has committed nothing."""
    return GroupOffsets(CoordinatorShard(), GROUP)


def apply(offsets: GroupOffsets, records: Iterable[CoordinatorRecord]) -> None:
    offsets.shard.replay(records)


def commit(offsets: GroupOffsets, committed: dict[tuple[str, int], OffsetCommitValue], producer_id: int = -1) -> None:
    apply(offsets, offset_records(GROUP, committed, producer_id))


def test_a_partition_without_a_commit_has_offset_minus_one_and_empty_metadata(offsets):
    assert offsets.get(ORDERS_0) == OffsetCommitValue(-1, -1, "") == NOTHING_COMMITTED


def test_the_last_commit_of_a_partition_counts(offsets):
    commit(offsets, {ORDERS_0: OffsetCommitValue(5, 1, "a"), ORDERS_1: OffsetCommitValue(1)})
    commit(offsets, {ORDERS_0: OffsetCommitValue(4, 2, "b")})
    assert offsets.get(ORDERS_0) == OffsetCommitValue(4, 2, "b")
    assert offsets.get(ORDERS_1) == OffsetCommitValue(1)


def test_the_offsets_of_other_groups_do_not_show(offsets):
    apply(offsets, offset_records("others", {ORDERS_0: OffsetCommitValue(5)}))
    assert offsets.partitions() == offsets.all_partitions() == []


def test_partitions_are_listed_by_topic_and_number(offsets):
    commit(
        offsets, {("orders", 10): OffsetCommitValue(1), ORDERS_1: OffsetCommitValue(1), EVENTS_0: OffsetCommitValue(1)}
    )
    assert offsets.partitions() == [EVENTS_0, ORDERS_1, ("orders", 10)]


def test_deleted_offsets_are_gone_and_the_others_stay(offsets):
    commit(offsets, {ORDERS_0: OffsetCommitValue(5), ORDERS_1: OffsetCommitValue(6)})
    apply(offsets, offset_records(GROUP, dict.fromkeys([ORDERS_0, EVENTS_0])))
    assert offsets.partitions() == [ORDERS_1]


def test_a_deleted_offset_that_is_pending_does_not_come_back_with_the_end_of_its_transaction(offsets):
    commit(offsets, {ORDERS_0: OffsetCommitValue(5), EVENTS_0: OffsetCommitValue(6)})
    commit(offsets, {ORDERS_1: OffsetCommitValue(8)}, producer_id=7)
    assert offsets.all_partitions() == [EVENTS_0, ORDERS_0, ORDERS_1]
    apply(offsets, offset_records(GROUP, dict.fromkeys([ORDERS_0, ORDERS_1])))
    offsets.shard.end_transaction(7, 0, committed=True)
    assert offsets.partitions() == [EVENTS_0]


def test_staged_offsets_show_only_when_their_transaction_commits(offsets):
    commit(offsets, {ORDERS_0: OffsetCommitValue(5)}, producer_id=7)
    commit(offsets, {ORDERS_1: OffsetCommitValue(6)}, producer_id=8)
    assert offsets.partitions() == []
    offsets.shard.end_transaction(7, 0, committed=True)
    offsets.shard.end_transaction(8, 0, committed=False)
    assert offsets.partitions() == [ORDERS_0]


def test_a_partition_is_unstable_while_a_transaction_may_commit_another_offset(offsets):
    commit(offsets, {ORDERS_0: OffsetCommitValue(5)}, producer_id=7)
    assert offsets.is_unstable(ORDERS_0)
    assert not offsets.is_unstable(ORDERS_1)
    offsets.shard.end_transaction(7, 0, committed=False)
    assert not offsets.is_unstable(ORDERS_0)


def test_an_offset_that_says_when_it_goes_is_written_in_the_version_that_has_room_for_that():
    for expires_ms, version in ((-1, 4), (70, 1)):
        (record,) = offset_records(GROUP, {ORDERS_0: OffsetCommitValue(7, expire_timestamp=expires_ms)})
        value = log_record(record, 0, {"OffsetCommitValue": 4}).value
        assert value is not None
        assert int.from_bytes(value[:2]) == version
