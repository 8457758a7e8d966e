"""What is logged of a call's end."""

from __future__ import annotations

import logging

import pytest

from mockbroker.call import Ending, Outcome
from mockbroker.core.path import log_failure
from mockbroker.core.simulation import Simulation
from protocol.apis.metadata import MetadataRequest


@pytest.fixture
def call():
    sim = Simulation()
    return sim.calls[sim.send(MetadataRequest(topics=[]), broker=1)]


def logged(caplog, outcome: Outcome) -> list[tuple[int, str]]:
    with caplog.at_level(logging.DEBUG, "mockbroker"):
        log_failure(outcome)
    return [(record.levelno, record.getMessage()) for record in caplog.records]


@pytest.mark.parametrize("ending", [Ending.ANSWERED, Ending.ANSWERED_LATER, Ending.DROPPED])
def test_nothing_is_logged_of_a_call_that_went_well(call, caplog, ending):
    assert logged(caplog, Outcome(call, ending, 0)) == []


def test_a_connection_that_is_closed_is_logged_with_its_reason(call, caplog):
    [(level, text)] = logged(caplog, Outcome(call, Ending.CLOSED, 0, reason="no such API"))
    assert (level, text) == (logging.WARNING, "broker 1 closes the connection of 127.0.0.1: no such API")


def test_an_error_of_our_own_is_logged_with_its_traceback(call, caplog):
    error = ZeroDivisionError("division by zero")
    [(level, text)] = logged(caplog, Outcome(call, Ending.ANSWERED, 0, error=error))
    assert (level, text) == (logging.ERROR, "broker 1 failed on API key 3")
    assert caplog.records[0].exc_info[1] is error
