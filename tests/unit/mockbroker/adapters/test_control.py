from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from mockbroker import MockCluster
from mockbroker.adapters.control import ControlServer
from tests.unit.mockbroker.wire_client import WireClient


@pytest.fixture
async def cluster() -> AsyncIterator[MockCluster]:
    """Brokers 0-3 on racks a, b, a, b; the topics orders and, diskless, events."""
    async with MockCluster(
        brokers=4, racks=("a", "b"), topics={"orders": (2, 2)}, diskless_topics={"events": 1}
    ) as cluster:
        yield cluster


@pytest.fixture
async def control(cluster: MockCluster) -> AsyncIterator[ControlServer]:
    async with ControlServer(cluster) as control:
        yield control


@pytest.fixture
async def http(control: ControlServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{control.port}", trust_env=False) as client:
        yield client


async def test_health(http):
    response = await http.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


async def test_the_cluster_is_shown_with_racks_topics_and_leaders(http, cluster):
    shown = (await http.get("/cluster")).json()
    assert shown["controller"] == 0
    assert [(one["id"], one["rack"], one["online"]) for one in shown["brokers"]] == [
        (0, "a", True),
        (1, "b", True),
        (2, "a", True),
        (3, "b", True),
    ]
    assert shown["brokers"][1]["listeners"][0]["port"] == cluster.state.brokers[1].port
    assert shown["racks"] == {"a": {"brokers": [0, 2], "online": [0, 2]}, "b": {"brokers": [1, 3], "online": [1, 3]}}
    events, orders = shown["topics"]
    assert (events["name"], events["diskless"], events["partitions"][0]["leader"]) == ("events", True, None)
    assert [one["leader"] for one in orders["partitions"]] == [
        one.leader for one in cluster.state.topics["orders"].partitions
    ]
    assert [one["isr"] for one in orders["partitions"]] == [
        list(one.isr) for one in cluster.state.topics["orders"].partitions
    ]


async def test_a_stop_is_answered_when_it_has_taken_effect(http, cluster):
    address = cluster.bootstrap_servers.split(",")[1]
    async with WireClient(address) as client:
        response = await http.post("/brokers/1/stop")
        assert (response.status_code, response.json()) == (200, {"brokers": [1]})
        assert await client.is_hung_up()
        with pytest.raises(ConnectionRefusedError):
            await WireClient(address).__aenter__()
    assert (await http.get("/cluster")).json()["racks"]["b"]["online"] == [3]
    response = await http.post("/brokers/1/start")
    assert (response.status_code, response.json()) == (200, {"brokers": [1]})
    async with WireClient(address):
        pass


async def test_a_rack_is_stopped_and_started_as_a_whole(http):
    await http.post("/brokers/2/stop")
    assert (await http.post("/racks/a/stop")).json() == {"brokers": [0]}
    assert (await http.get("/cluster")).json()["controller"] == 1
    assert (await http.post("/racks/a/start")).json() == {"brokers": [0, 2]}


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("GET", "/", 404, "there is nothing at /"),
        ("GET", "/brokers", 404, "nothing at /brokers"),
        ("POST", "/brokers/9/stop", 404, "there is no broker '9'; the brokers: 0, 1, 2, 3"),
        ("POST", "/brokers/one/stop", 404, "there is no broker 'one'"),
        ("POST", "/racks/z/stop", 404, "there is no rack 'z'; the racks: a, b"),
        ("POST", "/racks/a/restart", 404, "nothing at /racks/a/restart"),
        ("GET", "/racks/a/stop", 405, "expected POST, got GET"),
        ("POST", "/cluster", 405, "expected GET, got POST"),
        ("DELETE", "/healthz", 405, "expected GET, got DELETE"),
        ("POST", "/brokers/1/start", 409, "broker 1 is running already"),
        ("POST", "/racks/a/start", 409, "rack a is running already"),
    ],
)
async def test_what_cannot_be_done_is_said_in_one_line(http, method, path, status, words):
    response = await http.request(method, path)
    assert response.status_code == status
    assert words in response.json()["error"]
    assert "\n" not in response.json()["error"]


@pytest.mark.parametrize("path", ["/healthz", "/cluster", "/nowhere"])
async def test_head_is_answered_as_get_without_the_body(http, path):
    head, get = await http.head(path), await http.get(path)
    assert (head.status_code, head.headers, head.content) == (get.status_code, get.headers, b"")
    assert (await http.get("/healthz")).json() == {"status": "ok"}  # over the same connection


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/cluster", "GET, HEAD"),
        ("DELETE", "/healthz", "GET, HEAD"),
        ("GET", "/racks/a/stop", "POST"),
        ("HEAD", "/brokers/1/lag", "POST"),
    ],
)
async def test_the_wrong_method_is_answered_with_the_right_ones(http, method, path, allowed):
    response = await http.request(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, allowed)


async def test_what_is_not_http_is_refused_and_the_next_is_served(http, control):
    reader, writer = await asyncio.open_connection("127.0.0.1", control.port)
    writer.write(b"\x00\x00\x00\x10nonsense\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
    writer.close()
    assert (await http.get("/healthz")).status_code == 200


async def test_a_client_that_stays_connected_does_not_keep_the_server_from_closing(cluster):
    async with ControlServer(cluster) as control:
        _, writer = await asyncio.open_connection("127.0.0.1", control.port)
    writer.close()


async def test_followers_are_set_behind_one_broker_or_a_whole_rack(http, cluster):
    def lags(shown):
        return [one["follower_lag"] for one in shown["brokers"]]

    assert lags((await http.get("/cluster")).json()) == [0, 0, 0, 0]
    response = await http.post("/brokers/1/lag", json={"records": 7})
    assert (response.status_code, response.json()) == (200, {"brokers": [1], "records": 7})
    assert (await http.post("/racks/a/lag", json={"records": 3})).json() == {"brokers": [0, 2], "records": 3}
    assert lags((await http.get("/cluster")).json()) == [3, 7, 3, 0]
    assert cluster.state.replication.lags == {0: 3, 1: 7, 2: 3}
    await http.post("/brokers/1/lag", json={"records": 0})
    assert lags((await http.get("/cluster")).json()) == [3, 0, 3, 0]


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/brokers/1/lag", b"", 400, 'records None: {"records": N} is wanted, N from 0'),
        ("/brokers/1/lag", b'{"records": -1}', 400, "records -1: "),
        ("/brokers/1/lag", b'{"records": true}', 400, "records True: "),
        ("/brokers/1/lag", b'{"records": "5"}', 400, "records '5': "),
        ("/brokers/1/lag", b'{"record": 5}', 400, "a JSON object with records is wanted"),
        ("/brokers/1/lag", b"[5]", 400, "a JSON object with records is wanted"),
        ("/brokers/1/lag", b"{records: 5}", 400, "the body is no JSON"),
        ("/brokers/1/lag", b"\xff\xfe\x00", 400, "the body is no JSON"),
        ("/brokers/1/lag", b'{"records": ' + b"9" * 5000 + b"}", 400, ""),
        ("/brokers/1/lag", b"[" * 60000, 400, "the body is no JSON"),
        ("/brokers/1/lag", b"x" * 70000, 413, "the body has more than 65536 bytes"),
        ("/brokers/9/lag", b'{"records": 5}', 404, "there is no broker '9'"),
        ("/racks/z/lag", b'{"records": 5}', 404, "there is no rack 'z'; the racks: a, b"),
        ("/brokers/1/software", b"{}", 400, "release or inter.broker.protocol.version is wanted"),
        ("/brokers/1/software", b'{"release": 3.9}', 400, 'release 3.9: text is wanted, as "0.10.0"'),
        ("/brokers/1/software", b'{"version": "3.9"}', 400, "release and inter.broker.protocol.version"),
        ("/brokers/1/software", b'{"release": "3.9"}', 409, "in ZooKeeper mode only"),
    ],
)
async def test_a_body_that_will_not_do_is_refused_in_one_line(http, cluster, path, body, status, words):
    response = await http.post(path, content=body)
    assert response.status_code == status
    assert words in response.json()["error"]
    assert "\n" not in response.json()["error"]
    assert cluster.state.replication.lags == {}


async def test_a_kraft_cluster_says_so(http):
    shown = (await http.get("/cluster")).json()
    assert shown["mode"] == "kraft"
    assert "zookeeper" not in shown


async def test_the_zookeeper_era_is_shown_and_upgraded():
    protocol = "inter.broker.protocol.version"
    async with (
        MockCluster(settings={protocol: "0.9.0"}) as cluster,
        ControlServer(cluster) as control,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{control.port}", trust_env=False) as http,
    ):
        shown = (await http.get("/cluster")).json()
        assert shown["mode"] == "zookeeper"
        era = shown["zookeeper"]
        assert (era["controller_epoch"], era["problem"]) == (1, None)
        assert [one["version"] for one in era["registrations"].values()] == [2, 2, 2]
        assert list(era["registrations"]) == ["/brokers/ids/0", "/brokers/ids/1", "/brokers/ids/2"]
        assert era["brokers"][1] == {
            "id": 1,
            "release": "0.9.0",
            protocol: "0.9.0",
            "update_metadata": {"version": 1, "controller": 0, "outcome": "taken"},
            "knows_brokers": [0, 1, 2],
        }
        response = await http.post("/brokers/1/software", json={"release": "0.10.0", protocol: "0.10.0"})
        assert (response.status_code, response.json()) == (200, {"brokers": [1]})
        era = (await http.get("/cluster")).json()["zookeeper"]
        assert era["brokers"][1]["release"] == "0.9.0"
        await http.post("/brokers/1/stop")
        await http.post("/brokers/1/start")
        era = (await http.get("/cluster")).json()["zookeeper"]
        assert (era["brokers"][1]["release"], era["brokers"][1][protocol]) == ("0.10.0", "0.10.0")
        assert (era["registrations"]["/brokers/ids/1"]["version"], era["registrations"]["/brokers/ids/1"]["rack"]) == (
            3,
            "b",
        )
        for body, words in (
            ({protocol: "2.0"}, "2.0 is not known to Kafka 0.10.0"),
            ({"release": "5.0"}, "release=5.0: 0.8.2 to 4.4 are known"),
            ({"release": "4.1"}, "Kafka 4.1 has no ZooKeeper mode"),
        ):
            response = await http.post("/brokers/1/software", json=body)
            assert response.status_code == 409
            assert words in response.json()["error"]
