"""An admin that makes, widens, moves and deletes: what it was told is done has to be so at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka_rack.consistency import LogStart
from mockbroker.testing.simulation.clients.client import NO_LEADER, Client, ConnectionLostError
from protocol.apis.leadership import ElectLeadersRequest
from protocol.apis.reassignments import AlterPartitionReassignmentsRequest
from protocol.apis.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
)
from protocol.error_codes import ErrorCode

TIMEOUT_MS = 4_000
MAX_PARTITIONS = 6
HIGH_WATERMARK = -1
TOPICS_VERSION = 6  # of DeleteTopics, which has ids beside names


@dataclass(frozen=True, slots=True)
class AdminSettings:
    """``topics`` are those of others, which are moved and, where in ``growing``, widened; ``pause_ms`` is the time
    between two commands, on average.
    """

    topics: tuple[str, ...]
    growing: tuple[str, ...] = ()
    deleting_records: tuple[str, ...] = ()
    commands: int = 10
    pause_ms: int = 1_500


class Admin:
    """Carries out commands one after the other. ``made`` and ``deleted`` have what was answered to be so."""

    def __init__(self, client: Client, settings: AdminSettings) -> None:
        self.client, self.settings = client, settings
        self.done = 0
        self.made: dict[str, int] = {}  # topics with their partitions
        self.deleted: dict[str, None] = {}
        self.partition_counts: dict[str, int] = {}

    @property
    def is_done(self) -> bool:
        return self.done >= self.settings.commands

    def progress(self) -> str:
        return f"{self.done} of {self.settings.commands} commands"

    async def run(self) -> None:
        client = self.client
        await client.start()
        await client.know(*self.settings.topics)
        commands: list[Callable[[], Any]] = [self.create_topic, self.create_topic, self.delete_topic, self.reassign]
        if self.settings.growing:
            commands.append(self.add_partitions)
        if client.serves(ElectLeadersRequest):
            commands.append(self.elect)
        if self.settings.deleting_records and client.serves(DeleteRecordsRequest):
            commands += [self.delete_records]
        while not self.is_done:
            await client.sleep(client.rng.randint(1, 2 * self.settings.pause_ms))
            await client.rng.choice(commands)()
            self.done += 1

    async def _until_done(
        self, make: Callable[[], Any], error_of: Callable[[Any], int], *, version: int | None = None
    ) -> ErrorCode:
        """Ask until the answer is none that is tried again after."""
        attempt = 0
        while True:
            try:
                request = make()
                answer = await self.client.ask(
                    self.client.any_broker(), request, version=version, timeout_ms=TIMEOUT_MS
                )
                code = ErrorCode(error_of(answer))
                if not code.retriable:
                    return code
                if code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID):
                    return code
            except ConnectionLostError:
                pass
            await self.client.refresh()
            await self.client.back_off(attempt)
            attempt += 1

    async def create_topic(self) -> None:
        name = f"{self.client.name}-scratch-{self.done}"
        partitions = self.client.rng.randint(1, 3)
        topic = CreateTopicsRequest.Topic(name=name, num_partitions=partitions, replication_factor=1)
        code = await self._until_done(
            lambda: CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS),
            lambda answer: int(answer.topics[0].error_code),
        )
        if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            self.made[name] = partitions

    async def delete_topic(self) -> None:
        if not self.made:
            return
        name = self.client.rng.choice(sorted(self.made))
        request = DeleteTopicsRequest(timeout_ms=TIMEOUT_MS)
        if self.client.version_of(DeleteTopicsRequest) >= TOPICS_VERSION:
            request.topics = [DeleteTopicsRequest.Topic(name=name)]
        else:
            request.topic_names = [name]
        code = await self._until_done(
            lambda: request,
            lambda answer: int(answer.responses[0].error_code),
        )
        if code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            del self.made[name]
            self.deleted[name] = None

    async def add_partitions(self) -> None:
        name = self.client.rng.choice(self.settings.growing)
        await self.client.refresh()
        count = len(self.client.topics[name].leaders) + 1 if name in self.client.topics else MAX_PARTITIONS
        if count >= MAX_PARTITIONS:
            return
        topic = CreatePartitionsRequest.Topic(name=name, count=count, assignments=None)
        code = await self._until_done(
            lambda: CreatePartitionsRequest(topics=[topic], timeout_ms=TIMEOUT_MS),
            lambda answer: int(answer.results[0].error_code),
        )
        if code is ErrorCode.NONE:
            self.partition_counts[name] = max(count, self.partition_counts.get(name, 0))

    async def reassign(self) -> None:
        name = self.client.rng.choice(self.settings.topics)
        known = self.client.topics.get(name)
        if known is None or not known.leaders:
            return
        brokers = len(self.client.world.cluster.racks)
        replicas = self.client.rng.sample(range(brokers), min(3, brokers))
        index = self.client.rng.randrange(len(known.leaders))
        partition = AlterPartitionReassignmentsRequest.Topic.Partition(partition_index=index, replicas=replicas)
        topic = AlterPartitionReassignmentsRequest.Topic(name=name, partitions=[partition])
        code = await self._until_done(
            lambda: AlterPartitionReassignmentsRequest(topics=[topic], timeout_ms=TIMEOUT_MS),
            lambda answer: int(answer.error_code or answer.responses[0].partitions[0].error_code),
        )
        if code is ErrorCode.NONE:
            self.client.world.tell(f"{self.client.name} has {name}-{index} moved to brokers {replicas}")

    async def elect(self) -> None:
        await self._until_done(
            lambda: ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=TIMEOUT_MS),
            lambda answer: int(answer.error_code),
        )

    async def delete_records(self) -> None:
        client = self.client
        name = client.rng.choice(self.settings.deleting_records)
        if name not in client.topics:
            return
        place = (name, client.rng.randrange(len(client.topics[name].leaders)))
        leader = client.leader_of(place)
        if leader == NO_LEADER:
            return
        partition = DeleteRecordsRequest.Topic.Partition(partition_index=place[1], offset=HIGH_WATERMARK)
        topics = [DeleteRecordsRequest.Topic(name=name, partitions=[partition])]
        try:
            answer = await client.ask(leader, DeleteRecordsRequest(topics=topics, timeout_ms=TIMEOUT_MS))
        except ConnectionLostError:
            return
        entry = answer.topics[0].partitions[0]
        if entry.error_code == ErrorCode.NONE:
            client.world.history.add(LogStart(*place, entry.low_watermark, client.now_ms))
