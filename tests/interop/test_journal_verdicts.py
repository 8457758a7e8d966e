"""The journal and ``kafka-rack pipeline locality`` say the same of the same calls of real clients.

Its rules run here without Spark, over the capture of the cluster whose journal is looked at.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from kafka_rack.locality import RackRules
from kafka_rack.locality.captures import capture_flows
from kafka_rack.locality.tables import SUMS
from kafka_rack.locality.traffic import TrafficSums
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from mockbroker import KafkaProxy, MockCluster
from mockbroker.adapters.served_cluster import ServedCluster

aiokafka = pytest.importorskip("aiokafka", reason="aiokafka is missing: pip install '.[clients]'")
confluent_kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is missing: pip install it")

WINDOW_US = 1 << 60
RECORDS = 60
RACKS_FILE = "az-b@127.0.0.0/8\naz-c@client:reader-2\naz-a@client:reader-1"


async def produce(servers: str, client_id: str, *, keyed: bool, acks: str | int = "all") -> None:
    async with aiokafka.AIOKafkaProducer(
        bootstrap_servers=servers, client_id=client_id, acks=acks, linger_ms=2
    ) as producer:
        for number in range(RECORDS):
            await producer.send_and_wait("orders", b"value", key=b"key-%d" % number if keyed else None)


async def consume(servers: str, client_id: str, rack: str | None, group: str) -> None:
    async with aiokafka.AIOKafkaConsumer(
        "orders",
        bootstrap_servers=servers,
        client_id=client_id,
        client_rack=rack,
        group_id=group,
        auto_offset_reset="earliest",
    ) as consumer:
        read = 0
        while read < RECORDS:
            read += sum(map(len, (await consumer.getmany(timeout_ms=1000)).values()))


def consume_with_librdkafka(servers: str, rack: str) -> None:
    """In a rack, and leaving its group before it ends."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "client.id": "native",
            "client.rack": rack,
            "group.id": "native",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["orders"])
    read = 0
    while read < RECORDS:
        message = consumer.poll(1.0)
        read += message is not None and message.error() is None
    consumer.close()


async def work(cluster: ServedCluster) -> None:
    servers = cluster.bootstrap_servers
    await produce(servers, "billing,diskless_az=az-a", keyed=True)
    await produce(servers, "audit,diskless_az=az-b", keyed=False)
    await produce(servers, "logs,diskless_az=az-c", keyed=False, acks=0)
    await produce(servers, "nobody", keyed=False)
    for number, rack in enumerate(("az-a", "az-b", "AZ-C", None)):
        await consume(servers, f"reader-{number}", rack, f"group-{number}")
    await consume(servers, "nobody", "az-b", "group-of-nobody")  # tells where the producer of this id is
    await asyncio.to_thread(consume_with_librdkafka, servers, "az-c")


OF_OTHERS = {"local": None, "cross": "cluster_work", "unknown": "client_rack_unknown"}
"""The reason of bytes that are no record batches."""
Sums = dict[tuple[str, str, str | None, str], list[int]]


def by_pipeline(folder: Path, rules: RackRules | None) -> tuple[Sums, Counter[str]]:
    """Bytes, and those of record batches, by category, locality, reason and what the fix saves, and near matches."""
    sums: Sums = {}
    details: Counter[str] = Counter()
    for file in find_files([str(folder)])[0]:
        flows = capture_flows(file, Options(), WINDOW_US).flows
        traffic = TrafficSums(flows.evidence.conclude(rules), rules)
        traffic.add_flows(flows)
        for row, amounts in traffic.amounts.items():
            added = dict(zip(SUMS, amounts, strict=True))
            avoidable = "yes" if row.saves else "perhaps" if row.at_most else "no"
            key = (row.category, row.locality, row.reason, avoidable if row.reason else "")
            found = sums.setdefault(key, [0, 0])
            found[0] += added["request_bytes"] + added["response_bytes"]
            found[1] += added["record_bytes"]
            if row.detail and row.category != "other":
                details[row.detail] += added["request_bytes"] + added["response_bytes"]
    return sums, details


def by_journal(cluster: ServedCluster) -> tuple[Sums, Counter[str]]:
    sums: Sums = {}
    details: Counter[str] = Counter()
    for entry in cluster.journal:
        for share in entry.shares:
            found = sums.setdefault((entry.category, entry.locality, share.reason, share.avoidable or ""), [0, 0])
            found[0] += share.bytes
            found[1] += share.record_bytes
            if share.detail and entry.category != "other":
                details[share.detail] += share.bytes
        if entry.category != "other":
            key = ("other", entry.locality, OF_OTHERS[entry.locality], "" if entry.locality == "local" else "no")
            sums.setdefault(key, [0, 0])[0] += entry.other_bytes
    return sums, details


@pytest.mark.parametrize(("selector", "racks_file"), [("rack-aware", None), ("", None), ("rack-aware", RACKS_FILE)])
async def test_the_journal_sums_up_to_what_the_pipeline_says_of_the_capture(tmp_path, selector, racks_file):
    rules = None if racks_file is None else RackRules.read(racks_file, "racks")
    settings = {"replica.selector.class": selector} if selector else {}
    folder = tmp_path / "capture"
    async with MockCluster(
        racks=("az-a", "az-b", "az-c"),
        topics={"orders": (6, 2)},
        settings=settings,
        capture=folder / "trace.jsonl",
        client_racks=rules,
    ) as cluster:
        await work(cluster)
    found, details = by_pipeline(folder, rules)
    assert by_journal(cluster) == (found, details)
    reasons = {reason for _, _, reason, _ in found}
    expected = {"keyed_produce", "unkeyed_produce", "no_client_rack", "rack_not_in_cluster", "no_in_sync_replica"}
    assert reasons >= expected | ({"redirect"} if selector else {"not_redirected"})
    assert any("AZ-C is almost az-c" in detail for detail in details)
    assert ("racks_file" in {entry.client_rack_source for entry in cluster.journal}) == (rules is not None)
    assert any("it says az-b, the racks file az-a" in detail for detail in details) == (rules is not None)


@pytest.mark.parametrize("racks_file", [None, RACKS_FILE])
async def test_a_capture_of_a_proxy_tells_what_its_live_traffic_and_the_brokers_own_capture_tell(tmp_path, racks_file):
    rules = None if racks_file is None else RackRules.read(racks_file, "racks")
    at_the_proxy, at_the_brokers = tmp_path / "proxy", tmp_path / "brokers"
    async with (
        MockCluster(
            racks=("az-a", "az-b", "az-c"),
            topics={"orders": (6, 2)},
            settings={"replica.selector.class": "rack-aware"},
            capture=at_the_brokers / "trace.jsonl",
        ) as real,
        KafkaProxy(real.bootstrap_servers, capture=at_the_proxy / "trace.jsonl", client_racks=rules) as proxy,
    ):
        await work(proxy)
    found, details = by_pipeline(at_the_proxy, rules)
    live, live_details = by_journal(proxy)
    assert live_details == details
    assert with_one_reason_to_produce(live) == with_one_reason_to_produce(found)
    brokers, _ = by_pipeline(at_the_brokers, rules)
    assert of_records(found) == of_records(brokers)
    assert {reason for _, _, reason, _ in of_records(found)} >= {"keyed_produce", "no_client_rack", "redirect"}


def of_records(sums: Sums) -> Sums:
    """Those of what carries records; of the rest the proxy asks some itself, and Metadata tells other addresses."""
    return {key: found for key, found in sums.items() if key[0] != "other"}


def with_one_reason_to_produce(sums: Sums) -> Sums:
    """Sums without what only records say, which a proxy does not open: whether they have keys."""
    found: Sums = {}
    for (category, locality, reason, avoidable), amounts in sums.items():
        is_keyed_or_not = reason in ("keyed_produce", "unaware_partitioner", "unkeyed_produce", "produce_not_read")
        key = (category, locality, "produce", "") if is_keyed_or_not else (category, locality, reason, avoidable)
        found[key] = [one + other for one, other in zip(found.get(key, [0, 0]), amounts, strict=True)]
    return found
