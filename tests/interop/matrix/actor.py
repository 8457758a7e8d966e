"""A client's program at work: orders in, answers out."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

from tests.interop.client_process import ROOT
from tests.progress import while_it_works

LAST_CHARACTERS = 2000


class RefusedError(Exception):
    """The client raised an error; the text is its name and its words."""


class SentRecord(NamedTuple):
    """A record to be sent; headers as ``name=value,name=value``."""

    partition: int
    key: str
    value: str
    headers: str = ""

    def __str__(self) -> str:
        return "/".join(map(str, self))


class ReadRecord(NamedTuple):
    """A record as a client read it."""

    partition: int
    offset: int
    key: str
    value: str
    headers: str

    @classmethod
    def parsed(cls, text: str) -> ReadRecord:
        partition, offset, *rest = text.split("/")
        return cls(int(partition), int(offset), *rest)


class Actor:
    """A program. Calling it with an order's words gives the words of its answer. Raises RefusedError."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._turn = asyncio.Lock()
        self._complaints = bytearray()
        self._listening = asyncio.create_task(self._listen())

    async def __call__(self, *words: object) -> list[str]:
        line = " ".join(map(str, words))
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        async with self._turn, while_it_works(f"the answer to {line[:100]!r}"):
            self.process.stdin.write(f"{line}\n".encode())
            answer = (await self.process.stdout.readline()).decode().split()
        if not answer:
            await self._listening
            raise AssertionError(f"ended over {line[:100]!r}: {self._complaints.decode()[-LAST_CHARACTERS:]}")
        if answer[0] != "ok":
            raise RefusedError(" ".join(answer[1:]))
        return answer[1:]

    async def produce(
        self, topic: str, records: Iterable[SentRecord], compression: str = "none"
    ) -> list[tuple[int, ...]]:
        """Partition and offset of each record."""
        answer = await self("produce", topic, compression, *records)
        return [tuple(map(int, place.split("/"))) for place in answer]

    async def read(self, consumer: str, count: int) -> list[ReadRecord]:
        """So many more records."""
        return [ReadRecord.parsed(text) for text in await self("read", consumer, count)]

    async def end(self) -> None:
        """Its end, whatever it is at."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await self._listening

    async def _listen(self) -> None:
        assert self.process.stderr is not None
        while part := await self.process.stderr.read(4096):
            self._complaints += part
            del self._complaints[: -2 * LAST_CHARACTERS]


@asynccontextmanager
async def actor(command: Sequence[str], environment: Mapping[str, str] | None = None) -> AsyncIterator[Actor]:
    """Start a program. Leaving it ends the process."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=1 << 20,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
    )
    program = Actor(process)
    try:
        yield program
    finally:
        await program.end()
