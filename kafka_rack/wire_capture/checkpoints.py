"""Checkpoints: what a recorder repeats in its file now and then, so that reading may begin there.

A line whose ``ev`` is ``checkpoint`` holds what the file has told before it and the frames behind it need: how many
frames there were, the open connections with the requests that wait for their answers, and what is known of the cluster.
Who reads takes that in the place of what it had. So a file of format 2 gives the same rows in one piece and in many,
and nobody has to read it to plan its cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated

import msgspec

from kafka_rack.wire_capture.files import MAX_HEAD_BYTES, MAX_LINE_BYTES, DamagedCapture, DecompressedFile, LineTooLong
from kafka_rack.wire_capture.frames import (
    CapturedConnection,
    ObservedCluster,
    PendingRequest,
    ReadingState,
    request_frame,
)
from kafka_rack.wire_capture.json_fields import LATEST, Int32, Int64, Time

Offset = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
FIRST_FORMAT = 2
"""Of the files whose recorder writes checkpoints."""
START = b'{"ev":"checkpoint",'
"""How a checkpoint's line begins, and no other."""
MAX_INLINE_BYTES = 4 << 10
"""Of a request that a checkpoint repeats; of a larger one it says where its line begins."""
NOWHERE = -1
"""The offset of a request that only a checkpoint has."""
NEAR_BYTES = 1 << 20
"""A line that begins within so many bytes of the last one is read on to."""
BACK_BYTES = 4 << 20
"""How far before a place a checkpoint is looked for at first."""


class WaitingRequest(msgspec.Struct, omit_defaults=True):
    """A request without its answer: the index of its frame, and its time and bytes or the offset of its line."""

    frame: Int64
    t: Time = 0
    data: bytes | None = None
    at: Offset | None = None


class OpenConnection(msgspec.Struct, omit_defaults=True):
    """A connection as :class:`CapturedConnection` has it; ``waiting`` in the order in which they were asked."""

    conn: Int64
    broker: Int32 | None = None
    rack: str | None = None
    client: str | None = None
    listener: str | None = None
    waiting: list[WaitingRequest] = msgspec.field(default_factory=list)


class Checkpoint(msgspec.Struct, tag_field="ev", tag="checkpoint"):
    """A checkpoint's line. No field but ``t`` has the name of one that another line has with another type.

    ``t_min``, ``t_max``: the least and the greatest time of the lines from the checkpoint before, which begins at
    ``after``, or from the file's start.
    """

    t: Time
    frames: Int64
    connections: list[OpenConnection]
    topic_ids: list[tuple[bytes, str]]
    partition_leaders: dict[str, dict[Int32, Int32]]
    broker_racks: dict[Int32, str | None]
    broker_endpoints: list[tuple[str, int, Int32]]
    t_min: Time = 0
    t_max: Time = LATEST
    after: Offset = 0


class RequestLine(msgspec.Struct):
    """Of a request's own line what a checkpoint leaves out."""

    t: Time = 0
    conn: Int64 | None = None
    data: bytes | None = None


LinesAt = Callable[[Iterable[int]], Mapping[int, bytes]]
ENCODER = msgspec.json.Encoder()
CHECKPOINTS = msgspec.json.Decoder(Checkpoint)
REQUEST_LINES = msgspec.json.Decoder(RequestLine)
FIRST_LINES = msgspec.json.Decoder(dict[str, msgspec.Raw])
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def checkpoint_line(state: ReadingState, ts: int, t_min: int, t_max: int, after: int) -> bytes:
    """The line that has a reader's state, with its end; the rest is as in :class:`Checkpoint`."""
    known = state.known
    leaders: dict[str, dict[int, int]] = {}
    for (topic, partition), leader in known.leaders.items():
        leaders.setdefault(topic, {})[partition] = leader
    connections = [
        OpenConnection(
            one.number, one.broker, one.rack, one.client, one.listener, list(map(waiting, one.asked.values()))
        )
        for one in state.connections.values()
    ]
    endpoints = [(host, port, broker) for (host, port), broker in known.endpoints.items()]
    told = Checkpoint(
        ts, state.frames, connections, list(known.topics.items()), leaders, known.racks, endpoints, t_min, t_max, after
    )
    return ENCODER.encode(told) + b"\n"


def waiting(asked: PendingRequest) -> WaitingRequest:
    if len(asked.data) > MAX_INLINE_BYTES and asked.offset != NOWHERE:
        return WaitingRequest(asked.frame, at=asked.offset)
    return WaitingRequest(asked.frame, asked.ts, asked.data)


def checkpoint_of(line: bytes) -> Checkpoint | None:
    """The checkpoint in a line, None if it holds none that can be read."""
    if not line.startswith(START):
        return None
    try:
        return CHECKPOINTS.decode(line)
    except UNREADABLE:
        return None


def take(checkpoint: Checkpoint, state: ReadingState, given: ObservedCluster, lines_at: LinesAt) -> None:
    """Go on from a checkpoint: what it says holds, whatever was read before.

    Args:
        state: changed in place. What it has already of the same is kept and not read anew.
        given: what the user says of the brokers, which stands where the capture says nothing.
        lines_at: the lines that begin at some offsets, of requests that the checkpoint does not repeat.
    """
    known, before = state.known, dict(state.connections)
    known.topics = dict(checkpoint.topic_ids)
    known.leaders = {
        (topic, partition): leader
        for topic, leaders in checkpoint.partition_leaders.items()
        for partition, leader in leaders.items()
    }
    known.racks = dict(given.racks)
    for broker, rack in checkpoint.broker_racks.items():
        known.name_rack(broker, rack)
    known.begin_anew()
    known.endpoints = given.endpoints | {(host, port): broker for host, port, broker in checkpoint.broker_endpoints}
    state.frames = checkpoint.frames
    state.connections.clear()
    wanted: list[tuple[CapturedConnection, WaitingRequest, PendingRequest | None]] = []
    for one in checkpoint.connections:
        old = before.get(one.conn)
        kept = {asked.frame: asked for asked in old.asked.values()} if old is not None and one.waiting else {}
        connection = state.connections[one.conn] = connection_of(one, old)
        wanted += [(connection, request, had(kept.get(request.frame), request)) for request in one.waiting]
    far = {request.at for _, request, asked in wanted if asked is None and request.at is not None}
    lines = lines_at(far) if far else {}
    for connection, request, asked in wanted:
        if asked is not None:
            connection.wait_for(asked)
        elif request.data is not None:
            request_frame(request.frame, request.t, connection, request.data, NOWHERE)
        elif request.at is not None:
            line = request_line(lines.get(request.at, b""))
            if line is not None and line.data is not None and line.conn == connection.number:
                request_frame(request.frame, line.t, connection, line.data, request.at)


def connection_of(one: OpenConnection, old: CapturedConnection | None) -> CapturedConnection:
    """The connection that a checkpoint has, without its requests; the one that is there if it is no other."""
    said = one.broker, one.rack, one.client, one.listener
    if old is None or (old.broker, old.rack, old.client, old.listener) != said:
        return CapturedConnection(one.conn, *said)
    old.wait_for_none()
    return old


def had(asked: PendingRequest | None, request: WaitingRequest) -> PendingRequest | None:
    """The request that is there already, if it is the one that the checkpoint has."""
    if asked is None:
        return None
    if request.data is None:
        return asked if asked.offset == request.at else None
    return asked if (asked.ts, asked.data) == (request.t, request.data) else None


def request_line(line: bytes) -> RequestLine | None:
    try:
        return REQUEST_LINES.decode(line)
    except UNREADABLE:
        return None


def nowhere(_: Iterable[int]) -> Mapping[int, bytes]:
    """Lines of a file in which nobody can go back."""
    return {}


def lines_in(path: str) -> LinesAt:
    """Reads the lines of a file that begin at some offsets; those that cannot be read are left out."""

    def lines_at(offsets: Iterable[int]) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        source: DecompressedFile | None = None
        try:
            for offset in sorted(offsets):
                if source is None or not 0 <= offset - source.position < NEAR_BYTES:
                    if source is not None:
                        source.close()
                    source = DecompressedFile(path, offset)
                source.read(offset - source.position)
                found[offset] = source.read_line(MAX_LINE_BYTES)
        except DamagedCapture:
            pass
        finally:
            if source is not None:
                source.close()
        return found

    return lines_at


def has_checkpoints(path: str) -> bool:
    """Whether a plain file of lines says that it holds checkpoints."""
    try:
        with DecompressedFile(path) as source:
            first = FIRST_LINES.decode(source.read_line(MAX_HEAD_BYTES))
            return msgspec.json.decode(first["format"], type=int) >= FIRST_FORMAT
    except (DamagedCapture, KeyError, *UNREADABLE):
        return False


def next_checkpoint(path: str, start: int, end: int) -> tuple[int, Checkpoint] | None:
    """The first checkpoint that begins at ``start`` or later and before ``end``, with its offset; None if none does."""
    try:
        with DecompressedFile(path, max(start - 1, 0)) as source:
            offset = source.position
            if start:
                offset += source.pass_line()
            while offset < end:
                try:
                    lines = source.whole_lines()
                except LineTooLong:
                    offset = source.position
                    continue
                if not lines:
                    return None
                for line in lines:
                    if offset >= end:
                        return None
                    if line.startswith(START) and (checkpoint := checkpoint_of(line)) is not None:
                        return offset, checkpoint
                    offset += len(line) + 1
    except DamagedCapture:
        return None
    return None


def last_checkpoint(path: str, before: int) -> int | None:
    """Where the last checkpoint begins before an offset; None if there is none."""
    end, size = before, BACK_BYTES
    while end > 0:
        start = max(0, end - size)
        found = at = next_checkpoint(path, start, end)
        while at is not None:
            found = at
            at = next_checkpoint(path, at[0] + 1, end)
        if found is not None:
            return found[0]
        end, size = start, size * 2
    return None
