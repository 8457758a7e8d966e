"""Traffic between racks: sums by rack, API and client that do not grow, and what crossing costs."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal

import pytest

from kafka_rack.locality import Prices, RackRules, Rate
from mockbroker.core import traffic as traffic_module
from mockbroker.core.journal.records import first_has_key
from mockbroker.core.simulation import Simulation
from mockbroker.core.traffic import OTHERS, WINDOW_MS, Traffic
from protocol.apis.groups import ListGroupsRequest
from protocol.records import CompressionCodec, Record, build_batch
from tests.unit.mockbroker.core.client import METADATA, Client
from tests.unit.mockbroker.core.journal.traffic_of import cluster_of, fetch, produce
from tests.unit.mockbroker.handlers.records import TOPIC, fetch_request


def pairs(snapshot, *categories):
    """Bytes by client rack, broker rack, category, locality and avoidable."""
    found = Counter()
    for row in snapshot["flows"]:
        if not categories or row["category"] in categories:
            key = (row["client_rack"], row["broker_rack"], row["category"], row["locality"], row["avoidable"])
            found[key] += row["bytes"]
    return dict(found)


def of_journal(sim):
    """The same of the journal's entries: record batches by their shares, the rest of the frames as other."""
    found = Counter()
    for entry in sim.journal:
        if entry.category != "other":
            for share in entry.shares:
                found[entry.client_rack, entry.rack, entry.category, entry.locality, share.avoidable] += share.bytes
        avoidable = None if entry.locality == "local" else "no"
        found[entry.client_rack, entry.rack, "other", entry.locality, avoidable] += entry.other_bytes
    return dict(found)


def test_every_byte_of_every_frame_is_counted_once_by_rack_and_verdict():
    sim = cluster_of(near=True)
    size = produce(sim, b"value")
    fetch(sim, "a")
    fetch(sim, "b", client_id="other")
    fetch(sim, "b", broker=1, client_id="other")
    Client(sim, connection=7).ask(METADATA, 12)
    snapshot = sim.traffic.snapshot()
    entries = list(sim.journal)
    assert pairs(snapshot, "produce", "consume", "other") == {
        (None, "a", "produce", "unknown", "perhaps"): size,
        ("a", "a", "consume", "local", None): size,
        ("b", "a", "consume", "cross", "no"): 0,
        ("b", "b", "consume", "local", None): size,
        ("a", "a", "other", "local", None): entries[1].bytes - size,
        ("b", "a", "other", "cross", "no"): entries[2].bytes,
        ("b", "b", "other", "local", None): entries[3].bytes - size,
        (None, "a", "other", "unknown", "no"): entries[0].bytes - size + entries[4].bytes,
    }
    assert snapshot["calls"] == len(entries)
    assert sum(pairs(snapshot, "produce", "consume", "other").values()) == sum(entry.bytes for entry in entries)


def test_a_correct_set_up_of_consumers_has_nothing_to_avoid():
    """They are told of the near replica in an answer without records, and read from it."""
    sim = cluster_of(near=True)
    size = produce(sim, b"v" * 1000)
    for rack, broker in (("a", 0), ("b", 0), ("b", 1), ("c", 0), ("c", 2)):
        fetch(sim, rack, broker=broker, client_id=f"reader {rack}")
    summary = sim.traffic.snapshot()["summary"]
    client = summary["client"]
    assert (client["cross_bytes"], client["avoidable_bytes"], client["local_bytes"]) == (0, 0, 3 * size)
    assert summary["lines"]["avoidable"] == "avoidable: nothing"
    assert (summary["replication"]["bytes"], summary["replication"]["unavoidable_bytes"]) == (2 * size, 2 * size)


def test_flows_have_the_client_the_topic_and_the_partition():
    sim = Simulation("a,b,c")
    sim.cluster.replication_control.create(TOPIC, assignment=[[0, 1], [0, 2]])
    sizes = [
        produce(sim, b"v" * length, client_id=f"writer-{index},diskless_az=b", index=index)
        for index, length in enumerate((100, 3000))
    ]
    fetch(sim, "b", client_id="far")
    fetch(sim, "a", client_id="near")
    found = {
        (key.client_id, key.category, key.topic, key.partition, key.client_rack, key.broker, key.locality): sums[3]
        for key, sums in sim.traffic.ledger().flows.items()
        if key.category != "other"
    }
    assert found == {
        ("writer-0,diskless_az=b", "produce", TOPIC, 0, "b", 0, "cross"): sizes[0],
        ("writer-1,diskless_az=b", "produce", TOPIC, 1, "b", 0, "cross"): sizes[1],
        (None, "replication", TOPIC, 0, "b", 0, "cross"): sizes[0],
        (None, "replication", TOPIC, 1, "c", 0, "cross"): sizes[1],
        ("far", "consume", TOPIC, 0, "b", 0, "cross"): sizes[0],
        ("near", "consume", TOPIC, 0, "a", 0, "local"): sizes[0],
    }


def test_a_fetch_of_several_partitions_has_each_ones_bytes():
    sim = Simulation("a,b")
    sim.cluster.replication_control.create(TOPIC, assignment=[[0], [0], [0]])
    sizes = {index: produce(sim, b"v" * 100 * (index + 1), index=index) for index in (0, 2)}
    request = fetch_request(rack_id="a")
    (first,) = request.topics[0].partitions
    more = [type(first)(partition=index, fetch_offset=0, partition_max_bytes=10**6) for index in (1, 2)]
    request.topics[0].partitions.extend(more)
    Client(sim, connection=3).ask(request, 12)
    flows = sim.traffic.ledger().flows
    assert {key.partition: sums[3] for key, sums in flows.items() if key.category == "consume"} == sizes
    assert sum(sums[1] + sums[2] for key, sums in flows.items()) == sum(entry.bytes for entry in sim.journal)
    assert sum(sums[0] for sums in flows.values()) == len(sim.journal)


def test_a_snapshot_says_which_client_and_topic_crossed_the_most_first(monkeypatch):
    monkeypatch.setattr(traffic_module, "MAX_CROSSINGS", 2)
    sim = cluster_of()
    size = produce(sim, b"v" * 1000, client_id="diskless_az=a")
    for client_id, times in (("often", 3), ("seldom", 1), ("twice", 2)):
        for _ in range(times):
            fetch(sim, "b", client_id=client_id)
    told = sim.traffic.snapshot()["crossings"]
    assert [(one["client_id"], one["topic"], one["bytes"]) for one in told] == [
        ("often", TOPIC, 3 * size),
        ("twice", TOPIC, 2 * size),
        (OTHERS, OTHERS, size),
    ]
    assert told[0]["action"].startswith("Set replica.selector.class")
    assert (told[0]["client_rack"], told[0]["broker"], told[0]["broker_rack"]) == ("b", 0, "a")


def test_flows_beyond_a_number_are_added_up_in_rows_that_say_so(monkeypatch):
    monkeypatch.setattr(traffic_module, "MAX_FLOWS", 20)
    monkeypatch.setattr(traffic_module, "MAX_TALLIES", 5)
    sim = cluster_of()
    size = produce(sim, b"value", client_id="diskless_az=a")
    for number in range(50):
        fetch(sim, "b", client_id=f"client-{number}")
    flows = sim.traffic.ledger().flows
    assert len(flows) <= 20 + 2
    (rest,) = [sums for key, sums in flows.items() if key.client_id == OTHERS and key.topic == OTHERS]
    named = sum(sums[3] for key, sums in flows.items() if key.category == "consume" and key.client_id != OTHERS)
    assert named + rest[3] == 50 * size
    assert pairs(sim.traffic.snapshot(), "produce", "consume", "other") == of_journal(sim)


def test_flows_are_of_a_minute_and_count_records():
    sim = cluster_of()
    sizes = [produce(sim, b"v", b"w", client_id="diskless_az=a")]
    sim.advance(ms=WINDOW_MS + 1)
    sizes += [produce(sim, *[b"value"] * 3, client_id="diskless_az=a") for _ in range(2)]
    fetch(sim, "b")
    found = {
        (key.window, key.category): (sums[3], sums[4])
        for key, sums in sim.traffic.ledger().flows.items()
        if key.category in ("produce", "consume")
    }
    assert found == {
        (0, "produce"): (sizes[0], 2),
        (60_000_000, "produce"): (sizes[1] + sizes[2], 6),
        (60_000_000, "consume"): (sum(sizes), 8),
    }


def test_windows_become_longer_before_there_are_too_many_flows(monkeypatch):
    monkeypatch.setattr(traffic_module, "MAX_FLOWS", 20)
    sim = cluster_of()
    size = produce(sim, b"value", client_id="diskless_az=a")
    for _ in range(60):
        fetch(sim, "b")
        sim.advance(ms=WINDOW_MS)
    flows = sim.traffic.ledger().flows
    consumed = {key.window // 60_000_000: sums[3] for key, sums in flows.items() if key.category == "consume"}
    assert {key.client_id for key in flows} == {None, "diskless_az=a", "reader"}
    # two flows a window, and those of the write: its records, its other bytes, two copies; 8 windows of 8 minutes fit
    assert consumed == {**dict.fromkeys(range(0, 56, 8), 8 * size), 56: 4 * size}


def test_what_is_avoidable_comes_with_its_action():
    sim = cluster_of()
    size = produce(sim, b"v" * 1000, client_id="diskless_az=a")
    fetch(sim, "b")
    summary = sim.traffic.snapshot()["summary"]
    assert summary["client"]["avoidable_bytes"] == size
    (action,) = summary["actions"]
    assert (action["reason"], action["who"], action["avoidable"]) == ("not_redirected", "brokers", "avoidable")
    assert action["action"].startswith("Set replica.selector.class on the brokers.")


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
    assert snapshot["bytes"] == sum(entry.bytes for entry in entries)


def test_traffic_and_the_journal_judge_alike_what_is_known_when_a_call_ends():
    sim = Simulation("a,b,c")
    sim.cluster.replication_control.create(TOPIC, assignment=[[0, 1], [1, 0]])
    for key in (None, b"key"):
        for client_id in ("diskless_az=a", "diskless_az=b", "diskless_az=c", "none"):
            produce(sim, b"value", client_id=client_id, key=key)
    for rack in ("a", "b", "c", "d", ""):
        for version in (10, 12):
            fetch(sim, rack, version=version, client_id=f"reader {rack} {version}")
    sim.stop_broker(1)
    fetch(sim, "b", client_id="reader b 12")
    assert pairs(sim.traffic.snapshot(), "produce", "consume", "other") == of_journal(sim)


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
    sim.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})
    produce(sim, b"value", topic="events")
    assert pairs(sim.traffic.snapshot(), "replication") == {}


def test_a_follower_that_fetches_is_replication_too():
    sim = cluster_of()
    Client(sim, connection=1).ask(fetch_request(replica_id=1), 12)
    assert set(pairs(sim.traffic.snapshot())) == {("b", "a", kind, "cross", "no") for kind in ("replication", "other")}


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
    size = produce(sim, b"value")
    fetch(sim, "a", client_id="billing")
    fetch(sim, "b", client_id="billing")
    fetch(sim, client_id="nobody")
    told = {(one["client_id"], one["client_rack"]): one for one in sim.traffic.snapshot()["clients"]}
    assert told["billing", "a"]["local_bytes"] == size
    assert (told["billing", "b"]["cross_bytes"], told["billing", "b"]["reason"]) == (size, "not_redirected")
    assert (told["nobody", None]["unknown_bytes"], told["nobody", None]["reason"]) == (
        size,
        "no_client_rack",
    )
    assert told["billing", "b"]["client_rack_source"] == "request"
    assert told["billing", "b"]["client_address"] == "127.0.0.1"


def test_a_connection_without_records_and_rack_is_no_client_of_its_own():
    sim = cluster_of()
    size = produce(sim, b"value")
    for _ in range(2):
        Client(sim, connection=9).ask(METADATA, 12, client_id="billing")
    fetch(sim, "a", client_id="billing")
    (row,) = [one for one in sim.traffic.snapshot()["clients"] if one["client_id"] == "billing"]
    assert (row["client_rack"], row["calls"], row["local_bytes"]) == ("a", 3, size)


def test_a_client_in_the_racks_file_is_in_that_rack_without_having_named_it():
    sim = cluster_of()
    sim.engine.client_racks = RackRules.read("b@127.0.0.1", "racks")
    size = produce(sim, b"value")
    fetch(sim)
    entry = list(sim.journal)[-1]
    assert pairs(sim.traffic.snapshot(), "consume") == {("b", "a", "consume", "cross", "yes"): size}
    client = sim.traffic.snapshot()["clients"][-1]
    assert (client["client_rack"], client["client_rack_source"]) == ("b", "racks_file")
    assert client["reason"] == entry.locality_reason == "no_client_rack"


def test_money_is_of_what_crossed_at_the_pace_so_far():
    sim = cluster_of()
    size = produce(sim, b"value", client_id="diskless_az=a")
    fetch(sim, "b")
    sim.advance(ms=3_600_000)
    prices = Prices(currency="EUR", default=Rate(Decimal(1000), Decimal(1000)))
    told = sim.traffic.snapshot(prices)
    cost = Decimal(size) * 2000 / 10**9
    assert Decimal(told["summary"]["client"]["cost"]) == cost
    assert told["summary"]["period"] == "a month"
    assert told["currency"] == "EUR"
    (row,) = [row for row in told["flows"] if (row["category"], row["locality"]) == ("consume", "cross")]
    assert Decimal(row["cost"]) == cost
    # all in the first ten seconds of the hour: the busier half had twice the mean, the quieter nothing
    assert row["cost_text"] == f"EUR 0.00 to EUR {cost * 730 * 2:,.2f}"


def test_below_a_minute_there_is_no_month():
    sim = cluster_of()
    produce(sim, b"value", client_id="diskless_az=a")
    fetch(sim, "b")
    sim.advance(ms=59_000)
    assert "measured, $" in sim.traffic.snapshot()["summary"]["lines"]["client"]
    sim.advance(ms=1_000)
    assert "a month" in sim.traffic.snapshot()["summary"]["lines"]["client"]


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
    assert sim.traffic.snapshot()["flows"] == []
    fetch(sim, "a")
    assert set(pairs(sim.traffic.snapshot())) == {("a", "a", kind, "local", None) for kind in ("consume", "other")}


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
    monkeypatch.setattr(traffic_module, "MAX_FLOWS", 20)
    monkeypatch.setattr(traffic_module, "MAX_TALLIES", 3)
    sim = cluster_of()
    for number in range(50):
        fetch(sim, f"rack-{number}", client_id=f"client-{number}")
    told = sim.traffic.snapshot()
    racks = {row["client_rack"] for row in told["flows"]}
    assert racks == {f"rack-{number}" for number in range(10)} | {OTHERS}
    assert len(told["clients"]) == 11
    (rest,) = [one for one in told["clients"] if one["is_other"]]
    assert (rest["client_id"], rest["calls"]) == (None, 40)
    assert told["bytes"] == sum(entry.bytes for entry in sim.journal)


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
