"""Where the readers of one partition are, and which offsets their polls passed over."""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple

from kafka_rack.consistency.findings import Findings, shown_name, shown_time
from kafka_rack.consistency.history import Poll, Read, TopicPartition
from kafka_rack.consistency.permission import HistorySettings, of_nonmonotonic_poll


class Gap(NamedTuple):
    """Offsets from ``start`` to before ``end`` that a reader's poll should have given, had there been records."""

    start: int
    end: int
    client: str
    is_internal: bool
    isolation_level: str
    ended_at: float


class Positions:
    """The next offset of each reader, and the gaps in what they were given: of each at most ``max_gaps``, the last."""

    def __init__(self, place: TopicPartition, settings: HistorySettings, max_gaps: int | None) -> None:
        self.place, self._settings, self._max_gaps = place, settings, max_gaps
        self._next: dict[str, int] = {}
        self.gaps: dict[tuple[int, int, str], Gap] = {}

    def reset(self, client: str, offset: int | None = None) -> None:
        """The reader goes on elsewhere, or nobody knows where."""
        self._next.pop(client, None)
        if offset is not None:
            self._next[client] = offset

    def polled(
        self, poll: Poll, reads: list[Read], span: tuple[int, int] | None, isolation_level: str, findings: Findings
    ) -> None:
        """A poll gave these records of the partition."""
        client = poll.client
        position = self._next.pop(client, None) if span is None else span[0]
        is_internal = span is not None
        last: Read | None = None
        for read in reads:
            if last is not None and read.offset < end_of(last):
                self._went_back(poll, last.offset, read.offset, is_internal=True, findings=findings)
            elif last is None and position is not None and end_of(read) <= position:
                self._went_back(poll, position - 1, read.offset, is_internal=is_internal, findings=findings)
                position = None
            last = read
        for read in sorted(reads, key=attrgetter("offset")):
            if position is not None and read.offset > position:
                self._add_gap(Gap(position, read.offset, client, is_internal, isolation_level, poll.ended_at))
            position, is_internal = max(position or 0, end_of(read)), True
        if position is None:
            return
        if span is not None and span[1] > position:
            self._add_gap(Gap(position, span[1], client, True, isolation_level, poll.ended_at))
            position = span[1]
        if span is not None and self._max_gaps is not None:
            return  # readers that say where they read from may be many
        self._next[client] = position
        if self._max_gaps is not None and len(self._next) > self._max_gaps:
            del self._next[next(iter(self._next))]

    def _went_back(self, poll: Poll, before: int, offset: int, *, is_internal: bool, findings: Findings) -> None:
        findings.add(
            "internal-nonmonotonic-poll" if is_internal else "nonmonotonic-poll",
            of_nonmonotonic_poll(self._settings, is_internal=is_internal),
            self.place,
            (before, offset),
            (poll.client,),
            lambda: (
                f"the poll of {shown_name(poll.client)} at {shown_time(poll.ended_at)} gave offset {offset}, "
                f"{'after it gave' if is_internal else 'which had read up to'} offset {before}"
            ),
        )

    def _add_gap(self, gap: Gap) -> None:
        self.gaps.setdefault((gap.start, gap.end, gap.client), gap)
        if self._max_gaps is not None and len(self.gaps) > self._max_gaps:
            del self.gaps[next(iter(self.gaps))]


def end_of(read: Read) -> int:
    return read.offset + read.num_offsets
