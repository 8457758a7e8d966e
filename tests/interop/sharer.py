"""Kafka's own share consumers, in one process: what they are told, and what they say; see java/Sharer.java."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.interop.client_process import ROOT
from tests.interop.fetched import java_program, maven_jars, skipped_without_tools
from tests.interop.transactor import Transactor

HERE = Path(__file__).parent
VERSION = "4.4.0"


class Delivered(NamedTuple):
    """A record that a consumer was given."""

    partition: int
    offset: int
    value: str
    deliveries: int


class Sharer(Transactor):
    """The process; ``poll`` reads what a consumer says that it was given."""

    async def poll(self, name: str, count: int) -> list[Delivered]:
        """Records, at least so many."""
        found = []
        for word in (await self(f"poll {name} {count}")).split():
            partition, offset, value, deliveries = word.split(":")
            found.append(Delivered(int(partition), int(offset), value, int(deliveries)))
        return found


@asynccontextmanager
async def sharer(bootstrap_servers: str) -> AsyncIterator[Sharer]:
    """A process without consumers yet. Leaving it ends the process."""
    with skipped_without_tools():
        command = await asyncio.to_thread(program)
    process = await asyncio.create_subprocess_exec(
        *command,
        bootstrap_servers,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        yield Sharer(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def program() -> list[str]:
    """What runs the program. Raises ToolMissingError."""
    jar = f"kafka-clients-{VERSION}.jar"
    jars = maven_jars(f"kafka-clients-{VERSION}", HERE / "java" / "pom.xml", jar, f"kafka.version={VERSION}")
    light = ["-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]
    return ["java", *light, *java_program(HERE / "java" / "Sharer.java", jars)]
