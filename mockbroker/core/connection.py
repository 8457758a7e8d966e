"""One client's connection: splits its bytes into frames, runs one call at a time, returns answers; with backpressure.

Calls are answered in order, as in Kafka: the next frames wait while a call waits, while the client does not read its
answers, and while the connection is muted after an answer that throttles the client. Bytes that are not a frame end
this connection and no other.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import ClassVar

from mockbroker.call import Call, Outcome
from mockbroker.core.path import MIN_REQUEST_BYTES, CallPath
from mockbroker.session import Session
from protocol.errors import FrameError
from protocol.framing import FrameReader, few_pieces

MAX_UNREAD_BYTES = 1 << 20  # of frames after a waiting call; with more, the client is not read
MAX_IDLE, FIRST_BYTE = "connections.max.idle.ms", "connection.first.byte.timeout.ms"
WHOLE_REQUEST = "request.read.timeout.ms"
MAX_OUTPUT_BYTES = 1 << 18  # of unsent answers; with more, the next call waits


class ConnectionState(Enum):
    """The state of a connection."""

    READY = "ready"  # the next frame runs as soon as it is complete
    RUNNING = "running"  # frames run
    WAITING = "waiting"  # a call waits
    HELD = "held"  # too many answers are unsent: ``resume`` once they were taken
    MUTED = "muted"  # the client is throttled
    BLOCKED = "blocked"  # of a proxy: too many bytes wait for the real broker
    CLOSED = "closed"


READY, RUNNING, WAITING, HELD, MUTED, BLOCKED, CLOSED = ConnectionState  # Python 3.11 takes a while to look up each
HAS_NEXT_WAIT = (WAITING, HELD, MUTED, BLOCKED)


class Connection:
    """Frames in, frames out; no socket.

    ``take_output`` returns the bytes to send; ``on_output()`` is called for output that is not a result of ``receive``
    or ``resume``. ``closed`` is the reason for the connection's end, None while it is open. ``now_ms`` is the time of
    its last activity; ``owes_since_ms`` is when it began to wait for its first byte or the rest of a request, or None.
    """

    may_run: ClassVar[tuple[ConnectionState, ...]] = (READY, HELD)

    def __init__(self, path: CallPath, session: Session, *, on_output: Callable[[], None] = lambda: None) -> None:
        self.path, self.session, self.on_output = path, session, on_output
        self.state = READY
        self.closed: str | None = None
        self.now_ms = 0
        self.owes_since_ms: int | None = None
        self._call: Call | None = None  # the one that waits
        self._output: list[bytes] = []
        self._output_bytes = 0
        self._reader = FrameReader(path.cluster.settings["socket.request.max.bytes"], MIN_REQUEST_BYTES)
        path.connections[self] = None
        self._is_guarded = session.authenticator is not None
        if self._is_guarded:
            self._limit_frames()

    @property
    def is_held(self) -> bool:
        """True if the next call waits because too many answers are unsent."""
        return self.state is HELD

    @property
    def is_full(self) -> bool:
        """True if too many bytes wait for a call or for answers, so that the client should not be read."""
        return self._reader.pending > MAX_UNREAD_BYTES and self.state in HAS_NEXT_WAIT

    @property
    def is_busy(self) -> bool:
        """True if a call of the client waits, or frames of it wait for answers to be sent."""
        return self.state is WAITING or self.state is HELD

    @property
    def unread_bytes(self) -> int:
        """The number of received bytes that are not yet part of a call."""
        return self._reader.pending

    def receive(self, data: bytes, now_ms: int) -> None:
        """Receive bytes from the client, split anywhere; ``take_output`` then returns the immediate answers."""
        if self.state is CLOSED:
            return
        self.now_ms = now_ms
        if self.owes_since_ms is not None and not self._reader.pending:
            self.owes_since_ms = now_ms  # the first byte has come
        self._reader.add(data)
        self._run()

    def resume(self, now_ms: int) -> None:
        """Run the frames that waited for output to be taken."""
        self.now_ms = max(self.now_ms, now_ms)
        self._run()

    def stopped(self) -> None:
        """The client or the broker has gone: drop a waiting call, and read and answer no more."""
        self._close("one side has gone")
        self.on_output = lambda: None  # else it and its socket would reference each other
        self.path.forget(self)

    def end(self, reason: str) -> None:
        """End the connection for this reason; drop a waiting call."""
        self._close(reason)
        self.on_output()

    def refuse(self, reason: str) -> None:
        """End the connection because of a limit, which observers see; drop a waiting call."""
        self._close(reason)
        self.path.refuse(self.session, reason, self.now_ms, self._finish)
        self.on_output()

    def end_if_late(self, now_ms: int) -> None:
        """End a connection that was idle, or whose first byte or rest of a request has been missing, for too long."""
        settings, since_ms = self.path.cluster.settings, self.owes_since_ms
        if 0 <= settings[MAX_IDLE] < now_ms - self.now_ms:
            self.now_ms = now_ms
            self.end(f"nothing was heard of it for {MAX_IDLE}")
        elif since_ms is not None and self.state is not CLOSED:
            limit, found = FIRST_BYTE, "nothing came for"
            if self._reader.pending:
                limit, found = WHOLE_REQUEST, "a request was not whole after"
            late_ms = now_ms - since_ms
            if late_ms > settings[limit]:
                self.refuse(f"{found} {late_ms} ms, and {limit} is {settings[limit]}")

    def unmute(self, now_ms: int) -> None:
        """Run the frames that waited for the end of a throttle."""
        if self.state is MUTED:
            self.state = READY if self._call is None else WAITING
            self.resume(now_ms)
            self.on_output()

    def _close(self, reason: str | None) -> None:
        if self.state is not CLOSED:
            self.state, self.closed = CLOSED, reason
        if self._call is not None:
            self.path.drop(self._call, self.now_ms)
            self._call = None

    def take_output(self) -> list[bytes]:
        """The bytes to send, in few pieces: small ones are joined, large ones are not copied."""
        output, self._output, self._output_bytes = self._output, [], 0
        return few_pieces(output)

    def _run(self) -> None:
        """Run the complete frames, until one waits, too many answers are unsent or none is left."""
        if self.state not in self.may_run:
            return
        self.state = RUNNING
        try:
            while self.state is RUNNING:
                if (waits := self._waits_as()) is not None:
                    self.state = waits
                    return
                try:
                    frame = self._reader.next_frame()
                except FrameError as error:
                    self._wait_for(self.path.refuse_frame(self.session, str(error), self.now_ms, self._finish))
                    return
                if frame is None:
                    if self.owes_since_ms is None and self._reader.pending:
                        self.owes_since_ms = self.now_ms
                    return
                self.owes_since_ms = None
                self._wait_for(self._take(frame))
        finally:
            if self.state is RUNNING:
                self.state = READY

    def _waits_as(self) -> ConnectionState | None:
        """The state in which the next frame has to wait; None if it can be taken."""
        return HELD if self._output_bytes > MAX_OUTPUT_BYTES else None

    def _take(self, frame: bytes) -> Call | None:
        """Take a frame; returns its call if that waits."""
        return self.path.take(frame, self.session, self.now_ms, self._finish)

    def _wait_for(self, call: Call | None) -> None:
        if call is not None:
            self._call, self.state = call, WAITING

    def _limit_frames(self) -> None:
        """Set the limit of the next frame's size: that of a mechanism's tokens, or of requests."""
        authenticator, reader = self.session.authenticator, self._reader
        self._is_guarded = authenticator is not None
        reader.min_frame_bytes = MIN_REQUEST_BYTES
        if authenticator is None or authenticator.is_complete:
            reader.max_frame_bytes = self.path.cluster.settings["socket.request.max.bytes"]
        else:
            reader.max_frame_bytes = authenticator.security.max_receive_bytes
            if authenticator.takes_bare_tokens:
                reader.min_frame_bytes = 0

    def _finish(self, outcome: Outcome) -> None:
        self._call = None
        if self._is_guarded:
            self._limit_frames()
        if self.state is CLOSED:
            return
        is_later = self.state is not RUNNING
        injected = outcome.call.injected
        if outcome.reason is not None:
            self._close(outcome.reason)
        elif injected is not None and injected.mute_ms:
            self._mute(outcome.at_ms + injected.mute_ms)
        elif is_later:
            self.state = READY
        self._output += outcome.output
        self._output_bytes += sum(map(len, outcome.output))
        if is_later:
            self.now_ms = max(self.now_ms, outcome.at_ms)
            self._run()
            self.on_output()

    def _mute(self, until_ms: int) -> None:
        self.state = MUTED
        self.path.muted.set(self, until_ms)
