"""One direction of a TCP connection, back in order: overlaps trimmed, repeats dropped, what is missing told.

A hole waits for what fills it until packets ``PATIENCE_US`` later come, or ``MOST_WAITING_BYTES`` wait behind it, or
the connection ends; then it counts as lost, and the bytes behind it go on after a gap.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from kafka_rack.pipeline.segments import SYN, Segment

PATIENCE_US = 3_000_000
MOST_WAITING_BYTES = 8 << 20
HALF, WHOLE = 1 << 31, 1 << 32


class Piece(NamedTuple):
    """Bytes in order; ``gap`` is how many were lost before them."""

    ts: int
    offset: int
    data: bytes
    gap: int = 0


class Direction(msgspec.Struct):
    """``following`` is the sequence number that comes next, None until anything has come."""

    following: int | None = None
    began: bool = False
    waiting: dict[int, Piece] = msgspec.field(default_factory=dict)
    waiting_since: int = 0

    def take(self, segment: Segment) -> list[Piece]:
        """What a segment completes."""
        sequence = segment.sequence
        if segment.flags & SYN:
            sequence = (sequence + 1) % WHOLE
            if self.following is None or not self.began:
                self.following, self.began = sequence, True
        if not segment.size:
            return []
        if self.following is None:
            self.following = sequence
        ahead = distance(self.following, sequence)
        if ahead > 0:
            kept = self.waiting.get(sequence)
            if kept is None or len(kept.data) < len(segment.data):
                self.waiting_since = min(self.waiting_since, segment.ts) if self.waiting else segment.ts
                self.waiting[sequence] = Piece(segment.ts, segment.offset, segment.data, segment.size)
            if sum(len(piece.data) for piece in self.waiting.values()) > MOST_WAITING_BYTES:
                return self.give_up()
            return []
        if segment.size + ahead <= 0:
            return []
        pieces = self.accept(Piece(segment.ts, segment.offset, segment.data[-ahead:], segment.size + ahead))
        return pieces + self.fill()

    def accept(self, piece: Piece) -> list[Piece]:
        """Take bytes that are next; ``piece.gap`` holds how many were sent, of which the file may have fewer."""
        assert self.following is not None
        sent = piece.gap
        self.following = (self.following + sent) % WHOLE
        missing = sent - len(piece.data)
        pieces = [Piece(piece.ts, piece.offset, piece.data)] if piece.data else []
        if missing > 0:
            pieces.append(Piece(piece.ts, piece.offset, b"", missing))
        return pieces

    def fill(self) -> list[Piece]:
        """What waited and is next now."""
        pieces: list[Piece] = []
        while self.waiting:
            assert self.following is not None
            sequence = min(self.waiting, key=lambda one: distance(self.following or 0, one))
            ahead = distance(self.following, sequence)
            if ahead > 0:
                break
            piece = self.waiting.pop(sequence)
            if piece.gap + ahead > 0:
                pieces += self.accept(Piece(piece.ts, piece.offset, piece.data[-ahead:], piece.gap + ahead))
        return pieces

    def overdue(self, now: int) -> list[Piece]:
        """What is behind a hole that has waited too long."""
        return self.give_up() if self.waiting and now - self.waiting_since > PATIENCE_US else []

    def give_up(self) -> list[Piece]:
        """All that waits, holes told as gaps."""
        pieces: list[Piece] = []
        while self.waiting:
            assert self.following is not None
            sequence = min(self.waiting, key=lambda one: distance(self.following or 0, one))
            first = self.waiting[sequence]
            pieces.append(Piece(first.ts, first.offset, b"", distance(self.following, sequence)))
            self.following = sequence
            pieces += self.fill()
        return pieces


def distance(from_sequence: int, to_sequence: int) -> int:
    """How far one sequence number lies behind another, round the end of 32 bits.

    >>> distance(0xFFFFFFFF, 4), distance(4, 0xFFFFFFFF)
    (5, -5)
    """
    return (to_sequence - from_sequence + HALF) % WHOLE - HALF
