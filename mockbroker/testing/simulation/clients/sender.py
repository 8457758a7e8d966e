"""What a producer sends, in which order and how often: batches by partition, pipelined, resent until they are there.

An idempotent producer's batches have sequence numbers. Behind a batch that has to be sent again no other goes out until
it is there, and what the broker refused as out of order meanwhile follows in its turn. A batch whose time is up has an
unknown fate; then nothing is sent until all answers are there, and the producer goes on in the next epoch.
Source: RecordAccumulator, Sender and TransactionManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kafka_rack.consistency import Send
from kafka_rack.consistency.history import Outcome
from mockbroker.testing.simulation.clients.client import (
    NO_LEADER,
    REQUEST_TIMEOUT_MS,
    Client,
    ConnectionLostError,
    TopicPartition,
)
from mockbroker.testing.simulation.scheduler import Future, Signal
from protocol.apis.produce import ProduceRequest
from protocol.error_codes import ErrorCode
from protocol.records import CompressionCodec, Record, build_batch

NO_SEQUENCE = -1
ALL, LEADER_ONLY, NOBODY = -1, 1, 0
TOPIC_ID_VERSION = 13
FENCED = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    }
)


@dataclass(slots=True, eq=False)
class ProducerBatch:
    """Records on their way to a partition. ``attempts`` counts how often it was sent."""

    place: TopicPartition
    values: list[bytes]
    begun_at: int
    transaction: Any = None
    sequence: int = NO_SEQUENCE
    epoch: int = -1
    attempts: int = 0
    not_before_ms: int = 0
    done: Future[ErrorCode] = field(default_factory=Future)


@dataclass(slots=True, eq=False)
class PartitionQueue:
    """The batches for one partition: those to be sent, in order, and those whose answers have not come."""

    place: TopicPartition
    waiting: list[ProducerBatch] = field(default_factory=list)
    in_flight: list[ProducerBatch] = field(default_factory=list)
    next_sequence: int = 0
    acknowledged_sequence: int = 0  # the one after the last that was acknowledged

    def next_batch(self, now_ms: int, *, is_ordered: bool) -> ProducerBatch | None:
        """The batch that may go out now."""
        if not self.waiting:
            return None
        first = self.waiting[0]
        if first.not_before_ms > now_ms:
            return None
        if is_ordered and first.attempts and any(one.sequence < first.sequence for one in self.in_flight):
            return None
        return first

    def put_back(self, batch: ProducerBatch) -> None:
        """Have a batch sent again, in its place."""
        later = (index for index, one in enumerate(self.waiting) if one.attempts == 0 or one.sequence > batch.sequence)
        self.waiting.insert(next(later, len(self.waiting)), batch)


class Sender:
    """Sends a client's batches.

    Args:
        acks: -1, 1 or 0.
        is_idempotent: with sequence numbers; ``producer_id`` and ``epoch`` are set before anything is sent.
        max_in_flight: requests on the way to one broker.
        delivery_timeout_ms: after which a batch is given up, None for never.
    """

    def __init__(
        self,
        client: Client,
        *,
        acks: int = ALL,
        is_idempotent: bool = True,
        max_in_flight: int = 5,
        delivery_timeout_ms: int | None = None,
        codec: CompressionCodec = CompressionCodec.NONE,
        transactional_id: str | None = None,
        on_fenced: Callable[[ErrorCode], None] | None = None,
    ) -> None:
        self.client, self.acks, self.is_idempotent = client, acks, is_idempotent
        self.max_in_flight, self.delivery_timeout_ms, self.codec = max_in_flight, delivery_timeout_ms, codec
        self.transactional_id, self._on_fenced = transactional_id, on_fenced
        self.producer_id, self.epoch = -1, -1
        self.queues: dict[TopicPartition, PartitionQueue] = {}
        self.acknowledged = self.unknown = 0
        self._must_bump = self._gives_up = False
        self._wake = Signal()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to be sent or answered."""
        return not any(queue.waiting or queue.in_flight for queue in self.queues.values())

    def add(self, place: TopicPartition, values: list[bytes], transaction: Any = None) -> ProducerBatch:
        """Have these values written to a partition, as one batch."""
        batch = ProducerBatch(place, values, self.client.now_ms, transaction)
        queue = self.queues.get(place)
        if queue is None:
            queue = self.queues[place] = PartitionQueue(place)
        queue.waiting.append(batch)
        self._wake.set()
        return batch

    def begin_epoch(self, producer_id: int, epoch: int) -> None:
        """Go on under this id and epoch, with which sequence numbers begin anew."""
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.producer_id, self.epoch = producer_id, epoch
            for queue in self.queues.values():
                queue.next_sequence = queue.acknowledged_sequence = 0

    def forsake(self) -> None:
        """The client ends: nobody will know what became of what is not acknowledged."""
        for queue in self.queues.values():
            for batch in [*queue.in_flight, *queue.waiting]:
                self._end(batch, "unknown", None, ErrorCode.REQUEST_TIMED_OUT)
            queue.in_flight.clear()
            queue.waiting.clear()

    async def abandon(self) -> None:
        """Give up what has not been acknowledged, once no answer is on its way; some of it may be there."""
        self._gives_up = True
        while not self.is_empty:
            for queue in self.queues.values():
                waiting, queue.waiting = queue.waiting, []
                for batch in waiting:
                    self._end(batch, "unknown" if batch.attempts else "failed", None, ErrorCode.REQUEST_TIMED_OUT)
            if not self.is_empty:
                await self._wake.wait()
        self._gives_up = False

    async def run(self) -> None:
        """Send for as long as the client lives."""
        while True:
            self._expire()
            if self._must_bump and not any(queue.in_flight for queue in self.queues.values()):
                self._bump()
            is_idle = self._must_bump or not self._send_ready()
            wakes = [queue.waiting[0].not_before_ms for queue in self.queues.values() if queue.waiting]
            pause_ms = max(1, min((at - self.client.now_ms for at in wakes if at > self.client.now_ms), default=200))
            if is_idle:
                await self.client.wait(self._wake.wait(), pause_ms)
            if self._needs_metadata():
                await self.client.refresh()

    def _needs_metadata(self) -> bool:
        return self.client.is_metadata_old() or any(
            queue.waiting and self.client.leader_of(queue.place) == NO_LEADER for queue in self.queues.values()
        )

    def _send_ready(self) -> bool:
        """Send each broker one request with what is ready for it; whether anything was sent."""
        by_leader: dict[int, list[ProducerBatch]] = {}
        for queue in self.queues.values():
            batch = queue.next_batch(self.client.now_ms, is_ordered=self.is_idempotent)
            leader = self.client.leader_of(queue.place)
            if batch is not None and leader != NO_LEADER and self.client.in_flight(leader) < self.max_in_flight:
                by_leader.setdefault(leader, []).append(batch)
        for leader, batches in by_leader.items():
            self._send(leader, batches)
        return bool(by_leader)

    def _send(self, leader: int, batches: list[ProducerBatch]) -> None:
        version = self.client.version_of(ProduceRequest)
        topics: dict[str, Any] = {}
        for batch in batches:
            queue = self.queues[batch.place]
            queue.waiting.remove(batch)
            queue.in_flight.append(batch)
            if self.is_idempotent and batch.sequence == NO_SEQUENCE:
                batch.sequence = queue.next_sequence
                queue.next_sequence += len(batch.values)
            batch.attempts += 1
            batch.epoch = self.epoch
            name, index = batch.place
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = ProduceRequest.Topic()
                if version >= TOPIC_ID_VERSION:
                    topic.topic_id = self.client.topics[name].id
                else:
                    topic.name = name
            topic.partition_data.append(ProduceRequest.Topic.Partition(index=index, records=self._encode(batch)))
        request = ProduceRequest(
            transactional_id=self.transactional_id,
            acks=self.acks,
            timeout_ms=REQUEST_TIMEOUT_MS * 4 // 5,
            topic_data=list(topics.values()),
        )
        answer = self.client.send(leader, request, version=version, has_answer=self.acks != NOBODY)
        self.client.spawn(self._answered(leader, answer, batches))

    def _encode(self, batch: ProducerBatch) -> bytes:
        now_ms = self.client.world.scheduler.now_ms + self.client.world.cluster.state.clock.offset_ms
        records = [Record(key=value[:8], value=value, timestamp=now_ms) for value in batch.values]
        if not self.is_idempotent:
            return build_batch(records, codec=self.codec)
        return build_batch(
            records,
            codec=self.codec,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=batch.sequence,
            transactional=self.transactional_id is not None,
        )

    async def _answered(self, leader: int, answer: Future[Any], batches: list[ProducerBatch]) -> None:
        await self.client.answered(leader, answer)
        try:
            response = answer.result
        except ConnectionLostError:
            for batch in batches:
                self._ended(batch, ErrorCode.NETWORK_EXCEPTION, None)
            await self.client.refresh()
            return
        if response is None:
            for batch in batches:
                self._ended(batch, ErrorCode.NONE, None)
            return
        entries = {
            (topic.name or self.client.name_of(topic.topic_id), one.index): one
            for topic in response.responses
            for one in topic.partition_responses
        }
        must_refresh = False
        for batch in batches:
            entry = entries.get(batch.place)
            code = ErrorCode.NETWORK_EXCEPTION if entry is None else ErrorCode(entry.error_code)
            must_refresh = must_refresh or code is not ErrorCode.NONE
            self._ended(batch, code, None if entry is None else entry.base_offset)
        if must_refresh:
            await self.client.refresh()

    def _ended(self, batch: ProducerBatch, code: ErrorCode, offset: int | None) -> None:
        """An attempt has ended."""
        self._wake.set()
        queue = self.queues[batch.place]
        if batch not in queue.in_flight:
            return  # given up meanwhile
        queue.in_flight.remove(batch)
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            queue.acknowledged_sequence = max(queue.acknowledged_sequence, batch.sequence + len(batch.values))
            is_placed = code is ErrorCode.NONE and offset is not None and offset >= 0
            self._end(batch, "acknowledged", offset if is_placed else None, code)
            return
        is_next = batch.sequence == queue.acknowledged_sequence
        if self.is_idempotent and code in FENCED and (code is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER or is_next):
            if self.transactional_id is None:
                self._note_unexpected(batch, code)
                self._must_bump = True
                queue.put_back(batch)
            else:
                self._end(batch, "unknown", None, code)
                assert self._on_fenced is not None
                self._on_fenced(code)
            return
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and batch.sequence < queue.acknowledged_sequence:
            # A new leader that knew nothing of the producer took a later batch, and will never take this one: real
            # clients try until the delivery's time is up.
            self._end(batch, "unknown", None, code)
            if self.transactional_id is None:
                self._must_bump = True
            return
        if not code.retriable and code is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self._note_unexpected(batch, code)
        if self._gives_up:
            self._end(batch, "unknown", None, code)
            return
        batch.not_before_ms = self.client.now_ms + self.client.rng.randint(40, 120)
        queue.put_back(batch)

    def _note_unexpected(self, batch: ProducerBatch, code: ErrorCode) -> None:
        topic, index = batch.place
        answer = f"{self.client.name} was answered {code.name} at {self.client.now_ms} ms"
        what = f"sequence {batch.sequence} of producer {self.producer_id}, epoch {batch.epoch}, to {topic}-{index}"
        self.client.world.history.unexpected.append((topic, f"{answer} for {what}"))

    def _expire(self) -> None:
        """Give up the batches whose time is over, once no answer to them may come."""
        if self.delivery_timeout_ms is None:
            return
        too_old = self.client.now_ms - self.delivery_timeout_ms
        for queue in self.queues.values():
            for batch in [one for one in queue.waiting if one.begun_at < too_old]:
                queue.waiting.remove(batch)
                if batch.attempts and self.is_idempotent:
                    self._must_bump = True
                self._end(batch, "unknown" if batch.attempts else "failed", None, ErrorCode.REQUEST_TIMED_OUT)

    def _bump(self) -> None:
        """Go on in the next epoch; what was sent in this one and not acknowledged may be there or not."""
        self._must_bump = False
        for queue in self.queues.values():
            for batch in [one for one in queue.waiting if one.attempts]:
                queue.waiting.remove(batch)
                self._end(batch, "unknown", None, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        self.begin_epoch(self.producer_id, self.epoch + 1)

    def _end(self, batch: ProducerBatch, outcome: Outcome, offset: int | None, code: ErrorCode) -> None:
        now_ms = self.client.now_ms
        name, index = batch.place
        for number, value in enumerate(batch.values):
            self.client.world.history.add(
                Send(
                    self.client.name,
                    name,
                    index,
                    value,
                    begun_at=batch.begun_at,
                    ended_at=now_ms,
                    outcome=outcome if self.acks != NOBODY else "unknown",
                    offset=None if offset is None else offset + number,
                    transaction=batch.transaction,
                    acks=self.acks,
                    is_idempotent=self.is_idempotent,
                )
            )
        if outcome == "acknowledged":
            self.acknowledged += len(batch.values)
        else:
            self.unknown += len(batch.values)
        batch.done.resolve(code)
