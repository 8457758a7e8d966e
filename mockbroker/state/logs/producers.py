"""Producer ids, and the sequence numbers that make a resent batch harmless.

Each partition remembers the last five batches of every producer; that follows from its log. Ids come in blocks, so that
a restart gives none out twice. Source: KIP-98, KIP-360, KIP-730; ProducerStateManager, ProducerIdControlManager and
TransactionCoordinator, Apache Kafka.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.image.writer import ImageWriter
    from mockbroker.state.logs.store import PartitionLog
    from protocol.embedded.transaction_log import TransactionLogValue

REMEMBERED_BATCHES = 5
SEQUENCES = 2**31  # sequence numbers run from 0 to 2**31 - 1 and start again
NO_PRODUCER_ID = -1
NO_EPOCH = -1
EXHAUSTED_EPOCH = 2**15 - 2  # after it a transactional id gets a new producer id
BLOCK_SIZE = 1000  # ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE
EMPTY_TRANSACTION = 0  # TransactionState.EMPTY
NO_TIME = -1


class BatchMetadata(NamedTuple):
    """A batch that was appended: its sequence numbers, both ends counted, and where it went."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    append_time_ms: int

    @property
    def end_offset(self) -> int:
        """The offset behind the batch."""
        return self.base_offset + (self.last_sequence - self.first_sequence) % SEQUENCES + 1


@dataclass(slots=True)
class ProducerOnPartition:
    """What a partition knows of one producer; ``last_ms`` is the newest timestamp in its last batch."""

    epoch: int
    batches: deque[BatchMetadata] = field(default_factory=lambda: deque(maxlen=REMEMBERED_BATCHES))
    last_ms: int = 0


@dataclass(slots=True, eq=False)
class PartitionProducers:
    """The producers that wrote to one partition, by producer id."""

    by_id: dict[int, ProducerOnPartition] = field(default_factory=dict)

    def check(self, producer_id: int, epoch: int, first_sequence: int, last_sequence: int) -> BatchMetadata | None:
        """None where the batch is the next one; the batch as it was written first where this is a repetition.

        Raises ApiError: INVALID_PRODUCER_EPOCH for an epoch that was overtaken, OUT_OF_ORDER_SEQUENCE_NUMBER for a gap
        and for a repetition that is no longer remembered. A producer that is not known may start anywhere, as in Kafka.
        """
        producer = self.by_id.get(producer_id)
        if producer is None:
            return None
        if epoch < producer.epoch:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id} has epoch {epoch}, but {producer.epoch} was seen",
            )
        if epoch > producer.epoch:
            if first_sequence != 0:
                raise ApiError(
                    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                    f"producer {producer_id} starts epoch {epoch} with sequence {first_sequence}, 0 is next",
                )
            return None
        for batch in producer.batches:
            if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
                return batch
        if producer.batches:
            following = (producer.batches[-1].last_sequence + 1) % SEQUENCES
            if first_sequence != following:
                raise ApiError(
                    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                    f"producer {producer_id} sent sequence {first_sequence}, {following} is next",
                )
        return None

    def note(self, producer_id: int, epoch: int, written: BatchMetadata, timestamp_ms: int) -> None:
        """Remember a batch that was appended, with the newest timestamp in it."""
        producer = self.by_id.get(producer_id)
        if producer is None:
            producer = self.by_id[producer_id] = ProducerOnPartition(epoch)
        elif producer.epoch != epoch:
            producer.epoch = epoch
            producer.batches.clear()
        producer.batches.append(written)
        producer.last_ms = timestamp_ms


def recover(log: PartitionLog) -> PartitionProducers:
    """What a partition knows of its producers, read from the batches in its log.

    It equals what was there while they were written, as long as the log still has the last five of each.
    """
    producers = PartitionProducers()
    if not len(log):
        return producers
    from protocol.records import TimestampType, iter_batches

    for batch in log.batches(log.start_offset):
        for header in iter_batches(batch.data):
            if header.producer_id < 0 or header.is_control:
                continue
            append_time_ms = header.max_timestamp if header.timestamp_type is TimestampType.LOG_APPEND_TIME else NO_TIME
            written = BatchMetadata(header.base_sequence, header.last_sequence, header.base_offset, append_time_ms)
            producers.note(header.producer_id, header.producer_epoch, written, header.max_timestamp)
    return producers


@dataclass(slots=True, eq=False)
class Producers:
    """Hands out producer ids, and epochs to those that ask with a transactional id."""

    writer: ImageWriter
    _blocks: dict[int, tuple[int, int]] = field(default_factory=dict)  # by broker: the next id, the end of its block
    _last_epochs: dict[str, int] = field(default_factory=dict)  # by transactional id; Kafka does not keep it either

    def new_id(self, broker_id: int = 0, broker_epoch: int = 0) -> int:
        """An id of the broker's block; a new block begins where it has none or has used it up."""
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
        """A broker that stops loses what is left of its block."""
        self._blocks.pop(broker_id, None)

    def initialise(
        self,
        transactional_id: str | None,
        timeout_ms: int,
        present: tuple[int, int] | None = None,
        *,
        broker_id: int = 0,
        broker_epoch: int = 0,
        now_ms: int = 0,
    ) -> tuple[int, int]:
        """The producer id and epoch to use from now on.

        Without a transactional id a fresh pair, epoch 0. With one, the same id and the next epoch, which fences the
        producer before.

        Args:
            present: the producer id and epoch that the producer has, where it continues after an error (KIP-360).
                The pair before the present one is a retry, whose answer was lost: it gets the present one again.
            broker_id, broker_epoch: the broker that was asked, from whose block a new id comes.

        Raises ApiError: PRODUCER_FENCED where another producer took over, or had the transactional id all along.
        Source: TransactionCoordinator.prepareInitProducerIdTransit, TransactionMetadata.prepareIncrementProducerEpoch
        and prepareProducerIdRotation, Apache Kafka 4.4.
        """
        if transactional_id is None:
            return (self.new_id(broker_id, broker_epoch), 0)
        known = self.writer.image.transactions.get(transactional_id)
        if known is None:
            given = self.new_id(broker_id, broker_epoch)
            self._write(transactional_id, given, 0, timeout_ms, now_ms)
            return (given, 0)
        last_epoch = self._last_epochs.get(transactional_id, NO_EPOCH)
        if present is not None and not may_continue(known, last_epoch, *present):
            raise ApiError(
                ErrorCode.PRODUCER_FENCED,
                f"expected producer id {known.producer_id} and epoch {known.producer_epoch} of {transactional_id}, "
                f"got {present[0]} and {present[1]}",
            )
        if present is not None and present[1] != known.producer_epoch:
            return (known.producer_id, known.producer_epoch)  # a retry
        self._last_epochs[transactional_id] = known.producer_epoch if present is not None else NO_EPOCH
        given, next_epoch, previous_id = known.producer_id, known.producer_epoch + 1, known.previous_producer_id
        if known.producer_epoch >= EXHAUSTED_EPOCH:
            given, next_epoch, previous_id = self.new_id(broker_id, broker_epoch), 0, known.producer_id
        self._write(transactional_id, given, next_epoch, timeout_ms, now_ms, previous_id)
        return (given, next_epoch)

    def _write(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        timeout_ms: int,
        now_ms: int,
        previous_id: int = NO_PRODUCER_ID,
    ) -> None:
        from mockbroker.state.image.coordinator_records import CoordinatorRecord
        from protocol.embedded.transaction_log import TransactionLogKey, TransactionLogValue

        value = TransactionLogValue(
            producer_id=producer_id,
            previous_producer_id=previous_id,
            producer_epoch=epoch,
            transaction_timeout_ms=timeout_ms,
            transaction_status=EMPTY_TRANSACTION,
            transaction_partitions=None,
            transaction_last_update_timestamp_ms=now_ms,
            transaction_start_timestamp_ms=NO_TIME,
        )
        self.writer.commit([CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id), value)])


def may_continue(known: TransactionLogValue, last_epoch: int, producer_id: int, epoch: int) -> bool:
    """Whether a producer that names this pair is the present one, or retries what was answered before.

    Args:
        last_epoch: the epoch before a producer continued with the next, -1 where a new producer took over.
    """
    if producer_id != known.producer_id and not (
        producer_id == known.previous_producer_id and epoch >= EXHAUSTED_EPOCH
    ):
        return False
    return epoch in (known.producer_epoch, last_epoch)
