"""Walks through the batches of a segment, and says where whole and sound ones end."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple

from protocol.records import BatchHeader, CorruptRecordError
from protocol.records.batches import LOG_OVERHEAD, check_crc, read_header

#: What is asked of a batch of magic 2: offset, length, leader epoch, magic, CRC, attributes, last offset delta, both
#: timestamps.
_BATCH = struct.Struct(">qiibIhiqq")
_CRC_AT = 17
MAGIC_AT = 16
MAGIC = 2
MIN_BATCH_BYTES = 61
NO_EPOCH = -1
MAX_RELATIVE_OFFSET = 2**31 - 1
"""How far an offset may be from its segment's base offset, since indexes have 4 bytes for that."""


class ScannedBatch(NamedTuple):
    """A batch in a segment file: where it stands, the offsets that it covers, and what its header says.

    Messages of magic 0 and 1 are batches of one.
    """

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int


class Scan(NamedTuple):
    """The batches of a segment, how many bytes they are, and what is wrong with what comes behind them.

    ``damaged`` are the positions of batches whose checksum is wrong and which stay all the same.
    """

    batches: list[ScannedBatch]
    size: int
    fault: str | None
    damaged: list[int]


def scan(data: bytes | mmap, base_offset: int, *, check: bool = False, flushed_to: int = 0) -> Scan:
    """Go through a segment's bytes.

    Args:
        base_offset: no batch has an offset before it.
        check: look at checksums; the first batch with a wrong one ends the scan, unless it is before ``flushed_to``.
        flushed_to: what is before this offset has reached the disk once, so that nothing behind it is given up.
    """
    batches: list[ScannedBatch] = []
    damaged: list[int] = []
    position, end, following = 0, len(data), base_offset
    while position < end:
        try:
            batch, following = _batch_at(data, position, end, following)
            if batch.last_offset - base_offset > MAX_RELATIVE_OFFSET:
                raise CorruptRecordError(f"offset {batch.last_offset} is too far from {base_offset}", position)
            if check:
                try:
                    check_batch(data[position : position + batch.size])
                except CorruptRecordError:
                    if batch.last_offset >= flushed_to:
                        raise
                    damaged.append(position)
        except CorruptRecordError as error:
            return Scan(batches, position, str(error), damaged)
        batches.append(batch)
        position += batch.size
    return Scan(batches, position, None, damaged)


def check_batch(data: bytes) -> None:
    """Compare the checksum of a batch, or of the messages that stand for one, with its bytes.

    Raises CorruptRecordError.
    """
    position, end = 0, len(data)
    while position < end:
        header = _whole_header(data, position, end)
        check_crc(data, header)
        position += header.size


def split(data: bytes) -> Iterator[bytes]:
    """The batches of a piece of a segment that holds whole ones. Raises CorruptRecordError."""
    position, end = 0, len(data)
    while position < end:
        header = _whole_header(data, position, end)
        yield data[position : position + header.size]
        position += header.size


def _batch_at(data: bytes | mmap, position: int, end: int, following: int) -> tuple[ScannedBatch, int]:
    """The batch at a position, and the offset behind it; its own offset is ``following`` at least."""
    if end - position < MIN_BATCH_BYTES or data[position + MAGIC_AT] != MAGIC:
        header = _whole_header(data, position, end)
        base_offset = last_offset = header.base_offset
        if header.record_count < 0:  # compressed: it has the offset of the last message inside
            base_offset = following
        size, max_timestamp, leader_epoch = header.size, header.max_timestamp, NO_EPOCH
    else:
        base_offset, length, leader_epoch, _, _, _, delta, _, max_timestamp = _BATCH.unpack_from(data, position)
        size, last_offset = length + LOG_OVERHEAD, base_offset + delta
        if length < MIN_BATCH_BYTES - LOG_OVERHEAD:
            raise CorruptRecordError(f"length {length} is less than a batch has", position + 8)
        if size > end - position:
            raise CorruptRecordError(f"{end - position} bytes of a batch of {size}", position)
    if not following <= base_offset <= last_offset:
        raise CorruptRecordError(f"offsets {base_offset} to {last_offset}, but {following} is next", position)
    batch = ScannedBatch(position, size, base_offset, last_offset, max_timestamp, leader_epoch)
    return batch, last_offset + 1


def _whole_header(data: bytes | mmap, position: int, end: int) -> BatchHeader:
    header = read_header(data, position, end)  # type: ignore[arg-type]  # a map of a file is as good as its bytes
    if header.partial:
        raise CorruptRecordError(f"{end - position} bytes of a batch of {header.size}", position)
    return header
