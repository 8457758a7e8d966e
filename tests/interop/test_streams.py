"""Kafka Streams counts words: its internal topics, its groups, exactly once."""

from __future__ import annotations

import asyncio

import pytest

from mockbroker import MockCluster
from mockbroker.streams_groups.group import StreamsGroup
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_tool
from tests.interop.word_count import COUNTS, FROM, PARTITIONS, SETTINGS, TO, application, closed, counts, send_lines
from tests.progress import until

OUT_OF_TIME = ("Failed to find brokers to send ListGroups", "TimeoutException")
"""What Kafka's tool for streams groups says where a Java that has just begun on a busy machine was too slow for it."""


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
        async with application(servers, tmp_path, **settings) as running:
            await send_lines(servers)
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
            return sorted(len(member.assigned.active) for member in group.members.values())

        async with application(servers, tmp_path / "one", group_protocol="streams") as one:
            await send_lines(servers, 0, 30)
            async with application(servers, tmp_path / "two", group_protocol="streams") as two:
                await until(lambda: tasks() == [2, 2], "two instances with two tasks each", tasks)
                await send_lines(servers, 30, 45)
                await closed(two)
            await until(lambda: tasks() == [4], "one instance with all tasks", tasks)
            await send_lines(servers, 45)
            assert await counts(servers) == COUNTS
            await closed(one)

        async def tool(*arguments: str) -> str:
            """What it says, once it was in time: most of its commands have five seconds for a request."""
            command = ("streams.StreamsGroupCommand", "--bootstrap-server", servers, *arguments)
            while True:
                with skipped_without_tools():
                    said = await asyncio.to_thread(kafka_tool, *command)
                if not any(words in said for words in OUT_OF_TIME):
                    return said

        assert "counter" in await tool("--list")
        assert "Empty" in await tool("--describe", "--state", "--group", "counter")
        await tool("--delete", "--group", "counter")
        assert "counter" not in await tool("--list")
