from __future__ import annotations

import pytest

from protocol.records import (
    CompressionCodec,
    InvalidRecordError,
    Record,
    UnsupportedCompressionError,
    build_batch,
    iter_batches,
    iter_records,
)
from protocol.records.building import put_varint


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [CompressionCodec.NONE, CompressionCodec.GZIP])
def test_records_that_leave_their_offset_open_are_numbered_on(magic, codec):
    records = [Record(), Record(7), Record(), Record()]
    data = build_batch(records, magic=magic, codec=codec, base_offset=5)
    assert [record.offset for record in iter_records(data)] == [5, 7, 8, 9]


@pytest.mark.parametrize("records", [[Record(4)], [Record(6), Record(6)], [Record(7), Record(6)]])
def test_offsets_that_do_not_rise_are_refused(records):
    with pytest.raises(InvalidRecordError, match="comes next"):
        build_batch(records, base_offset=5)


def test_a_batch_may_reach_past_its_last_record():
    (header,) = iter_batches(build_batch([Record(3)], base_offset=2, last_offset=10))
    assert (header.base_offset, header.last_offset, header.record_count) == (2, 10, 1)


@pytest.mark.parametrize("last_offset", [2, 4, 2**31 + 3])
def test_a_last_offset_before_the_last_record_or_too_far_on_is_refused(last_offset):
    with pytest.raises(InvalidRecordError, match=f"last offset {last_offset}"):
        build_batch([Record(5)], base_offset=3, last_offset=last_offset)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"magic": 3}, "magic 3"),
        ({"magic": 1, "producer_id": 4}, "take magic 2, not 1"),
        ({"magic": 0, "transactional": True}, "take magic 2, not 0"),
        ({"magic": 1, "delete_horizon_ms": 4}, "take magic 2, not 1"),
        ({"magic": 1, "last_offset": 4}, "take magic 2, not 1"),
        ({"producer_id": 2**63}, "does not fit"),
        ({"leader_epoch": 2**31}, "does not fit"),
    ],
)
def test_what_the_magic_does_not_have_is_refused(options, reason):
    with pytest.raises(InvalidRecordError, match=reason):
        build_batch([Record()], **options)


@pytest.mark.parametrize("magic", [0, 1])
def test_headers_take_magic_2(magic):
    with pytest.raises(InvalidRecordError, match=f"headers take magic 2, not {magic}"):
        build_batch([Record(headers=(("key", b"value"),))], magic=magic)


def test_an_unknown_codec_is_refused():
    with pytest.raises(UnsupportedCompressionError):
        build_batch([Record()], codec=5)


def test_no_records_take_a_last_offset_or_a_plain_message_set():
    assert build_batch([], magic=1) == b""
    with pytest.raises(InvalidRecordError, match="at least one record"):
        build_batch([], magic=1, codec=CompressionCodec.GZIP)
    with pytest.raises(InvalidRecordError, match="needs a last offset"):
        build_batch([])


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_varints_are_zigzag(number, wanted):
    out = bytearray()
    put_varint(out, number)
    assert out.hex() == wanted
