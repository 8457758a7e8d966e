from __future__ import annotations

import pytest

from protocol.records import (
    CompressionCodec,
    DecompressionBudget,
    DecompressionLimitError,
    InvalidRecordError,
    Record,
    UnsupportedCompressionError,
    build_batch,
    build_transaction_marker,
    down_convert,
    iter_batches,
    iter_records,
)

RECORDS = [Record(10, 100, b"k", b"v", (("header", b"is lost"),)), Record(12, 101, None, None)]
BATCH = build_batch(RECORDS, base_offset=10)
MARKER = build_transaction_marker(commit=True, producer_id=1, producer_epoch=0, coordinator_epoch=0, base_offset=13)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize(
    "codec", [CompressionCodec.NONE, CompressionCodec.GZIP, CompressionCodec.SNAPPY, CompressionCodec.LZ4]
)
def test_offsets_keys_and_values_stay(magic, codec):
    converted = down_convert(build_batch(RECORDS, base_offset=10, codec=codec), magic)
    assert [(record.offset, record.timestamp, record.key, record.value) for record in iter_records(converted)] == [
        (10, 100 if magic else -1, b"k", b"v"),
        (12, 101 if magic else -1, None, None),
    ]
    assert {header.magic for header in iter_batches(converted)} == {magic}
    assert {header.codec for header in iter_batches(converted)} == {codec}


def test_control_batches_are_left_out():
    assert down_convert(MARKER + BATCH + MARKER, 1) == down_convert(BATCH, 1)
    assert down_convert(MARKER, 0) == b""


def test_what_is_old_enough_is_kept_as_it_is():
    old = build_batch([Record()], magic=0) + build_batch(
        [Record(1)], magic=1, codec=CompressionCodec.GZIP, base_offset=1
    )
    assert down_convert(old, 1) == old


def test_a_batch_cut_off_at_the_end_is_left_out():
    assert down_convert(BATCH + BATCH[:-1], 1) == down_convert(BATCH, 1)


def test_records_before_the_fetch_are_left_out_where_nothing_is_compressed():
    assert [record.offset for record in iter_records(down_convert(BATCH, 1, first_offset=11))] == [12]
    compressed = build_batch(RECORDS, base_offset=10, codec=CompressionCodec.GZIP)
    assert [record.offset for record in iter_records(down_convert(compressed, 1, first_offset=11))] == [10, 12]


def test_a_batch_that_compaction_emptied_is_left_out():
    assert down_convert(build_batch([], last_offset=4), 1) == b""


def test_log_append_time_stays_the_brokers():
    converted = down_convert(build_batch(RECORDS, base_offset=10, log_append_time_ms=999), 1)
    assert [header.timestamp_type for header in iter_batches(converted)] == [1, 1]
    assert [record.timestamp for record in iter_records(converted)] == [999, 999]


def test_zstd_is_refused():
    with pytest.raises(UnsupportedCompressionError, match="zstd"):
        down_convert(build_batch(RECORDS, base_offset=10, codec=CompressionCodec.ZSTD), 1)


@pytest.mark.parametrize("magic", [-1, 2])
def test_only_magic_0_and_1_are_older(magic):
    with pytest.raises(InvalidRecordError, match="down-conversion"):
        down_convert(BATCH, magic)


def test_what_takes_more_than_a_budget_behind_the_first_batch_is_left_out():
    batches = [
        build_batch([Record(offset, 100, value=bytes(1000))], base_offset=offset, codec=CompressionCodec.GZIP)
        for offset in (0, 1)
    ]
    converted = down_convert(b"".join(batches), 1, limit=DecompressionBudget(1500))
    assert [record.offset for record in iter_records(converted)] == [0]
    with pytest.raises(DecompressionLimitError):
        down_convert(b"".join(batches), 1, limit=DecompressionBudget(900))
