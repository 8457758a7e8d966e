"""Consume, transform, produce: each input record leads to one output record, in transactions with the input's offsets.

Source: TransactionManager, Apache Kafka 4.4; KIP-98, KIP-360, KIP-447, KIP-890.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from kafka_rack.consistency import Seek, Transaction
from mockbroker.testing.simulation.clients.client import TRANSACTION, Client, ConnectionLostError, TopicPartition
from mockbroker.testing.simulation.clients.fetcher import Fetcher
from mockbroker.testing.simulation.clients.group_offsets import committed_positions, grouped
from mockbroker.testing.simulation.clients.membership import LOST_MEMBERSHIP, Membership, error_of
from mockbroker.testing.simulation.clients.sender import Sender
from mockbroker.testing.simulation.history import CommittedOffset
from protocol.apis.produce import ProduceRequest
from protocol.apis.producer_ids import InitProducerIdRequest
from protocol.apis.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    TxnOffsetCommitRequest,
)
from protocol.error_codes import ErrorCode
from protocol.records import CompressionCodec, Record

BUMPING_VERSION = 5  # of EndTxn, whose answers have the next epoch
CONTINUING_VERSION = 3  # of InitProducerId, which takes the id and the epoch that there were (KIP-360)
MEMBERS_VERSION = 3  # of TxnOffsetCommit, which says as which member of the group (KIP-447)
IMPLICIT_VERSION = 12  # of Produce, which adds partitions to the transaction by itself
MAX_RECORDS = 6
SEPARATOR = b"|"


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """What a pipeline is set to. ``transaction_version`` 1 adds partitions and offsets by requests of their own."""

    source: str
    target: str
    group: str
    transactional_id: str
    transaction_timeout_ms: int = 12_000
    transaction_version: Literal[1, 2] = 2
    abort_share: float = 0.1


class InputRecord(NamedTuple):
    """A record that was read, with the leader epoch of its batch."""

    place: TopicPartition
    offset: int
    value: bytes
    epoch: int


class TransactionFailedError(Exception):
    """The transaction cannot be committed; ``is_fenced`` says that the producer has to begin anew."""

    def __init__(self, code: ErrorCode, *, is_fenced: bool = False) -> None:
        super().__init__(code, is_fenced)
        self.code, self.is_fenced = code, is_fenced


FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_ID_MAPPING})


class Pipeline:
    """Works for as long as the client lives, or until a successor with its transactional id has fenced it."""

    def __init__(self, client: Client, settings: PipelineSettings) -> None:
        self.client, self.settings = client, settings
        if settings.transaction_version == 1:
            client.versions |= {
                ProduceRequest: IMPLICIT_VERSION - 1,
                EndTxnRequest: BUMPING_VERSION - 1,
                TxnOffsetCommitRequest: 3,
                AddOffsetsToTxnRequest: 3,
            }
        client.versions[AddPartitionsToTxnRequest] = 3
        client.versions[InitProducerIdRequest] = 5
        client.versions.setdefault(TxnOffsetCommitRequest, 5)
        self.membership = Membership(client, settings.group, (settings.source,))
        self.fetcher = Fetcher(client, "read_committed", self._read)
        self.sender = Sender(
            client,
            transactional_id=settings.transactional_id,
            on_fenced=lambda code: None,
            codec=CompressionCodec.LZ4,
        )
        self.is_replaced = self._is_busy = False
        self.transactions = self.aborted = 0
        self._reads_as = (-1, "")  # the generation and the member id under which records were read
        self._buffered: list[InputRecord] = []
        self._added: dict[TopicPartition, None] = {}
        self._committing: tuple[Any, int] | None = None  # the transaction whose commit was asked for, and since when

    @property
    def is_done(self) -> bool:
        return not self._buffered and not self._is_busy

    def progress(self) -> str:
        where = ", ".join(f"{n}-{i} at {position.offset}" for (n, i), position in self.fetcher.positions.items())
        state = f"generation {self.membership.generation}" if self.membership.is_stable else "joining"
        return f"{self.transactions} transactions, {self.aborted} of them aborted; {state}; {where or 'no partitions'}"

    def forsake(self) -> None:
        """The client ends: nobody will know what became of what is not acknowledged."""
        self.sender.forsake()
        if self._committing is not None:
            client, (number, begun_at) = self.client, self._committing
            client.world.history.add(Transaction(client.name, number, "unknown", begun_at, client.now_ms))

    @property
    def _is_old_way(self) -> bool:
        return self.client.version_of(EndTxnRequest) < BUMPING_VERSION

    async def run(self) -> None:
        client, membership = self.client, self.membership
        await client.start()
        await client.know(self.settings.source, self.settings.target)
        await self._begin_producer()
        client.spawn(membership.keep_alive())
        client.spawn(self.sender.run())
        while True:
            if not membership.is_stable:
                self.fetcher.positions.clear()
                self._buffered.clear()
                await membership.join()
                await self._go_back()
                continue
            if self.fetcher.positions:
                await self.fetcher.run_round()
            else:
                await client.wait(membership.changed.wait(), 500)
            if self._buffered:
                self._is_busy = True
                goes_on = await self._transact()
                self._is_busy = False
                if not goes_on:
                    return

    def _read(self, place: TopicPartition, records: list[Record], epoch: int) -> None:
        self._buffered += [InputRecord(place, record.offset, record.value or b"", epoch) for record in records]

    async def _go_back(self) -> None:
        """Go on from the offsets that the group has committed."""
        membership, client = self.membership, self.client
        while membership.is_stable:
            generation = membership.generation
            self.fetcher.positions.clear()
            self._buffered.clear()
            try:
                found = await committed_positions(client, membership, membership.assigned, require_stable=True)
            except ConnectionLostError:
                await client.back_off()
                continue
            if found is not None and membership.is_in(generation):
                for place, position in found.items():
                    client.world.history.add(Seek(client.name, *place, client.now_ms, position.offset))
                self.fetcher.positions.update(found)
                self._reads_as = (generation, membership.member_id)
                return

    async def _begin_producer(self, *, continues: bool = False) -> None:
        """Get an id and an epoch; what another producer of this transactional id had open is aborted."""
        attempt = 0
        while True:
            request = InitProducerIdRequest(
                transactional_id=self.settings.transactional_id,
                transaction_timeout_ms=self.settings.transaction_timeout_ms,
            )
            if continues and self.client.version_of(InitProducerIdRequest) >= CONTINUING_VERSION:
                request.producer_id, request.producer_epoch = self.sender.producer_id, self.sender.epoch
            try:
                answer = await self._ask(lambda request=request: request)  # type: ignore[misc]
            except ConnectionLostError:
                await self.client.back_off(attempt)
                attempt += 1
                continue
            if answer.error_code == ErrorCode.NONE:
                self.sender.begin_epoch(answer.producer_id, answer.producer_epoch)
                return
            continues = False
            await self.client.back_off(attempt)
            attempt += 1

    async def _ask(self, make: Callable[[], Any], get_error: Callable[[Any], int] = error_of) -> Any:
        """Ask the transaction coordinator. Raises ConnectionLostError."""
        return await self.client.ask_coordinator(
            self.settings.transactional_id,
            make,
            get_error,
            kind=TRANSACTION,
            also_retry=(ErrorCode.CONCURRENT_TRANSACTIONS,),
        )

    async def _ask_again(self, make: Callable[[], Any], get_error: Callable[[Any], int] = error_of) -> ErrorCode:
        """The same, over and over until there is an answer; gives its error."""
        attempt = 0
        while True:
            try:
                return ErrorCode(get_error(await self._ask(make, get_error)))
            except ConnectionLostError:
                await self.client.back_off(attempt)
                attempt += 1

    # one transaction

    async def _transact(self) -> bool:
        """Write what the buffered records lead to, and commit; False once a successor has fenced the producer."""
        client = self.client
        taken, self._buffered = self._buffered[:MAX_RECORDS], self._buffered[MAX_RECORDS:]
        self.transactions += 1
        self._added.clear()
        number = (self.settings.transactional_id, client.name, self.transactions)
        client.world.history.add(Transaction(client.name, number, "open", client.now_ms))
        wants_commit = client.rng.random() >= self.settings.abort_share
        try:
            await self._write(taken, number)
            await self._commit_offsets(taken)
            await self._end(number, is_commit=wants_commit)
        except TransactionFailedError as failed:
            self.aborted += 1
            await self.sender.abandon()
            if failed.is_fenced:
                if self.is_replaced:
                    return False
                await self._begin_producer()
            else:
                await self._abort(number)
            await self._go_back()
            return True
        if not wants_commit:
            self.aborted += 1
            await self._go_back()
        return True

    async def _write(self, taken: list[InputRecord], number: Any) -> None:
        client, target = self.client, self.settings.target
        await client.know(target)  # a broker that has just started may have denied that there is such a topic
        count = len(client.topics[target].leaders)
        by_place: dict[TopicPartition, list[bytes]] = {}
        for record in taken:
            value = SEPARATOR.join((record.value, f"{client.name} {self.transactions}".encode()))
            by_place.setdefault((target, (record.place[1] + record.offset) % count), []).append(value)
        if self._is_old_way:
            await self._add_partitions([place for place in by_place if place not in self._added])
        batches = [self.sender.add(place, values, number) for place, values in by_place.items()]
        for batch in batches:
            code = await batch.done
            if code not in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                raise TransactionFailedError(code, is_fenced=code in FENCED)

    async def _add_partitions(self, places: list[TopicPartition]) -> None:
        topics = [
            AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in grouped(tuple(places)).items()
        ]
        code = await self._ask_again(
            lambda: AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.settings.transactional_id,
                v3_and_below_producer_id=self.sender.producer_id,
                v3_and_below_producer_epoch=self.sender.epoch,
                v3_and_below_topics=topics,
            ),
            lambda answer: next(
                (
                    one.partition_error_code
                    for topic in answer.results_by_topic_v3_and_below
                    for one in topic.results_by_partition
                    if one.partition_error_code not in (0, ErrorCode.OPERATION_NOT_ATTEMPTED)
                ),
                0,
            ),
        )
        if code is not ErrorCode.NONE:
            raise TransactionFailedError(code, is_fenced=code in FENCED)
        self._added.update(dict.fromkeys(places))

    async def _commit_offsets(self, taken: list[InputRecord]) -> None:
        client, membership, sender = self.client, self.membership, self.sender
        if self._is_old_way:
            code = await self._ask_again(
                lambda: AddOffsetsToTxnRequest(
                    transactional_id=self.settings.transactional_id,
                    producer_id=sender.producer_id,
                    producer_epoch=sender.epoch,
                    group_id=self.settings.group,
                )
            )
            if code is not ErrorCode.NONE:
                raise TransactionFailedError(code, is_fenced=code in FENCED)
        offsets = {record.place: (record.offset + 1, record.epoch) for record in taken}
        kind = TxnOffsetCommitRequest.Topic
        topics = [
            kind(
                name=name,
                partitions=[
                    kind.Partition(
                        partition_index=index,
                        committed_offset=offsets[name, index][0],
                        committed_leader_epoch=offsets[name, index][1],
                        committed_metadata="",
                    )
                    for index in indexes
                ],
            )
            for name, indexes in grouped(tuple(offsets)).items()
        ]
        generation, member_id = self._reads_as
        asked_at = client.now_ms
        request = TxnOffsetCommitRequest(
            transactional_id=self.settings.transactional_id,
            group_id=self.settings.group,
            producer_id=sender.producer_id,
            producer_epoch=sender.epoch,
            topics=topics,
        )
        if client.version_of(TxnOffsetCommitRequest) >= MEMBERS_VERSION:
            request.generation_id_or_member_epoch, request.member_id = generation, member_id
        attempt = 0
        while True:
            try:
                answer = await client.ask_coordinator(
                    self.settings.group, lambda: request, first_error, also_retry=(ErrorCode.CONCURRENT_TRANSACTIONS,)
                )
                break
            except ConnectionLostError:
                await client.back_off(attempt)
                attempt += 1
        code = ErrorCode(first_error(answer))
        if code in LOST_MEMBERSHIP or code is ErrorCode.REBALANCE_IN_PROGRESS:
            if membership.is_in(generation):
                membership.lost(code)
            raise TransactionFailedError(code)
        if code is not ErrorCode.NONE:
            raise TransactionFailedError(code, is_fenced=code in FENCED)
        for (name, index), (offset, _) in offsets.items():
            client.world.history.commits.append(
                CommittedOffset(
                    client.name, self.settings.group, generation, name, index, offset, asked_at, client.now_ms
                )
            )

    async def _end(self, number: Any, *, is_commit: bool) -> None:
        """End the transaction; a lost answer is asked for again. What came of it stands in the history."""
        client, sender = self.client, self.sender
        begun_at = client.now_ms
        request = EndTxnRequest(
            transactional_id=self.settings.transactional_id,
            producer_id=sender.producer_id,
            producer_epoch=sender.epoch,
            committed=is_commit,
        )
        answers: list[Any] = []

        def note(answer: Any) -> int:
            answers.append(answer)
            return error_of(answer)

        self._committing = (number, begun_at) if is_commit else None
        code = await self._ask_again(lambda: request, note)
        self._committing = None
        is_ended = code is ErrorCode.NONE
        ending: Any = ("committed" if is_commit else "aborted") if is_ended else "unknown"
        client.world.history.add(Transaction(client.name, number, ending, begun_at, client.now_ms))
        if not is_ended:
            raise TransactionFailedError(code, is_fenced=True)
        if self._is_old_way:
            if not is_commit:
                await self._begin_producer(continues=True)
        else:
            sender.begin_epoch(answers[-1].producer_id, answers[-1].producer_epoch)

    async def _abort(self, number: Any) -> None:
        try:
            await self._end(number, is_commit=False)
        except TransactionFailedError:
            if not self.is_replaced:
                await self._begin_producer()


def first_error(answer: Any) -> int:
    """The first error of an answer that has one for each partition."""
    return next((int(one.error_code) for topic in answer.topics for one in topic.partitions if one.error_code), 0)
