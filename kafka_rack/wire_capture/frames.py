"""What reading a capture carries along: connections, requests that wait for their answers, what the cluster has told.

All of it pickles: a reader's state at any place of a file goes to the worker that reads on from there, so that a file
gives the same rows in one piece and in many.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, NamedTuple

import msgspec

from protocol.errors import ProtocolError
from protocol.registry import message_class

LENGTH_BYTES = 4
NO_CLIENT_ID = b"\0\x07\0\0"
"""ControlledShutdown v0, whose header has none."""
PRODUCE, FETCH, METADATA, UPDATE_METADATA, API_VERSIONS, SHARE_FETCH = 0, 1, 3, 6, 18, 78
CORRELATION_ID, CLIENT_ID_LENGTH = Struct(">i"), Struct(">h")
API_NAMES: dict[int, str] = {}
MOST_ASKED = 10_000
"""Requests without an answer that one connection may have before the oldest is given up."""


class Problem(NamedTuple):
    """What could not be read. ``offset`` counts bytes of the file, decompressed where it is compressed."""

    capture: str
    file: str
    offset: int
    reason: str


class RequestKind:
    """What requests of one API, version and client id have in common; there is one object of each.

    ``header_end`` is where the client id ends, behind which a flexible header has tagged fields; ``fits`` whether the
    client id is what its length says. The readers, and the last response, are kept here by who reads bodies.
    """

    __slots__ = (
        "api_key",
        "api_name",
        "api_version",
        "client_id",
        "fits",
        "head",
        "header_end",
        "last_response",
        "request_reader",
        "response_reader",
    )

    def __init__(self, head: bytes) -> None:
        self.head = head
        self.api_key = int.from_bytes(head[:2], "big", signed=True)
        self.api_version = int.from_bytes(head[2:4], "big", signed=True)
        self.api_name = API_NAMES.get(self.api_key) or name_of_api(self.api_key)
        self.header_end = len(head) + 4
        length = int.from_bytes(head[4:6], "big", signed=True)
        self.client_id = head[6:].decode("utf-8", "replace") if len(head) >= 6 and length == len(head) - 6 else None
        self.fits = self.client_id is not None or length == -1 or head == NO_CLIENT_ID
        self.request_reader: Any = None
        self.response_reader: Any = None
        self.last_response: tuple[bytes, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return kind_of, (self.head,)


KINDS: dict[bytes, RequestKind] = {}
MOST_KINDS = 10_000


def kind_of(head: bytes) -> RequestKind:
    """The kind of a request whose header, without its correlation id, is this."""
    kind = KINDS.get(head)
    if kind is None:
        if len(KINDS) >= MOST_KINDS:
            KINDS.clear()
        kind = KINDS[head] = RequestKind(head)
    return kind


class Asked(msgspec.Struct, gc=False):
    """A request that an answer may still come for; ``data`` is its frame, ``message`` its body once it was read.

    ``offset`` is where it stands in its file.
    """

    frame: int
    ts: int
    correlation_id: int
    data: bytes
    kind: RequestKind
    message: Any = None
    offset: int = 0

    @property
    def frame_bytes(self) -> int:
        """The frame with its length field."""
        return len(self.data) + LENGTH_BYTES


class Connection(msgspec.Struct, eq=False):
    """One client's connection to one broker; ``client`` is its address, ``host:port``."""

    number: int
    broker: int | None = None
    rack: str | None = None
    client: str | None = None
    listener: str | None = None
    asked: dict[int, Asked] = msgspec.field(default_factory=dict)


class Known(msgspec.Struct):
    """What the frames so far have told: names by topic id, leaders, the brokers' racks and where they listen."""

    topics: dict[bytes, str] = msgspec.field(default_factory=dict)
    leaders: dict[tuple[str, int], int] = msgspec.field(default_factory=dict)
    racks: dict[int, str | None] = msgspec.field(default_factory=dict)
    endpoints: dict[tuple[str, int], int] = msgspec.field(default_factory=dict)

    def name_rack(self, broker_id: int, rack: str | None) -> None:
        """Metadata v0 knows no racks, nor do brokers that speak as 0.9 did: no rack takes back none that was named."""
        if rack is not None or broker_id not in self.racks:
            self.racks[broker_id] = rack


class Frame(msgspec.Struct, gc=False):
    """One frame without its length. ``asked`` is the request itself, or the one that a response answers, if known.

    ``index`` counts the capture's frames from 0, ``ts`` is in microseconds since 1970, ``offset`` is the file's.
    ``passed_over`` are earlier requests that no answer will come for.
    """

    index: int
    ts: int
    connection: Connection
    is_request: bool
    data: bytes
    asked: Asked | None
    correlation_id: int | None
    error: str | None = None
    offset: int = 0
    passed_over: tuple[Asked, ...] = ()


class State(msgspec.Struct):
    """Where reading stands."""

    capture: str = ""
    frames: int = 0
    connections: dict[int, Connection] = msgspec.field(default_factory=dict)
    known: Known = msgspec.field(default_factory=Known)

    def frame(self, ts: int, connection: Connection, is_request: bool, data: bytes, offset: int = 0) -> Frame:
        """The next frame, joined to what it answers."""
        index = self.frames
        self.frames += 1
        if is_request:
            return request_frame(index, ts, connection, data, offset)
        if len(data) < 4:
            reason = f"a response of {len(data)} bytes, but its correlation id takes 4"
            return Frame(index, ts, connection, False, data, None, None, reason, offset)
        (correlation_id,) = CORRELATION_ID.unpack_from(data)
        waiting = connection.asked
        asked = waiting.pop(correlation_id, None)
        if asked is None:
            reason = f"no request with correlation id {correlation_id} on connection {connection.number}"
            return Frame(index, ts, connection, False, data, None, correlation_id, reason, offset)
        if not waiting:
            return Frame(index, ts, connection, False, data, asked, correlation_id, None, offset)
        passed_over: list[Asked] = []
        while waiting:  # brokers answer in order, so what was asked before will not be answered any more
            first = next(iter(waiting.values()))
            if first.frame > asked.frame:
                break
            passed_over.append(waiting.pop(first.correlation_id))
        return Frame(index, ts, connection, False, data, asked, correlation_id, None, offset, tuple(passed_over))


def request_frame(index: int, ts: int, connection: Connection, data: bytes, offset: int) -> Frame:
    """A request, noted with its connection where an answer is to come."""
    size = len(data)
    if size < 8:
        reason = f"a request of {size} bytes, but its header takes 8 at least"
        return Frame(index, ts, connection, True, data, None, None, reason, offset)
    head = head_of(data)
    kind = KINDS.get(head) or kind_of(head)
    (correlation_id,) = CORRELATION_ID.unpack_from(data, 4)
    asked = Asked(index, ts, correlation_id, data, kind, None, offset)
    if kind.api_key or acks_of(data, kind.api_version, kind.header_end) != 0:
        waiting = connection.asked
        waiting.pop(correlation_id, None)  # an id that comes again goes to the end
        waiting[correlation_id] = asked
        if len(waiting) > MOST_ASKED:
            waiting.pop(next(iter(waiting)))
    return Frame(index, ts, connection, True, data, asked, correlation_id, None, offset)


def head_of(data: bytes) -> bytes:
    """A request's header without its correlation id; of a client id that does not fit only its length."""
    if len(data) < 10 or data.startswith(NO_CLIENT_ID):
        return data[:4]
    (length,) = CLIENT_ID_LENGTH.unpack_from(data, 8)
    return data[:4] + data[8 : 10 + length] if 0 < length <= len(data) - 10 else data[:4] + data[8:10]


def acks_of(data: bytes, version: int, start: int) -> int | None:
    """The acks of a Produce request, without reading the rest; None where they are not to be found."""
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


def name_of_api(api_key: int) -> str:
    """The API's name, as ``Fetch``; ``unknown`` for a key that no API has.

    >>> name_of_api(3), name_of_api(9999)
    ('Metadata', 'unknown')
    """
    name = API_NAMES.get(api_key)
    if name is None:
        try:
            name = str(message_class(api_key, "request").name).removesuffix("Request")
        except ProtocolError:
            name = "unknown"
        API_NAMES[api_key] = name
    return name
