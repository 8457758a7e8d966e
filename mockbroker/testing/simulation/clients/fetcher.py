"""What a consumer reads: from the leader or from a replica in its own rack, committed records or all, in order.

Source: Fetcher, FetchCollector and OffsetsForLeaderEpochClient, Apache Kafka 4.4; KIP-98, KIP-320, KIP-392.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from kafka_rack.consistency import Poll, Read, Seek
from mockbroker.testing.simulation.clients.client import (
    NO_LEADER,
    REQUEST_TIMEOUT_MS,
    Client,
    ConnectionLostError,
    TopicPartition,
)
from mockbroker.testing.simulation.scheduler import Future
from protocol.apis.fetch import FetchRequest
from protocol.apis.leader_epochs import OffsetForLeaderEpochRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.error_codes import ErrorCode
from protocol.records import ControlType, Record, control_type, iter_batch_records, iter_batches

Isolation = Literal["read_uncommitted", "read_committed"]
TOPIC_ID_VERSION = 13
MAX_WAIT_MS = 500
MAX_BYTES, MAX_PARTITION_BYTES = 1 << 20, 4096
EARLIEST = -2
CONSUMER = -1
PREFERRED_FOR_MS = 20_000  # until the leader is asked again whom to read from

EPOCH_AT, EPOCH_ENDS = 12, 16  # where a batch has its leader epoch

OnRecords = Callable[[TopicPartition, list[Record], int], None]


@dataclass(slots=True)
class FetchPosition:
    """Where a consumer is in a partition: the next offset, and the leader epoch of the last record before it.

    ``is_checked`` says that the log of leader epoch ``checked_epoch`` has that record too. ``preferred`` is the replica
    to read from in place of the leader, until ``preferred_until_ms``.
    """

    offset: int
    epoch: int = -1
    checked_epoch: int = -1
    high_watermark: int = -1
    preferred: int = NO_LEADER
    preferred_until_ms: int = 0


class Fetcher:
    """Reads the partitions of ``positions``; whoever owns it puts them there and takes them away.

    Args:
        isolation_level: what is shown.
        on_records: gets the records of each batch as they are read, without markers, and the batch's leader epoch.
    """

    def __init__(self, client: Client, isolation_level: Isolation, on_records: OnRecords) -> None:
        self.client, self.isolation_level, self._on_records = client, isolation_level, on_records
        self.positions: dict[TopicPartition, FetchPosition] = {}

    async def run_round(self) -> None:
        """Fetch once from every broker that has something to be read, and wait for their answers."""
        client = self.client
        if client.is_metadata_old():
            await client.refresh()
        await self._check_positions()
        by_broker: dict[int, list[TopicPartition]] = {}
        for place, position in self.positions.items():
            broker = self._broker_for(place, position)
            if broker != NO_LEADER:
                by_broker.setdefault(broker, []).append(place)
        if len(by_broker) == 0:
            await client.refresh()
            await client.back_off(1)
            return
        sent = [(broker, places, self._send(broker, places)) for broker, places in by_broker.items()]
        must_refresh = False
        for broker, places, (answer, asked_at, offsets, request_version) in sent:
            await client.answered(broker, answer, MAX_WAIT_MS + REQUEST_TIMEOUT_MS)
            try:
                response = answer.result
            except ConnectionLostError:
                for place in places:
                    if place in self.positions:
                        self.positions[place].preferred = NO_LEADER
                must_refresh = True
                continue
            if response.error_code:
                must_refresh = True
            for topic in response.responses:
                name = topic.topic if request_version < TOPIC_ID_VERSION else client.name_of(topic.topic_id)
                for entry in topic.partitions:
                    read = (str(name), int(entry.partition_index))
                    if read in self.positions and self.positions[read].offset == offsets.get(read):
                        must_refresh = await self._take(broker, read, entry, asked_at) or must_refresh
        if must_refresh:
            await client.refresh()
            await client.back_off()

    def _broker_for(self, place: TopicPartition, position: FetchPosition) -> int:
        leader = self.client.leader_of(place)
        if position.epoch >= 0 and position.checked_epoch < self.client.epoch_of(place):
            return NO_LEADER  # its log may lack what was read
        if position.preferred != NO_LEADER:
            if self.client.now_ms < position.preferred_until_ms and position.preferred in self.client.broker_racks:
                return position.preferred
            position.preferred = NO_LEADER
        return leader

    def _send(
        self, broker: int, places: list[TopicPartition]
    ) -> tuple[Future[Any], int, dict[TopicPartition, int], int]:
        client = self.client
        version = client.version_of(FetchRequest)
        topics: dict[str, Any] = {}
        offsets = {}
        for place in places:
            name, index = place
            position = self.positions[place]
            offsets[place] = position.offset
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = FetchRequest.Topic()
                if version >= TOPIC_ID_VERSION:
                    topic.topic_id = client.topics[name].id
                else:
                    topic.topic = name
            topic.partitions.append(
                FetchRequest.Topic.Partition(
                    partition=index,
                    fetch_offset=position.offset,
                    current_leader_epoch=client.epoch_of(place),
                    partition_max_bytes=MAX_PARTITION_BYTES,
                )
            )
        request = FetchRequest(
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=MAX_BYTES,
            isolation_level=int(self.isolation_level == "read_committed"),
            topics=list(topics.values()),
            rack_id=client.rack,
        )
        return client.send(broker, request, version=version), client.now_ms, offsets, version

    async def _take(self, broker: int, place: TopicPartition, entry: Any, asked_at: int) -> bool:
        """Take in what a partition gave; whether metadata may be old."""
        client, position = self.client, self.positions[place]
        error = ErrorCode(entry.error_code)
        if error is ErrorCode.OFFSET_OUT_OF_RANGE:
            if broker != client.leader_of(place):
                position.preferred = NO_LEADER
                return False
            await self.reset(place)
            return False
        if error is not ErrorCode.NONE:
            position.preferred = NO_LEADER
            return True
        if entry.preferred_read_replica >= 0:
            position.preferred = entry.preferred_read_replica
            position.preferred_until_ms = client.now_ms + PREFERRED_FOR_MS
            return False
        position.high_watermark = entry.high_watermark
        reads = []
        for epoch, records in self._visible(position, entry):
            reads += [Read(*place, record.offset, record.value, is_control=record.is_control) for record in records]
            if not records[0].is_control:
                self._on_records(place, records, epoch)
        if reads:
            client.world.history.add(
                Poll(client.name, reads, asked_at, client.now_ms, isolation_level=self.isolation_level)
            )
        return False

    def _visible(self, position: FetchPosition, entry: Any) -> list[tuple[int, list[Record]]]:
        """The leader epoch and the records of each batch from the position on, which moves behind them.

        Those of aborted transactions are left out for a reader of committed records.
        """
        data = entry.records or b""
        aborted = sorted(entry.aborted_transactions or (), key=lambda one: one.first_offset)
        is_committed = self.isolation_level == "read_committed"
        open_aborted: dict[int, None] = {}
        found: list[tuple[int, list[Record]]] = []
        for header in iter_batches(data):
            if header.partial or header.last_offset < position.offset:
                continue
            while aborted and aborted[0].first_offset <= header.last_offset:
                open_aborted[aborted.pop(0).producer_id] = None
            records = list(iter_batch_records(data, header))
            epoch = int.from_bytes(data[header.position + EPOCH_AT : header.position + EPOCH_ENDS])
            is_aborted = is_committed and header.is_transactional and header.producer_id in open_aborted
            if header.is_control and control_type(records[0]) is ControlType.ABORT:
                open_aborted.pop(header.producer_id, None)
            if not is_aborted or header.is_control:
                new = [record for record in records if record.offset >= position.offset]
                if new:
                    found.append((epoch, new))
            position.offset, position.epoch = header.last_offset + 1, epoch
        return found

    async def reset(self, place: TopicPartition) -> None:
        """Go back to the start of a partition, for its position is not in the log."""
        client = self.client
        name, index = place
        partition = ListOffsetsRequest.Topic.Partition(
            partition_index=index, timestamp=EARLIEST, current_leader_epoch=client.epoch_of(place)
        )
        request = ListOffsetsRequest(
            replica_id=CONSUMER, topics=[ListOffsetsRequest.Topic(name=name, partitions=[partition])]
        )
        leader = client.leader_of(place)
        position = self.positions.get(place)
        if leader == NO_LEADER or position is None:
            return
        try:
            answer = await client.ask(leader, request, version=min(9, client.version_of(ListOffsetsRequest)))
        except ConnectionLostError:
            return
        entry = answer.topics[0].partitions[0]
        if entry.error_code == 0 and self.positions.get(place) is position:
            self._seek(place, position, entry.offset, entry.leader_epoch)

    def _seek(self, place: TopicPartition, position: FetchPosition, offset: int, epoch: int) -> None:
        self.client.world.history.add(Seek(self.client.name, place[0], place[1], self.client.now_ms, offset))
        position.offset, position.epoch, position.preferred = offset, epoch, NO_LEADER

    async def _check_positions(self) -> None:
        """Ask new leaders whether their logs have what was read; where they end before, go back (KIP-320)."""
        client = self.client
        for place, position in list(self.positions.items()):
            epoch = client.epoch_of(place)
            if position.epoch < 0 or epoch <= position.checked_epoch:
                continue
            leader = client.leader_of(place)
            if leader == NO_LEADER:
                continue
            partition = OffsetForLeaderEpochRequest.Topic.Partition(
                partition=place[1], current_leader_epoch=epoch, leader_epoch=position.epoch
            )
            topics = [OffsetForLeaderEpochRequest.Topic(topic=place[0], partitions=[partition])]
            try:
                answer = await client.ask(leader, OffsetForLeaderEpochRequest(replica_id=CONSUMER, topics=topics))
            except ConnectionLostError:
                await client.refresh()
                continue
            entry = answer.topics[0].partitions[0]
            if self.positions.get(place) is not position:
                continue
            if entry.error_code:
                await client.refresh()
                continue
            position.checked_epoch = epoch
            if 0 <= entry.end_offset < position.offset:
                self._seek(place, position, entry.end_offset, entry.leader_epoch)
