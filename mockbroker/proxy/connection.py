"""A client's connection and its own connection to a real broker: bytes in and out on both sides, no sockets.

Requests are forwarded as soon as they arrive, without waiting for earlier answers; answers go to the client in the
order of the requests, also those of the proxy itself. With backpressure: while the real broker does not read, the
client is not read, and vice versa.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mockbroker.call import Call, Ending, Outcome, Verdict, Wait
from mockbroker.core.connection import BLOCKED, CLOSED, READY, RUNNING, WAITING, Connection, ConnectionState
from mockbroker.core.path import LENGTH, MIN_REQUEST_BYTES
from mockbroker.proxy.frame_room import LargeFrameReader
from mockbroker.proxy.login import LoginFollower
from protocol.errors import FrameError
from protocol.framing import MAX_FRAME_BYTES, few_pieces

if TYPE_CHECKING:
    from mockbroker.proxy.path import ProxyPath, ProxySession

MAX_ANSWER_BYTES = 128 << 20  # of the real broker: a longer frame ends the connection
MIN_ANSWER_BYTES = 4
MAX_UNSENT_BYTES = 1 << 20  # of unsent requests; with more, the next one waits
MAX_FORWARDED_BYTES, MAX_FORWARDED = 64 << 20, 10_000  # of requests without an answer
MAX_WAITING_BYTES = 1 << 20  # of answers after one that a fault delays; with more, the real broker is not read
FORWARDED = Wait(None, (), lambda _call: None)
"""The wait of a call that the real broker answers: ``ProxyPath.answered`` ends it."""


class BareToken:
    """A login token without a header, as after SaslHandshake version 0."""


class ProxyConnection(Connection):
    """Frames in, frames out, on both sides.

    ``take_upstream`` returns the bytes for the real broker, and ``on_upstream()`` is called when there are some.
    ``receive_upstream`` receives its bytes; ``upstream_closed`` is called when it has gone.

    The real broker limits the size of requests, except the first: a client that starts with a longer one speaks TLS or
    HTTP, and is disconnected, as a broker does, instead of waiting for its end.

    If a client sends no more, or has gone (``client_left``), the received requests are still forwarded; ``is_drained``
    is true once that is done. The same holds if a later frame has ended its connection here. ``has_left`` says that it
    sends no more.
    """

    may_run = (*Connection.may_run, BLOCKED)

    def __init__(
        self,
        path: ProxyPath,
        session: ProxySession,
        *,
        on_output: Callable[[], None] = lambda: None,
        on_upstream: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(path, session, on_output=on_output)
        self._proxy_path, self.on_upstream = path, on_upstream
        session.link = self
        self.login = LoginFollower()
        self._order: dict[Call | BareToken, Outcome | bytes | None] = {}
        """Forwarded and locally answered calls with their answers, in order; None for a missing answer."""
        self._unanswered: deque[Call | BareToken] = deque()
        self._forwarded_bytes = 0
        self._largest_request = self._reader.max_frame_bytes
        self._reader.max_frame_bytes = min(self._largest_request, MAX_FRAME_BYTES)  # of the first
        self._answers = LargeFrameReader(MAX_ANSWER_BYTES)
        self._to_upstream: list[bytes] = []
        self._to_upstream_bytes = 0
        self._waiting_bytes = 0  # of answers that wait for an earlier one
        self._ending: str | None = None  # why the connection ends after its last answer
        self.has_left = self._is_client_gone = False

    @property
    def is_busy(self) -> bool:
        return self._call is not None or self.is_held or bool(self._order)

    @property
    def is_over(self) -> bool:
        """True if the connection has ended, and all bytes for the real broker were sent."""
        return self.closed is not None and not self._to_upstream

    @property
    def is_owed_answers(self) -> bool:
        """True if the real broker has not answered all forwarded requests."""
        return bool(self._unanswered)

    @property
    def is_drained(self) -> bool:
        """True if the client sends no more and all its requests were forwarded."""
        return self.is_over or (self.has_left and self.state is READY and not self._to_upstream)

    @property
    def is_answer_partial(self) -> bool:
        """True if a large answer is partly received, without a buffer of its own."""
        return self._answers.gathered > 0

    @property
    def is_upstream_full(self) -> bool:
        """True if too many answers wait after a delayed one, so that the real broker should not be read."""
        return self._waiting_bytes > MAX_WAITING_BYTES

    def client_left(self, now_ms: int, *, is_gone: bool) -> None:
        """The client sends no more; if it ``is_gone`` it reads no answers either."""
        self.has_left = True
        self._is_client_gone |= is_gone
        if is_gone:
            self._output, self._output_bytes = [], 0
        self._end_if_silenced()
        if self.closed is None:
            self.resume(now_ms)

    def stopped(self) -> None:
        self._close("one side has gone")
        waiting = [one for one, outcome in self._order.items() if outcome is None]
        self._order.clear()
        self._unanswered.clear()
        self._to_upstream, self._to_upstream_bytes, self._waiting_bytes = [], 0, 0
        for one in waiting:
            if not isinstance(one, BareToken):
                self.path.drop(one, self.now_ms)
        super().stopped()

    # the real broker's side

    def forward(self, call: Call, frame: Sequence[bytes], *, is_answered: bool) -> Verdict | Wait:
        """Forward a request; the next ones follow without waiting for its answer."""
        if self._ending is not None:  # it had waited, and the real broker has gone
            return Verdict(closes=self._ending if is_answered else None)
        if is_answered:
            self._order[call] = None
            self._unanswered.append(call)
            self._forwarded_bytes += len(call.frame)
        self._to_upstream += frame
        self._to_upstream_bytes += sum(map(len, frame))
        if self.state is not RUNNING:  # it had waited
            if self._call is call:
                self._call_ended()
            self.on_upstream()
            self._run()
        return FORWARDED if is_answered else Verdict()

    def take_upstream(self) -> list[bytes]:
        """The bytes for the real broker, small pieces joined."""
        sent, self._to_upstream, self._to_upstream_bytes = self._to_upstream, [], 0
        return few_pieces(sent)

    def receive_upstream(self, data: bytes, now_ms: int) -> None:
        """Receive bytes of the real broker, split anywhere."""
        if self.closed is None and self._ending is None:
            self._answers.add(data)
            self._received_upstream(now_ms)

    def upstream_room(self) -> memoryview | None:
        """The buffer for the real broker's next bytes, for ``took_upstream``; None to use ``receive_upstream``."""
        return self._answers.room() if self.closed is None and self._ending is None else None

    def took_upstream(self, size: int, now_ms: int) -> None:
        """Bytes of the real broker were written to the buffer of ``upstream_room``."""
        if self.closed is None and self._ending is None:
            self._answers.took(size)
            self._received_upstream(now_ms)

    def _received_upstream(self, now_ms: int) -> None:
        self.now_ms = max(self.now_ms, now_ms)
        before = self.state
        if before is not CLOSED:
            self.state = RUNNING
        try:
            self._take_answers()
        finally:
            if self.state is RUNNING:
                ended = before is WAITING and self._call is None
                self.state = READY if ended else before
        if self._output or self.closed is not None:
            self.on_output()
        if self.state is not READY:
            self._run()
            self.on_output()
        self._end_if_silenced()

    def upstream_closed(self, reason: str, now_ms: int) -> None:
        """The real broker has gone: the connection ends after the answers that it has sent."""
        if self.closed is not None or self._ending is not None:
            return
        self.now_ms = max(self.now_ms, now_ms)
        if self._is_client_gone:
            self.end("the client has gone")
        else:
            self.lose(reason)

    def lose(self, reason: str) -> None:
        """End the connection because of the real broker's side; the call that waits there records the reason.

        Answers that a fault delays are sent before.
        """
        self._ending = reason
        self._to_upstream, self._to_upstream_bytes = [], 0
        calls: list[Call] = []
        for one in self._unanswered:
            if isinstance(one, BareToken):
                del self._order[one]
            else:
                calls.append(one)
        self._unanswered.clear()
        if calls and self.has_left:  # so the real broker ends it
            self.path.drop(calls[0], self.now_ms)
        elif calls:
            self.path.close(calls[0], reason, self.now_ms)
        if not self._order and self.closed is None:
            self.end(reason)

    # inside

    def _end_if_silenced(self) -> None:
        """End a connection whose client sends no more, and waits only for an answer that never comes."""
        if not self.has_left or self.closed is not None or self._call is None:
            return
        if (self._is_client_gone or not self._order) and self._proxy_path.is_silenced(self._call):
            self.end("the client has gone")

    def _take_answers(self) -> None:
        while self.closed is None and self._ending is None:
            try:
                frame = self._answers.next_frame()
            except FrameError as error:
                self.lose(f"the real broker sent what is no frame: {error}")
                return
            if frame is None:
                return
            if not self._unanswered:
                self.lose("the real broker answered what nobody had asked")
                return
            asked = self._unanswered[0]
            if isinstance(asked, BareToken):
                self._unanswered.popleft()
                self.logged_in(self.login.token_answered(frame))
                self._order[asked] = LENGTH.pack(len(frame)) + frame
                self._waiting_bytes += 4 + len(frame)
                self._give_answers()
                continue
            correlation_id = int.from_bytes(frame[:4], signed=True)
            if len(frame) < MIN_ANSWER_BYTES or correlation_id != asked.correlation_id:
                self.lose(f"the real broker answered {correlation_id}, but {asked.correlation_id} was due")
                return
            self._unanswered.popleft()
            self._forwarded_bytes -= len(asked.frame)
            self._proxy_path.answered(asked, frame, self.now_ms)

    def logged_in(self, principal: str | None) -> None:
        """Set the session's principal, if a login is complete."""
        if principal is not None:
            self.session.authenticated(principal)

    def _send_token(self, frame: bytes) -> None:
        """Forward a login token without a header."""
        if self.login.token_sent(frame):
            token = BareToken()
            self._order[token] = None
            self._unanswered.append(token)
        self._to_upstream += (LENGTH.pack(len(frame)), frame)
        self._to_upstream_bytes += len(frame)

    @property
    def _must_wait(self) -> bool:
        """True if too many bytes or requests are in flight, so that the next request waits."""
        return (
            self._ending is not None
            or self.login.waits_for_answer
            or self._to_upstream_bytes > MAX_UNSENT_BYTES
            or self._forwarded_bytes > MAX_FORWARDED_BYTES
            or len(self._order) > MAX_FORWARDED
        )

    def _run(self) -> None:
        """Forward the complete frames, until one waits or too much is in flight."""
        if self.state in self.may_run:
            super()._run()
            if self._to_upstream:
                self.on_upstream()

    def _waits_as(self) -> ConnectionState | None:
        if self._reader.pending and self._must_wait:
            return BLOCKED
        self._reader.min_frame_bytes = MIN_REQUEST_BYTES if self.login.request_follows_header() else 0
        return super()._waits_as()

    def _take(self, frame: bytes) -> Call | None:
        self._reader.max_frame_bytes = self._largest_request
        if not self.login.request_follows_header():
            self._send_token(frame)
            return None
        if self.login.has_begun and (reason := self._proxy_path.refusal_of(frame)) is not None:
            # not a request, but perhaps a token, which must not be recorded
            return self.path.refuse_frame(self.session, reason, self.now_ms, self._finish)
        call = super()._take(frame)
        return None if call in self._order else call

    def _finish(self, outcome: Outcome) -> None:
        """Accept the outcome of a call; it waits for earlier calls that are not answered."""
        call = outcome.call
        if call is self._call:
            self._call_ended()
        if self.closed is not None:
            return
        self._order[call] = outcome
        self._waiting_bytes += sum(map(len, outcome.output))
        self._give_answers()
        if self.state is not RUNNING:
            self.now_ms = max(self.now_ms, outcome.at_ms)
            self._run()
            self.on_output()

    def _give_answers(self) -> None:
        """Send the client its due answers, in order."""
        order = self._order
        while order and self.closed is None:
            asked = next(iter(order))
            outcome = order[asked]
            if outcome is None:
                return
            del order[asked]
            if isinstance(outcome, bytes):
                self._give((outcome,))
                continue
            if outcome.ending is Ending.CLOSED:
                self._close(outcome.reason)
            elif outcome.ending is Ending.DROPPED and self._ending is not None:
                self._close(self._ending)  # else the next answer would take its place
            injected = outcome.call.injected
            if injected is not None and injected.mute_ms and self.closed is None:
                self._mute(outcome.at_ms + injected.mute_ms)
            self._give(outcome.output)
        if self._ending is not None and self.closed is None:
            self._close(self._ending)

    def _call_ended(self) -> None:
        """The waiting call has ended."""
        self._call = None
        if self.state is WAITING:
            self.state = READY

    def _give(self, output: Sequence[bytes]) -> None:
        size = sum(map(len, output))
        self._waiting_bytes -= size
        if not self._is_client_gone:
            self._output += output
            self._output_bytes += size
