from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.diskless import candidates, choose, client_rack, rack_in_client_id

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
    assert rack_in_client_id(client_id) == rack


@given(RACKS, st.sampled_from(["", "app ", "app,", "a|b|"]), st.sampled_from(["", "=", ",x", "|x", " x"]))
def test_any_rack_is_read_between_its_marks(rack, before, after):
    assert rack_in_client_id(f"{before}diskless_az={rack}{after}") == rack


def test_the_request_goes_first_then_the_client_id_then_the_listener():
    assert client_rack("a", "diskless_az=b", "c") == "a"
    assert client_rack("", "diskless_az=b", "c") == "b"
    assert client_rack(None, "app", "c") == "c"
    assert client_rack(None, None, None) is None
    assert client_rack("", "", "") is None


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["a", "b", None])), unique_by=lambda broker: broker[0]))
def test_candidates_are_of_the_rack_or_all(brokers):
    chosen = candidates(brokers, "a")
    of_rack = sorted(broker_id for broker_id, rack in brokers if rack == "a")
    assert chosen == (of_rack or sorted(broker_id for broker_id, _ in brokers))
    assert candidates(brokers, None) == sorted(broker_id for broker_id, _ in brokers)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=9, unique=True), st.integers(0, 50), st.integers(1, 20))
def test_turns_go_round_evenly(ids, first, rounds):
    count = Counter(choose(ids, turn) for turn in range(first, first + rounds * len(ids)))
    assert count == dict.fromkeys(ids, rounds)
