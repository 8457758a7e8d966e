"""Kafka Streams counts words: its internal topics, its groups, exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from mockbroker import MockCluster
from mockbroker.state.groups.streams.group import StreamsGroup, tasks_in
from tests.interop.fetched import java_program, maven_jars, skipped_without_tools
from tests.interop.java_brokers import kafka_tool
from tests.progress import until, while_it_works

SOURCES = Path(__file__).parent / "java" / "streams"
VERSION = "4.3.1"  # 4.4.0 was not published with its jars
OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
FROM, TO, PARTITIONS = "lines", "words", 2
LINES = [f"rack-{'abc'[number % 3]}-broker-{number % 2}" for number in range(60)]
SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.streams.initial.rebalance.delay.ms": 0,
    "group.streams.assignment.interval.ms": 0,
    "group.streams.min.heartbeat.interval.ms": 200,
    "group.streams.heartbeat.interval.ms": 200,
}
COUNTS = {"rack": 60, "broker": 60, "a": 20, "b": 20, "c": 20, "0": 30, "1": 30}

pytestmark = [pytest.mark.interop, pytest.mark.slow]


@asynccontextmanager
async def word_count(servers: str, folder: Path, **settings: str) -> AsyncIterator[asyncio.subprocess.Process]:
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


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="classic"),
        pytest.param({"processing_guarantee": "exactly_once_v2"}, id="classic, exactly once"),
        pytest.param({"group_protocol": "streams"}, id="streams"),
        pytest.param(
            {"group_protocol": "streams", "processing_guarantee": "exactly_once_v2"}, id="streams, exactly once"
        ),
    ],
)
async def test_kafka_streams_counts_words(settings, tmp_path):
    topics = {FROM: (PARTITIONS, 3), TO: (PARTITIONS, 3)}
    async with MockCluster(topics=topics, settings=SETTINGS) as cluster:
        servers = cluster.bootstrap_servers
        async with word_count(servers, tmp_path, **settings) as running:
            async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
                for number, line in enumerate(LINES):
                    await producer.send_and_wait(FROM, line.encode(), partition=number % PARTITIONS)
            assert await counts(servers) == COUNTS
            await closed(running)
        internal = sorted(name for name in cluster.state.topics if name.startswith("counter-"))
        assert [name.rpartition("-")[2] for name in internal] == ["changelog", "repartition"]


async def test_a_second_instance_of_a_streams_group_takes_tasks_and_gives_them_back(tmp_path):
    topics = {FROM: (PARTITIONS, 3), TO: (PARTITIONS, 3)}
    async with MockCluster(topics=topics, settings=SETTINGS) as cluster:
        servers = cluster.bootstrap_servers

        def tasks() -> list[int]:
            """How many active tasks each member has, in a group that has settled."""
            group = cluster.state.groups.get("counter")
            assert isinstance(group, StreamsGroup)
            if group.state_name != "Stable":
                return []
            return sorted(len(tasks_in(member.assigned.active)) for member in group.members.values())

        async with word_count(servers, tmp_path / "one", group_protocol="streams") as one:
            async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
                for number, line in enumerate(LINES[:30]):
                    await producer.send_and_wait(FROM, line.encode(), partition=number % PARTITIONS)
                async with word_count(servers, tmp_path / "two", group_protocol="streams") as two:
                    await until(lambda: tasks() == [2, 2], "two instances with two tasks each", tasks)
                    for number, line in enumerate(LINES[30:45]):
                        await producer.send_and_wait(FROM, line.encode(), partition=number % PARTITIONS)
                    await closed(two)
                await until(lambda: tasks() == [4], "one instance with all tasks", tasks)
                for number, line in enumerate(LINES[45:]):
                    await producer.send_and_wait(FROM, line.encode(), partition=number % PARTITIONS)
            assert await counts(servers) == COUNTS
            await closed(one)

        async def tool(*arguments: str) -> str:
            command = ("streams.StreamsGroupCommand", "--bootstrap-server", servers, *arguments)
            with skipped_without_tools():
                return await asyncio.to_thread(kafka_tool, *command)

        assert "counter" in await tool("--list")
        assert "Empty" in await tool("--describe", "--state", "--group", "counter")
        await tool("--delete", "--group", "counter")
        assert "counter" not in await tool("--list")
