"""The contents of the batches of a records field, in numbers: records, keys, values, headers."""

from __future__ import annotations

from typing import NamedTuple

from protocol.records.batches import BATCH_HEADER_SIZE, LOG_OVERHEAD, BatchHeader, check_crc, read_header
from protocol.records.compression import CompressionCodec, decompress
from protocol.records.errors import RecordError
from protocol.records.reading import iter_batch_records

CODEC_NAMES = {codec: codec.name.lower() for codec in CompressionCodec}


class RecordCounts(NamedTuple):
    """A batch's records: how many, bytes of keys and of values, headers, and whether any has a key."""

    records: int
    key_bytes: int
    value_bytes: int
    headers: int
    keyed: bool


class BatchSizes(NamedTuple):
    """One batch; ``counts`` are None where its records cannot be read, which ``error`` says, or are cut off."""

    header: BatchHeader | None
    codec: str | None
    size_bytes: int
    counts: RecordCounts | None
    error: str | None


def batch_sizes(records: bytes | None) -> list[BatchSizes]:
    """Each batch of a records field; damage ends it with a row of its own."""
    if not records:
        return []
    at, end = 0, len(records)
    found: list[BatchSizes] = []
    try:
        while at < end:
            header = read_header(records, at, end)
            if header.partial:
                found.append(BatchSizes(header, None, end - at, None, None))
                break
            found.append(sizes_of(records, header))
            at += header.length + LOG_OVERHEAD
    except RecordError as error:
        found.append(BatchSizes(None, None, end - at, None, str(error)))
    return found


def sizes_of(records: bytes, header: BatchHeader) -> BatchSizes:
    codec: str | None = None
    try:
        codec = CODEC_NAMES[header.codec]
        if header.magic == 2:
            check_crc(records, header)
            start, end = header.position + BATCH_HEADER_SIZE, header.position + header.size
            if header.is_compressed:
                body = decompress(header.codec, records[start:end], offset=start)
                start, end = 0, len(body)
            else:
                body = records
            counts = count_records(body, start, end, header.record_count)
        else:
            counts = None
        if counts is None:
            counts = count_slowly(records, header)
    except RecordError as error:
        return BatchSizes(header, codec, header.size, None, str(error))
    return BatchSizes(header, codec, header.size, counts, None)


def count_records(body: bytes, at: int, end: int, count: int) -> RecordCounts | None:
    """Records, bytes of keys and of values, headers, and whether there is a key, by the lengths alone.

    None where something does not add up; then ``count_slowly`` says what.
    """
    key_bytes = value_bytes = headers = 0
    keyed = False
    try:
        for _ in range(count):
            number = body[at]
            at += 1
            if number > 127:
                number, at = varint(body, at, number)
            following = at + (number >> 1)
            at += 1  # attributes
            while body[at] > 127:  # time and offset within the batch
                at += 1
            at += 1
            while body[at] > 127:
                at += 1
            at += 1
            number = body[at]
            at += 1
            if number > 127:
                number, at = varint(body, at, number)
            if not number & 1:
                keyed = True
                key_bytes += number >> 1
                at += number >> 1
            number = body[at]
            at += 1
            if number > 127:
                number, at = varint(body, at, number)
            if not number & 1:
                value_bytes += number >> 1
                at += number >> 1
            number = body[at]
            at += 1
            if number:
                if number > 127:
                    number, at = varint(body, at, number)
                headers += number >> 1
            elif at != following:
                return None
            if at > following:
                return None
            at = following
    except IndexError:
        return None
    return RecordCounts(count, key_bytes, value_bytes, headers, keyed) if at == end else None


def varint(body: bytes, at: int, first: int) -> tuple[int, int]:
    number, shift = first & 127, 7
    while True:
        byte = body[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
        if shift > 28:
            raise IndexError


def count_slowly(records: bytes, header: BatchHeader) -> RecordCounts:
    """The same by reading each record. Raises RecordError."""
    count = key_bytes = value_bytes = headers = 0
    keyed = False
    for record in iter_batch_records(records, header):
        count += 1
        keyed = keyed or record.key is not None
        key_bytes += len(record.key or b"")
        value_bytes += len(record.value or b"")
        headers += len(record.headers)
    return RecordCounts(count, key_bytes, value_bytes, headers, keyed)
