from __future__ import annotations

import pytest

from protocol.apis.metadata import MetadataRequest
from tests.unit.mockbroker.wire_client import WireClient

METADATA = MetadataRequest(topics=None)
SILENCE = {"id": "quiet", "match": {"api": "Metadata", "rack": "b"}, "effect": {"disconnect": True}}


async def test_a_fault_is_set_acts_and_is_taken_back(http, cluster):
    response = await http.post("/faults", json=SILENCE)
    assert (response.status_code, response.headers["location"]) == (201, "/faults/quiet")
    assert (await http.get("/faults")).json()["faults"] == [response.json()]
    assert "explanation" in response.json()
    address = cluster.bootstrap_servers.split(",")[1]
    async with WireClient(address) as client:
        with pytest.raises((EOFError, ConnectionError)):
            await client.ask(METADATA, 12)
    shown = (await http.get("/faults/quiet")).json()
    assert {name: shown[name] for name in SILENCE} == SILENCE
    assert (shown["matched"], shown["fired"]) == (1, 1)
    assert (await http.delete("/faults/quiet")).json() == shown
    assert (await http.get("/faults/quiet")).status_code == 404
    async with WireClient(address) as client:
        assert await client.ask(METADATA, 12)


async def test_of_a_list_all_faults_are_set_or_none(http, cluster):
    some = [{"effect": {"delay_ms": 1}}, {"id": "other", "effect": {"silence": True}}]
    response = await http.post("/faults", json=some)
    assert (response.status_code, response.headers["location"]) == (201, "/faults")
    assert [one["id"] for one in response.json()["faults"]] == ["fault-1", "other"]
    wrong = await http.post("/faults", json={"faults": [{"id": "x", "effect": {"delay_ms": 1}}, {"effect": {}}]})
    assert wrong.status_code == 400
    assert (wrong.json()["field"], wrong.json()["detail"].startswith("[1].effect: expected ")) == ("[1].effect", True)
    assert "x" not in cluster.faults
    assert (await http.delete("/faults")).json() == {"deleted": ["fault-1", "other"]}
    assert len(cluster.faults) == 0


async def test_an_id_that_is_taken_is_a_conflict(http):
    await http.post("/faults", json=SILENCE)
    response = await http.post("/faults", json=SILENCE)
    assert (response.status_code, response.json()["status"]) == (409, 409)
    assert "an id that no other fault has, got 'quiet'" in response.json()["detail"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"effect": {"error": "NO_SUCH"}}, "effect.error"),
        ({"match": {"apy": "Fetch"}, "effect": {"silence": True}}, "match"),
        ({"effect": {"silence": True, "error": "NONE"}}, "effect"),
        ({"match": {"api": "Fetch"}}, "effect"),
    ],
)
async def test_a_fault_that_cannot_be_names_its_field(http, body, field):
    response = await http.post("/faults", json=body)
    assert response.status_code == 400
    assert response.json()["field"].startswith(field)
    assert "expected" in response.json()["detail"]


async def test_a_long_list_of_faults_may_have_a_mebibyte_and_no_more(http):
    faults = [{"match": {"client_id": f"{'x' * 1000}{number}"}, "effect": {"delay_ms": 1}} for number in range(100)]
    assert (await http.post("/faults", json=faults)).status_code == 201
    assert (await http.post("/faults", content=b" " * ((1 << 20) + 1))).status_code == 413
