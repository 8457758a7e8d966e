"""A cluster on a data directory is killed under real clients, and has all that these were told is kept."""

from __future__ import annotations

from tests.interop.fetched import skipped_without_tools
from tests.torture.killing.run import run
from tests.torture.killing.transactors import client_jars


def test_kills_torn_ends_and_flipped_bits_lose_nothing_double_nothing_and_halve_no_transaction():
    with skipped_without_tools():
        client_jars()
    figures = run(4, seed=3, rounds_in_a_life=2)
    assert figures.rounds == 4
    assert figures.damages
    assert figures.cut
