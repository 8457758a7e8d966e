"""Walks through the batches of a log's file, and says where the sound ones end and whether others follow.

Offsets and leader epochs are not covered by a batch's checksum, so offsets are compared with those before.
"""

from __future__ import annotations

import re
from mmap import mmap
from struct import Struct
from typing import NamedTuple

from protocol.records import CorruptRecordError
from protocol.records.batches import LOG_OVERHEAD, check_crc, read_header

LENGTH = Struct(">i")
UP_TO_LENGTH = 8
MAY_BEGIN = re.compile(rb"(?=[\x00-\x7f].{7}(?!\x00{4})[\x00-\x7f].{7}[\x00-\x02])", re.DOTALL)
"""A batch or message may begin here: its offset and its length are not negative, and there is a magic as well."""

Data = bytes | mmap


class ScannedBatch(NamedTuple):
    """A batch in a file: where it is, the offsets that it covers, and its header's fields. Messages of magic 0 and 1
    are batches of one.
    """

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int  # -1 of magic 0 and 1


class Damage(NamedTuple):
    """The first bytes that are no sound batch: where, why, and where a sound batch follows, None if none does."""

    position: int
    reason: str
    sound_at: int | None


class Scan(NamedTuple):
    """The sound batches from the beginning of a file on, how many bytes they are, and what comes next."""

    batches: list[ScannedBatch]
    size: int
    damage: Damage | None


def scan(data: Data, start: int = 0) -> Scan:
    """Read the batches of a file, with their checksums.

    Args:
        start: the start offset of the log.
    """
    batches: list[ScannedBatch] = []
    position = following = 0
    while position < len(data):
        try:
            batch = batch_at(data, position, following if position or not start else None)
        except CorruptRecordError as error:
            return Scan(batches, position, Damage(position, error.reason, sound_after(data, position, following)))
        if batch.base_offset < following or batch.last_offset < batch.base_offset:
            reason = f"offsets {batch.base_offset} to {batch.last_offset}, but {following} is next"
            return Scan(batches, position, Damage(position, reason, position))
        batches.append(batch)
        position += batch.size
        following = batch.last_offset + 1
    return Scan(batches, position, None)


def batch_at(data: Data, position: int, following: int | None) -> ScannedBatch:
    """The batch at a position, with a sound checksum. Raises CorruptRecordError.

    Args:
        following: the first offset of a compressed message, which has only its last one; None: its last one.
    """
    rest = len(data) - position
    length = LENGTH.unpack_from(data, position + UP_TO_LENGTH)[0] if rest >= LOG_OVERHEAD else 0
    size = length + LOG_OVERHEAD
    if rest < LOG_OVERHEAD or size > rest:
        raise CorruptRecordError(f"{rest} bytes of a batch" + (f" of {size}" if length else ""))
    batch = data[position : position + max(size, 0)]
    header = read_header(batch, 0, len(batch))
    if header.partial:
        raise CorruptRecordError(f"length {length} is less than a batch has")
    check_crc(batch, header)
    first, last, epoch = header.base_offset, header.last_offset, header.partition_leader_epoch
    if header.record_count < 0 and header.magic < 2 and following is not None:
        first = following
    return ScannedBatch(position, size, first, last, header.max_timestamp, epoch)


def sound_after(data: Data, position: int, following: int) -> int | None:
    """Where a sound batch begins after damage, with an offset from ``following`` on; None: none does."""
    for found in MAY_BEGIN.finditer(data, position + 1):
        try:
            if batch_at(data, found.start(), None).base_offset >= following:
                return found.start()
        except CorruptRecordError:
            continue
    return None
