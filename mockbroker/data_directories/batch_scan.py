"""Scans the batches of a log's file; finds where the sound ones end and whether others follow.

A batch's checksum does not cover its offsets and leader epoch, so offsets are compared with those of the batch before.
"""

from __future__ import annotations

import re
from mmap import mmap
from struct import Struct
from typing import cast

from mockbroker.state.logs.log import StoredBatch
from protocol.records import CorruptRecordError
from protocol.records.batches import LOG_OVERHEAD, check_crc, read_header

LENGTH = Struct(">i")
UP_TO_LENGTH = 8
MAY_BEGIN = re.compile(rb"(?=[\x00-\x7f].{7}(?!\x00{4})[\x00-\x7f].{7}[\x00-\x02])", re.DOTALL)
"""A batch or message may begin here: its offset and length are not negative, and it has a magic byte."""

Data = bytes | mmap


class StoredBytes:
    """The position and size of a batch in a file."""

    __slots__ = ("position", "size")

    def __init__(self, position: int, size: int) -> None:
        self.position, self.size = position, size

    def __len__(self) -> int:
        return self.size


def in_file(position: int, size: int) -> bytes:
    return cast(bytes, StoredBytes(position, size))


def position_of(batch: StoredBatch) -> int:
    """The position of a batch in its file."""
    return cast(StoredBytes, batch.data).position


Damage = tuple[int, str, int | None]
"""The first bytes that are not a sound batch: position, reason, and the next sound batch's position, if any."""


def scan(data: Data, start: int = 0) -> tuple[list[StoredBatch], Damage | None]:
    """The sound batches at the beginning of a file, and the damage after them.

    The data of batches are ``StoredBytes``. Messages of magic 0 and 1 are batches of one, in leader epoch -1.

    Args:
        start: the start offset of the log.
    """
    batches: list[StoredBatch] = []
    position = following = 0
    while position < len(data):
        try:
            batch = batch_at(data, position, following if position or not start else None)
        except CorruptRecordError as error:
            return batches, (position, error.reason, sound_after(data, position, following))
        if batch.base_offset < following or batch.last_offset < batch.base_offset:
            reason = f"offsets {batch.base_offset} to {batch.last_offset}, but {following} is next"
            return batches, (position, reason, position)
        batches.append(batch)
        position += len(batch.data)
        following = batch.last_offset + 1
    return batches, None


def batch_at(data: Data, position: int, following: int | None) -> StoredBatch:
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
    return StoredBatch(first, last, header.max_timestamp, epoch, in_file(position, size))


def sound_after(data: Data, position: int, following: int) -> int | None:
    """The position of a sound batch after damage, with an offset of at least ``following``; None if there is none."""
    for found in MAY_BEGIN.finditer(data, position + 1):
        try:
            if batch_at(data, found.start(), None).base_offset >= following:
                return found.start()
        except CorruptRecordError:
            continue
    return None
