"""From the bytes of a records field to :class:`Record`, one at a time: every magic, compressed or not."""

from __future__ import annotations

from collections.abc import Iterator

from protocol.records.batches import (
    BATCH_HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    BatchHeader,
    Buffer,
    check_crc,
    iter_batches,
)
from protocol.records.compression import DEFAULT_LIMIT_BYTES, DecompressionBudget, decompress
from protocol.records.errors import CorruptRecordError, InvalidRecordError
from protocol.records.message_sets import iter_message
from protocol.records.record import Headers, Record


def iter_records(
    records: Buffer | None, *, crc: bool = True, limit: int | DecompressionBudget = DEFAULT_LIMIT_BYTES
) -> Iterator[Record]:
    """All records of a records field, those of control batches among them (``record.is_control``).

    Read lazily: an error is raised when its place is reached. A batch cut off at the end is left out,
    as consumers do.

    Args:
        crc: whether checksums are compared with the bytes.
        limit: bytes that one batch may hold when decompressed; of a budget all of them together.

    Raises: RecordError.

    >>> from protocol.records import build_batch
    >>> [record.value for record in iter_records(build_batch([Record(value=b"one"), Record(value=b"two")]))]
    [b'one', b'two']
    """
    if records is None:
        return
    data = records if type(records) is bytes else bytes(records)
    for header in iter_batches(data):
        if not header.partial:
            yield from iter_batch_records(data, header, crc=crc, limit=limit)


def iter_batch_records(
    records: bytes, header: BatchHeader, *, crc: bool = True, limit: int | DecompressionBudget = DEFAULT_LIMIT_BYTES
) -> Iterator[Record]:
    """The records of one whole batch, whose header :func:`iter_batches` gave; as :func:`iter_records` otherwise."""
    if crc:
        check_crc(records, header)
    if header.magic < 2:
        return iter_message(records, header, crc=crc, limit=limit)
    start, end = header.position + BATCH_HEADER_SIZE, header.position + header.size
    if header.is_compressed:
        body = decompress(header.codec, records[start:end], limit=limit, offset=start)
        return _iter_body(body, 0, len(body), header)
    return _iter_body(records, start, end, header)


def _iter_body(body: bytes, position: int, end: int, header: BatchHeader) -> Iterator[Record]:
    """The records of a batch of magic 2, from ``position`` to ``end`` of ``body``.

    Each is: length, attributes (unused), timestamp delta, offset delta, key, value, headers, all numbers but the
    attributes as zigzag varints. Lengths are not trusted: what they claim only ever slices bytes that are there, and
    the record's own length is compared with what its fields took.
    """
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG else None
    if header.record_count < 0:
        raise InvalidRecordError(f"record count {header.record_count}", header.position)
    try:
        for _ in range(header.record_count):
            start = position
            length, position = _number(body, start)
            record_end = position + length
            if length < 0 or record_end > end:
                raise _corrupt(f"length {length} of a record with {end - position} bytes left", start, header)
            timestamp_delta, position = _number(body, position + 1, bits=64)
            timestamp = header.base_timestamp + timestamp_delta if append_time is None else append_time
            offset_delta, position = _number(body, position)
            key, position = _bytes_or_null(body, position, record_end, "key", start, header)
            value, position = _bytes_or_null(body, position, record_end, "value", start, header)
            headers, position = _headers(body, position, record_end, start, header)
            if position != record_end:
                raise _corrupt(
                    f"record says {record_end - start} bytes, but its fields take {position - start}", start, header
                )
            yield Record(header.base_offset + offset_delta, timestamp, key, value, headers, header)
    except IndexError:
        raise _corrupt(
            f"a number is too long or cut off, or the bytes end before {header.record_count} records do",
            position,
            header,
        ) from None
    if position != end:
        raise _corrupt(
            f"{end - position} bytes left after the {header.record_count} records that the batch counts",
            position,
            header,
        )


def _headers(body: bytes, position: int, record_end: int, start: int, header: BatchHeader) -> tuple[Headers, int]:
    """A record's headers, and the position after them."""
    count, position = _number(body, position)
    if count and not 0 <= count <= record_end - position:
        raise _corrupt(f"{count} headers in {record_end - position} bytes", start, header)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        length, position = _number(body, position)
        if not 0 <= length <= record_end - position:
            raise _corrupt(f"header key length {length} with {record_end - position} bytes left", start, header)
        key = body[position : position + length].decode("utf-8", "replace")  # as Java reads malformed text
        value, position = _bytes_or_null(body, position + length, record_end, "header value", start, header)
        headers.append((key, value))
    return tuple(headers), position


def _bytes_or_null(
    body: bytes, position: int, record_end: int, name: str, start: int, header: BatchHeader
) -> tuple[bytes | None, int]:
    """Bytes after their length, and the position after them."""
    length, position = _number(body, position)
    if not -1 <= length <= record_end - position:
        raise _corrupt(f"{name} length {length} with {record_end - position} bytes left", start, header)
    if length < 0:
        return None, position
    return body[position : position + length], position + length


def _number(body: bytes, position: int, bits: int = 32) -> tuple[int, int]:
    """A zigzag varint, and the position after it. Raises IndexError if it is cut off or does not fit in ``bits``."""
    number = shift = 0
    while True:
        byte = body[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift >= bits:
            raise IndexError
    if number >> bits:
        raise IndexError
    return number >> 1 ^ -(number & 1), position


def _corrupt(reason: str, position: int, header: BatchHeader) -> CorruptRecordError:
    where = f"byte {position} of its decompressed records: " if header.is_compressed else ""
    return CorruptRecordError(where + reason, header.position if header.is_compressed else position)
