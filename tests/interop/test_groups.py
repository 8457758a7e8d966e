"""Groups of real consumers whose members come, leave and vanish while a producer goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from mockbroker import MockCluster
from tests.interop.client_process import (
    LIBRARIES,
    METADATA,
    OLD,
    ClientProcess,
    acknowledged_in,
    consume,
    produce,
    records_in,
    settings_for,
    values,
)
from tests.progress import until

TOPIC, GROUP, PARTITIONS = "orders", "billing", 6
JOIN_GROUP = 11
HEARTBEAT_MS, SESSION_MS = 300, 6_000


@pytest.fixture
async def cluster():
    async with MockCluster(topics={TOPIC: PARTITIONS}) as running:
        yield running


@asynccontextmanager
async def steady_producer(cluster: MockCluster) -> AsyncIterator[ClientProcess]:
    settings = {"servers": cluster.bootstrap_servers}
    async with ClientProcess("aiokafka", "produce_steadily", topic=TOPIC, settings=settings) as producer:
        await producer.until(acknowledged_in)
        yield producer


def member(cluster: MockCluster, library: str, **extra: object) -> ClientProcess:
    settings = settings_for(
        library,
        servers=cluster.bootstrap_servers,
        group=GROUP,
        heartbeat_ms=HEARTBEAT_MS,
        session_ms=SESSION_MS,
        **extra,
    )
    return ClientProcess(library, "consume", topics=[TOPIC], settings=settings)


def shares(members: Sequence[ClientProcess]) -> list[list[int]]:
    """The partitions that each member was assigned last, as it says."""
    assignments = [[line["assigned"][0] for line in one.lines if "assigned" in line] for one in members]
    return [sorted(index for _, index in given[-1]) if given else [] for given in assignments]


async def until_shared(members: Sequence[ClientProcess], sizes: list[int]) -> None:
    """Wait until the members have so many partitions each, and all of them among themselves."""

    def shared() -> bool:
        held = shares(members)
        each_once = sorted(index for share in held for index in share) == list(range(PARTITIONS))
        return each_once and sorted(len(share) for share in held) == sizes

    await until(shared, f"shares of {sizes} partitions", lambda: shares(members))


async def until_read(sent: set[str], members: Sequence[ClientProcess]) -> None:
    """Wait until the members have read all that was sent."""

    def missing() -> set[str | None]:
        return sent - {record.value for one in members for record in records_in(one.lines)}

    await until(lambda: not missing(), "the reading of all that was sent", lambda: sorted(map(str, missing()))[:10])


def committed(cluster: MockCluster) -> list[int]:
    """The group's offset on each partition."""
    offsets = cluster.state.groups.offsets(GROUP)
    return [offsets.get((TOPIC, index)).offset for index in range(PARTITIONS)]


def ends(cluster: MockCluster) -> list[int]:
    return [partition.log.end_offset for partition in cluster.state.topics[TOPIC].partitions]


@pytest.mark.parametrize("library", [*LIBRARIES, OLD])
async def test_a_group_shares_the_partitions_anew_whenever_a_member_comes_leaves_or_vanishes(cluster, library):
    async with AsyncExitStack() as stack:
        producer = await stack.enter_async_context(steady_producer(cluster))
        first = await stack.enter_async_context(member(cluster, library))
        await until_shared([first], [6])
        second = await stack.enter_async_context(member(cluster, library))
        await until_shared([first, second], [3, 3])
        third = await stack.enter_async_context(member(cluster, library))
        await until_shared([first, second, third], [2, 2, 2])
        await second.stop()
        await second.finish()
        await until_shared([first, third], [3, 3])
        first.process.kill()
        await until_shared([third], [6])
        await producer.stop()
        sent = set(acknowledged_in(await producer.finish()))
        await until_read(sent, [first, second, third])
        await third.stop()
        await third.finish()
    group = cluster.state.groups.select()[0]
    assert not group.members
    assert committed(cluster) == ends(cluster), "each member commits what it read when it leaves"


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_group_goes_on_where_it_stopped_and_reads_nothing_twice(cluster, library):
    settings = {"servers": cluster.bootstrap_servers, "group": GROUP}
    await produce("aiokafka", TOPIC, values(0, 60, PARTITIONS), servers=cluster.bootstrap_servers)
    first = await consume(library, [TOPIC], 60, **settings)
    await produce("aiokafka", TOPIC, values(60, 90, PARTITIONS), servers=cluster.bootstrap_servers)
    second = await consume(library, [TOPIC], 30, **settings)
    assert sorted(int(record.value) for record in first) == list(range(60))
    assert sorted(int(record.value) for record in second) == list(range(60, 90))


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_group_outlives_the_broker_that_coordinates_it(cluster, library):
    async with (
        steady_producer(cluster) as producer,
        member(cluster, library) as first,
        member(cluster, library) as second,
    ):
        await until_shared([first, second], [3, 3])
        coordinator = cluster.state.internal_topics.coordinator(GROUP).id
        await cluster.stop_broker(coordinator)
        later = set(acknowledged_in(producer.lines))
        await producer.until(lambda lines: len(acknowledged_in(lines)) > len(later) + 50)
        await producer.stop()
        sent = set(acknowledged_in(await producer.finish()))
        await until_read(sent, [first, second])
        assert cluster.state.internal_topics.coordinator(GROUP).id != coordinator
        for one in (first, second):
            await one.stop()
            await one.finish()
    assert committed(cluster) == ends(cluster)


@pytest.mark.parametrize("library", LIBRARIES)
async def test_members_that_name_their_rack_in_client_id_alone_stay_in_their_group_while_it_is_down(library):
    """With client.rack some would join anew at each refresh (KIP-881), as docs/racks.md says."""
    async with MockCluster(diskless_topics={TOPIC: PARTITIONS}) as cluster, AsyncExitStack() as stack:
        members = []
        for rack in ("a", "b", "c"):
            at_home = member(cluster, library, client_id=f"app,diskless_az={rack}", metadata_max_age_ms=200)
            members.append(await stack.enter_async_context(at_home))
        await until_shared(members, [2, 2, 2])
        coordinator = cluster.state.internal_topics.coordinator(GROUP)
        await cluster.stop_rack("b" if coordinator.rack == "a" else "a")
        mark = cluster.journal.mark()

        def refreshes() -> Counter[str | None]:
            return Counter(call.client_rack for call in cluster.journal.since(mark) if call.api_key == METADATA)

        await until(
            lambda: len(refreshes()) == 3 and min(refreshes().values()) >= 5, "refreshes of metadata", refreshes
        )
        assert JOIN_GROUP not in {call.api_key for call in cluster.journal.since(mark)}


async def test_the_three_libraries_share_one_group(cluster):
    """aiokafka offers round robin alone by default, so that is what the group agrees on."""
    await produce("aiokafka", TOPIC, values(0, 60, PARTITIONS), servers=cluster.bootstrap_servers)
    extra = {"confluent-kafka": {"partition.assignment.strategy": "roundrobin"}}
    async with AsyncExitStack() as stack:
        members = [
            await stack.enter_async_context(member(cluster, library, **extra.get(library, {}))) for library in LIBRARIES
        ]
        await until_shared(members, [2, 2, 2])
        assert cluster.state.groups.select()[0].protocol_name == "roundrobin"
        for one in members:
            await one.stop()
            await one.finish()
