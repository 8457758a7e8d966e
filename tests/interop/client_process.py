"""Client programs as processes: what a test asks of them, and what they saw.

Each is ``tests/interop/clients/with_*.py`` in a process of its own, told what to do by a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from tests.progress import while_it_works

ROOT = Path(__file__).resolve().parents[2]
MODULES = {"confluent-kafka": "confluent_kafka", "aiokafka": "aiokafka", "kafka-python": "kafka"}
PROGRAMS = {
    "confluent-kafka": "with_confluent",
    "aiokafka": "with_aiokafka",
    "kafka-python": "with_kafka_python",
    "own codec": "with_protocol",
}
LIBRARIES = tuple(MODULES)
OLD = "kafka-python as of 0.10"  # kafka-python made to speak what it spoke with a broker of 0.10
OLD_SETTINGS = {"api_version": [0, 10]}
PRODUCE, FETCH, METADATA = 0, 1, 3

Given = tuple[int | None, str | None, str | None, Sequence[tuple[str, str | None]]]  # partition, key, value, headers


class Seen(NamedTuple):
    """A record as a consumer got it; bytes as Latin-1 text."""

    topic: str
    partition: int
    offset: int
    key: str | None
    value: str | None
    headers: list[list[str | None]]


class ClientProcess:
    """One client program at work, as an async context manager. Leaving it ends the process."""

    def __init__(self, library: str, work: str, **order: Any) -> None:
        self.library = "kafka-python" if library == OLD else library
        if find_spec(MODULES.get(self.library, "protocol")) is None:
            pytest.skip(f"{self.library} is not installed (pip install '.[clients]')")
        self.order = {"work": work, **order}
        self.lines: list[dict[str, Any]] = []
        self._more = asyncio.Condition()

    async def __aenter__(self) -> Self:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.interop.clients",
            ("admin_" if self.order["work"] == "administer" else "") + PROGRAMS[self.library],
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=1 << 28,
        )
        self._errors: list[str] = []
        self._readers = [asyncio.create_task(self._read()), asyncio.create_task(self._read_errors())]
        await self._write(json.dumps(self.order))
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await asyncio.gather(*self._readers)

    async def stop(self) -> None:
        """Tell the program to come to its end."""
        await self._write("stop")

    async def finish(self) -> list[dict[str, Any]]:
        """Wait for the end of the program; gives all its lines. Fails the test where the program failed."""
        async with while_it_works(f"the end of {self.library}", lambda: self.lines[-1:]):
            await self.process.wait()
            await asyncio.gather(*self._readers)
        assert self.process.returncode == 0, f"{self.library}: {self.complaints}"
        return self.lines

    async def until(self, done: Callable[[list[dict[str, Any]]], object]) -> None:
        """Wait until the lines so far satisfy ``done``."""
        what = f"{self.library}, told to {self.order['work']}"
        async with while_it_works(what, lambda: (self.lines[-3:], self.complaints)), self._more:
            await self._more.wait_for(lambda: done(self.lines) or self._readers[0].done())
        assert done(self.lines), f"{self.library} has ended: {self.complaints}"

    @property
    def complaints(self) -> str:
        """The last of what the program wrote to standard error."""
        return "".join(self._errors)[-3000:]

    async def _write(self, line: str) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line.encode() + b"\n")
            await self.process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the program has ended, which finish() looks into

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            async with self._more:
                self.lines.append(json.loads(line))
                self._more.notify_all()
        async with self._more:
            self._more.notify_all()

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self._errors.append(line.decode(errors="replace"))


def settings_for(library: str, **settings: Any) -> dict[str, Any]:
    """Settings of a client, with those that make kafka-python an old one."""
    return {**OLD_SETTINGS, **settings} if library == OLD else settings


def run_of(library: str, topic: str, records: Iterable[Given], **settings: Any) -> dict[str, Any]:
    """One run of ``produce_runs``: records for one topic, from one producer with these settings."""
    return {"topic": topic, "records": list(records), "settings": settings_for(library, **settings)}


async def produce_runs(library: str, runs: list[dict[str, Any]]) -> list[list[Any]]:
    """One process, one producer after the other; for each record (partition, offset), or the error as text."""
    async with ClientProcess(library, "produce", runs=runs) as client:
        return [line["acknowledged"] for line in await client.finish()]


async def produce(library: str, topic: str, records: Iterable[Given], **settings: Any) -> list[Any]:
    """Produce records with one producer in a process of its own; what came of each, in order."""
    return (await produce_runs(library, [run_of(library, topic, records, **settings)]))[0]


async def consume(library: str, topics: Sequence[str], count: int, **settings: Any) -> list[Seen]:
    """Read topics from their start until ``count`` records came, and a little longer. Fails on a consumer's error."""
    order = {"topics": list(topics), "count": count, "settings": settings_for(library, **settings)}
    async with ClientProcess(library, "consume", **order) as client:
        lines = await client.finish()
    assert not errors_in(lines)
    return records_in(lines)


def records_in(lines: Iterable[Mapping[str, Any]]) -> list[Seen]:
    """The records among a consumer's lines."""
    return [Seen(*record) for line in lines for record in line.get("records", ())]


def errors_in(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """What a consumer complained of."""
    return [error for line in lines for error in line.get("errors", ())]


def acknowledged_in(lines: Iterable[Mapping[str, Any]]) -> dict[str, tuple[int, int]]:
    """Value -> (partition, offset) of each record that a steady producer got acknowledged."""
    return {line["acknowledged"]: tuple(line["at"]) for line in lines if "acknowledged" in line}


def values(first: int, last: int, partitions: int = 1) -> list[Given]:
    """Records ``first`` up to ``last``, their numbers as values, on the partitions in turn."""
    return [(number % partitions, None, str(number), ()) for number in range(first, last)]
