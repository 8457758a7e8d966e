"""The clients that run through the upgrade: a process for each version, a producer and a consumer in it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from kafka_rack.cli import CommandError
from kafka_rack.cli.output.progress import until
from mockbroker.zookeeper.releases import BrokerSoftware

TOPIC = "orders"
VERSIONS = ("0.9", "0.10")
FIRST_RELEASE = {"0.9": "0.9.0", "0.10": "0.10.0"}
"""The release line from which on brokers serve what the client asks for."""
PROGRAM = "kafka_rack.cli.commands.rolling_upgrade.worker"
ENDED_WITHIN_S = 60.0
RECORDS_A_RESTART = 10


@dataclass(frozen=True, slots=True)
class Order:
    """What a process is told: the version to be, where the cluster is, and where to leave the result."""

    version: str
    bootstrap_servers: str
    result_file: str

    @property
    def api_version(self) -> tuple[int, ...]:
        return tuple(map(int, self.version.split(".")))


class ClientLedger(NamedTuple):
    """What a client did: records acknowledged to it, those that it gave up, and how often it read which."""

    version: str
    acknowledged: list[str]
    failures: list[str]
    seen: dict[str, int]


class UpgradeClient:
    """One process; an async context manager. Leaving it ends the process."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.progress: dict[str, Any] = {"assigned": False, "drained": False, "acknowledged": 0, "failed": 0, "seen": 0}

    async def __aenter__(self) -> Self:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            PROGRAM,
            json.dumps(asdict(self.order)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us
        )
        self._errors: list[bytes] = []
        self._readers = [asyncio.create_task(self._read()), asyncio.create_task(self._read_errors())]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await asyncio.gather(*self._readers)

    def is_assigned(self) -> bool:
        """Whether its consumer has its partitions."""
        return bool(self.progress["assigned"])

    async def say(self, what: str) -> None:
        """Give an order: ``go``, ``drain`` or ``finish``."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{what}\n".encode())
            await self.process.stdin.drain()
        except ConnectionError:
            raise CommandError(self.complaint()) from None

    def complaint(self) -> str:
        """What a process that ended by itself had to say."""
        said = b"".join(self._errors).decode(errors="replace").strip().splitlines()
        return f"the client of {self.order.version} has ended: {said[-1] if said else self.process.returncode}"

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.progress = json.loads(line)

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self._errors.append(line)


def can_talk(version: str, software: BrokerSoftware) -> bool:
    """Whether a client of this version, which asks nobody for theirs, can talk to a broker."""
    return software.since(FIRST_RELEASE[version])


async def arrived(done: Callable[[], bool], clients: list[UpgradeClient], what: str) -> None:
    """Wait for the clients. Raises CommandError: one has ended, or nothing goes on any more."""

    def ended() -> list[UpgradeClient]:
        return [client for client in clients if client.process.returncode is not None]

    if not await until(lambda: bool(ended()) or done(), lambda: [client.progress for client in clients]):
        so_far = "; ".join(f"{client.order.version}: {client.progress}" for client in clients)
        raise CommandError(f"{what} does not come about, and nothing goes on any more; {so_far}")
    for client in ended():
        raise CommandError(client.complaint())


async def all_on_their_way(clients: list[UpgradeClient], what: str) -> None:
    """Wait until each client has had some more records acknowledged, and has read some more."""
    before = {client.order.version: dict(client.progress) for client in clients}

    def are() -> bool:
        return all(
            client.progress[count] >= before[client.order.version][count] + RECORDS_A_RESTART
            for client in clients
            for count in ("acknowledged", "seen")
        )

    await arrived(are, clients, what)


async def finish(clients: list[UpgradeClient]) -> list[ClientLedger]:
    """Stop the producers, let the consumers read what there is, end the processes; gives what they did.

    Raises CommandError: a process that does not end well.
    """
    for client in clients:
        await client.say("drain")
    await until(
        lambda: all(client.progress["drained"] for client in clients), lambda: [client.progress for client in clients]
    )
    sent = sum(client.progress["acknowledged"] for client in clients)
    await until(
        lambda: all(client.progress["seen"] >= sent for client in clients), lambda: [one.progress for one in clients]
    )
    ledgers = []
    for client in clients:
        await client.say("finish")
    for client in clients:
        try:
            ended = await asyncio.wait_for(client.process.wait(), ENDED_WITHIN_S)
        except TimeoutError:
            raise CommandError(f"the client of {client.order.version} does not end") from None
        if ended:
            raise CommandError(client.complaint())
        ledgers.append(ledger_of(client.order))
    return ledgers


def ledger_of(order: Order) -> ClientLedger:
    """What a process left."""
    left = json.loads(Path(order.result_file).read_text(encoding="utf-8"))
    return ClientLedger(order.version, left["acknowledged"], left["failures"], left["seen"])
