"""Random requests without a Kafka: the same seed asks the same, and ours has an answer to each."""

from __future__ import annotations

import pytest

from tests.answers.random_requests.differential import DifferingAnswer, Failures, told_by_ours
from tests.answers.random_requests.families import FAMILIES, family
from tests.answers.random_requests.plan import Plan
from tests.answers.random_requests.shrinking import Shrinking
from tests.answers.random_requests.turns import lessened, lists_in
from tests.answers.story import Exchange

RUNS = 12


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_seed_asks_the_same_and_is_answered_the_same(name):
    turns = family(name)
    plan = Plan.drawn(5, turns.LENGTH)
    assert told_by_ours(turns, plan) == told_by_ours(turns, Plan.parse(str(plan)))


@pytest.mark.parametrize("name", FAMILIES)
def test_ours_fails_at_none_of_hundreds_of_random_requests(name):
    turns, failures = family(name), Failures()
    asked = 0
    for seed in range(RUNS):
        asked += len(told_by_ours(turns, Plan.drawn(seed, turns.LENGTH), failures=failures))
    assert asked > RUNS * turns.LENGTH / 2
    assert not failures.found, [(one.call.request, one.error) for one in failures.found]


def test_shrinking_leaves_the_turns_and_entries_that_the_difference_takes():
    """It takes turn 3 before turn 7, and an 8 in the last request."""

    def run(plan):
        seeds = [turn.seed for turn in plan.turns]
        if 3 not in seeds or 7 not in seeds[seeds.index(3) :]:
            return None
        last = plan.turns[seeds.index(7)]
        request = lessened({"wanted": [[5], [6, 8]]}, last.without)
        if not any(8 in one for one in request["wanted"]):
            return None
        step = f"Fetch v0, turn {seeds.index(7)}: read"
        return DifferingAnswer((Exchange("", step, "Fetch", 0, request, {}),), (("errorCode", 1, 0),))

    plan = Plan.parse("1:" + "-".join(map(str, range(9))))
    shrinking = Shrinking(run, plan, run(plan))
    shrinking.shrink()
    assert [turn.seed for turn in shrinking.plan.turns] == [3, 7]
    assert shrinking.found.exchange.request == {"wanted": [[8]]}


def test_entries_that_are_left_out_are_gone_from_the_request():
    request = {"a": 1, "topics": [{"name": "t", "partitions": [0, 1]}, {"name": "u", "partitions": []}]}
    assert (1, 0, 1, 1) in lists_in(request)
    assert lessened(request, ((1, 1), (1, 0, 1, 0))) == {"a": 1, "topics": [{"name": "t", "partitions": [1]}]}
