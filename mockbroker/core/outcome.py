"""The end of a call. Each call has exactly one outcome; journal, capture and log receive it as observers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol

from msgspec import Struct

from mockbroker.call import Call

log = logging.getLogger("mockbroker")


class Ending(Enum):
    """The way a call ended; ``ANSWERED`` also if the protocol has no answer (Produce with acks=0)."""

    ANSWERED = "answered"
    ANSWERED_LATER = "answered later"  # after a wait
    DROPPED = "dropped"  # the client or the broker went while it waited
    CLOSED = "closed"  # its connection was closed instead of an answer


class Outcome(Struct, eq=False, frozen=True):
    """A call's end.

    ``output`` is the encoded response with its length in front, in pieces; empty without a response. ``response`` is
    its message, None without one or if the answer came from the cache. ``reason`` is why the connection was closed, and
    ``error`` the exception of our own code that closed it or was answered with UNKNOWN_SERVER_ERROR.
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
        """The size of the response frame without its length field, 0 without a response."""
        return sum(map(len, self.output)) - 4 if self.output else 0


class Observer(Protocol):
    """Receives the outcomes of calls."""

    def call_ended(self, outcome: Outcome) -> None:
        """Called once for each call, when it has ended."""


def log_failure(outcome: Outcome) -> None:
    """Write one line if a call closed its connection, and a traceback if our own code failed."""
    call = outcome.call
    session = call.session
    if outcome.error is not None:
        log.error("broker %d failed on API key %d", session.broker.id, call.api_key, exc_info=outcome.error)
    if outcome.ending is Ending.CLOSED:
        level = logging.INFO if call.faults else logging.WARNING  # a fault ends calls on purpose
        log.log(level, "broker %d closes the connection of %s: %s", session.broker.id, session.address, outcome.reason)
