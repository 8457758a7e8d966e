"""Prices across racks: what a file may say, what it may not, and exact money."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.errors import InputError
from kafka_rack.locality.prices import BUILT_IN, Prices, Rate, price_list, read_prices


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
        ('{"egress": }', "p.json", "p.json, line 1, column 12: no JSON"),
        ("egress = ", "p.toml", "p.toml: not as TOML is"),
        ("[1]", "p.json", "p.json: expected an object with currency"),
        ('{"egres": 1}', "p.json", "p.json: unknown key 'egres'; there are currency"),
        ('{"egress": -1}', "p.json", "p.json: egress: expected a price from 0 with at most 9 decimals, got -1"),
        ('{"egress": true}', "p.json", "p.json: egress: expected a price from 0 with at most 9 decimals, got True"),
        ('{"egress": NaN}', "p.json", "p.json: egress: expected a price from 0 with at most 9 decimals, got nan"),
        (
            '{"egress": "a cent"}',
            "p.json",
            "p.json: egress: expected a price from 0 with at most 9 decimals, got 'a cent'",
        ),
        (
            '{"egress": 0.0000000001}',
            "p.json",
            "p.json: egress: expected a price from 0 with at most 9 decimals, got 1E-10",
        ),
        ('{"unit": "TB"}', "p.json", "p.json: unit: expected GB (10^9 bytes) or GiB (2^30 bytes), got 'TB'"),
        ('{"unit": ["GB"]}', "p.json", "p.json: unit: expected GB (10^9 bytes) or GiB (2^30 bytes), got ['GB']"),
        ('{"currency": ""}', "p.json", "p.json: currency: expected 1 to 8 letters or a sign, got ''"),
        ('{"free_replication": 1}', "p.json", "p.json: free_replication: expected true or false, got 1"),
        ('{"pairs": {}}', "p.json", "p.json: pairs: expected a list"),
        ('{"pairs": [1]}', "p.json", "p.json, pair 1: expected an object"),
        ('{"pairs": [{"from": "a"}]}', "p.json", "p.json, pair 1: to: expected a rack's name, got None"),
        ('{"pairs": [{"egress": 1}]}', "p.json", "p.json, pair 1: either from and to, or between"),
        (
            '{"pairs": [{"between": ["a"]}]}',
            "p.json",
            "p.json, pair 1: between: expected a list of two racks, got ['a']",
        ),
        (
            '{"pairs": [{"between": ["a", "b"], "egress": 1}, {"from": "b", "to": "a", "egress": 2}]}',
            "p.json",
            "p.json, pair 2: b to a has another price than in pair 1",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(text, name, said):
    with pytest.raises(InputError) as caught:
        read_prices(text, name)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_prices_read_back_what_they_tell():
    prices = read_prices('{"currency": "EUR", "pairs": [{"from": "a", "to": "b", "egress": 0.05}]}', "p.json")
    told = prices.as_json()
    assert told.pop("unit_bytes") == 10**9
    assert prices == Prices("EUR", "GB", prices.default, prices.pairs)
    import json

    assert read_prices(json.dumps(told), "p.json") == prices
