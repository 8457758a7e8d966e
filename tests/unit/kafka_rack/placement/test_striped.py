"""KRaft's striped placement where its two ways of making rows meet."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.placement import StripedPlacer, UsableBroker, place

NINE = [UsableBroker(number, "abc"[number % 3]) for number in range(9)]


def test_fenced_brokers_come_last():
    brokers = [UsableBroker(0, "a", fenced=True), UsableBroker(1, "a"), UsableBroker(2, "b")]
    assert all(row[2] == 0 for row in place("striped", brokers, 0, 20, 3, seed=1))


def test_a_lone_broker_that_is_up_leads_everything():
    brokers = [UsableBroker(0, "a"), UsableBroker(1, "b", fenced=True)]
    assert place("striped", brokers, 0, 3, 2, seed=1) == [[0, 1]] * 3


def test_brokers_without_a_rack_are_a_rack_of_their_own():
    brokers = [UsableBroker(0), UsableBroker(1), UsableBroker(2, "a"), UsableBroker(3, "a")]
    assert all(len({broker // 2 for broker in row}) == 2 for row in place("striped", brokers, 0, 40, 2, seed=3))


def test_each_cycle_of_nine_partitions_gives_each_of_nine_brokers_three_replicas():
    rows = place("striped", NINE, 0, 90, 3, seed=11)
    for cycle in range(10):
        replicas = Counter(broker for row in rows[cycle * 9 : cycle * 9 + 9] for broker in row)
        assert replicas == dict.fromkeys(range(9), 3)


def test_one_placer_goes_on_drawing_from_topic_to_topic():
    placer = StripedPlacer(seed=5)
    first, second = (placer.place(0, 9, 3, NINE) for _ in range(2))
    assert first == place("striped", NINE, 0, 9, 3, seed=5)
    assert first != second


def test_with_a_start_index_racks_lead_in_their_order_from_there():
    assert [row[0] % 3 for row in place("striped", NINE, 0, 9, 3, start_index=1)] == [1, 2, 0] * 3


def test_with_a_start_index_topics_placed_before_change_nothing():
    placer = StripedPlacer(start_index=0)
    assert placer.place(0, 40, 3, NINE) == placer.place(0, 40, 3, NINE)


@given(racks=st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=9), cut=st.integers(1, 29))
def test_with_a_start_index_a_topic_that_grows_stands_as_one_made_as_large(racks, cut):
    brokers = [UsableBroker(number, rack) for number, rack in enumerate(racks)]
    placer = StripedPlacer(seed=4, start_index=2)
    replicas = min(3, len(brokers))
    grown = placer.place(0, cut, replicas, brokers) + placer.place(cut, 30 - cut, replicas, brokers)
    assert grown == placer.place(0, 30, replicas, brokers)


def test_with_a_start_index_followers_change_between_cycles_so_that_several_take_over():
    rows = StripedPlacer(start_index=0).place(0, 30, 3, NINE[:3])
    assert {row[1] for row in rows if row[0] == 0} == {1, 2}
