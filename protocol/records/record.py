"""One record, as a reader gives it and a builder takes it; and what the records of control batches say."""

from __future__ import annotations

import struct
from enum import IntEnum

import msgspec

from protocol.records.batches import NO_SEQUENCE, NO_TIMESTAMP, BatchHeader, sequence_after
from protocol.records.errors import CorruptRecordError

Headers = tuple[tuple[str, bytes | None], ...]

#: In a builder: the offset after the record before.
NEXT_OFFSET = -1

_CONTROL_KEY = struct.Struct(">hh")  # version, type
_END_TRANSACTION_MARKER = struct.Struct(">hi")  # version, coordinator epoch


class Record(msgspec.Struct, frozen=True, gc=False):
    """A record: ``timestamp`` in ms since 1970 or -1, ``headers`` in the producer's order.

    ``offset`` is absolute; -1 asks a builder for the next one. ``batch`` is the header of the batch (the outermost
    message, in a message set) that a record was read from; builders ignore it.
    """

    offset: int = NEXT_OFFSET
    timestamp: int = NO_TIMESTAMP
    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    batch: BatchHeader | None = None

    @property
    def sequence(self) -> int:
        """The producer's sequence number, -1 for none."""
        if self.batch is None or self.batch.base_sequence < 0:
            return NO_SEQUENCE
        return sequence_after(self.batch.base_sequence, self.offset - self.batch.base_offset)

    @property
    def is_control(self) -> bool:
        return self.batch is not None and self.batch.is_control


class ControlType(IntEnum):
    """The meaning of a control record; the number is in its key."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


def control_type(record: Record) -> ControlType:
    """The meaning of a record of a control batch; UNKNOWN for a type that came later.

    Raises: CorruptRecordError: its key is no control key.
    """
    key = record.key
    if key is None or len(key) < _CONTROL_KEY.size:
        raise CorruptRecordError(f"control record with key {key!r}, but it takes version and type", _position(record))
    version, number = _CONTROL_KEY.unpack_from(key)
    if version < 0:
        raise CorruptRecordError(f"control record key of version {version}", _position(record))
    return ControlType(number) if 0 <= number <= ControlType.KRAFT_VOTERS else ControlType.UNKNOWN


def coordinator_epoch(record: Record) -> int:
    """The transaction coordinator's epoch in a COMMIT or ABORT marker. Raises: CorruptRecordError."""
    value = record.value
    if value is None or len(value) < _END_TRANSACTION_MARKER.size:
        raise CorruptRecordError(
            f"transaction marker with value {value!r}, but it takes version and coordinator epoch", _position(record)
        )
    version, epoch = _END_TRANSACTION_MARKER.unpack_from(value)
    if version < 0:
        raise CorruptRecordError(f"transaction marker of version {version}", _position(record))
    return int(epoch)


def control_key(kind: ControlType) -> bytes:
    """The key of a control record of this kind, version 0."""
    return _CONTROL_KEY.pack(0, kind)


def end_transaction_marker(epoch: int) -> bytes:
    """The value of a COMMIT or ABORT record, version 0."""
    return _END_TRANSACTION_MARKER.pack(0, epoch)


def _position(record: Record) -> int:
    return record.batch.position if record.batch is not None else 0
