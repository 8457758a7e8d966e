"""The control API on a proxy: every operation works there, or is refused with what can be done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from kafka_rack.cli.commands.ctl import views
from mockbroker import KafkaProxy, MockCluster
from mockbroker.adapters.control import ControlServer, app
from mockbroker.adapters.control.operations import operation
from tests.plain_http import PLAIN_HTTP
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request
from tests.unit.mockbroker.wire_client import WireClient

assert app  # declares the operations
NAMES = {"{id}": "1", "{rack}": "b", "{topic}": TOPIC, "{partition}": "0", "{group}": "g", "{fault}": "slow"}
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/topics"): {"name": "payments"},
    ("POST", "/topics/{topic}/partitions/{partition}/leader"): {"broker": 1},
    ("POST", "/topics/{topic}/partitions/{partition}/replicas"): {"brokers": [1]},
    ("POST", "/topics/{topic}/partitions/{partition}/isr"): {"brokers": [1]},
    ("POST", "/groups/{group}/coordinator"): {"broker": 1},
    ("POST", "/brokers/{id}/lag"): {"records": 3},
    ("POST", "/racks/{rack}/lag"): {"records": 3},
    ("POST", "/brokers/{id}/software"): {"release": "3.4"},
    ("POST", "/links/cut"): {"between": [0, 1]},
    ("POST", "/links/restore"): {"between": [0, 1]},
    ("POST", "/clock"): {"jump_ms": 1000},
    ("POST", "/faults"): {"match": {"api": "Heartbeat"}, "effect": {"delay_ms": 1}},
    ("POST", "/requests/count"): {"api": "Fetch"},
    ("POST", "/assertions"): {"assert": "no_errors"},
}
REFUSED = {
    ("DELETE", "/topics/{topic}"),
    ("GET", "/groups"),
    ("GET", "/groups/{group}"),
    ("POST", "/brokers/{id}/empty-disk"),
    ("POST", "/brokers/{id}/fence"),
    ("POST", "/brokers/{id}/fill-disk"),
    ("POST", "/brokers/{id}/isolate"),
    ("POST", "/brokers/{id}/lag"),
    ("POST", "/brokers/{id}/rejoin"),
    ("POST", "/brokers/{id}/software"),
    ("POST", "/brokers/{id}/unfence"),
    ("POST", "/clock"),
    ("POST", "/groups/{group}/coordinator"),
    ("POST", "/links/cut"),
    ("POST", "/links/restore"),
    ("POST", "/racks/{rack}/lag"),
    ("POST", "/reset"),
    ("POST", "/shutdown"),  # of a proxy that runs inside another program
    ("POST", "/topics"),
    ("POST", "/topics/{topic}/partitions/{partition}/isr"),
    ("POST", "/topics/{topic}/partitions/{partition}/leader"),
    ("POST", "/topics/{topic}/partitions/{partition}/replicas"),
}


@pytest.fixture
async def real() -> AsyncIterator[MockCluster]:
    async with MockCluster(topics={TOPIC: (1, 3)}) as real:
        yield real


@pytest.fixture
async def proxy(real: MockCluster) -> AsyncIterator[KafkaProxy]:
    async with KafkaProxy(real.bootstrap_servers) as proxy:
        yield proxy


@pytest.fixture
async def http(proxy: KafkaProxy) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        ControlServer(proxy) as control,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{control.port}", timeout=None, **PLAIN_HTTP) as client,
    ):
        yield client


async def test_each_operation_works_or_is_refused_with_what_can_be_done(proxy, real, http):
    before = real.state.version
    for method, path in operation.table:
        if path == "/events" or method == "HEAD":
            continue
        if path == "/faults/{fault}":
            proxy.faults.clear()
            proxy.faults.add(id="slow", match={"api": "Heartbeat"}, effect={"delay_ms": 1})
        if path.endswith("/start"):
            await proxy.stop_broker(1)
        elif path.endswith(("/stop", "/crash")):
            await proxy.start_broker(1)
        sent = path
        for name, value in NAMES.items():
            sent = sent.replace(name, value)
        answer = await http.request(method, sent, json=BODIES.get((method, path)))
        if (method, path) in REFUSED:
            assert answer.status_code == 409, (method, path, answer.text)
            detail = answer.json()["detail"]
            assert "proxy" in detail or path == "/shutdown", (method, path, detail)
        else:
            assert answer.status_code < 300 or path == "/assertions", (method, path, answer.text)
    assert real.state.version == before
    assert all(broker.is_running for broker in real.state.brokers.values())


async def test_what_a_proxy_is_not_told_is_not_shown_as_nothing(proxy, real, http):
    async with WireClient(proxy.bootstrap_servers.split(",")[0]) as client:
        await client.ask(produce_request(batch(b"a")), 12)
    shown = (await http.get("/cluster")).json()
    assert (shown["mode"], shown["controller"], shown["settings"]) == ("proxy", None, {})
    (topic,) = shown["topics"]
    (partition,) = topic["partitions"]
    assert partition["isr"] == list(real.state.topics[TOPIC].partitions[0].isr)
    unknown = ("start_offset", "high_watermark", "end_offset", "size_bytes", "follower_lag")
    assert [partition[name] for name in unknown] == [None] * 5
    details = (await http.get(f"/topics/{TOPIC}")).json()
    assert (details["configs"], details["partitions"][0]["end_offset"]) == (None, None)
    metrics = (await http.get("/metrics")).text
    assert "kafka_rack_record_bytes" not in metrics
    assert 'kafka_rack_calls_total{api="Produce"' in metrics
    told = views.status(shown, [], (await http.get("/traffic")).json() | {"calls": 0})
    assert "a real one behind a proxy" in told
    assert "None" not in views.topics(shown["topics"]) + views.topic(details)


async def test_a_broker_that_is_stopped_here_is_shown_as_down_though_the_real_one_is_up(proxy, real, http):
    await http.post("/racks/b/stop")
    shown = (await http.get("/cluster")).json()
    assert [(one["id"], one["online"], one["running"]) for one in shown["brokers"]] == [
        (0, True, True),
        (1, False, False),
        (2, True, True),
    ]
    assert shown["racks"]["b"] == {"brokers": [1], "online": []}
    assert 'kafka_rack_broker_up{broker="1",rack="b"} 0' in (await http.get("/metrics")).text


async def test_the_calls_that_came_by_are_asked_for_and_claimed_as_of_any_cluster(proxy, http):
    async with WireClient(proxy.bootstrap_servers.split(",")[0]) as client:
        await client.ask(produce_request(batch(b"a")), 12)
        await client.ask(fetch_request(rack_id="b"), 12)
    (fetch,) = (await http.get("/requests", params={"api": "Fetch"})).json()["requests"]
    assert (fetch["rack"], fetch["client_rack"], fetch["locality"]) == ("a", "b", "cross")
    claim = await http.post("/assertions", json={"assert": "rack_local", "topic": TOPIC, "api": "Fetch"})
    assert claim.status_code == 417


async def test_what_was_acknowledged_is_not_missed_in_logs_that_nobody_looks_into(proxy, http):
    async with WireClient(proxy.bootstrap_servers.split(",")[0]) as client:
        await client.ask(produce_request(batch(b"a")), 12)
        await client.ask(fetch_request(), 12)
    claim = await http.post("/assertions", json={"assert": "consistent"})
    assert claim.status_code == 200, claim.text
