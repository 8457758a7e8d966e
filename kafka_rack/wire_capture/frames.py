"""State while a capture is read: connections, unanswered requests, facts that the cluster has reported."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

import msgspec

from protocol.errors import ProtocolError
from protocol.registry import api_key_of, message_class

LENGTH_BYTES = 4
MIN_REQUEST_BYTES, MIN_RESPONSE_BYTES = 8, 4
NO_CLIENT_ID = b"\0\x07\0\0"
"""ControlledShutdown v0, whose header has none."""
PRODUCE, FETCH, METADATA, UPDATE_METADATA, API_VERSIONS = 0, 1, 3, 6, 18
SHARE_FETCH = api_key_of("ShareFetch")
CORRELATION_ID, CLIENT_ID_LENGTH = Struct(">i"), Struct(">h")
MAX_ASKED, MAX_ASKED_BYTES = 10_000, 64 << 20
"""The most unanswered requests of one connection, and their bytes; beyond that the oldest are dropped."""
MAX_PROBLEMS_HELD = 10_000
"""The most problems that a reading holds before its caller can take them."""


class Problem(NamedTuple):
    """Bytes that could not be read. ``offset`` counts bytes of the file, decompressed where it is compressed."""

    capture: str
    file: str
    offset: int
    reason: str


class RequestKind:
    """The properties that requests of one API, version and client id share; there is one object of each.

    ``header_end`` is where the client id ends, after which a flexible header has tagged fields; ``fits`` is true if the
    client id has the length that the header says. ``bodies`` stores the readers of bodies here.
    """

    def __init__(self, head: bytes) -> None:
        self.head = head
        self.api_key = int.from_bytes(head[:2], "big", signed=True)
        self.api_version = int.from_bytes(head[2:4], "big", signed=True)
        self.api_name = name_of_api(self.api_key)
        self.header_end = len(head) + 4
        length = int.from_bytes(head[4:6], "big", signed=True)
        self.client_id = head[6:].decode("utf-8", "replace") if len(head) >= 6 and length == len(head) - 6 else None
        self.fits = self.client_id is not None or length == -1 or head == NO_CLIENT_ID
        self.request_reader: Any = None
        self.response_reader: Any = None


KINDS: dict[bytes, RequestKind] = {}
LONG_HEAD_BYTES = 1 << 10
MAX_KINDS, MAX_KINDS_BYTES = 10_000, 16 << 20


def kind_of(head: bytes) -> RequestKind:
    """The kind of a request whose header, without its correlation id, is this."""
    kind = KINDS.get(head)
    if kind is None:
        if len(KINDS) >= MAX_KINDS or (len(head) > LONG_HEAD_BYTES and sum(map(len, KINDS)) > MAX_KINDS_BYTES):
            KINDS.clear()
        kind = KINDS[head] = RequestKind(head)
    return kind


class PendingRequest(msgspec.Struct, gc=False):
    """A request that an answer may still come for; ``data`` is its frame, ``message`` its body once it was read."""

    frame: int
    ts: int
    correlation_id: int
    data: bytes
    kind: RequestKind
    message: Any = None

    @property
    def frame_bytes(self) -> int:
        """The frame with its length field."""
        return len(self.data) + LENGTH_BYTES


class CapturedConnection(msgspec.Struct, eq=False, gc=False):
    """One client's connection to one broker; ``client`` is its address, ``host:port``, ``server`` where it went.

    ``asked`` are the requests that wait, by correlation id and in their order, of ``asked_bytes``.
    """

    number: int
    broker: int | None = None
    rack: str | None = None
    client: str | None = None
    listener: str | None = None
    asked: dict[int, PendingRequest] = msgspec.field(default_factory=dict)
    asked_bytes: int = 0
    server: tuple[str, int] | None = None

    @property
    def name(self) -> str:
        """The connection's name in problems: of lines its number, of packets its client."""
        return self.client if self.server is not None and self.client is not None else str(self.number)

    def wait_for(self, asked: PendingRequest) -> tuple[PendingRequest, ...]:
        """Store a request that expects an answer; returns the requests that are dropped for it."""
        waiting = self.asked
        before = waiting.pop(asked.correlation_id, None)  # an id that comes again goes to the end
        if before is not None:
            self.asked_bytes -= len(before.data)
        waiting[asked.correlation_id] = asked
        self.asked_bytes += len(asked.data)
        if self.asked_bytes <= MAX_ASKED_BYTES and len(waiting) <= MAX_ASKED:
            return ()
        given_up: list[PendingRequest] = []
        while (self.asked_bytes > MAX_ASKED_BYTES or len(waiting) > MAX_ASKED) and len(waiting) > 1:
            oldest = waiting.pop(next(iter(waiting)))
            self.asked_bytes -= len(oldest.data)
            given_up.append(oldest)
        return tuple(given_up)


Fact = tuple[str, Any, Any]
"""The field of ``ObservedCluster`` that it is in, its key and value."""
NAMES = ("racks", "topics")
UNREPORTED = object()


class ObservedCluster(msgspec.Struct, gc=False):
    """The cluster as reported so far: names by topic id, leaders, replicas in sync, brokers' racks and addresses.

    ``changes`` counts the reports of something new, ``named`` those of topics and racks: what follows from the facts
    holds until these change. ``noted`` takes all that is reported, if it is a list.
    """

    topics: dict[bytes, str] = msgspec.field(default_factory=dict)
    leaders: dict[tuple[str, int], int] = msgspec.field(default_factory=dict)
    in_sync: dict[tuple[str, int], tuple[int, ...]] = msgspec.field(default_factory=dict)
    racks: dict[int, str | None] = msgspec.field(default_factory=dict)
    endpoints: dict[tuple[str, int], int] = msgspec.field(default_factory=dict)
    changes: int = 0
    named: int = 0
    noted: list[Fact] | None = None

    def name_rack(self, broker_id: int, rack: str | None) -> None:
        """Metadata v0 knows no racks, nor do brokers that speak as 0.9 did: no rack takes back none that was named."""
        if rack is not None or broker_id not in self.racks:
            self.note("racks", broker_id, rack)

    def name_endpoint(self, host: str, port: int, broker_id: int) -> None:
        self.note("endpoints", (host, port), broker_id)

    def name_topic(self, topic_id: bytes, name: str) -> None:
        self.note("topics", topic_id, name)

    def name_leaders(self, topic: str, leaders: Iterable[tuple[int, int]]) -> None:
        for partition, leader in leaders:
            self.note("leaders", (topic, partition), leader)

    def name_in_sync(self, topic: str, partition: int, replicas: tuple[int, ...]) -> None:
        self.note("in_sync", (topic, partition), replicas)

    def note(self, kind: str, key: Any, value: Any) -> None:
        """Store a fact; one that was stored before is no change."""
        facts = getattr(self, kind)
        if self.noted is not None:
            self.noted.append((kind, key, value))
        if facts.get(key, UNREPORTED) != value:
            facts[key] = value
            self.changes += 1
            if kind in NAMES:
                self.named += 1


class Frame(msgspec.Struct, gc=False):
    """One frame without its length. ``asked`` is the request itself, or the one that a response answers, if known.

    ``index`` counts the capture's frames from 0, ``ts`` is in microseconds since 1970, ``offset`` is the file's.
    ``passed_over`` are earlier requests that no answer will come for, or that a request was too much beside.
    """

    index: int
    ts: int
    connection: CapturedConnection
    is_request: bool
    data: bytes
    asked: PendingRequest | None
    correlation_id: int | None
    error: str | None = None
    offset: int = 0
    passed_over: tuple[PendingRequest, ...] = ()

    @property
    def fault(self) -> str | None:
        """The problem if earlier requests were dropped for this one."""
        if not self.is_request or not self.passed_over or self.index < 0:
            return None
        requests, given_up_bytes = len(self.passed_over), sum(len(asked.data) for asked in self.passed_over)
        return (
            f"connection {self.connection.name} has too many requests that wait for their answers: {requests} of "
            f"{given_up_bytes} bytes are given up, since at most {MAX_ASKED} of {MAX_ASKED_BYTES} bytes are kept"
        )


def no_frame() -> Frame:
    """A frame with index -1 that brings nothing but a moment in which problems can be taken."""
    return Frame(-1, 0, CapturedConnection(-1), True, b"", None, None)


class ReadingState(msgspec.Struct, gc=False):
    """The state of a reading: the capture, its connections, the known facts about the cluster, the number of frames."""

    capture: str = ""
    frames: int = 0
    connections: dict[int, CapturedConnection] = msgspec.field(default_factory=dict)
    known: ObservedCluster = msgspec.field(default_factory=ObservedCluster)

    def frame(self, ts: int, connection: CapturedConnection, is_request: bool, data: bytes, offset: int = 0) -> Frame:
        """The next frame, joined to the request that it answers."""
        index = self.frames
        self.frames += 1
        if is_request:
            return request_frame(index, ts, connection, data, offset)
        if len(data) < MIN_RESPONSE_BYTES:
            reason = f"a response of {len(data)} bytes, but its correlation id takes {MIN_RESPONSE_BYTES}"
            return Frame(index, ts, connection, False, data, None, None, reason, offset)
        (correlation_id,) = CORRELATION_ID.unpack_from(data)
        waiting = connection.asked
        asked = waiting.pop(correlation_id, None)
        if asked is None:
            reason = f"no request with correlation id {correlation_id} on connection {connection.name}"
            return Frame(index, ts, connection, False, data, None, correlation_id, reason, offset)
        if not waiting:
            connection.asked_bytes = 0
            return Frame(index, ts, connection, False, data, asked, correlation_id, None, offset)
        connection.asked_bytes -= len(asked.data)
        passed_over: list[PendingRequest] = []
        while waiting:  # brokers answer in order, so what was asked before will not be answered any more
            first = next(iter(waiting.values()))
            if first.frame > asked.frame:
                break
            connection.asked_bytes -= len(first.data)
            passed_over.append(waiting.pop(first.correlation_id))
        return Frame(index, ts, connection, False, data, asked, correlation_id, None, offset, tuple(passed_over))


def request_frame(index: int, ts: int, connection: CapturedConnection, data: bytes, offset: int = 0) -> Frame:
    """A request; its connection stores it if it expects an answer."""
    size = len(data)
    if size < MIN_REQUEST_BYTES:
        reason = f"a request of {size} bytes, but its header takes {MIN_REQUEST_BYTES} at least"
        return Frame(index, ts, connection, True, data, None, None, reason, offset)
    head = head_of(data)
    kind = KINDS.get(head) or kind_of(head)
    (correlation_id,) = CORRELATION_ID.unpack_from(data, 4)
    asked = PendingRequest(index, ts, correlation_id, data, kind)
    given_up: tuple[PendingRequest, ...] = ()
    if kind.api_key or acks_of(data, kind.api_version, kind.header_end) != 0:
        given_up = connection.wait_for(asked)
    return Frame(index, ts, connection, True, data, asked, correlation_id, None, offset, given_up)


def head_of(data: bytes) -> bytes:
    """A request's header without its correlation id; with only the length of a client id that does not fit."""
    if len(data) < 10 or data.startswith(NO_CLIENT_ID):
        return data[:4]
    (length,) = CLIENT_ID_LENGTH.unpack_from(data, 8)
    return data[:4] + data[8 : 10 + length] if 0 < length <= len(data) - 10 else data[:4] + data[8:10]


def acks_of(data: bytes, version: int, start: int) -> int | None:
    """The acks of a Produce request, without reading the rest; None if they cannot be found."""
    if version >= 9:
        if data[start : start + 1] != b"\0":  # tagged fields in a header are for later versions
            return None
        start += 1
        size = data[start] if start < len(data) else 0
        if size > 127:
            return None
        start += max(size, 1)
    elif version >= 3:
        length = int.from_bytes(data[start : start + 2], "big", signed=True)
        start += 2 + max(length, 0)
    if start + 2 > len(data):
        return None
    return int.from_bytes(data[start : start + 2], "big", signed=True)


@cache
def name_of_api(api_key: int) -> str:
    """The API's name, as ``Fetch``; ``unknown`` for a key that no API has.

    >>> name_of_api(3), name_of_api(9999)
    ('Metadata', 'unknown')
    """
    try:
        return str(message_class(api_key, "request").name).removesuffix("Request")
    except ProtocolError:
        return "unknown"
