"""The cluster that most tests here drive without sockets."""

from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation


@pytest.fixture
def sim() -> Simulation:
    """Brokers 0-2 on racks a, b, c at time 0; only ``sim.advance(ms=...)`` moves time."""
    return Simulation(racks="a,b,c", seed=0)
