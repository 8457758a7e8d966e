"""KAFKA-1736's brokers that are replicas of each other, and copysets."""

from __future__ import annotations

from collections import Counter

import pytest

from kafka_rack.errors import ReplicaPlacementError
from kafka_rack.placement import SCATTER_WIDTH_SETTING, UNEVEN_SETTING, UsableBroker, broker_groups, place

NINE = [UsableBroker(number) for number in range(9)]
FIFTEEN_IN_RACKS = [UsableBroker(number, "abcde"[number % 5]) for number in range(15)]


def partners(rows):
    met = {}
    for row in rows:
        for broker in row:
            met.setdefault(broker, set()).update(set(row) - {broker})
    return met


def test_kafka_1736_nine_brokers_fall_into_three_sets_that_lead_evenly():
    rows = place("broker-replica", NINE, 0, 9, 3)
    assert Counter(tuple(sorted(row)) for row in rows) == {(0, 3, 6): 3, (1, 4, 7): 3, (2, 5, 8): 3}
    assert sorted(row[0] for row in rows) == list(range(9))


def test_groups_span_racks_where_racks_are_small_enough():
    brokers = [UsableBroker(number, rack) for number, rack in enumerate("aaabbbccd")]
    rack = {broker.id: broker.rack for broker in brokers}
    assert all(len({rack[member] for member in group}) == 3 for group in broker_groups(brokers, 3))


def test_a_rack_too_large_gives_each_group_as_few_brokers_as_can_be():
    brokers = [UsableBroker(number, rack) for number, rack in enumerate("aaaab" + "c")]
    rack = {broker.id: broker.rack for broker in brokers}
    assert [sum(rack[member] == "a" for member in group) for group in broker_groups(brokers, 3)] == [2, 2]


def test_brokers_that_are_no_multiple_are_refused_with_the_numbers_that_would_do():
    with pytest.raises(ReplicaPlacementError, match="8 brokers are no multiple of replication factor 3: take 6 or 9"):
        place("broker-replica", NINE[:8], 0, 8, 3)


def test_an_uneven_last_group_on_request_still_leads_evenly():
    rows = place("broker-replica", NINE[:8], 0, 16, 3, settings={UNEVEN_SETTING: "true"})
    assert Counter(row[0] for row in rows) == dict.fromkeys(range(8), 2)
    assert {frozenset(row) for row in rows if 0 in row} == {frozenset({0, 2, 4})}


def test_followers_take_turns_so_that_no_broker_inherits_all_of_another():
    rows = place("broker-replica", NINE, 0, 18, 3)
    assert {row[1] for row in rows if row[0] == 0} == {3, 6}


def test_a_grown_topic_stays_in_the_same_groups():
    whole = place("broker-replica", NINE, 0, 12, 3)
    assert place("broker-replica", NINE, 5, 7, 3) == whole[5:]


def test_copysets_of_the_least_scatter_width_are_broker_replicas():
    assert place("copyset", NINE, 0, 9, 3, settings={SCATTER_WIDTH_SETTING: "2"}) == place(
        "broker-replica", NINE, 0, 9, 3
    )


@pytest.mark.parametrize("width", [2, 3, 4, 6, 8, 10, 12])
def test_each_broker_meets_as_many_others_as_the_scatter_width_says(width):
    rows = place("copyset", FIFTEEN_IN_RACKS, 0, 15 * 30, 3, settings={SCATTER_WIDTH_SETTING: str(width)})
    rack = {broker.id: broker.rack for broker in FIFTEEN_IN_RACKS}
    assert min(len(met) for met in partners(rows).values()) >= width
    assert all(len({rack[broker] for broker in row}) == 3 for row in rows)


def test_copyset_leaders_are_even_over_all_its_cuts():
    rows = place("copyset", FIFTEEN_IN_RACKS, 0, 15 * 4, 3, settings={SCATTER_WIDTH_SETTING: "4"})
    assert set(Counter(row[0] for row in rows).values()) == {4}


@pytest.mark.parametrize("width", ["1", "13"])
def test_a_scatter_width_out_of_reach_is_refused_with_the_range(width):
    with pytest.raises(ReplicaPlacementError, match=rf"scatter width {width}, .* allow 2 to 12"):
        place("copyset", FIFTEEN_IN_RACKS, 0, 15, 3, settings={SCATTER_WIDTH_SETTING: width})
