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


# One loop, and numbers of one or two bytes read in place: a call for each would take as long again as all the rest.
def _iter_body(  # noqa: C901, PLR0912, PLR0915
    body: bytes, position: int, end: int, header: BatchHeader
) -> Iterator[Record]:
    """The records of a batch of magic 2, from ``position`` to ``end`` of ``body``.

    Each is: length, attributes (unused), timestamp delta, offset delta, key, value, headers, all numbers but the
    attributes as zigzag varints. Lengths are not trusted: what they claim only ever slices bytes that are there, and
    the record's own length is compared with what its fields took.
    """
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.attributes & LOG_APPEND_TIME_FLAG else None
    if header.record_count < 0:
        raise InvalidRecordError(f"record count {header.record_count}", header.position)
    try:
        for _ in range(header.record_count):
            start = position
            number = body[position]
            position += 1
            if number > 127:
                second = body[position]
                if second < 128:
                    number += (second << 7) - 128
                    position += 1
                else:
                    number, position = _varint(body, position, number)
            record_end = position + (number >> 1)
            if number & 1 or record_end > end:
                raise _corrupt(
                    f"length {(number >> 1) ^ -(number & 1)} of a record with {end - position} bytes left",
                    start,
                    header,
                )
            position += 1
            number = body[position]
            position += 1
            if number > 127:
                second = body[position]
                if second < 128:
                    number += (second << 7) - 128
                    position += 1
                else:
                    number, position = _varint(body, position, number, 63)
            timestamp = base_timestamp + (number >> 1 ^ -(number & 1)) if append_time is None else append_time
            number = body[position]
            position += 1
            if number > 127:
                second = body[position]
                if second < 128:
                    number += (second << 7) - 128
                    position += 1
                else:
                    number, position = _varint(body, position, number)
            offset = base_offset + (number >> 1 ^ -(number & 1))
            number = body[position]
            position += 1
            if number > 127:
                second = body[position]
                if second < 128:
                    number += (second << 7) - 128
                    position += 1
                else:
                    number, position = _varint(body, position, number)
            if number & 1:
                key = None
                if number != 1:
                    raise _corrupt(f"key length {~(number >> 1)}", start, header)
            else:
                key_start = position
                position += number >> 1
                key = body[key_start:position]
            number = body[position]
            position += 1
            if number > 127:
                second = body[position]
                if second < 128:
                    number += (second << 7) - 128
                    position += 1
                else:
                    number, position = _varint(body, position, number)
            if number & 1:
                value = None
                if number != 1:
                    raise _corrupt(f"value length {~(number >> 1)}", start, header)
            else:
                value_start = position
                position += number >> 1
                value = body[value_start:position]
            number = body[position]
            position += 1
            headers: Headers = ()
            if number:
                headers, position = _headers(body, position, number, record_end, start, header)
            if position != record_end:
                raise _corrupt(
                    f"record says {record_end - start} bytes, but its fields take {position - start}", start, header
                )
            yield Record(offset, timestamp, key, value, headers, header)
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


def _headers(
    body: bytes, position: int, count: int, record_end: int, start: int, header: BatchHeader
) -> tuple[Headers, int]:
    """A record's headers and where they end; ``count`` is the first byte of how many."""
    if count > 127:
        count, position = _varint(body, position, count)
    if count & 1 or count >> 1 > record_end - position:
        raise _corrupt(f"{(count >> 1) ^ -(count & 1)} headers in {record_end - position} bytes", start, header)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count >> 1):
        number = body[position]
        position += 1
        if number > 127:
            number, position = _varint(body, position, number)
        key_end = position + (number >> 1)
        if number & 1 or key_end > record_end:
            raise _corrupt(
                f"header key length {(number >> 1) ^ -(number & 1)} with {record_end - position} bytes left",
                start,
                header,
            )
        key = body[position:key_end].decode("utf-8", "replace")  # as Java reads malformed text
        number = body[key_end]
        position = key_end + 1
        if number > 127:
            number, position = _varint(body, position, number)
        if number == 1:
            headers.append((key, None))
            continue
        value_end = position + (number >> 1)
        if number & 1 or value_end > record_end:
            raise _corrupt(
                f"header value length {(number >> 1) ^ -(number & 1)} with {record_end - position} bytes left",
                start,
                header,
            )
        headers.append((key, body[position:value_end]))
        position = value_end
    return tuple(headers), position


def _varint(body: bytes, position: int, first: int, bits: int = 28) -> tuple[int, int]:
    """A varint of more than one byte, still zigzag, and where it ends. ``bits`` is the shift of the last byte it may
    have.
    """
    number, shift = first & 127, 7
    while True:
        byte = body[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > bits:
            raise IndexError
    if number >> (32 if bits == 28 else 64):
        raise IndexError
    return number, position


def _corrupt(reason: str, position: int, header: BatchHeader) -> CorruptRecordError:
    where = f"byte {position} of its decompressed records: " if header.is_compressed else ""
    return CorruptRecordError(where + reason, header.position if header.is_compressed else position)
