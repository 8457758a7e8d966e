"""The racks file: the longest range decides, contradictions are told with both lines."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.errors import InputError
from kafka_rack.locality.client_location import locate_client
from kafka_rack.locality.rack_rules import RackRules

FILE = """
# where clients are
az-a@10.0.0.0/8
az-b@10.0.2.0/24     # a subnet of the other
az-c@10.0.2.17
az-d@2001:db8:2::/48
az-e@client:billing-*
az-f@client:billing-eu-*
az-a@broker:4
"""


@pytest.fixture
def rules():
    return RackRules.read(FILE, "racks.txt")


@pytest.mark.parametrize(
    ("address", "rack"),
    [
        ("10.9.9.9", "az-a"),
        ("10.0.2.16", "az-b"),
        ("10.0.2.17", "az-c"),
        ("::ffff:10.0.2.17", "az-c"),
        ("2001:db8:2::7", "az-d"),
        ("2001:db8:3::7", None),
        ("11.0.0.1", None),
        ("no address", None),
        (None, None),
    ],
)
def test_the_longest_range_that_holds_an_address_decides(rules, address, rack):
    assert rules.of_address(address) == rack


@pytest.mark.parametrize(
    ("client_id", "rack"),
    [("billing-7", "az-e"), ("billing-eu-7", "az-f"), ("Billing-7", None), ("my-billing-7", None), (None, None)],
)
def test_the_pattern_that_says_most_decides(rules, client_id, rack):
    assert rules.of_client_id(client_id) == rack


def test_brokers_are_named_by_their_ids(rules):
    assert rules.brokers == {4: "az-a"}
    assert rules.racks() == {"az-a", "az-b", "az-c", "az-d", "az-e", "az-f"}


def test_patterns_that_say_as_much_and_not_the_same_say_nothing():
    rules = RackRules.read("az-a@client:*-etl\naz-b@client:etl-*", "racks")
    assert rules.of_client_id("etl-1-etl") is None
    assert rules.of_client_id("etl-1") == "az-b"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("az-a@10.0.0.0/8\naz-b@10.0.0.0/8", "r, line 2: 10.0.0.0/8 is in az-b here, but in az-a in line 1; keep one"),
        ("a@client:x\n\nb@client:x", "r, line 3: client:x is in b here, but in a in line 1; keep one"),
        ("a@broker:1\nb@broker:01", "r, line 2: broker:01 is in b here, but in a in line 1; keep one"),
        ("az-a", "r, line 1: expected RACK@RANGE"),
        ("@10.0.0.0/8", "r, line 1: expected RACK@RANGE"),
        ("az-a@", "r, line 1: expected RACK@RANGE"),
        ("a@10.0.1.7/24", "r, line 1: 10.0.1.7/24 has bits behind its prefix; 10.0.1.0/24 is that range"),
        ("a@10.0.0.0/33", "r, line 1: '10.0.0.0/33' is no address or range"),
        ("a@broker:x", "r, line 1: broker: expected a broker's id, as az-a@broker:4, got 'x'"),
        ("a@broker:2147483648", "r, line 1: broker: expected a broker's id, as az-a@broker:4, got '2147483648'"),
        ("a@client:", "r, line 1: client: expected a pattern of 1 to 200 letters, got 0"),
    ],
)
def test_what_is_wrong_with_a_line_is_said_with_its_number(text, said):
    with pytest.raises(InputError) as caught:
        RackRules.read(text, "r")
    assert str(caught.value).startswith(said)


def test_saying_the_same_twice_is_no_contradiction():
    assert RackRules.read("a@10.0.0.0/8\na@10.0.0.0/8", "r").of_address("10.1.1.1") == "a"


@given(
    st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 32)), min_size=1, max_size=12),
    st.integers(0, 2**32 - 1),
)
def test_ranges_are_found_as_a_look_at_each_finds_them(ranges, address):
    networks = {ip_network((number >> (32 - bits) << (32 - bits), bits)) for number, bits in ranges}
    rules = RackRules.read("\n".join(f"rack-{network}@{network}" for network in networks), "r")
    holding = [network for network in networks if ip_address(address) in network]
    best = max(holding, key=lambda network: network.prefixlen, default=None)
    assert rules.of_address(str(ip_address(address))) == (None if best is None else f"rack-{best}")


def test_what_a_client_says_holds_unless_the_cluster_has_no_such_rack(rules):
    cluster = frozenset({"az-a", "az-b"})
    said = locate_client("az-b", "request", rules, "app", "10.1.1.1", cluster)
    assert (said.rack, said.known_from, said.conflict) == ("az-b", "request", "it says az-b, the racks file az-a")
    wrong = locate_client("az-9", "request", rules, "app", "10.1.1.1", cluster)
    assert (wrong.rack, wrong.known_from, wrong.named_rack) == ("az-a", "racks_file", "az-9")
    silent = locate_client(None, None, rules, "billing-1", "10.1.1.1", cluster)
    assert (silent.rack, silent.known_from, silent.named_rack) == (
        "az-e",
        "racks_file",
        None,
    )  # the id before the address
    assert locate_client(None, None, None, "app", "10.1.1.1").rack is None
