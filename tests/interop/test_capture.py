"""What ``kafka-rack serve --capture`` writes of a real client's work, decoded: the same calls that the journal has."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables.reading import decode_paths
from mockbroker import MockCluster

aiokafka = pytest.importorskip("aiokafka", reason="aiokafka is missing: pip install '.[clients]'")

RECORDS = 300


async def work(cluster: MockCluster) -> None:
    """A producer and a group's consumer of rack b; the producer with acks=0 for a while."""
    servers = cluster.bootstrap_servers
    for acks in ("all", 0):
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=servers, client_id="billing,diskless_az=b", acks=acks, linger_ms=2
        ) as producer:
            for number in range(RECORDS // 2):
                await producer.send_and_wait("orders", b"value-%d" % number, key=b"key-%d" % number)
    async with aiokafka.AIOKafkaConsumer(
        "orders",
        bootstrap_servers=servers,
        client_id="reader",
        client_rack="b",
        group_id="group",
        auto_offset_reset="earliest",
    ) as consumer:
        read = 0
        while read < RECORDS:
            read += sum(map(len, (await consumer.getmany(timeout_ms=1000)).values()))


@pytest.fixture
async def captured(tmp_path, request):
    """The journal's calls, and the folder of the capture."""
    folder = tmp_path / "capture"
    folder.mkdir()
    settings = {"replica.selector.class": "rack-aware"}
    async with MockCluster(
        topics={"orders": (6, 3)}, settings=settings, capture=folder / "trace.jsonl", capture_bytes=request.param
    ) as cluster:
        await work(cluster)
    return list(cluster.journal), folder


@pytest.mark.parametrize("captured", [1 << 30, 20_000], indirect=True, ids=["one file", "rotated"])
async def test_a_capture_of_a_real_client_decodes_to_what_the_journal_saw(captured):
    journal, folder = captured
    files, _ = find_files([str(folder)])
    rows = decode_paths([str(folder)])
    frames = rows.as_dicts("frames")
    assert [row for row in frames if row["error"]] == []
    assert rows.as_dicts("problems") == []
    calls = Counter((row["api_key"], row["client_id"], row["broker"]) for row in rows.as_dicts("calls"))
    for row in rows.as_dicts("produces"):
        calls[0, row["client_id"], row["broker"]] += row["acks"] == 0 and row["first"]
    answered = [call for call in journal if call.ending.startswith("answered")]
    assert calls == Counter((call.api_key, call.client_id, call.broker_id) for call in answered)
    assert sum(row["records"] for row in rows.as_dicts("produces")) == RECORDS
    fetches = [row for row in rows.as_dicts("fetches") if row["records"]]
    assert sum(row["records"] for row in fetches) == RECORDS
    assert {row["client_rack"] for row in fetches} == {row["broker_rack"] for row in fetches} == {"b"}
    assert {row["client_rack_from"] for row in rows.as_dicts("produces")} == {"client_id"}
    assert {row["leader_rack"] for row in rows.as_dicts("produces")} == {"a", "b", "c"}
    if len(files) > 1:
        assert len(files) > 5
        carried = [line for file in files for line in json_lines_of(file.path) if line.get("ev") == "asked"]
        assert carried, "a rotation in the middle of a call was meant to happen"


def json_lines_of(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
