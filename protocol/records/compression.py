"""Compressed records: gzip, snappy, lz4 and zstd as Kafka's clients write them, read with a limit on what comes out.

- snappy is written in the framing of snappy-java (xerial): a header, then blocks of 32 KiB, each behind its length.
  Clients in C send one raw block without it. Both are read.
- lz4 is the lz4 frame format. Kafka before 0.10 computed the frame's header checksum over the frame's magic number as
  well; messages of magic 0 keep that mistake, so it is written there, and there the header checksum is not looked at,
  as in Kafka's own reader.
- Every reader stops as soon as the limit is passed: nothing is allocated on the word of a length alone.

The libraries are imported on first use, so that a process that never compresses does not pay for them.
Source: KIP-31, KIP-57, KIP-110; org.apache.kafka.common.compress, Apache Kafka 3.9.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from protocol.records.checksum import xxhash32_of_few
from protocol.records.errors import (
    CorruptRecordError,
    DecompressionLimitError,
    UnsupportedCompressionError,
)

#: Bytes that one batch may hold when decompressed, unless the caller says otherwise.
DEFAULT_LIMIT_BYTES = 64 * 1024 * 1024

_FIRST_CHUNK, _MORE_CHUNK = 1 << 17, 1 << 21
_FIRST_PIECE = 1 << 12
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"  # then: version, oldest version that can read it
_XERIAL_BLOCK = 32 * 1024
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_ZSTD_MAGIC = 0xFD2FB528
_ZSTD_MAX_WINDOW = 1 << 27  # what libzstd's strongest levels use


@dataclass(slots=True, eq=False)
class DecompressionBudget:
    """Bytes that may come out of several compressed pieces together: ``left`` is what remains of them."""

    left: int


class CompressionCodec(IntEnum):
    """How the records of a batch are compressed; the number is that of the lowest three bits of its attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: CompressionCodec, data: bytes, *, magic: int = 2, xerial: bool = True) -> bytes:
    """``data`` compressed as a batch of this ``magic`` holds it.

    Args:
        xerial: snappy only: False writes one raw block, as librdkafka does.
    """
    if codec == CompressionCodec.NONE:
        return data
    if codec == CompressionCodec.GZIP:
        compressor = zlib.compressobj(wbits=31)
        return compressor.compress(data) + compressor.flush()
    if codec == CompressionCodec.SNAPPY:
        return _write_xerial(data) if xerial else _snappy_block(data)
    if codec == CompressionCodec.LZ4:
        import lz4.frame

        # Independent blocks of 64 KiB: Kafka's Java reader knows no others.
        frame = bytes(
            lz4.frame.compress(data, block_size=lz4.frame.BLOCKSIZE_MAX64KB, block_linked=False, store_size=False)
        )
        return _with_header_checksum(frame, of_magic_too=True) if magic == 0 else frame
    import zstandard

    return zstandard.ZstdCompressor(level=3).compress(data)


def decompress(
    codec: CompressionCodec,
    data: bytes,
    *,
    magic: int = 2,
    limit: int | DecompressionBudget = DEFAULT_LIMIT_BYTES,
    offset: int = 0,
) -> bytes:
    """The bytes that ``data`` holds.

    Args:
        magic: of the batch; decides whether lz4's header checksum counts.
        limit: bytes of output at most; of a budget they are taken off, of what is broken as many as it may have cost.
        offset: where ``data`` begins, for the error.

    Raises: CorruptRecordError: broken or cut off; DecompressionLimitError: more than ``limit`` comes out.

    >>> decompress(CompressionCodec.GZIP, compress(CompressionCodec.GZIP, b"again and again"))
    b'again and again'
    """
    if isinstance(limit, DecompressionBudget):
        budget, limit = limit, limit.left
        budget.left = max(0, limit - len(data) * MAX_RATIOS[codec])
        result = decompress(codec, data, magic=magic, limit=limit, offset=offset)
        budget.left = limit - len(result)
        return result
    try:
        if codec == CompressionCodec.NONE:
            return data if len(data) <= limit else _over(limit)
        if codec == CompressionCodec.GZIP:
            return _read_gzip(data, limit)
        if codec == CompressionCodec.SNAPPY:
            return _read_xerial(data, limit) if data.startswith(_XERIAL_MAGIC) else _read_snappy_block(data, limit)
        if codec == CompressionCodec.LZ4:
            return _read_lz4(_with_header_checksum(data, of_magic_too=False) if magic == 0 else data, limit)
        return _read_zstd(data, limit)
    except _Broken as broken:
        failure = CorruptRecordError(f"{codec.name.lower()}: {broken}", offset)
    except _OverLimit:
        failure = DecompressionLimitError(
            f"{codec.name.lower()} data of {len(data)} bytes holds more than {limit} bytes", offset
        )
    raise failure  # out here, where it does not hold all that had come out


def codec_of(attributes: int, offset: int = 0) -> CompressionCodec:
    """The codec that a batch's attributes name. Raises: UnsupportedCompressionError."""
    number = attributes & 7
    if number > CompressionCodec.ZSTD:
        raise UnsupportedCompressionError(
            f"compression codec {number}, but codecs end at {int(CompressionCodec.ZSTD)}", offset
        )
    return _CODECS[number]


MAX_RATIOS = (1, 1032, 22, 255, 1 << 15)
"""How many bytes may come out of one, by codec: about 258 in two bits, 64 in three bytes, a byte for each 255 of a
run, a block of 128 KiB in four.
"""
_CODECS = tuple(CompressionCodec)
_ZSTD_AT_REST: list[Any] = []  # decompressors: making one takes longer than reading a small batch


class _Broken(Exception):
    """Not what the codec writes."""


class _OverLimit(Exception):
    """More than was allowed."""


def _over(limit: int) -> bytes:
    raise _OverLimit(limit)


# gzip


def _read_gzip(data: bytes, limit: int) -> bytes:
    """All gzip members; what follows the last one and is no gzip is ignored, as java.util.zip does."""
    parts: list[bytes] = []
    left, position, view = limit, 0, memoryview(data)
    while True:
        member = zlib.decompressobj(wbits=31)
        step = _FIRST_PIECE  # a member copies what follows it: pieces that grow keep many small members linear
        while not member.eof:
            piece = view[position : position + step]
            if not piece:
                raise _Broken("cut off")
            try:
                part = member.decompress(piece, left + 1)
            except zlib.error as error:
                raise _Broken(str(error)) from None
            left -= len(part)
            if left < 0:
                _over(limit)
            parts.append(part)
            position += len(piece) - len(member.unused_data)
            step *= 4
        if data[position : position + 2] != b"\x1f\x8b":
            return b"".join(parts) if len(parts) > 1 else parts[0]


# snappy


def _snappy_block(data: bytes) -> bytes:
    import cramjam

    return bytes(cramjam.snappy.compress_raw(data))


def _write_xerial(data: bytes) -> bytes:
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = _snappy_block(data[start : start + _XERIAL_BLOCK])
        parts.append(len(block).to_bytes(4, "big"))
        parts.append(block)
    return b"".join(parts)


def _read_xerial(data: bytes, limit: int) -> bytes:
    """Blocks behind their lengths; a header in place of a length starts another stream."""
    parts: list[bytes] = []
    left, position, end = limit, 0, len(data)
    while position < end:
        if data.startswith(_XERIAL_MAGIC, position):
            position += len(_XERIAL_HEADER)
            if position > end:
                raise _Broken("cut off in the header")
            continue
        start = position + 4
        position = start + int.from_bytes(data[position:start], "big")
        if position > end:
            raise _Broken(f"block of {position - start} bytes at byte {start}, but {end - start} remain")
        if position == start + 1 and not data[start]:
            continue  # a block of nothing
        part = _read_snappy_block(data[start:position], left)
        left -= len(part)
        parts.append(part)
    return b"".join(parts)


def _read_snappy_block(data: bytes, limit: int) -> bytes:
    length = shift = position = 0
    for position in range(min(5, len(data))):
        byte = data[position]
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    else:
        raise _Broken("no length")
    if length > limit:
        _over(limit)
    # Three bytes copy at most 64: a longer claim cannot be true, and is not worth an allocation.
    if length > 22 * (len(data) - position - 1):
        raise _Broken(f"{len(data)} bytes cannot hold {length}")
    import cramjam

    try:
        return bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        raise _Broken(str(error)) from None


# lz4


def _with_header_checksum(frame: bytes, *, of_magic_too: bool) -> bytes:
    """The frame with its header checksum set: over the header alone, or, as Kafka before 0.10 did, with the magic
    number.
    """
    if len(frame) < 7 or not frame.startswith(_LZ4_MAGIC):
        return frame
    end = 6 + (8 if frame[4] & 0x08 else 0) + (4 if frame[4] & 0x01 else 0)  # content size, dictionary id
    if of_magic_too:
        assert end == 6, "our frames carry neither size nor dictionary"
    covered = frame[:end] if of_magic_too else frame[4:end]
    return frame[:end] + bytes((xxhash32_of_few(covered) >> 8 & 0xFF,)) + frame[end + 1 :]


def _read_lz4(data: bytes, limit: int) -> bytes:
    """The first frame; what follows it is ignored, as Kafka's reader does."""
    import lz4.frame

    reader = lz4.frame.LZ4FrameDecompressor()
    parts: list[bytes] = []
    left, chunk = limit, _FIRST_CHUNK
    try:
        part = reader.decompress(data, max_length=chunk)
        while True:
            parts.append(part)
            left -= len(part)
            if left < 0:
                _over(limit)
            if reader.eof:
                return b"".join(parts) if len(parts) > 1 else part
            if len(part) < chunk and reader.needs_input:
                raise _Broken("cut off")
            chunk = _MORE_CHUNK
            part = reader.decompress(b"", max_length=chunk)
    except (RuntimeError, EOFError) as error:
        raise _Broken(str(error)) from None


# zstd


def _read_zstd(data: bytes, limit: int) -> bytes:
    """All frames, each whole."""
    _check_zstd_frames(data)
    import zstandard

    try:
        decompressor = _ZSTD_AT_REST.pop()
    except IndexError:
        decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW)
    reader = decompressor.stream_reader(data, read_across_frames=True)
    parts: list[bytes] = []
    left, chunk = limit, _FIRST_CHUNK
    try:
        while part := reader.read(min(chunk, left + 1)):
            left -= len(part)
            if left < 0:
                _over(limit)
            parts.append(part)
            chunk = _MORE_CHUNK
    except zstandard.ZstdError as error:
        raise _Broken(str(error)) from None
    finally:
        _ZSTD_AT_REST.append(decompressor)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _check_zstd_frames(data: bytes) -> None:
    """Follow the block headers to the end: the streaming reader takes data that stops in mid-frame for data that ended.

    Source: RFC 8878, sections 3.1.1 and 3.1.2.
    """
    position, end = 0, len(data)
    if not end:
        raise _Broken("no frame")
    while position < end:
        magic = int.from_bytes(data[position : position + 4], "little")
        if magic & 0xFFFFFFF0 == 0x184D2A50:  # a frame to be skipped
            position += 8 + int.from_bytes(data[position + 4 : position + 8], "little")
        elif magic != _ZSTD_MAGIC or position + 5 > end:
            raise _Broken(f"no frame at byte {position}")
        else:
            descriptor = data[position + 4]
            single_segment = descriptor >> 5 & 1
            position += 6 - single_segment + (0, 1, 2, 4)[descriptor & 3] + (single_segment, 2, 4, 8)[descriptor >> 6]
            last = False
            while not last and position + 3 <= end:
                block = int.from_bytes(data[position : position + 3], "little")
                last = bool(block & 1)
                position += 3 + (1 if block & 6 == 2 else block >> 3)  # a run of one byte holds just that byte
            if not last:
                raise _Broken("cut off")
            position += 4 if descriptor & 4 else 0  # the content's checksum
        if position > end:
            raise _Broken("cut off")
