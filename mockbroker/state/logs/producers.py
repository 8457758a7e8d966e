"""Producer ids, and the sequence numbers that make a resent batch harmless.

Each partition remembers the last five batches of every producer. Source: KIP-98, KIP-360;
ProducerStateManager, Apache Kafka.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

REMEMBERED_BATCHES = 5
SEQUENCES = 2**31  # sequence numbers run from 0 to 2**31 - 1 and start again
NO_PRODUCER_ID = -1
NO_EPOCH = -1
EXHAUSTED_EPOCH = 2**15 - 2  # after it a transactional id gets a new producer id


class WrittenBatch(NamedTuple):
    """A batch that was appended: its sequence numbers, both ends counted, and where it went."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    append_time_ms: int


@dataclass(slots=True)
class ProducerOnPartition:
    """What a partition knows of one producer."""

    epoch: int
    batches: deque[WrittenBatch] = field(default_factory=lambda: deque(maxlen=REMEMBERED_BATCHES))
    last_ms: int = 0


@dataclass(slots=True, eq=False)
class PartitionProducers:
    """The producers that wrote to one partition, by producer id."""

    by_id: dict[int, ProducerOnPartition] = field(default_factory=dict)

    def check(self, producer_id: int, epoch: int, first_sequence: int, last_sequence: int) -> WrittenBatch | None:
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

    def note(self, producer_id: int, epoch: int, written: WrittenBatch, now_ms: int) -> None:
        """Remember a batch that was appended."""
        producer = self.by_id.get(producer_id)
        if producer is None:
            producer = self.by_id[producer_id] = ProducerOnPartition(epoch)
        elif producer.epoch != epoch:
            producer.epoch = epoch
            producer.batches.clear()
        producer.batches.append(written)
        producer.last_ms = now_ms

    def forget_idle(self, before_ms: int) -> None:
        """Forget the producers that wrote nothing since a time (``producer.id.expiration.ms``)."""
        for producer_id in [key for key, producer in self.by_id.items() if producer.last_ms < before_ms]:
            del self.by_id[producer_id]


@dataclass(slots=True)
class TransactionalProducer:
    """The producer id and epoch that a transactional id has at present, and the pair that a retry may name.

    ``last_epoch`` is the epoch before a producer continued with the next, -1 where a new producer took over;
    ``previous_producer_id`` the id before its epochs were used up.
    """

    producer_id: int
    epoch: int
    timeout_ms: int
    last_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID

    def may_continue(self, producer_id: int, epoch: int) -> bool:
        """Whether a producer that names this pair is the present one, or retries what was answered before."""
        if producer_id != self.producer_id and not (
            producer_id == self.previous_producer_id and epoch >= EXHAUSTED_EPOCH
        ):
            return False
        return epoch in (self.epoch, self.last_epoch)


@dataclass(slots=True, eq=False)
class Producers:
    """Hands out producer ids, and epochs to those that ask with a transactional id."""

    next_id: int = 1000
    by_transactional_id: dict[str, TransactionalProducer] = field(default_factory=dict)

    def new_id(self) -> int:
        given = self.next_id
        self.next_id += 1
        return given

    def initialise(
        self, transactional_id: str | None, timeout_ms: int, present: tuple[int, int] | None = None
    ) -> tuple[int, int]:
        """The producer id and epoch to use from now on.

        Without a transactional id a fresh pair, epoch 0. With one, the same id and the next epoch, which fences the
        producer before.

        Args:
            present: the producer id and epoch that the producer has, where it continues after an error (KIP-360).
                The pair before the present one is a retry, whose answer was lost: it gets the present one again.

        Raises ApiError: PRODUCER_FENCED where another producer took over, or had the transactional id all along.
        Source: TransactionCoordinator.prepareInitProducerIdTransit, TransactionMetadata.prepareIncrementProducerEpoch
        and prepareProducerIdRotation, Apache Kafka 4.4.
        """
        if transactional_id is None:
            return (self.new_id(), 0)
        known = self.by_transactional_id.get(transactional_id)
        if known is None:
            known = TransactionalProducer(self.new_id(), 0, timeout_ms)
            self.by_transactional_id[transactional_id] = known
            return (known.producer_id, known.epoch)
        if present is not None and not known.may_continue(*present):
            raise ApiError(
                ErrorCode.PRODUCER_FENCED,
                f"{transactional_id} has producer id {known.producer_id} and epoch {known.epoch}, got {present}",
            )
        known.timeout_ms = timeout_ms
        if present is not None and present[1] != known.epoch:
            return (known.producer_id, known.epoch)  # a retry
        known.last_epoch = known.epoch if present is not None else NO_EPOCH
        if known.epoch >= EXHAUSTED_EPOCH:
            known.previous_producer_id, known.producer_id, known.epoch = known.producer_id, self.new_id(), 0
        else:
            known.epoch += 1
        return (known.producer_id, known.epoch)
