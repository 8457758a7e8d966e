"""The bytes of frames as flows: what has the same client, broker, API, topic, partition and window, added up.

Every byte is counted once: by rows of ``fetches``, by rows of ``produces``, or by its frame where neither covers it.
Flows of a capture's parts add up to those of the whole in whatever way it was cut, in one pass over its frames.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_rack.locality.amounts import US, window_for
from kafka_rack.locality.evidence import Evidence, TopicPartition
from kafka_rack.locality.tables import Amounts, DecodedTables

FETCH, PRODUCE, FRAME = "fetch", "produce", "frame"
CLIENT = ("api", "api_version", "conn", "client_id", "client_addr", "broker", "broker_rack")
TOPIC = ("topic", "topic_id", "partition", "redirected", "client_rack", "client_rack_from")
OF_FETCHES = (*CLIENT, *TOPIC, "who", "replica_id", "replica_rack", "group_id")
OF_PRODUCES = (*CLIENT, *TOPIC, "keyed")
OF_FRAMES = (*CLIENT, "listener")
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
"""A flow, the begin of its window, and a frame since which the replicas in sync of its partition were the same."""


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
    _told_at: dict[TopicPartition, list[int]] = field(default_factory=dict)
    _cuts: list[int] | None = None

    def __post_init__(self) -> None:
        self.step_us = self.window_us or self.step_us

    def add(self, tables: DecodedTables) -> None:
        """Take the next frames, in the order of the capture, with what they show."""
        self.evidence.add(tables)
        for key in tables.distinct("partitions", ("topic", "partition")):
            self._told_at.pop(key, None)
            self._cuts = None
        self.count(tables)
        self._widen()

    def add_parts(self, parts: Sequence[Callable[[], DecodedTables]]) -> None:
        """Take the next frames in several parts; each is asked for twice, first for what it shows."""
        for part in parts:
            self.evidence.add(part())
        self._told_at, self._cuts = {}, None
        for part in parts:
            self.count(part())
        self._widen()
        self._told_at, self._cuts = {}, None

    def count(self, tables: DecodedTables) -> None:
        """Sum up frames whose evidence is there already: that of the whole capture, or of all up to them."""
        span, step = tables.frame_span(), self.step_us
        if span is not None and self._first_frame is None:
            self._first_frame = span.lowest
        for frame, window, amounts, known in tables.frames_left(OF_FRAMES, step):
            *client, listener = known
            key = (Flow(FRAME, *client)._replace(listener=listener), window, 0)
            if frame is None:
                self._add_up(key, amounts)
            else:
                self.waiting[frame] = key, amounts
        for frame in tables.covered_elsewhere():
            self.waiting.pop(frame, None)
        for frame, window, amounts, known in tables.summed("fetches", OF_FETCHES, step, self._told_frames):
            flow = Flow(FETCH, *known)
            self._add_up((flow, window, self._since(flow.topic, flow.partition, frame)), amounts)
        for _, window, amounts, known in tables.summed("produces", OF_PRODUCES, step, self._told_frames):
            *client, keyed = known
            self._add_up((Flow(PRODUCE, *client)._replace(keyed=keyed), window, 0), amounts)

    def _add_up(self, key: FlowKey, amounts: Amounts) -> None:
        before = self.amounts.get(key)
        self.amounts[key] = amounts if before is None else tuple(map(int.__add__, before, amounts))

    def _told_frames(self) -> Sequence[int]:
        """The frames that tell something new of any partition's replicas."""
        if self._cuts is None:
            told = self.evidence.in_sync.values()
            self._cuts = sorted({change.frame for changes in told for change in changes})
        return self._cuts

    def _since(self, topic: str | None, partition: int | None, frame: int | None) -> int:
        """A frame since which nothing new was told of a partition; of requests from before this part their own."""
        if topic is None or partition is None or frame is None:
            return 0
        told_at = self._told_at.get((topic, partition))
        if told_at is None:
            changes = self.evidence.in_sync.get((topic, partition), ())
            told_at = self._told_at[topic, partition] = [change.frame for change in changes]
        before = bisect_right(told_at, frame)
        if before:
            return told_at[before - 1]
        return frame if self._first_frame is None else min(frame, self._first_frame)

    def _widen(self) -> None:
        """Sum up by longer windows as soon as the capture is so long that they are sure to be asked for."""
        if not self.window_us:
            self._widen_to(step_for(self.evidence.last - self.evidence.first))

    def _widen_to(self, step: int) -> None:
        if step > self.step_us:
            self.step_us = step
            amounts, self.amounts = self.amounts, {}
            for (flow, window, since), sums in amounts.items():
                self._add_up((flow, window // step * step, since), sums)
            self.waiting = {
                frame: ((flow, window // step * step, since), sums)
                for frame, ((flow, window, since), sums) in self.waiting.items()
            }

    def merge(self, other: Flows) -> Flows:
        """Take the flows of another part of the same capture; gives this."""
        self.evidence.merge(other.evidence)
        self._told_at, self._cuts = {}, None
        self._widen_to(max(self.step_us, other.step_us))
        step = self.step_us
        for (flow, window, since), sums in other.amounts.items():
            self._add_up((flow, window // step * step, since), sums)
        for frame, ((flow, window, since), sums) in other.waiting.items():
            self.waiting[frame] = (flow, window // step * step, since), sums
        for frame in self.evidence.covered & self.waiting.keys():
            del self.waiting[frame]
        return self

    def each(self, covered: AbstractSet[int], window_us: int) -> Iterator[tuple[FlowKey, Amounts]]:
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
