"""Frames to rows, one frame at a time: each body is read once, and gives its rows of every table that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kafka_rack.wire_capture.bodies import read_request, read_response
from kafka_rack.wire_capture.frames import (
    FETCH,
    LENGTH_BYTES,
    PRODUCE,
    SHARE_FETCH,
    CapturedConnection,
    Frame,
    PendingRequest,
    ReadingState,
    RequestKind,
)
from kafka_rack.wire_capture.learning import REPORTING_REQUESTS, REPORTING_RESPONSES, learn
from kafka_rack.wire_tables import cluster_rows, groups, native_rows, traffic
from kafka_rack.wire_tables.rows import NONE, PACK, UNKNOWN, Row, Rows, Target
from kafka_rack.wire_tables.tables import TABLES
from protocol.errors import ProtocolError

RowMaker = Callable[[Target, Frame, PendingRequest, Any], None]
PACK_FRAME, PACK_CALL = PACK["frames"], PACK["calls"]
NO_KIND: Row = (None, UNKNOWN, None, None)


class Handling:
    """The functions for frames of one kind, and the places of their rows."""

    __slots__ = ("calls", "frames", "learns", "number", "on_request", "on_response", "ways")

    def __init__(self, decoder: FrameDecoder, kind: RequestKind) -> None:
        tables = decoder.target.rows.tables
        self.number = decoder.target.kind(kind)
        self.frames = tables["frames"][kind.api_name]
        self.calls = tables["calls"][kind.api_name]
        self.on_request = decoder.on_request.get(kind.api_key)
        self.on_response = decoder.on_response.get(kind.api_key)
        self.learns = kind.api_key in REPORTING_REQUESTS or kind.api_key in REPORTING_RESPONSES
        self.ways: dict[tuple[bool, int, int | None], int] = {}
        """(is a request, bytes left over, version of the body) -> number."""

    def way(self, rows: Rows, is_request: bool, left_over: int, version: int | None, header: int | None) -> int:
        """The number of how a body was read."""
        key = is_request, left_over, version
        found = self.ways.get(key)
        if found is None:
            direction = "request" if is_request else "response"
            found = self.ways[key] = rows.shared["way"][direction, left_over, version, header]
        return found


class FrameDecoder:
    """Decodes frames one after the other; ``state`` is that of their reading, ``rows`` takes what they give.

    Args:
        only: the tables that are wanted; all by default.
    """

    def __init__(self, state: ReadingState, rows: Rows, only: Iterable[str] = TABLES) -> None:
        self.rows = rows
        self.wanted = wanted = frozenset(only)
        self.target = Target(rows, state, wanted)
        self.frames_wanted, self.calls_wanted = "frames" in wanted, "calls" in wanted
        self.on_request: dict[int, RowMaker] = {}
        self.on_response: dict[int, RowMaker] = {}
        if wanted & {"batches", "produces"}:
            self.on_request[PRODUCE] = traffic.produce_request
            self.on_response[PRODUCE] = traffic.produce_response
        if wanted & {"batches", "fetches"}:
            self.on_response[FETCH] = traffic.fetch_response
            self.on_response[SHARE_FETCH] = traffic.fetch_response
        if "memberships" in wanted:
            self.on_request.update(groups.REQUESTS)
            self.on_response.update(groups.RESPONSES)
        if wanted & {"partitions", "brokers", "settings"}:
            self.on_request.update(cluster_rows.REQUESTS)
            self.on_response.update(cluster_rows.RESPONSES)
        self._handling: dict[RequestKind, Handling] = {}
        self._forgotten = rows.forgotten
        self.way = NONE
        self.native = native_rows.reader(self)

    def go_on(self) -> None:
        """After the rows were cleared: let go of what the shared sets have forgotten."""
        if self.native is not None:
            self.native.go_on()
        if self._forgotten != self.rows.forgotten:
            self._forgotten = self.rows.forgotten
            self._handling.clear()

    def decode(self, frame: Frame) -> None:
        """Add a frame's rows."""
        if frame.passed_over:
            for passed_over in frame.passed_over:
                self.unanswered(frame.connection, passed_over)
        if frame.index < 0:
            return
        self.rows.frames += 1
        asked = frame.asked
        if asked is None:
            self.unknown(frame)
            return
        if self.native is None or not self.native.decode(frame):
            self.add_rows(frame, asked)

    def add_rows(self, frame: Frame, asked: PendingRequest) -> None:
        """Add the rows of a frame whose request is known."""
        handling = self.handling(asked.kind)
        error = self.body(self.target, frame, asked, handling)
        if self.frames_wanted:
            size = len(frame.data) + LENGTH_BYTES
            correlation_id = frame.correlation_id
            assert correlation_id is not None
            text = NONE if error is None else self.rows.kept("string", error)
            place = self.target.place(frame.connection)
            handling.frames += PACK_FRAME(
                place, self.way, handling.number, frame.ts, correlation_id, size, text, frame.index, frame.offset
            )
        if not frame.is_request and self.calls_wanted:
            self.call(frame, asked, handling)

    def handling(self, kind: RequestKind) -> Handling:
        found = self._handling.get(kind)
        if found is None:
            found = self._handling[kind] = Handling(self, kind)
        return found

    def body(self, target: Target, frame: Frame, asked: PendingRequest, handling: Handling) -> str | None:
        """Read a frame's body, learn from it, and add the rows of what it holds; gives why it cannot be read.

        ``way`` is then the number of how it was read.
        """
        kind, is_request = asked.kind, frame.is_request
        maker = handling.on_request if is_request else handling.on_response
        message = error = version = header = None
        left_over = 0
        if self.frames_wanted or maker is not None or handling.learns:
            try:
                message, left_over, version, header = (
                    read_request(asked) if is_request else read_response(asked, frame.data)
                )
            except ProtocolError as fault:
                error = str(fault)
        self.way = handling.way(self.rows, is_request, left_over, version, header)
        if is_request:
            asked.message = message
        if message is not None:
            if handling.learns:
                learn(kind.api_key, is_request, message, self.target.state.known)
            if maker is not None:
                maker(target, frame, asked, message)
        return error

    def unknown(self, frame: Frame) -> None:
        """The row of a frame that is too short for a header, or answers nothing that was asked."""
        if self.frames_wanted:
            direction = "request" if frame.is_request else "response"
            way = self.rows.shared["way"][direction, 0, None, None]
            kind = self.rows.shared["kind"][NO_KIND]
            place, size = self.target.place(frame.connection), len(frame.data) + LENGTH_BYTES
            row = place, way, kind, frame.ts, frame.correlation_id, size, frame.error, frame.index, frame.offset
            self.rows.add("frames", UNKNOWN, row)

    def call(self, frame: Frame, asked: PendingRequest, handling: Handling) -> None:
        start = self.target.place(frame.connection), handling.number, asked.ts, asked.correlation_id
        sizes = len(asked.data) + LENGTH_BYTES, len(frame.data) + LENGTH_BYTES
        handling.calls += PACK_CALL(*start, frame.ts - asked.ts, *sizes, asked.frame, frame.index)

    def unanswered(self, connection: CapturedConnection, asked: PendingRequest) -> None:
        """The rows of a request that will not be answered: records that were sent count all the same."""
        if asked.kind.api_key == PRODUCE and "produces" in self.wanted:
            traffic.produces(self.target, connection, asked, None, 0)
