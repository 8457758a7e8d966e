"""Scenarios that a real cluster was asked, asked of ours: every field of every answer is the same, or has an excuse."""

from __future__ import annotations

from functools import cache

import pytest

from tests.answers.comparison import Difference
from tests.answers.excuses import EXCUSES, Excuse, excuse_of
from tests.answers.recorded import differences, recorded, recorded_families
from tests.answers.replay_4_1 import replayed, scenarios_replayed
from tests.answers.scenarios import Scenario, scenarios_of
from tests.cases import for_each, hold


def scenarios_recorded(family: str) -> list[Scenario]:
    return [scenario for scenario in scenarios_of(family) if scenario.name in recorded(family)]


@cache
def differences_of(scenario: Scenario) -> tuple[Difference, ...]:
    """Where ours differs, excused or not; asked once, as two tests need it."""
    return tuple(differences(scenario, recorded(scenario.family)[scenario.name]))


@pytest.mark.parametrize("family", recorded_families())
def test_every_recorded_scenario_is_still_told(family):
    assert set(recorded(family)) <= {one.name for one in scenarios_of(family)}


@pytest.mark.parametrize("family", recorded_families())
def test_ours_answers_a_familys_scenarios_as_kafka_does(family: str):
    def check(scenario: Scenario) -> None:
        found = [one for one in differences_of(scenario) if not excuse_of(one)]
        assert not found, "\n".join(map(str, found[:20]))

    hold([(one.name, (one,)) for one in scenarios_recorded(family)], check)


@cache
def differences_of_4_1(scenario: str) -> tuple[Difference, ...]:
    return tuple(replayed(scenario))


@for_each(lambda: [(name, (name,)) for name in scenarios_replayed()])
def test_emulated_4_1_answers_recorded_requests_as_4_1_did(scenario: str):
    found = [one for one in differences_of_4_1(scenario) if not excuse_of(one)]
    assert not found, "\n".join(map(str, found[:20]))


def test_every_excuse_is_needed():
    used: set[Excuse | None] = set()
    if EXCUSES:
        used = {
            excuse_of(found)
            for family in recorded_families()
            for one in scenarios_recorded(family)
            for found in differences_of(one)
        }
        used |= {excuse_of(found) for one in scenarios_replayed() for found in differences_of_4_1(one)}
    assert not set(EXCUSES) - used
