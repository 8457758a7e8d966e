from __future__ import annotations

import gzip

import pytest

from protocol.records import (
    CompressionCodec,
    CorruptRecordError,
    DecompressionLimitError,
    InvalidRecordError,
    Record,
    build_batch,
    iter_batch_records,
    iter_batches,
    iter_records,
)
from protocol.records.checksum import crc32c

RECORDS = [
    Record(5, 1_000, b"key", b"value", (("one", b"1"), ("none", None), ("", b""))),
    Record(7, -1, None, None),
    Record(8, 4_000_000_000_000, b"", b"x" * 20_000),
]
BATCH = build_batch(RECORDS, base_offset=5, producer_id=1, producer_epoch=0, base_sequence=10)


def plain(record):
    return Record(record.offset, record.timestamp, record.key, record.value, record.headers)


def with_body(body, count, attributes=0):
    """A batch of magic 2 around this body, with a right length and checksum."""
    header = bytearray(build_batch([Record()])[:61])
    header[8:12] = (49 + len(body)).to_bytes(4, "big")
    header[21:23] = attributes.to_bytes(2, "big")
    header[57:61] = count.to_bytes(4, "big", signed=True)
    header[17:21] = crc32c(bytes(header[21:]) + body).to_bytes(4, "big")
    return bytes(header) + body


def test_records_come_with_all_they_hold():
    assert [plain(record) for record in iter_records(BATCH)] == RECORDS


def test_a_record_knows_its_batch_and_its_sequence_number():
    (header,) = iter_batches(BATCH)
    assert [(record.batch, record.sequence) for record in iter_records(BATCH)] == [
        (header, 10),
        (header, 12),
        (header, 13),
    ]
    assert not next(iter_records(BATCH)).is_control


def test_a_record_that_was_made_here_has_no_sequence_number():
    assert (Record().sequence, Record().is_control) == (-1, False)


def test_log_append_time_is_the_time_of_every_record():
    batch = build_batch(RECORDS, log_append_time_ms=77)
    assert [record.timestamp for record in iter_records(batch)] == [77, 77, 77]


def test_reading_is_lazy():
    records = iter_records(BATCH + b"\x00" * 16 + b"\x09" + b"no batch at all")
    assert [next(records).offset for _ in range(3)] == [5, 7, 8]
    with pytest.raises(CorruptRecordError, match="magic 9"):
        next(records)


def test_a_batch_cut_off_at_the_end_is_left_out():
    assert [record.offset for record in iter_records(BATCH + BATCH[:-1])] == [5, 7, 8]


@pytest.mark.parametrize("records", [None, b""])
def test_no_bytes_and_null_hold_no_records(records):
    assert list(iter_records(records)) == []


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_buffer_will_do(kind):
    assert [plain(record) for record in iter_records(kind(BATCH))] == RECORDS


def test_one_batch_can_be_read_alone():
    _, second = iter_batches(BATCH + build_batch([Record(value=b"second")], base_offset=9))
    records = iter_batch_records(BATCH + build_batch([Record(value=b"second")], base_offset=9), second)
    assert [record.offset for record in records] == [9]


def test_a_flipped_bit_fails_the_checksum_unless_that_is_not_wanted():
    damaged = BATCH[:-2000] + bytes([BATCH[-2000] ^ 1]) + BATCH[-1999:]
    with pytest.raises(CorruptRecordError, match="checksum"):
        list(iter_records(damaged))
    assert [record.offset for record in iter_records(damaged, crc=False)] == [5, 7, 8]


def test_the_limit_holds_for_each_batch():
    one = build_batch([Record(value=bytes(1_000))], codec=CompressionCodec.GZIP)
    assert len(list(iter_records(one + one, limit=1_100))) == 2
    with pytest.raises(DecompressionLimitError):
        list(iter_records(one, limit=1_000))


# The smallest record: length 6, attributes, two deltas, no key, no value, no headers.
NOTHING = bytes.fromhex("0c000000010100")


@pytest.mark.parametrize(
    ("body", "count", "reason"),
    [
        (NOTHING, 2, "before 2 records do"),
        (NOTHING * 2, 1, "7 bytes left after the 1 records"),
        (NOTHING, 0, "7 bytes left after the 0 records"),
        (b"", 1, "before 1 records do"),
        (bytes.fromhex("0e000000010100"), 1, "length 7 of a record with 6 bytes left"),
        (bytes.fromhex("0b000000010100"), 1, "length -6 of a record"),
        (bytes.fromhex("0a000000010100"), 1, "says 6 bytes, but its fields take 7"),
        (bytes.fromhex("0e00000001010000"), 1, "says 8 bytes, but its fields take 7"),
        (bytes.fromhex("0c000000030100"), 1, "key length -2"),
        (bytes.fromhex("0c000000010300"), 1, "value length -2"),
        (bytes.fromhex("0c000000080100"), 1, "key length 4 with 2 bytes left"),
        (bytes.fromhex("0c000000010101"), 1, "-1 headers"),
        (bytes.fromhex("0c000000010102"), 1, "1 headers in 0 bytes"),
        (bytes.fromhex("1000000001010201 00"), 1, "header key length -1"),
        (bytes.fromhex("1000000001010204 00"), 1, "header key length 2"),
        (bytes.fromhex("1000000001010200 03"), 1, "header value length -2"),
        (bytes.fromhex("1000000001010200 02"), 1, "header value length 1 with 0 bytes left"),
        (bytes.fromhex("ffffffffff0c000000010100"), 1, "too long or cut off"),
        (bytes.fromhex("8c80808080 00000000010100"), 1, "too long or cut off"),
        (bytes.fromhex("ffffffff1f 000000010100"), 1, "too long or cut off"),
    ],
)
def test_bodies_that_are_no_records_are_refused(body, count, reason):
    with pytest.raises(CorruptRecordError, match=reason):
        list(iter_records(with_body(body, count)))


def test_a_varint_may_be_longer_than_it_needs_to_be():
    (record,) = iter_records(with_body(bytes.fromhex("8c 80 00 00 00 00 01 01 00"), 1))
    assert plain(record) == Record(0, -1)


def test_timestamps_go_as_far_as_64_bits_do():
    records = [Record(timestamp=2**63 - 1), Record(timestamp=0)]
    assert [record.timestamp for record in iter_records(build_batch(records))] == [2**63 - 1, 0]


def test_a_negative_record_count_is_refused():
    with pytest.raises(InvalidRecordError, match="record count -1"):
        list(iter_records(with_body(b"", -1)))


def test_a_record_count_alone_allocates_nothing():
    with pytest.raises(CorruptRecordError):
        list(iter_records(with_body(b"", 2**31 - 1)))


def test_compaction_may_leave_a_batch_without_records():
    batch = build_batch([], base_offset=3, last_offset=9)
    (header,) = iter_batches(batch)
    assert (header.last_offset, header.record_count, list(iter_records(batch))) == (9, 0, [])


def test_malformed_text_in_a_header_key_reads_as_java_reads_it():
    body = bytes.fromhex("12000000010102 02ff 01")
    (record,) = iter_records(with_body(body, 1))
    assert record.headers == (("\ufffd", None),)


def test_an_error_in_compressed_records_says_where_they_and_the_fault_are():
    batch = with_body(gzip.compress(NOTHING * 3), 2, attributes=1)
    with pytest.raises(CorruptRecordError, match=r"byte 14 of its decompressed records: 7 bytes left") as refusal:
        list(iter_records(BATCH + batch))
    assert refusal.value.offset == len(BATCH)
