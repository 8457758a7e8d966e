"""Captures as lines of JSON, one a frame: what a recorder between clients and brokers writes, and ``kafka-rack serve
--capture``.

Line 1 describes the capture (``ev`` is ``capture``); ``open`` and ``close`` give each connection's life; a line with
``dir`` is a frame. Where a file goes on from another one, ``asked`` lines repeat the requests that are still without an
answer, and ``topic`` lines what the cluster holds; ``checkpoint`` lines, of format 2, have what reading needs that
begins there. Who does not know them passes them over.
"""

from __future__ import annotations

from collections.abc import Generator

import msgspec

from kafka_rack.wire_capture.checkpoints import START, UNREADABLE, checkpoint_of, lines_in, nowhere, take
from kafka_rack.wire_capture.files import Damage, Source, capture_name
from kafka_rack.wire_capture.frames import Connection, Frame, Known, Problem, State, request_frame
from kafka_rack.wire_capture.json_fields import Int32, Int64, Time


class Route(msgspec.Struct):
    """A listener of a broker, as the first line has it."""

    broker: Int32 | None = None
    rack: str | None = None
    listener: str | None = None
    host: str | None = None
    port: int | None = None


class Line(msgspec.Struct):
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
"""The frame of requests that an earlier file holds, in their order."""
DECODER = msgspec.json.Decoder(Line)
DIRECTIONS = frozenset({"req", "resp"})


def read_lines(
    path: str,
    state: State,
    problems: list[Problem],
    start: int = 0,
    end: int | None = None,
    *,
    checkpoint_from: int | None = None,
    given: Known | None = None,
    can_go_back: bool = True,
) -> Generator[Frame, None, int]:
    """The frames of a capture's lines that begin at ``start``, a line's start, or later and before ``end``.

    Gives back where the next line starts.

    Args:
        state: as it was at ``start``, or anything at a checkpoint; afterwards as it is at the end.
        problems: what cannot be read is added here.
        checkpoint_from: reading ends before the first checkpoint from here on, too.
        given: what the user says of the brokers.
        can_go_back: whether earlier lines can be read once more, as they cannot where the file is compressed.
    """
    capture = state.capture or capture_name(path)
    state.capture = capture
    try:
        source = Source(path, start)
    except Damage as damage:
        problems.append(Problem(capture, path, damage.offset, damage.reason))
        return start
    decode, connections, frame_of = DECODER.decode, state.connections, state.frame
    lines_at = lines_in(path) if can_go_back else nowhere
    offset = start
    with source:
        while end is None or offset < end:
            try:
                lines = source.whole_lines()
            except Damage as damage:
                problems.append(Problem(capture, path, damage.offset, damage.reason))
                break
            if not lines:
                if end is not None:
                    reason = f"the file has become shorter: it had {end} bytes when it was found"
                    problems.append(Problem(capture, path, source.position, reason))
                break
            for line in lines:
                if end is not None and offset >= end:
                    return offset
                if line.startswith(START) and (checkpoint := checkpoint_of(line)) is not None:
                    if checkpoint_from is not None and offset >= checkpoint_from:
                        return offset
                    take(checkpoint, state, given or Known(), lines_at)
                    offset += len(line) + 1
                    continue
                begins, offset = offset, offset + len(line) + 1
                try:
                    found = decode(line)
                except UNREADABLE as error:
                    if line.strip():
                        problems.append(Problem(capture, path, begins, no_line(error, offset > source.position)))
                    continue
                if found.dir is None and found.ev is not None:
                    frame = event(found, state, begins)
                    if frame is not None:
                        yield frame
                    continue
                fault = fault_of(found)
                if fault is not None:
                    problems.append(Problem(capture, path, begins, fault))
                    continue
                number, data = found.conn, found.data
                assert number is not None
                assert data is not None
                connection = connections.get(number) or begun_before(connections, number)
                yield frame_of(found.t, connection, found.dir == "req", data, begins)
        return min(offset, source.position)


def begun_before(connections: dict[int, Connection], number: int) -> Connection:
    """A connection that is older than its capture."""
    connection = connections[number] = Connection(number)
    return connection


def no_line(error: Exception, has_no_end: bool) -> str:
    """Why a line cannot be read."""
    return f"not a line of a capture: {'the last line has no end: ' if has_no_end else ''}{error}"


def fault_of(line: Line) -> str | None:
    """Why a line that is no event cannot be taken as a frame, or None."""
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


def event(line: Line, state: State, offset: int = 0) -> Frame | None:
    """Note what a line without a frame tells. The end of a connection gives an empty frame with what was unanswered."""
    if line.ev == "capture":
        for route in line.routes or ():
            if route.broker is not None:
                state.known.name_rack(route.broker, route.rack)
                if route.host is not None and route.port is not None:
                    state.known.endpoints[route.host, route.port] = route.broker
    elif line.ev == "topic" and line.name is not None:
        if line.id is not None:
            state.known.topics[line.id] = line.name
        for number, leader in enumerate(line.leaders or ()):
            state.known.leaders[line.name, number] = leader
    elif line.conn is None:
        return None
    elif line.ev == "open":
        rack = state.known.racks.get(line.broker) if line.broker is not None else None
        before = state.connections.get(line.conn)
        connection = Connection(line.conn, line.broker, rack, line.client, line.listener)
        if before is not None and before.client == line.client:
            connection.asked = before.asked  # told again
        state.connections[line.conn] = connection
    elif line.ev == "asked" and line.data is not None and line.conn in state.connections:
        connection = state.connections[line.conn]
        request_frame(BEFORE_ALL + len(connection.asked), line.t, connection, line.data, offset)
    elif line.ev == "close":
        gone = state.connections.pop(line.conn, None)
        if gone is not None and gone.asked:
            return Frame(-1, line.t, gone, True, b"", None, None, None, 0, tuple(gone.asked.values()))
    return None
