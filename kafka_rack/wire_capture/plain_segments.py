"""Segments that come many at once, taken by their connections: what :meth:`.connections.TcpConnections.take` does.

Most bring bytes that are next on a connection whose frames are known to begin there, with nothing missing on either
side. Their frames are cut out here, in one loop; for any other segment ``take`` is asked, which says what is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kafka_rack.wire_capture import connections, frames
from kafka_rack.wire_capture.connections import BOTH, PartialFrame, TcpConnection, TcpConnections
from kafka_rack.wire_capture.frames import LENGTH_BYTES, MIN_REQUEST_BYTES, MIN_RESPONSE_BYTES, Frame, Problem
from kafka_rack.wire_capture.reassembly import WHOLE, InOrderBytes
from kafka_rack.wire_capture.recognition import MAX_FRAME_BYTES, REQUEST_HEAD_BYTES
from kafka_rack.wire_capture.segment_columns import SegmentColumns, are_plain
from kafka_rack.wire_capture.segments import TcpSegment

MIN_NAMED_REQUEST_BYTES = 10
"""Of a request with a client id; that of the one without is looked at by who looks for requests."""


def take_many(
    traffic: TcpConnections,
    segments: SegmentColumns,
    problems: list[Problem],
    path: str,
    rows: range | None = None,
    take: Callable[[TcpSegment], Iterable[Frame]] | None = None,
) -> Iterator[tuple[int, Iterable[Frame]]]:
    """The frames that segments complete, with the offset of the segment that did.

    Args:
        rows: which segments; all by default.
        take: takes a segment that is not plain; ``traffic.take`` by default.
    """
    if take is None:

        def take(segment: TcpSegment) -> Iterator[Frame]:
            return traffic.take(segment, problems, path)

    offsets, sequences, sizes, numbers = segments.offset, segments.sequence, segments.size, segments.number
    starts, times, data = segments.start, segments.ts, segments.data
    plain, ends, conversations = are_plain(segments), segments.ends, traffic.conversations
    quiet_until = quiet_before(traffic)
    for row in range(len(offsets)) if rows is None else rows:
        offset = offsets[row]
        if plain[row] and offset < quiet_until:
            source, _, key = ends[numbers[row]]
            found = conversations.get(key)
            if found is not None and found.finished != BOTH:
                if found.other:
                    continue
                half = half_of(found, source == found.client, sequences[row]) if found.server is not None else None
                if half is not None:
                    start, size = starts[row], sizes[row]
                    direction = half.direction
                    direction.following = (sequences[row] + size) % WHOLE
                    direction.place += size
                    piece = times[row], offset, start, start + size
                    completed = cut_frames(traffic, found, half, data, piece, problems, path)
                    if completed:
                        yield offset, completed
                    continue
        yield offset, take(segments.segment(row))
        quiet_until = quiet_before(traffic)


def quiet_before(traffic: TcpConnections) -> int:
    """Where in the file something is to be done at the latest that does not depend on a connection's own packets."""
    quiet = (traffic.state.checked + 1) * frames.CHECK_BYTES
    for key in traffic.closed:
        closed_at = traffic.conversations[key].closed_at
        assert closed_at is not None
        return min(quiet, closed_at + connections.LINGER_BYTES + 1)
    return quiet


def half_of(found: TcpConnection, from_client: bool, sequence: int) -> PartialFrame | None:
    """The side of a connection that a segment is next on, if its frames can just be cut out; else None."""
    requests, responses = found.requests, found.responses
    half = requests if from_client else responses
    if (
        half.direction.following != sequence
        or not half.synced
        or half.on_trial
        or half.skipped
        or requests.direction.waiting
        or responses.direction.waiting
        or found.held
        or found.asked_bytes > 0
        or (from_client and responses.buffer and not responses.synced)
    ):
        return None
    return half


def cut_frames(
    traffic: TcpConnections,
    found: TcpConnection,
    half: PartialFrame,
    data: bytes,
    piece: tuple[int, int, int, int],
    problems: list[Problem],
    path: str,
) -> Iterable[Frame]:
    """The frames that bytes complete which come next.

    Args:
        piece: time, offset, and where in ``data`` the bytes begin and end.
    """
    connection = found.connection
    assert connection is not None
    if connection.broker is None and (traffic.given or traffic.told or traffic.state.known.endpoints):
        traffic.name_broker(connection)
    ts, offset, at, end = piece
    buffer, is_request, state = half.buffer, half is found.requests, traffic.state
    view: bytes | bytearray = data
    begins, first = len(buffer), at
    if begins:
        buffer += data[at:end]
        view, at, end = buffer, 0, len(buffer)
    least = MIN_REQUEST_BYTES if is_request else MIN_RESPONSE_BYTES
    completed: list[Frame] = []
    is_odd = False
    while end - at >= LENGTH_BYTES:
        size = int.from_bytes(view[at : at + LENGTH_BYTES], "big", signed=True)
        is_odd = not least <= size <= MAX_FRAME_BYTES
        is_odd = is_odd or (is_request and size < MIN_NAMED_REQUEST_BYTES and end - at >= REQUEST_HEAD_BYTES)
        stop = at + LENGTH_BYTES + size
        if is_odd or stop > end:
            break
        frame_data = bytes(view[at + LENGTH_BYTES : stop])
        if is_request:
            frame = state.frame(ts, connection, True, frame_data, offset)
            if frame.asked is not None:
                found.client_id = frame.asked.kind.client_id
            if frame.passed_over and (fault := frame.fault) is not None:
                problems.append(Problem(state.capture, path, offset, fault))
        elif int.from_bytes(frame_data[:4], "big", signed=True) in connection.asked:
            frame = state.frame(ts, connection, False, frame_data, offset)
        else:  # its request may have been captured later
            is_odd = True
            break
        completed.append(frame)
        at = stop
    if begins:
        del buffer[:at]
    elif at < end:
        buffer += view[at:end]
    if not is_odd:
        return completed
    rest = InOrderBytes(ts, offset, data[first : piece[3]])
    return [*completed, *traffic.frames(found, half, rest, problems, path, begins)]
