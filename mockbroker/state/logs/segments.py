"""Segments of a log: when a new one begins, and which of them are old enough to go.

Records leave a log by whole segments, and the one that is written to leaves only with all others. A fetch reads from
one segment alone. Source: LogSegment.shouldRoll, UnifiedLog.deletableSegments, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

NO_TIMESTAMP = -1


@dataclass(slots=True)
class LogSegment:
    """One segment, from ``base_offset`` to where the next one begins.

    ``first_timestamp`` is the newest in its first batch, ``max_timestamp`` the newest of all, -1 without any;
    ``created_ms`` and ``modified_ms`` are by the wall clock.
    """

    base_offset: int
    created_ms: int = 0
    modified_ms: int = 0
    size_bytes: int = 0
    first_timestamp: int = NO_TIMESTAMP
    max_timestamp: int = NO_TIMESTAMP

    @property
    def largest_timestamp(self) -> int:
        """What its age counts from: the newest timestamp, or when it was last written where it has none."""
        return self.max_timestamp if self.max_timestamp >= 0 else self.modified_ms

    def is_full(self, size_bytes: int, timestamp: int, now_ms: int, max_bytes: int, max_ms: int) -> bool:
        """Whether a batch of this size and newest timestamp begins a new segment.

        >>> segment = LogSegment(0, size_bytes=90, first_timestamp=1000)
        >>> segment.is_full(10, 1000, 0, max_bytes=100, max_ms=60), segment.is_full(11, 1000, 0, 100, 60)
        (False, True)
        >>> segment.is_full(1, 1061, 0, 100, 60)
        True
        """
        if self.size_bytes > max_bytes - size_bytes:
            return True
        if not self.size_bytes:
            return False
        waited = timestamp - self.first_timestamp if self.first_timestamp >= 0 else now_ms - self.created_ms
        return waited > max_ms

    def written(self, size_bytes: int, timestamp: int, now_ms: int) -> None:
        """A batch of this size and newest timestamp was appended."""
        if not self.size_bytes:
            self.first_timestamp = timestamp
        self.size_bytes += size_bytes
        self.modified_ms = now_ms
        self.max_timestamp = max(self.max_timestamp, timestamp)

    def copy(self) -> LogSegment:
        return LogSegment(
            self.base_offset,
            self.created_ms,
            self.modified_ms,
            self.size_bytes,
            self.first_timestamp,
            self.max_timestamp,
        )


def deletable(
    segments: Sequence[LogSegment],
    end_offset: int,
    before: int,
    is_old: Callable[[LogSegment, LogSegment | None], bool],
) -> int:
    """How many of the oldest segments may go: they are old, one after the other, and end at ``before`` at most."""
    count = 0
    for place, segment in enumerate(segments):
        following = segments[place + 1] if place + 1 < len(segments) else None
        upper_bound = end_offset if following is None else following.base_offset
        if upper_bound > before or (following is None and not segment.size_bytes) or not is_old(segment, following):
            break
        count += 1
    return count


def grouped(segments: Sequence[LogSegment], max_bytes: int) -> list[list[LogSegment]]:
    """Segments that become one when they are compacted: neighbours of ``max_bytes`` at most together.

    >>> [[one.base_offset for one in group] for group in grouped([LogSegment(0), LogSegment(5, size_bytes=9)], 5)]
    [[0], [5]]
    """
    groups: list[list[LogSegment]] = []
    size_bytes = 0
    for segment in segments:
        if groups and size_bytes + segment.size_bytes <= max_bytes:
            groups[-1].append(segment)
            size_bytes += segment.size_bytes
        else:
            groups.append([segment])
            size_bytes = segment.size_bytes
    return groups
