"""A cache of encoded Metadata answers, valid until the cluster changes: clients repeat the same request.

An answer depends on the request and the listener. One with diskless topics whose brokers rotate is not stored, nor is
one that a fault or a quota changed. Requests are compared as bytes, client.id included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mockbroker.call import Call
from mockbroker.session import RackSource
from mockbroker.state.cluster import Cluster

METADATA = 3
MAX_CACHED_BYTES = 64 << 20
MAX_REQUEST_BYTES = 4096


@dataclass(slots=True)
class CachedResponse:
    """The answer to one request. ``rack`` is the request's rack, None if it names none."""

    rack: str | None
    answer: bytes
    observed: Any = None
    """The observers' data on the request and its answer, set by the first that needs them."""


@dataclass(slots=True, eq=False)
class ResponseCache:
    """The answers of one cluster, by request and listener, each as the bytes after the correlation id."""

    cluster: Cluster
    size_bytes: int = 0
    _version: int = -1
    _by_request: dict[tuple[bytes, str, str | None], CachedResponse] = field(default_factory=dict)

    def find(self, call: Call) -> bytes | None:
        """The cached answer to the same request, None without one; the session learns the rack that it names."""
        if self._version != self.cluster.version:
            self._by_request.clear()
            self.size_bytes = 0
            self._version = self.cluster.version
            return None
        cached = self._by_request.get(key_of(call))
        if cached is None or not call.view.is_shared:
            return None  # or the broker has its own metadata
        if cached.rack is not None:
            call.session.learn_rack(cached.rack)
        call.cached = cached
        return cached.answer

    def keep(self, call: Call, output: Sequence[bytes]) -> None:
        """Store the answer to a request, a whole frame in pieces."""
        if not call.view.is_shared or call.took_turn or call.injected is not None:
            return
        if self._version != self.cluster.version:
            return  # the request itself changed the cluster
        answer = b"".join(output)[8:]
        size = len(call.frame) + len(answer)
        if len(call.frame) > MAX_REQUEST_BYTES or self.size_bytes + size > MAX_CACHED_BYTES:
            return
        session = call.session
        rack = session.rack if session.rack_source is RackSource.REQUEST else None
        call.cached = self._by_request[key_of(call)] = CachedResponse(rack, answer)
        self.size_bytes += size


def key_of(call: Call) -> tuple[bytes, str, str | None]:
    """The request without its correlation id, the listener, and the rack that the client is in by it."""
    return (call.frame[:4] + call.frame[8:], call.session.listener, call.session.listener_rack)
