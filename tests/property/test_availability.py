"""The chances of outages, against going through every outage one by one."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.availability import Outage, chance_of_any, chances, expected_share
from kafka_rack.availability.rack_losses import ways_to_lose


@st.composite
def clusters(draw):
    """A cluster with racks, replica sets with repeats, the losses that hit a set, and an outage."""
    count = draw(st.integers(2, 8))
    racks = {broker: draw(st.sampled_from("abc")) for broker in range(count)}
    sets = draw(st.lists(st.frozensets(st.sampled_from(range(count)), min_size=1, max_size=4), min_size=1, max_size=6))
    threshold = {size: draw(st.integers(1, size)) for size in {len(members) for members in sets}}
    rack_failures = draw(st.integers(0, len(set(racks.values())) - 1))
    sizes = sorted((list(racks.values()).count(rack) for rack in set(racks.values())), reverse=True)
    failures = draw(st.integers(0, count - sum(sizes[:rack_failures])))
    return racks, sets, threshold, Outage(failures, rack_failures)


def brute_force(racks, sets, threshold, outage, worth):
    """The mean worth of an outage's hits over all outages, each choice of racks weighing the same."""
    by_racks = []
    for failed_racks in combinations(sorted(set(racks.values())), outage.rack_failures):
        gone = {broker for broker, rack in racks.items() if rack in failed_racks}
        worths = [
            worth([len(members & (gone | set(failed))) >= threshold[len(members)] for members in sets])
            for failed in combinations(sorted(set(racks) - gone), outage.failures)
        ]
        by_racks.append(sum(worths) / len(worths))
    return sum(by_racks) / len(by_racks)


@given(clusters())
def test_the_counted_chance_is_that_of_every_outage_gone_through(cluster):
    racks, sets, threshold, outage = cluster
    counted = chance_of_any(sets, threshold, racks, outage, Random(0), 1)
    assert counted.error == 0
    assert counted.value == pytest.approx(brute_force(*cluster, worth=any))


@given(clusters())
def test_the_expected_share_is_that_of_every_outage_gone_through(cluster):
    racks, sets, threshold, outage = cluster
    weights = {members: sets.count(members) for members in sets}
    shared = expected_share(weights, threshold, racks, outage)
    assert shared == pytest.approx(brute_force(*cluster, worth=lambda hits: sum(hits) / len(hits)))


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2)), min_size=1, max_size=9), st.data())
def test_ways_to_lose_racks_are_those_of_every_choice_gone_through(racks, data):
    failures = data.draw(st.integers(0, len(racks)))
    every = Counter(
        (sum(brokers for brokers, _ in failed), sum(replicas for _, replicas in failed))
        for failed in combinations(racks, failures)
    )
    assert ways_to_lose(Counter(racks), failures) == every


@given(clusters(), st.integers())
def test_drawn_outages_lose_what_the_outage_says(cluster, seed):
    racks, _, _, outage = cluster
    for lost in chances.drawn_outages(racks, outage, Random(seed), 5):
        whole = [
            rack for rack in set(racks.values()) if all(broker in lost for broker in racks if racks[broker] == rack)
        ]
        assert len(whole) >= outage.rack_failures
        assert any(
            len(lost) == outage.failures + sum(rack in chosen for rack in racks.values())
            for chosen in combinations(whole, outage.rack_failures)
        )


@given(clusters(), st.integers())
def test_drawn_hits_are_those_of_the_outages_drawn(cluster, seed):
    racks, sets, threshold, outage = cluster
    drawn = list(chances.drawn_outages(racks, outage, Random(seed), 7))
    assert chances.drawn_hits(sets, threshold, racks, outage, Random(seed), 7) == sum(
        any(len(members & lost) >= threshold[len(members)] for members in sets) for lost in drawn
    )
