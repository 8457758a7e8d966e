"""From records to bytes: batches of magic 2, message sets of magic 0 and 1, control batches."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from protocol.records.batches import (
    BATCH_HEADER,
    BATCH_HEADER_SIZE,
    CONTROL_FLAG,
    CRC_COVERS_FROM,
    DELETE_HORIZON_FLAG,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
)
from protocol.records.checksum import crc32c
from protocol.records.compression import CompressionCodec, codec_of, compress
from protocol.records.errors import InvalidRecordError
from protocol.records.message_sets import build_compressed_message, build_messages
from protocol.records.record import NEXT_OFFSET, ControlType, Record, control_key, end_transaction_marker

_MAX_INT32 = 0x7FFFFFFF


def build_batch(
    records: Iterable[Record],
    *,
    magic: int = 2,
    codec: CompressionCodec = CompressionCodec.NONE,
    base_offset: int = 0,
    last_offset: int | None = None,
    log_append_time_ms: int | None = None,
    leader_epoch: int = -1,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """``records`` as Kafka's producers and brokers write them.

    Args:
        magic: 2 gives one batch; 0 and 1 a message set, or one compressed message.
        base_offset: of the batch. Records that leave their offset open are numbered on from it.
        last_offset: of the batch where that is past the last record's, as compaction leaves it; magic 2 only.
        log_append_time_ms: the broker's time instead of the producer's; not for magic 0, which has no time.
        leader_epoch, producer_id, producer_epoch, base_sequence, transactional, delete_horizon_ms: magic 2 only.

    Raises:
        InvalidRecordError: what the magic does not have (headers before 2, no records), or offsets that do not rise.
        UnsupportedCompressionError: zstd before magic 2.

    >>> build_batch([Record(key=b"k", value=b"v")], magic=0).hex()
    '0000000000000000000000101fecd70a0000000000016b0000000176'
    """
    codec = codec_of(codec)
    numbered = _numbered(records, base_offset)
    if magic == 2:
        if not numbered and last_offset is None:
            raise InvalidRecordError("a batch without records needs a last offset")
        attributes = codec | (TRANSACTIONAL_FLAG if transactional else 0)
        return _build_v2(
            numbered,
            attributes,
            base_offset,
            last_offset,
            log_append_time_ms,
            leader_epoch,
            producer_id,
            producer_epoch,
            base_sequence,
            delete_horizon_ms,
        )
    if magic not in (0, 1):
        raise InvalidRecordError(f"magic {magic}, but 0, 1 and 2 are known")
    if last_offset is not None or transactional or producer_id != NO_PRODUCER_ID or delete_horizon_ms is not None:
        raise InvalidRecordError(f"producers, transactions, delete horizons and last offsets take magic 2, not {magic}")
    if any(record.headers for record in numbered):
        raise InvalidRecordError(f"headers take magic 2, not {magic}")
    append_time = log_append_time_ms if magic else None
    if codec == CompressionCodec.NONE:
        return build_messages(numbered, magic, log_append_time_ms=append_time)
    if not numbered:
        raise InvalidRecordError("a compressed message holds at least one record")
    return build_compressed_message(numbered, magic, codec, log_append_time_ms=append_time, base_offset=base_offset)


def build_control_batch(
    kind: ControlType,
    value: bytes,
    *,
    base_offset: int = 0,
    timestamp: int = NO_TIMESTAMP,
    leader_epoch: int = -1,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    transactional: bool = False,
) -> bytes:
    """A batch of one control record; ``value`` is the message of its kind, encoded."""
    record = Record(base_offset, timestamp, control_key(kind), value)
    attributes = CONTROL_FLAG | (TRANSACTIONAL_FLAG if transactional else 0)
    return _build_v2(
        [record], attributes, base_offset, None, None, leader_epoch, producer_id, producer_epoch, NO_SEQUENCE, None
    )


def build_transaction_marker(
    *,
    commit: bool,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    base_offset: int = 0,
    timestamp: int = NO_TIMESTAMP,
    leader_epoch: int = -1,
) -> bytes:
    """The control batch that ends a producer's transaction in one partition."""
    return build_control_batch(
        ControlType.COMMIT if commit else ControlType.ABORT,
        end_transaction_marker(coordinator_epoch),
        base_offset=base_offset,
        timestamp=timestamp,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
    )


def _numbered(records: Iterable[Record], base_offset: int) -> list[Record]:
    """The records with every offset set; they rise from ``base_offset`` on."""
    numbered: list[Record] = []
    following = base_offset
    for record in records:
        if record.offset == NEXT_OFFSET:
            numbered.append(Record(following, record.timestamp, record.key, record.value, record.headers))
        elif record.offset >= following:
            following = record.offset
            numbered.append(record)
        else:
            raise InvalidRecordError(f"offset {record.offset}, but at least {following} comes next")
        following += 1
    return numbered


def _build_v2(
    records: list[Record],
    attributes: int,
    base_offset: int,
    last_offset: int | None,
    log_append_time_ms: int | None,
    leader_epoch: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    delete_horizon_ms: int | None,
) -> bytes:
    base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    if delete_horizon_ms is not None:
        attributes, base_timestamp = attributes | DELETE_HORIZON_FLAG, delete_horizon_ms
    max_timestamp = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    if log_append_time_ms is not None:
        attributes, max_timestamp = attributes | LOG_APPEND_TIME_FLAG, log_append_time_ms
    if last_offset is None:
        last_offset = records[-1].offset
    if (records and last_offset < records[-1].offset) or not 0 <= last_offset - base_offset <= _MAX_INT32:
        raise InvalidRecordError(
            f"last offset {last_offset} of a batch that starts at {base_offset} and holds {len(records)} records"
        )
    body = compress(codec_of(attributes), _body(records, base_offset, base_timestamp)) if records else b""
    length = BATCH_HEADER_SIZE - LOG_OVERHEAD + len(body)
    count, last_offset_delta = len(records), last_offset - base_offset
    producer = (producer_id, producer_epoch, base_sequence)
    try:
        header = bytearray(
            BATCH_HEADER.pack(
                base_offset,
                length,
                leader_epoch,
                2,
                0,
                attributes,
                last_offset_delta,
                base_timestamp,
                max_timestamp,
                *producer,
                count,
            )
        )
    except struct.error as error:
        raise InvalidRecordError(f"a number of the batch's header does not fit: {error}") from None
    covered = b"".join((memoryview(header)[CRC_COVERS_FROM:], body))
    header[17:21] = crc32c(covered).to_bytes(4, "big")
    return b"".join((memoryview(header)[:CRC_COVERS_FROM], covered))


def _body(records: list[Record], base_offset: int, base_timestamp: int) -> bytes:
    """The records of a batch of magic 2, not compressed."""
    body = bytearray()
    for record in records:
        fields = bytearray(1)  # attributes, unused
        put_varint(fields, record.timestamp - base_timestamp)
        put_varint(fields, record.offset - base_offset)
        for item in (record.key, record.value):
            if item is None:
                fields.append(1)  # the varint -1
            else:
                put_varint(fields, len(item))
                fields += item
        put_varint(fields, len(record.headers))
        for key, value in record.headers:
            name = key.encode("utf-8", "replace")
            put_varint(fields, len(name))
            fields += name
            if value is None:
                fields.append(1)
            else:
                put_varint(fields, len(value))
                fields += value
        put_varint(body, len(fields))
        body += fields
    return bytes(body)


def put_varint(out: bytearray, number: int) -> None:
    """Append a signed number of at most 64 bits as a zigzag varint.

    >>> out = bytearray()
    >>> put_varint(out, -1), put_varint(out, 64), out.hex()
    (None, None, '018001')
    """
    zigzag = number << 1 if number >= 0 else ~(number << 1)
    while zigzag > 127:
        out.append(zigzag & 127 | 128)
        zigzag >>= 7
    out.append(zigzag)
