"""A producer that writes so many records, some at a time, and is done once each has been acknowledged or given up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mockbroker.testing.simulation.clients.client import REQUEST_TIMEOUT_MS, Client, ConnectionLostError
from mockbroker.testing.simulation.clients.sender import ALL, Sender
from protocol.apis.producer_ids import InitProducerIdRequest
from protocol.error_codes import ErrorCode
from protocol.records import CompressionCodec


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """What a producer is set to, by Kafka's names, and how much it writes.

    ``pause_ms`` is the time between batches, on average.
    """

    topic: str
    records: int
    acks: int = ALL
    is_idempotent: bool = True
    max_in_flight: int = 5
    delivery_timeout_ms: int | None = None
    compression: str = "none"
    pause_ms: int = 200


class Producer:
    """Writes ``settings.records`` values that no other producer writes."""

    def __init__(self, client: Client, settings: ProducerSettings) -> None:
        self.client, self.settings = client, settings
        self.sender = Sender(
            client,
            acks=settings.acks,
            is_idempotent=settings.is_idempotent,
            max_in_flight=settings.max_in_flight,
            delivery_timeout_ms=settings.delivery_timeout_ms,
            codec=CompressionCodec[settings.compression.upper()],
        )
        self.written = 0

    @property
    def is_done(self) -> bool:
        return self.written >= self.settings.records and self.sender.is_empty

    def progress(self) -> str:
        acknowledged = f"{self.sender.acknowledged} of {self.settings.records} records acknowledged"
        return f"{acknowledged}, {self.sender.unknown} given up"

    def forsake(self) -> None:
        """The client ends: nobody will know what became of what is not acknowledged."""
        self.sender.forsake()

    async def run(self) -> None:
        client, settings = self.client, self.settings
        await client.start()
        await client.know(settings.topic)
        if settings.is_idempotent:
            self.sender.begin_epoch(*await new_producer_id(client))
        client.spawn(self.sender.run())
        while self.written < settings.records:
            count = min(client.rng.choice([1, 1, 2, 3]), settings.records - self.written)
            values = [f"{client.name}-{self.written + number}".encode() for number in range(count)]
            self.written += count
            partitions = len(client.topics[settings.topic].leaders) if settings.topic in client.topics else 1
            self.sender.add((settings.topic, client.rng.randrange(partitions)), values)
            if client.rng.random() < 0.7:
                await client.sleep(client.rng.randint(1, 2 * settings.pause_ms))


async def new_producer_id(client: Client) -> tuple[int, int]:
    """An id and an epoch for a producer without a transactional id, from any broker."""
    attempt = 0
    while True:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=REQUEST_TIMEOUT_MS)
        answer: Any = None
        try:
            answer = await client.ask(client.any_broker(), request, version=min(5, client.version_of(type(request))))
        except ConnectionLostError:
            await client.refresh()
        if answer is not None and answer.error_code == ErrorCode.NONE:
            return answer.producer_id, answer.producer_epoch
        await client.back_off(attempt)
        attempt += 1
