"""How a call ended. Each call has exactly one outcome; journal, capture and log are told of it as observers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol

from mockbroker.call import Call

log = logging.getLogger("mockbroker")


class Ending(Enum):
    """What became of a call; ``ANSWERED`` also where the protocol has no answer (Produce with acks=0)."""

    ANSWERED = "answered"
    ANSWERED_LATER = "answered later"  # after it was parked
    DROPPED = "dropped"  # the client or the broker went while it was parked
    CLOSED = "closed"  # its connection was closed in place of an answer


class Outcome(NamedTuple):
    """A call's end.

    ``output`` is the response as it goes onto the wire, its length in front, in pieces; empty where there is none.
    ``response`` is the message behind it, None where there is none or the answer came from the cache. ``reason`` says
    why the connection was closed, and ``error`` what our own code raised, whether that was the cause of it or was
    answered with UNKNOWN_SERVER_ERROR.
    """

    call: Call
    ending: Ending
    at_ms: int
    output: Sequence[bytes] = ()
    response: Any = None
    reason: str | None = None
    error: Exception | None = None

    @property
    def response_bytes(self) -> int:
        """The size of the response frame without its length field, 0 where there is none."""
        return sum(map(len, self.output)) - 4 if self.output else 0


class Observer(Protocol):
    """Whoever is told of calls."""

    def call_ended(self, outcome: Outcome) -> None:
        """A call has ended in this way."""


def log_failure(outcome: Outcome) -> None:
    """Write one line if a call closed its connection, and a traceback if our own code failed."""
    call = outcome.call
    session = call.session
    if outcome.error is not None:
        log.error("broker %d failed on API key %d", session.broker.id, call.api_key, exc_info=outcome.error)
    if outcome.ending is Ending.CLOSED:
        level = logging.INFO if call.faults else logging.WARNING  # what a fault ends was to end
        log.log(level, "broker %d closes the connection of %s: %s", session.broker.id, session.address, outcome.reason)
