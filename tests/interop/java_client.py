"""The Java client as a process: its jars fetched once into build/, its program run from source.

A test that lacks Java, Maven or the jars is skipped, and says which.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tests.interop.fetched import java_program, maven_jars, skipped_without_tools
from tests.progress import while_it_works

SOURCES = Path(__file__).parent / "java"


class Line(NamedTuple):
    """One record, as acknowledged or as read."""

    partition: int
    offset: int
    value: str


class JavaClient:
    """A running client. ``lines`` grows with each record that was acknowledged, or read."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[Line] = []
        self._complaints = b""
        self._readers = [asyncio.create_task(self._read()), asyncio.create_task(self._read_complaints())]

    def stop(self) -> None:
        """Have a consumer leave its group and end, whatever it has read."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def finish(self) -> list[Line]:
        """Wait for its end; gives all its lines. Raises AssertionError: it failed; its last words are in the text."""
        async with while_it_works("the end of the Java client", lambda: self.lines[-1:]):
            await self.process.wait()
            await asyncio.gather(*self._readers)
        assert self.process.returncode == 0, self._complaints.decode()[-2000:]
        return self.lines

    async def end(self) -> None:
        """End the process if it has not ended."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await asyncio.gather(*self._readers)
        self.stop()

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            partition, offset, value = line.decode().rstrip("\n").split(" ", 2)
            self.lines.append(Line(int(partition), int(offset), value))

    async def _read_complaints(self) -> None:
        assert self.process.stderr is not None
        self._complaints = await self.process.stderr.read()


@asynccontextmanager
async def java_client(version: str, work: str, topic: str, count: int, **settings: str) -> AsyncIterator[JavaClient]:
    """``produce``, ``produce-unkeyed`` or ``consume`` with one release of the Java client. Leaving it ends the process.

    Args:
        version: of kafka-clients, as ``4.4.0``.
        settings: the client's own, with underscores for dots.
    """
    jars = await asyncio.to_thread(client_jars, version)
    program = await asyncio.to_thread(java_program, SOURCES / "RackClient.java", jars)
    given = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
    process = await asyncio.create_subprocess_exec(
        "java",
        "-XX:TieredStopAtLevel=1",
        *program,
        work,
        topic,
        str(count),
        *given,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    client = JavaClient(process)
    try:
        yield client
    finally:
        await client.end()


async def run_java_client(version: str, work: str, topic: str, count: int, **settings: str) -> list[Line]:
    """Run ``produce`` or ``consume`` to its end, with what ``java_client`` takes.

    Returns: a line for each record that was acknowledged, or read, in the order printed.

    Raises: AssertionError: the program failed; its last words are in the text.
    """
    async with java_client(version, work, topic, count, **settings) as client:
        return await client.finish()


def client_jars(version: str) -> Path:
    """The folder with kafka-clients and what it needs; skips the test where it cannot be had."""
    name = f"kafka-clients-{version}"
    with skipped_without_tools():
        return maven_jars(name, SOURCES / "pom.xml", f"{name}.jar", f"kafka.version={version}")
