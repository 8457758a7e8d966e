"""The cluster that handler tests drive: as the others', but every answer has to fit the version it goes out in."""

from __future__ import annotations

from typing import Any

import pytest

import protocol
from mockbroker.core.simulation import Simulation


class EncodedReplies(dict[int, Any]):
    """Answers by ticket; one that its version cannot hold raises EncodeError as it comes."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__()
        self._simulation = simulation

    def __setitem__(self, ticket: int, response: Any) -> None:
        if response is not None:
            protocol.encode(response, self._simulation.calls[ticket].version)
        super().__setitem__(ticket, response)


@pytest.fixture
def sim(sim: Simulation) -> Simulation:
    sim.replies = EncodedReplies(sim)
    return sim
