"""Message sets of magic 0 and 1: what producers and consumers before Kafka 0.11 speak.

An entry is an offset, a length and a message: CRC-32, magic, attributes, a timestamp from magic 1 on, key, value. A
compressed message holds another message set in its value. There, offsets of magic 0 are absolute; those of magic 1
count from the first (KIP-31), and the outer message has the absolute offset of the last. With log append time the outer
timestamp is that of all inner messages (KIP-32).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from zlib import crc32

import msgspec

from protocol.records.batches import (
    CODEC_MASK,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MESSAGE_CRC_COVERS_FROM,
    MESSAGE_HEADER,
    NO_TIMESTAMP,
    BatchHeader,
)
from protocol.records.compression import (
    DEFAULT_LIMIT_BYTES,
    CompressionCodec,
    DecompressionBudget,
    compress,
    decompress,
)
from protocol.records.errors import CorruptRecordError, UnsupportedCompressionError
from protocol.records.record import Record

#: Compressed messages within compressed messages: brokers and clients of 0.8 let them be, so they are read, but not
#: without end.
MAX_NESTING = 4

_LENGTH = struct.Struct(">i")
_OFFSET_AND_LENGTH = struct.Struct(">qi")
_CRC = struct.Struct(">I")
_MESSAGE_AND_KEY_LENGTH = (struct.Struct(">qiIbbi"), struct.Struct(">qiIbbqi"))


class InnerMessage(msgspec.Struct, frozen=True, gc=False):
    """One message of a decompressed set; ``offset`` is as written, absolute or relative."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def iter_message(
    records: bytes, header: BatchHeader, *, crc: bool = True, limit: int | DecompressionBudget = DEFAULT_LIMIT_BYTES
) -> Iterator[Record]:
    """The records of one outer message, whose own checksum was compared before; see ``iter_records``."""
    key, value = read_key_and_value(records, header)
    if not header.is_compressed:
        yield Record(header.base_offset, header.max_timestamp, key, value, (), header)
        return
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG and header.magic == 1 else None
    for offset, message in _flatten(header, value, crc, budget_of(limit), 1):
        timestamp = message.timestamp if append_time is None or message.magic == 0 else append_time
        yield Record(offset, timestamp, message.key, message.value, (), header)


def read_inner_messages(
    records: bytes, header: BatchHeader, *, crc: bool = True, limit: int | DecompressionBudget = DEFAULT_LIMIT_BYTES
) -> list[InnerMessage]:
    """The messages just inside a compressed one, as they are written there."""
    return _inner_messages(header, read_key_and_value(records, header)[1], crc, budget_of(limit))


def read_key_and_value(records: bytes, header: BatchHeader) -> tuple[bytes | None, bytes | None]:
    """The key and value after the fixed part of a message; both together fill it.

    Raises: CorruptRecordError: they do not.
    """
    end = header.position + header.size
    key, position = _nullable_bytes(records, header.position + MESSAGE_HEADER[header.magic].size, end)
    value, position = _nullable_bytes(records, position, end)
    if position != end:
        raise CorruptRecordError(f"{end - position} bytes left over in a message", position)
    return key, value


def build_messages(
    records: Iterable[Record], magic: int, *, log_append_time_ms: int | None = None, relative_to: int = 0
) -> bytes:
    """A message set without compression; offsets are written as they are less ``relative_to``."""
    parts: list[bytes] = []
    for record in records:
        timestamp = record.timestamp if log_append_time_ms is None else log_append_time_ms
        attributes = LOG_APPEND_TIME_FLAG if log_append_time_ms is not None and magic else 0
        write_message(parts, magic, record.offset - relative_to, attributes, timestamp, record.key, record.value)
    return b"".join(parts)


def build_compressed_message(
    records: list[Record],
    magic: int,
    codec: CompressionCodec,
    *,
    log_append_time_ms: int | None = None,
    base_offset: int | None = None,
) -> bytes:
    """One message that holds ``records``, at least one of them, whose offsets are absolute."""
    if codec == CompressionCodec.ZSTD:
        raise UnsupportedCompressionError(f"zstd in a message of magic {magic}, but it takes magic 2")
    first_offset = records[0].offset if base_offset is None else base_offset
    inner = build_messages(
        records, magic, log_append_time_ms=log_append_time_ms, relative_to=first_offset if magic else 0
    )
    attributes, timestamp = int(codec), NO_TIMESTAMP
    if magic:
        timestamp = max(record.timestamp for record in records)
        if log_append_time_ms is not None:
            attributes, timestamp = attributes | LOG_APPEND_TIME_FLAG, log_append_time_ms
    parts: list[bytes] = []
    write_message(parts, magic, records[-1].offset, attributes, timestamp, None, compress(codec, inner, magic=magic))
    return b"".join(parts)


def write_message(
    parts: list[bytes], magic: int, offset: int, attributes: int, timestamp: int, key: bytes | None, value: bytes | None
) -> None:
    """Append one entry of a message set to ``parts``."""
    body = [struct.pack(">bbq", 1, attributes, timestamp) if magic else struct.pack(">bb", 0, attributes)]
    for item in (key, value):
        if item is None:
            body.append(b"\xff\xff\xff\xff")
        else:
            body.append(_LENGTH.pack(len(item)))
            body.append(item)
    covered = b"".join(body)
    parts.append(_OFFSET_AND_LENGTH.pack(offset, len(covered) + 4))
    parts.append(_CRC.pack(crc32(covered)))
    parts.append(covered)


def budget_of(limit: int | DecompressionBudget) -> DecompressionBudget:
    """A budget for all depths of one outer message."""
    return limit if isinstance(limit, DecompressionBudget) else DecompressionBudget(limit)


def _flatten(
    outer: BatchHeader, value: bytes | None, crc: bool, budget: DecompressionBudget, depth: int
) -> Iterator[tuple[int, InnerMessage]]:
    """Each uncompressed message inside, with its absolute offset. ``outer.base_offset`` is absolute."""
    if depth > MAX_NESTING:
        raise CorruptRecordError(f"messages compressed within messages more than {MAX_NESTING} deep", outer.position)
    messages = _inner_messages(outer, value, crc, budget)
    base_offset = absolute_base_offset(outer, messages) if outer.magic else 0
    for message in messages:
        offset = base_offset + message.offset
        if message.attributes & CODEC_MASK:
            absolute = BatchHeader(outer.position, offset, magic=message.magic, attributes=message.attributes)
            yield from _flatten(absolute, message.value, crc, budget, depth + 1)
        else:
            yield offset, message


def absolute_base_offset(outer: BatchHeader, messages: list[InnerMessage]) -> int:
    """The number to add to the offsets inside a compressed message of magic 1.

    Raises: CorruptRecordError: the outer offset is below the last inner one.
    """
    if outer.base_offset == 0:
        return 0  # old librdkafka sends 0 whatever is inside, and so does Kafka's reader take it
    last = messages[-1].offset
    if outer.base_offset < last:
        raise CorruptRecordError(
            f"offset {outer.base_offset} of a compressed message, but its last inner one is {last}", outer.position
        )
    return outer.base_offset - last


def _inner_messages(
    outer: BatchHeader, value: bytes | None, crc: bool, budget: DecompressionBudget
) -> list[InnerMessage]:
    """The messages of a compressed one, whole and of magic 0 or 1, and at least one."""
    where = outer.position
    if value is None:
        raise CorruptRecordError("a compressed message without a value", where)
    codec = outer.codec
    if codec == CompressionCodec.ZSTD:
        raise UnsupportedCompressionError(f"zstd in a message of magic {outer.magic}, but it takes magic 2", where)
    body = decompress(codec, value, magic=outer.magic, limit=budget, offset=where)
    try:
        messages = _read_set(body, crc)
    except CorruptRecordError as error:
        raise CorruptRecordError(f"byte {error.offset} of its decompressed messages: {error.reason}", where) from None
    if not messages:
        raise CorruptRecordError("a compressed message with none inside", where)
    return messages


def _read_set(body: bytes, crc: bool) -> list[InnerMessage]:
    """The messages of a set that is whole; offsets in errors count from the start of ``body``."""
    messages: list[InnerMessage] = []
    view = memoryview(body)
    position, end = 0, len(body)
    while position < end:
        magic = body[position + 16] if end - position > 16 else 0
        if magic > 1:
            raise CorruptRecordError(f"magic {magic} in a message set", position + 16)
        layout = _MESSAGE_AND_KEY_LENGTH[magic]
        if end - position < layout.size + 4:
            raise CorruptRecordError(f"cut off after {end - position} bytes of a message", position)
        offset, length, checksum, _, attributes, *timestamp, key_length = layout.unpack_from(body, position)
        start, key_start = position, position + layout.size
        position += LOG_OVERHEAD + length
        key_end = key_start if key_length == -1 else key_start + key_length
        if position > end or key_end + 4 > position or key_length < -1:
            raise CorruptRecordError(
                f"length {length} and key length {key_length} with {end - start} bytes left", start
            )
        (value_length,) = _LENGTH.unpack_from(body, key_end)
        if key_end + 4 + (0 if value_length == -1 else value_length) != position or value_length < -1:
            raise CorruptRecordError(f"value length {value_length}, but {position - key_end - 4} bytes", start)
        if crc and crc32(view[start + MESSAGE_CRC_COVERS_FROM : position]) != checksum:
            raise CorruptRecordError(f"checksum {checksum:#010x} is not that of the bytes", start)
        key = None if key_length == -1 else body[key_start:key_end]
        value = None if value_length == -1 else body[key_end + 4 : position]
        messages.append(
            InnerMessage(offset, magic, attributes, timestamp[0] if timestamp else NO_TIMESTAMP, key, value)
        )
    return messages


def _nullable_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    start = position + 4
    if start > end:
        raise CorruptRecordError("a message ends within a length", position)
    (length,) = _LENGTH.unpack_from(data, position)
    if length < 0:
        if length != -1:
            raise CorruptRecordError(f"length {length}", position)
        return None, start
    if length > end - start:
        raise CorruptRecordError(f"length {length} with {end - start} bytes left in the message", position)
    return data[start : start + length], start + length
