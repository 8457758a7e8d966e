from __future__ import annotations

import pytest

from protocol.records import (
    BatchHeader,
    CompressionCodec,
    CorruptRecordError,
    Record,
    TimestampType,
    UnsupportedCompressionError,
    build_batch,
    build_transaction_marker,
    iter_batches,
)
from protocol.records.batches import sequence_after

BATCH = build_batch(
    [Record(timestamp=1_000, key=b"k", value=b"v"), Record(timestamp=900, value=b"w")],
    codec=CompressionCodec.GZIP,
    base_offset=40,
    leader_epoch=3,
    producer_id=7,
    producer_epoch=2,
    base_sequence=0x7FFFFFFF,
    transactional=True,
)
MESSAGES = build_batch([Record(timestamp=5, key=b"k", value=b"v"), Record(timestamp=6)], magic=1, base_offset=8)
COMPRESSED_MESSAGE = build_batch(
    [Record(timestamp=5), Record(timestamp=6)], magic=1, codec=CompressionCodec.LZ4, base_offset=8
)


def test_a_header_says_all_that_its_61_bytes_hold():
    (header,) = iter_batches(BATCH)
    assert header == BatchHeader(
        position=0,
        base_offset=40,
        length=len(BATCH) - 12,
        partition_leader_epoch=3,
        magic=2,
        crc=int.from_bytes(BATCH[17:21], "big"),
        attributes=0x11,
        last_offset_delta=1,
        base_timestamp=1_000,
        max_timestamp=1_000,
        producer_id=7,
        producer_epoch=2,
        base_sequence=0x7FFFFFFF,
        record_count=2,
        partial=False,
    )
    assert (header.size, header.last_offset, header.last_sequence) == (len(BATCH), 41, 0)
    assert (header.codec, header.timestamp_type) == (CompressionCodec.GZIP, TimestampType.CREATE_TIME)
    assert (header.is_compressed, header.is_transactional, header.is_control) == (True, True, False)
    assert header.delete_horizon_ms is None


def test_records_are_not_walked_to_give_headers():
    damaged = BATCH[:61] + b"\xff" * (len(BATCH) - 61)
    assert list(iter_batches(damaged)) == list(iter_batches(BATCH))


def test_each_batch_has_a_header_and_knows_its_place():
    marker = build_transaction_marker(commit=True, producer_id=7, producer_epoch=2, coordinator_epoch=1, base_offset=42)
    first, second, third = iter_batches(BATCH + marker + BATCH)
    assert (first.position, second.position, third.position) == (0, len(BATCH), len(BATCH) + len(marker))
    assert (first.is_control, second.is_control) == (False, True)


def test_messages_of_a_set_have_a_header_each():
    first, second = iter_batches(MESSAGES)
    assert (first.base_offset, first.last_offset, first.max_timestamp, first.record_count) == (8, 8, 5, 1)
    assert (second.base_offset, second.position, second.codec) == (9, first.size, CompressionCodec.NONE)


def test_a_compressed_message_has_one_header_with_its_last_offset_and_no_count():
    (header,) = iter_batches(COMPRESSED_MESSAGE)
    assert (header.base_offset, header.max_timestamp, header.record_count) == (9, 6, -1)
    assert (header.codec, header.size) == (CompressionCodec.LZ4, len(COMPRESSED_MESSAGE))


@pytest.mark.parametrize(("magic", "kind"), [(0, -1), (1, 1), (2, 1)])
def test_the_timestamp_type_says_who_set_the_time(magic, kind):
    (header,) = iter_batches(build_batch([Record()], magic=magic, log_append_time_ms=77))
    assert header.timestamp_type == kind
    assert header.max_timestamp == (77 if magic else -1)


def test_the_delete_horizon_stands_where_the_base_timestamp_stood():
    (header,) = iter_batches(build_batch([Record(timestamp=3)], delete_horizon_ms=99))
    assert (header.delete_horizon_ms, header.base_timestamp, header.max_timestamp) == (99, 99, 3)


@pytest.mark.parametrize("data", [BATCH, MESSAGES, COMPRESSED_MESSAGE], ids=["batch", "messages", "compressed"])
@pytest.mark.parametrize("before", [b"", BATCH], ids=["alone", "after a whole one"])
def test_a_batch_cut_off_anywhere_is_marked_partial(data, before):
    whole = list(iter_batches(before + data))
    ends = {header.position + header.size for header in whole}
    for end in range(len(before) + 1, len(before) + len(data)):
        headers = list(iter_batches((before + data)[:end]))
        assert [header.partial for header in headers[:-1]] == [False] * (len(headers) - 1)
        assert headers[-1].partial == (end not in ends)
        assert headers[-1].position == whole[len(headers) - 1].position
        if headers[-1].partial and end - headers[-1].position >= 61:
            assert headers[-1].size == whole[len(headers) - 1].size


def test_a_batch_cut_off_after_its_fixed_part_still_says_what_that_holds():
    (whole,), (partial,) = iter_batches(BATCH), iter_batches(BATCH[:-1])
    assert partial.partial
    assert (partial.base_offset, partial.record_count, partial.crc) == (40, 2, whole.crc)


@pytest.mark.parametrize("records", [None, b""])
def test_no_bytes_and_null_hold_no_batches(records):
    assert list(iter_batches(records)) == []


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_buffer_will_do(kind):
    assert list(iter_batches(kind(BATCH))) == list(iter_batches(BATCH))


@pytest.mark.parametrize("length", [-1, 0, 48, -(2**31)])
def test_a_length_too_small_for_the_header_is_refused(length):
    with pytest.raises(CorruptRecordError, match=f"length {length}"):
        list(iter_batches(BATCH[:8] + length.to_bytes(4, "big", signed=True) + BATCH[12:]))


def test_a_huge_length_is_a_batch_cut_off():
    (header,) = iter_batches(BATCH[:8] + b"\x7f\xff\xff\xff" + BATCH[12:])
    assert header.partial


@pytest.mark.parametrize("magic", [3, 127, 128, 255])
def test_a_magic_that_is_not_known_is_refused_where_it_stands(magic):
    with pytest.raises(CorruptRecordError, match=f"magic {magic}") as refusal:
        list(iter_batches(BATCH + BATCH[:16] + bytes([magic]) + BATCH[17:]))
    assert refusal.value.offset == len(BATCH) + 16


def test_an_unknown_codec_is_refused_when_asked_for():
    (header,) = iter_batches(BATCH[:21] + b"\x00\x07" + BATCH[23:])
    assert header.is_compressed
    with pytest.raises(UnsupportedCompressionError, match="codec 7"):
        _ = header.codec


@pytest.mark.parametrize(("start", "count", "wanted"), [(-1, 5, -1), (3, 2, 5), (2**31 - 1, 1, 0), (2**31 - 2, 3, 1)])
def test_sequence_numbers_wrap_to_zero(start, count, wanted):
    assert sequence_after(start, count) == wanted
