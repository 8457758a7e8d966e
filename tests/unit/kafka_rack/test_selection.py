"""The broker that serves a reader, and the leader."""

from __future__ import annotations

from collections import Counter

import pytest

from kafka_rack.errors import SelectionError
from kafka_rack.selection import (
    LeaderPreference,
    LeaderSelector,
    RackAwareSelector,
    ReplicaView,
    even_choice,
    find_selector,
    select_replica,
)

RACKS = {1: "a", 2: "a", 3: "b", 4: "c"}


def replica(id, rack, end=100, lag=0):
    return ReplicaView(id, rack, end, lag)


@pytest.mark.parametrize(
    ("replicas", "chosen"),
    [
        ([replica(0, "a"), replica(1, "b")], 1),
        ([replica(0, "b"), replica(1, "b", end=200)], 0),
        ([replica(0, "a"), replica(1, "c")], 0),
        ([replica(0, "a"), replica(1, "b", end=7), replica(2, "b", end=8, lag=500)], 2),
        ([replica(0, "a"), replica(1, "b", lag=3), replica(2, "b", lag=4)], 1),
        ([replica(0, "a"), replica(1, "b"), replica(2, "b")], 2),
    ],
)
def test_a_reader_gets_the_replica_of_its_rack_that_is_furthest_then_freshest_then_highest(replicas, chosen):
    assert RackAwareSelector().select("b", 0, replicas) == chosen


@pytest.mark.parametrize("rack", [None, ""])
def test_a_reader_without_a_rack_gets_the_leader_even_beside_replicas_without_one(rack):
    assert RackAwareSelector().select(rack, 0, [replica(0, "a"), replica(1, rack, end=200)]) == 0


def test_the_leader_selector_always_names_the_leader():
    assert LeaderSelector().select("b", 0, [replica(0, "a"), replica(1, "b")]) == 0


@pytest.mark.parametrize("leader", [None, -1])
def test_nobody_is_chosen_without_a_leader(leader):
    assert select_replica("rack-aware", "a", {"leader": leader, "replicas": []}) is None


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (None, LeaderSelector),
        ("leader", LeaderSelector),
        ("rack-aware", RackAwareSelector),
        ("org.apache.kafka.common.replica.LeaderSelector", LeaderSelector),
        ("kafka_rack.selection:RackAwareSelector", RackAwareSelector),
    ],
)
def test_a_selector_is_found_by_every_name_it_has(name, found):
    assert isinstance(find_selector(name), found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nearest", "expected module:Class or one of leader"),
        ("no.such:Selector", "No module"),
        ("kafka_rack.selection:Nothing", "no attribute"),
        ("collections:Counter", "no method select"),
    ],
)
def test_an_unknown_selector_is_refused_with_the_reason(name, text):
    with pytest.raises(SelectionError, match=text):
        find_selector(name)


@pytest.mark.parametrize("text", ["none", "racks:a,b", "ordered_racks:b,a"])
def test_a_leader_preference_prints_as_it_is_written(text):
    assert str(LeaderPreference.parse(text)) == text


@pytest.mark.parametrize("text", ["rack:a", "racks", "racks:", "racks:a,,b", "ordered_racks:a,a"])
def test_a_leader_preference_that_is_none_is_refused(text):
    with pytest.raises(SelectionError, match="leader preference"):
        LeaderPreference.parse(text)


@pytest.mark.parametrize(
    ("preference", "replicas", "leaders"),
    [
        ("none", [4, 3, 1], [4, 3, 1]),
        ("racks:a,b", [4, 3, 1], [3, 1]),
        ("racks:z", [4, 3, 1], [4, 3, 1]),
        ("ordered_racks:a,b", [4, 3, 1, 2], [1, 2]),
        ("ordered_racks:z,b,a", [4, 3, 1], [3]),
        ("ordered_racks:z", [4, 3, 1], [4, 3, 1]),
    ],
)
def test_those_lead_whose_rack_is_preferred_and_any_where_none_is(preference, replicas, leaders):
    assert LeaderPreference.parse(preference).candidates(replicas, RACKS) == leaders


def test_leaders_are_spread_evenly_over_the_preferred_racks():
    rows = [[1, 3, 4], [2, 3, 4], [1, 2, 3], [3, 1, 4]] * 3
    leaders = LeaderPreference.parse("racks:a,b").lead(rows, RACKS, up={1, 2, 3, 4})
    assert set(Counter(leaders).values()) == {4}


def test_an_outage_of_the_first_rack_moves_leaders_to_the_second():
    leaders = LeaderPreference.parse("ordered_racks:a,c").lead([[1, 3, 4]] * 4, RACKS, up={3, 4})
    assert leaders == [4] * 4


def test_a_partition_without_a_live_replica_has_no_leader():
    assert LeaderPreference().lead([[1, 2], [3]], RACKS, up={3}) == [-1, 3]


def test_rows_are_moved_along_chains_to_reach_the_even_choice():
    assert Counter(even_choice([[1, 2], [1, 2], [2, 3], [2, 3], [1], [1]])) == {1: 2, 2: 2, 3: 2}
