from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from mockbroker import MockCluster
from mockbroker.adapters.control import ControlServer
from tests.plain_http import PLAIN_HTTP
from tests.unit.mockbroker.wire_client import WireClient


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


async def test_a_slash_at_the_end_of_a_path_is_no_other_path(http):
    assert (await http.get("/healthz/")).json() == {"status": "ok"}


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
        ("GET", "/nowhere", 404, "there is nothing at /nowhere; there is /brokers, /racks"),
        ("GET", "/brokers", 404, "nothing at /brokers; there is /brokers/{id}/stop"),
        ("POST", "/brokers/9/stop", 404, "there is no broker '9'; the brokers: 0, 1, 2, 3"),
        ("POST", "/brokers/one/stop", 404, "there is no broker 'one'"),
        ("POST", "/racks/z/stop", 404, "there is no rack 'z'; the racks: a, b"),
        ("POST", "/racks/a/unplug", 404, "nothing at /racks/a/unplug; there is /racks/{rack}/stop"),
        ("GET", "/racks/a/stop", 405, "expected POST, got GET"),
        ("POST", "/cluster", 405, "expected GET, got POST"),
        ("DELETE", "/healthz", 405, "expected GET, got DELETE"),
        ("POST", "/brokers/1/start", 409, "broker 1 is running already"),
        ("POST", "/racks/a/start", 409, "rack a is running already"),
        ("POST", "/brokers/1/unfence", 409, "broker 1 is not fenced"),
        ("POST", "/brokers/1/empty-disk", 409, "the disk of broker 1 is not full"),
        ("GET", "/topics/none", 404, "there is no topic 'none'; the topics: events, orders"),
        ("DELETE", "/topics/none", 404, "there is no topic 'none'"),
        ("GET", "/groups/none", 404, "there is no group 'none'; the groups: none"),
        ("POST", "/shutdown", 409, "this cluster ends with the program that runs it"),
        ("GET", "/cluster?wide=1", 400, "wide: expected no such parameter; there are: internal"),
    ],
)
async def test_what_cannot_be_done_is_said_in_one_line(http, method, path, status, words):
    response = await http.request(method, path)
    assert response.status_code == status
    assert words in response.json()["detail"]
    assert "\n" not in response.json()["detail"]


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
        reader, writer = await asyncio.open_connection("127.0.0.1", control.port)
    assert await reader.read() == b""
    writer.close()


async def test_followers_are_set_behind_one_broker_or_a_whole_rack(http, cluster):
    def lags(shown):
        return [one["follower_lag"] for one in shown["brokers"]]

    assert lags((await http.get("/cluster")).json()) == [0, 0, 0, 0]
    response = await http.post("/brokers/1/lag", json={"records": 7})
    assert (response.status_code, response.json()) == (200, {"records": 7})
    assert (await http.post("/racks/a/lag", json={"records": 3})).json() == {"records": 3}
    assert lags((await http.get("/cluster")).json()) == [3, 7, 3, 0]
    assert cluster.state.replication.lags == {0: 3, 1: 7, 2: 3}
    await http.post("/brokers/1/lag", json={"records": 0})
    assert lags((await http.get("/cluster")).json()) == [3, 0, 3, 0]


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/brokers/1/lag", b"", 400, "the body: object missing required field `records`"),
        ("/brokers/1/lag", b'{"records": -1}', 400, "records: expected `int` >= 0, got -1"),
        ("/brokers/1/lag", b'{"records": true}', 400, "records: expected `int`, got true"),
        ("/brokers/1/lag", b'{"records": "5"}', 400, 'records: expected `int`, got "5"'),
        ("/brokers/1/lag", b'{"record": 5}', 400, "record"),
        ("/brokers/1/lag", b"[5]", 400, "the body: expected `object`, got [5]"),
        ("/brokers/1/lag", b"{records: 5}", 400, "the body is no JSON"),
        ("/brokers/1/lag", b"\xff\xfe\x00", 400, "the body is no JSON"),
        ("/brokers/1/lag", b'{"records": ' + b"9" * 5000 + b"}", 400, ""),
        ("/brokers/1/lag", b"[" * 60000, 400, "the body is no JSON"),
        ("/brokers/1/lag", b"x" * 1_100_000, 413, "the body has more than 1048576 bytes"),
        ("/brokers/9/lag", b'{"records": 5}', 404, "there is no broker '9'"),
        ("/racks/z/lag", b'{"records": 5}', 404, "there is no rack 'z'; the racks: a, b"),
        ("/brokers/1/software", b"{}", 400, "expected release, inter.broker.protocol.version or both, got neither"),
        ("/brokers/1/software", b'{"release": 3.9}', 400, "release: expected `str | null`, got 3.9"),
        ("/brokers/1/software", b'{"version": "3.9"}', 400, "the body: object contains unknown field `version`"),
        ("/brokers/1/software", b'{"release": "3.9"}', 409, "in ZooKeeper mode only"),
    ],
)
async def test_a_body_that_will_not_do_is_refused_in_one_line(http, cluster, path, body, status, words):
    response = await http.post(path, content=body)
    assert response.status_code == status
    assert words in response.json()["detail"]
    assert "\n" not in response.json()["detail"]
    assert cluster.state.replication.lags == {}


async def test_a_kraft_cluster_says_so(http):
    shown = (await http.get("/cluster")).json()
    assert shown["mode"] == "kraft"
    assert "zookeeper" not in shown


@pytest.mark.zookeeper
async def test_the_zookeeper_era_is_shown_and_upgraded():
    protocol = "inter.broker.protocol.version"
    async with (
        MockCluster(settings={protocol: "0.9.0"}) as cluster,
        ControlServer(cluster) as control,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{control.port}", timeout=None, **PLAIN_HTTP) as http,
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
            assert words in response.json()["detail"]


# what the commands change


async def brokers(http) -> dict[int, dict[str, Any]]:
    return {one["id"]: one for one in (await http.get("/cluster")).json()["brokers"]}


async def test_a_restart_and_a_crash_are_commands_too(http, cluster):
    assert (await http.post("/brokers/1/crash")).json() == {"brokers": [1]}
    assert ((await brokers(http))[1]["running"], cluster.state.brokers[1].is_running) == (False, False)
    assert (await http.post("/racks/b/restart")).json() == {"brokers": [1, 3]}
    epochs = {broker.id: broker.epoch for broker in cluster.state.brokers.values()}
    assert all(broker.is_running for broker in cluster.state.brokers.values())
    assert (await http.post("/brokers/1/restart")).json() == {"brokers": [1]}
    assert cluster.state.brokers[1].epoch > epochs[1]


@pytest.mark.parametrize(
    ("command", "key", "undone_by"),
    [("fence", "fenced", "unfence"), ("fill-disk", "disk_full", "empty-disk")],
)
async def test_a_fence_and_a_full_disk_show_until_they_are_undone(http, command, key, undone_by):
    assert (await http.post(f"/brokers/2/{command}")).json() == {"brokers": [2]}
    assert [one["id"] for one in (await brokers(http)).values() if one[key]] == [2]
    assert (await http.post(f"/brokers/2/{command}")).status_code == 409
    await http.post(f"/brokers/2/{undone_by}")
    assert not any(one[key] for one in (await brokers(http)).values())


async def test_links_are_cut_and_restored(http):
    assert (await http.post("/links/cut", json={"between": [2, 1]})).json() == {"between": [2, 1]}
    assert (await http.get("/cluster")).json()["cut_links"] == [[1, 2]]
    await http.post("/links/restore", json={"between": [1, 2]})
    await http.post("/brokers/3/isolate")
    assert (await http.get("/cluster")).json()["cut_links"] == [[-1, 3], [0, 3], [1, 3], [2, 3]]
    await http.post("/brokers/3/rejoin")
    assert (await http.get("/cluster")).json()["cut_links"] == []


async def test_the_clock_goes_forward_and_back(http, cluster):
    assert (await http.post("/clock", json={"jump_ms": 5000})).json() == {"jump_ms": 5000}
    assert (await http.post("/clock", json={"jump_ms": -7000})).json() == {"jump_ms": -7000}
    assert cluster.state.clock.offset_ms == -2000


async def test_internal_topics_are_shown_to_whoever_asks_for_them(http, cluster):
    cluster.state.internal_topics.coordinator("readers")
    for path in ("/topics", "/cluster"):
        names = {
            wish: [one["name"] for one in (await http.get(path + wish)).json()["topics"]]
            for wish in ("", "?internal=false", "?internal=true")
        }
        assert names[""] == names["?internal=false"] == ["events", "orders"]
        assert names["?internal=true"] == ["__consumer_offsets", "events", "orders"]
    assert (await http.get("/topics?internal=maybe")).status_code == 400
    assert "kafka_rack_topics 2\n" in (await http.get("/metrics")).text


async def test_topics_come_and_go(http, cluster):
    response = await http.post(
        "/topics",
        json={"name": "new", "partitions": 2, "replication_factor": 2, "configs": {"min.insync.replicas": 2}},
    )
    assert (response.status_code, response.headers["location"]) == (201, "/topics/new")
    assert (response.json()["configs"], len(response.json()["partitions"])) == ({"min.insync.replicas": 2}, 2)
    assert (await http.get("/topics/new")).json() == response.json()
    assert [one["name"] for one in (await http.get("/topics")).json()["topics"]] == ["events", "new", "orders"]
    assert (await http.post("/topics", json={"name": "new"})).status_code == 409
    assert (await http.post("/topics", json={"name": "d", "diskless": True})).json()["diskless"]
    assert (await http.delete("/topics/new")).json() == {"deleted": "new"}
    assert "new" not in cluster.state.topics


async def test_leaders_replicas_and_isrs_are_moved(http, cluster):
    partition = cluster.state.topics["orders"].partitions[0]
    other = partition.replicas[1]
    moved = await http.post("/topics/orders/partitions/0/leader", json={"broker": other})
    assert (moved.json()["leader"], partition.leader) == (other, other)
    gone = await http.post("/topics/orders/partitions/0/isr", json={"brokers": [other]})
    assert (gone.json()["isr"], partition.isr) == ([other], (other,))
    away = await http.post("/topics/orders/partitions/0/replicas", json={"brokers": [2, 3]})
    assert (away.json()["replicas"], partition.replicas) == ([2, 3], (2, 3))
    refused = await http.post("/topics/orders/partitions/0/leader", json={"broker": 0})
    assert (refused.status_code, refused.json()["error_code"]) == (400, "INVALID_REQUEST")


async def test_a_groups_coordinator_is_moved_before_there_is_a_group(http, cluster):
    answer = await http.post("/groups/my%2Fgroup/coordinator", json={"broker": 3})
    assert answer.json() == {"broker": 3}
    assert cluster.state.internal_topics.coordinator("my/group").id == 3


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/links/cut", {"between": [1]}, 400, "between: expected `array` of length 2, got [1]"),
        ("/links/cut", {"between": [1, "b"]}, 400, 'between[1]: expected `int`, got "b"'),
        ("/links/cut", {"between": [1, 1]}, 400, "between: expected two brokers, got 1 twice"),
        ("/links/cut", {"between": [1, 9]}, 404, "9"),
        ("/clock", {"jump_ms": 1.5}, 400, "jump_ms: expected `int`, got 1.5"),
        ("/topics", {"name": "a b"}, 400, "INVALID_TOPIC_EXCEPTION: topic name 'a b' has characters"),
        ("/topics", {"name": "x", "partitions": 0}, 400, "partitions: expected `int` >= 1, got 0"),
        ("/topics", {"name": "x", "replication_factor": 9}, 400, "INVALID_REPLICATION_FACTOR"),
        ("/topics", {"name": "x", "configs": {"nonsense": 1}}, 400, "INVALID_CONFIG: unknown topic config nonsense"),
        ("/topics", {"name": "x", "configs": {"retention.ms": [1]}}, 400, "configs"),
        (
            "/topics/orders/partitions/9/leader",
            {"broker": 1},
            404,
            "no partition '9' of orders; its partitions: 0 to 1",
        ),
        ("/topics/orders/partitions/0/leader", {"broker": 9}, 404, "there is no broker '9'; the brokers: 0, 1, 2, 3"),
        ("/topics/orders/partitions/0/isr", {"brokers": []}, 400, "brokers: expected `array` of length >= 1, got []"),
    ],
)
async def test_a_command_that_will_not_do_names_the_field_and_what_would_be_right(http, path, body, status, words):
    response = await http.post(path, json=body)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    assert words in response.json()["detail"]
    assert response.json()["status"] == status
    assert response.json()["title"]


async def test_a_reset_takes_everything_back(http, cluster):
    before = (await http.get("/cluster")).json()
    await http.post("/racks/a/stop")
    await http.post("/topics", json={"name": "new"})
    await http.delete("/topics/orders")
    await http.post("/faults", json={"effect": {"silence": True}})
    await http.post("/links/cut", json={"between": [1, 3]})
    assert (await http.post("/reset")).json() == {"status": "as started"}
    after = (await http.get("/cluster")).json()
    assert after | {"version": 0} == before | {"version": 0}
    assert (await http.get("/faults")).json() == {"faults": []}


# bodies


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("application/x-www-form-urlencoded", 200),  # curl -d
        ("text/plain", 415),
        ("multipart/form-data; boundary=x", 415),
    ],
)
async def test_a_body_that_says_it_is_no_json_is_refused(http, media_type, status):
    response = await http.post("/brokers/1/lag", content=b'{"records": 1}', headers={"content-type": media_type})
    assert response.status_code == status


async def test_a_post_without_a_body_may_not_say_that_it_is_text_either(http, cluster):
    response = await http.post("/racks/a/stop", headers={"content-type": "text/plain"})
    assert response.status_code == 415
    assert cluster.state.brokers[0].online


async def test_the_dashboard_is_at_the_root(http):
    response = await http.get("/")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'self'" in response.headers["content-security-policy"]
    assert (await http.post("/")).status_code == 405
    assert (await http.get("/dashboard/app.js")).headers["content-type"] == "text/javascript; charset=utf-8"
    assert (await http.get("/dashboard/../server.py")).status_code == 404
