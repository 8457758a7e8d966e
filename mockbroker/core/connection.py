"""One client's connection: its bytes cut into frames, one call at a time, the answers' bytes back, and back-pressure.

Calls are answered in order, as in Kafka: while one waits, or while the client does not read what it was answered, the
frames behind it wait too; and so they do while the connection is muted, after an answer that throttles the client.
What is not a frame ends this connection and no other.
"""

from __future__ import annotations

from collections.abc import Callable

from mockbroker.call import Call
from mockbroker.core.outcome import Ending, Outcome
from mockbroker.core.path import MIN_REQUEST_BYTES, CallPath
from mockbroker.session import Session
from protocol.errors import FrameError
from protocol.framing import FrameReader, few_pieces

MAX_UNREAD_BYTES = 1 << 20  # of frames behind a call that waits, before reading from the client stops
FIRST_BYTE, WHOLE_REQUEST = "connection.first.byte.timeout.ms", "request.read.timeout.ms"
MAX_OUTPUT_BYTES = 1 << 18  # of answers that were not sent, before the next call waits


class Connection:
    """Frames in, frames out; no socket.

    ``take_output`` gives what is to be sent; ``on_output()`` is called when there is something that neither ``receive``
    nor ``go_on`` led to. ``is_held`` is true while the next call waits since so much is to be sent: call ``go_on`` once
    that was taken. ``closed`` says why the connection is to end, None while it lives. ``now_ms`` is when anything was
    heard of it last; ``owes_since_ms`` is since when its client owes a first byte, or the rest of a request, None while
    it owes nothing.
    """

    __slots__ = (
        "closed",
        "is_held",
        "now_ms",
        "on_output",
        "path",
        "session",
        "owes_since_ms",
        "_call",
        "_is_guarded",
        "_is_muted",
        "_is_running",
        "_output",
        "_output_bytes",
        "_reader",
    )

    def __init__(self, path: CallPath, session: Session, *, on_output: Callable[[], None] = lambda: None) -> None:
        self.path, self.session, self.on_output = path, session, on_output
        self.closed: str | None = None
        self.is_held = False
        self.now_ms = 0
        self.owes_since_ms: int | None = None
        self._call: Call | None = None  # the one that waits
        self._is_muted = False  # a throttle's time is not over
        self._is_running = False
        self._output: list[bytes] = []
        self._output_bytes = 0
        self._reader = FrameReader(path.cluster.settings["socket.request.max.bytes"], MIN_REQUEST_BYTES)
        path.connections[self] = None
        self._is_guarded = session.authenticator is not None
        if self._is_guarded:
            self._limit_frames()

    @property
    def is_full(self) -> bool:
        """Whether enough frames wait behind a call or behind answers, so that no more should be read for now."""
        return self._reader.pending > MAX_UNREAD_BYTES and (self._call is not None or self.is_held or self._is_muted)

    @property
    def is_busy(self) -> bool:
        """Whether a call of the client's waits, or frames of it wait behind answers."""
        return self._call is not None or self.is_held

    @property
    def unread_bytes(self) -> int:
        """Bytes that came from the client and did not become calls yet."""
        return self._reader.pending

    def receive(self, data: bytes, now_ms: int) -> None:
        """Take bytes from the client, in any cut; answers that are there at once can be taken afterwards."""
        if self.closed is not None:
            return
        self.now_ms = now_ms
        if self.owes_since_ms is not None and not self._reader.pending:
            self.owes_since_ms = now_ms  # the first byte is here
        self._reader.add(data)
        self._run()

    def go_on(self, now_ms: int) -> None:
        """Run the frames that waited until what is to be sent has been taken."""
        self.now_ms = max(self.now_ms, now_ms)
        self._run()

    def stopped(self) -> None:
        """The client or the broker has gone: a call that waits is dropped, and nothing more is read or answered."""
        if self.closed is None:
            self.closed = "one side has gone"
        self._drop_call()
        self.on_output = tell_nobody  # else it and its socket would keep each other
        self.path.forget(self)

    def end(self, reason: str) -> None:
        """End the connection from here, for this reason, while no call waits."""
        self.closed = reason
        self.on_output()

    def refuse(self, reason: str) -> None:
        """End the connection from here over a limit, which observers are told; a call that waits is dropped."""
        self._drop_call()
        self.path.refuse(self.session, reason, self.now_ms, self._finish)

    def expire(self, now_ms: int) -> None:
        """End a connection of which nothing was heard for too long."""
        self.now_ms = now_ms
        self._drop_call()
        self.end("nothing was heard of it for connections.max.idle.ms")

    def end_if_late(self, now_ms: int, first_byte_ms: int, whole_request_ms: int) -> None:
        """End a connection whose client owes a first byte, or the rest of a request, for longer than that."""
        since_ms = self.owes_since_ms
        if since_ms is None or self.closed is not None:
            return
        late_ms = now_ms - since_ms
        if self._reader.pending:
            if late_ms > whole_request_ms:
                self.refuse(f"a request was not whole after {late_ms} ms, and {WHOLE_REQUEST} is {whole_request_ms}")
        elif late_ms > first_byte_ms:
            self.refuse(f"nothing came for {late_ms} ms, and {FIRST_BYTE} is {first_byte_ms}")

    def unmute(self, now_ms: int) -> None:
        """A throttle's time is over: run the frames that waited for it."""
        self._is_muted = False
        if self.closed is None:
            self.go_on(now_ms)
            self.on_output()

    def _drop_call(self) -> None:
        if self._call is not None:
            self.path.drop(self._call, self.now_ms)
            self._call = None

    def take_output(self) -> list[bytes]:
        """All that is to be sent, in few pieces: small ones are joined, large ones stay as they are."""
        output, self._output, self._output_bytes = self._output, [], 0
        return few_pieces(output)

    def _run(self) -> None:
        """Run the frames that are complete, until one waits, too much is to be sent or none is left."""
        if self._is_running:
            return
        self._is_running = True
        self.is_held = False
        try:
            while self._call is None and self.closed is None and not self._is_muted:
                if self._output_bytes > MAX_OUTPUT_BYTES:
                    self.is_held = True
                    return
                try:
                    frame = self._reader.next_frame()
                except FrameError as error:
                    self._call = self.path.refuse_frame(self.session, str(error), self.now_ms, self._finish)
                    return
                if frame is None:
                    if self.owes_since_ms is None and self._reader.pending:
                        self.owes_since_ms = self.now_ms
                    return
                self.owes_since_ms = None
                self._call = self.path.take(frame, self.session, self.now_ms, self._finish)
        finally:
            self._is_running = False

    def _limit_frames(self) -> None:
        """Take frames as large as what they may be just now: tokens of a mechanism, or requests."""
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
        if self.closed is not None:
            return
        if outcome.ending is Ending.CLOSED:
            self.closed = outcome.reason
        injected = outcome.call.injected
        if injected is not None and injected.mute_ms and self.closed is None:
            self._is_muted = True
            self.path.mute(self, outcome.at_ms + injected.mute_ms)
        self._output += outcome.output
        self._output_bytes += sum(map(len, outcome.output))
        if not self._is_running:
            self.now_ms = max(self.now_ms, outcome.at_ms)
            self._run()
            self.on_output()


def tell_nobody() -> None:
    """What a connection calls that has ended."""
