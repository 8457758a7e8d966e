"""The completeness of a ledger: the time it covers, unreadable parts, and missing parts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from kafka_rack.locality.amounts import bytes_text, covered_us, duration_text
from kafka_rack.plurals import counted

MISSING = re.compile(r"([0-9]{1,18}) bytes of (?:requests|responses) on connection")
"""The start of a problem's reason, with the number of bytes of a connection that are not in its frames."""
MAX_REASONS = 10


@dataclass(slots=True)
class Completeness:
    """The frames in a ledger, and those missing from it. It can be merged like a ledger.

    ``spans`` are first and last times of parts (microseconds since 1970); ``missing_bytes`` were cut off, lost, or
    belong to incomplete frames; ``problems`` counts other unreadable data, by reason; ``refused`` are inputs that were
    not read, with the reason; ``connections_twice`` were captured at both ends and count once. In the captures
    ``with_replication`` a follower fetches; ``copied_bytes`` are, in captures with replicated topics, the bytes that
    followers copy of produced records. ``unknown_clients`` are ids and addresses of clients without a rack.
    """

    spans: list[tuple[int, int]] = field(default_factory=list)
    frames: int = 0
    unreadable_frames: int = 0
    missing_bytes: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)
    connections_twice: int = 0
    with_replication: set[str] = field(default_factory=set)
    copied_bytes: Counter[str] = field(default_factory=Counter)
    unknown_clients: set[tuple[str | None, str | None]] = field(default_factory=set)

    def add_problem(self, reason: str, count: int = 1) -> None:
        """Count unreadable data."""
        match = MISSING.match(reason)
        if match is not None:
            self.missing_bytes += int(match[1]) * count
        else:
            self.problems[reason] += count

    def merge(self, other: Completeness) -> Completeness:
        """Add another's data; returns this."""
        self.spans = sorted({*self.spans, *other.spans})
        self.frames += other.frames
        self.unreadable_frames += other.unreadable_frames
        self.missing_bytes += other.missing_bytes
        self.problems.update(other.problems)
        self.refused = dict(sorted({**self.refused, **other.refused}.items()))
        self.connections_twice += other.connections_twice
        self.with_replication |= other.with_replication
        self.copied_bytes.update(other.copied_bytes)
        self.unknown_clients |= other.unknown_clients
        return self

    @property
    def covered_us(self) -> int:
        """The time covered: overlaps count once, gaps not at all."""
        return covered_us(self.spans)

    @property
    def is_whole(self) -> bool:
        """True if everything that was captured was read."""
        return not (self.unreadable_frames or self.missing_bytes or self.problems or self.refused)

    @property
    def uncaptured_replication(self) -> int | None:
        """Bytes that followers copied without being captured; None if no replication is missing."""
        without = self.copied_bytes.keys() - self.with_replication
        return sum(self.copied_bytes[capture] for capture in without) if without else None

    def lacks(self) -> list[str]:
        """The missing parts of the ledger, each in a few words."""
        found = []
        if self.missing_bytes:
            found.append(f"{bytes_text(self.missing_bytes)} of connections cut off or lost")
        if self.unreadable_frames:
            found.append(f"{counted(self.unreadable_frames, 'frame')} unreadable")
        if self.problems:
            most = max(self.problems, key=lambda reason: (self.problems[reason], reason))
            found.append(f"{counted(sum(self.problems.values()), 'problem')} in the files ({most})")
        if self.refused:
            path = next(iter(self.refused))
            more = f" and {len(self.refused) - 1} more" if len(self.refused) > 1 else ""
            found.append(f"{counted(len(self.refused), 'input')} not read ({path}: {self.refused[path]}{more})")
        size = self.uncaptured_replication
        if size is not None:
            about = f" (followers would copy about {bytes_text(size)})" if size else ""
            found.append(f"replication between brokers not captured{about}")
        if self.unknown_clients:
            found.append(f"{counted(len(self.unknown_clients), 'client')} of unknown rack")
        return found

    def line(self, read: str | None = None) -> str:
        """The completeness in one line; ``read`` is the unit that was read, by default frames."""
        if not (read or self.frames):
            return "how complete these figures are was not counted"
        twice = f", {counted(self.connections_twice, 'connection')} captured twice" if self.connections_twice else ""
        covered = f"{read or counted(self.frames, 'frame')} over {duration_text(self.covered_us)}{twice}"
        lacks = self.lacks()
        return f"complete: {covered}" if not lacks else f"{covered}; missing: {'; '.join(lacks)}"

    def as_json(self) -> dict[str, Any]:
        return {
            "covered_us": self.covered_us,
            "frames": self.frames,
            "unreadable_frames": self.unreadable_frames,
            "missing_bytes": self.missing_bytes,
            "problems": [
                {"reason": reason, "count": count}
                for reason, count in sorted(self.problems.items(), key=lambda one: (-one[1], one[0]))[:MAX_REASONS]
            ],
            "refused": [{"input": path, "reason": reason} for path, reason in self.refused.items()],
            "connections_captured_twice": self.connections_twice,
            "replication_captured": self.uncaptured_replication is None,
            "uncaptured_replication_bytes": self.uncaptured_replication or 0,
            "clients_of_unknown_rack": len(self.unknown_clients),
            "line": self.line(),
        }
