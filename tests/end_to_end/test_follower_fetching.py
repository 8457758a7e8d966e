"""Consumers with a rack read classic topics from the replica in their rack (KIP-392), and lose nothing on the way."""

from __future__ import annotations

import asyncio

import pytest

from mockbroker import MockCluster
from tests.interop.client_process import FETCH, consume, produce, produce_runs, run_of, values
from tests.progress import until

COUNT = 60
RACK_AWARE = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
REDIRECTED = ("confluent-kafka", "aiokafka")


def record_bytes_by_rack(cluster: MockCluster, client_id: str) -> dict[str | None, int]:
    """Where the records came from that a client fetched."""
    found: dict[str | None, int] = {}
    for entry in cluster.journal:
        size = sum((entry.traffic or {}).values())
        if entry.client_id == client_id and entry.api_key == FETCH and size:
            found[entry.rack] = found.get(entry.rack, 0) + size
    return found


@pytest.mark.parametrize("library", REDIRECTED)
@pytest.mark.parametrize("rack", ["a", "b", "c"])
async def test_all_records_come_from_the_readers_own_rack(library, rack):
    async with MockCluster(topics={"orders": (3, 3)}, settings=RACK_AWARE) as cluster:
        servers = cluster.bootstrap_servers
        await produce(library, "orders", values(0, COUNT, partitions=3), servers=servers)
        seen = await consume(library, ["orders"], COUNT, servers=servers, rack=rack, client_id="reader", group="g")
        assert sorted(int(record.value) for record in seen) == list(range(COUNT))
        assert set(record_bytes_by_rack(cluster, "reader")) == {rack}


@pytest.mark.parametrize("library", REDIRECTED)
async def test_a_rack_without_brokers_reads_from_the_leaders(library):
    async with MockCluster(topics={"orders": (3, 3)}, settings=RACK_AWARE) as cluster:
        servers = cluster.bootstrap_servers
        await produce(library, "orders", values(0, COUNT, partitions=3), servers=servers)
        seen = await consume(library, ["orders"], COUNT, servers=servers, rack="az-z", client_id="reader", group="g")
        assert len(seen) == COUNT
        assert set(record_bytes_by_rack(cluster, "reader")) == {"a", "b", "c"}


@pytest.mark.parametrize("library", REDIRECTED)
async def test_a_lagging_follower_delays_its_readers_and_loses_nothing(library):
    async with MockCluster(topics={"orders": (1, 3)}, settings=RACK_AWARE) as cluster:
        servers = cluster.bootstrap_servers
        early, late = values(0, COUNT - 10), values(COUNT - 10, COUNT)
        await produce_runs(library, [run_of(library, "orders", records, servers=servers) for records in (early, late)])
        cluster.state.cluster_control.set_follower_lag(1, records=10)
        reading = asyncio.create_task(
            consume(library, ["orders"], COUNT, servers=servers, rack="b", client_id="reader", group="g")
        )
        await until(
            lambda: reading.done() or "b" in record_bytes_by_rack(cluster, "reader"),
            "reading in rack b",
            lambda: record_bytes_by_rack(cluster, "reader"),
        )
        assert not reading.done()
        cluster.set_follower_lag(1, records=0)
        assert [int(record.value) for record in await reading] == list(range(COUNT))
        assert set(record_bytes_by_rack(cluster, "reader")) == {"b"}
