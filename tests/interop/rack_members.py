"""Consumers with our assignors as members of a live group, of the mock cluster or of a real Kafka.

A member says who it is by its client id, which names its rack, so that what the coordinator tells can be held to it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest

from tests.interop.rack_member import client_id
from tests.progress import until, while_it_works

ROOT = Path(__file__).resolve().parents[2]
TOPIC, GROUP = "orders", "readers"
METADATA_AGE_MS = 300  # how soon a leader learns of new racks


class Cluster(Protocol):
    """What a member has to know of its cluster."""

    bootstrap_servers: str


async def expect_soon(read, expected) -> None:
    """Wait until ``read()`` returns what is expected; fail with what it returned last once nothing happens any more."""
    await until(lambda: read() == expected, f"{expected}", read)


class AioMember:
    """An aiokafka consumer in this loop."""

    def __init__(
        self, cluster: Cluster, kind: str, rack: str | None, *, topic: str = TOPIC, group: str = GROUP, **options: bool
    ) -> None:
        aiokafka = pytest.importorskip("aiokafka", reason="aiokafka is not installed")
        from kafka_rack.assignment.clients import aiokafka as assignors

        self.consumer = aiokafka.AIOKafkaConsumer(
            topic,
            bootstrap_servers=cluster.bootstrap_servers,
            client_id=client_id(rack),
            group_id=group,
            client_rack=rack,
            heartbeat_interval_ms=200,
            metadata_max_age_ms=METADATA_AGE_MS,
            partition_assignment_strategy=[getattr(assignors, f"RackAware{kind}Assignor")(rack, **options)],
        )

    async def start(self) -> None:
        await self.consumer.start()

    def partitions(self) -> set[int]:
        return {part.partition for part in self.consumer.assignment()}

    def brokers(self) -> set[int]:
        return {broker.nodeId for broker in self.consumer._client.cluster.brokers()}

    def member_id(self) -> str:
        return self.consumer._coordinator.member_id

    async def stop(self) -> None:
        await self.consumer.stop()


class ProcessMember:
    """A kafka-python consumer in a process of its own, as it leaves connections for Python to close."""

    def __init__(
        self, cluster: Cluster, kind: str, rack: str | None, *, topic: str = TOPIC, group: str = GROUP
    ) -> None:
        pytest.importorskip("kafka", reason="kafka-python is not installed")
        order = {
            "servers": cluster.bootstrap_servers,
            "group": group,
            "topic": topic,
            "kind": kind,
            "rack": rack,
            "metadata_age_ms": METADATA_AGE_MS,
        }
        self._arguments = ["-m", "tests.interop.rack_member", json.dumps(order)]
        self._told: dict[str, list[int]] = {"partitions": [], "brokers": []}

    async def start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, *self._arguments, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
        )
        self._work = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for line in self._process.stdout:
            self._told = json.loads(line)

    def partitions(self) -> set[int]:
        return set(self._told["partitions"])

    def brokers(self) -> set[int]:
        return set(self._told["brokers"])

    async def stop(self) -> None:
        self._process.stdin.close()
        try:
            async with while_it_works("the end of a kafka-python member", lambda: self._told):
                await self._process.wait()
        finally:
            if self._process.returncode is None:
                self._process.kill()
                await self._process.wait()
            await self._work


@asynccontextmanager
async def group(*members) -> AsyncIterator[None]:
    """The members at work, one joining after the other."""
    started = []
    try:
        for member in members:
            await member.start()
            started.append(member)
        yield
    finally:
        for member in started:
            await member.stop()


CLIENTS_AND_KINDS = [
    (AioMember, "Range"),
    (AioMember, "Sticky"),
    (ProcessMember, "Range"),
    (ProcessMember, "Sticky"),
    (ProcessMember, "CooperativeSticky"),
]
"""Each client with the assignors that it can work with and that look at racks."""
