"""Producer ids, the sequence numbers that detect duplicate batches, and the transactions in a partition's log.

Each partition remembers the last five batches of every producer, its open and its aborted transactions; all of it
follows from its log. Ids are allocated in blocks, so that none is repeated after a restart.

Source: KIP-98, KIP-360, KIP-730, KIP-890; ProducerStateManager, ProducerAppendInfo, TransactionIndex and
ProducerIdControlManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.image import ImageWriter
    from mockbroker.state.logs.log import Log
    from protocol.records import BatchHeader

REMEMBERED_BATCHES = 5
SEQUENCES = 2**31  # sequence numbers wrap around after 2**31 - 1
NO_PRODUCER_ID = -1
NO_EPOCH = -1
NO_OFFSET = -1
MAX_EPOCH = 2**15 - 1
BUMPED_MARKERS_VERSION = 2  # of transaction.version: from it on, a marker's epoch is above the batches'
BLOCK_SIZE = 1000  # ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE
# Positions of the magic byte and the producer id in a batch of magic 2, and the value for no producer. Recovery skips
# most batches of large logs by these.
MAGIC_AT, PRODUCER_ID_AT, PRODUCER_ID_ENDS = 16, 43, 51
BATCH_MAGIC, NO_PRODUCER = 2, b"\xff" * 8


class AbortedTransaction(NamedTuple):
    """An aborted transaction: its first offset, its marker's offset, and the last stable offset after its end."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@dataclass(slots=True, eq=False)
class LogTransactions:
    """``open`` has the first offset of each open transaction by producer id, oldest first.

    ``ended`` has the marker's and the first offset of transactions that ended while replicas lagged, ``aborted`` all
    aborted ones; both ordered by marker.

    >>> transactions = LogTransactions()
    >>> transactions.begin(producer_id=7, first_offset=3)
    >>> transactions.last_stable_offset(10)
    3
    >>> transactions.end(producer_id=7, marker_offset=10, committed=False)
    >>> transactions.last_stable_offset(10), transactions.last_stable_offset(11)
    (3, 11)
    >>> [(one.producer_id, one.first_offset) for one in transactions.aborted_between(0, 11)]
    [(7, 3)]
    """

    open: dict[int, int] = field(default_factory=dict)
    ended: list[tuple[int, int]] = field(default_factory=list)
    aborted: list[AbortedTransaction] = field(default_factory=list)

    def begin(self, producer_id: int, first_offset: int) -> None:
        """Record the first offset of a producer's transaction, unless one is open."""
        self.open.setdefault(producer_id, first_offset)

    def end(self, producer_id: int, marker_offset: int, *, committed: bool) -> None:
        """Record a marker, which ends the producer's transaction if one is open."""
        first_offset = self.open.pop(producer_id, None)
        if first_offset is None:
            return
        self.ended.append((marker_offset, first_offset))
        if not committed:
            stable = next(iter(self.open.values()), marker_offset + 1)
            self.aborted.append(AbortedTransaction(producer_id, first_offset, marker_offset, stable))

    def last_stable_offset(self, end_offset: int) -> int:
        """The last stable offset, for a replica with high watermark ``end_offset``."""
        later = self.ended[bisect_left(self.ended, (end_offset, NO_OFFSET)) :]
        oldest = islice(self.open.values(), 1)
        return min([end_offset, *oldest, *(first_offset for _, first_offset in later)])

    def aborted_between(self, offset: int, upper_bound: int) -> list[AbortedTransaction]:
        """The aborted transactions with records from ``offset`` to before ``upper_bound``."""
        found = []
        for one in self.aborted[bisect_left(self.aborted, offset, key=attrgetter("last_offset")) :]:
            if one.first_offset < upper_bound:
                found.append(one)
            if one.last_stable_offset >= upper_bound:
                break
        return found

    def forget_before(self, offset: int) -> None:
        """Remove the aborted transactions whose markers are no longer in the log."""
        del self.aborted[: bisect_left(self.aborted, offset, key=attrgetter("last_offset"))]


class BatchMetadata(NamedTuple):
    """An appended batch: its sequence numbers (both inclusive), its offsets, and its newest timestamp."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    max_timestamp: int

    @property
    def end_offset(self) -> int:
        """The offset after the batch."""
        return self.base_offset + (self.last_sequence - self.first_sequence) % SEQUENCES + 1


class Marker(NamedTuple):
    """The end of a producer's transaction, as a coordinator of this epoch writes it."""

    commit: bool
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


@dataclass(slots=True)
class ProducerOnPartition:
    """A partition's state of one producer.

    ``last_ms`` is the newest timestamp of its last batch or marker; ``coordinator_epoch`` is that of its last marker.
    """

    epoch: int
    batches: deque[BatchMetadata] = field(default_factory=lambda: deque(maxlen=REMEMBERED_BATCHES))
    last_ms: int = 0
    coordinator_epoch: int = NO_EPOCH

    def begin_epoch(self, epoch: int) -> None:
        """Set the epoch; a different one resets the sequence numbers."""
        if self.epoch != epoch:
            self.epoch = epoch
            self.batches.clear()


@dataclass(slots=True)
class Verification:
    """A transaction to begin on a partition, while the coordinator verifies it.

    ``lowest_sequence`` is the lowest that the producer sent in this epoch, accepted or not: later ones must not
    overtake it. ``starts_at_zero``: an unknown producer must start with sequence number 0 (KIP-890).
    """

    epoch: int
    lowest_sequence: int
    starts_at_zero: bool


@dataclass(slots=True, eq=False)
class PartitionProducers:
    """The producers that wrote to a partition, by producer id, and their transactions.

    ``_verifications`` exists only at the leader and is lost with it.
    """

    by_id: dict[int, ProducerOnPartition] = field(default_factory=dict)
    transactions: LogTransactions = field(default_factory=LogTransactions)
    _verifications: dict[int, Verification] = field(default_factory=dict)

    def check(self, header: BatchHeader) -> BatchMetadata | None:
        """None if the batch is the next one; the original batch if this is a duplicate.

        Raises ApiError: INVALID_PRODUCER_EPOCH for an older epoch, OUT_OF_ORDER_SEQUENCE_NUMBER for a gap
        and for a duplicate that is no longer remembered, INVALID_TXN_STATE for a batch outside the producer's open
        transaction.
        """
        producer_id, epoch, first_sequence = header.producer_id, header.producer_epoch, header.base_sequence
        known = self.by_id.get(producer_id)
        if known is not None and epoch < known.epoch:
            raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH)
        batches = known.batches if known is not None and known.epoch == epoch else ()
        for batch in batches:
            if batch.first_sequence == first_sequence and batch.last_sequence == header.last_sequence:
                return batch
        first = self._verifications.get(producer_id)
        starts_late = first is not None and first.starts_at_zero and first_sequence != 0 and known is None
        if starts_late or (first is not None and first_sequence > first.lowest_sequence):  # it overtakes the first one
            raise ApiError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        if known is not None:
            following = (batches[-1].last_sequence + 1) % SEQUENCES if batches else 0
            if first_sequence != following:
                raise ApiError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
            if not header.is_transactional and producer_id in self.transactions.open:
                raise ApiError(ErrorCode.INVALID_TXN_STATE)
        return None

    def begin_verification(self, producer_id: int, epoch: int, sequence: int, *, starts_at_zero: bool) -> bool:
        """Record that a producer is about to begin a transaction here, with a batch of this sequence number.

        Returns: False if the epoch is older than the producer's current one.
        """
        known = self.by_id.get(producer_id)
        if known is not None and epoch < known.epoch:
            return False
        one = self._verifications.setdefault(producer_id, Verification(epoch, sequence, starts_at_zero))
        if epoch > one.epoch or (epoch == one.epoch and sequence < one.lowest_sequence):
            one.epoch, one.lowest_sequence = epoch, sequence
        return True

    def note(self, header: BatchHeader, base_offset: int, max_timestamp: int) -> None:
        """Record a batch that was appended at this offset, with this newest timestamp."""
        producer_id = header.producer_id
        producer = self.by_id.setdefault(producer_id, ProducerOnPartition(header.producer_epoch))
        producer.begin_epoch(header.producer_epoch)
        producer.batches.append(BatchMetadata(header.base_sequence, header.last_sequence, base_offset, max_timestamp))
        producer.last_ms = max_timestamp
        if header.is_transactional:
            self._verifications.pop(producer_id, None)
            self.transactions.begin(producer_id, base_offset)

    def has_open(self, producer_id: int, epoch: int) -> bool:
        """True if a producer has an open transaction here, in this epoch."""
        return producer_id in self.transactions.open and self.by_id[producer_id].epoch == epoch

    def is_last(self, header: BatchHeader) -> bool:
        """True for a producer's last batch, from which its sequence numbers are known."""
        known = self.by_id.get(header.producer_id)
        if known is None or not known.batches:
            return known is not None and header.is_control and header.producer_epoch == known.epoch
        return known.batches[-1].end_offset - 1 == header.last_offset

    def check_marker(self, marker: Marker, transaction_version: int) -> None:
        """Check the epochs of a marker.

        Under transaction version 2 each marker has an epoch above the batches'; a repeated marker is accepted.

        Raises ApiError: INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.
        Source: ProducerAppendInfo.checkProducerEpoch and checkCoordinatorEpoch, Apache Kafka 4.4; KAFKA-19999.
        """
        known, epoch = self.by_id.get(marker.producer_id), marker.producer_epoch
        if known is None:
            return
        by_version_2 = transaction_version >= BUMPED_MARKERS_VERSION
        is_again = epoch == known.epoch and (marker.producer_id not in self.transactions.open or epoch == MAX_EPOCH)
        if epoch < known.epoch or (by_version_2 and epoch == known.epoch and not is_again):
            raise ApiError(ErrorCode.INVALID_PRODUCER_EPOCH)
        if known.coordinator_epoch > marker.coordinator_epoch:
            raise ApiError(ErrorCode.TRANSACTION_COORDINATOR_FENCED)

    def note_marker(self, marker: Marker, offset: int, timestamp_ms: int) -> None:
        """Record an appended marker."""
        producer_id, epoch = marker.producer_id, marker.producer_epoch
        producer = self.by_id.setdefault(producer_id, ProducerOnPartition(epoch))
        producer.begin_epoch(epoch)
        verification = self._verifications.get(producer_id)
        if verification is not None and not (verification.starts_at_zero and verification.epoch == epoch):
            del self._verifications[producer_id]  # otherwise the next transaction has begun already
        producer.coordinator_epoch = marker.coordinator_epoch
        producer.last_ms = timestamp_ms
        self.transactions.end(producer_id, offset, committed=marker.commit)

    def expire(self, oldest_ms: int) -> None:
        """Remove idle producers except those in a transaction; they may use any sequence number then."""
        open_ids = self.transactions.open
        old = [one for one, producer in self.by_id.items() if producer.last_ms <= oldest_ms and one not in open_ids]
        for producer_id in old:
            del self.by_id[producer_id]
            self._verifications.pop(producer_id, None)


def recover(log: Log) -> PartitionProducers:
    """The producers of a partition, recovered from the batches in its log.

    Equal to the state before the restart, as long as the log still has the last five batches of each producer.
    """
    from protocol.records import iter_batches

    producers = PartitionProducers()
    for batch in log.batches(log.start_offset) if len(log) else ():
        if batch.data[MAGIC_AT] == BATCH_MAGIC and batch.data[PRODUCER_ID_AT:PRODUCER_ID_ENDS] == NO_PRODUCER:
            continue
        for header in iter_batches(batch.data):
            if header.producer_id >= 0 and header.is_control:
                recover_marker(producers, header, batch.data)
            elif header.producer_id >= 0:
                producers.note(header, header.base_offset, header.max_timestamp)
    return producers


def recover_marker(producers: PartitionProducers, header: BatchHeader, data: bytes) -> None:
    from protocol.records import ControlType, control_type, coordinator_epoch, iter_records

    for record in iter_records(data, crc=False):
        kind = control_type(record)
        if kind in (ControlType.COMMIT, ControlType.ABORT):
            by = header.producer_id, header.producer_epoch, coordinator_epoch(record)
            producers.note_marker(Marker(kind is ControlType.COMMIT, *by), record.offset, record.timestamp)


@dataclass(slots=True, eq=False)
class Producers:
    """Allocates producer ids.

    ``last_epochs`` has the previous epoch of a producer by transactional id, which distinguishes a retry from a fenced
    producer. As in Kafka, it does not survive a restart.
    """

    writer: ImageWriter
    last_epochs: dict[str, int] = field(default_factory=dict)
    _blocks: dict[int, tuple[int, int]] = field(default_factory=dict)  # by broker: the next id, the end of its block

    def new_id(self, broker_id: int = 0, broker_epoch: int = 0) -> int:
        """An id of the broker's block; allocates a new block if it has none left."""
        given, end = self._blocks.get(broker_id, (0, 0))
        if given == end:
            from protocol.embedded.metadata_settings import ProducerIdsRecord

            given = self.writer.image.next_producer_id
            end = given + BLOCK_SIZE
            self.writer.commit(
                [ProducerIdsRecord(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=end)]
            )
        self._blocks[broker_id] = (given + 1, end)
        return given

    def forget_block(self, broker_id: int) -> None:
        """Discard the rest of a stopped broker's block."""
        self._blocks.pop(broker_id, None)
