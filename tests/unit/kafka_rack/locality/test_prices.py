"""Prices across racks: what a file may say, what it may not, and exact money."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.errors import InputError
from kafka_rack.locality.amounts import Pace
from kafka_rack.locality.prices import BUILT_IN, Prices, Rate, amount, price_list, read_prices
from kafka_rack.locality.traffic import TrafficKey, prices_in_month, traffic_row


def test_a_gigabyte_costs_a_cent_where_it_leaves_and_a_cent_where_it_enters():
    assert Prices().cost("az-a", "az-b", 10**9) == Decimal("0.02")
    assert Prices().cost("az-a", "az-a", 10**9) == 0
    assert Prices().cost("az-a", "az-b", 1) == Decimal("0.00000000002")


def test_money_is_decimal_and_sums_lose_nothing():
    """Ten thousand bytes one by one cost what they cost together; floats would not agree."""
    one = Prices().cost("az-a", "az-b", 1)
    assert isinstance(one, Decimal)
    assert sum([one] * 10_000) == Prices().cost("az-a", "az-b", 10_000)


@given(st.lists(st.integers(0, 10**12), max_size=20))
def test_parts_of_bytes_cost_what_the_whole_does(sizes):
    prices = Prices()
    assert sum((prices.cost("a", "b", size) for size in sizes), Decimal(0)) == prices.cost("a", "b", sum(sizes))


def test_a_gibibyte_is_larger_than_a_gigabyte():
    prices = read_prices('unit = "GiB"', "p.toml")
    assert prices.cost("a", "b", 2**30) == Decimal("0.02")
    assert prices.cost("a", "b", 10**9) == Decimal("0.018626451492309570")  # 0.02 * 10^9 / 2^30, to 18 places


def test_price_lists_of_clouds_have_their_source_and_date():
    """A GB is 0.02 $ at AWS for both sides, a GiB 0.01 $ at GCP for the sender, and free at Azure."""
    assert price_list("aws").cost("a", "b", 10**9) == Decimal("0.02")
    assert price_list("aws").rate("a", "b") == Prices().rate("a", "b")
    assert price_list("gcp").cost("a", "b", 2**30) == Decimal("0.01")
    assert price_list("azure").cost("a", "b", 10**12) == 0
    for name in BUILT_IN:
        assert price_list(name).source.startswith("https://")
        assert price_list(name).dated


def test_free_replication_is_free_for_replication_only():
    prices = Prices().with_free_replication()
    assert prices.cost("a", "b", 10**9, replication=True) == 0
    assert prices.cost("a", "b", 10**9) == Decimal("0.02")


def test_pairs_have_prices_of_their_own_in_one_direction_or_both():
    prices = read_prices(
        '{"egress": 0.01, "ingress": 0, "pairs": [{"from": "a", "to": "b", "egress": 0.05},'
        ' {"between": ["b", "c"], "egress": "0.001", "ingress": 0.002}]}',
        "p.json",
    )
    assert prices.rate("a", "b") == Rate(Decimal("0.05"), Decimal(0))
    assert prices.rate("b", "a") == Rate(Decimal("0.01"), Decimal(0))
    assert prices.rate("b", "c") == prices.rate("c", "b") == Rate(Decimal("0.001"), Decimal("0.002"))
    assert prices.at_most(10**9) == Decimal("0.05")
    assert prices.racks() == {"a", "b", "c"}


def test_a_rack_can_have_a_price_with_itself():
    prices = read_prices('[[pairs]]\nfrom = "a"\nto = "a"\negress = 0.004\ningress = 0', "p.toml")
    assert prices.cost("a", "a", 10**9) == Decimal("0.004")


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ('{"egress": }', "p.json", "JSON is malformed: invalid character (byte 11)"),
        ("egress = ", "p.toml", "Invalid value"),
        ("[1]", "p.json", "Expected `object`, got `array`"),
        ('{"egres": 1}', "p.json", "Object contains unknown field `egres`"),
        ('{"egress": -1}', "p.json", "expected a price from 0 to 1,000,000 with at most 9 decimals, got -1"),
        ('{"egress": true}', "p.json", "Expected `decimal`, got `bool` - at `$.egress`"),
        ("egress = nan", "p.toml", "expected a price from 0 to 1,000,000 with at most 9 decimals, got NaN"),
        ('{"egress": "a cent"}', "p.json", "Invalid decimal string - at `$.egress`"),
        ('{"egress": 0.0000000001}', "p.json", "expected a price from 0 to 1,000,000 with at most 9 decimals"),
        ('{"unit": "TB"}', "p.json", "Invalid enum value 'TB' - at `$.unit`"),
        ('{"currency": ""}', "p.json", "Expected `str` matching regex"),
        ('{"free_replication": 1}', "p.json", "Expected `bool`, got `int` - at `$.free_replication`"),
        ('{"pairs": [1]}', "p.json", "Expected `object`, got `int` - at `$.pairs[0]`"),
        ('{"pairs": [{"from": "a"}]}', "p.json", "pair 1: expected from and to, or between"),
        ('{"pairs": [{"between": ["a"]}]}', "p.json", "Expected `array` of length 2 - at `$.pairs[0].between`"),
        (
            '{"pairs": [{"between": ["a", "b"], "egress": 1}, {"from": "b", "to": "a", "egress": 2}]}',
            "p.json",
            "pair 2: b to a has another price in a pair before",
        ),
        ("[[tiers]]\nabove = 0", "p.toml", "tiers: expected each above more than the one before"),
        ("[store]\nput = -1", "p.toml", "store: expected a price from 0"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(text, name, said):
    with pytest.raises(InputError) as caught:
        read_prices(text, name)
    assert str(caught.value).startswith(name)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


TIERED = """
egress = 0.02
ingress = 0
[[tiers]]
above = 10
egress = 0.01
[[tiers]]
above = 30
egress = 0.004
[[pairs]]
from = "a"
to = "b"
egress = 0.1
[[pairs.tiers]]
above = 1
egress = 0
"""


@pytest.mark.parametrize(("gigabytes", "dollars"), [(5, "0.1"), (10, "0.2"), (25, "0.35"), (40, "0.44")])
def test_each_gigabyte_of_a_month_costs_what_its_tier_says(gigabytes, dollars):
    """10 GB for 0.02 $ each, the next 20 for 0.01 $ and the rest for 0.004 $, whatever racks they are between."""
    half = Decimal(gigabytes) / 2 * 10**9
    prices = read_prices(TIERED, "p.toml").in_month({("b", "c"): half, ("c", "a"): half})
    assert prices.cost("b", "c", int(half)) * 2 == Decimal(dollars)
    assert prices.at_most(10**9) == Decimal("0.1")


def test_a_pair_has_tiers_of_its_own_direction():
    months = {("a", "b"): Decimal(4 * 10**9), ("b", "a"): Decimal(4 * 10**9)}
    prices = read_prices(TIERED, "p.toml").in_month(months)
    assert (prices.cost("a", "b", 4 * 10**9), prices.cost("b", "a", 4 * 10**9)) == (Decimal("0.1"), Decimal("0.08"))


def test_tiers_of_a_short_capture_are_those_of_its_month():
    """An hour with 1 GB from b to c is 730 GB a month; what is below a minute is not extrapolated."""
    key = TrafficKey(0, "", "consume", "Fetch", client_rack="c", broker_rack="b", locality="cross")
    flows = {key: (1, 0, 10**9, 10**9, 1, 0)}
    prices = read_prices(TIERED, "p.toml")
    hour = prices_in_month(flows, prices, Pace(3_600_000_000))
    month = Pace(3_600_000_000).month(traffic_row(key, flows[key], hour)["cost"])
    assert abs(month - (Decimal("0.4") + 700 * Decimal("0.004"))) < Decimal("1E-12")
    assert traffic_row(key, flows[key], prices_in_month(flows, prices, Pace(59_000_000)))["cost"] == Decimal("0.02")


def test_object_stores_charge_for_thousands_of_requests():
    fees = read_prices("[store]\nput = 0.005\nget = 0.0004", "p.toml").store
    assert fees.cost(Decimal(2_000_000), Decimal(1_000_000)) == Decimal("10.4")


def test_a_million_is_the_highest_price():
    assert amount(Decimal(1_000_000), Decimal(0), "p.toml") == 1_000_000
    with pytest.raises(InputError):
        amount(Decimal(1_000_001), Decimal(0), "p.toml")


def test_prices_read_back_what_they_tell():
    prices = read_prices('{"currency": "EUR", "pairs": [{"from": "a", "to": "b", "egress": 0.05}]}', "p.json")
    told = prices.as_json()
    assert prices == Prices("EUR", "GB", prices.default, prices.pairs)
    import json

    assert read_prices(json.dumps(told), "p.json") == prices
