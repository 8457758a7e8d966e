"""What bytes are taken for, on captures written for it: expected values are worked out by hand."""

from __future__ import annotations

import base64
from collections import Counter
from decimal import Decimal

import pytest

from kafka_rack.locality import Prices, RackRules
from kafka_rack.locality.prices import Rate
from tests.pipeline.written_capture import RACKS, SECOND, Written, batch_of, traffic

KIB = 1024
PIECE = 100 * KIB


def host_in(rack: int, number: int = 1) -> str:
    return f"10.0.{rack}.{number}:5000"


@pytest.fixture
def written():
    return Written()


@pytest.fixture
def measured(written, tmp_path):
    """Gives the rows of ``traffic`` of what was written."""

    def measure(**more):
        (tmp_path / "in").mkdir()
        written.save(tmp_path / "in")
        return traffic(tmp_path / "in", **more)

    return measure


def added(rows, *columns, of="bytes"):
    found = Counter()
    for row in rows:
        found[tuple(row[column] for column in columns)] += row[of]
    return {key[0] if len(columns) == 1 else key: value for key, value in found.items() if value}


def test_three_even_racks_with_three_replicas_and_two_readers_cross_1200_mib_a_second_of_300(written, measured):
    """A thousandth of it, for three seconds.

    In each, a producer sends 100 KiB to the leader in every rack, two followers copy it, and two groups read it from
    there; producer and readers are in one rack, in each second in another.
    """
    batch = batch_of(PIECE)
    written.metadata(written.open(0), 0, "orders", [0, 1, 2], in_sync=[0, 1, 2])
    for second in range(3):
        for leader in range(3):
            at = second * SECOND + 10_000 * (leader + 1)
            producer = written.open(leader, host_in(second))
            written.produce(producer, at, f"producer-{second}", "orders", leader, batch)
            for follower in range(3):
                if follower != leader:
                    copies = written.open(leader, host_in(follower, 9))
                    written.fetch(copies, at, f"broker-{follower}-fetcher-0", "orders", leader, batch, replica=follower)
            for group in ("first", "second"):
                reader = written.open(leader, host_in(second, 2))
                written.fetch(reader, at, f"{group}-{second}", "orders", leader, batch)
    rules = RackRules.read("".join(f"{rack}@10.0.{number}.0/24\n" for number, rack in enumerate(RACKS)), "racks")
    rows = measured(rules=rules)
    by_category = added((row for row in rows if row["locality"] == "cross"), "category", of="record_bytes")
    produced = sum(row["record_bytes"] for row in rows if row["category"] == "produce")
    assert produced == 3 * 300 * KIB
    assert by_category == {"produce": 3 * 200 * KIB, "replication": 3 * 600 * KIB, "consume": 3 * 400 * KIB}
    assert sum(by_category.values()) == 3 * 1_200 * KIB
    assert added(rows, "locality", of="record_bytes").get("unknown", 0) == 0
    crossed = sum(row["bytes"] for row in rows if row["locality"] == "cross")
    assert sum(row["cost"] for row in rows) == crossed * Decimal("0.02") / 10**9


def test_what_followers_are_answered_is_replication_and_their_requests_are_other(written, measured):
    same = written.open(0, host_in(1))
    written.metadata(written.open(0), 0, "orders", [0], in_sync=[0, 1, 2])
    written.fetch(same, 10_000, "broker-1-fetcher-0", "orders", 0, batch_of(500), replica=1)
    written.fetch(same, 20_000, "broker-1-fetcher-0", "orders", 0, None, replica=1, answered=False)
    other = written.open(0, host_in(1))
    written.fetch(other, 20_000, "broker-1-fetcher-0", "orders", 0, None, replica=1, answered=False)
    named = written.open(0, host_in(2))
    written.fetch(named, 20_000, "broker-2-fetcher-3", "orders", 0, None, replica=2, answered=False)
    quiet = written.open(0, host_in(2, 7))
    written.fetch(quiet, 20_000, "a-reader", "orders", 0, None, answered=False)
    rows = [row for row in measured() if row["api"] == "Fetch"]
    assert added(rows, "client_id", "category", of="calls") == {
        ("broker-1-fetcher-0", "replication"): 1,
        ("broker-1-fetcher-0", "other"): 2,
        ("broker-2-fetcher-3", "other"): 1,
        ("a-reader", "other"): 1,
    }
    (copied,) = [row for row in rows if row["category"] == "replication"]
    assert (copied["bytes"], copied["request_bytes"], copied["record_bytes"]) == (500, 0, 500)
    assert {row["client_rack"] for row in rows} == {"az-b", "az-c", None}
    assert {row["locality"] for row in rows if row["client_rack"]} == {"cross"}


def test_a_fetch_that_cannot_be_read_is_nobodys_but_a_followers_where_that_is_known(written, measured):
    """Its request is cut off behind the header; the answer, with its records, is whole."""
    written.metadata(written.open(0), 0, "orders", [0], in_sync=[0])
    follower, quiet = written.open(0, host_in(1)), written.open(0, host_in(2))
    for conn, client_id in ((follower, "broker-1-fetcher-0"), (quiet, "somebody")):
        begun = len(written.lines)
        written.fetch(conn, SECOND, client_id, "orders", 0, batch_of(500), rack="az-c")
        asked = written.lines[begun]
        cut = base64.b64decode(asked["data"])[: 10 + len(client_id) + 6]
        asked.update(n=len(cut), data=base64.b64encode(cut).decode())
    rows = [row for row in measured() if row["api"] == "Fetch"]
    found = {row["client_id"]: (row["category"], row["locality"], row["reason"]) for row in rows}
    assert found == {
        "broker-1-fetcher-0": ("replication", "cross", "replication"),
        "somebody": ("other", "unknown", "fetch_not_read"),
    }
    assert {row["client_id"]: row["record_bytes"] for row in rows} == {"broker-1-fetcher-0": 500, "somebody": 500}
    (unknown,) = [row for row in rows if row["client_id"] == "somebody"]
    assert (unknown["cost"], unknown["possible_cost"] > 0) == (0, True)


def test_racks_that_the_capture_names_outlast_metadata_that_knows_none(written, measured):
    """Brokers that speak as 0.9 did name no racks; only broker 0 is ever connected to."""
    written.metadata(written.open(0), 0, "orders", [0], in_sync=[0, 1], racks=(None, None, None))
    written.fetch(written.open(0, host_in(1)), SECOND, "reader", "orders", 0, batch_of(500), rack="az-b")
    (row,) = [row for row in measured() if row["category"] == "consume"]
    assert (row["broker_rack"], row["reason"], row["saves_bytes"] > 0) == ("az-a", "not_redirected", True)


def test_what_a_client_names_once_holds_for_its_other_connections(written, measured):
    first, second = written.open(0, host_in(1)), written.open(2, "10.0.1.1:5001")
    written.metadata(second, 0, "orders", [0], in_sync=[0], client_id="reader")
    written.fetch(first, 10_000, "reader", "orders", 0, batch_of(500), rack="az-b")
    elsewhere = written.open(2, "10.0.9.9:5001")
    written.metadata(elsewhere, 0, "orders", [0], in_sync=[0], client_id="reader")
    rows = [row for row in measured() if row["api"] == "Metadata"]
    assert {(row["client_host"], row["client_rack"], row["client_rack_from"], row["locality"]) for row in rows} == {
        ("10.0.1.1", "az-b", "client", "cross"),
        ("10.0.9.9", None, None, "unknown"),
    }


def test_a_client_id_of_two_racks_at_one_address_is_nobodys(written, measured):
    for number, rack in enumerate(("az-a", "az-b")):
        written.fetch(written.open(0, f"10.0.0.1:600{number}"), 10_000, "pod", "orders", 0, batch_of(500), rack=rack)
    written.metadata(written.open(0, "10.0.0.1:7000"), 0, "orders", [0], in_sync=[0], client_id="pod")
    (row,) = [row for row in measured() if row["api"] == "Metadata"]
    assert (row["client_rack"], row["reason"]) == (None, "client_rack_unknown")


def test_a_replica_in_sync_counts_from_when_it_was_told(written, measured):
    conn = written.open(0, host_in(1))
    admin = written.open(0)
    for at, in_sync in ((0, [0]), (10_000, [0]), (2 * SECOND, [0, 1])):
        written.metadata(admin, at, "orders", [0], in_sync=in_sync)
    for at in (SECOND, 3 * SECOND):
        written.fetch(conn, at, "reader", "orders", 0, batch_of(500), rack="az-b")
    reasons = {
        (int(row["window_start"][17:19]) - 20, row["reason"], row["saves_bytes"] > 0)
        for row in measured()
        if row["category"] == "consume"
    }
    assert reasons == {(1, "no_in_sync_replica", False), (3, "not_redirected", True)}


def test_each_direction_has_its_price_in_the_currency_and_unit_of_the_file(written, measured):
    written.fetch(written.open(0), SECOND, "reader", "orders", 0, batch_of(10_000), rack="az-b")
    prices = Prices("EUR", "GiB", pairs={("az-b", "az-a"): Rate(Decimal("0.5"), Decimal(0))})
    rows = measured(prices=prices)
    assert [(row["category"], row["bytes"]) for row in rows if row["record_bytes"]] == [("consume", 10_000)]
    for row in rows:
        there = Decimal("0.5") * row["request_bytes"] / 2**30
        back = Decimal("0.02") * row["response_bytes"] / 2**30
        assert abs(row["cost"] - (there + back)) < Decimal("1e-17")


@pytest.mark.parametrize(("enabled", "reason"), [("true", "diskless_without_zone"), ("false", "not_redirected")])
def test_topics_that_describe_configs_calls_diskless_are_served_by_any_broker(written, measured, enabled, reason):
    written.configs(5_000, 2, "orders", diskless_enable=enabled)
    written.metadata(written.open(0), 0, "orders", [0], in_sync=[0, 1])
    written.fetch(written.open(0, host_in(1)), SECOND, "reader", "orders", 0, batch_of(500), rack="az-b")
    (row,) = [row for row in measured() if row["category"] == "consume"]
    assert (row["reason"], row["saves_bytes"]) == (reason, 500)
