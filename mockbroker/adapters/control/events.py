"""``GET /events``: what changes, as server-sent events, for the dashboard and whoever wants to follow.

While anybody listens, one task looks at the cluster five times a second, encodes what has changed once for all, and
hands each listener the newest of each kind. A listener that reads slowly finds the newest when it comes back: what came
in between is gone, and never kept. What takes long to encode is encoded less often.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.responses import Response, StreamingResponse

from mockbroker.adapters.control.cluster_json import cluster_of
from mockbroker.adapters.control.group_operations import groups_of
from mockbroker.adapters.control.operations import ControlCall, operation
from mockbroker.adapters.control.problems import ControlProblem
from mockbroker.core.journal.filters import JournalFilters

if TYPE_CHECKING:
    from mockbroker.adapters.served_cluster import ServedCluster

LOOK_S, TRAFFIC_S = 0.2, 1.0
SURELY_S = 2.0  # what changes by time alone, as groups whose members have gone, is seen within this time
BUSY_SHARE = 60  # what took N s to make is next made 60 N s later at the earliest
MAX_LISTENERS = 64
MAX_REQUESTS = 200  # of one event
STILL_HERE_S = 15.0
RETRY_MS = 1000
MEDIA_TYPE = "text/event-stream"
EVERYTHING = JournalFilters.of({})


class EventBatch(NamedTuple):
    """Calls to be sent: ``skipped`` came before them and are not, ``mark`` is the sequence of the last."""

    entries: bytes
    calls: int
    skipped: int
    mark: int

    def encode(self) -> bytes:
        return b'{"requests":%s,"skipped":%d,"next":%d}' % (self.entries, self.skipped, self.mark)


class EventKind:
    """One kind of event: how it is made, how often at most, and what was made last."""

    def __init__(self, name: str, make: Callable[[], bytes], every_s: float) -> None:
        self.name, self.make, self.every_s = name, make, every_s
        self.last = b""
        self._mark: object = None
        self._next_s = self._surely_s = 0.0

    def renew(self, now_s: float, mark: object) -> bool:
        """Make it anew if its time has come and anything may have changed. Gives whether it differs from the last."""
        if now_s < self._next_s or (mark == self._mark and now_s < self._surely_s):
            return False
        began = time.perf_counter()
        made = self.make()
        self._mark, self._surely_s = mark, now_s + SURELY_S
        self._next_s = now_s + max(self.every_s - LOOK_S / 2, BUSY_SHARE * (time.perf_counter() - began))
        if made == self.last:
            return False
        self.last = made
        return True


class EventListener:
    """One open stream: what it has yet to be sent, the newest of each kind, and no more than one of them."""

    def __init__(self) -> None:
        self.waiting: dict[str, bytes | EventBatch] = {}
        self.ready = asyncio.Event()

    def offer(self, kind: str, data: bytes | EventBatch) -> None:
        """Have it sent in place of what waits of this kind; calls that make room are counted as skipped."""
        waiting = self.waiting.get(kind)
        if isinstance(waiting, EventBatch) and isinstance(data, EventBatch):
            data = data._replace(skipped=data.skipped + waiting.skipped + waiting.calls)
        self.waiting[kind] = data
        self.ready.set()


class EventHub:
    """Those who listen, and the task that looks for them."""

    def __init__(self, cluster: ServedCluster) -> None:
        self.cluster = cluster
        self.listeners: dict[EventListener, None] = {}
        self.closing = False
        self._number = self._mark = 0
        self._next_requests_s = 0.0
        self._task: asyncio.Task[None] | None = None
        self._kinds = [
            EventKind("cluster", self._cluster, LOOK_S),
            EventKind("faults", self._faults, LOOK_S),
            EventKind("traffic", self._traffic, TRAFFIC_S),
        ]
        if not cluster.state.is_mirror:  # only a real cluster knows its groups
            self._kinds.insert(1, EventKind("groups", self._groups, LOOK_S))

    async def close(self) -> None:
        """End every stream."""
        self.closing = True
        for listener in self.listeners:
            listener.ready.set()
        self._stop()

    async def stream(self) -> AsyncIterator[bytes]:
        """The events of one listener, as the bytes of an event stream."""
        listener = EventListener()
        self.listeners[listener] = None
        try:
            yield b"retry: %d\n\n" % RETRY_MS
            for kind in self._kinds:
                listener.waiting.setdefault(kind.name, kind.make())
            mark = self.cluster.journal.mark()
            listener.waiting.setdefault("requests", self._batch(max(0, mark - MAX_REQUESTS), mark))
            if self._task is None:
                self._mark = mark
                self._task = asyncio.create_task(self._look())
            while not self.closing:
                while listener.waiting:
                    name = next(iter(listener.waiting))
                    data = listener.waiting.pop(name)
                    yield self._event(name, data.encode() if isinstance(data, EventBatch) else data)
                listener.ready.clear()
                try:
                    await asyncio.wait_for(listener.ready.wait(), STILL_HERE_S)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            del self.listeners[listener]
            if not self.listeners:
                self._stop()

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _look(self) -> None:
        """See what has changed, for as long as anybody listens."""
        while True:
            now_s = time.monotonic()
            state, mark = self.cluster.state, self.cluster.journal.mark()
            for kind in self._kinds:
                if kind.renew(now_s, (id(state), state.version, mark)):
                    for listener in self.listeners:
                        listener.offer(kind.name, kind.last)
            self._look_at_requests(now_s)
            await asyncio.sleep(LOOK_S)

    def _look_at_requests(self, now_s: float) -> None:
        mark = self.cluster.journal.mark()
        if mark == self._mark or now_s < self._next_requests_s:
            return
        began = time.perf_counter()
        batch = self._batch(self._mark, mark)
        self._next_requests_s = now_s + BUSY_SHARE * (time.perf_counter() - began)
        self._mark = mark
        for listener in self.listeners:
            listener.offer("requests", batch)

    def _batch(self, after: int, mark: int) -> EventBatch:
        """The last calls behind one mark and up to another."""
        first = max(after + 1, mark + 1 - MAX_REQUESTS)
        found = self.cluster.journal.scan(EVERYTHING, first, mark + 1 - first)
        entries = msgspec.json.encode([entry.to_json() for entry in found])
        return EventBatch(entries, len(found), max(0, mark - after - len(found)), mark)

    def _event(self, name: str, data: bytes) -> bytes:
        self._number += 1
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (self._number, name.encode(), data)

    def _cluster(self) -> bytes:
        return msgspec.json.encode(cluster_of(self.cluster.state))

    def _groups(self) -> bytes:
        return msgspec.json.encode({"groups": groups_of(self.cluster.state)})

    def _faults(self) -> bytes:
        return msgspec.json.encode({"faults": self.cluster.faults.to_json()})

    def _traffic(self) -> bytes:
        return msgspec.json.encode(self.cluster.traffic.snapshot(now_ms=self.cluster.now_ms()))


@operation("GET", "/events", "What changes, as it changes", tag="cluster", media_type=MEDIA_TYPE, statuses=(503,))
async def events(call: ControlCall) -> Any:
    """Server-sent events, each with `event` and `id`; first all there is, then whatever changes.

    `cluster`, `groups`, `faults` and `traffic` are what GET of the same name gives, whole again with each change;
    `requests` has the calls since the last event of this kind, at most 200, and in `skipped` how many more there were.
    """
    hub = call.server.events
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    if call.request.method == "HEAD":
        return Response(media_type=MEDIA_TYPE, headers=headers)
    if len(hub.listeners) >= MAX_LISTENERS:
        raise ControlProblem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            f"expected at most {MAX_LISTENERS} listeners, got one more",
            headers={"retry-after": "1"},
        )
    return StreamingResponse(hub.stream(), media_type=MEDIA_TYPE, headers=headers)
