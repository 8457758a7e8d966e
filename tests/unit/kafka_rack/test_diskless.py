from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.diskless import ZONE_KEYS, DisklessBrokers, DisklessProfile, choose, choose_by_hash
from kafka_rack.java import murmur2
from kafka_rack.zones import known_rack_in_client_id, without_suffixes, zone_in_client_id

PROPOSED = DisklessProfile({})

RACKS = st.text(alphabet="abc-1", min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("client_id", "rack"),
    [
        ("diskless_az=a", "a"),
        ("app diskless_az=a", "a"),
        ("app,diskless_az=a", "a"),
        ("app|diskless_az=a", "a"),
        ("diskless_az=a=more", "a"),
        ("diskless_az=a,more", "a"),
        ("diskless_az=a|more", "a"),
        ("diskless_az=a more", "a"),
        ("diskless_az=eu-west-1a,x=y", "eu-west-1a"),
        ("mydiskless_az=a", None),
        ("my-diskless_az=a", None),
        ("my=diskless_az=a", None),
        ("diskless_az=", None),
        ("diskless_az=,a", None),
        ("diskless_az", None),
        ("DISKLESS_AZ=a", None),
        ("", None),
        (None, None),
    ],
)
def test_the_rack_in_a_client_id(client_id, rack):
    assert zone_in_client_id(client_id, PROPOSED.keys) == rack


@given(RACKS, st.sampled_from(["", "app ", "app,", "a|b|"]), st.sampled_from(["", "=", ",x", "|x", " x"]))
def test_any_rack_is_read_between_its_marks(rack, before, after):
    assert zone_in_client_id(f"{before}diskless_az={rack}{after}", PROPOSED.keys) == rack


def test_the_request_goes_first_then_the_client_id_then_the_listener():
    assert PROPOSED.rack("a", "diskless_az=b", "c", None) == "a"
    assert PROPOSED.rack("", "diskless_az=b", "c", None) == "b"
    assert PROPOSED.rack(None, "app", "c", None) == "c"
    assert PROPOSED.rack(None, None, None, None) is None
    assert PROPOSED.rack("", "", "", None) is None


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["a", "b", None])), unique_by=lambda broker: broker[0]))
def test_candidates_are_of_the_rack_or_all(brokers):
    chosen = DisklessBrokers(brokers).near("a")
    of_rack = sorted(broker_id for broker_id, rack in brokers if rack == "a")
    assert chosen == (of_rack or sorted(broker_id for broker_id, _ in brokers))
    assert DisklessBrokers(brokers).near(None) == sorted(broker_id for broker_id, _ in brokers)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=9, unique=True), st.integers(0, 50), st.integers(1, 20))
def test_turns_go_round_evenly(ids, first, rounds):
    count = Counter(choose(ids, turn) for turn in range(first, first + rounds * len(ids)))
    assert count == dict.fromkeys(ids, rounds)


@pytest.mark.parametrize(
    ("zone", "rack"),
    [
        ("eu-1a", "eu-1a"),
        ("eu-1a-producer", "eu-1a"),
        ("eu-1a-StreamThread-1-producer", "eu-1a"),
        ("eu-2", "eu"),
        ("eu-1", "eu"),
        ("us-1a", ""),
        ("", ""),
        ("-", ""),
    ],
)
def test_suffixes_are_cut_from_the_right_until_it_is_a_rack(zone, rack):
    assert without_suffixes(zone, {"eu", "eu-1a", "eu-1b"}) == rack


def test_only_diskless_az_is_cut_and_only_where_brokers_have_no_such_rack():
    racks = {"eu-1a", "eu"}
    assert known_rack_in_client_id("diskless_az=eu-1a-x", racks, ZONE_KEYS) == "eu-1a"
    assert known_rack_in_client_id("ws_az=eu-1a-x", racks, ZONE_KEYS) is None
    assert known_rack_in_client_id("automq_az=eu-1a&x", racks, ZONE_KEYS) == "eu-1a"


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # UtilsTest of Apache Kafka
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_kafkas(text, expected):
    assert murmur2(text) == expected


@given(st.lists(st.integers(0, 20), min_size=1, unique=True), st.binary(min_size=16, max_size=16), st.integers(0, 99))
def test_the_hash_chooses_a_candidate_and_always_the_same(brokers, topic_id, partition):
    chosen = choose_by_hash(brokers, topic_id, partition)
    assert chosen in brokers
    assert choose_by_hash(brokers, topic_id, partition) == chosen


def test_the_hash_spreads_partitions():
    chosen = Counter(choose_by_hash([0, 1, 2], bytes(16), partition) for partition in range(3000))
    assert all(800 < count < 1200 for count in chosen.values())


@pytest.mark.parametrize(
    ("client_id", "zone"),
    [
        (None, None),
        ("billing", None),
        ("billing|diskless_az=eu-1a", "eu-1a"),
        ("billing,warpstream_az=eu-1a,other=1", "eu-1a"),
        ("ws_az=eu-1a", "eu-1a"),
        ("my_ws_az=eu-1a", None),
        ("billing;ws_az=eu-1a", None),
        ("automq_type=producer&automq_role=r&automq_az=us%2Deast+1", "us-east 1"),
        ("my-app;zone=us-west-2b;broker_count=1", "us-west-2b"),
        ("my-app,zone=us-west-2b", "us-west-2b"),
        ("zone=", None),
        ("zone=b,diskless_az=a", "a"),
    ],
)
def test_the_zone_in_a_client_id_is_read_by_the_rules_of_the_system_whose_key_it_is(client_id, zone):
    assert zone_in_client_id(client_id, ZONE_KEYS) == zone
