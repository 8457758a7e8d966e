"""The bytes of frames as flows: sums by client, broker, API, topic, partition and window.

Every byte is counted once: by rows of ``fetches``, by rows of ``produces``, or by its frame if neither covers it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_rack.locality.amounts import US, window_for
from kafka_rack.locality.evidence import Evidence
from kafka_rack.locality.tables import WITH_RECORDS, Amounts, add_amounts
from kafka_rack.wire_tables.rows import Rows

FETCH, PRODUCE, FRAME = "fetch", "produce", "frame"
CLIENT = ("api", "api_version", "conn", "client_id", "client_addr", "broker", "broker_rack")
TOPIC = ("topic", "topic_id", "partition", "redirected", "client_rack", "client_rack_from")
OF_FETCHES = (*CLIENT, *TOPIC, "who", "replica_id", "replica_rack", "group_id", "isr")
OF_PRODUCES = (*CLIENT, *TOPIC, "keyed")
STEPS_US = tuple(US * seconds for seconds in (86_400, 21_600, 3_600, 600, 60, 10, 1))
"""Windows for sums until the final window is known: each divides the earlier ones, and all windows that ``window_for``
returns for spans of that length."""


class Flow(NamedTuple):
    """The common properties of some bytes, from their rows. ``kind`` is fetch, produce, or frame for neither.

    ``in_sync``: the in-sync replicas of the partition, None if none were reported.
    """

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
    in_sync: tuple[int, ...] | None = None
    keyed: bool | None = None
    listener: str | None = None


FlowKey = tuple[Flow, int]
"""A flow and the start of its window."""


@dataclass(slots=True)
class Flows:
    """The flows of a capture, or of some of its connections, in one pass over their frames, and their evidence.

    Args:
        window_us: the window's length; None to derive it from the captures' span.

    ``amounts`` has the sums by flow; ``waiting`` those of requests that no row covers yet, by frame. ``step_us`` is the
    length of the windows in both.
    """

    window_us: int | None = None
    evidence: Evidence = field(default_factory=Evidence)
    amounts: dict[FlowKey, Amounts] = field(default_factory=dict)
    waiting: dict[int, tuple[FlowKey, Amounts]] = field(default_factory=dict)
    step_us: int = US

    def __post_init__(self) -> None:
        self.step_us = self.window_us or self.step_us

    def add(self, rows: Rows) -> None:
        """Add the next frames, in the order of the capture, and their evidence."""
        self.evidence.add(rows)
        covered = {frame for table in ("fetches", "produces") for (frame,) in rows.rows(table, ("frame",))}
        self.add_frames(rows, covered)
        for frame in covered & self.waiting.keys():
            del self.waiting[frame]
        for ts, amounts, known in rows_with_records(rows, "fetches", OF_FETCHES):
            self._add_up((Flow(FETCH, *known), self._window(ts)), amounts)
        for ts, amounts, known in rows_with_records(rows, "produces", OF_PRODUCES):
            *client, keyed = known
            self._add_up((Flow(PRODUCE, *client)._replace(keyed=keyed), self._window(ts)), amounts)
        self._widen()

    def merge(self, other: Flows) -> None:
        """Add the flows of other connections of the same capture."""
        self.evidence.merge(other.evidence)
        for (flow, window), amounts in other.amounts.items():
            self._add_up((flow, self._window(window)), amounts)
        self.waiting |= other.waiting
        self._widen_to(other.step_us)
        self._widen()

    def add_frames(self, rows: Rows, covered: AbstractSet[int]) -> None:
        """Add frames that no row of ``fetches`` and ``produces`` covers."""
        answers = {answer for frame, answer in rows.rows("calls", ("frame", "response_frame")) if frame in covered}
        columns = ("frame", "ts", "direction", "frame_bytes", "api", "listener", *CLIENT)
        for frame, ts, direction, size, api, listener, *client in rows.rows("frames", columns):
            has_records = api in WITH_RECORDS
            key = (Flow(FRAME, *client)._replace(listener=listener), self._window(ts))
            if direction != "request":
                if not (has_records and frame in answers):
                    self._add_up(key, (0, 0, size, 0, 0, 0))
            elif not has_records:
                self._add_up(key, (1, size, 0, 0, 0, 0))
            elif frame not in covered:
                self.waiting[frame] = key, (1, size, 0, 0, 0, 0)

    def _add_up(self, key: FlowKey, amounts: Amounts) -> None:
        self.amounts[key] = add_amounts(self.amounts.get(key), amounts)

    def _window(self, ts: int) -> int:
        return ts // self.step_us * self.step_us

    def _widen(self) -> None:
        """Switch to longer windows once the capture is so long that they are certainly needed."""
        if not self.window_us:
            self._widen_to(step_for(self.evidence.last - self.evidence.first))

    def _widen_to(self, step: int) -> None:
        if step > self.step_us:
            self.step_us = step
            amounts, self.amounts = self.amounts, {}
            for (flow, window), sums in amounts.items():
                self._add_up((flow, self._window(window)), sums)

    def each(self) -> Iterator[tuple[FlowKey, Amounts]]:
        """All flows, including requests without a row."""
        for (flow, window), sums in (*self.amounts.items(), *self.waiting.values()):
            yield (flow, self._window(window)), sums


def rows_with_records(rows: Rows, table: str, columns: Sequence[str]) -> Iterator[tuple[int, Amounts, Sequence[Any]]]:
    """The time, sums and some columns of each row of ``fetches`` or ``produces``."""
    redirected = columns.index("redirected")
    sums = ("first", "request_bytes", "response_bytes", "record_bytes", "records")
    for ts, first, asked, answered, sent, records, *known in rows.rows(table, ("ts", *sums, *columns)):
        yield ts, (int(first), asked, answered, sent or 0, records or 0, int(bool(known[redirected]))), known


def step_for(span_us: int) -> int:
    """A window that divides the final window of captures of this length or longer.

    >>> step_for(30_000_000) // US, step_for(600_000_000) // US, step_for(3_600_000_000) // US
    (1, 10, 60)
    """
    window = window_for(span_us)
    return next((step for step in STEPS_US if step <= window), US)
