"""Kafka's wire types, each as a construct of its own."""

from io import BytesIO

import pytest
from construct import Container

from protocol.wire import (
    Array,
    Blob,
    BooleanField,
    Bytes,
    CountedArray,
    Fixed,
    Float64Field,
    Int8Field,
    Int16Field,
    Int32Field,
    Int64Field,
    Length,
    Malformed,
    String,
    Text,
    UInt16Field,
    UInt32Field,
    Uuid,
    UuidConstruct,
    UVarint,
)

CLASSIC, CLASSIC_NULL = Length(Int16Field, nullable=False), Length(Int16Field, nullable=True)
COMPACT, COMPACT_NULL = Length(UVarint, nullable=False), Length(UVarint, nullable=True)


@pytest.mark.parametrize(
    ("construct", "value", "written"),
    [
        (Int8Field, -2, "fe"),
        (Int16Field, -2, "fffe"),
        (Int32Field, 1, "00000001"),
        (Int64Field, -1, "ff" * 8),
        (UInt16Field, 65535, "ffff"),
        (UInt32Field, 4294967295, "ffffffff"),
        (Float64Field, 1.5, "3ff8000000000000"),
        (BooleanField, True, "01"),
        (UVarint, 300, "ac02"),
        (UVarint, 2**32 - 1, "ffffffff0f"),
        (UuidConstruct(), bytes(range(16)), bytes(range(16)).hex()),
        (Text(CLASSIC), "ab", "00026162"),
        (Text(CLASSIC_NULL), None, "ffff"),
        (Text(COMPACT), "", "01"),
        (Text(COMPACT_NULL), None, "00"),
        (Text(COMPACT), "räck", "0672c3a4636b"),
        (Blob(Length(Int32Field, nullable=True)), b"\x00", "0000000100"),
        (CountedArray(COMPACT, Int16Field), [1, 2], "0300010002"),
        (CountedArray(COMPACT_NULL, Int16Field), None, "00"),
    ],
)
def test_each_type_writes_and_reads_kafkas_bytes(construct, value, written):
    assert construct.build(value).hex() == written
    assert construct.parse(bytes.fromhex(written)) == value


@pytest.mark.parametrize(
    ("construct", "data", "reason"),
    [
        (Int32Field, "000000", "expected 4 bytes, 3 remain"),
        (UVarint, "ffffffffff", "goes on after 5 bytes"),
        (UVarint, "ffffffff1f", "does not fit 32 bits"),
        (UVarint, "80", "expected 1 bytes, 0 remain"),
        (Text(CLASSIC), "ffff", "null, but it is not nullable"),
        (Text(CLASSIC_NULL), "fffe", "length -2"),
        (Text(COMPACT), "00", "null, but it is not nullable"),
        (Text(COMPACT), "0561", "length 4, but 1 bytes remain"),
        (Text(CLASSIC), "0001ff", "not UTF-8"),
        (CountedArray(Length(Int32Field, nullable=False), Int8Field), "7fffffff00", "but 1 bytes remain"),
    ],
)
def test_what_is_not_the_type_is_refused_with_the_reason(construct, data, reason):
    with pytest.raises(Malformed, match=reason):
        construct.parse(bytes.fromhex(data))


@pytest.mark.parametrize(
    ("construct", "value", "reason"),
    [
        (Int8Field, 128, "128"),
        (Int8Field, "1", "'1'"),
        (UVarint, -1, "32 bits, got -1"),
        (UVarint, 2**32, "32 bits, got 4294967296"),
        (UVarint, "1", "32 bits, got '1'"),
        (BooleanField, None, "None"),
        (Text(CLASSIC), None, "null, but it is not nullable"),
        (Text(CLASSIC), b"bytes", "expected a string, got bytes"),
        (Text(COMPACT), "x" * 32768, "at most 32767"),
        (Text(COMPACT), "\ud800", "not UTF-8"),
        (Blob(COMPACT), "text", "expected bytes, got str"),
        (UuidConstruct(), b"short", "a uuid is 16 bytes"),
        (CountedArray(COMPACT, Int8Field), 5, "expected a list, got int"),
    ],
)
def test_what_a_type_cannot_hold_is_refused_with_the_reason(construct, value, reason):
    with pytest.raises(Malformed, match=reason):
        construct.build(value)


def test_a_length_is_refused_before_its_bytes_are_taken():
    stream = BytesIO(b"\x7f\xff\xff\xff" + b"x")
    with pytest.raises(Malformed) as raised:
        Blob(Length(Int32Field, nullable=False))._parse(stream, Container(), "(parsing) -> records")
    assert (raised.value.offset, raised.value.where) == (0, "records")
    assert stream.tell() == 4


def test_a_type_takes_its_encoding_from_version_and_nullability():
    assert String.construct(flexible=False, nullable=True).build(None) == b"\xff\xff"
    assert String.construct(flexible=True, nullable=True).build(None) == b"\x00"
    assert Bytes.construct(flexible=False, nullable=False).build(b"") == b"\0\0\0\0"
    assert isinstance(Uuid.construct(flexible=True, nullable=False), UuidConstruct)
    assert repr(Array(String)) == "[]string"
    assert Fixed("h").sizeof() == 2
