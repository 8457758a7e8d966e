"""The frames that a decoder of many holds until it reads them together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kafka_rack.wire_capture.frame_columns import FrameColumns
from kafka_rack.wire_capture.frames import LENGTH_BYTES, CapturedConnection, Frame, PendingRequest, RequestKind
from kafka_rack.wire_tables.rows import NONE
from protocol.compiler.column_reading import PAD_BYTES, Flags, Numbers, Views

if TYPE_CHECKING:
    from kafka_rack.wire_tables.column_decoding import ColumnHandling


class WaitingFrames(NamedTuple):
    """Frames that wait, with the number of their first row, their kinds, places and times."""

    columns: FrameColumns
    base: int
    kind: Numbers
    place: Numbers
    time: Numbers


class Waiting:
    """The frames that wait to be read together, as one long piece.

    A row's ``kind`` is its number in ``handlings`` or -1, ``way`` and ``text`` are how it was read and why it could not
    be, ``time`` is when of the clock. ``is_here`` is False for requests from before.
    """

    def __init__(self, waiting: Sequence[WaitingFrames], handlings: Sequence[ColumnHandling]) -> None:
        pieces = [piece.columns for piece in waiting]
        self.pieces, self.bases = pieces, [piece.base for piece in waiting]
        self.handlings = handlings
        data = b"".join([*(piece.data for piece in pieces), bytes(PAD_BYTES)])
        self.views = Views(data)
        shifts = np.cumsum([0, *(len(piece.data) for piece in pieces)]).tolist()
        bases = self.bases

        def column(name: str) -> Any:
            return np.concatenate([getattr(piece, name) for piece in pieces])

        self.start: Numbers = np.concatenate(
            [piece.start + shift for piece, shift in zip(pieces, shifts, strict=False)]
        )
        self.bytes: Numbers = column("size")
        self.size: Numbers = self.bytes + LENGTH_BYTES
        self.ts: Numbers = column("ts")
        self.index: Numbers = column("index")
        self.offset: Numbers = column("offset")
        self.correlation: Numbers = column("correlation")
        self.is_request: Flags = column("is_request")
        self.asked: Numbers = np.concatenate(
            [np.where(piece.asked >= 0, piece.asked + base, -1) for piece, base in zip(pieces, bases, strict=True)]
        )
        self.kind: Numbers = np.concatenate([piece.kind for piece in waiting])
        self.place: Numbers = np.concatenate([piece.place for piece in waiting])
        self.time: Numbers = np.concatenate([piece.time for piece in waiting])
        self.is_here: Flags = np.ones(self.size.size, np.bool_)
        for piece, base in zip(pieces, bases, strict=True):
            self.is_here[base : base + piece.carried] = False
        self.way = np.full(self.size.size, NONE, np.int64)
        self.text = np.full(self.size.size, NONE, np.int64)

    def of_kinds(self, values: list[int], otherwise: int = -1) -> Numbers:
        """By row, what its kind has."""
        found: Numbers = np.array([*values, otherwise], np.int64)[self.kind]
        return found

    def at(self, row: int) -> tuple[FrameColumns, int]:
        """The piece that a row is in, and its number there."""
        number = bisect_right(self.bases, row) - 1
        return self.pieces[number], row - self.bases[number]

    def frame(self, row: int) -> Frame:
        columns, at = self.at(row)
        return columns.frame(at)

    def kind_of(self, row: int) -> RequestKind:
        columns, at = self.at(row)
        kind: RequestKind = columns.kinds[columns.kind[at]]
        return kind

    def handling(self, row: int) -> ColumnHandling:
        found: ColumnHandling = self.handlings[self.kind[row]]
        return found

    def connection(self, row: int) -> CapturedConnection:
        columns, at = self.at(row)
        connection: CapturedConnection = columns.connections[columns.connection[at]]
        return connection

    def asked_of(self, row: int) -> PendingRequest:
        columns, at = self.at(row)
        return columns.asked_of(at)
