"""Kafka's frames out of TCP: finds the broker's side and the start of frames, also after missing bytes.

A connection is Kafka's if the user named its server port, if another connection to the same server was recognised, or
if the first bytes of one side are a request. Reading that begins in the middle, or continues after a gap, looks for the
next certain start of a frame: a plausible request header, or for responses the correlation id of a waiting request. The
bytes before it are reported as a problem, never guessed.

A connection that both sides have closed is dropped ``LINGER_BYTES`` of the file after its last packet.
"""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

import msgspec

from kafka_rack.wire_capture.frames import (
    CapturedConnection,
    Frame,
    ObservedCluster,
    Problem,
    ReadingState,
)
from kafka_rack.wire_capture.reassembly import Direction, InOrderBytes
from kafka_rack.wire_capture.recognition import (
    MAX_FRAME_BYTES,
    asks,
    find_request,
    find_response,
    opening_of,
    plausible_request,
    request_reads,
    response_reads,
)
from kafka_rack.wire_capture.segments import ACK, FIN, RST, SYN, Endpoint, TcpSegment, address_text

LINGER_BYTES = 16 << 20
"""Within this distance of a closed connection's last packet, further packets still belong to it."""
MAX_UNDECIDED, MAX_UNDECIDED_BEHIND_ITS_OPENING = 64, 1000
MAX_UNDECIDED_BYTES = 64 << 20
MAX_NUMBER = (1 << 62) - 1
MAX_HELD, MAX_HELD_BYTES = 1000, 64 << 20
"""Responses whose requests may come later, of one connection, and their bytes."""
FIRST, SECOND, BOTH = 1, 2, 3
"""The ends of a connection, by their order."""


class PartialFrame(msgspec.Struct, gc=False):
    """The bytes of requests or of responses that are not a whole frame yet.

    ``synced``: the next byte begins a frame; ``on_trial``: as far as its header shows. ``skipped`` counts the bytes
    before the next whole frame.
    """

    side: str
    direction: Direction = msgspec.field(default_factory=Direction)
    buffer: bytearray = msgspec.field(default_factory=bytearray)
    synced: bool = False
    on_trial: bool = False
    skipped: int = 0

    @property
    def is_request(self) -> bool:
        return self.side == "requests"

    def skip(self, count: int) -> None:
        self.skipped += count
        del self.buffer[:count]


class TcpConnection(msgspec.Struct, gc=False):
    """A TCP connection; ``client`` and ``server`` once they are known.

    ``finished``: which ends have closed it; ``dropped``: its packets have ended.
    """

    number: int
    client: Endpoint | None = None
    server: Endpoint | None = None
    connection: CapturedConnection | None = None
    undecided: list[TcpSegment] = msgspec.field(default_factory=list)
    undecided_bytes: int = 0
    requests: PartialFrame = msgspec.field(default_factory=lambda: PartialFrame("requests"))
    responses: PartialFrame = msgspec.field(default_factory=lambda: PartialFrame("responses"))
    held: list[tuple[int, int, bytes]] = msgspec.field(default_factory=list)
    held_bytes: int = 0
    client_id: str | None = None
    other: bool = False
    finished: int = 0
    dropped: bool = False


FollowedConnection = tuple[TcpConnection, bool | None]
"""A connection, and whether the first of two ends is the client; None: it is not Kafka's."""


class TcpConnections(msgspec.Struct):
    """All connections of a file so far.

    ``ports``: those of brokers, empty to recognise them. ``brokers``: the cluster as the user and the whole file
    describe it, once that is known. ``closed``: the last packets of connections that both sides have closed and that
    miss nothing, in their order. ``servers``: the brokers' ends. ``problems`` takes what cannot be read of the file at
    ``path``.
    """

    state: ReadingState
    problems: list[Problem]
    ports: frozenset[int] = frozenset()
    brokers: ObservedCluster | None = None
    conversations: dict[tuple[Endpoint, Endpoint], TcpConnection] = msgspec.field(default_factory=dict)
    closed: dict[tuple[Endpoint, Endpoint], int] = msgspec.field(default_factory=dict)
    servers: set[Endpoint] = msgspec.field(default_factory=set)
    path: str = ""

    def problem(self, offset: int, reason: str) -> None:
        self.problems.append(Problem(self.state.capture, self.path, offset, reason))

    def take(self, segment: TcpSegment) -> Iterator[Frame]:
        """The frames that a segment completes."""
        yield from self.pass_offset(segment.offset)
        pair = (segment.source, segment.target)
        key = pair if segment.source <= segment.target else (segment.target, segment.source)
        found = self.conversations.get(key)
        if found is not None and segment.flags & (SYN | ACK) == SYN:
            is_new = is_new_connection if found.server is not None else is_other
            if is_new(found, segment):  # the same ports again
                yield from self.drop(key)
                found = None
        if found is None:
            if not segment.size and not segment.flags & SYN:
                return  # the end of an unseen connection, or a segment after an end
            found = self.conversations[key] = TcpConnection(self.number_for(key, segment.ts))
        yield from self.follow(found, segment)
        if segment.flags & RST:
            found.finished = BOTH
        elif segment.flags & FIN:
            found.finished |= FIRST if segment.source == key[0] else SECOND
        if found.finished == BOTH:
            yield from self.close(key, found, segment.offset)

    def number_for(self, key: tuple[Endpoint, Endpoint], ts: int) -> int:
        """A number for a new connection, by its time and ends: the same whichever files are read with it."""
        number = (ts << 11 | crc32(repr(key).encode()) & 0x7FF) & MAX_NUMBER
        while number in self.state.connections:
            number += 1
        return number

    def close(self, key: tuple[Endpoint, Endpoint], found: TcpConnection, offset: int) -> Iterator[Frame]:
        """Record the last packet so far of a connection that both sides have closed."""
        self.closed.pop(key, None)
        if found.requests.direction.waiting or found.responses.direction.waiting:
            return
        yield from self.release(found)
        self.closed[key] = offset

    def pass_offset(self, offset: int) -> Iterator[Frame]:
        """Drop the closed connections whose last packets are far before an offset; yields frames without an index."""
        while self.closed:
            key, closed_at = next(iter(self.closed.items()))
            if closed_at + LINGER_BYTES >= offset:
                return
            yield from self.drop(key)

    def drop(self, key: tuple[Endpoint, Endpoint]) -> Iterator[Frame]:
        """Yield the frames that a connection still holds, and remove it."""
        found = self.conversations.pop(key)
        found.dropped = True
        self.closed.pop(key, None)
        yield from self.end(found)
        if self.state.connections.get(found.number) is found.connection:
            self.state.connections.pop(found.number, None)

    def follow(self, found: TcpConnection, segment: TcpSegment) -> Iterator[Frame]:
        """Yield the frames that a connection's next segment completes."""
        if found.other:
            return
        ready = [segment]
        if found.server is None:
            if segment.size or segment.flags & SYN:
                found.undecided.append(segment)
                found.undecided_bytes += len(segment.data)
            if not self.decide(found, segment):
                opened = opening_of(found.undecided) is not None
                most = MAX_UNDECIDED_BEHIND_ITS_OPENING if opened else MAX_UNDECIDED
                if len(found.undecided) > most or found.undecided_bytes > MAX_UNDECIDED_BYTES:
                    found.other = True
                if found.other:
                    found.undecided.clear()
                return
            ready, found.undecided = found.undecided, []
        for one in ready:
            yield from self.feed(found, one)

    def decide(self, found: TcpConnection, segment: TcpSegment) -> bool:
        """Decide which end is the broker, if the segments so far show it."""
        for server, client in ((segment.target, segment.source), (segment.source, segment.target)):
            if self.ports:
                known = server[1] in self.ports and client[1] not in self.ports
            else:
                known = server in self.servers and client not in self.servers
            if known:
                self.set_ends(found, client, server)
                return True
        if self.ports:
            found.other = True
        elif segment.data:
            shown = asks(found.undecided, segment.source)
            if shown:
                self.servers.add(segment.target)
                self.set_ends(found, segment.source, segment.target)
                return True
            opening = opening_of(found.undecided)
            found.other = shown is False and opening is not None and opening.source == segment.source
        return False

    def set_ends(self, found: TcpConnection, client: Endpoint, server: Endpoint) -> None:
        found.client, found.server = client, server
        name = f"[{client[0]}]:{client[1]}" if ":" in client[0] else f"{client[0]}:{client[1]}"
        found.connection = self.state.connections[found.number] = CapturedConnection(
            found.number, client=name, server=server
        )

    def feed(self, found: TcpConnection, segment: TcpSegment) -> Iterator[Frame]:
        from_client = segment.source == found.client
        half = found.requests if from_client else found.responses
        if segment.flags & SYN:
            half.synced, half.on_trial = True, False
        for piece in half.direction.take(segment):
            yield from self.bytes_came(found, half, piece)
        other = found.responses if from_client else found.requests
        for late in (half, other):
            for piece in late.direction.overdue(segment.ts):
                yield from self.bytes_came(found, late, piece)
        if segment.flags & RST or (segment.flags & FIN and not half.direction.waiting and not segment.size):
            yield from self.release(found)

    def bytes_came(self, found: TcpConnection, half: PartialFrame, piece: InOrderBytes) -> Iterator[Frame]:
        connection = found.connection
        assert connection is not None
        if connection.broker is None:
            self.name_broker(connection)
        if piece.gap:
            cut = f", within a frame of which {len(half.buffer)} bytes are here" if half.buffer else ""
            reason = f"{piece.gap} bytes of {half.side} on connection {connection.name} are missing{cut}"
            self.problem(piece.offset, reason)
            half.buffer.clear()
            half.synced = False
        begins = len(half.buffer)
        half.buffer += piece.data
        yield from self.bytes_read(found, half, piece, begins)

    def bytes_read(self, found: TcpConnection, half: PartialFrame, piece: InOrderBytes, begins: int) -> Iterator[Frame]:
        """Yield the whole frames in a half's buffer, to which a segment was added at ``begins``, and what waited."""
        yield from self.frames(found, half, piece, begins)
        if half.is_request and found.held:
            yield from self.release(found, only_asked=True)
        if half.is_request and not found.responses.synced and found.responses.buffer:
            yield from self.frames(found, found.responses, piece)

    def followed(self, source: bytes, source_port: int, target: bytes, target_port: int) -> FollowedConnection | None:
        """The connection of two ends, given by their addresses' bytes; None until it is known what it is."""
        ends = (address_text(source), source_port), (address_text(target), target_port)
        found = self.conversations.get(ends if ends[0] <= ends[1] else ends[::-1])
        if found is None or (found.server is None and not found.other):
            return None
        return found, None if found.other else ends[0] == found.client

    def changes(self) -> int:
        """The number of changes to what names the brokers."""
        return (self.brokers if self.brokers is not None else self.state.known).changes

    def name_broker(self, connection: CapturedConnection) -> None:
        """Set the broker of a connection, as far as the user or the frames name it."""
        assert connection.server is not None
        known = self.brokers if self.brokers is not None else self.state.known
        connection.broker = broker_at(known.endpoints, connection.server) if known.endpoints else None
        connection.rack = known.racks.get(connection.broker) if connection.broker is not None else None

    def frames(
        self, found: TcpConnection, half: PartialFrame, piece: InOrderBytes, begins: int | None = None
    ) -> Iterator[Frame]:
        """The whole frames in a half's buffer, to which a segment was added at ``begins``."""
        connection = found.connection
        assert connection is not None
        is_request, buffer = half.is_request, half.buffer
        while True:
            if not half.synced:
                if is_request:
                    at = find_request(buffer, found.client_id, begins)
                else:
                    at = find_response(buffer, connection, begins)
                begins = None
                if at is None:
                    keep = MAX_FRAME_BYTES if not is_request and found.requests.direction.waiting else 1 << 16
                    if len(buffer) > keep:
                        half.skip(len(buffer) - 13)
                    return
                half.skip(at)
                half.synced = half.on_trial = True
            if len(buffer) < 4:
                return
            size = int.from_bytes(buffer[:4], "big", signed=True)
            fits = (8 if is_request else 4) <= size <= MAX_FRAME_BYTES
            if not fits or (is_request and len(buffer) >= 14 and not plausible_request(buffer, 0, strict=False)):
                reason = f"no frame begins here on connection {connection.name}: {bytes(buffer[:14]).hex()}"
                self.problem(piece.offset, reason)
                half.synced = False
                half.skip(1)
                continue
            if len(buffer) < 4 + size:
                return
            data = bytes(buffer[4 : 4 + size])
            if half.on_trial:
                asked = connection.asked.get(int.from_bytes(data[:4], "big", signed=True))
                if not (request_reads(data) if is_request else asked is not None and response_reads(data, asked)):
                    half.synced = False
                    half.skip(1)
                    continue
                half.on_trial = False
            if half.skipped:
                place = f"on connection {connection.name} before the first whole frame"
                self.problem(piece.offset, f"{half.skipped} bytes of {half.side} {place}")
                half.skipped = 0
            del buffer[: 4 + size]
            for frame in self.whole_frame(found, connection, is_request, data, piece):
                if frame.passed_over and (fault := frame.fault) is not None:
                    self.problem(frame.offset, fault)
                yield frame

    def whole_frame(
        self, found: TcpConnection, connection: CapturedConnection, is_request: bool, data: bytes, piece: InOrderBytes
    ) -> Iterator[Frame]:
        """Yield a frame, unless it waits for its request."""
        if not is_request and int.from_bytes(data[:4], "big", signed=True) not in connection.asked:
            found.held.append((piece.ts, piece.offset, data))  # its request may have been captured later
            found.held_bytes += len(data)
            if len(found.held) > MAX_HELD or found.held_bytes > MAX_HELD_BYTES:
                yield from self.release(found)
        else:
            frame = self.state.frame(piece.ts, connection, is_request, data, piece.offset)
            if is_request and frame.asked is not None:
                found.client_id = frame.asked.kind.client_id
            yield frame

    def release(self, found: TcpConnection, *, only_asked: bool = False) -> Iterator[Frame]:
        """Yield the held responses: all, or ``only_asked``, those whose requests have come since."""
        held, found.held, found.held_bytes = found.held, [], 0
        for ts, offset, data in held:
            assert found.connection is not None
            if only_asked and int.from_bytes(data[:4], "big", signed=True) not in found.connection.asked:
                found.held.append((ts, offset, data))
                found.held_bytes += len(data)
            else:
                yield self.state.frame(ts, found.connection, False, data, offset)

    def end(self, found: TcpConnection) -> Iterator[Frame]:
        """Yield the frames that a connection still holds, at its end or the file's."""
        connection = found.connection
        if connection is None:
            return
        for half in (found.requests, found.responses):
            for piece in half.direction.give_up():
                yield from self.bytes_came(found, half, piece)
        yield from self.release(found)
        for half in (found.requests, found.responses):
            left = len(half.buffer) + half.skipped
            if left:
                self.problem(0, f"{left} bytes of {half.side} on connection {connection.name} are no whole frame")
                half.buffer.clear()
                half.skipped = 0
        if connection.asked:
            unanswered = tuple(connection.asked.values())
            connection.asked, connection.asked_bytes = {}, 0
            yield Frame(-1, unanswered[-1].ts, connection, True, b"", None, None, None, 0, unanswered)

    def finish(self) -> Iterator[Frame]:
        """The same for every connection, at the end of the file."""
        for found in self.conversations.values():
            yield from self.end(found)


def is_new_connection(found: TcpConnection, segment: TcpSegment) -> bool:
    """True if a SYN begins another connection, false if it repeats the one that opened this."""
    half = found.requests if segment.source == found.client else found.responses
    if half.direction.opened is None:
        return half.direction.following is not None or found.responses.direction.following is not None
    return half.direction.opened != segment.sequence


def is_other(found: TcpConnection, segment: TcpSegment) -> bool:
    """The same for a connection that is not Kafka's, or not yet known to be."""
    opening = opening_of(found.undecided)
    return found.other or (opening is not None and opening.sequence != segment.sequence)


def broker_at(endpoints: dict[tuple[str, int], int], server: Endpoint) -> int | None:
    """The broker that listens here: the one that the user names for the port, the one at this address, or the only
    one with this port, as on loopback, behind a proxy or under another name.
    """
    host, port = server
    for known in (("", port), (host, port)):
        if known in endpoints:
            return endpoints[known]
    brokers = {broker for (_, known_port), broker in endpoints.items() if known_port == port}
    return next(iter(brokers)) if len(brokers) == 1 else None
