"""Scans the batches of a log's file; finds where the sound ones end and whether others follow.

A batch's checksum does not cover its offsets and leader epoch, so offsets are compared with those of the batch before.
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
"""A batch or message may begin here: its offset and length are not negative, and it has a magic byte."""

Data = bytes | mmap


class ScannedBatch(NamedTuple):
    """A batch in a file: its position, its offsets, and its header's fields. Messages of magic 0 and 1
    are batches of one.
    """

    position: int
    size: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int  # -1 for magic 0 and 1


class Damage(NamedTuple):
    """The first bytes that are not a sound batch: position, reason, and the next sound batch's position, if any."""

    position: int
    reason: str
    sound_at: int | None


class Scan(NamedTuple):
    """The sound batches at the beginning of a file, their size in bytes, and the damage after them."""

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
        following: the offset after the batch before, where a compressed message begins, as it has only its last offset;
            None: it begins at its last offset.
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
    """The position of a sound batch after damage, with an offset of at least ``following``; None if there is none."""
    for found in MAY_BEGIN.finditer(data, position + 1):
        try:
            if batch_at(data, found.start(), None).base_offset >= following:
                return found.start()
        except CorruptRecordError:
            continue
    return None
