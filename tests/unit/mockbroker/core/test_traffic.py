"""Traffic between racks: sums by rack, API and client that do not grow, and what crossing costs."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from kafka_rack.locality import Prices, RackRules, Rate
from mockbroker.core import traffic as traffic_module
from mockbroker.core.simulation import Simulation
from mockbroker.core.traffic import OTHER_RACKS, Traffic, first_has_key
from protocol.apis.groups import ListGroupsRequest
from protocol.records import CompressionCodec, Record, build_batch
from tests.unit.mockbroker.core.client import METADATA, Client
from tests.unit.mockbroker.core.journal.traffic_of import cluster_of, fetch, produce
from tests.unit.mockbroker.handlers.records import TOPIC, fetch_request


def pairs(snapshot, *categories):
    """Bytes by client rack, broker rack, category, locality and avoidable."""
    return {
        (row["client_rack"], row["broker_rack"], row["category"], row["locality"], row["avoidable"]): row["bytes"]
        for row in snapshot["rack_pairs"]
        if not categories or row["category"] in categories
    }


def test_every_byte_of_every_frame_is_counted_once_by_rack_and_verdict():
    sim = cluster_of(near=True)
    produce(sim, b"value")
    fetch(sim, "a")
    fetch(sim, "b", client_id="other")
    fetch(sim, "b", broker=1, client_id="other")
    Client(sim, connection=7).ask(METADATA, 12)
    snapshot = sim.traffic.snapshot()
    entries = list(sim.journal)
    assert pairs(snapshot, "produce", "consume", "other") == {
        ("", "a", "produce", "unknown", "perhaps"): entries[0].bytes,
        ("a", "a", "consume", "local", ""): entries[1].bytes,
        ("b", "a", "consume", "cross", "no"): entries[2].bytes,
        ("b", "b", "consume", "local", ""): entries[3].bytes,
        ("", "a", "other", "unknown", "no"): entries[4].bytes,
    }
    assert snapshot["calls"] == len(entries)


def test_a_connection_that_asks_for_metadata_and_for_more_is_counted_once():
    sim = cluster_of()
    client = Client(sim, connection=7)
    for _ in range(3):
        for _ in range(3):
            client.ask(METADATA, 12)
        client.ask(fetch_request(), 12)
        client.ask(ListGroupsRequest(), 4)
    snapshot = sim.traffic.snapshot()
    entries = list(sim.journal)
    assert (snapshot["calls"], len(entries)) == (15, 15)
    assert sum(row["bytes"] for row in snapshot["rack_pairs"]) == sum(entry.bytes for entry in entries)


def test_traffic_and_the_journal_judge_alike_what_is_known_when_a_call_ends():
    sim = Simulation("a,b,c")
    sim.cluster.create_topic(TOPIC, assignment=[[0, 1], [1, 0]])
    for key in (None, b"key"):
        for client_id in ("diskless_az=a", "diskless_az=b", "diskless_az=c", "none"):
            produce(sim, b"value", client_id=client_id, key=key)
    for rack in ("a", "b", "c", "d", ""):
        for version in (10, 12):
            fetch(sim, rack, version=version, client_id=f"reader {rack} {version}")
    sim.stop_broker(1)
    fetch(sim, "b", client_id="reader b 12")
    by_journal: dict = {}
    for entry in sim.journal:
        key = (entry.client_rack or "", entry.rack, entry.category, entry.locality, entry.avoidable or "")
        by_journal[key] = by_journal.get(key, 0) + entry.bytes
    assert pairs(sim.traffic.snapshot(), "produce", "consume", "other") == by_journal


def test_what_followers_copy_crosses_as_replication():
    sim = cluster_of()
    size = produce(sim, b"v" * 100)
    sim.stop_broker(2)
    size_of_second = produce(sim, b"v" * 50)
    assert pairs(sim.traffic.snapshot(), "replication") == {
        ("b", "a", "replication", "cross", "no"): size + size_of_second,
        ("c", "a", "replication", "cross", "no"): size,
    }


def test_a_diskless_topic_is_copied_by_no_follower():
    sim = cluster_of()
    sim.cluster.create_topic("events", 1, configs={"diskless.enable": "true"})
    produce(sim, b"value", topic="events")
    assert pairs(sim.traffic.snapshot(), "replication") == {}


def test_a_follower_that_fetches_is_replication_too():
    sim = cluster_of()
    Client(sim, connection=1).ask(fetch_request(replica_id=1), 12)
    assert list(pairs(sim.traffic.snapshot())) == [("b", "a", "replication", "cross", "no")]


def test_calls_are_counted_by_api_and_error():
    sim = cluster_of()
    produce(sim, b"value")
    for _ in range(3):
        fetch(sim, broker=1, version=10)
    Client(sim, connection=9).write(bytes([0, 0, 0, 8, 3, 231, 0, 0, 0, 0, 0, 1]))
    assert sim.traffic.snapshot()["apis"] == [
        {"api": "", "error": "", "calls": 1},
        {"api": "Produce", "error": "", "calls": 1},
        {"api": "Fetch", "error": "", "calls": 0},
        {"api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER", "calls": 3},
    ]


def test_a_client_has_its_bytes_by_locality_and_its_last_reason():
    sim = cluster_of()
    fetch(sim, "a", client_id="billing")
    fetch(sim, "b", client_id="billing")
    fetch(sim, client_id="nobody")
    entries = list(sim.journal)
    told = {(one["client_id"], one["client_rack"]): one for one in sim.traffic.snapshot()["clients"]}
    assert told["billing", "a"]["local_bytes"] == entries[0].bytes
    assert (told["billing", "b"]["cross_bytes"], told["billing", "b"]["reason"]) == (entries[1].bytes, "not_redirected")
    assert (told["nobody", None]["unknown_bytes"], told["nobody", None]["reason"]) == (
        entries[2].bytes,
        "no_client_rack",
    )
    assert told["billing", "b"]["client_rack_source"] == "request"
    assert told["billing", "b"]["client_address"] == "127.0.0.1"


def test_a_client_in_the_racks_file_is_in_that_rack_without_having_named_it():
    sim = cluster_of()
    sim.engine.client_racks = RackRules.read("b@127.0.0.1", "racks")
    fetch(sim)
    (entry,) = sim.journal
    assert pairs(sim.traffic.snapshot()) == {("b", "a", "consume", "cross", "yes"): entry.bytes}
    (client,) = sim.traffic.snapshot()["clients"]
    assert (client["client_rack"], client["client_rack_source"]) == ("b", "racks_file")
    assert client["reason"] == entry.locality_reason == "no_client_rack"


def test_money_is_of_what_crossed_at_the_pace_so_far():
    sim = cluster_of()
    fetch(sim, "b")
    sim.advance(ms=3_600_000)
    (entry,) = sim.journal
    prices = Prices(currency="EUR", default=Rate(Decimal(1000), Decimal(1000)))
    told = sim.traffic.snapshot(prices)
    cost = entry.bytes * 2000 / 10**9
    assert told["cost"] == pytest.approx(cost)
    assert told["month"] == pytest.approx(cost * 730)
    assert told["currency"] == "EUR"
    (row,) = told["rack_pairs"]
    assert (row["cost"], row["month"]) == (told["cost"], told["month"])


def test_without_a_span_of_time_there_is_no_month():
    sim = cluster_of()
    assert sim.traffic.snapshot()["month"] is None
    fetch(sim, "b")
    assert sim.traffic.snapshot()["month"] is None


def test_a_snapshot_changes_nothing_and_is_json():
    sim = cluster_of(near=True)
    produce(sim, b"value")
    fetch(sim, "b")
    first = sim.traffic.snapshot()
    assert json.loads(json.dumps(first)) == first
    assert sim.traffic.snapshot() == first
    produce(sim, b"value")
    assert sim.traffic.snapshot()["calls"] == 3


def test_after_clear_it_begins_anew():
    sim = cluster_of()
    fetch(sim, "b")
    sim.traffic.clear()
    assert sim.traffic.snapshot()["rack_pairs"] == []
    fetch(sim, "a")
    assert list(pairs(sim.traffic.snapshot())) == [("a", "a", "consume", "local", "")]


def test_beside_a_journal_and_alone_it_says_the_same():
    sim = cluster_of(near=True)
    alone = Traffic()
    sim.engine.path.observers.append(alone)
    produce(sim, b"value")
    client = Client(sim, connection=3)
    for _ in range(3):
        client.ask(METADATA, 12)
    fetch(sim, "b")
    assert alone.snapshot() == sim.traffic.snapshot()


def test_clients_and_racks_that_strangers_name_are_bounded(monkeypatch):
    monkeypatch.setattr(traffic_module, "MAX_CLIENTS", 10)
    monkeypatch.setattr(traffic_module, "MAX_RACKS", 5)
    monkeypatch.setattr(traffic_module, "MAX_CONNECTIONS", 3)
    sim = cluster_of()
    for number in range(50):
        fetch(sim, f"rack-{number}", client_id=f"client-{number}")
    told = sim.traffic.snapshot()
    racks = {row["client_rack"] for row in told["rack_pairs"]}
    assert racks == {f"rack-{number}" for number in range(5)} | {OTHER_RACKS}
    assert len(told["clients"]) == 11
    (rest,) = [one for one in told["clients"] if one["is_other"]]
    assert (rest["client_id"], rest["calls"]) == (None, 40)
    assert told["cross_bytes"] == sum(entry.bytes for entry in sim.journal)


@pytest.mark.parametrize(
    ("key", "codec", "found"),
    [
        (b"key", CompressionCodec.NONE, True),
        (None, CompressionCodec.NONE, False),
        (b"", CompressionCodec.NONE, True),
        (b"key", CompressionCodec.GZIP, None),
    ],
)
def test_whether_a_batchs_first_record_has_a_key(key, codec, found):
    for size in (1, 100, 20_000):
        records = build_batch([Record(key=key, value=bytes(size), timestamp=10**12)], codec=codec)
        assert first_has_key(records) is found


def test_what_is_no_batch_has_no_key_that_can_be_read():
    for records in (b"", bytes(61), bytes(16) + b"\x02" + bytes(60)[:45] + b"\xff" * 10):
        assert first_has_key(records) in (None, False, True)
        assert first_has_key(records[:61]) is None
