"""Captures as lines of JSON, one a frame: what a recorder between clients and brokers writes, and ``kafka-rack serve
--capture``.

Line 1 describes the capture (``ev`` is ``capture``); ``open`` and ``close`` give each connection's life; a line with
``dir`` is a frame. Where a file goes on from another one, ``asked`` lines repeat the requests that are still without an
answer, and ``topic`` lines what the cluster holds. Lines of any other kind, as ``checkpoint`` in files of format 2, are
passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from kafka_rack.wire_capture.files import DamagedCapture, DecompressedFile, LineTooLong, capture_name, lines_of
from kafka_rack.wire_capture.frames import (
    MAX_ASKED,
    MAX_ASKED_BYTES,
    MAX_PROBLEMS_HELD,
    CapturedConnection,
    Frame,
    PendingRequest,
    Problem,
    ReadingState,
    acks_of,
    kind_of,
    no_frame,
    request_frame,
)
from protocol.backends import core

Int32 = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
LATEST = 253_402_300_799_999_999
"""Microseconds since 1970 at the end of the year 9999, after which Python has no dates."""
Time = Annotated[int, msgspec.Meta(ge=0, le=LATEST)]
"""A time that a date can hold; another makes its line unreadable."""


class Route(msgspec.Struct):
    """A listener of a broker, as the first line has it."""

    broker: Int32 | None = None
    rack: str | None = None
    listener: str | None = None
    host: str | None = None
    port: int | None = None


class CaptureLine(msgspec.Struct, gc=False):
    """Any line; ``data`` comes out of its base64."""

    t: Time = 0
    conn: Int64 | None = None
    dir: str | None = None
    n: int | None = None
    data: bytes | None = None
    ev: str | None = None
    broker: Int32 | None = None
    listener: str | None = None
    client: str | None = None
    routes: list[Route] | None = None
    name: str | None = None
    id: bytes | None = None
    leaders: list[Int32] | None = None


BEFORE_ALL = -(1 << 31)
"""The number of the first of the requests that an earlier file has."""
DECODER = msgspec.json.Decoder(CaptureLine)
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
DIRECTIONS = frozenset({"req", "resp"})


def read_lines(path: str, state: ReadingState, problems: list[Problem]) -> Iterator[Frame]:
    """The frames of a capture's lines.

    Args:
        state: afterwards as it is at the end.
        problems: what cannot be read is added here.
    """
    capture = state.capture or capture_name(path)
    state.capture = capture
    reader: Any = LineReader(path, state, problems)
    if core is not None:
        classes, bounds = (Frame, PendingRequest, CapturedConnection), (MAX_ASKED, MAX_ASKED_BYTES)
        reader = core.LineReader(reader, state, classes, (kind_of, acks_of), bounds)
    with DecompressedFile(path) as source:
        for begins, text in texts(source, capture, problems):
            if len(problems) >= MAX_PROBLEMS_HELD:
                yield no_frame()
            yield from reader.frames(text, begins)


def texts(source: DecompressedFile, capture: str, problems: list[Problem]) -> Iterator[tuple[int, bytes]]:
    """Whole lines, about a megabyte at once, and the offset of the first; unreadable parts are problems."""
    while True:
        begins = source.position
        try:
            text = source.text_of_lines()
        except DamagedCapture as damage:
            problems.append(Problem(capture, source.path, damage.offset, damage.reason))
            return
        except LineTooLong as passed:
            problems.append(Problem(capture, source.path, passed.offset, str(passed)))
            continue
        if not text:
            return
        yield begins, text


class LineReader:
    """Reads lines."""

    def __init__(self, path: str, state: ReadingState, problems: list[Problem]) -> None:
        self.path, self.state, self.problems = path, state, problems

    def problem(self, offset: int, reason: str) -> None:
        self.problems.append(Problem(self.state.capture, self.path, offset, reason))

    def frames(self, text: bytes, begins: int) -> Iterator[Frame]:
        """The frames of lines; ``begins`` is where the first of them does."""
        ends = begins
        for line in lines_of(text):
            begins, ends = ends, ends + len(line) + 1
            if not line:
                continue  # gzip packs a million of them into a kilobyte
            frame = self.frame_in(line, begins)
            if frame is not None:
                yield frame

    def frame_in(self, line: bytes, begins: int) -> Frame | None:
        """The frame of a line, if it brings one."""
        try:
            found = DECODER.decode(line)
        except UNREADABLE as error:
            if line.strip():
                self.problem(begins, no_line(error))
            return None
        if found.dir is None and found.ev is not None:
            return event(found, self.state)
        fault = fault_of(found)
        if fault is not None:
            self.problem(begins, fault)
            return None
        number, data = found.conn, found.data
        assert number is not None
        assert data is not None
        return self.frame(found.t, number, data, begins, is_request=found.dir == "req")

    def frame(self, ts: int, number: int, data: bytes, begins: int, *, is_request: bool) -> Frame:
        """A frame of a connection, joined to the request that it answers."""
        connection = self.state.connections.get(number)
        if connection is None:  # it is older than its capture
            connection = self.state.connections[number] = CapturedConnection(number)
        frame = self.state.frame(ts, connection, is_request, data, begins)
        if frame.passed_over and (fault := frame.fault) is not None:
            self.problem(begins, fault)
        return frame


def no_line(error: Exception) -> str:
    """The reason why a line is unreadable."""
    return f"not a line of a capture: {error}"


def fault_of(line: CaptureLine) -> str | None:
    """The reason why a line that is no event is no frame either, or None."""
    if line.dir is None:
        return "neither a frame nor an event: dir and ev are missing"
    if line.dir not in DIRECTIONS:
        return f"dir {line.dir!r}, but req and resp are known"
    data = line.data
    if data is None or line.conn is None:
        return "a frame without its connection or its bytes"
    if line.n is not None and line.n != len(data):
        return f"a frame of {line.n} bytes, but here are {len(data)}"
    return None


def event(line: CaptureLine, state: ReadingState) -> Frame | None:
    """Apply a line without a frame. The end of a connection returns an empty frame with its unanswered requests."""
    if line.ev == "capture":
        for route in line.routes or ():
            if route.broker is not None:
                state.known.name_rack(route.broker, route.rack)
                if route.host is not None and route.port is not None:
                    state.known.name_endpoint(route.host, route.port, route.broker)
    elif line.ev == "topic" and line.name is not None:
        if line.id is not None:
            state.known.name_topic(line.id, line.name)
        state.known.name_leaders(line.name, enumerate(line.leaders or ()))
    elif line.conn is None:
        return None
    elif line.ev == "open":
        rack = state.known.racks.get(line.broker) if line.broker is not None else None
        before = state.connections.get(line.conn)
        connection = CapturedConnection(line.conn, line.broker, rack, line.client, line.listener)
        if before is not None and before.client == line.client:
            connection.asked, connection.asked_bytes = before.asked, before.asked_bytes  # repeated
        state.connections[line.conn] = connection
    elif line.ev == "asked" and line.data is not None and line.conn in state.connections:
        connection = state.connections[line.conn]
        request_frame(BEFORE_ALL + len(connection.asked), line.t, connection, line.data)
    elif line.ev == "close":
        gone = state.connections.pop(line.conn, None)
        if gone is not None and gone.asked:
            return Frame(-1, line.t, gone, True, b"", None, None, None, 0, tuple(gone.asked.values()))
    return None
