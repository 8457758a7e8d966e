"""The files beside a segment by which Kafka finds offsets, times, producers and aborted transactions.

An offset index has an entry of 8 bytes for about every ``index.interval.bytes`` of the segment, a time index one of 12
bytes with the newest timestamp up to there. Source: LogSegment.append, OffsetIndex, TimeIndex, TransactionIndex and
ProducerStateManager.writeSnapshot, Apache Kafka 4.4.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from mockbroker.state.logs.log_transactions import AbortedTransaction
from mockbroker.state.logs.producers import (
    REMEMBERED_BATCHES,
    SEQUENCES,
    BatchMetadata,
    PartitionProducers,
    ProducerOnPartition,
)
from protocol.codec import decode_as
from protocol.embedded.producer_snapshot import ProducerSnapshot
from protocol.embedded.transaction_index import AbortedTxn
from protocol.embedded.versioned import VERSION_BYTES, read_versioned, write_versioned
from protocol.errors import ProtocolError
from protocol.records.checksum import crc32c

OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
_CRC = struct.Struct(">I")
_CRC_AT, _CRC_COVERS_FROM = 2, 6
SNAPSHOT_VERSION, ABORTED_VERSION = 1, 0
ABORTED_SIZE = 34
NONE = -1


class IndexEntries(NamedTuple):
    """What is to be written behind an offset index and a time index."""

    offsets: bytes
    times: bytes


class IndexWriter:
    """Makes the entries of one segment's indexes, batch by batch.

    >>> writer = IndexWriter(base_offset=10, interval_bytes=100)
    >>> for batch in range(3):
    ...     writer.add(120 * batch, 120, last_offset=11 + batch, max_timestamp=1000 + batch)
    >>> entries = writer.take()
    >>> (
    ...     [one for one in OFFSET_ENTRY.iter_unpack(entries.offsets)],
    ...     [one for one in TIME_ENTRY.iter_unpack(entries.times)],
    ... )
    ([(2, 120), (3, 240)], [(1001, 2), (1002, 3)])
    """

    __slots__ = ("_base_offset", "_interval_bytes", "_newest", "_offsets", "_since", "_times", "_written_time")

    def __init__(self, base_offset: int, interval_bytes: int, written_time: int = NONE) -> None:
        self._base_offset, self._interval_bytes = base_offset, interval_bytes
        self._since = 0  # bytes since the last entry
        self._newest = (NONE, base_offset)  # the newest timestamp so far, and the last offset of its batch
        self._written_time = written_time  # of the last entry in the time index
        self._offsets, self._times = bytearray(), bytearray()

    def add(self, position: int, size: int, last_offset: int, max_timestamp: int) -> None:
        """A batch was written at a position of the segment."""
        if max_timestamp > self._newest[0]:
            self._newest = (max_timestamp, last_offset)
        if self._since > self._interval_bytes:
            self._offsets += OFFSET_ENTRY.pack(last_offset - self._base_offset, position)
            self._add_time()
            self._since = 0
        self._since += size

    def finish(self) -> None:
        """Nothing is written to the segment any more: the time index ends with the newest timestamp."""
        self._add_time()

    @property
    def has_entries(self) -> bool:
        return bool(self._offsets or self._times)

    def take(self) -> IndexEntries:
        """The entries since this was last asked."""
        entries = IndexEntries(bytes(self._offsets), bytes(self._times))
        self._offsets.clear()
        self._times.clear()
        return entries

    def _add_time(self) -> None:
        timestamp, offset = self._newest
        if timestamp > self._written_time:
            self._times += TIME_ENTRY.pack(timestamp, offset - self._base_offset)
            self._written_time = timestamp


def is_sound(offsets: bytes, times: bytes, size: int) -> bool:
    """Whether two indexes can be those of a segment of this size: whole entries that rise."""
    if len(offsets) % OFFSET_ENTRY.size or len(times) % TIME_ENTRY.size:
        return False
    last = (NONE, NONE)
    for relative, position in OFFSET_ENTRY.iter_unpack(offsets):
        if relative <= last[0] or not last[1] < position < size:
            return False
        last = (relative, position)
    newest = (NONE, NONE)
    for timestamp, relative in TIME_ENTRY.iter_unpack(times):
        if timestamp <= newest[0] or relative < newest[1]:
            return False
        newest = (timestamp, relative)
    return True


def aborted_entries(transactions: Iterable[AbortedTransaction]) -> bytes:
    """Aborted transactions as a ``.txnindex`` has them, by their markers.

    >>> aborted_entries([AbortedTransaction(7, 3, 9, 10)])[2:].hex(" ", 8)
    '0000000000000007 0000000000000003 0000000000000009 000000000000000a'
    """
    return b"".join(
        write_versioned(
            AbortedTxn(
                producer_id=one.producer_id,
                first_offset=one.first_offset,
                last_offset=one.last_offset,
                last_stable_offset=one.last_stable_offset,
            ),
            ABORTED_VERSION,
        )
        for one in transactions
    )


def parse_aborted(data: bytes) -> list[AbortedTransaction]:
    """The whole entries of a ``.txnindex``, up to the first that is none."""
    found = []
    for start in range(0, len(data) - ABORTED_SIZE + 1, ABORTED_SIZE):
        if int.from_bytes(data[start : start + VERSION_BYTES], signed=True) != ABORTED_VERSION:
            break
        one = decode_as(AbortedTxn, ABORTED_VERSION, data[start + VERSION_BYTES : start + ABORTED_SIZE])
        found.append(AbortedTransaction(one.producer_id, one.first_offset, one.last_offset, one.last_stable_offset))
    return found


def snapshot_bytes(producers: PartitionProducers) -> bytes:
    """What a partition knows of its producers, as a ``.snapshot`` has it: the last batch of each."""
    entries = []
    for producer_id, one in producers.by_id.items():
        last = one.batches[-1] if one.batches else None
        delta = 0 if last is None else (last.last_sequence - last.first_sequence) % SEQUENCES
        entries.append(
            ProducerSnapshot.Producer(
                producer_id=producer_id,
                epoch=one.epoch,
                last_sequence=NONE if last is None else last.last_sequence,
                last_offset=NONE if last is None else last.base_offset + delta,
                offset_delta=delta,
                timestamp=one.last_ms,
                coordinator_epoch=one.coordinator_epoch,
                current_txn_first_offset=producers.transactions.open.get(producer_id, NONE),
            )
        )
    data = bytearray(write_versioned(ProducerSnapshot(crc=0, producer_entries=entries), SNAPSHOT_VERSION))
    _CRC.pack_into(data, _CRC_AT, crc32c(bytes(data[_CRC_COVERS_FROM:])))
    return bytes(data)


def parse_snapshot(data: bytes) -> PartitionProducers | None:
    """What a ``.snapshot`` says of a partition's producers, without aborted transactions; None for a damaged one."""
    if len(data) < _CRC_COVERS_FROM or _CRC.unpack_from(data, _CRC_AT)[0] != crc32c(data[_CRC_COVERS_FROM:]):
        return None
    try:
        snapshot = read_versioned(ProducerSnapshot, data)
    except ProtocolError:
        return None
    producers = PartitionProducers()
    begun = []
    for entry in snapshot.producer_entries:
        batches: deque[BatchMetadata] = deque(maxlen=REMEMBERED_BATCHES)
        if entry.last_offset >= 0:
            first = NONE if entry.last_sequence < 0 else (entry.last_sequence - entry.offset_delta) % SEQUENCES
            base_offset = entry.last_offset - entry.offset_delta
            batches.append(BatchMetadata(first, entry.last_sequence, base_offset, entry.timestamp))
        producers.by_id[entry.producer_id] = ProducerOnPartition(
            entry.epoch, batches, entry.timestamp, entry.coordinator_epoch
        )
        if entry.current_txn_first_offset >= 0:
            begun.append((entry.current_txn_first_offset, entry.producer_id))
    for first_offset, producer_id in sorted(begun):
        producers.transactions.begin(producer_id, first_offset)
    return producers
