"""A few rounds of a cluster that is killed under real clients; `python -m tests.torture.kill` has as many as wanted."""

from __future__ import annotations

import pytest

from tests.torture.killing.run import run

pytestmark = [pytest.mark.interop, pytest.mark.slow]
ROUNDS = 3  # one of each kind


def test_what_was_acknowledged_outlives_the_process():
    figures = run(ROUNDS, seed=7)
    assert figures.rounds == ROUNDS
    assert figures.acknowledged > 100
    assert figures.damages > 0
