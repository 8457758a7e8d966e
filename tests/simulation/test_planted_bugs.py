"""Bugs planted in the cluster are found by the first 50 seeds."""

from __future__ import annotations

import pytest

from mockbroker.testing.simulation.plan import plan_of
from mockbroker.testing.simulation.run import simulate
from tests.families import asks_all
from tests.simulation.planted_bugs import FOUND_BY, MAX_SEEDS, PLANTED
from tests.simulation.test_seeds import SEEDS

CHOSEN = FOUND_BY if asks_all() else {seed: name for name, seed in reversed(FOUND_BY.items())}.values()
"""All bugs, or one for each seed that finds any."""


def test_each_bug_is_looked_for():
    assert set(FOUND_BY) == set(PLANTED)
    assert len(PLANTED) >= 6
    assert max(FOUND_BY.values()) < MAX_SEEDS


@pytest.mark.parametrize("name", CHOSEN)
def test_a_planted_bug_is_found_by_the_first_seeds_and_nothing_without_it(name):
    seeds = sorted(range(MAX_SEEDS), key=lambda seed: (seed != FOUND_BY[name], seed))
    with PLANTED[name]():
        found = next((seed for seed in seeds if not simulate(plan_of(seed)).is_right), None)
    assert found is not None
    assert found in SEEDS or simulate(plan_of(found)).problems == ()  # test_seeds.py runs those without a bug
