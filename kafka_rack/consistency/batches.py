"""Identities of batches in a history, by sequence numbers or checksums, never by record bytes.

A batch of an idempotent producer is identified by the producer's id, epoch and sequence, which brokers never change.
Others are identified by checksum, size and first time; these are compared only between batches in the same stored form,
because compression, the time of the append and compaction change the bytes that the checksum covers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from protocol.records import BatchHeader, ControlType, RecordError, control_type, iter_batch_records, iter_batches
from protocol.records.batches import NO_PRODUCER_ID

SEQUENCE_FORM = "sequence"
MAGIC_WITH_PRODUCERS = 2


class SequenceIdentity(NamedTuple):
    """A batch by its producer's sequence number."""

    producer_id: int
    producer_epoch: int
    base_sequence: int
    num_offsets: int

    def __repr__(self) -> str:
        last = self.base_sequence + self.num_offsets - 1
        which = f"record {last}" if self.num_offsets == 1 else f"records {self.base_sequence} to {last}"
        return f"{which} of producer {self.producer_id}, epoch {self.producer_epoch}"


class ChecksumIdentity(NamedTuple):
    """A batch by its checksum and size; ``timestamp`` is its first record's."""

    crc: int
    size_bytes: int
    timestamp: int

    def __repr__(self) -> str:
        return f"a batch of checksum {self.crc:08x}"


class HistoryBatch(NamedTuple):
    """The parts of a batch that a history needs. ``offset`` is the producer's own until the batch is stored."""

    offset: int
    num_offsets: int
    value: Hashable = None
    form: Hashable = None
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1
    is_transactional: bool = False
    is_control: bool = False
    is_abort: bool = False
    lacks_records: bool = False


def read_batches(records: bytes | None, position: int = 0) -> Iterator[HistoryBatch]:
    """The complete batches of a records field, up to where it is damaged or cut off.

    A compressed message of magic 0 or 1 does not contain its number of offsets: it is assumed to extend from
    ``position``, or from the end of the previous one, to its last offset.
    """
    try:
        for header in iter_batches(records):
            if header.partial:
                return
            batch = batch_of(header, records, position)
            position = batch.offset + batch.num_offsets
            yield batch
    except RecordError:
        return


def batch_of(header: BatchHeader, records: Any, position: int) -> HistoryBatch:
    if header.magic < MAGIC_WITH_PRODUCERS and header.is_compressed:
        start = min(position, header.base_offset)
        return HistoryBatch(start, header.base_offset - start + 1)
    checksum = ChecksumIdentity(header.crc, header.size, header.base_timestamp)
    if header.magic < MAGIC_WITH_PRODUCERS:
        return HistoryBatch(header.base_offset, 1, checksum, (header.magic, header.attributes))
    num_offsets = max(header.last_offset_delta, 0) + 1
    value: Hashable = checksum
    form: Hashable = (header.magic, header.attributes, header.record_count == num_offsets)
    if header.is_control:
        value = form = None
    elif header.producer_id != NO_PRODUCER_ID:
        value = SequenceIdentity(header.producer_id, header.producer_epoch, header.base_sequence, num_offsets)
        form = SEQUENCE_FORM
    return HistoryBatch(
        header.base_offset,
        num_offsets,
        value,
        form,
        header.producer_id,
        header.producer_epoch,
        header.is_transactional,
        header.is_control,
        header.is_control and is_abort_marker(records, header),
        not header.is_control and header.record_count < num_offsets,
    )


def is_abort_marker(records: Any, header: BatchHeader) -> bool:
    for record in iter_batch_records(records, header):
        return control_type(record) is ControlType.ABORT
    return False


def without_aborted(batches: Iterable[HistoryBatch], aborted: Any) -> Iterator[HistoryBatch]:
    """The batches that a read_committed consumer keeps; ``aborted`` is the answer's list of aborted transactions."""
    waiting = sorted((one.first_offset, one.producer_id) for one in aborted or ())
    active: set[int] = set()
    for batch in batches:
        while waiting and waiting[0][0] < batch.offset + batch.num_offsets:
            active.add(waiting.pop(0)[1])
        if batch.is_control:
            if batch.is_abort:
                active.discard(batch.producer_id)
        elif batch.is_transactional and batch.producer_id in active:
            continue
        yield batch
