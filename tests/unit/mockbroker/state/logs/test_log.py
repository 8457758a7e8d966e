from __future__ import annotations

from time import process_time

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


def test_deleting_records_moves_the_start_and_leaves_the_batches_to_their_segment():
    log = log_of((3, 300), (3, 100), (3, 200))
    log.advance_start(4)
    assert (log.start_offset, len(log), log.size_bytes) == (4, 3, 90)
    assert log.first_batch_since(300) is not None
    with pytest.raises(ApiError):
        log.read(3, 100)
    log.advance_start(9)
    assert (log.start_offset, log.end_offset, log.read(9, 100)) == (9, 9, [])


def segmented(*sizes: int) -> Log:
    """A log of segments with so many batches of one record and ten bytes, with timestamps 1, 2, 3..."""
    log = Log()
    for batches in sizes:
        log.roll(0)
        for _ in range(batches):
            log.append(b"x" * 10, log.end_offset, log.end_offset + 1, 0)
    return log


def bases(log: Log) -> list[int]:
    return [one.base_offset for one in log.segments]


def test_a_segment_ends_by_its_size_and_by_the_time_between_its_records():
    log = Log()
    for timestamp in (1000, 1010, 1020, 1090, 5000, 900, 5061):
        log.append(b"x" * 10, log.end_offset, timestamp, 0, segment_bytes=30, segment_ms=60)
    assert bases(log) == [0, 3, 4, 6]


def test_a_read_ends_with_the_segment():
    log = segmented(2, 1, 3)
    assert [len(log.read(offset, 1000)) for offset in range(6)] == [2, 1, 1, 3, 2, 1]
    assert log.read_cut(0, 2, 5, before=6) == b""
    assert log.read_cut(3, 1, 5, before=6) == b"x" * 5


def test_only_whole_segments_go_and_the_last_one_leaves_an_empty_one():
    log = segmented(2, 1, 3)
    assert not log.delete_old_segments(before=6, now_ms=0, size_bytes=41)
    assert log.delete_old_segments(before=6, now_ms=0, size_bytes=40)
    assert (bases(log), log.start_offset, log.size_bytes, len(log)) == ([2, 3], 2, 40, 4)
    assert log.delete_old_segments(before=6, now_ms=0, oldest_ms=6)
    assert (bases(log), log.start_offset) == ([3], 3)
    assert log.delete_old_segments(before=6, now_ms=0, oldest_ms=7)
    assert (bases(log), log.start_offset, log.end_offset, log.size_bytes) == ([6], 6, 6, 0)
    assert not log.delete_old_segments(before=6, now_ms=0, oldest_ms=1000, size_bytes=0)


def test_what_is_not_replicated_stays():
    log = segmented(2, 1, 3)
    assert log.delete_old_segments(before=2, now_ms=0, size_bytes=0)
    assert bases(log) == [2, 3]


def test_segments_before_the_start_go():
    log = segmented(2, 1, 3)
    log.advance_start(4)
    assert log.delete_old_segments(before=6, now_ms=0)
    assert (bases(log), log.start_offset) == ([3], 4)


def test_what_is_cut_off_leaves_its_segments():
    log = segmented(2, 1, 3)
    log.truncate(4)
    assert (bases(log), log.segments[-1].size_bytes, log.segments[-1].max_timestamp) == ([0, 2, 3], 10, 4)
    log.truncate(2)
    assert bases(log) == [0]


def test_a_fork_has_segments_of_its_own():
    log = segmented(2, 1)
    other = log.copy()
    log.append(b"x", log.end_offset, 9, 0)
    assert [one.size_bytes for one in other.segments] == [20, 10]
    assert other.size_bytes == 30


def test_an_epoch_begins_with_its_first_batch():
    log = Log()
    for epoch in (0, 0, 2, 5):
        log.append(b"x", log.end_offset, 0, epoch)
    assert log.leader_epochs.entries == [(0, 0), (2, 2), (5, 3)]


def test_an_epoch_that_ended_before_the_logs_start_is_forgotten():
    log = Log()
    for epoch in (0, 0, 2, 5):
        log.append(b"x", log.end_offset, 0, epoch)
    log.advance_start(3)
    assert log.leader_epochs.entries == [(5, 3)]


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 50)), max_size=12), st.integers(0, 50), st.data())
def test_lookups_agree_with_walking_all_batches(batches, timestamp, data):
    log = log_of(*batches)
    log.advance_start(data.draw(st.integers(0, log.end_offset)))
    kept = list(log.batches())
    offset = data.draw(st.integers(log.start_offset, log.end_offset))
    assert log.read(offset, 10**6) == [batch.data for batch in kept if batch.last_offset >= offset]
    since = [batch for batch in kept if batch.max_timestamp >= timestamp]
    assert log.first_batch_since(timestamp) == (since[0] if since else None)
    assert log.size_bytes == sum(len(batch.data) for batch in kept)


@given(
    timestamps=st.lists(st.integers(-1, 9), min_size=1, max_size=30),
    deletions=st.lists(st.integers(1, 9), max_size=5),
)
def test_what_is_found_by_time_after_segments_have_gone_is_what_is_left(timestamps, deletions):
    log = Log()
    for timestamp in timestamps:
        log.append(b"x" * 10, log.end_offset, timestamp, 0, segment_bytes=10)
    for count in deletions:
        if count < len(log.segments):
            log.delete_segments(count, 0)
    left = timestamps[log.start_offset :]
    for wanted in range(10):
        expected = next((place for place, timestamp in enumerate(left) if timestamp >= wanted), None)
        found = log.first_batch_since(wanted)
        assert (None if found is None else found.base_offset - log.start_offset) == expected


def test_deleting_a_segment_costs_what_it_has_and_not_what_is_left():
    log = Log()
    for place in range(100_000):
        log.append(b"x", place, place, 0, segment_bytes=50)
    before = process_time()
    for _ in range(1000):
        assert log.delete_old_segments(before=log.end_offset, now_ms=0, size_bytes=log.size_bytes - 50)
    assert process_time() - before < 5.0  # it was half a minute
    assert (log.start_offset, log.size_bytes) == (50_000, 50_000)
