from __future__ import annotations

import pytest

from mockbroker.call import Outcome
from mockbroker.core.simulation import Simulation
from tests.unit.mockbroker.core.client import Client
from tests.unit.mockbroker.handlers.records import TOPIC


@pytest.fixture
def sim(sim: Simulation) -> Simulation:
    sim.cluster.replication_control.create(TOPIC, 1, 3)
    sim.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})
    return sim


@pytest.fixture
def client(sim: Simulation) -> Client:
    return Client(sim)


class Outcomes(list[Outcome]):
    """Collects outcomes as an observer."""

    def call_ended(self, outcome: Outcome) -> None:
        self.append(outcome)


@pytest.fixture
def outcomes(sim: Simulation) -> Outcomes:
    """How the calls of ``sim`` ended, in their order."""
    found = Outcomes()
    sim.engine.path.observers.append(found)
    return found
