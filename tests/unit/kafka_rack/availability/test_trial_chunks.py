"""A question in chunks: in whatever order they are judged and however its trials are cut, the answer is one."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from random import Random

import pytest

from kafka_rack.availability import Question, answer, availability_row, chances, chunks_of, judge, trial_chunks

MANY_LAYOUTS = Question(11, 24, 3, 2, "rack-aware", racks=3, min_insync_replicas=2, rack_failures=1)
TRIED = Question(12, 54, 3, 3, "broker-replica", racks=3, min_insync_replicas=2)


@pytest.fixture
def nothing_can_be_counted(monkeypatch):
    monkeypatch.setattr(chances, "MAX_STEPS", 10)


def in_order(question, order, seed=0, trials=20_000):
    found = [judge(chunk) for chunk in order(chunks_of(question, settings={}, seed=seed, trials=trials))]
    return answer(question, [one for judged in found for one in judged], settings={}, seed=seed)


@pytest.mark.parametrize("question", [MANY_LAYOUTS, TRIED, Question(9, 54, 3, 2, "striped", racks=3)])
def test_pieces_in_any_order_give_the_row_of_the_question(question, monkeypatch):
    monkeypatch.setattr(chances, "MAX_STEPS", 300)
    row = availability_row(question, trials=20_000)
    assert in_order(question, lambda all_of_them: all_of_them[::-1]) == row
    assert in_order(question, lambda all_of_them: Random(4).sample(all_of_them, len(all_of_them))) == row


def test_what_can_be_counted_is_no_work_for_later_chunks():
    first, *later = [judge(chunk) for chunk in chunks_of(TRIED, settings={}, seed=0, trials=20_000)]
    assert len(later) == 3
    assert first[0].unwritable == pytest.approx(1 - 3**3 * 4 / 220)  # one or none of each of the four groups
    assert later == [[], [], []]


@pytest.mark.usefixtures("nothing_can_be_counted")
def test_chunks_draw_all_trials_that_were_asked_for_and_each_its_own():
    found = [judge(chunk)[0] for chunk in chunks_of(TRIED, settings={}, seed=0, trials=17_001)]
    assert sum(one.trials for one in found) == 17_001
    assert len({one.hit_unwritable / one.trials for one in found}) == len(found) == 4


@pytest.mark.usefixtures("nothing_can_be_counted")
def test_more_trials_than_chunks_can_hold_make_larger_chunks():
    cut = chunks_of(TRIED, settings={}, seed=0, trials=10_000_000)
    assert len(cut) == trial_chunks.MAX_CHUNKS
    assert sum(chunk.trials for chunk in cut) == 10_000_000


def test_trials_come_near_what_is_counted(monkeypatch):
    counted = availability_row(TRIED)
    monkeypatch.setattr(chances, "MAX_STEPS", 10)
    tried = availability_row(TRIED, trials=40_000)
    assert (counted.method, tried.method) == ("exact", "monte-carlo")
    assert 0 < tried.error < 0.005
    assert abs(tried.p_any_unwritable - counted.p_any_unwritable) < 4 * tried.error
    assert abs(tried.p_any_lost - counted.p_any_lost) < 4 * tried.error


@pytest.mark.usefixtures("nothing_can_be_counted")
def test_another_process_draws_the_same():
    program = (
        "import json\nfrom dataclasses import asdict\nfrom kafka_rack.availability import *\n"
        "from kafka_rack.availability import chances\nchances.MAX_STEPS = 10\n"
        f"print(json.dumps(asdict(availability_row({TRIED!r}, trials=6000))))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == asdict(availability_row(TRIED, trials=6000))


def test_seeds_settings_and_questions_draw_apart():
    draws = {
        trial_chunks.question_random(question, settings, seed, what).random()
        for question in (TRIED, MANY_LAYOUTS)
        for settings in ({}, {"replica.placer.scatter.width": "4"})
        for seed in (0, 1)
        for what in ("0/trials/1", "1/trials/0")
    }
    assert len(draws) == 16
