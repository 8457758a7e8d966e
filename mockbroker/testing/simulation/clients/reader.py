"""Reads whole topics at the end, without a group: what is there when all is over."""

from __future__ import annotations

from mockbroker.testing.simulation.clients.client import Client, TopicPartition
from mockbroker.testing.simulation.clients.fetcher import Fetcher, FetchPosition, Isolation
from protocol.records import Record


class LogReader:
    """Reads from the start to the ends that ``ends`` has; ``values`` are those of each partition, in order."""

    def __init__(self, client: Client, isolation_level: Isolation, ends: dict[TopicPartition, int]) -> None:
        self.client, self.ends = client, ends
        self.values: dict[TopicPartition, list[bytes]] = {place: [] for place in ends}
        self.fetcher = Fetcher(client, isolation_level, self._read)

    @property
    def is_done(self) -> bool:
        positions = self.fetcher.positions
        return bool(positions) and all(positions[place].offset >= end for place, end in self.ends.items())

    def progress(self) -> str:
        late = [
            f"{name}-{index} at {position.offset} of {self.ends[name, index]}"
            for (name, index), position in self.fetcher.positions.items()
            if position.offset < self.ends[name, index]
        ]
        return ", ".join(late) or "has read all"

    def _read(self, place: TopicPartition, records: list[Record], _epoch: int) -> None:
        self.values[place] += [record.value or b"" for record in records]

    async def run(self) -> None:
        await self.client.start()
        await self.client.know(*sorted({name for name, _ in self.ends}))
        self.fetcher.positions.update({place: FetchPosition(0) for place in self.ends})
        while not self.is_done:
            await self.fetcher.run_round()
