"""A consumer of a group: reads what it is assigned from where the group was, and commits as it goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kafka_rack.consistency import Seek
from mockbroker.testing.simulation.clients.client import Client, ConnectionLostError, TopicPartition
from mockbroker.testing.simulation.clients.consumer_protocol import MADE_UP_VERSION, ConsumerMembership
from mockbroker.testing.simulation.clients.fetcher import Fetcher, Isolation
from mockbroker.testing.simulation.clients.group_offsets import commit, committed_positions
from mockbroker.testing.simulation.clients.membership import Membership
from protocol.apis.consumer_group import ConsumerGroupHeartbeatRequest
from protocol.records import Record


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """What a consumer is set to, by Kafka's names. A broker without the consumer protocol gets a classic member."""

    topics: tuple[str, ...]
    group: str
    isolation_level: Isolation = "read_uncommitted"
    group_instance_id: str | None = None
    commit_interval_ms: int = 700
    group_protocol: Literal["classic", "consumer"] = "classic"


class Consumer:
    """Reads for as long as the client lives. ``fetcher.positions`` says how far it is."""

    def __init__(self, client: Client, settings: ConsumerSettings) -> None:
        self.client, self.settings = client, settings
        self.membership: Membership | ConsumerMembership = Membership(
            client, settings.group, settings.topics, instance_id=settings.group_instance_id
        )
        self.fetcher = Fetcher(client, settings.isolation_level, self._read)
        self.records = 0
        self._begun_in = -1

    @property
    def is_done(self) -> bool:
        """A consumer is done when its group is: whoever runs it looks at ``fetcher.positions``."""
        return True

    def progress(self) -> str:
        where = ", ".join(
            f"{name}-{index} at {position.offset}" for (name, index), position in self.fetcher.positions.items()
        )
        state = f"generation {self.membership.generation}" if self.membership.is_stable else "joining"
        return f"{self.records} records read; {state}; {where or 'no partitions'}"

    async def run(self) -> None:
        client, settings = self.client, self.settings
        await client.start()
        if settings.group_protocol == "consumer" and client.serves(ConsumerGroupHeartbeatRequest, MADE_UP_VERSION):
            self.membership = ConsumerMembership(
                client,
                settings.group,
                settings.topics,
                instance_id=settings.group_instance_id,
                on_revoked=self._revoked,
            )
        membership = self.membership
        client.spawn(membership.keep_alive())
        client.spawn(self._keep_committing())
        while True:
            if not membership.is_stable:
                self.fetcher.positions.clear()
                self._begun_in = -1
                await membership.join()
            if not membership.is_in(self._begun_in):
                await self._begin()
                continue
            if self.fetcher.positions:
                await self.fetcher.run_round()
            else:
                if client.is_metadata_old():
                    await client.refresh()
                await client.wait(membership.changed.wait(), 500)

    def _revoked(self, places: Sequence[TopicPartition]) -> None:
        for place in places:
            self.fetcher.positions.pop(place, None)

    def _read(self, place: TopicPartition, records: list[Record], _epoch: int) -> None:
        self.records += len(records)

    async def _begin(self) -> None:
        """Go on where the group was."""
        membership = self.membership
        term = membership.term
        new = tuple(place for place in membership.assigned if place not in self.fetcher.positions)
        try:
            found = await committed_positions(
                self.client,
                membership,
                new,
                require_stable=self.settings.isolation_level == "read_committed",
            )
        except ConnectionLostError:
            await self.client.back_off()
            return
        if found is not None and membership.is_in(term):
            for place, position in found.items():
                self.client.world.history.add(Seek(self.client.name, *place, self.client.now_ms, position.offset))
            self.fetcher.positions.update(found)
            self._begun_in = term

    async def _keep_committing(self) -> None:
        """Commit where it is at an interval, whether that is new or not, as Kafka's consumer does by itself."""
        while True:
            await self.client.sleep(self.settings.commit_interval_ms)
            if self.membership.is_in(self._begun_in):
                positions = self.fetcher.positions.items()
                now = {place: (position.offset, position.epoch) for place, position in positions}
                await commit(self.client, self.membership, now)
