"""Metadata answers as bytes, kept until the cluster changes: clients send the same request again and again.

An answer depends on the request, on the listener, and, where brokers serve diskless topics in turn, on whose turn it
is; so there is one for each such broker. Requests are compared as bytes, client.id included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mockbroker.call import Call
from mockbroker.session import RackSource
from mockbroker.state.cluster import Cluster

CACHED_API = 3  # Metadata
MAX_CACHED_BYTES = 64 << 20
MAX_REQUEST_BYTES = 4096


@dataclass(slots=True)
class CachedResponses:
    """The answers to one request: one for each broker that may be named, or a single one that takes no turn.

    ``rack`` is what the request named, None where it named none.
    """

    rack: str | None
    takes_turns: bool
    turn_rack: str | None
    by_place: dict[int, bytes] = field(default_factory=dict)
    observed: Any = None
    """What observers know of the request and its answers, put down by the first that asks."""


@dataclass(slots=True, eq=False)
class ResponseCache:
    """The answers of one cluster, by request and listener, each as the bytes behind the correlation id."""

    cluster: Cluster
    size_bytes: int = 0
    _version: int = -1
    _by_request: dict[tuple[bytes, str], CachedResponses] = field(default_factory=dict)

    def find(self, call: Call) -> bytes | None:
        """What was answered to the same request, None if that is not known; the turn it takes is taken."""
        cluster = self.cluster
        if not call.view.is_shared:
            return None  # each broker answers by what it was told
        if self._version != cluster.version:
            self._by_request.clear()
            self.size_bytes = 0
            self._version = cluster.version
            return None
        cached = self._by_request.get(key_of(call))
        if cached is None:
            return None
        place = cluster.liveness.place_in_turn(cached.turn_rack) if cached.takes_turns else 0
        answer = cached.by_place.get(place)
        if answer is None:
            return None
        if cached.takes_turns:
            cluster.liveness.take_turn(cached.turn_rack)
        if cached.rack is not None:
            call.session.learn_rack(cached.rack)
        call.cached = cached
        return answer

    def keep(self, call: Call, output: Sequence[bytes]) -> None:
        """Keep what was answered to a request, a whole frame in pieces."""
        if not call.view.is_shared or self._version != self.cluster.version:
            return  # or the request itself changed the cluster
        answer = b"".join(output)[8:]
        size = len(call.frame) + len(answer)
        if len(call.frame) > MAX_REQUEST_BYTES or self.size_bytes + size > MAX_CACHED_BYTES:
            return
        turn_rack, place = call.diskless_turn or (None, 0)
        key = key_of(call)
        cached = self._by_request.get(key)
        if cached is None:
            session = call.session
            rack = session.rack if session.rack_source is RackSource.REQUEST else None
            cached = self._by_request[key] = CachedResponses(rack, call.diskless_turn is not None, turn_rack)
        call.cached = cached
        if place not in cached.by_place:
            cached.by_place[place] = answer
            self.size_bytes += size


def key_of(call: Call) -> tuple[bytes, str]:
    """The request without its correlation id, and the listener."""
    return (call.frame[:4] + call.frame[8:], call.session.listener)
