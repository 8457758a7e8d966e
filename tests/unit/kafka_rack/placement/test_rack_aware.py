"""KIP-36's placement, by the KIP's own examples."""

from __future__ import annotations

import pytest

from kafka_rack.errors import MissingRackError
from kafka_rack.placement import UsableBroker, place, rack_alternated, start_index_of_growth
from kafka_rack.placement.placer import SEED_SETTING
from kafka_rack.placement.rack_aware import RackAwarePlacer

KIP_36_RACKS = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
KIP_36_BROKERS = [UsableBroker(broker, rack) for broker, rack in KIP_36_RACKS.items()]


def test_kip_36_alternates_its_six_brokers_as_0_3_1_5_4_2():
    assert rack_alternated(KIP_36_RACKS) == [0, 3, 1, 5, 4, 2]


def test_kip_36_table_of_twelve_partitions():
    assert place("rack-aware", KIP_36_BROKERS, 0, 12, 3, start_index=0, next_replica_shift=0) == [
        [0, 3, 1],
        [3, 1, 5],
        [1, 5, 4],
        [5, 4, 2],
        [4, 2, 0],
        [2, 0, 3],
        [0, 4, 2],
        [3, 2, 0],
        [1, 0, 3],
        [5, 3, 1],
        [4, 1, 5],
        [2, 5, 4],
    ]


def test_kip_36_uneven_three_brokers_put_more_replicas_on_the_lone_broker():
    brokers = [UsableBroker(0, "rack1"), UsableBroker(1, "rack2"), UsableBroker(2, "rack2")]
    assert place("rack-aware", brokers, 0, 3, 2, start_index=0, next_replica_shift=0) == [[0, 1], [1, 0], [2, 0]]


def test_racks_alternate_in_the_order_of_their_names_with_uneven_ones_running_out():
    assert rack_alternated({5: "b", 1: "c", 2: "c", 3: "c", 4: "a"}) == [4, 5, 1, 2, 3]


def test_brokers_without_any_rack_are_placed_round_robin_in_the_order_given():
    brokers = [UsableBroker(2), UsableBroker(0), UsableBroker(1)]
    assert place("rack-aware", brokers, 0, 2, 2) == place("unaware", brokers, 0, 2, 2) == [[2, 0], [0, 1]]


def test_brokers_partly_without_a_rack_are_named():
    with pytest.raises(MissingRackError, match="brokers 1, 4 without a rack"):
        place("rack-aware", [UsableBroker(4), UsableBroker(0, "a"), UsableBroker(1)], 0, 1, 1)


def test_replicas_beyond_the_racks_go_to_brokers_not_yet_used():
    rows = place("rack-aware", KIP_36_BROKERS, 0, 6, 6)
    assert [sorted(row) for row in rows] == [[0, 1, 2, 3, 4, 5]] * 6


def test_fenced_brokers_are_used_only_where_too_few_are_up_and_then_lead_nothing():
    brokers = [UsableBroker(0, "a", fenced=True), UsableBroker(1, "b"), UsableBroker(2, "c")]
    assert {broker for row in place("rack-aware", brokers, 0, 6, 2) for broker in row} == {1, 2}
    assert all(row[-1] == 0 for row in place("rack-aware", brokers, 0, 6, 3))


def test_a_placer_draws_anew_for_each_topic_and_repeats_itself_for_the_same_seed():
    def topics():
        placer = RackAwarePlacer()
        placer.configure({SEED_SETTING: "7"})
        return [placer.place(0, 6, 3, KIP_36_BROKERS) for _ in range(5)]

    first = topics()
    assert first == topics()
    assert len({tuple(rows[0]) for rows in first}) > 1


def test_a_topic_grows_from_the_place_of_its_first_leader():
    assert start_index_of_growth([UsableBroker(7), UsableBroker(3), UsableBroker(5)], 5) == 1
    assert start_index_of_growth([UsableBroker(7), UsableBroker(3), UsableBroker(5)], 6) == 2
    assert start_index_of_growth([UsableBroker(3)], 9) == 0
