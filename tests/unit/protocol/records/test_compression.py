from __future__ import annotations

import gzip
import random
import subprocess
import sys
import tracemalloc

import lz4.frame
import pytest
import zstandard

from protocol.records import (
    CompressionCodec,
    CorruptRecordError,
    DecompressionBudget,
    DecompressionLimitError,
    UnsupportedCompressionError,
    compress,
    decompress,
)
from protocol.records.compression import codec_of

TEXT = b"the same words again and again, " * 5_000
XERIAL_HEADER = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
COMPRESSED = [codec for codec in CompressionCodec if codec != CompressionCodec.NONE]


@pytest.mark.parametrize("codec", CompressionCodec)
@pytest.mark.parametrize("size", [0, 1, 100, 32 * 1024, 64 * 1024 + 1, len(TEXT)])
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_what_goes_in_comes_out(codec, size, magic):
    assert decompress(codec, compress(codec, TEXT[:size], magic=magic), magic=magic) == TEXT[:size]


@pytest.mark.parametrize("codec", COMPRESSED)
def test_data_cut_off_anywhere_is_refused(codec):
    whole = compress(codec, TEXT[:500])
    for end in range(len(whole)):
        if codec == CompressionCodec.SNAPPY and end == len(XERIAL_HEADER):
            continue  # a framed stream without blocks
        with pytest.raises(CorruptRecordError):
            decompress(codec, whole[:end])


@pytest.mark.parametrize("codec", COMPRESSED)
def test_nothing_comes_out_of_no_data(codec):
    with pytest.raises(CorruptRecordError):
        decompress(codec, b"" if codec != CompressionCodec.SNAPPY else b"\x80")


@pytest.mark.parametrize("codec", CompressionCodec)
def test_the_limit_is_the_last_size_that_passes(codec):
    data = compress(codec, TEXT)
    assert decompress(codec, data, limit=len(TEXT)) == TEXT
    with pytest.raises(DecompressionLimitError, match=str(len(TEXT) - 1)):
        decompress(codec, data, limit=len(TEXT) - 1)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_bomb_costs_little_more_than_the_limit(codec):
    bomb = compress(codec, bytes(100_000_000))
    decompress(codec, compress(codec, b"libraries are loaded before the count begins"))
    tracemalloc.start()
    with pytest.raises(DecompressionLimitError):
        decompress(codec, bomb, limit=1_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000 + len(bomb)  # snappy's bomb is 5 MB itself


def test_gzip_members_follow_each_other_and_what_is_no_gzip_is_left():
    data = gzip.compress(b"one, ") + gzip.compress(b"two") + b"\x00tail"
    assert decompress(CompressionCodec.GZIP, data) == b"one, two"


def test_gzip_members_of_all_sizes_follow_each_other():
    parts = [bytes(str(size), "ascii") * size for size in (0, 1, 0, 1000, 4096, 0, 70_000, 3, 0)]
    noise = random.Random(7).randbytes(50_000)  # fills several of the pieces that are read at once
    data = b"".join(map(gzip.compress, [*parts, noise, *parts]))
    assert decompress(CompressionCodec.GZIP, data) == b"".join([*parts, noise, *parts])
    for cut in (1, 12, 4095, 4096, 4097, 20_000):
        with pytest.raises(CorruptRecordError, match="cut off"):
            decompress(CompressionCodec.GZIP, gzip.compress(noise)[:cut])


def test_snappy_blocks_of_nothing_are_passed_over():
    nothing = b"\x00\x00\x00\x01\x00"
    data = compress(CompressionCodec.SNAPPY, b"one")
    assert decompress(CompressionCodec.SNAPPY, data[:16] + nothing * 3 + data[16:] + nothing) == b"one"


def test_the_limit_holds_for_all_gzip_members_together():
    with pytest.raises(DecompressionLimitError):
        decompress(CompressionCodec.GZIP, gzip.compress(b"12345") * 2, limit=9)


def test_snappy_is_read_without_framing_as_librdkafka_writes_it():
    raw = compress(CompressionCodec.SNAPPY, TEXT, xerial=False)
    assert not raw.startswith(XERIAL_HEADER)
    assert decompress(CompressionCodec.SNAPPY, raw) == TEXT


def test_snappy_is_written_in_blocks_of_32_kib_behind_their_lengths():
    framed = compress(CompressionCodec.SNAPPY, TEXT[: 32 * 1024 + 5])
    assert framed.startswith(XERIAL_HEADER)
    first = int.from_bytes(framed[16:20], "big")
    second = int.from_bytes(framed[20 + first : 24 + first], "big")
    assert len(framed) == 24 + first + second


def test_one_snappy_stream_may_follow_another():
    data = compress(CompressionCodec.SNAPPY, b"one, ") + compress(CompressionCodec.SNAPPY, b"two")
    assert decompress(CompressionCodec.SNAPPY, data) == b"one, two"


def test_a_snappy_length_that_cannot_be_true_allocates_nothing():
    claims_60_mb = b"\x80\x8e\xce\x1c" + bytes(100)
    decompress(CompressionCodec.SNAPPY, compress(CompressionCodec.SNAPPY, b"load the library"))
    tracemalloc.start()
    with pytest.raises(CorruptRecordError, match="cannot hold"):
        decompress(CompressionCodec.SNAPPY, claims_60_mb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 1024


def test_a_snappy_block_longer_than_what_is_left_is_refused():
    with pytest.raises(CorruptRecordError, match="but 3 remain"):
        decompress(CompressionCodec.SNAPPY, XERIAL_HEADER + b"\x7f\xff\xff\xffabc")


def test_lz4_in_magic_0_has_the_header_checksum_of_kafka_0_8():
    """Kafka computed it over the frame's magic number as well."""
    wrong, right = compress(CompressionCodec.LZ4, TEXT, magic=0), compress(CompressionCodec.LZ4, TEXT, magic=1)
    assert wrong[:6] == right[:6] == bytes.fromhex("04224d186040")
    assert wrong[6] != right[6]
    assert wrong[7:] == right[7:]
    with pytest.raises(RuntimeError, match="headerChecksum"):
        lz4.frame.decompress(wrong)
    assert lz4.frame.decompress(right) == TEXT


def test_lz4_of_either_header_checksum_is_read_in_magic_0():
    for frame in (compress(CompressionCodec.LZ4, TEXT, magic=0), compress(CompressionCodec.LZ4, TEXT, magic=1)):
        assert decompress(CompressionCodec.LZ4, frame, magic=0) == TEXT


@pytest.mark.parametrize("length", range(4, 8))
def test_lz4_that_ends_in_its_header_is_refused_in_magic_0(length):
    with pytest.raises(CorruptRecordError, match="lz4"):
        decompress(CompressionCodec.LZ4, compress(CompressionCodec.LZ4, TEXT, magic=0)[:length], magic=0)


@pytest.mark.parametrize("magic", [1, 2])
def test_the_wrong_lz4_header_checksum_is_refused_from_magic_1_on(magic):
    with pytest.raises(CorruptRecordError, match="lz4"):
        decompress(CompressionCodec.LZ4, compress(CompressionCodec.LZ4, TEXT, magic=0), magic=magic)


@pytest.mark.parametrize(
    "options",
    [
        {"store_size": True, "content_checksum": True, "block_checksum": True},
        {"block_linked": True, "block_size": lz4.frame.BLOCKSIZE_MAX4MB},
    ],
)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_lz4_frames_of_other_makers_are_read(options, magic):
    assert decompress(CompressionCodec.LZ4, lz4.frame.compress(TEXT, **options), magic=magic) == TEXT


def test_what_follows_an_lz4_frame_is_left():
    assert decompress(CompressionCodec.LZ4, compress(CompressionCodec.LZ4, TEXT) + b"tail") == TEXT


def test_zstd_frames_follow_each_other_and_some_are_to_be_skipped():
    skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    unsized = zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress(TEXT)
    assert decompress(CompressionCodec.ZSTD, skipped + unsized + zstandard.compress(b"end")) == TEXT + b"end"


def test_what_follows_a_zstd_frame_and_is_none_is_refused():
    with pytest.raises(CorruptRecordError, match="no frame at byte"):
        decompress(CompressionCodec.ZSTD, compress(CompressionCodec.ZSTD, TEXT) + b"tail")


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_budget_counts_all_that_comes_out_and_what_is_broken_too(codec):
    budget = DecompressionBudget(2 * len(TEXT) + 5)
    for left in (len(TEXT) + 5, 5):
        decompress(codec, compress(codec, TEXT), limit=budget)
        assert budget.left == left
    with pytest.raises(DecompressionLimitError, match="more than 5 bytes"):
        decompress(codec, compress(codec, TEXT), limit=budget)
    broken = DecompressionBudget(1000)
    with pytest.raises(CorruptRecordError):
        decompress(codec, compress(codec, TEXT)[:-9], limit=broken)
    assert broken.left == 0


@pytest.mark.parametrize("number", [5, 6, 7])
def test_a_codec_number_that_no_codec_has_is_refused(number):
    with pytest.raises(UnsupportedCompressionError, match=f"codec {number}"):
        codec_of(number)


def test_importing_loads_no_compressor_and_no_checksum_library():
    code = (
        "import sys, protocol.records\n"
        "print([name for name in ('lz4', 'zstandard', 'cramjam', 'google_crc32c', 'construct') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == "[]\n"
