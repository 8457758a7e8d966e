"""The batches of a ``records`` field, without walking the records: one light header for each batch or message.

A batch of magic 2 starts with 61 bytes of fixed width, read by one ``unpack_from``. Before it (magic 0 and 1) a field
held a message set: each message is one entry, and a compressed message holds more of them in its value; here only the
outer ones show.
Source: KIP-98, KIP-32, KIP-31; org.apache.kafka.common.record.DefaultRecordBatch and LegacyRecord, Apache Kafka 3.9.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum

import msgspec

from protocol.records.checksum import crc32, crc32c_of_part
from protocol.records.compression import CompressionCodec, codec_of
from protocol.records.errors import CorruptRecordError

Buffer = bytes | bytearray | memoryview

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_SEQUENCE = -1

CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

#: Offset (int64) and length (int32), which every batch and message has before what the length counts.
LOG_OVERHEAD = 12
#: base offset, length, leader epoch, magic, CRC, attributes, last offset delta, base and max timestamp, producer id and
#: epoch, base sequence, count
BATCH_HEADER = struct.Struct(">qiibIhiqqqhii")
BATCH_HEADER_SIZE = BATCH_HEADER.size
#: Where the part that the CRC covers begins in a batch of magic 2.
CRC_COVERS_FROM = 21
#: offset, length, CRC, magic, attributes [, timestamp]; the lengths of key and value come after
MESSAGE_HEADER = (struct.Struct(">qiIbb"), struct.Struct(">qiIbbq"))
#: Where the part that the CRC covers begins in a message of magic 0 or 1.
MESSAGE_CRC_COVERS_FROM = 16

_LENGTH = struct.Struct(">i")
_OFFSET_AND_LENGTH = struct.Struct(">qi")
_UP_TO_MAGIC = 17
_SMALLEST_LENGTH = (14, 22, BATCH_HEADER_SIZE - LOG_OVERHEAD)  # by magic
_MAX_INT32 = 0x7FFFFFFF


class TimestampType(IntEnum):
    """The source of a batch's timestamps; messages of magic 0 have none."""

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(msgspec.Struct, frozen=True, gc=False):
    """The fixed part of one batch, or of one message of magic 0 or 1.

    ``position`` counts bytes from the start of the records field; ``length`` is the wire's, without the offset and
    itself. A message of magic 0 or 1 has its own offset as ``base_offset`` (that of its last inner message where it is
    compressed), its timestamp as both timestamps, and as ``record_count`` 1, or -1 where it is compressed and only
    decompression would tell. ``partial`` marks what a Fetch answer cut off: then ``length`` is what the bytes claim,
    and what is missing is at its default.
    """

    position: int
    base_offset: int = -1
    length: int = 0
    partition_leader_epoch: int = -1
    magic: int = -1
    crc: int = 0
    attributes: int = 0
    last_offset_delta: int = 0
    base_timestamp: int = NO_TIMESTAMP
    max_timestamp: int = NO_TIMESTAMP
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    base_sequence: int = NO_SEQUENCE
    record_count: int = -1
    partial: bool = False

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.length + LOG_OVERHEAD

    @property
    def codec(self) -> CompressionCodec:
        """Raises: UnsupportedCompressionError: a number that no codec has."""
        return codec_of(self.attributes, self.position)

    @property
    def is_compressed(self) -> bool:
        return self.attributes & CODEC_MASK != 0

    @property
    def timestamp_type(self) -> TimestampType:
        if self.magic == 0:
            return TimestampType.NO_TIMESTAMP_TYPE
        return TimestampType.LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME_FLAG else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.magic == 2 and self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.magic == 2 and self.attributes & CONTROL_FLAG != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers of a compacted batch may go (KIP-534); stored as the base timestamp."""
        return self.base_timestamp if self.magic == 2 and self.attributes & DELETE_HORIZON_FLAG else None

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """-1 where the batch has no sequence; after 2^31-1 comes 0."""
        return sequence_after(self.base_sequence, self.last_offset_delta)


def sequence_after(sequence: int, count: int) -> int:
    """The producer's sequence number ``count`` records on; it wraps from 2^31-1 to 0. No sequence stays none.

    >>> sequence_after(0x7FFFFFFF, 1)
    0
    """
    return NO_SEQUENCE if sequence == NO_SEQUENCE else sequence + count & _MAX_INT32


def iter_batches(records: Buffer | None) -> Iterator[BatchHeader]:
    """A header for each batch (or outer message) of a records field; null records have none.

    The last one may be cut off, as the end of a Fetch answer is: it comes marked ``partial``.

    Raises: CorruptRecordError: a length or magic that no batch has.
    """
    if records is None:
        return
    position, end = 0, len(records)
    while position < end:
        header = read_header(records, position, end)
        yield header
        if header.partial:
            return
        position += header.length + LOG_OVERHEAD


def read_header(records: Buffer, position: int, end: int) -> BatchHeader:
    """The header of the batch or message at ``position`` of records that end at ``end``; see :func:`iter_batches`."""
    if end - position < _UP_TO_MAGIC:
        return _partial_header(records, position, end)
    magic = records[position + 16]
    if magic > 2:
        raise CorruptRecordError(f"magic {magic}, but 0, 1 and 2 are known", position + 16)
    (length,) = _LENGTH.unpack_from(records, position + 8)
    if length < _SMALLEST_LENGTH[magic]:
        raise CorruptRecordError(
            f"length {length}, but magic {magic} takes {_SMALLEST_LENGTH[magic]} at least", position + 8
        )
    partial = length > end - position - LOG_OVERHEAD
    if magic == 2:
        if partial and end - position < BATCH_HEADER_SIZE:
            return _partial_header(records, position, end)
        # Mypy takes the star for all that is left; it is thirteen fields.
        return BatchHeader(position, *BATCH_HEADER.unpack_from(records, position), partial)  # type: ignore[call-arg]
    layout = MESSAGE_HEADER[magic]
    if partial and end - position < layout.size:
        return _partial_header(records, position, end)
    offset, length, crc, _, attributes, *timestamps = layout.unpack_from(records, position)
    timestamp = timestamps[0] if timestamps else NO_TIMESTAMP
    count = -1 if attributes & CODEC_MASK else 1
    return BatchHeader(
        position,
        offset,
        length,
        -1,
        magic,
        crc,
        attributes,
        0,
        timestamp,
        timestamp,
        NO_PRODUCER_ID,
        -1,
        NO_SEQUENCE,
        count,
        partial,
    )


def _partial_header(records: Buffer, position: int, end: int) -> BatchHeader:
    """All that is left to know of a batch whose fixed part is cut off."""
    if end - position < LOG_OVERHEAD:
        return BatchHeader(position, partial=True)
    offset, length = _OFFSET_AND_LENGTH.unpack_from(records, position)
    if length < _SMALLEST_LENGTH[0]:
        raise CorruptRecordError(f"length {length}, but a message takes {_SMALLEST_LENGTH[0]} at least", position + 8)
    magic = records[position + 16] if end - position >= _UP_TO_MAGIC else -1
    return BatchHeader(position, offset, length, magic=magic, partial=True)


def check_crc(records: bytes, header: BatchHeader) -> None:
    """Compare a whole batch's or message's checksum with its bytes. Raises: CorruptRecordError."""
    end = header.position + header.size
    if header.magic == 2:
        crc = crc32c_of_part(records, header.position + CRC_COVERS_FROM, end)
    else:
        crc = crc32(memoryview(records)[header.position + MESSAGE_CRC_COVERS_FROM : end])
    if crc != header.crc:
        raise CorruptRecordError(f"checksum {header.crc:#010x}, but the bytes have {crc:#010x}", header.position)
