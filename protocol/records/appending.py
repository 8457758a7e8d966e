"""A broker's work on the records of a Produce request: check them, then set their offsets.

Neither walks the records of a batch of magic 2: its header and its checksum are all that is read, and offset and leader
epoch stand before what the checksum covers. Message sets of magic 0 and 1 are opened where they are compressed, because
only so are their records counted.
Source: kafka.log.UnifiedLog.analyzeAndValidateRecords and org.apache.kafka.storage.internals.log.LogValidator, Apache
Kafka 3.9.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from protocol.records.batches import (
    BATCH_HEADER_SIZE,
    CODEC_MASK,
    CRC_COVERS_FROM,
    LOG_APPEND_TIME_FLAG,
    MESSAGE_CRC_COVERS_FROM,
    MESSAGE_HEADER,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    TimestampType,
    check_crc,
    iter_batches,
)
from protocol.records.checksum import crc32, crc32c
from protocol.records.compression import DEFAULT_LIMIT_BYTES, CompressionCodec, DecompressionBudget
from protocol.records.errors import CorruptRecordError, InvalidRecordError, UnsupportedCompressionError
from protocol.records.message_sets import (
    InnerMessage,
    build_compressed_message,
    read_inner_messages,
    read_key_and_value,
)
from protocol.records.record import Record

_SMALLEST_RECORD = 7  # length, attributes, two deltas, no key, no value, no headers: a byte each
_OFFSET_LENGTH_EPOCH = struct.Struct(">qii")
_OFFSET = struct.Struct(">q")
_ATTRIBUTES = struct.Struct(">h")
_CRC = struct.Struct(">I")


class Appended(NamedTuple):
    """Records as the log stores them.

    ``last_offset`` is one below the next record's. ``max_timestamp_offset`` is the last offset of the batch with the
    highest timestamp, where the log's time index would point; both are -1 without timestamps.
    """

    records: bytes
    base_offset: int
    last_offset: int
    record_count: int
    max_timestamp: int
    max_timestamp_offset: int


def validate(
    records: Buffer,
    *,
    min_magic: int = 0,
    max_magic: int = 2,
    one_batch: bool = False,
    from_client: bool = True,
    allow_zstd: bool = True,
    log_append_time: bool = False,
) -> list[BatchHeader]:
    """The headers of records that a log may take.

    Args:
        min_magic, max_magic: what the request's version carries: 0-1 below Produce v3, exactly 2 from there on.
        one_batch: whether one batch is all there may be, as from Produce v3 on.
        from_client: whether the rules for producers hold: no control batches, counts that agree with offsets, base
            offset 0, a sequence with each producer id.
        allow_zstd: from Produce v7 on (KIP-110).
        log_append_time: whether the log sets the time itself; else producers may not claim that it did.

    Raises:
        CorruptRecordError: lengths, magic or checksum.
        InvalidRecordError: a rule for producers is broken.
        UnsupportedCompressionError: the codec is not known, or not to this magic or request.
    """
    data = records if type(records) is bytes else bytes(records)
    headers = list(iter_batches(data))
    if not headers:
        raise InvalidRecordError("no records")
    if one_batch and len(headers) != 1:
        raise InvalidRecordError(f"{len(headers)} batches, but this request takes one", headers[1].position)
    for header in headers:
        if header.partial:
            raise CorruptRecordError(
                f"batch of {header.size} bytes with {len(data) - header.position} left", header.position
            )
        if not min_magic <= header.magic <= max_magic:
            raise InvalidRecordError(
                f"magic {header.magic}, but this request takes {min_magic} to {max_magic}", header.position
            )
        if header.magic != headers[0].magic:
            raise InvalidRecordError(f"magic {header.magic} after magic {headers[0].magic}", header.position)
        check_crc(data, header)
        if header.codec == CompressionCodec.ZSTD and (header.magic < 2 or not allow_zstd):
            raise UnsupportedCompressionError("zstd takes magic 2 and Produce v7", header.position)
        if header.magic < 2:
            if header.is_compressed and read_key_and_value(data, header)[1] is None:
                raise CorruptRecordError("a compressed message without a value", header.position)
        elif from_client:
            _check_producer_batch(header)
        if from_client and not log_append_time and header.timestamp_type == TimestampType.LOG_APPEND_TIME:
            raise InvalidRecordError("log append time set by a producer", header.position)
    return headers


def assign_offsets(
    records: Buffer,
    base_offset: int,
    leader_epoch: int,
    log_append_time_ms: int | None = None,
    *,
    headers: Sequence[BatchHeader] | None = None,
    limit: int | DecompressionBudget = DEFAULT_LIMIT_BYTES,
) -> Appended:
    """Records as a log stores them from ``base_offset`` on.

    Args:
        records: what :func:`validate` let through.
        log_append_time_ms: the time to store instead of the producer's; not for magic 0, which has none.
        headers: what :func:`validate` gave for these records, so that they are not read twice.
        limit: bytes that one compressed message of magic 0 or 1 may hold; of a budget all of them together.

    A batch of magic 2 and a compressed message of magic 1 keep the bytes of their records; the checksum is computed
    again only if what it covers changes: for the timestamp. A compressed message of magic 0 has absolute offsets
    inside and is compressed again, and so is one of magic 1 whose inner offsets are not 0, 1, 2...

    Raises: RecordError: the records are not sound.
    """
    data = records if type(records) is bytes else bytes(records)
    parts: list[bytes | memoryview] = []
    next_offset, max_timestamp, max_timestamp_offset = base_offset, NO_TIMESTAMP, -1
    count = 0
    for header in iter_batches(data) if headers is None else headers:
        if header.partial:
            raise CorruptRecordError(
                f"batch of {header.size} bytes with {len(data) - header.position} left", header.position
            )
        if header.magic == 2:
            batch_count, batch_timestamp = _assign_batch(
                parts, data, header, next_offset, leader_epoch, log_append_time_ms
            )
            next_offset += header.last_offset_delta + 1
        elif header.is_compressed:
            batch_count, batch_timestamp = _assign_compressed(
                parts, data, header, next_offset, log_append_time_ms, limit
            )
            next_offset += batch_count
        else:
            batch_count = 1
            batch_timestamp = _assign_message(
                parts, data, header, next_offset, header.max_timestamp, log_append_time_ms
            )
            next_offset += 1
        count += batch_count
        if batch_timestamp > max_timestamp:
            max_timestamp, max_timestamp_offset = batch_timestamp, next_offset - 1
    return Appended(b"".join(parts), base_offset, next_offset - 1, count, max_timestamp, max_timestamp_offset)


def _check_producer_batch(header: BatchHeader) -> None:
    where = header.position
    if header.is_control:
        raise InvalidRecordError("a control batch from a producer", where)
    if header.base_offset != 0:
        raise InvalidRecordError(f"base offset {header.base_offset}, but producers send 0", where)
    if header.record_count <= 0:
        raise InvalidRecordError(f"record count {header.record_count}", where)
    if header.last_offset_delta + 1 != header.record_count:
        raise InvalidRecordError(
            f"last offset delta {header.last_offset_delta} with {header.record_count} records", where
        )
    if header.producer_id > -1 and header.base_sequence < 0:
        raise InvalidRecordError(f"base sequence {header.base_sequence} with producer id {header.producer_id}", where)
    if header.record_count * _SMALLEST_RECORD > header.size - BATCH_HEADER_SIZE and not header.is_compressed:
        raise InvalidRecordError(f"{header.record_count} records in {header.size} bytes", where)


def _assign_batch(
    parts: list[bytes | memoryview],
    data: bytes,
    header: BatchHeader,
    offset: int,
    leader_epoch: int,
    log_append_time_ms: int | None,
) -> tuple[int, int]:
    """One batch of magic 2; gives its record count and highest timestamp."""
    if header.last_offset_delta < 0:
        raise InvalidRecordError(f"last offset delta {header.last_offset_delta}", header.position)
    end = header.position + header.size
    parts.append(_OFFSET_LENGTH_EPOCH.pack(offset, header.length, leader_epoch))
    if log_append_time_ms is None:
        parts.append(memoryview(data)[header.position + 16 : end])
        return header.record_count, header.max_timestamp
    covered = bytearray(memoryview(data)[header.position + CRC_COVERS_FROM : end])
    _ATTRIBUTES.pack_into(covered, 0, header.attributes | LOG_APPEND_TIME_FLAG)
    _OFFSET.pack_into(covered, 14, log_append_time_ms)
    stored = bytes(covered)
    parts += (b"\x02", _CRC.pack(crc32c(stored)), stored)
    return header.record_count, log_append_time_ms


def _assign_message(
    parts: list[bytes | memoryview],
    data: bytes,
    header: BatchHeader,
    offset: int,
    timestamp: int,
    log_append_time_ms: int | None,
) -> int:
    """One message of magic 0 or 1 with this offset and, where it differs, this timestamp; gives the timestamp it ends
    up with.
    """
    start, end = header.position, header.position + header.size
    parts.append(_OFFSET.pack(offset))
    attributes = header.attributes
    if log_append_time_ms is not None and header.magic == 1:
        attributes, timestamp = attributes | LOG_APPEND_TIME_FLAG, log_append_time_ms
    elif attributes & LOG_APPEND_TIME_FLAG:
        timestamp = header.max_timestamp
    if header.magic == 0 or (attributes == header.attributes and timestamp == header.max_timestamp):
        parts.append(memoryview(data)[start + 8 : end])
        return header.max_timestamp
    message = bytearray(memoryview(data)[start:end])
    MESSAGE_HEADER[1].pack_into(message, 0, offset, header.length, 0, 1, attributes, timestamp)
    crc = crc32(memoryview(message)[MESSAGE_CRC_COVERS_FROM:])
    MESSAGE_HEADER[1].pack_into(message, 0, offset, header.length, crc, 1, attributes, timestamp)
    parts.append(memoryview(message)[8:])
    return timestamp


def _assign_compressed(
    parts: list[bytes | memoryview],
    data: bytes,
    header: BatchHeader,
    offset: int,
    log_append_time_ms: int | None,
    limit: int | DecompressionBudget,
) -> tuple[int, int]:
    """One compressed message of magic 0 or 1; gives its record count and highest timestamp."""
    inner = read_inner_messages(data, header, limit=limit)
    for message in inner:
        _check_inner(header, message)
    last_offset = offset + len(inner) - 1
    if header.magic == 1 and all(message.offset == place for place, message in enumerate(inner)):
        timestamp = max(message.timestamp for message in inner)
        return len(inner), _assign_message(parts, data, header, last_offset, timestamp, log_append_time_ms)
    records = [_renumbered(message, offset + place) for place, message in enumerate(inner)]
    append_time = log_append_time_ms if header.magic else None
    if append_time is None and header.timestamp_type == TimestampType.LOG_APPEND_TIME:
        append_time = header.max_timestamp
    parts.append(build_compressed_message(records, header.magic, header.codec, log_append_time_ms=append_time))
    if header.magic == 0:
        return len(inner), NO_TIMESTAMP
    return len(inner), max(record.timestamp for record in records) if append_time is None else append_time


def _check_inner(outer: BatchHeader, inner: InnerMessage) -> None:
    if inner.attributes & CODEC_MASK:
        raise InvalidRecordError("a compressed message within a compressed one", outer.position)
    if inner.magic != outer.magic:
        raise InvalidRecordError(f"magic {inner.magic} within a message of magic {outer.magic}", outer.position)


def _renumbered(message: InnerMessage, offset: int) -> Record:
    return Record(offset, message.timestamp, message.key, message.value)
