"""The contents of the batches of a records field, in numbers: records, keys, values, headers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from protocol.records.batches import LOG_OVERHEAD, BatchHeader, read_header
from protocol.records.compression import CompressionCodec
from protocol.records.errors import RecordError
from protocol.records.reading import iter_batch_records
from protocol.records.record import Record

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
        counts = counts_of(iter_batch_records(records, header))
    except RecordError as error:
        return BatchSizes(header, codec, header.size, None, str(error))
    return BatchSizes(header, codec, header.size, counts, None)


def counts_of(records: Iterable[Record]) -> RecordCounts:
    """The number of records, the bytes of their keys and values, the number of headers, and whether any has a key."""
    count = key_bytes = value_bytes = headers = 0
    keyed = False
    for record in records:
        count += 1
        keyed = keyed or record.key is not None
        key_bytes += len(record.key or b"")
        value_bytes += len(record.value or b"")
        headers += len(record.headers)
    return RecordCounts(count, key_bytes, value_bytes, headers, keyed)
