from __future__ import annotations

import pytest

from protocol.records import (
    CompressionCodec,
    CorruptRecordError,
    DecompressionLimitError,
    Record,
    RecordError,
    UnsupportedCompressionError,
    build_batch,
    compress,
    iter_batches,
    iter_records,
)
from protocol.records.message_sets import MAX_NESTING, build_messages, read_inner_messages, write_message

RECORDS = [Record(place, 100 + place, b"k%d" % place, b"v%d" % place) for place in range(3)]


def entry(magic, offset, attributes, value, timestamp=-1, key=None):
    parts = []
    write_message(parts, magic, offset, attributes, timestamp, key, value)
    return b"".join(parts)


def wrapped(inner, magic=1, offset=0, codec=CompressionCodec.GZIP, timestamp=-1, attributes=0):
    return entry(magic, offset, codec | attributes, compress(codec, inner, magic=magic), timestamp)


def offsets(records, **options):
    return [record.offset for record in iter_records(records, **options)]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize(
    "codec", [CompressionCodec.NONE, CompressionCodec.GZIP, CompressionCodec.SNAPPY, CompressionCodec.LZ4]
)
def test_messages_come_with_all_they_hold(magic, codec):
    data = build_batch(RECORDS, magic=magic, codec=codec)
    found = [(record.offset, record.timestamp, record.key, record.value) for record in iter_records(data)]
    assert found == [(record.offset, record.timestamp if magic else -1, record.key, record.value) for record in RECORDS]


def test_offsets_inside_magic_1_count_from_the_first():
    inner = build_messages([Record(0), Record(2), Record(5)], 1)
    assert offsets(wrapped(inner, offset=1005)) == [1000, 1002, 1005]


def test_offsets_inside_magic_0_are_absolute():
    inner = build_messages([Record(1000), Record(1002)], 0)
    assert offsets(wrapped(inner, magic=0, offset=1002)) == [1000, 1002]


def test_an_outer_offset_of_0_leaves_the_inner_ones_alone():
    """As old librdkafka sends them."""
    assert offsets(wrapped(build_messages([Record(0), Record(1), Record(2)], 1), offset=0)) == [0, 1, 2]


def test_an_outer_offset_below_the_last_inner_one_is_refused():
    with pytest.raises(CorruptRecordError, match="offset 1 of a compressed message, but its last inner one is 2"):
        offsets(wrapped(build_messages(RECORDS, 1), offset=1))


def test_the_builder_writes_relative_offsets_and_the_last_one_outside():
    data = build_batch([Record(50), Record(53)], magic=1, codec=CompressionCodec.GZIP, base_offset=50)
    (header,) = iter_batches(data)
    assert header.base_offset == 53
    assert [message.offset for message in read_inner_messages(data, header)] == [0, 3]


def test_log_append_time_outside_is_the_time_of_all_inside():
    inner = build_messages([Record(0, 5), Record(1, 6)], 1)
    data = wrapped(inner, offset=1, timestamp=999, attributes=0x08)
    assert [record.timestamp for record in iter_records(data)] == [999, 999]


def test_create_time_outside_leaves_the_times_inside_alone():
    data = wrapped(build_messages([Record(0, 5), Record(1, 6)], 1), offset=1, timestamp=999)
    assert [record.timestamp for record in iter_records(data)] == [5, 6]


def test_a_set_may_mix_compressed_and_plain_messages_and_magics():
    data = build_batch(RECORDS, magic=0) + wrapped(build_messages(RECORDS, 1), offset=5) + build_batch([Record(6)])
    assert offsets(data) == [0, 1, 2, 3, 4, 5, 6]


def test_messages_compressed_within_compressed_messages_are_read():
    deep = wrapped(build_messages([Record(0, 1, None, b"a"), Record(1, 2, None, b"b")], 1), offset=1)
    shallow = entry(1, 2, 0, b"c", 3)
    data = wrapped(deep + shallow, offset=12, codec=CompressionCodec.SNAPPY)
    assert [(record.offset, record.value) for record in iter_records(data)] == [(10, b"a"), (11, b"b"), (12, b"c")]


def test_nesting_has_an_end():
    data = build_messages([Record(0)], 0)
    for _ in range(MAX_NESTING):
        data = wrapped(data, magic=0)
    assert offsets(data) == [0]
    with pytest.raises(CorruptRecordError, match="deep"):
        offsets(wrapped(data, magic=0))


def test_the_limit_counts_all_depths_of_a_message_together():
    bombs = b"".join(wrapped(build_messages([Record(0, 1, None, bytes(10_000))], 1)) for _ in range(100))
    data = wrapped(bombs)
    assert len(offsets(data, limit=1_100_000)) == 100
    with pytest.raises(DecompressionLimitError):
        offsets(data, limit=900_000)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (entry(1, 0, CompressionCodec.GZIP, None), "without a value"),
        (wrapped(b""), "none inside"),
        (wrapped(build_messages([Record(0)], 1)[:-1]), "cut off"),
        (wrapped(b"\x00" * 5), "cut off"),
        (wrapped(build_batch([Record()])), "magic 2 in a message set"),
        (wrapped(bytes(16) + b"\x05" + bytes(30)), "magic 5"),
        (entry(1, 0, CompressionCodec.GZIP, b"no gzip"), "gzip"),
    ],
)
def test_compressed_messages_that_hold_no_messages_are_refused(data, reason):
    with pytest.raises(CorruptRecordError, match=reason):
        offsets(data)


def test_inner_checksums_count_too_unless_they_are_not_wanted():
    inner = bytearray(build_messages([Record(0, 1, None, b"value")], 1))
    inner[-1] ^= 1
    with pytest.raises(CorruptRecordError, match="decompressed messages: checksum"):
        offsets(wrapped(bytes(inner)))
    assert offsets(wrapped(bytes(inner)), crc=False) == [0]


def test_zstd_is_not_for_message_sets():
    with pytest.raises(UnsupportedCompressionError, match="magic 2"):
        offsets(entry(1, 0, CompressionCodec.ZSTD, compress(CompressionCodec.ZSTD, build_messages([Record(0)], 1))))
    with pytest.raises(UnsupportedCompressionError, match="magic 2"):
        build_batch([Record()], magic=1, codec=CompressionCodec.ZSTD)


@pytest.mark.parametrize(
    "tail",
    [
        "ffffffff ffffffff 00",  # a byte too many
        "ffffffff",  # no value
        "ffffffff ffff",  # half a length
        "fffffffe ffffffff",  # a length of -2
        "7fffffff ffffffff",  # a key longer than the message
        "ffffffff 7fffffff",  # a value longer than the message
        "80000000 ffffffff",
    ],
)
def test_a_message_that_key_and_value_do_not_fill_is_refused(tail):
    from zlib import crc32

    body = b"\x00\x00" + bytes.fromhex(tail)
    length = 4 + len(body)
    data = bytes(8) + length.to_bytes(4, "big") + crc32(body).to_bytes(4, "big") + body
    with pytest.raises(RecordError):
        offsets(data)
