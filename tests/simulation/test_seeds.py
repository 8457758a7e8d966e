"""Runs of the whole cluster by seed: only what Kafka permits goes wrong, and a seed does the same each time."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from mockbroker.testing.simulation.plan import PlanError, PlanOptions, plan_of
from mockbroker.testing.simulation.run import simulate
from tests.families import asks_all

SEEDS = range(100 if asks_all() else 5)
ROOT = Path(__file__).resolve().parents[2]
DIGEST = """
from mockbroker.testing.simulation import plan, run
print(run.simulate(plan.plan_of({seed}), with_digest=True).digest)
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_shows_nothing_that_kafka_does_not_permit(seed):
    result = simulate(plan_of(seed))
    assert result.problems == ()
    assert result.sends > 50
    assert result.polls > 50


@pytest.mark.parametrize("release", ["2.4", "2.8", "3.9", "4.1", "diskless"])
@pytest.mark.parametrize("seed", [4, 10] if asks_all() else [4])
def test_clients_get_there_whatever_release_is_emulated(release, seed):
    result = simulate(plan_of(seed, PlanOptions(release=release)))
    assert result.problems == ()
    assert result.sends > 50


def test_releases_whose_brokers_the_clients_cannot_speak_to_are_refused():
    with pytest.raises(PlanError, match=r"expected 2\.4 or a later one, got 2\.3"):
        PlanOptions(release="2.3")


@pytest.mark.parametrize("seed", [3, 7] if asks_all() else [3])
def test_a_seed_gives_the_same_journal_in_processes_that_hash_differently(seed):
    digests = {digest_in_a_process(seed, hash_seed) for hash_seed in ("1", "77")}
    assert len(digests) == 1


def test_seeds_differ():
    assert digest_in_a_process(3, "1") != digest_in_a_process(4, "1")


@cache
def digest_in_a_process(seed: int, hash_seed: str) -> str:
    found = subprocess.run(
        [sys.executable, "-c", DIGEST.format(seed=seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    assert len(found) == 64
    return found
