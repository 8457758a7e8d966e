from __future__ import annotations

import pytest

from mockbroker.core.simulation import Simulation
from tests.unit.mockbroker.core.client import Client
from tests.unit.mockbroker.handlers.records import TOPIC


@pytest.fixture
def sim(sim: Simulation) -> Simulation:
    sim.cluster.create_topic(TOPIC, 1, 3)
    sim.cluster.create_topic("events", 1, configs={"diskless.enable": "true"})
    return sim


@pytest.fixture
def client(sim: Simulation) -> Client:
    return Client(sim)
