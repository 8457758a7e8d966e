"""What-if asked of one run of real clients, held against another run in which it was really so."""

from __future__ import annotations

import asyncio

import pytest

from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.what_if import change_of, compare
from kafka_rack.what_if.reading import read_workloads
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from mockbroker import MockCluster

aiokafka = pytest.importorskip("aiokafka", reason="aiokafka is missing: pip install 'kafka-rack[clients]'")

RECORDS, PARTITIONS, VALUE = 300, 6, b"v" * 2000
WHERE = RackRules.read("\n".join(f"{rack}@client:*-{rack}" for rack in "abc"), "racks")
TOPICS = {"orders": (PARTITIONS, 3)}
SELECTOR = {"replica.selector.class": "rack-aware"}


async def work(cluster: MockCluster, *, named: bool) -> None:
    """Producers in two racks, and a group with a member in each."""
    servers = cluster.bootstrap_servers
    for rack in "ab":
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=servers, client_id=f"writer-{rack}") as producer:
            for number in range(RECORDS // 2):
                await producer.send("orders", VALUE, partition=number % PARTITIONS)
    read = dict.fromkeys("abc", 0)

    async def consume(rack: str) -> None:
        own = {"client_rack": rack} if named else {}
        async with aiokafka.AIOKafkaConsumer(
            "orders",
            bootstrap_servers=servers,
            client_id=f"reader-{rack}",
            group_id="group",
            auto_offset_reset="earliest",
            **own,
        ) as consumer:
            while sum(read.values()) < RECORDS:
                read[rack] += sum(map(len, (await consumer.getmany(timeout_ms=200)).values()))
                await consumer.commit()

    await asyncio.gather(*map(consume, "abc"))


async def captured(folder, *, named, settings):
    folder.mkdir()
    async with MockCluster(topics=TOPICS, settings=settings, capture=folder / "trace.jsonl") as cluster:
        await work(cluster, named=named)
    return read_workloads(find_files([str(folder)])[0], Options(), WHERE).clusters


async def test_what_is_foretold_of_readers_that_name_their_racks_is_what_comes(tmp_path):
    without = await captured(tmp_path / "without", named=False, settings=SELECTOR)
    with_racks = await captured(tmp_path / "with", named=True, settings=SELECTOR)
    foretold = compare(without, change_of({"client.rack": "auto", **SELECTOR}))
    came = compare(with_racks, change_of({"client.rack": "auto"})).measured
    records = RECORDS * len(VALUE)
    assert foretold.measured.bills["consume"].bytes["cross"] > records / 4  # leaders are anywhere
    assert foretold.after.bills["consume"].bytes["cross"] == 0
    crossed = came.bills["consume"].bytes["cross"]  # what leaders answer once: the name of a nearer replica
    assert crossed < 0.1 * records, crossed
    assert foretold.after.bills["produce"] == foretold.measured.bills["produce"]
    was, comes = foretold.after.bills["replication"].total, came.bills["replication"].total
    assert abs(was - comes) < 0.2 * comes


async def test_the_other_way_round_what_racks_save_is_foretold_as_lost(tmp_path):
    with_racks = await captured(tmp_path / "with", named=True, settings=SELECTOR)
    without = await captured(tmp_path / "without", named=False, settings={})
    foretold = compare(with_racks, change_of({"replica.selector.class": "leader"})).after
    came = compare(without, change_of({"client.rack": "auto"})).measured
    for rack in ("a", "b", "c"):
        shares = [
            sum(row["bytes"] for row in side.rows if row["client_rack"] == row["broker_rack"] == rack)
            / sum(row["bytes"] for row in side.rows)
            for side in (foretold, came)
        ]
        assert abs(shares[0] - shares[1]) < 0.15, (rack, shares)
