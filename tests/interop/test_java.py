"""The Java client, of today and of 2019, works against the cluster and stays in its rack on diskless topics."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack

import pytest

from mockbroker import MockCluster
from tests.interop.java_client import java_client, run_java_client
from tests.progress import until

PRODUCE, FETCH = 0, 1
RECORDS = 300
VALUES = [f"v{i}" for i in range(RECORDS)]


@pytest.fixture(params=["4.4.0", "2.4.1"])
def version(request) -> str:
    return request.param


async def test_a_producer_that_names_its_rack_writes_to_no_other(version):
    async with MockCluster(diskless_topics={"events": 6}) as cluster:
        acknowledged = await run_java_client(
            version,
            "produce",
            "events",
            RECORDS,
            bootstrap_servers=cluster.bootstrap_servers,
            client_id="orders diskless_az=b",
        )
        assert [line.value for line in acknowledged] == VALUES
        assert {call.rack for call in cluster.journal if call.api_key == PRODUCE} == {"b"}


async def test_a_group_in_two_racks_reads_each_acknowledged_record_once_and_in_its_own_rack(version):
    async with MockCluster(diskless_topics={"events": 6}) as cluster, AsyncExitStack() as stack:
        servers = cluster.bootstrap_servers
        in_a, in_c = [
            await stack.enter_async_context(
                java_client(
                    version,
                    "consume",
                    "events",
                    RECORDS,
                    bootstrap_servers=servers,
                    client_id=f"reader diskless_az={rack}",
                    group_id="readers",
                    auto_offset_reset="earliest",
                )
            )
            for rack in ("a", "c")
        ]

        def members() -> list[int]:
            return [len(group.members) for group in cluster.state.groups.select(states=["Stable"])]

        await until(lambda: members() == [2], "a group of two", members)
        sent = await run_java_client(version, "produce", "events", RECORDS, bootstrap_servers=servers)
        await until(
            lambda: len(in_a.lines) + len(in_c.lines) >= RECORDS,
            "the reading of all that was sent",
            lambda: (in_a.lines[-1:], in_c.lines[-1:]),
        )
        for reader in (in_a, in_c):
            reader.stop()
            assert await reader.finish()
        assert Counter(in_a.lines + in_c.lines) == Counter(sent)
        served = {(call.client_id, call.rack) for call in cluster.journal if call.api_key == FETCH}
        assert served == {("reader diskless_az=a", "a"), ("reader diskless_az=c", "c")}


async def test_a_producer_finds_the_leaders_of_a_classic_topic_in_every_rack(version):
    async with MockCluster(topics={"orders": 6}) as cluster:
        acknowledged = await run_java_client(
            version,
            "produce",
            "orders",
            RECORDS,
            bootstrap_servers=cluster.bootstrap_servers,
            client_id="orders diskless_az=b",
        )
        assert [line.value for line in acknowledged] == VALUES
        assert {call.rack for call in cluster.journal if call.api_key == PRODUCE} == {"a", "b", "c"}
