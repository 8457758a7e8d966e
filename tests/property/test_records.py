"""Records hold for every input: round trips, what a log and an older consumer get, and damage."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocol.records import (
    CompressionCodec,
    CorruptRecordError,
    Record,
    RecordError,
    assign_offsets,
    build_batch,
    build_transaction_marker,
    compress,
    decompress,
    down_convert,
    iter_batches,
    iter_records,
    validate,
)

KINDS = [
    (magic, codec) for magic in (0, 1, 2) for codec in CompressionCodec if magic == 2 or codec != CompressionCodec.ZSTD
]
LIMIT = 1 << 20

contents = st.none() | st.binary(max_size=40) | st.binary(min_size=1, max_size=3).map(lambda word: word * 100)
timestamps = st.integers(-1, 2**45) | st.integers(1_700_000_000_000, 1_700_000_001_000)
headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple)
kinds = st.sampled_from(KINDS)


@st.composite
def batches(draw: Any, magic: int, base_offset: int | None = None, gaps: bool = True) -> list[Record]:
    """Records of one batch: offsets rise from ``base_offset``, with gaps if wanted."""
    offset = draw(st.integers(0, 2**40)) if base_offset is None else base_offset
    records = []
    for _ in range(draw(st.integers(1, 8))):
        offset += draw(st.integers(0, 300)) if gaps else 0
        records.append(
            Record(
                offset,
                draw(timestamps) if magic else -1,
                draw(contents),
                draw(contents),
                draw(headers) if magic == 2 else (),
            )
        )
        offset += 1
    return records


kinds_and_batches = kinds.flatmap(lambda kind: st.tuples(st.just(kind), batches(kind[0])))
kinds_and_produced = kinds.flatmap(lambda kind: st.tuples(st.just(kind), batches(kind[0], 0, gaps=False)))


def plain(records: bytes) -> list[Record]:
    return [
        Record(record.offset, record.timestamp, record.key, record.value, record.headers)
        for record in iter_records(records, limit=LIMIT)
    ]


def renumbered(records: list[Record], base_offset: int) -> list[Record]:
    return [
        Record(base_offset + place, record.timestamp, record.key, record.value, record.headers)
        for place, record in enumerate(records)
    ]


@given(kinds_and_batches)
def test_what_is_built_is_read(case):
    (magic, codec), records = case
    data = build_batch(records, magic=magic, codec=codec, base_offset=records[0].offset)
    assert plain(data) == records
    (*_, last) = iter_batches(data)
    assert last.last_offset == records[-1].offset
    assert last.position + last.size == len(data)


@given(kinds_and_produced, st.integers(0, 2**40), st.integers(0, 2**31 - 1))
def test_a_log_changes_offsets_and_nothing_else(case, base_offset, leader_epoch):
    (magic, codec), records = case
    data = build_batch(records, magic=magic, codec=codec)
    validate(data, min_magic=magic, max_magic=magic)
    stored = assign_offsets(data, base_offset, leader_epoch)
    assert plain(stored.records) == renumbered(records, base_offset)
    assert (stored.base_offset, stored.last_offset) == (base_offset, base_offset + len(records) - 1)
    assert stored.record_count == len(records)
    assert stored.max_timestamp == max(record.timestamp for record in records)
    if magic == 2:
        (header,) = iter_batches(stored.records)
        assert header.partition_leader_epoch == leader_epoch


@given(kinds_and_produced, st.integers(0, 2**40), st.integers(0, 2**45))
def test_log_append_time_changes_offsets_and_times_and_nothing_else(case, base_offset, now_ms):
    (magic, codec), records = case
    stored = assign_offsets(build_batch(records, magic=magic, codec=codec), base_offset, 0, now_ms)
    time = now_ms if magic else -1
    wanted = [Record(record.offset, time, record.key, record.value, record.headers) for record in records]
    assert plain(stored.records) == renumbered(wanted, base_offset)
    assert stored.max_timestamp == time


@given(kinds_and_batches, st.sampled_from([0, 1]))
def test_an_older_consumer_gets_all_records_less_what_its_format_lacks(case, magic):
    (original, codec), records = case
    if codec == CompressionCodec.ZSTD:
        codec = CompressionCodec.GZIP
    data = build_batch(records, magic=original, codec=codec, base_offset=records[0].offset)
    marker = build_transaction_marker(
        commit=True, producer_id=1, producer_epoch=0, coordinator_epoch=0, base_offset=records[-1].offset + 1
    )
    converted = down_convert(data + marker, magic)
    assert all(header.magic <= magic for header in iter_batches(converted))
    assert plain(converted) == [
        Record(record.offset, record.timestamp if magic else -1, record.key, record.value) for record in records
    ]


@given(st.sampled_from(CompressionCodec), st.sampled_from([0, 1, 2]), st.binary(max_size=2_000), st.integers(1, 60))
def test_compression_gives_back_what_it_was_given(codec, magic, data, times):
    assert decompress(codec, compress(codec, data * times, magic=magic), magic=magic) == data * times


def check_each_reader(data: bytes) -> None:
    """Each way of reading; only RecordError may come out, and no time and memory beyond the limit go in."""
    for read in (
        lambda: list(iter_batches(data)),
        lambda: list(iter_records(data, limit=LIMIT)),
        lambda: list(iter_records(data, crc=False, limit=LIMIT)),
        lambda: validate(data),
        lambda: assign_offsets(data, 7, 7, limit=LIMIT),
        lambda: assign_offsets(data, 7, 7, 7, limit=LIMIT),
        lambda: down_convert(data, 0, limit=LIMIT),
        lambda: down_convert(data, 1, limit=LIMIT),
    ):
        with suppress(RecordError):
            read()


def sample(magic: int, codec: CompressionCodec) -> bytes:
    records = [
        Record(0, 1_000 if magic else -1, b"key", b"value", (("a", b"b"), ("c", None)) if magic == 2 else ()),
        Record(1, 999 if magic else -1, None, None),
    ]
    return build_batch(records, magic=magic, codec=codec)


@pytest.mark.parametrize(("magic", "codec"), KINDS)
def test_every_prefix_is_read_as_cut_off_or_refused(magic, codec):
    data = sample(magic, codec)
    whole = plain(data)
    for end in range(len(data)):
        check_each_reader(data[:end])
        assert plain(data[:end]) == whole[: len(plain(data[:end]))] != whole


@pytest.mark.parametrize(("magic", "codec"), KINDS)
def test_every_flipped_bit_that_the_checksum_covers_is_noticed(magic, codec):
    data = sample(magic, codec)
    (header, *_) = iter_batches(data)
    covered_from = 21 if magic == 2 else 16
    for place in range(covered_from, header.size):
        for bit in range(8):
            damaged = data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
            with pytest.raises(RecordError):
                list(iter_records(damaged))
            if bit == place % 8:  # the slower ways of reading, on a share
                check_each_reader(damaged)


@pytest.mark.parametrize(("magic", "codec"), KINDS)
@pytest.mark.parametrize("huge", [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00"])
def test_every_four_bytes_made_huge_are_survived(magic, codec, huge):
    data = sample(magic, codec)
    for place in range(len(data) - 3):
        check_each_reader(data[:place] + huge + data[place + 4 :])


@given(kinds, st.data())
@settings(max_examples=2 * settings().max_examples)
def test_damage_anywhere_is_survived(kind, data):
    damaged = bytearray(sample(*kind))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged)))
        cut = data.draw(st.integers(0, 6))
        damaged[place : place + cut] = data.draw(st.binary(max_size=6))
    check_each_reader(bytes(damaged))


@given(st.binary(max_size=200))
@example(b"")
def test_random_bytes_are_survived(data):
    check_each_reader(data)


@given(st.sampled_from([codec for codec in CompressionCodec if codec]), st.binary(max_size=100), st.booleans())
def test_random_bytes_are_no_bomb_and_no_crash_for_any_codec(codec, data, begins_right):
    start = compress(codec, b"0123456789" * 5)[:20] if begins_right else b""
    with suppress(CorruptRecordError):
        assert len(decompress(codec, start + data, magic=0, limit=LIMIT)) <= LIMIT
