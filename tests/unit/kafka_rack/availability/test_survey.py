"""Rows by placer, and KAFKA-1736's figures."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from math import comb

import pytest

from kafka_rack.availability import PLACERS, Question, availability_row, chances, kafka_1736_table, survey
from kafka_rack.errors import InputError, InvalidReplicationFactorError, ReplicaPlacementError


def ask(placer, brokers=12, racks=None, failures=2, rack_failures=0, replicas=3, partitions=54, in_sync=2, **options):
    question = Question(brokers, partitions, replicas, failures, placer, racks, in_sync, rack_failures)
    return availability_row(question, **options)


def test_a_placer_of_few_rotations_is_taken_to_place_as_many_layouts():
    one, rotated = (survey.steps_of(Question(4, 6, 2, 1, placer, 2), 1) for placer in ("by-hand", "rack-aware"))
    assert rotated == 4 * one


def test_kafka_1736_exact_values_for_broker_replica_placement():
    assert [row.broker_replica for row in kafka_1736_table()] == pytest.approx([2 / 5, 1 / 4, 2 / 11])


def test_kafka_1736_exact_values_for_both_readings_of_its_random_column():
    table = kafka_1736_table()
    assert [round(row.random_uniform, 6) for row in table] == [0.999994, 0.990892, 0.918901]
    assert [round(row.unaware, 4) for row in table] == [1, 1, 0.8409]


def test_kafka_1736_figures_are_the_exact_ones_and_noise():
    table = kafka_1736_table()
    assert [row.issue_broker_replica for row in table] == [0.424, 0.228, 0.168]
    assert [row.issue_random for row in table] == [0.999, 0.986, 0.894]
    assert all(row.issue_noise == pytest.approx(row.issue_broker_replica - row.broker_replica) for row in table)
    assert max(abs(row.issue_noise) for row in table) < 0.03


@pytest.mark.parametrize("brokers", [6, 9, 12])
def test_the_expected_share_of_partitions_hit_is_the_same_for_every_placer(brokers):
    shares = {round(ask(placer, brokers).share_unwritable, 12) for placer in PLACERS}
    assert len(shares) == 1


def test_unaware_is_averaged_over_the_starts_and_shifts_that_kafka_draws(monkeypatch):
    quick = ask("unaware", 7, racks=3, failures=1, rack_failures=1)
    monkeypatch.setattr(
        survey,
        "rotations_of",
        lambda question: survey.Counter({(start, shift): 1 for start in range(7) for shift in range(7)}),
    )
    every = ask("unaware", 7, racks=3, failures=1, rack_failures=1)
    assert quick.p_any_unwritable == pytest.approx(every.p_any_unwritable)
    assert quick.scatter_width == pytest.approx(every.scatter_width)


@pytest.mark.parametrize("placer", ["rack-aware", "unaware"])
def test_one_start_stands_for_all_where_racks_are_of_one_size(placer, monkeypatch):
    quick = ask(placer, 6, racks=3, failures=1, rack_failures=1)
    monkeypatch.setattr(
        survey,
        "rotations_of",
        lambda question: survey.Counter({(start, shift): 1 for start in range(6) for shift in range(6)}),
    )
    every = ask(placer, 6, racks=3, failures=1, rack_failures=1)
    for name in (
        "p_any_unwritable",
        "share_unwritable",
        "p_any_lost",
        "copysets",
        "scatter_width",
        "worst_leader_load",
    ):
        assert getattr(quick, name) == pytest.approx(getattr(every, name))


def test_drawn_rotations_come_with_an_error_that_covers_the_exact_answer(monkeypatch):
    exact = ask("rack-aware", 11, racks=3, partitions=16)
    monkeypatch.setattr(survey, "MAX_LAYOUTS", 60)
    drawn = ask("rack-aware", 11, racks=3, partitions=16, seed=5)
    assert (exact.method, exact.error, drawn.method) == ("exact", 0, "monte-carlo")
    assert abs(drawn.p_any_unwritable - exact.p_any_unwritable) < 4 * drawn.error


def test_equal_seeds_give_equal_answers_and_others_do_not():
    assert ask("striped", seed=3) == ask("striped", seed=3) != ask("striped", seed=4)


def test_rack_aware_placement_outlives_a_rack_and_unaware_does_not():
    assert ask("rack-aware", 12, racks=3, failures=0, rack_failures=1).p_any_unwritable == 0
    assert ask("unaware", 12, racks=3, failures=0, rack_failures=1).p_any_unwritable > 0


def test_random_sets_fall_to_a_lost_rack_in_the_expected_share():
    row = ask("random", 12, racks=3, failures=0, rack_failures=1, in_sync=1)
    assert row.share_unwritable == pytest.approx(4 / 220)
    assert row.p_any_lost == pytest.approx(1 - (1 - 4 / 220) ** 54)


@pytest.mark.parametrize("placer", ["rack-aware", "random"])
def test_more_ways_to_lose_racks_than_can_be_gone_through_are_counted_by_what_they_take(placer):
    row = ask(placer, 60, racks=60, failures=1, rack_failures=10, trials=100)
    two_or_three_of_eleven = comb(11, 2) * 49 + comb(11, 3)
    assert row.share_unwritable == pytest.approx(two_or_three_of_eleven / comb(60, 3))


def test_chances_far_below_the_precision_of_one_are_not_lost():
    row = ask("random", 2_000, failures=3, replicas=3, in_sync=1, partitions=2)
    assert row.p_any_lost == pytest.approx(2 / comb(2_000, 3), rel=1e-6)
    assert ask("random", 2_000, failures=1, replicas=10, in_sync=1).copysets == pytest.approx(54)
    assert ask("random", 2_000, failures=1, replicas=1_000, in_sync=1).copysets == 54


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"placer": "best"}, InputError, "placer: expected one of .*, got 'best'"),
        ({"placer": "random", "partitions": 0}, InputError, "partitions: expected 1 or more, got 0"),
        (
            {"placer": "random", "replicas": 13},
            InvalidReplicationFactorError,
            "replication factor: expected 1 to the 12 brokers, got 13",
        ),
        ({"placer": "random", "in_sync": 4}, InputError, "expected 1 to replication factor 3"),
        ({"placer": "random", "racks": 13}, InputError, "racks: expected 1 to the 12 brokers, got 13"),
        ({"placer": "random", "rack_failures": 1}, InputError, "1 failed racks, but there are 0"),
        ({"placer": "broker-replica", "brokers": 10}, ReplicaPlacementError, "no multiple of replication factor 3"),
    ],
)
def test_a_question_without_an_answer_is_refused_with_the_reason(arguments, error, text):
    with pytest.raises(error, match=text):
        ask(**arguments)


TRIED = Question(12, 54, 3, 3, "broker-replica", racks=3, min_insync_replicas=2)


def test_trials_come_near_what_is_counted(monkeypatch):
    counted = availability_row(TRIED)
    monkeypatch.setattr(chances, "MAX_STEPS", 10)
    tried = availability_row(TRIED, trials=40_000)
    assert (counted.method, tried.method) == ("exact", "monte-carlo")
    assert 0 < tried.error < 0.005
    assert abs(tried.p_any_unwritable - counted.p_any_unwritable) < 4 * tried.error
    assert abs(tried.p_any_lost - counted.p_any_lost) < 4 * tried.error


def test_another_process_draws_the_same(monkeypatch):
    monkeypatch.setattr(chances, "MAX_STEPS", 10)
    program = (
        "import json\nfrom dataclasses import asdict\nfrom kafka_rack.availability import *\n"
        "from kafka_rack.availability import chances\nchances.MAX_STEPS = 10\n"
        f"print(json.dumps(asdict(availability_row({TRIED!r}, trials=6000))))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == asdict(availability_row(TRIED, trials=6000))
