"""The bytes of frames as flows: what has the same client, broker, API, topic, partition and window, added up.

Every byte is counted once: by rows of ``fetches``, by rows of ``produces``, or by its frame where neither covers it.
Flows of a capture's parts add up to those of the whole in whatever way it was cut, in one pass over its frames.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_rack.locality.amounts import US, window_for
from kafka_rack.locality.evidence import Evidence, TableRows, TopicPartition

FETCH, PRODUCE, FRAME = "fetch", "produce", "frame"
WITH_RECORDS = frozenset({"Produce", "Fetch", "ShareFetch"})
"""APIs whose calls have rows in ``fetches`` or ``produces``, if they can be read."""
CLIENT = ("conn", "client_id", "client_addr", "broker", "broker_rack")
TOPIC = ("topic", "topic_id", "partition", "redirected", "client_rack", "client_rack_from")
BYTES = ("request_bytes", "response_bytes", "record_bytes", "records")
SUMS = ("calls", "request_bytes", "response_bytes", "record_bytes", "records", "redirects")
"""What is added up."""
STEPS_US = tuple(US * seconds for seconds in (86_400, 21_600, 3_600, 600, 60, 10, 1))
"""Windows that flows are summed in until it is known how long the window is to be: each divides those before it, and
all windows that ``window_for`` gives for spans so long."""


class Flow(NamedTuple):
    """What bytes have in common, as their rows say it. ``kind`` is fetch, produce, or frame: neither."""

    kind: str
    api: str
    api_version: int | None
    conn: int
    client_id: str | None
    client_addr: str | None
    broker: int | None
    broker_rack: str | None
    topic: str | None = None
    topic_id: str | None = None
    partition: int | None = None
    redirected: bool = False
    client_rack: str | None = None
    client_rack_from: str | None = None
    who: str | None = None
    replica_id: int | None = None
    replica_rack: str | None = None
    group_id: str | None = None
    keyed: bool | None = None
    listener: str | None = None


FlowKey = tuple[Flow, int, int]
"""A flow, the begin of its window, and a moment since which the replicas in sync of its partition were the same."""
Amounts = tuple[int, ...]
"""The sums, as in ``SUMS``."""


@dataclass(slots=True)
class Flows:
    """The flows of a part of a capture, and its evidence.

    Args:
        window_us: the window's length; None where it follows from how long the captures last.

    ``amounts`` has the sums by flow; ``waiting`` has those of requests that no row covers yet, by frame. ``step_us`` is
    the length of the windows in both.
    """

    window_us: int | None = None
    evidence: Evidence = field(default_factory=Evidence)
    amounts: dict[FlowKey, Amounts] = field(default_factory=dict)
    waiting: dict[int, tuple[FlowKey, Amounts]] = field(default_factory=dict)
    step_us: int = US
    _first_frame: int | None = None
    _first_ts: int = 0
    _changes: dict[TopicPartition, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.step_us = self.window_us or self.step_us

    def add(self, tables: TableRows) -> None:
        """Take the rows of the next frames. They come in the order of the capture, each frame with all of its rows."""
        covered = self._add_frames(tables)
        self.evidence.add(tables)
        self._note_changes(tables)
        self._add_fetches(tables)
        self._add_produces(tables)
        for frame in covered:
            if self.waiting.pop(frame, None) is None and self._first_frame is not None and frame < self._first_frame:
                self.evidence.covered.add(frame)
        self._widen()

    def _add_frames(self, tables: TableRows) -> set[int]:
        """Sum up the frames that no row covers; gives those that rows of these tables cover."""
        evidence, step = self.evidence, self.step_us
        covered = {frame for table in ("fetches", "produces") for (frame,) in tables.rows(table, ("frame",))}
        answers = {
            answer
            for api, frame, answer in tables.rows("calls", ("api", "frame", "response_frame"))
            if frame in covered
        }
        columns = ("capture", "frame", "ts", "direction", "frame_bytes", "api", "api_version", *CLIENT, "listener")
        first: int | None = None
        lowest: int | None = None
        seen = set()
        for capture, frame, ts, direction, size, api, version, *client, listener in tables.rows("frames", columns):
            if first is None:
                first = ts
                evidence.capture = capture
            first = min(first, ts)
            evidence.frames += 1
            evidence.last = max(evidence.last, ts)
            conn, client_id, client_addr, broker, broker_rack = client
            seen.add((api, conn, client_id, broker, broker_rack))
            lowest = frame if lowest is None else min(lowest, frame)
            flow = Flow(FRAME, api, version, conn, client_id, client_addr, broker, broker_rack, listener=listener)
            key = (flow, ts // step * step, 0)
            if direction == "request":
                amounts = (1, size, 0, 0, 0, 0)
                if api in WITH_RECORDS:
                    self.waiting[frame] = key, amounts
                else:
                    self._count(key, amounts)
            elif frame not in answers or api not in WITH_RECORDS:
                self._count(key, (0, 0, size, 0, 0, 0))
        if first is not None:
            evidence.first = min(evidence.first, first)
            self._first_ts = self._first_ts or evidence.first
            self._first_frame = lowest if self._first_frame is None else self._first_frame
        for known in seen:
            evidence.add_connection(*known)
        return covered

    def _count(self, key: FlowKey, amounts: Amounts) -> None:
        before = self.amounts.get(key)
        self.amounts[key] = amounts if before is None else tuple(map(int.__add__, before, amounts))

    def _note_changes(self, tables: TableRows) -> None:
        """When something was told of a partition's replicas: what came before is not summed with what comes after."""
        for topic, partition in set(tables.rows("partitions", ("topic", "partition"))):
            known = self.evidence.in_sync.get((topic, partition))
            if known is None:
                continue
            moments = self._changes.setdefault((topic, partition), [])
            for change in known[len(moments) :]:
                insort(moments, change.ts)

    def _since(self, topic: str | None, partition: int | None, ts: int) -> int:
        """A moment since which nothing new was told of a partition; of requests from before this part their own."""
        if topic is None or partition is None:
            return 0
        moments = self._changes.get((topic, partition), [])
        before = bisect_right(moments, ts)
        if before:
            return moments[before - 1]
        return min(ts, self._first_ts)

    def _add_fetches(self, tables: TableRows) -> None:
        columns = ("ts", "first", *BYTES, "api", "api_version", *CLIENT, *TOPIC)
        step = self.step_us
        for ts, is_first, asked, answered, sent, records, *known in tables.rows(
            "fetches", (*columns, "who", "replica_id", "replica_rack", "group_id")
        ):
            flow = Flow(FETCH, *known)
            since = self._since(flow.topic, flow.partition, ts)
            amounts = (int(is_first), asked, answered, sent or 0, records or 0, int(bool(flow.redirected)))
            self._count((flow, ts // step * step, since), amounts)

    def _add_produces(self, tables: TableRows) -> None:
        columns = ("ts", "first", *BYTES, "keyed", "api", "api_version", *CLIENT, *TOPIC)
        step = self.step_us
        for ts, is_first, asked, answered, sent, records, keyed, *known in tables.rows("produces", columns):
            flow = Flow(PRODUCE, *known)._replace(keyed=keyed)
            amounts = (int(is_first), asked, answered, sent or 0, records or 0, int(bool(flow.redirected)))
            self._count((flow, ts // step * step, 0), amounts)

    def _widen(self) -> None:
        """Sum up by longer windows as soon as the capture is so long that they are sure to be asked for."""
        step = self.step_us if self.window_us else step_for(self.evidence.last - self.evidence.first)
        if step > self.step_us:
            self.step_us = step
            amounts, self.amounts = self.amounts, {}
            for (flow, window, since), sums in amounts.items():
                self._count((flow, window // step * step, since), sums)
            self.waiting = {
                frame: ((flow, window // step * step, since), sums)
                for frame, ((flow, window, since), sums) in self.waiting.items()
            }

    def merge(self, other: Flows) -> Flows:
        """Take the flows of another part of the same capture; gives this."""
        self.evidence.merge(other.evidence)
        self.step_us = max(self.step_us, other.step_us)
        step = self.step_us
        for (flow, window, since), sums in other.amounts.items():
            self._count((flow, window // step * step, since), sums)
        self.waiting.update(other.waiting)
        return self

    def each(self, covered: frozenset[int] | set[int], window_us: int) -> Iterator[tuple[FlowKey, Amounts]]:
        """All flows by windows of the length that it has come to, without requests that ``covered`` has."""
        waiting = [found for frame, found in self.waiting.items() if frame not in covered]
        for (flow, window, since), sums in (*self.amounts.items(), *waiting):
            yield (flow, window // window_us * window_us, since), sums


def step_for(span_us: int) -> int:
    """A window that divides the one that captures of this length or longer will have.

    >>> step_for(30_000_000) // US, step_for(600_000_000) // US, step_for(3_600_000_000) // US
    (1, 10, 60)
    """
    window = window_for(span_us)
    return next((step for step in STEPS_US if step <= window), US)
