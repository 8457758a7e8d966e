"""``GET /events``: changes of the cluster, as server-sent events, for the dashboard and other followers.

Each listener looks five times a second, and gets the newest data of each kind that has changed; data are encoded once
for all listeners. A listener that reads slowly misses what was replaced meanwhile. What takes long to encode is encoded
less often.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response, StreamingResponse

from mockbroker.adapters.control.cluster_json import cluster_of
from mockbroker.adapters.control.group_operations import groups_of
from mockbroker.adapters.control.operations import ControlCall, operation
from mockbroker.adapters.control.problems import ControlProblem

if TYPE_CHECKING:
    from mockbroker.adapters.served_cluster import ServedCluster

LOOK_S, TRAFFIC_S = 0.2, 1.0
BUSY_SHARE = 60  # data that took N s to make are next made 60 N s later at the earliest
MAX_LISTENERS = 64
MAX_REQUESTS = 200  # of one event
STILL_HERE_S = 15.0
RETRY_MS = 1000
MEDIA_TYPE = "text/event-stream"


class EventKind:
    """One kind of event: how its data are made, how often at most, and the newest, encoded."""

    def __init__(self, name: str, make: Callable[[], Any], every_s: float) -> None:
        self.name, self.make, self.every_s = name, make, every_s
        self._last = b""
        self._next_s = 0.0

    def newest(self) -> bytes:
        """The data, made again if it is time; the same object if they are equal."""
        now_s = time.monotonic()
        if now_s >= self._next_s:
            made = msgspec.json.encode(self.make())
            self._next_s = now_s + max(self.every_s - LOOK_S / 2, BUSY_SHARE * (time.monotonic() - now_s))
            if made != self._last:
                self._last = made
        return self._last


class EventHub:
    """The streams of events of one server; ``listeners`` is their number."""

    def __init__(self, cluster: ServedCluster) -> None:
        self.cluster, self.listeners = cluster, 0
        self._closing = asyncio.Event()
        self._number = 0
        self._kinds = [
            EventKind("cluster", lambda: cluster_of(cluster.state), LOOK_S),
            EventKind("faults", lambda: {"faults": cluster.faults.to_json()}, LOOK_S),
            EventKind("traffic", lambda: cluster.traffic.snapshot(now_ms=cluster.now_ms()), TRAFFIC_S),
        ]
        if not cluster.state.is_mirror:  # only a real cluster knows its groups
            self._kinds.insert(1, EventKind("groups", lambda: {"groups": groups_of(cluster.state)}, LOOK_S))

    def close(self) -> None:
        """End every stream."""
        self._closing.set()

    async def stream(self) -> AsyncIterator[bytes]:
        """The events of one listener, as the bytes of an event stream."""
        self.listeners += 1
        sent: dict[str, bytes] = {}
        calls, next_calls_s, quiet_s = -1, 0.0, time.monotonic()
        try:
            yield b"retry: %d\n\n" % RETRY_MS
            while not self._closing.is_set():
                found = {}
                for kind in self._kinds:
                    data = kind.newest()
                    if sent.get(kind.name) is not data:
                        found[kind.name] = sent[kind.name] = data
                began_s, mark = time.monotonic(), self.cluster.journal.mark()
                if calls != mark and began_s >= next_calls_s:
                    found["requests"] = self.requests(calls if calls >= 0 else max(0, mark - MAX_REQUESTS), mark)
                    calls, next_calls_s = mark, began_s + BUSY_SHARE * (time.monotonic() - began_s)
                for name, data in found.items():
                    self._number += 1
                    yield b"id: %d\nevent: %s\ndata: %s\n\n" % (self._number, name.encode(), data)
                if found:
                    quiet_s = time.monotonic()
                elif time.monotonic() > quiet_s + STILL_HERE_S:
                    quiet_s = time.monotonic()
                    yield b": still here\n\n"
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), LOOK_S)
        finally:
            self.listeners -= 1

    def requests(self, after: int, mark: int) -> bytes:
        """The last calls after one mark and up to another, and how many more there were."""
        found = self.cluster.journal.since(max(after, mark - MAX_REQUESTS))
        entries = msgspec.json.encode([entry.to_json() for entry in found])
        skipped = max(0, mark - after - len(found))
        return b'{"requests":%s,"skipped":%d,"next":%d}' % (entries, skipped, mark)


@operation("GET", "/events", "Changes, as they happen", media_type=MEDIA_TYPE, statuses=(503,))
async def events(call: ControlCall) -> Any:
    """Server-sent events, each with `event` and `id`; first the current state, then every change.

    `cluster`, `groups`, `faults` and `traffic` have the answer of GET of the same name, whole again with each change;
    `requests` has the calls since the last event of this kind, at most 200, and in `skipped` how many more there were.
    """
    hub = call.server.events
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    if call.request.method == "HEAD":
        return Response(media_type=MEDIA_TYPE, headers=headers)
    if hub.listeners >= MAX_LISTENERS:
        raise ControlProblem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            f"expected at most {MAX_LISTENERS} listeners, got one more",
            headers={"retry-after": "1"},
        )
    return StreamingResponse(hub.stream(), media_type=MEDIA_TYPE, headers=headers)
