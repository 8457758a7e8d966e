"""KRaft's striped placement where its two ways of making rows meet."""

from __future__ import annotations

from collections import Counter

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
