from __future__ import annotations

import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.records.checksum import crc32, crc32c, crc32c_of_part, xxhash32_of_few


def test_crc32c_is_castagnolis_and_crc32_is_zlibs():
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32(b"123456789") == 0xCBF43926
    assert crc32c(b"") == 0


@pytest.mark.parametrize(
    ("data", "wanted"),
    [(b"", 0x02CC5D05), (b"a", 0x550D7456), (b"abc", 0x32D153FF)],
)
def test_xxhash32_of_few_bytes(data, wanted):
    assert xxhash32_of_few(data) == wanted


def test_xxhash32_agrees_with_lz4_on_every_frame_header():
    for options in ({}, {"store_size": False}, {"block_linked": False}, {"content_checksum": True}):
        frame = lz4.frame.compress(b"some data", **options)
        end = 14 if frame[4] & 8 else 6
        assert frame[end] == xxhash32_of_few(frame[4:end]) >> 8 & 0xFF


def test_more_than_15_bytes_are_not_hashed_by_the_short_form():
    with pytest.raises(AssertionError):
        xxhash32_of_few(bytes(16))


@given(st.integers(0, 100), st.integers(0, 300_000))
def test_the_checksum_of_a_part_is_that_of_its_copy(start, size):
    data = bytes(range(256)) * 1200
    end = min(start + size, len(data))
    assert crc32c_of_part(data, start, end) == crc32c(data[start:end])
