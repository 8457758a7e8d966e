from __future__ import annotations

import pytest

from protocol.records import (
    CompressionCodec,
    CorruptRecordError,
    InvalidRecordError,
    Record,
    UnsupportedCompressionError,
    assign_offsets,
    build_batch,
    build_transaction_marker,
    compress,
    iter_batches,
    iter_records,
    validate,
)
from protocol.records.checksum import crc32c
from protocol.records.message_sets import build_messages, write_message

RECORDS = [Record(timestamp=10, key=b"k", value=b"v"), Record(timestamp=30), Record(timestamp=20)]
BATCH = build_batch(RECORDS)
CODECS = [CompressionCodec.NONE, CompressionCodec.GZIP, CompressionCodec.SNAPPY, CompressionCodec.LZ4]


def patched(batch, place, data):
    """A batch of magic 2 with other bytes there and the checksum set right."""
    changed = bytearray(batch)
    changed[place : place + len(data)] = data
    changed[17:21] = crc32c(bytes(changed[21:])).to_bytes(4, "big")
    return bytes(changed)


def wrapped(inner, magic=1, offset=0, codec=CompressionCodec.GZIP, timestamp=-1):
    parts = []
    write_message(parts, magic, offset, codec, timestamp, None, compress(codec, inner, magic=magic))
    return b"".join(parts)


# validate


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", CODECS)
def test_what_a_producer_sends_is_let_through(magic, codec):
    data = build_batch(RECORDS, magic=magic, codec=codec)
    assert validate(data) == list(iter_batches(data))


@pytest.mark.parametrize(
    ("records", "options", "error", "reason"),
    [
        (b"", {}, InvalidRecordError, "no records"),
        (BATCH + BATCH, {"one_batch": True}, InvalidRecordError, "2 batches"),
        (BATCH + BATCH[:-1], {}, CorruptRecordError, "bytes with"),
        (BATCH[:10], {}, CorruptRecordError, "bytes with"),
        (BATCH[:-1] + b"\x01", {}, CorruptRecordError, "checksum"),
        (build_messages([Record(0, 1, b"k", b"v")], 1)[:-1] + b"w", {}, CorruptRecordError, "checksum"),
        (BATCH, {"max_magic": 1}, InvalidRecordError, "magic 2, but this request takes 0 to 1"),
        (build_batch(RECORDS, magic=1), {"min_magic": 2}, InvalidRecordError, "takes 2 to 2"),
        (build_batch(RECORDS, magic=1) + BATCH, {}, InvalidRecordError, "magic 2 after magic 1"),
        (build_batch(RECORDS, codec=CompressionCodec.ZSTD), {"allow_zstd": False}, UnsupportedCompressionError, "zstd"),
        (wrapped(b"", codec=CompressionCodec.ZSTD), {}, UnsupportedCompressionError, "zstd"),
        (patched(BATCH, 21, b"\x00\x06"), {}, UnsupportedCompressionError, "codec 6"),
        (
            build_transaction_marker(commit=True, producer_id=1, producer_epoch=0, coordinator_epoch=0),
            {},
            InvalidRecordError,
            "control batch",
        ),
        (build_batch(RECORDS, base_offset=1), {}, InvalidRecordError, "base offset 1"),
        (build_batch([], last_offset=0), {}, InvalidRecordError, "record count 0"),
        (patched(BATCH, 57, b"\xff\xff\xff\xff"), {}, InvalidRecordError, "record count -1"),
        (build_batch(RECORDS, last_offset=3), {}, InvalidRecordError, "last offset delta 3 with 3 records"),
        (build_batch(RECORDS, producer_id=1), {}, InvalidRecordError, "base sequence -1 with producer id 1"),
        (
            patched(patched(BATCH, 57, b"\x00\x00\x00\x7f"), 23, b"\x00\x00\x00\x7e"),
            {},
            InvalidRecordError,
            "127 records in",
        ),
        (build_batch(RECORDS, log_append_time_ms=5), {}, InvalidRecordError, "log append time"),
        (build_batch(RECORDS, magic=1, log_append_time_ms=5), {}, InvalidRecordError, "log append time"),
    ],
)
def test_what_breaks_a_rule_is_refused(records, options, error, reason):
    with pytest.raises(error, match=reason):
        validate(records, **options)


def test_a_compressed_message_without_a_value_is_refused():
    parts = []
    write_message(parts, 1, 0, CompressionCodec.GZIP, -1, None, None)
    with pytest.raises(CorruptRecordError, match="without a value"):
        validate(b"".join(parts))


def test_brokers_may_write_what_producers_may_not():
    marker = build_transaction_marker(commit=True, producer_id=1, producer_epoch=0, coordinator_epoch=0, base_offset=9)
    (header,) = validate(marker, from_client=False)
    assert header.is_control


def test_log_append_time_may_be_set_where_the_log_sets_it_anyway():
    assert len(validate(build_batch(RECORDS, log_append_time_ms=5), log_append_time=True)) == 1


def test_the_records_of_a_batch_are_not_looked_at():
    no_records = patched(BATCH, 61, b"\xff" * (len(BATCH) - 61))
    assert len(validate(no_records)) == 1


# assign_offsets


def test_a_batch_keeps_all_but_offset_and_leader_epoch():
    stored = assign_offsets(BATCH, 1_000, 7)
    assert stored.records == (1_000).to_bytes(8, "big") + BATCH[8:12] + (7).to_bytes(4, "big") + BATCH[16:]
    assert stored[1:] == (1_000, 1_002, 3, 30, 1_002)


def test_batches_follow_each_other():
    stored = assign_offsets(BATCH + build_batch([Record(timestamp=25)]), 1_000, 7)
    assert [record.offset for record in iter_records(stored.records)] == [1_000, 1_001, 1_002, 1_003]
    assert stored[1:] == (1_000, 1_003, 4, 30, 1_002)


@pytest.mark.parametrize("magic", [1, 2])
@pytest.mark.parametrize("codec", CODECS)
def test_log_append_time_takes_the_place_of_the_producers(magic, codec):
    stored = assign_offsets(build_batch(RECORDS, magic=magic, codec=codec), 5, 0, 777)
    assert [(record.offset, record.timestamp) for record in iter_records(stored.records)] == [
        (5, 777),
        (6, 777),
        (7, 777),
    ]
    assert stored.max_timestamp == 777
    assert all(header.timestamp_type == 1 for header in iter_batches(stored.records))


@pytest.mark.parametrize("codec", CODECS)
def test_magic_0_has_no_time_to_set(codec):
    stored = assign_offsets(build_batch(RECORDS, magic=0, codec=codec), 5, 0, 777)
    assert [(record.offset, record.timestamp) for record in iter_records(stored.records)] == [(5, -1), (6, -1), (7, -1)]
    assert (stored.max_timestamp, stored.max_timestamp_offset, stored.record_count) == (-1, -1, 3)


def test_the_time_index_points_at_the_latest_message():
    assert assign_offsets(build_batch(RECORDS, magic=1), 100, 0)[1:] == (100, 102, 3, 30, 101)


def test_a_compressed_message_of_magic_1_keeps_its_bytes_when_its_offsets_count_from_0():
    data = build_batch(RECORDS, magic=1, codec=CompressionCodec.GZIP)
    stored = assign_offsets(data, 100, 0)
    assert stored.records[8:] == data[8:]
    assert [record.offset for record in iter_records(stored.records)] == [100, 101, 102]


@pytest.mark.parametrize("offsets", [(0, 0, 0), (7, 8, 9), (0, 2, 4)])
def test_a_compressed_message_of_magic_1_with_other_offsets_is_written_anew(offsets):
    inner = build_messages([Record(offset, 10) for offset in offsets], 1)
    stored = assign_offsets(wrapped(inner, offset=offsets[-1]), 100, 0)
    assert [record.offset for record in iter_records(stored.records)] == [100, 101, 102]
    assert stored[1:] == (100, 102, 3, 10, 102)


def test_a_compressed_message_gets_the_highest_time_inside_it():
    inner = build_messages([Record(0, 10), Record(1, 30), Record(2, 20)], 1)
    (header,) = iter_batches(assign_offsets(wrapped(inner, offset=2, timestamp=5), 100, 0).records)
    assert header.max_timestamp == 30


def test_a_magic_0_set_is_compressed_anew_with_absolute_offsets_and_kafkas_lz4():
    stored = assign_offsets(build_batch(RECORDS, magic=0, codec=CompressionCodec.LZ4), 100, 0)
    assert [record.offset for record in iter_records(stored.records)] == [100, 101, 102]
    right = compress(CompressionCodec.LZ4, b"", magic=1)[6]
    assert stored.records[18 + 8 + 6] == compress(CompressionCodec.LZ4, b"", magic=0)[6] != right


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_compressed_within_compressed_messages_are_not_stored(magic):
    deep = wrapped(build_messages([Record(0)], magic), magic=magic)
    with pytest.raises(InvalidRecordError, match="within a compressed one"):
        assign_offsets(wrapped(deep, magic=magic), 0, 0)


def test_magics_are_not_mixed_within_a_compressed_message():
    with pytest.raises(InvalidRecordError, match="magic 0 within a message of magic 1"):
        assign_offsets(wrapped(build_messages([Record(0)], 0)), 0, 0)


@pytest.mark.parametrize("records", [BATCH[:-1], BATCH + BATCH[:30]])
def test_a_batch_cut_off_is_not_stored(records):
    with pytest.raises(CorruptRecordError):
        assign_offsets(records, 0, 0)


def test_a_batch_that_ends_before_it_begins_is_not_stored():
    with pytest.raises(InvalidRecordError, match="last offset delta -1"):
        assign_offsets(patched(BATCH, 23, b"\xff\xff\xff\xff"), 0, 0)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_buffer_will_do(kind):
    assert assign_offsets(kind(BATCH), 5, 6) == assign_offsets(BATCH, 5, 6)
    assert validate(kind(BATCH)) == validate(BATCH)
