"""Diskless topics as each system serves them: who answers librdkafka and the Java client, and what crosses.

Three zones as Azure names them, with a slash; broker i is in zone i modulo 3. Clients are in the second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from mockbroker import MockCluster
from tests.interop.client_process import FETCH, PRODUCE, ClientProcess, acknowledged_in, consume, produce, values
from tests.interop.java_client import java_client, run_java_client
from tests.progress import until

RACKS = ("westeurope/1", "westeurope/2", "westeurope/3")
HOME = RACKS[1]
AT_HOME = {1, 4}
TOPIC = "events"
PARTITIONS = 12
COUNT = 240
JAVA, LIBRDKAFKA = "java", "confluent-kafka"
RELEASE = "4.4.0"
NAMED = {
    "kip-1163": f"app,diskless_az={HOME}",
    "inkless": f"app,diskless_az={HOME}",
    "inkless-managed": f"app,diskless_az={HOME}",
    "automq": "automq_type=any&automq_az=westeurope%2F2",
    "lakestream": f"app,zone_id={HOME}",
    "warpstream": f"app,ws_az={HOME}",
    "bufstream": f"app,zone={HOME}",
}
WITH_OWNERS = ("automq", "lakestream")
ONE_BROKER = ("warpstream", "bufstream")
NO_HINT = "app"

both_libraries = pytest.mark.parametrize("library", [LIBRDKAFKA, JAVA])


def cluster_as(profile: str, **more: object) -> MockCluster:
    return MockCluster(6, RACKS, diskless_topics={TOPIC: PARTITIONS}, diskless_as=profile, **more)


async def write(library: str, servers: str, client_id: str) -> None:
    """Write ``COUNT`` records to all partitions."""
    if library == JAVA:
        done = await run_java_client(RELEASE, "produce", TOPIC, COUNT, bootstrap_servers=servers, client_id=client_id)
        assert len(done) == COUNT
    else:
        done = await produce(library, TOPIC, values(0, COUNT, PARTITIONS), servers=servers, client_id=client_id)
        assert all(isinstance(one, list) for one in done), done


async def read(library: str, servers: str, client_id: str, rack: str | None = None) -> None:
    """Read all of them."""
    if library == JAVA:
        settings = {"bootstrap_servers": servers, "client_id": client_id, "group_id": "readers"}
        settings |= {"auto_offset_reset": "earliest"} | ({"client_rack": rack} if rack else {})
        assert len(await run_java_client(RELEASE, "consume", TOPIC, COUNT, **settings)) == COUNT
    else:
        settings = {"servers": servers, "client_id": client_id} | ({"rack": rack} if rack else {})
        assert len(await consume(library, [TOPIC], COUNT, **settings)) == COUNT


def asked(cluster: MockCluster, api_key: int) -> set[int]:
    """The brokers that wrote or read records of the topic."""
    return {one.broker_id for one in cluster.journal if one.api_key == api_key and (one.traffic or {}).get(TOPIC)}


def refused(cluster: MockCluster) -> list[str]:
    """The errors of all Produce and Fetch requests."""
    return [error for one in cluster.journal if one.api_key in (PRODUCE, FETCH) for error in one.errors]


def bytes_by_locality(cluster: MockCluster) -> Mapping[tuple[str, str], int]:
    """Bytes of records by category and locality, as the ledger has them."""
    found: Counter[tuple[str, str]] = Counter()
    for flow in cluster.traffic.snapshot()["flows"]:
        if flow["category"] in ("produce", "consume"):
            found[flow["category"], flow["locality"]] += flow["bytes"]
    return found


@both_libraries
@pytest.mark.parametrize("profile", NAMED)
async def test_a_client_that_names_its_zone_in_the_systems_way_is_served_there_and_nothing_crosses(profile, library):
    async with cluster_as(profile) as cluster:
        await write(library, cluster.bootstrap_servers, NAMED[profile])
        await read(library, cluster.bootstrap_servers, NAMED[profile])
        for api_key in (PRODUCE, FETCH):
            brokers = asked(cluster, api_key)
            assert brokers
            assert brokers <= AT_HOME
            assert profile not in ONE_BROKER or len(brokers) == 1
        if profile in ("inkless", "inkless-managed", *WITH_OWNERS):
            assert asked(cluster, PRODUCE) == AT_HOME, "each partition has its own broker"
        assert refused(cluster) == []
        figures = bytes_by_locality(cluster)
        assert {locality for _, locality in figures} == {"local"}
        assert {category for category, _ in figures} == {"produce", "consume"}


@both_libraries
@pytest.mark.parametrize(
    ("profile", "setting"), [("automq", "automq.zone.cidr.blocks"), ("warpstream", "warpstream.zoned.cidr.blocks")]
)
async def test_a_client_whose_address_is_in_a_zones_block_is_served_there(profile, setting, library):
    async with cluster_as(profile, settings={setting: f"{HOME}@127.0.0.0/8<>{RACKS[0]}@10.0.0.0/8"}) as cluster:
        await write(library, cluster.bootstrap_servers, NO_HINT)
        await read(library, cluster.bootstrap_servers, NO_HINT)
        assert asked(cluster, PRODUCE) | asked(cluster, FETCH) <= AT_HOME
        assert refused(cluster) == []
        assert {locality for _, locality in bytes_by_locality(cluster)} == {"local"}


@both_libraries
@pytest.mark.parametrize("profile", [*WITH_OWNERS, "inkless"])
async def test_a_client_that_names_no_zone_is_served_by_brokers_of_every_rack(profile, library):
    async with cluster_as(profile) as cluster:
        await write(library, cluster.bootstrap_servers, NO_HINT)
        await read(library, cluster.bootstrap_servers, NO_HINT)
        assert {broker % 3 for broker in asked(cluster, PRODUCE)} == {0, 1, 2}
        assert {broker % 3 for broker in asked(cluster, FETCH)} == {0, 1, 2}
        assert refused(cluster) == []


@both_libraries
async def test_as_automq_a_reader_with_client_rack_alone_is_sent_to_the_brokers_of_its_rack(library):
    async with cluster_as("automq") as cluster:
        await write(library, cluster.bootstrap_servers, NO_HINT)
        await read(library, cluster.bootstrap_servers, NO_HINT, HOME)
        assert asked(cluster, FETCH) <= AT_HOME
        redirects = [one.redirects for one in cluster.journal if one.redirects]
        assert {broker for one in redirects for broker in one[TOPIC]} <= AT_HOME
        assert redirects
        figures = bytes_by_locality(cluster)
        assert figures["consume", "local"] > 10 * figures["consume", "cross"]


@both_libraries
@pytest.mark.parametrize("profile", WITH_OWNERS)
async def test_when_owners_change_the_old_one_refuses_names_the_new_one_and_nothing_is_lost(profile, library):
    async with cluster_as(profile) as cluster:
        await cluster.stop_broker(4)
        servers = cluster.bootstrap_servers
        if library == JAVA:
            count = 20_000
            settings = {"bootstrap_servers": servers, "client_id": NAMED[profile], "linger_ms": "0"}
            settings |= {"batch_size": "64", "metadata_max_age_ms": "300000"}
            async with java_client(RELEASE, "produce", TOPIC, count, **settings) as producer:
                await until(lambda: asked(cluster, PRODUCE), "the first records")
                await cluster.start_broker(4)
                acknowledged = {(line.partition, line.offset): line.value for line in await producer.finish()}
                assert len(acknowledged) == count
        else:
            settings = {"servers": servers, "client_id": NAMED[profile]}
            async with ClientProcess(library, "produce_steadily", topic=TOPIC, settings=settings) as producer:
                await producer.until(lambda lines: len(acknowledged_in(lines)) >= 50)
                await cluster.start_broker(4)
                await producer.until(lambda _: asked(cluster, PRODUCE) == AT_HOME)
                await producer.stop()
                acknowledged = {at: value for value, at in acknowledged_in(await producer.finish()).items()}
        assert asked(cluster, PRODUCE) == AT_HOME
        assert set(refused(cluster)) == {"NOT_LEADER_OR_FOLLOWER"}
        stored = sum(partition.log.end_offset for partition in cluster.state.topics[TOPIC].partitions)
        seen = await consume(LIBRDKAFKA, [TOPIC], stored, servers=servers, client_id=NAMED[profile])
        assert acknowledged.items() <= {(one.partition, one.offset): one.value for one in seen}.items()
