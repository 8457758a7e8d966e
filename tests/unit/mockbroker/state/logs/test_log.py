from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.state.errors import ApiError
from mockbroker.state.logs.log import Log
from protocol.error_codes import ErrorCode


def log_of(*batches: tuple[int, int]) -> Log:
    """A log of (records, newest timestamp) batches, each of ten bytes a record."""
    log = Log()
    for place, (records, timestamp) in enumerate(batches):
        log.append(bytes([place]) * 10 * records, log.end_offset + records - 1, timestamp, 0)
    return log


def test_offsets_run_on_from_batch_to_batch():
    log = log_of((3, 100), (2, 200))
    assert (log.start_offset, log.end_offset, log.size_bytes, len(log)) == (0, 5, 50, 2)


def test_a_read_starts_with_the_batch_that_holds_the_offset():
    log = log_of((3, 100), (2, 200))
    assert log.read(2, 1000) == [b"\0" * 30, b"\1" * 20]
    assert log.read(3, 1000) == [b"\1" * 20]


def test_a_read_gives_whole_batches_up_to_its_limit_and_at_least_one():
    log = log_of((3, 1), (3, 2), (3, 3))
    assert len(log.read(0, 60)) == 2
    assert len(log.read(0, 59)) == 1
    assert len(log.read(0, 1)) == 1
    assert log.read(0, 1, at_least_one=False) == []


def test_the_end_of_the_log_reads_empty_and_beyond_it_is_out_of_range():
    log = log_of((3, 1))
    assert log.read(3, 100) == []
    for offset in (4, -1):
        with pytest.raises(ApiError) as caught:
            log.read(offset, 100)
        assert caught.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_timestamp_is_looked_up_in_the_first_batch_that_reaches_it():
    log = log_of((1, 100), (1, 50), (1, 300), (1, 200))
    assert log.first_batch_since(100).base_offset == 0
    assert log.first_batch_since(101).base_offset == 2
    assert log.first_batch_since(301) is None
    assert log.newest_batch().base_offset == 2


def test_deleting_records_moves_the_start_and_drops_only_whole_batches():
    log = log_of((3, 300), (3, 100), (3, 200))
    assert log.delete_before(4) == 4
    assert (log.start_offset, len(log), log.size_bytes) == (4, 2, 60)
    assert log.first_batch_since(300) is None, "the batch with that timestamp is gone"
    with pytest.raises(ApiError):
        log.read(3, 100)
    log.delete_before(9)
    assert (log.start_offset, log.end_offset, len(log), log.size_bytes) == (9, 9, 0, 0)


def test_size_retention_keeps_the_last_batch():
    log = log_of((3, 1), (3, 2), (3, 3))
    log.keep_at_most(45)
    assert (log.start_offset, len(log)) == (6, 1)
    log.keep_at_most(0)
    assert len(log) == 1


def test_an_epoch_begins_with_its_first_batch():
    log = Log()
    for epoch in (0, 0, 2, 5):
        log.append(b"x", log.end_offset, 0, epoch)
    assert log.leader_epochs.entries == [(0, 0), (2, 2), (5, 3)]


def test_an_epoch_that_ended_before_the_logs_start_is_forgotten():
    log = Log()
    for epoch in (0, 0, 2, 5):
        log.append(b"x", log.end_offset, 0, epoch)
    log.delete_before(3)
    assert log.leader_epochs.entries == [(5, 3)]


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 50)), max_size=12), st.integers(0, 50), st.data())
def test_lookups_agree_with_walking_all_batches(batches, timestamp, data):
    log = log_of(*batches)
    log.delete_before(data.draw(st.integers(0, log.end_offset)))
    kept = list(log.batches(log.start_offset))
    offset = data.draw(st.integers(log.start_offset, log.end_offset))
    assert log.read(offset, 10**6) == [batch.data for batch in kept if batch.last_offset >= offset]
    since = [batch for batch in kept if batch.max_timestamp >= timestamp]
    assert log.first_batch_since(timestamp) == (since[0] if since else None)
    assert log.size_bytes == sum(len(batch.data) for batch in kept)
