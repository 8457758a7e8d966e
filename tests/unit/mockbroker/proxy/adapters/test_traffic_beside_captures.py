"""Bytes that the proxy counts while they go by are those that its capture has, also where no answer came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafka_rack.locality import RackRules
from kafka_rack.locality.captures import measure
from kafka_rack.locality.settings import Settings
from mockbroker import KafkaProxy, MockCluster
from tests.progress import until
from tests.unit.mockbroker.handlers.records import TOPIC, batch, produce_request
from tests.unit.mockbroker.wire_client import WireClient


def bytes_by_pair(rows: list[dict[str, Any]]) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Calls and bytes by category, client's and broker's rack, without copies between brokers, which no client sees."""
    found: dict[tuple[str, str, str], tuple[int, int]] = {}
    for row in rows:
        if row["category"] != "replication":
            key = (row["category"], row["client_rack"] or "", row["broker_rack"] or "")
            calls, size = found.get(key, (0, 0))
            found[key] = (calls + row["calls"], size + row["bytes"])
    return found


def captured(file: Path, rules: RackRules) -> dict[tuple[str, str, str], tuple[int, int]]:
    return bytes_by_pair(measure([str(file)], Settings(rules=rules)).result["rack_pairs"])


@pytest.mark.parametrize("size", [10, 300_000])
@pytest.mark.parametrize("end", ["the rack stops", "the client goes"])
async def test_a_write_without_an_answer_is_a_write_in_both(end: str, size: int, tmp_path: Path):
    rules, file = RackRules.read("b@client:test", "racks"), tmp_path / "capture.jsonl"
    async with MockCluster(topics={TOPIC: 1}) as real:
        async with (
            KafkaProxy(real.bootstrap_servers, capture=file, client_racks=rules) as proxy,
            WireClient(proxy.bootstrap_servers.split(",")[0]) as client,
        ):
            await client.ask(produce_request(batch(b"a" * size)), 9)
            lost = real.faults.add(match={"api": "Produce"}, effect={"silence": True})
            client.send(produce_request(batch(b"b" * size)), 9)
            await client.writer.drain()
            await until(lambda: lost.fired, "the write")
            if end == "the rack stops":
                await proxy.stop_rack("a")
                assert await client.is_hung_up()
        live = bytes_by_pair(proxy.traffic.snapshot()["flows"])
    assert live == captured(file, rules)
    assert {category: calls for (category, *_), (calls, _) in live.items()} == {"produce": 2, "other": 0}
