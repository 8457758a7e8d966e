"""Frames to rows, one frame at a time: each body is read once, and gives its rows of every table that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
)
from kafka_rack.wire_capture.learning import REPORTING_REQUESTS, REPORTING_RESPONSES, learn
from kafka_rack.wire_tables import cluster_rows, groups, native_rows, traffic
from kafka_rack.wire_tables.rows import UNKNOWN, Row, Rows, Target
from kafka_rack.wire_tables.tables import TABLES
from protocol.errors import ProtocolError

RowMaker = Callable[[Target, Frame, PendingRequest, Any], None]
NO_KIND: Row = (None, UNKNOWN, None, None)


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
        self.native = native_rows.reader(self)

    def go_on(self) -> None:
        """After the rows were cleared: let go of the numbers in them."""
        if self.native is not None:
            self.native.go_on()

    def decode_some(self, frames: Iterator[Frame], most: int) -> bool:
        """Decode the next frames, at most that many, up to one that Python reads. False: there are no more."""
        count, frame = 0, None
        if self.native is not None:
            count, frame = self.native.decode_all(frames, most)
            self.rows.frames += count
        else:
            frame = next(frames, None)
        if frame is not None:
            self.decode(frame)
        return frame is not None or count == most

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
        """Read a frame's body, learn from it, and add the rows of the frame and of what it holds."""
        kind, is_request, target = asked.kind, frame.is_request, self.target
        maker = (self.on_request if is_request else self.on_response).get(kind.api_key)
        learns = kind.api_key in (REPORTING_REQUESTS if is_request else REPORTING_RESPONSES)
        message = error = version = header = None
        left_over = 0
        if self.frames_wanted or maker is not None or learns:
            try:
                message, left_over, version, header = (
                    read_request(asked) if is_request else read_response(asked, frame.data)
                )
            except ProtocolError as fault:
                error = str(fault)
        if is_request:
            asked.message = message
        if message is not None:
            if learns:
                learn(kind.api_key, is_request, message, target.known)
            if maker is not None:
                maker(target, frame, asked, message)
        place, number, size = target.place(frame.connection), target.kind(kind), len(frame.data) + LENGTH_BYTES
        if self.frames_wanted:
            way = target.way(is_request, left_over, version, header)
            row = place, way, number, frame.ts, frame.correlation_id, size, error, frame.index, frame.offset
            self.rows.add("frames", kind.api_name, row)
        if not is_request and self.calls_wanted:
            sizes = asked.frame_bytes, size
            call = place, number, asked.ts, asked.correlation_id, frame.ts - asked.ts, *sizes, asked.frame, frame.index
            self.rows.add("calls", kind.api_name, call)

    def unknown(self, frame: Frame) -> None:
        """The row of a frame that is too short for a header, or answers nothing that was asked."""
        if self.frames_wanted:
            way = self.target.way(frame.is_request, 0, None, None)
            kind = self.rows.shared["kind"][NO_KIND]
            place, size = self.target.place(frame.connection), len(frame.data) + LENGTH_BYTES
            row = place, way, kind, frame.ts, frame.correlation_id, size, frame.error, frame.index, frame.offset
            self.rows.add("frames", UNKNOWN, row)

    def unanswered(self, connection: CapturedConnection, asked: PendingRequest) -> None:
        """The rows of a request that will not be answered: records that were sent count all the same."""
        if asked.kind.api_key == PRODUCE and "produces" in self.wanted:
            traffic.produces(self.target, connection, asked, None, 0)
