"""Finds Kafka's frames in bytes whose beginning was not captured, and the side of a connection that sends requests.

Few bytes distinguish a header from other data: the response to a client's third request looks like Produce version 3.
So a place counts only if it has a client id, or if the whole frame decodes as what its header says.
"""

from __future__ import annotations

from functools import cache
from itertools import takewhile

from kafka_rack.wire_capture.bodies import read_response
from kafka_rack.wire_capture.frames import API_VERSIONS, CapturedConnection, PendingRequest, RequestKind, head_of
from kafka_rack.wire_capture.reassembly import Direction
from kafka_rack.wire_capture.segments import ACK, SYN, Endpoint, TcpSegment
from protocol.codec import codec
from protocol.errors import ProtocolError
from protocol.headers import read_request_header
from protocol.registry import message_class

MAX_FRAME_BYTES = 128 << 20
NEWEST_API_VERSIONS = 32
MAX_LEFT_OVER = 3
"""Bytes after a request's end that some client sends: librdkafka's null array of four bytes, where one would do."""
REQUEST_HEAD_BYTES = 14


def opening_of(segments: list[TcpSegment]) -> TcpSegment | None:
    """The SYN that opens a connection."""
    return next((one for one in segments if one.flags & (SYN | ACK) == SYN), None)


def first_bytes(segments: list[TcpSegment], source: Endpoint) -> bytes:
    """The bytes that one side has sent without a hole, from its SYN or else its first segment on."""
    own = sorted((one for one in segments if one.source == source), key=lambda one: not one.flags & SYN)
    direction = Direction()
    pieces = [piece for one in own for piece in direction.take(one)]
    return b"".join(piece.data for piece in takewhile(lambda piece: not piece.gap, pieces))


def asks(segments: list[TcpSegment], source: Endpoint) -> bool | None:
    """True if one side's bytes show that it sends requests; None if that takes more of them."""
    opening = opening_of(segments)
    if opening is not None and opening.source != source:
        return False
    data = first_bytes(segments, source)
    if opening is not None:
        if len(data) < REQUEST_HEAD_BYTES:  # its first segment comes late, or was lost
            return convinces(segments[-1].data, 0) or None
        return convinces(data, 0) if plausible_request(data, 0) else False
    if not segments or segments[-1].source != source:
        return None
    return convinces(segments[-1].data, 0) or find_request(data, None, None) is not None or None


def convinces(data: bytes | bytearray, at: int, client_id: str | None = None) -> bool | None:
    """True if a request begins here without doubt; None if that takes bytes that have not come yet.

    Args:
        client_id: that of the connection's other requests, where there are some.
    """
    if not plausible_request(data, at):
        return False
    end = at + 4 + int.from_bytes(data[at : at + 4], "big")
    if end <= len(data):
        return request_reads(bytes(data[at + 4 : end]))
    named = RequestKind(head_of(bytes(data[at + 4 : at + 4 + 300]))).client_id
    if not named or (client_id and named != client_id):
        return None
    return True


def request_reads(data: bytes) -> bool:
    """True if a whole frame is a request; of ApiVersions its header is enough, since clients ask for newer ones."""
    try:
        header, start = read_request_header(data)
        key, version = header.request_api_key, header.request_api_version
        if key == API_VERSIONS:
            return True
        _, end = codec(message_class(key, "request"), version).decode(data, start)
    except ProtocolError:
        return False
    return len(data) - end <= MAX_LEFT_OVER


def response_reads(data: bytes, asked: PendingRequest) -> bool:
    """True if a whole frame answers a request."""
    try:
        return read_response(asked, data)[1] == 0
    except ProtocolError:
        return False


@cache
def versions_of(api_key: int) -> tuple[int, int] | None:
    """The versions that a request of this API may have; None for an unknown API."""
    try:
        valid = message_class(api_key, "request").valid_versions
    except ProtocolError:
        return None
    if api_key == API_VERSIONS:
        return 0, max(valid.highest, NEWEST_API_VERSIONS)
    return valid.lowest, valid.highest


def plausible_request(data: bytes | bytearray, at: int, *, strict: bool = True) -> bool:
    """True if a request, length first, may begin here; ``strict``: its version is one that exists."""
    if len(data) < at + REQUEST_HEAD_BYTES:
        return False
    size = int.from_bytes(data[at : at + 4], "big")
    if not 10 <= size <= MAX_FRAME_BYTES:
        return size == 8 and data[at + 4 : at + 8] == b"\0\x07\0\0"
    versions = versions_of(int.from_bytes(data[at + 4 : at + 6], "big"))
    version = int.from_bytes(data[at + 6 : at + 8], "big")
    if not strict:
        return True
    if versions is None or not versions[0] <= version <= versions[1]:
        return False
    length = int.from_bytes(data[at + 12 : at + 14], "big", signed=True)
    if length < -1 or length + 10 > size:
        return False
    return bytes(data[at + 14 : at + 14 + max(length, 0)]).decode("utf-8", "replace").isprintable()


def find_request(buffer: bytes | bytearray, client_id: str | None, begins: int | None) -> int | None:
    """The place of the first certain request: it reads as one, or begins a segment and names a client."""
    for at in range(max(0, len(buffer) - REQUEST_HEAD_BYTES + 1)):
        if buffer[at] > MAX_FRAME_BYTES >> 24 or not plausible_request(buffer, at):
            continue
        whole = at + 4 + int.from_bytes(buffer[at : at + 4], "big") <= len(buffer)
        if (whole or at == begins) and convinces(buffer, at, client_id):
            return at
    return None


def find_response(buffer: bytearray, connection: CapturedConnection, begins: int | None) -> int | None:
    """The place of the first response to a waiting request: it begins a segment, or the bytes after it fit too."""
    best: int | None = None
    if begins is not None and names_a_request(buffer, begins, connection):
        best = begins
    for correlation_id in connection.asked:
        needle = correlation_id.to_bytes(4, "big", signed=True)
        at = buffer.find(needle, 4)
        while at >= 4 and (best is None or at - 4 < best):
            after = at + int.from_bytes(buffer[at - 4 : at], "big")
            long_enough = after >= at + 4
            if long_enough and (after == len(buffer) or names_a_request(buffer, after, connection)):
                best = at - 4
            at = buffer.find(needle, at + 1)
    return best


def names_a_request(buffer: bytearray, at: int, connection: CapturedConnection) -> bool:
    """True if a response to a request that waits may begin here."""
    if at + 8 > len(buffer):
        return False
    size = int.from_bytes(buffer[at : at + 4], "big")
    return (
        4 <= size <= MAX_FRAME_BYTES and int.from_bytes(buffer[at + 4 : at + 8], "big", signed=True) in connection.asked
    )
