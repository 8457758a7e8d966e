"""The test plan of the diskless proposal, with real clients as processes.

A client's rack is known by RackId (our own codec sends it), by client.id, or by the listener it came in by.
Three racks, two brokers in each; broker i is in rack i modulo 3.
"""

from __future__ import annotations

import asyncio

import pytest

from mockbroker import MockCluster
from mockbroker.core.journal import JournalEntry
from tests.interop.client_process import (
    FETCH,
    LIBRARIES,
    OLD,
    PRODUCE,
    ClientProcess,
    acknowledged_in,
    consume,
    produce,
    settings_for,
    values,
)

RACKS = ("a", "b", "c")
CLASSIC, DISKLESS = "orders", "events"
PARTITIONS = 6
COUNT = 60
SOON_MS = 500  # metadata age: how soon a client learns that its rack is back

BY_CLIENT_ID = [(library, "client.id") for library in (*LIBRARIES, OLD)]
BY_LISTENER = [(library, "listener") for library in (*LIBRARIES, OLD)]
BY_RACK_ID = [("own codec", "Metadata v14"), ("own codec", "DescribeTopicPartitions v1")]
EVERY_WAY = BY_CLIENT_ID + BY_LISTENER + BY_RACK_ID

every_way = pytest.mark.parametrize(("library", "way"), EVERY_WAY)


@pytest.fixture
async def cluster():
    topics, diskless_topics = {CLASSIC: (PARTITIONS, 3)}, {DISKLESS: PARTITIONS}
    async with MockCluster(6, RACKS, topics=topics, diskless_topics=diskless_topics, listener_per_rack=True) as running:
        yield running


def settings_in(cluster: MockCluster, rack: str, library: str, way: str) -> dict:
    """What tells the cluster that this client is in ``rack``."""
    if library == "own codec":
        return {"servers": cluster.bootstrap_servers, "rack": rack, "metadata_api": way.partition(" ")[0]}
    given = {"servers": cluster.bootstrap_servers, "client_id": f"app,diskless_az={rack}"}
    if way == "listener":
        given = {"servers": cluster.bootstrap_servers_for(rack), "client_id": "app"}
    return settings_for(library, **given)


def calls_for(cluster: MockCluster, api_key: int, topic: str, mark: int = 0) -> list[JournalEntry]:
    """The Produce or Fetch requests that moved, or looked for, records of a topic."""
    return [one for one in cluster.journal.since(mark) if one.api_key == api_key and topic in (one.traffic or ())]


def racks_asked(cluster: MockCluster, api_key: int, topic: str, mark: int = 0) -> set[str | None]:
    """The racks of the brokers that a topic's Produce or Fetch requests went to."""
    return {call.rack for call in calls_for(cluster, api_key, topic, mark)}


def brokers_asked(cluster: MockCluster, api_key: int, topic: str) -> set[int]:
    return {call.broker_id for call in calls_for(cluster, api_key, topic)}


def values_in(records) -> list[str]:
    return sorted((record.value for record in records), key=int)


# 1. a classic topic: the leader, whatever the rack


@every_way
async def test_a_classic_topic_is_written_and_read_at_its_leaders_whatever_the_clients_rack(cluster, library, way):
    settings = settings_in(cluster, "b", library, way)
    leaders = {partition.index: partition.leader for partition in cluster.state.topics[CLASSIC].partitions}
    assert {cluster.state.brokers[leader].rack for leader in leaders.values()} == set(RACKS)
    far = next(index for index, leader in leaders.items() if cluster.state.brokers[leader].rack == "c")
    assert await produce(library, CLASSIC, [(far, None, "0", ())], **settings) == [[far, 0]]
    assert brokers_asked(cluster, PRODUCE, CLASSIC) == {leaders[far]}
    await produce(library, CLASSIC, values(1, COUNT, PARTITIONS), **settings)
    assert brokers_asked(cluster, PRODUCE, CLASSIC) == set(leaders.values())
    assert values_in(await consume(library, [CLASSIC], COUNT, **settings)) == [str(n) for n in range(COUNT)]
    assert brokers_asked(cluster, FETCH, CLASSIC) == set(leaders.values())


# 2. a diskless topic and a rack that has brokers: one of those


@every_way
async def test_a_diskless_topic_is_written_and_read_in_the_clients_rack_alone(cluster, library, way):
    settings = settings_in(cluster, "b", library, way)
    answers = await produce(library, DISKLESS, values(0, COUNT, PARTITIONS), **settings)
    assert sorted(map(tuple, answers)) == [(p, o) for p in range(PARTITIONS) for o in range(COUNT // PARTITIONS)]
    assert values_in(await consume(library, [DISKLESS], COUNT, **settings)) == [str(n) for n in range(COUNT)]
    assert racks_asked(cluster, PRODUCE, DISKLESS) == {"b"}
    assert racks_asked(cluster, FETCH, DISKLESS) == {"b"}


async def test_records_written_in_one_rack_are_read_in_another_each_side_staying_at_home(cluster):
    for rack, library in zip(RACKS, LIBRARIES, strict=True):
        settings = settings_in(cluster, rack, library, "client.id")
        first = RACKS.index(rack) * COUNT
        await produce(library, DISKLESS, values(first, first + COUNT, PARTITIONS), **settings)
    readings = [
        consume(library, [DISKLESS], 3 * COUNT, **settings_in(cluster, rack, library, "client.id"))
        for rack, library in zip(reversed(RACKS), LIBRARIES, strict=True)
    ]
    for reading in await asyncio.gather(*readings):
        assert values_in(reading) == [str(n) for n in range(3 * COUNT)]
    calls = [call for call in cluster.journal if DISKLESS in (call.traffic or ())]
    assert {(call.client_rack, call.rack) for call in calls} == {(rack, rack) for rack in RACKS}


# 3. a rack that no broker has: some broker


@pytest.mark.parametrize(("library", "way"), BY_CLIENT_ID + BY_RACK_ID)
async def test_a_client_of_a_rack_without_brokers_is_served_by_brokers_anywhere(cluster, library, way):
    settings = settings_in(cluster, "nowhere", library, way)
    chosen = []
    for first in range(0, 3 * PARTITIONS, PARTITIONS):
        mark = cluster.journal.mark()
        await produce(library, DISKLESS, values(first, first + PARTITIONS, PARTITIONS), **settings)
        calls = [call for call in cluster.journal.since(mark) if call.api_key == PRODUCE]
        chosen.append({call.broker_id for call in calls})
    assert values_in(await consume(library, [DISKLESS], 18, **settings)) == [str(n) for n in range(3 * PARTITIONS)]
    assert len(set.union(*chosen)) > 1, "the turn goes on over all brokers that are alive"


async def test_a_listener_of_a_rack_whose_brokers_are_all_down_leads_to_brokers_anywhere(cluster):
    await cluster.stop_rack("b")
    settings = settings_in(cluster, "b", "confluent-kafka", "listener")
    await produce("confluent-kafka", DISKLESS, values(0, COUNT, PARTITIONS), **settings)
    assert racks_asked(cluster, PRODUCE, DISKLESS) <= {"a", "c"}
    assert values_in(await consume("aiokafka", [DISKLESS], COUNT, **settings)) == [str(n) for n in range(COUNT)]


# 4. the rack's brokers stop under a running producer


@every_way
async def test_a_producer_whose_rack_goes_down_goes_on_elsewhere_and_comes_home_and_loses_nothing(
    cluster, library, way
):
    settings = settings_in(cluster, "a", library, way)
    if library != "own codec":
        settings |= {"metadata_max_age_ms": SOON_MS}
    async with ClientProcess(library, "produce_steadily", topic=DISKLESS, settings=settings) as producer:

        async def until_more(count: int) -> None:
            wanted = len(acknowledged_in(producer.lines)) + count
            await producer.until(lambda lines: len(acknowledged_in(lines)) >= wanted)

        await until_more(50)
        assert racks_asked(cluster, PRODUCE, DISKLESS) == {"a"}
        assert await cluster.stop_rack("a") == [0, 3]
        mark = cluster.journal.mark()
        await until_more(50)
        assert racks_asked(cluster, PRODUCE, DISKLESS, mark) <= {"b", "c"}
        assert await cluster.start_rack("a") == [0, 3]
        if library != "own codec":  # which asks for metadata only when it has to
            await producer.until(lambda _: "a" in racks_asked(cluster, PRODUCE, DISKLESS, mark))
        await until_more(50)
        await producer.stop()
        lines = await producer.finish()
    acknowledged = acknowledged_in(lines)
    assert not [line for line in lines if "failed" in line]
    stored = sum(partition.log.end_offset for partition in cluster.state.topics[DISKLESS].partitions)
    seen = await consume("aiokafka", [DISKLESS], stored, servers=cluster.bootstrap_servers)
    found = {record.value: (record.partition, record.offset) for record in seen}
    assert set(acknowledged) <= set(found), "an acknowledged record is lost"
    if library in LIBRARIES:  # idempotent, by default or by what the program sets
        assert len(seen) == len(found), "a record came twice"


# 5 and 6. an older producer, and consumers of today


@pytest.mark.parametrize("topic", [CLASSIC, DISKLESS])
async def test_what_a_producer_of_0_10_writes_as_message_sets_every_consumer_of_today_reads(cluster, topic):
    settings = settings_in(cluster, "c", OLD, "client.id")
    records = [(n % PARTITIONS, f"key {n}" if n % 2 else None, str(n), ()) for n in range(COUNT)]
    answers = await produce(OLD, topic, records, **settings)
    written = {(p, o): (key, value) for (p, o), (_, key, value, _) in zip(answers, records, strict=True)}
    assert {call.version for call in cluster.journal if call.api_key == PRODUCE} == {2}
    assert racks_asked(cluster, PRODUCE, topic) == ({"c"} if topic == DISKLESS else set(RACKS))
    for library in LIBRARIES:
        seen = await consume(library, [topic], COUNT, **settings_in(cluster, "c", library, "client.id"))
        assert {(r.partition, r.offset): (r.key, r.value) for r in seen} == written, library
        assert len(seen) == COUNT, library


async def test_a_consumer_of_0_10_shares_a_diskless_topic_with_producers_of_today(cluster):
    await produce("aiokafka", DISKLESS, values(0, COUNT, PARTITIONS), servers=cluster.bootstrap_servers)
    settings = settings_in(cluster, "a", OLD, "client.id")
    seen = await consume(OLD, [DISKLESS], COUNT, **settings)
    assert values_in(seen) == [str(n) for n in range(COUNT)]
    assert racks_asked(cluster, FETCH, DISKLESS) == {"a"}
