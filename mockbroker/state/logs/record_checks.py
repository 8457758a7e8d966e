"""The records of one batch as Kafka's broker reads them, which is not as strict as a reader has reason to be.

A batch that the strict reader of ``protocol.records`` takes is what nearly all are. Any other is read again here, byte
by byte: Kafka takes any negative length of a key or value for null, and of a compressed batch that it need not change
it does not look at the records' own lengths.

Source: DefaultRecord.readFrom and readPartiallyFrom, DefaultRecordBatch.RecordIterator, ByteUtils.readVarint, Apache
Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.state.logs.refusals import BadBatchError
from protocol.error_codes import ErrorCode
from protocol.records import (
    DEFAULT_LIMIT_BYTES,
    CompressionCodec,
    DecompressionBudget,
    DecompressionLimitError,
    Record,
    RecordError,
    decompress,
    iter_batch_records,
)
from protocol.records.batches import BATCH_HEADER_SIZE, LOG_APPEND_TIME_FLAG, BatchHeader

INT_SHIFT, LONG_SHIFT = 28, 63
"""Of the last byte that a varint of 32 bits and one of 64 may have."""


class _TooLongError(Exception):
    """A varint that does not end."""


def read_records(
    data: bytes,
    header: BatchHeader,
    limit: int | DecompressionBudget = DEFAULT_LIMIT_BYTES,
    *,
    whole: bool,
    max_record_bytes: int | None = None,
) -> list[Record]:
    """The records of a batch.

    Args:
        limit: bytes that may come out of it where it is compressed.
        max_record_bytes: of one record, None for any number.
        whole: of a compressed batch too each record is read to its end, as where it is to be compressed anew.

    Raises BadBatchError: INVALID_RECORD; UNKNOWN_SERVER_ERROR where what is compressed cannot be read.
    """
    if max_record_bytes is None:
        try:
            return list(iter_batch_records(data, header, crc=False, limit=limit))
        except DecompressionLimitError as error:
            raise broken(str(error)) from None
        except RecordError:
            pass
    body = data[BATCH_HEADER_SIZE:]
    if header.codec == CompressionCodec.ZSTD and not body:
        raise broken("no records in no frame")  # no fault to Kafka's reader of zstd, which finds too little in it
    if header.is_compressed:
        try:
            body = decompress(header.codec, body, limit=limit)
        except DecompressionLimitError as error:
            raise broken(str(error)) from None
        except RecordError as error:
            raise BadBatchError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from None
    reader = LenientReader(body, header)
    return reader.records(sizes_count=whole or not header.is_compressed, max_bytes=max_record_bytes)


class LenientReader:
    """Reads the records of one batch; ``position`` is where it is."""

    def __init__(self, body: bytes, header: BatchHeader) -> None:
        self.body, self.header, self.position = body, header, 0

    def records(self, *, sizes_count: bool, max_bytes: int | None = None) -> list[Record]:
        found = []
        for _ in range(self.header.record_count):
            try:
                size = self.varint(INT_SHIFT)
            except _TooLongError:
                if self.header.is_compressed:
                    raise broken("a record's length does not end") from None
                raise BadBatchError(ErrorCode.UNKNOWN_SERVER_ERROR, "a record's length does not end") from None
            if self.header.is_compressed and size < 0:
                raise broken(f"a record of {size} bytes")
            if max_bytes is not None and size > max_bytes:
                raise broken(f"a record of {size} bytes, but the topic takes {max_bytes}")
            if sizes_count and size > len(self.body) - self.position:
                raise broken(f"a record of {size} bytes with {len(self.body) - self.position} left")
            start = self.position
            try:
                found.append(self.record())
            except _TooLongError:
                raise broken("a number does not end") from None
            if sizes_count and self.position - start != size:
                raise broken(f"a record says {size} bytes, but its fields take {self.position - start}")
        if self.position != len(self.body):
            raise broken(f"{len(self.body) - self.position} bytes left after {len(found)} records")
        return found

    def record(self) -> Record:
        header = self.header
        self.byte()
        timestamp = header.base_timestamp + self.varint(LONG_SHIFT)
        if header.attributes & LOG_APPEND_TIME_FLAG:
            timestamp = header.max_timestamp
        offset = header.base_offset + self.varint(INT_SHIFT)
        key, value = self.bytes_(), self.bytes_()
        count = self.varint(INT_SHIFT)
        if count < 0 or count > len(self.body) - self.position:
            raise broken(f"{count} headers")
        headers = []
        for _ in range(count):
            name = self.bytes_()
            if name is None:
                raise broken("a header without a key")
            headers.append((name.decode("utf-8", "replace"), self.bytes_()))
        return Record(offset, timestamp, key, value, tuple(headers), header)

    def byte(self) -> int:
        if self.position >= len(self.body):
            raise broken("the batch ends before its records do")
        byte = self.body[self.position]
        self.position += 1
        return byte

    def varint(self, last_shift: int) -> int:
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
            if shift > last_shift:
                raise _TooLongError
        number &= 0xFFFFFFFF if last_shift == INT_SHIFT else 0xFFFFFFFFFFFFFFFF
        return number >> 1 ^ -(number & 1)

    def bytes_(self) -> bytes | None:
        size = self.varint(INT_SHIFT)
        if size < 0:
            return None
        end = self.position + size
        if end > len(self.body):
            raise broken(f"{size} bytes with {len(self.body) - self.position} left")
        found = self.body[self.position : end]
        self.position = end
        return found


def broken(reason: str) -> BadBatchError:
    return BadBatchError(ErrorCode.INVALID_RECORD, reason)
