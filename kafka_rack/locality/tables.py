"""Decoded tables as the rules of locality read them, and the rows of this process in that shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from kafka_rack.wire_tables.rows import Rows

TABLES = ("frames", "calls", "fetches", "produces", "partitions", "memberships", "brokers", "problems")
"""The tables that locality reads."""
WITH_RECORDS = frozenset({"Produce", "Fetch", "ShareFetch"})
"""APIs whose calls have rows in ``fetches`` or ``produces``, if they can be read."""
BYTES = ("request_bytes", "response_bytes", "record_bytes", "records")
SUMS = ("calls", "request_bytes", "response_bytes", "record_bytes", "records", "redirects")
"""What is added up."""
Amounts = tuple[int, ...]
"""The sums, as in ``SUMS``."""
Cuts = Callable[[], Sequence[int]]
"""Gives numbers of frames, in order: rows before one of them are not added to rows from it on."""


class FrameSpan(NamedTuple):
    """Which frames some tables have: how many, their first and last moment (microseconds since 1970), and numbers."""

    capture: str
    frames: int
    first: int
    last: int
    lowest: int
    highest: int

    @property
    def is_gapless(self) -> bool:
        return self.highest - self.lowest + 1 == self.frames


class SummedRows(NamedTuple):
    """Rows added up that have the same in some columns, ``known``, and the same window; ``frame`` is the first one's.

    Of a request that rows of other frames may still cover, ``frame`` is its own, and it is alone.
    """

    frame: int | None
    window: int
    amounts: Amounts
    known: Sequence[Any]


class DecodedTables(Protocol):
    """Some frames' rows of decoded tables; docs/tables.md has the columns.

    ``api`` is a column of each. Times are microseconds since 1970.
    """

    def frame_span(self) -> FrameSpan | None:
        """Which frames these are; None without any."""

    def rows(self, table: str, columns: Sequence[str]) -> Iterable[tuple[Any, ...]]:
        """Some columns of every row. Of ``partitions`` a row may be left out that only says again what was told."""

    def distinct(self, table: str, columns: Sequence[str]) -> Iterable[tuple[Any, ...]]:
        """The different values of some columns together."""

    def covered_elsewhere(self) -> Iterable[int]:
        """Requests that have rows in ``fetches`` or ``produces`` here, but are not among these frames."""

    def summed(self, table: str, columns: Sequence[str], step_us: int, cuts: Cuts) -> Iterable[SummedRows]:
        """Rows of ``fetches`` or ``produces``; those that are alike may be added up."""

    def frames_left(self, columns: Sequence[str], step_us: int) -> Iterable[SummedRows]:
        """Frames that no row of ``fetches`` and ``produces`` covers. Those that one may still cover have a number."""


class TablesInMemory:
    """The rows that decoding has just made."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows.rows
        self._covered: set[int] | None = None

    def frame_span(self) -> FrameSpan | None:
        frames = list(self.rows("frames", ("frame", "ts")))
        if not frames:
            return None
        capture = next(iter(self.rows("frames", ("capture",))))[0]
        numbers = [number for number, _ in frames]
        times = [ts for _, ts in frames]
        return FrameSpan(capture, len(frames), min(times), max(times), min(numbers), max(numbers))

    def distinct(self, table: str, columns: Sequence[str]) -> set[tuple[Any, ...]]:
        return set(self.rows(table, columns))

    def covered(self) -> set[int]:
        if self._covered is None:
            tables = ("fetches", "produces")
            self._covered = {frame for table in tables for (frame,) in self.rows(table, ("frame",))}
        return self._covered

    def covered_elsewhere(self) -> set[int]:
        return self.covered().difference(frame for (frame,) in self.rows("frames", ("frame",)))

    def summed(self, table: str, columns: Sequence[str], step_us: int, cuts: Cuts) -> Iterator[SummedRows]:
        redirected = columns.index("redirected")
        rows = self.rows(table, ("frame", "ts", "first", *BYTES, *columns))
        for frame, ts, is_first, asked, answered, sent, records, *known in rows:
            amounts = (int(is_first), asked, answered, sent or 0, records or 0, int(bool(known[redirected])))
            yield SummedRows(frame, ts // step_us * step_us, amounts, known)

    def frames_left(self, columns: Sequence[str], step_us: int) -> Iterator[SummedRows]:
        covered = self.covered()
        calls = self.rows("calls", ("frame", "response_frame"))
        answers = {answer for frame, answer in calls if frame in covered}
        rows = self.rows("frames", ("frame", "ts", "direction", "frame_bytes", "api", *columns))
        for frame, ts, direction, size, api, *known in rows:
            has_records = api in WITH_RECORDS
            window = ts // step_us * step_us
            if direction == "request":
                if not (has_records and frame in covered):
                    yield SummedRows(frame if has_records else None, window, (1, size, 0, 0, 0, 0), known)
            elif not (has_records and frame in answers):
                yield SummedRows(None, window, (0, 0, size, 0, 0, 0), known)
