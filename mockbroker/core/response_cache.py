"""Metadata answers as bytes, kept until the cluster changes: clients ask the same again and again.

An answer depends on the request, on the listener, and, where it shows diskless topics, on the broker whose turn it is;
so there is one for each such broker. Requests are compared as bytes, client.id included.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mockbroker.call import Call
from mockbroker.state.cluster import Cluster

CACHED_API = 3  # Metadata
MAX_REQUESTS = 1000
MAX_REQUEST_LENGTH = 4096


@dataclass(slots=True)
class Kept:
    """The answers to one request: one for each broker that may be named, or a single one that takes no turn."""

    client_id: str | None
    client_rack: str | None
    takes_turns: bool
    turn_rack: str | None
    by_broker: dict[int, bytes] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class ResponseCache:
    """The answers of one cluster, by request and listener."""

    cluster: Cluster
    _version: int = -1
    _by_request: dict[tuple[bytes, str], Kept] = field(default_factory=dict)

    def find(self, frame: bytes, listener: str) -> tuple[bytes, Kept] | None:
        """The answer behind its correlation id, and whose it is; the turn it takes is taken. None if there is none."""
        cluster = self.cluster
        if cluster.zookeeper is not None:
            return None  # each broker answers what it was told
        if self._version != cluster.version:
            self._by_request.clear()
            self._version = cluster.version
            return None
        kept = self._by_request.get((frame[:4] + frame[8:], listener))
        if kept is None:
            return None
        if not kept.takes_turns:
            return (kept.by_broker[0], kept)
        answer = kept.by_broker.get(cluster.diskless_broker(kept.turn_rack))
        if answer is None:
            return None
        cluster.take_turn(kept.turn_rack)
        return (answer, kept)

    def keep(self, frame: bytes, listener: str, call: Call, answer: bytes) -> None:
        """Keep what was answered to a request."""
        if self.cluster.zookeeper is not None:
            return
        if self._version != self.cluster.version or len(frame) > MAX_REQUEST_LENGTH:
            return  # the request itself changed the cluster, or is too long to be worth it
        rack, chosen = call.diskless_turn or (None, 0)
        key = (frame[:4] + frame[8:], listener)
        kept = self._by_request.get(key)
        if kept is None:
            if len(self._by_request) >= MAX_REQUESTS:
                return
            kept = Kept(call.client.id, call.client_rack, call.diskless_turn is not None, rack)
            self._by_request[key] = kept
        kept.by_broker[chosen] = answer
