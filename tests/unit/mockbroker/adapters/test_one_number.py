"""Ground truth: a generator counts its own record batches; journal, live traffic and the capture agree to the byte."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kafka_rack.locality.captures import capture_flows, ledger_of, measure
from kafka_rack.locality.ledger import RECORD_BYTES
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from mockbroker import MockCluster
from protocol.apis.metadata import MetadataRequest
from tests.unit.mockbroker.handlers.records import batch, fetch_request, produce_request
from tests.unit.mockbroker.wire_client import WireClient

RACKS = ("a", "b", "c")
CLASSIC, DISKLESS = "orders", "events"
RECORDS = ("produce", "consume")


class Generator:
    """Clients in each rack that write and read, and count what they sent and got."""

    def __init__(self, cluster: MockCluster) -> None:
        self.addresses = cluster.bootstrap_servers.split(",")
        self.sizes: Counter[tuple[str, str, int]] = Counter()
        """(kind, client's rack, broker) -> bytes of record batches."""

    def client(self, broker: int, rack: str) -> WireClient:
        return WireClient(self.addresses[broker], client_id=f"app-{rack},diskless_az={rack}")

    async def write(self, broker: int, rack: str, topic: str, *values: bytes) -> None:
        async with self.client(broker, rack) as client:
            await client.ask(MetadataRequest(topics=None), 12)
            for value in values:
                sent = batch(value)
                answer = await client.ask(produce_request(sent, topic=topic), 9)
                assert answer.responses[0].partition_responses[0].error_code == 0
                self.sizes["produce", rack, broker] += len(sent)

    async def read(self, broker: int, rack: str, topic: str) -> None:
        """Read all from where a broker sends its reader."""
        async with self.client(broker, rack) as client:
            answer = await client.ask(fetch_request(topic=topic, rack_id=rack), 12)
            partition = answer.responses[0].partitions[0]
            self.sizes["consume", rack, broker] += len(partition.records or b"")
        if partition.preferred_read_replica >= 0:
            await self.read(partition.preferred_read_replica, rack, topic)

    async def work(self) -> None:
        for number, rack in enumerate(RACKS):
            await self.write(0, rack, CLASSIC, b"v" * 700, b"w" * 50)
            await self.write(number, rack, DISKLESS, b"d" * 300)
        await self.write(2, "a", DISKLESS, b"e" * 111)  # a client that goes to another rack
        for number, rack in enumerate(RACKS):
            await self.read(0, rack, CLASSIC)
            await self.read(number, rack, DISKLESS)


def of_journal(cluster: MockCluster) -> Counter[tuple[str, str, int]]:
    found: Counter[tuple[str, str, int]] = Counter()
    for entry in cluster.journal:
        if entry.category in RECORDS:
            for share in entry.shares:
                found[entry.category, entry.client_rack, entry.broker_id] += share.bytes
    return found


def of_traffic(cluster: MockCluster) -> Counter[tuple[str, str, int]]:
    found: Counter[tuple[str, str, int]] = Counter()
    for flow in cluster.traffic.snapshot()["flows"]:
        if flow["category"] in RECORDS:
            found[flow["category"], flow["client_rack"], flow["broker"]] += flow["bytes"]
    return found


def of_capture(path: Path) -> Counter[tuple[str, str, int]]:
    found: Counter[tuple[str, str, int]] = Counter()
    (file,) = find_files([str(path)])[0]
    for key, amounts in ledger_of([capture_flows(file, Options())]).flows.items():
        if key.category in RECORDS:
            found[key.category, key.client_rack, key.broker] += amounts[RECORD_BYTES]
    return found


@pytest.mark.parametrize("selector", ["leader", "rack-aware"])
async def test_journal_traffic_and_capture_have_what_the_generator_counted(selector, tmp_path):
    capture = tmp_path / "trace.jsonl"
    async with MockCluster(
        racks=RACKS,
        topics={CLASSIC: (1, 3)},
        diskless_topics={DISKLESS: 1},
        settings={"replica.selector.class": selector},
        capture=capture,
    ) as cluster:
        cluster.move_replicas(CLASSIC, 0, [0, 1, 2])
        generator = Generator(cluster)
        await generator.work()
        journal, live, snapshot = of_journal(cluster), of_traffic(cluster), cluster.traffic.snapshot()
        frames = sum(entry.bytes for entry in cluster.journal)
    truth = +generator.sizes
    assert +journal == truth
    assert +live == truth
    assert +of_capture(capture) == truth
    result = measure([str(capture)]).result
    assert result["total"]["bytes"] == frames
    brokers = dict(zip(RACKS, range(3), strict=True))
    crossed = sum(size for (_, rack, broker), size in truth.items() if brokers[rack] != broker)
    assert result["summary"]["client"]["cross_bytes"] == snapshot["summary"]["client"]["cross_bytes"] == crossed
    consumed = sum(
        size for (kind, rack, broker), size in truth.items() if kind == "consume" and brokers[rack] != broker
    )
    assert (consumed == 0) == (selector == "rack-aware")
