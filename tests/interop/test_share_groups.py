"""Share groups with Kafka's own share consumers: each record is worked on by one at a time, and none is lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from mockbroker import MockCluster
from mockbroker.share_groups.share_states import SharePartitionKey, share_of
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import PATIENTLY, kafka_tool
from tests.interop.sharer import Sharer, sharer

EXPLICIT = "share.acknowledgement.mode=explicit"
SETTINGS = {"group.share.min.record.lock.duration.ms": "1000", "group.share.record.lock.duration.ms": "1000"}


@asynccontextmanager
async def shared(
    partitions: int = 1, settings: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[MockCluster, Sharer]]:
    """A cluster with the topic orders, whose group workers reads from the start, and consumers to open."""
    async with MockCluster(topics={"orders": partitions}, settings=settings or {}) as cluster:
        cluster.state.configs.write("group", "workers", {"share.auto.offset.reset": "earliest"})
        async with sharer(cluster.bootstrap_servers) as consumers:
            yield cluster, consumers


def left(cluster: MockCluster, index: int = 0) -> int:
    """How many records of a partition the group is not done with."""
    topic = cluster.state.topics["orders"]
    state = share_of(cluster.state).coordinator.states.get(SharePartitionKey("workers", topic.id, index))
    assert state is not None
    done = max(0, state.value.start_offset) + max(
        0, state.value.delivery_complete_count
    )  # -1 where nothing was ever read
    return topic.partitions[index].log.end_offset - done


async def test_records_are_accepted_released_rejected_and_renewed_each_by_itself():
    async with shared() as (cluster, consumers):
        await consumers.do("send orders 10", f"open one workers orders {EXPLICIT}")
        assert [one.offset for one in await consumers.poll("one", 10)] == list(range(10))
        await consumers.do("ack one accept 0 1 2", "ack one release 3 4", "ack one reject 5", "ack one renew 6")
        await consumers("ack one accept 7 8 9")
        assert await consumers("commit one") == ""
        again: dict[int, int] = {}
        while len(again) < 3:  # the renewed one is handed out by the client itself
            again.update((one.offset, one.deliveries) for one in await consumers.poll("one", 1))
            await consumers.do("ack one accept", "commit one")
        assert again == {3: 2, 4: 2, 6: 1}
        await consumers("close one")
        assert left(cluster) == 0


async def test_two_consumers_share_one_partition_and_nothing_is_read_twice():
    async with shared() as (cluster, consumers):
        limited = "max.poll.records=5 share.acquire.mode=record_limit"
        await consumers.do(f"open one workers orders {limited}", f"open two workers orders {limited}")
        await consumers("send orders 40")
        seen: Counter[int] = Counter()
        while sum(seen.values()) < 40:
            for name in ("one", "two"):
                if sum(seen.values()) < 40:
                    seen.update(one.offset for one in await consumers.poll(name, 1))
        await consumers.do("commit one", "commit two", "close one", "close two")
        assert seen == Counter(range(40))
        assert left(cluster) == 0


async def test_a_lock_that_times_out_and_deliveries_that_are_too_many():
    settings = {**SETTINGS, "group.share.delivery.count.limit": "2"}
    async with shared(settings=settings) as (cluster, consumers):
        await consumers.do("send orders 3", f"open one workers orders {EXPLICIT} fetch.max.wait.ms=10")
        assert len(await consumers.poll("one", 3)) == 3
        # The client may still fetch, if its poll ended as the records came, and would get them again at their time-out.
        cluster.faults.add(
            match={"api": "ShareFetch", "client_id": "one"}, effect={"error": "UNKNOWN_TOPIC_OR_PARTITION"}
        )
        cluster.state.configs.write("group", "workers", {"share.record.lock.duration.ms": "60000"})  # of locks to come
        await consumers(f"open two workers orders {EXPLICIT}")
        late = await consumers.poll("two", 3)
        assert [(one.offset, one.deliveries) for one in late] == [(0, 2), (1, 2), (2, 2)]
        await consumers("ack one accept")
        assert await consumers("commit one") == "0:InvalidRecordStateException"
        await consumers.do("ack two release")
        assert await consumers("commit two") == ""
        assert left(cluster) == 0  # they were delivered as often as they may be
        await consumers("send orders 1")
        assert [one.offset for one in await consumers.poll("two", 1)] == [3]


async def test_consumers_go_on_when_leaders_move_and_brokers_stop():
    async with shared(3) as (cluster, consumers):
        await consumers.do("send orders 30", "open one workers orders")
        seen = Counter((one.partition, one.offset) for one in await consumers.poll("one", 30))
        await consumers("commit one")
        for index in range(3):
            leader = cluster.state.topics["orders"].partitions[index].leader
            cluster.move_leader("orders", index, (leader + 1) % 3)
        await consumers("send orders 30")
        seen.update((one.partition, one.offset) for one in await consumers.poll("one", 30))
        await consumers("commit one")
        await cluster.stop_broker(cluster.state.internal_topics.coordinator("workers").id)
        await consumers("send orders 30")
        seen.update((one.partition, one.offset) for one in await consumers.poll("one", 30))
        await consumers("commit one")
        while any(left(cluster, index) for index in range(3)):  # what was acquired of leaders that were replaced
            await consumers.do("poll one 1", "commit one")
        await consumers("close one")
        ends = [partition.log.end_offset for partition in cluster.state.topics["orders"].partitions]
        assert set(seen) == {(index, offset) for index, end in enumerate(ends) for offset in range(end)}


async def test_consumers_go_on_while_every_eighth_call_ends_its_connection():
    async with shared() as (cluster, consumers):
        fault = cluster.faults.add(effect={"disconnect": True}, when={"every": 8})
        await consumers.do("send orders 20", "open one workers orders max.poll.records=3")
        seen = Counter(one.offset for one in await consumers.poll("one", 20))
        await consumers.do("commit one", "close one")
        assert set(seen) == set(range(20))
        assert fault.fired > 1, fault.explain()


async def test_kafkas_own_tool_lists_describes_and_deletes_share_groups():
    async with shared() as (cluster, consumers):

        async def tool(*arguments: str) -> list[list[str]]:
            command = ("consumer.group.ShareGroupCommand", "--bootstrap-server", cluster.bootstrap_servers, *PATIENTLY)
            with skipped_without_tools():
                printed = await asyncio.to_thread(kafka_tool, *command, *arguments)
            return [line.split() for line in printed.splitlines() if line.strip()]

        group = ("--group", "workers")
        await consumers.do("send orders 10", "open one workers orders")
        await consumers.poll("one", 10)
        await consumers("commit one")
        assert await tool("--list") == [["workers"]]
        assert (await tool("--describe", *group))[1] == ["workers", "orders", "0", "0"]
        members = (await tool("--describe", *group, "--members"))[1]
        assert (members[3], members[5]) == ("one", "orders:0")
        assert (await tool("--describe", *group, "--state"))[1][3:] == ["Stable", "1"]
        await consumers("close one")
        assert (await tool("--delete-offsets", *group, "--topic", "orders"))[1] == ["orders", "Successful"]
        await tool("--delete", *group)
        assert await tool("--list") == []
