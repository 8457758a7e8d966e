"""Kafka Streams' word count: the application, what it is given and what it has to find."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from tests.interop.fetched import java_program, maven_jars, skipped_without_tools
from tests.progress import while_it_works

SOURCES = Path(__file__).parent / "java" / "streams"
VERSION = "4.3.1"  # 4.4.0 was not published with its jars
OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
FROM, TO, PARTITIONS = "lines", "words", 2
LINES = [f"rack-{'abc'[number % 3]}-broker-{number % 2}" for number in range(60)]
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.min.heartbeat.interval.ms": "200",
    "group.streams.heartbeat.interval.ms": "200",
}
COUNTS = {"rack": 60, "broker": 60, "a": 20, "b": 20, "c": 20, "0": 30, "1": 30}


@asynccontextmanager
async def application(servers: str, folder: Path, **settings: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A running application, once it has its tasks. Leaving it ends the process."""
    with skipped_without_tools():
        jars = await asyncio.to_thread(
            maven_jars, f"kafka-streams-{VERSION}", SOURCES / "pom.xml", f"kafka-streams-{VERSION}.jar"
        )
        program = await asyncio.to_thread(java_program, SOURCES / "WordCount.java", jars)
    given = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
    process = await asyncio.create_subprocess_exec(
        "java",
        *OPTIONS,
        *program,
        servers,
        "counter",
        FROM,
        TO,
        str(folder),
        *given,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        await until_said(process, "running")
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def until_said(process: asyncio.subprocess.Process, word: str) -> None:
    assert process.stdout is not None
    assert process.stderr is not None
    async with while_it_works(f"{word!r} of Kafka Streams"):
        while True:
            line = (await process.stdout.readline()).decode().strip()
            if line == word:
                return
            if not line or line == "error":
                process.kill()
                raise AssertionError((await process.stderr.read()).decode()[-2000:])


async def closed(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    await until_said(process, "closed")


async def counts(servers: str) -> dict[str, int]:
    """The last count of each word, as soon as they are those of all lines."""
    found: dict[str, int] = {}
    reader = AIOKafkaConsumer(
        TO, bootstrap_servers=servers, auto_offset_reset="earliest", isolation_level="read_committed"
    )
    async with while_it_works("the counts", lambda: dict(found)), reader:
        while sum(found.values()) < sum(COUNTS.values()):
            for records in (await reader.getmany(timeout_ms=200)).values():
                found |= {record.key.decode(): int(record.value) for record in records}
    return found


async def send_lines(servers: str, begin: int = 0, end: int | None = None) -> None:
    """Some of the lines, to all partitions in turn."""
    async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
        for number, line in list(enumerate(LINES))[begin:end]:
            await producer.send_and_wait(FROM, line.encode(), partition=number % PARTITIONS)
