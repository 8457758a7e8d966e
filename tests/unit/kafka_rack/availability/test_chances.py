"""Counting outages, and trying them out where there are too many."""

from __future__ import annotations

from math import comb
from random import Random

import pytest

from kafka_rack.availability import EXACT, MONTE_CARLO, Chance, Outage, chance_of_any, chances, tail

NINE = dict.fromkeys(range(9))
GROUPS = [frozenset({0, 1, 2}), frozenset({3, 4, 5}), frozenset({6, 7, 8})]


def test_the_tail_is_hypergeometric():
    assert tail(9, 2, 3, 2) == pytest.approx(3 / 36)
    assert tail(9, 2, 3, 1) == pytest.approx(21 / 36)
    assert (tail(9, 2, 3, 0), tail(9, 2, 3, 3)) == (1.0, 0.0)


def test_two_failures_hit_two_of_three_in_a_quarter_of_outages():
    assert chance_of_any(GROUPS, {3: 2}, NINE, Outage(2), Random(0), 1) == Chance(0.25)


def test_more_failures_than_needed_are_counted_too():
    missed = 3**3  # one of each group at most
    assert chance_of_any(GROUPS, {3: 2}, NINE, Outage(3), Random(0), 1).value == pytest.approx(1 - missed / comb(9, 3))


def test_fewer_failures_than_needed_hit_nothing():
    assert chance_of_any(GROUPS, {3: 3}, NINE, Outage(2), Random(0), 1).value == 0


def test_a_failed_rack_counts_before_the_brokers_that_fail_beside_it():
    racks = {broker: "abc"[broker % 3] for broker in range(9)}
    sets = [frozenset({0, 1, 2})]  # one in each rack: one is always gone, and one more of two is needed among six
    assert chance_of_any(sets, {3: 2}, racks, Outage(1, 1), Random(0), 1).value == pytest.approx(2 / 6)


def test_a_set_inside_one_rack_is_lost_with_it():
    racks = {broker: "abc"[broker // 3] for broker in range(9)}
    assert chance_of_any([frozenset({0, 1})], {2: 2}, racks, Outage(0, 1), Random(0), 1).value == pytest.approx(1 / 3)


def test_sets_of_several_sizes_have_their_own_thresholds():
    sets = [frozenset({0, 1}), frozenset({2, 3, 4})]
    assert chance_of_any(sets, {2: 1, 3: 2}, NINE, Outage(2), Random(0), 1).value == pytest.approx((8 + 7 + 3) / 36)


def test_what_is_too_long_to_count_is_tried_out_with_an_error_that_covers_the_truth(monkeypatch):
    exact = chance_of_any(GROUPS, {3: 2}, NINE, Outage(3), Random(0), 1)
    monkeypatch.setattr(chances, "MAX_STEPS", 10)
    tried = chance_of_any(GROUPS, {3: 2}, NINE, Outage(3), Random(7), 4_000)
    assert (exact.method, tried.method) == (EXACT, MONTE_CARLO)
    assert 0 < tried.error < 0.01
    assert abs(tried.value - exact.value) < 4 * tried.error


def test_trials_that_all_agree_still_have_an_error():
    assert chances.estimate(0, 100).error > 0.01
    assert chances.estimate(100, 100).error > 0.01
