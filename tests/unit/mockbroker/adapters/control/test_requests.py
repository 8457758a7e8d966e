from __future__ import annotations

import json

import pytest

from mockbroker.core.journal.assertions import check
from tests.unit.mockbroker.adapters.control.calls import read, write


@pytest.fixture
async def served(cluster):
    """Two records are written; reader a reads them in its rack, reader b from another; it says who leads."""
    partition = cluster.state.topics["orders"].partitions[0]
    cluster.move_replicas("orders", 0, [0, 1])
    await write(cluster)
    await write(cluster)
    await read(cluster, 0, "a", "reader-a")
    await read(cluster, 0, "b", "reader-b")
    return partition


async def test_each_call_is_told_with_its_client_its_broker_and_its_verdict(http, served):
    answer = (await http.get("/requests?api=Fetch")).json()
    first, second = answer["requests"]
    assert (first["client_id"], first["client_rack"], first["rack"], first["locality"]) == (
        "reader-a",
        "a",
        "a",
        "local",
    )
    assert (second["client_id"], second["client_rack"], second["rack"]) == ("reader-b", "b", "a")
    assert (second["locality"], second["topics"]) == ("cross", {"orders": [0]})
    assert (answer["next"], answer["dropped"]) == (second["sequence"], 0)


@pytest.mark.parametrize(
    ("query", "clients"),
    [
        ("client_id=reader-*", ["reader-a", "reader-b"]),
        ("client_id=reader-a&client_id=writer", ["writer", "writer", "reader-a"]),
        ("api=Fetch,Metadata&client_rack=b", ["reader-b"]),
        ("locality=cross", ["reader-b"]),
        ("topic=orders&limit=1", ["reader-b"]),
        ("topic=orders&since=0&limit=1", ["writer"]),
        ("broker=3", []),
        ("rack=a&api=Produce", ["writer", "writer"]),
        ("error=NOT_LEADER_OR_FOLLOWER", []),
        ("group=none", []),
    ],
)
async def test_filters_choose_calls(http, served, query, clients):
    assert [one["client_id"] for one in (await http.get(f"/requests?{query}")).json()["requests"]] == clients


async def test_what_comes_is_followed_by_since(http, cluster, served):
    mark = (await http.get("/requests")).json()["next"]
    assert (await http.get(f"/requests?since={mark}")).json()["requests"] == []
    await write(cluster)
    (one,) = (await http.get(f"/requests?since={mark}")).json()["requests"]
    assert (one["client_id"], one["sequence"]) == ("writer", mark + 1)


async def test_with_a_limit_the_next_page_goes_on_where_this_one_ends(http, served):
    pages, mark = [], 0
    while page := (await http.get(f"/requests?since={mark}&limit=3")).json():
        if not page["requests"]:
            break
        pages.append([one["sequence"] for one in page["requests"]])
        mark = page["next"]
    assert pages == [[1, 2, 3], [4]]


async def test_the_last_calls_come_in_their_order(http, cluster, served):
    entries = [entry.to_json() for entry in cluster.journal]
    assert (await http.get("/requests")).json()["requests"] == json.loads(json.dumps(entries))
    assert [one["sequence"] for one in (await http.get("/requests?limit=2")).json()["requests"]] == [3, 4]
    assert [one["sequence"] for one in (await http.get("/requests?since=1&limit=2")).json()["requests"]] == [2, 3]


async def test_calls_are_counted_and_forgotten(http, served):
    assert (await http.post("/requests/count", json={"api": ["Fetch", "Produce"], "client_id": "reader*"})).json() == {
        "count": 2
    }
    assert (await http.delete("/requests")).json() == {"deleted": 4}
    assert (await http.post("/requests/count", json={})).json() == {"count": 0}


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        ("GET", "/requests?apy=Fetch", None, "apy: expected no such parameter; there are: api, client_id"),
        ("GET", "/requests?api=Fetsch", None, "api: expected a name that Kafka knows"),
        ("GET", "/requests?limit=0", None, "limit: expected a number from 1, got '0'"),
        ("GET", "/requests?since=now", None, "since: expected a number from 0, got 'now'"),
        ("GET", "/requests?locality=far", None, "locality: expected one of local, cross, unknown"),
        ("POST", "/requests/count", {"topik": "x"}, "got 'topik'; did you mean topic?"),
        ("POST", "/assertions", {}, "assert: expected one of rack_local"),
        ("POST", "/assertions", {"assert": "rack_locale"}, "did you mean rack_local?"),
        ("POST", "/assertions", {"assert": "rack_local", "topik": "x"}, "did you mean topic?"),
        ("POST", "/assertions", {"assert": "cross_rack_bytes"}, "at_most: expected a number of bytes"),
    ],
)
async def test_a_filter_that_there_is_not_is_named_with_those_that_there_are(http, method, path, body, words):
    response = await http.request(method, path, json=body)
    assert (response.status_code, response.headers["content-type"]) == (400, "application/problem+json")
    assert words in response.json()["detail"]


@pytest.mark.parametrize(
    "claim",
    [
        {"assert": "rack_local", "client_id": "reader-a"},
        {"assert": "served_by", "rack": "a", "topic": "orders"},
        {"assert": "cross_rack_bytes", "at_most": 100000, "topic": "orders"},
        {"assert": "no_errors"},
        {"assert": "consistent"},
    ],
)
async def test_a_claim_that_holds_is_answered_with_ok(http, served, claim):
    response = await http.post("/assertions", json=claim)
    assert (response.status_code, response.json()) == (200, {"ok": True})


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ({"assert": "rack_local", "client_id": "reader-b"}, ["reader-b", "rack a", "orders"]),
        (
            {"assert": "served_by", "rack": "b", "topic": "orders"},
            ["rack b", "went elsewhere", "orders", "4 of 4 calls"],
        ),
        ({"assert": "rack_local", "client_id": "nobody"}, ["'nobody'", "none of 4"]),
    ],
)
async def test_a_claim_that_does_not_hold_is_answered_with_its_sentence(http, served, claim, words):
    response = await http.post("/assertions", json=claim)
    assert (response.status_code, response.headers["content-type"]) == (417, "application/problem+json")
    problem = response.json()
    assert (problem["type"], problem["title"]) == ("urn:kafka-rack:assertion-failed", "Assertion failed")
    assert [word for word in words if word not in problem["detail"]] == [], problem["detail"]


@pytest.mark.parametrize(
    "claim",
    [
        {"assert": "rack_local"},
        {"assert": "rack_local", "client_id": "nobody"},
        {"assert": "rack_local", "client_id": "reader-b", "api": "Produce"},
        {"assert": "served_by", "rack": "b"},
        {"assert": "cross_rack_bytes", "at_most": 1},
        {"assert": "no_errors", "topic": "none", "since": 1},
    ],
)
async def test_a_claim_is_refused_by_the_sentence_that_the_journal_itself_has(http, cluster, served, claim):
    arguments = {name: value for name, value in claim.items() if name != "assert"}
    with pytest.raises(AssertionError) as refused:
        check(claim["assert"], arguments, cluster.journal)
    response = await http.post("/assertions", json=claim)
    assert (response.status_code, response.json()["detail"]) == (417, str(refused.value))
