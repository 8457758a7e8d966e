"""Reassembles one direction of a TCP connection: trims overlaps, drops repeats, and reports missing bytes.

A hole waits for what fills it until packets ``PATIENCE_US`` later come, or ``MAX_WAITING_BYTES`` wait after it, or
the connection ends; then it counts as lost, and the bytes after it continue after a gap.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import msgspec

from kafka_rack.wire_capture.segments import FIN, SYN, TcpSegment

PATIENCE_US = 3_000_000
MAX_WAITING_BYTES = 8 << 20
MAX_WAITING = 100_000
"""Segments after a hole, of which the file may hold no bytes."""
HALF, WHOLE = 1 << 31, 1 << 32


class InOrderBytes(NamedTuple):
    """Bytes in order; ``gap`` is how many were lost before them."""

    ts: int
    offset: int
    data: bytes
    gap: int = 0


class Direction(msgspec.Struct, gc=False):
    """``following`` is the sequence number that comes next, None until anything has come, ``opened`` that
    of its SYN.

    ``waiting``: what follows a hole, by its place, which counts bytes from the first on and so does not wrap.
    ``places`` is a heap of them, ``place`` that of ``following``.
    """

    following: int | None = None
    opened: int | None = None
    place: int = 0
    waiting: dict[int, InOrderBytes] = msgspec.field(default_factory=dict)
    places: list[int] = msgspec.field(default_factory=list)
    waiting_bytes: int = 0
    waiting_since: int = 0

    def take(self, segment: TcpSegment) -> list[InOrderBytes]:
        """The bytes that a segment completes."""
        sequence = segment.sequence
        if segment.flags & SYN:
            if self.opened is None:
                self.opened, self.following = sequence, (sequence + 1) % WHOLE
            sequence = (sequence + 1) % WHOLE
        if not segment.size and (self.following is None or not segment.flags & FIN):
            return []
        if self.following is None:
            self.following = sequence
        ahead = distance(self.following, sequence)
        if ahead > 0:
            self.wait(self.place + ahead, InOrderBytes(segment.ts, segment.offset, segment.data, segment.size))
            return self.give_up() if self.waiting_bytes > MAX_WAITING_BYTES or len(self.waiting) > MAX_WAITING else []
        if segment.size + ahead <= 0:
            return []
        pieces = self.accept(InOrderBytes(segment.ts, segment.offset, segment.data[-ahead:], segment.size + ahead))
        return pieces + self.fill() if self.waiting else pieces

    def wait(self, place: int, piece: InOrderBytes) -> None:
        """Store bytes after a hole; of two at one place the longer."""
        kept = self.waiting.get(place)
        if kept is not None and len(kept.data) >= len(piece.data):
            return
        self.waiting_since = min(self.waiting_since, piece.ts) if self.waiting else piece.ts
        if kept is None:
            heappush(self.places, place)
        else:
            self.waiting_bytes -= len(kept.data)
        self.waiting[place] = piece
        self.waiting_bytes += len(piece.data)

    def accept(self, piece: InOrderBytes) -> list[InOrderBytes]:
        """Take bytes that are next; ``piece.gap`` holds how many were sent, of which the file may have fewer."""
        sent = piece.gap
        self.go_on(sent)
        missing = sent - len(piece.data)
        pieces = [InOrderBytes(piece.ts, piece.offset, piece.data)] if piece.data else []
        if missing > 0:
            pieces.append(InOrderBytes(piece.ts, piece.offset, b"", missing))
        return pieces

    def go_on(self, size: int) -> None:
        assert self.following is not None
        self.following = (self.following + size) % WHOLE
        self.place += size

    def fill(self) -> list[InOrderBytes]:
        """The bytes that waited and are next now."""
        pieces: list[InOrderBytes] = []
        found = False
        while self.places and self.places[0] <= self.place:
            found = True
            behind = self.place - self.places[0]
            piece = self.waiting.pop(heappop(self.places))
            self.waiting_bytes -= len(piece.data)
            if piece.gap > behind:
                pieces += self.accept(InOrderBytes(piece.ts, piece.offset, piece.data[behind:], piece.gap - behind))
        if found and self.waiting:  # after another hole, which has waited for less long
            self.waiting_since = min(piece.ts for piece in self.waiting.values())
        return pieces

    def overdue(self, now: int) -> list[InOrderBytes]:
        """The bytes after a hole that has waited too long."""
        return self.give_up() if self.waiting and now - self.waiting_since > PATIENCE_US else []

    def give_up(self) -> list[InOrderBytes]:
        """All waiting bytes, with holes as gaps."""
        pieces: list[InOrderBytes] = []
        while self.places:
            first = self.waiting[self.places[0]]
            hole = self.places[0] - self.place
            pieces.append(InOrderBytes(first.ts, first.offset, b"", hole))
            self.go_on(hole)
            pieces += self.fill()
        return pieces


def distance(from_sequence: int, to_sequence: int) -> int:
    """How far one sequence number is after another, round the end of 32 bits.

    >>> distance(0xFFFFFFFF, 4), distance(4, 0xFFFFFFFF)
    (5, -5)
    """
    return (to_sequence - from_sequence + HALF) % WHOLE - HALF
