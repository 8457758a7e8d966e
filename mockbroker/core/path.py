"""The path of a call: the stages that every request passes, of real clients and of simulated ones, in this order.

    read_header      whose header is it, and where does the body start
    gate_version     is this API served, and in this version
    open_session     who is asking: client id, rack and where the rack was learned
    check_limits     quotas and limits (``limits``)
    inject_faults    what a test has go wrong (``faults``)
    answer_cached    what was answered to the same request before, while that still holds
    handle           the handler; it reads the body and authorizes

A stage gives None to have the call go on, or what is to become of it: ``Respond``, ``RespondBytes``, ``Close``, or a
``Wait``, after which it goes on. What comes of it is encoded and told to the observers as the call's one ``Outcome``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.api import SERVED, handler_of, served_versions
from mockbroker.call import Call, Wait
from mockbroker.core.outcome import Ending, FailureLog, Observer, Outcome
from mockbroker.core.purgatory import ParkedCall, Purgatory
from mockbroker.core.response_cache import CACHED_API, ResponseCache
from mockbroker.handlers.error_responses import error_response
from mockbroker.parts import provided
from mockbroker.session import Session
from mockbroker.state.cluster import Cluster
from mockbroker.state.errors import ApiError
from protocol.codec import codec
from protocol.errors import ProtocolError
from protocol.framing import LARGE_PIECE_BYTES
from protocol.headers import read_request_header, request_header_version, response_header_version
from protocol.registry import message_class
from protocol.versions import VersionRange

if TYPE_CHECKING:
    from mockbroker.core.connection import Connection

PRODUCE, FETCH = 0, 1
API_VERSIONS = 18
OF_NO_RECORD = frozenset({FETCH, 2, 17, API_VERSIONS, 36})
"""Fetch, ListOffsets, ApiVersions and logins: what they answer stands on nothing that is written for others."""
MUTED = "muted connections"
GUARD = -1  # where calls stand that have not come to the first stage
REQUEST_START = Struct(">hhi")  # API key, version, correlation id
RESPONSE_START = Struct(">ii")  # size, correlation id
LENGTH = Struct(">i")
NO_TAGS = b"\0"  # what a flexible response's header has behind the correlation id
MIN_REQUEST_BYTES = REQUEST_START.size
_header_tags: dict[tuple[type, int], bytes] = {}
"""What stands between the correlation id and the body, by message and version."""


class Respond(NamedTuple):
    """Answer with a message, in the request's version unless another is given; None where there is no answer.

    ``error`` is what was raised where our own code failed.
    """

    response: Any
    version: int | None = None
    error: Exception | None = None


class RespondBytes(NamedTuple):
    """Answer with what stands behind the correlation id, header tags included."""

    rest: bytes


class RespondBare(NamedTuple):
    """Answer with bytes behind nothing but their length; ``response`` is what observers see of them."""

    data: bytes
    response: Any


class Close(NamedTuple):
    """Close the connection, after an answer if there is one; ``error`` is what was raised where our own code failed."""

    reason: str
    error: Exception | None = None
    response: Any = None


Verdict = Respond | RespondBytes | RespondBare | Close | Wait
Stage = Callable[[Call], Verdict | None]
Finish = Callable[[Outcome], None]


@dataclass(slots=True, eq=False)
class CallPath:
    """Takes calls from frame to outcome, for one cluster.

    ``limits`` and ``faults`` are stages that others put in; each sees every request that is served in its version.
    ``arrivals`` are told of each call before the first stage, ``observers`` of its end, in their order.
    ``sync``, where it is set, has what is to be on the disk before an answer reach it; it raises ApiError.
    """

    cluster: Cluster
    rng: Random
    limits: list[Stage] = field(default_factory=list)
    faults: list[Stage] = field(default_factory=list)
    arrivals: list[Callable[[Call], None]] = field(default_factory=list)
    observers: list[Observer] = field(default_factory=lambda: [FailureLog()])
    sync: Callable[[], None] | None = None
    connections: dict[Connection, None] = field(default_factory=dict)  # those that live
    purgatory: Purgatory = field(init=False)
    response_cache: ResponseCache = field(init=False)
    stages: tuple[Stage, ...] = field(init=False)
    _header_versions: dict[bytes, int] = field(default_factory=dict)  # by API key and version, as a request begins
    _served: set[bytes] = field(default_factory=set)  # the same, of what is served where no release is emulated
    _parked: dict[Call, ParkedCall] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.purgatory = Purgatory(self.cluster.woken, self._go_on)
        self.response_cache = ResponseCache(self.cluster)
        self.stages = (
            self.read_header,
            self.gate_version,
            self.open_session,
            self.check_limits,
            self.inject_faults,
            self.answer_cached,
            self.handle,
        )

    def begin_with(self, cluster: Cluster) -> None:
        """Take calls for a new cluster from now on; no call waits."""
        assert not self._parked, "calls wait at the cluster of before"
        self.cluster = cluster
        self.purgatory.woken = cluster.woken
        self.response_cache = ResponseCache(cluster)

    # what connections do

    def take(self, frame: bytes, session: Session, now_ms: int, finish: Finish) -> Call | None:
        """Take a frame in. ``finish`` gets its outcome, now or later, after the observers.

        Gives the call if it waits, for ``drop``.
        """
        self.cluster.now_ms = now_ms
        call = Call(self.cluster, session, frame, now_ms, self.rng)
        call.finish = finish
        for arrived in self.arrivals:
            arrived(call)
        if session.authenticator is None:
            self._run(call, 0)
        else:
            from mockbroker.core.authentication import guard

            self._proceed(call, guard(call, session.authenticator), GUARD)
        if self.cluster.woken:
            self.purgatory.wake(now_ms)
        return call if call in self._parked else None

    def refuse(self, session: Session, reason: str, now_ms: int, finish: Finish) -> None:
        """End a connection over a limit: a call that has no more than that."""
        call = Call(self.cluster, session, b"", now_ms, self.rng)
        call.finish = finish
        self._conclude(call, Close(reason))

    def refuse_frame(self, session: Session, reason: str, now_ms: int, finish: Finish) -> Call | None:
        """End a connection whose bytes are no frames; before a client has said who it is, as late as a failed login.

        Gives the call if it waits, for ``drop``.
        """
        call = Call(self.cluster, session, b"", now_ms, self.rng)
        call.finish = finish
        verdict: Verdict = Close(reason)
        if session.authenticator is not None and not session.authenticator.is_complete:
            from mockbroker.core.authentication import failed

            verdict = failed(call, session.authenticator, reason)
        self._proceed(call, verdict, GUARD)
        return call if call in self._parked else None

    def drop(self, call: Call, now_ms: int) -> None:
        """Forget a call that waits, since whoever asked has gone."""
        parked = self._parked.pop(call, None)
        if parked is not None and self.purgatory.drop(parked):
            self._end(Outcome(call, Ending.DROPPED, now_ms))

    def parked_calls(self) -> list[Call]:
        """The calls that wait, in the order in which they began to."""
        return list(self._parked)

    def close(self, call: Call, reason: str, now_ms: int) -> None:
        """Have a call that waits end by the end of its connection."""
        parked = self._parked.pop(call, None)
        if parked is not None and self.purgatory.drop(parked):
            call.now_ms = now_ms
            self._conclude(call, Close(reason))

    def mute(self, connection: Connection, until_ms: int) -> None:
        """Call a connection's ``unmute`` once it is so late."""
        timers = self.cluster.timers.find(MUTED)
        if timers is None:  # the first, or the first since the cluster began anew
            timers = self.cluster.timers.subsystem(MUTED, lambda muted, now_ms: muted.unmute(now_ms))
        timers.set(connection, until_ms)

    def expire_idle(self, now_ms: int, max_idle_ms: int) -> None:
        """End the connections that were silent, and were told nothing, for longer than that."""
        for connection in [one for one in self.connections if now_ms - one.now_ms > max_idle_ms]:
            connection.expire(now_ms)

    def end_late(self, now_ms: int) -> None:
        """End the connections that owe their first byte, or the rest of a request, for too long."""
        settings = self.cluster.settings
        first_byte_ms, whole_request_ms = (
            settings["connection.first.byte.timeout.ms"],
            settings["request.read.timeout.ms"],
        )
        for connection in list(self.connections):
            connection.end_if_late(now_ms, first_byte_ms, whole_request_ms)

    def forget(self, connection: Connection) -> None:
        """A connection has ended."""
        self.connections.pop(connection, None)
        timers = self.cluster.timers.find(MUTED)
        if timers is not None:
            timers.cancel(connection)
        session = connection.session
        for extension in self.cluster.extensions():
            extension.connection_closed(session.broker.id, session.connection)
        if self.cluster.woken:
            self.purgatory.wake(self.cluster.now_ms)

    # the stages

    def read_header(self, call: Call) -> Verdict | None:
        """Read what every header begins with: API key, version and correlation id."""
        call.api_key, call.version, call.correlation_id = REQUEST_START.unpack_from(call.frame)
        return None

    def gate_version(self, call: Call) -> Verdict | None:
        """Refuse what the broker does not serve: ApiVersions with an answer, all else by closing the connection."""
        served = call.session.served_versions
        api_key, version = call.api_key, call.version
        if served is None:
            if call.frame[:4] in self._served:
                return None
            if api_key not in SERVED:
                return Close(f"API key {api_key} is not served")
            lowest, highest = served_versions(api_key, unstable=self.cluster.settings["unstable.api.versions.enable"])
            if lowest <= version <= highest:
                self._served.add(call.frame[:4])
                return None
        elif api_key not in served:
            return Close(f"API key {api_key} is not served by the release that broker {call.broker.id} emulates")
        else:
            lowest, highest = served[api_key]
            if lowest <= version <= highest:
                return None
        if api_key == API_VERSIONS:
            from mockbroker.handlers.api_versions import refuse_version

            return Respond(refuse_version(served), version=0)
        expected = VersionRange(lowest, highest)
        return Close(f"expected {message_class(api_key, 'request').name} version {expected}, got {version}")

    def open_session(self, call: Call) -> Verdict | None:
        """Read the rest of the header, whose request it is, unless it is the one that was read last."""
        session = call.session
        header_version = self._header_version(call)
        known_version, known = session.last_header
        if header_version == known_version and call.frame.startswith(known, MIN_REQUEST_BYTES):
            call.body_start = MIN_REQUEST_BYTES + len(known)
            return None
        try:
            header, call.body_start = read_request_header(call.frame)
        except ProtocolError as error:
            return Close(str(error))
        session.last_header = (header_version, call.frame[MIN_REQUEST_BYTES : call.body_start])
        if header.client_id != session.client_id:
            session.identify(header.client_id)
        return None

    def check_limits(self, call: Call) -> Verdict | None:
        """Ask each of ``limits``, count what a client uses of its quotas, and ask the authorizer; if there are any."""
        if self.cluster.image.client_quotas:
            from mockbroker.core.quota_limits import check_quotas

            check_quotas(call)
        if self.limits and (verdict := first_verdict(self.limits, call)) is not None:
            return verdict
        if "authorizer.class.name" in self.cluster.settings.given_names:
            return self._check_access(call)
        return None

    def inject_faults(self, call: Call) -> Verdict | None:
        """Ask each of ``faults``."""
        return first_verdict(self.faults, call) if self.faults else None

    def answer_cached(self, call: Call) -> Verdict | None:
        """Answer as the same request was answered before."""
        if call.api_key != CACHED_API:
            return None
        if call.injected is not None and call.injected.amend:
            return None  # a fault changes the answer
        cached = self.response_cache.find(call)
        return None if cached is None else RespondBytes(cached)

    def handle(self, call: Call) -> Verdict | None:
        """Let the handler answer."""
        try:
            request = call.request
        except ProtocolError as error:
            return Close(str(error))
        handler = handler_of(call.api_key)
        assert handler is not None, call.api_key
        try:
            return verdict_of(call, handler(call, request))
        except Exception as error:  # noqa: BLE001 - a handler that fails costs one call, not the cluster
            return self._failed(call, error)

    # inside

    def _check_access(self, call: Call) -> Verdict | None:
        """Refuse what the client may not do."""
        check = provided("access_check")
        try:
            return None if check is None else check(call)
        except ProtocolError as error:
            return Close(str(error))

    def _header_version(self, call: Call) -> int:
        key = call.frame[:4]
        version = self._header_versions.get(key)
        if version is None:
            version = self._header_versions[key] = request_header_version(call.api_key, call.version)
        return version

    def _run(self, call: Call, first_stage: int) -> None:
        """Take a call through the stages from this one on."""
        for number in range(first_stage, len(self.stages)):
            verdict = self.stages[number](call)
            if verdict is None:
                continue
            if type(verdict) is Wait:
                self._park(call, verdict, number)
            else:
                self._conclude(call, verdict)
            return

    def _park(self, call: Call, wait: Wait, stage: int) -> None:
        """Have a call wait."""
        self._parked[call] = self.purgatory.park(call, wait, stage)

    def _go_on(self, call: Call, wait: Wait, stage: int) -> None:
        """A wait is over: what a handler waited for is its answer; what a limit or fault waited for lets it go on."""
        del self._parked[call]
        if stage == len(self.stages):  # its answer was held back
            self._end(wait.then(call)._replace(at_ms=call.now_ms, ending=Ending.ANSWERED_LATER))
            return
        is_handlers = stage == len(self.stages) - 1
        verdict: Verdict | None
        try:
            result = wait.then(call)
            verdict = verdict_of(call, result) if is_handlers else result
        except Exception as error:  # noqa: BLE001 - as in handle
            verdict = self._failed(call, error)
        self._proceed(call, verdict, stage)

    def _proceed(self, call: Call, verdict: Verdict | None, stage: int) -> None:
        """Do what a stage says: None has the call go on with the next."""
        if verdict is None:
            self._run(call, stage + 1)
        elif type(verdict) is Wait:
            self._park(call, verdict, stage)
        else:
            self._conclude(call, verdict)

    def _failed(self, call: Call, error: Exception) -> Verdict:
        """Tell the client of an error where its answer has a place for it; else close the connection."""
        unforeseen = None if isinstance(error, ApiError) else error
        response = error_response(call.request, call.version, error)
        if response is None:
            return Close(f"{type(error).__name__}: {error}", unforeseen)
        return Respond(response, error=unforeseen)

    def _conclude(self, call: Call, verdict: Verdict) -> None:
        """Encode what is to be answered, and end the call."""
        if type(verdict) is Respond and verdict.response is not None:
            is_amended = False
            if call.injected is not None:
                for amend in call.injected.amend:
                    amend(verdict.response)
                    is_amended = True
            version = call.version if verdict.version is None else verdict.version
            try:
                output = encoded(call, verdict.response, version)
            except ProtocolError as error:
                verdict = Close(f"the answer cannot be written: {error}", error)
            else:
                if call.api_key == CACHED_API and verdict.error is None and not is_amended:
                    self.response_cache.keep(call, output)
                self._end(self._answered(call, output, verdict.response, verdict.error))
                return
        if type(verdict) is RespondBytes:
            output = [RESPONSE_START.pack(4 + len(verdict.rest), call.correlation_id) + verdict.rest]
            self._end(self._answered(call, output, None))
        elif type(verdict) is RespondBare:
            output = [LENGTH.pack(len(verdict.data)) + verdict.data]
            self._end(self._answered(call, output, verdict.response))
        elif type(verdict) is Close:
            response = verdict.response
            last = encoded(call, response, call.version) if response is not None else ()
            self._end(Outcome(call, Ending.CLOSED, call.now_ms, last, response, verdict.reason, verdict.error))
        else:
            self._end(self._answered(call, (), None))

    def _answered(self, call: Call, output: Sequence[bytes], response: Any, error: Exception | None = None) -> Outcome:
        ending = Ending.ANSWERED_LATER if call.was_parked else Ending.ANSWERED
        return Outcome(call, ending, call.now_ms, output, response, None, error)

    def _end(self, outcome: Outcome) -> None:
        """Tell the observers, then whoever brought the call, who may go on with the next."""
        call = outcome.call
        if call.injected is not None and call.injected.pace and self._held_back(outcome):
            return
        if self.sync is not None and outcome.output and call.api_key not in OF_NO_RECORD:
            outcome = self._synced(outcome, self.sync)
        self._finish(outcome)

    def _synced(self, outcome: Outcome, sync: Callable[[], None]) -> Outcome:
        """An outcome once all that was written before it is on the disk, with the error if that fails."""
        call = outcome.call
        try:
            sync()
        except ApiError as error:
            response = error_response(call.request, call.version, error)
            if response is None:
                return outcome._replace(ending=Ending.CLOSED, output=(), response=None, reason=error.message)
            return outcome._replace(output=encoded(call, response, call.version), response=response)
        return outcome

    def _finish(self, outcome: Outcome) -> None:
        call = outcome.call
        finish, call.finish = call.finish, None
        assert finish is not None, "a call ends once"
        for observer in self.observers:
            observer.call_ended(outcome)
        finish(outcome)

    def _held_back(self, outcome: Outcome) -> bool:
        """Whether a fault's bandwidth lets an answer out only later; it ends the call then."""
        call = outcome.call
        assert call.injected is not None
        paces, call.injected.pace = call.injected.pace, []
        if not outcome.output:
            return False
        size = sum(map(len, outcome.output))
        until_ms = max(pace(size, call.now_ms) for pace in paces)
        if until_ms <= call.now_ms:
            return False
        wait = Wait(until_ms, (), lambda _call: outcome)
        self._parked[call] = self.purgatory.park(call, wait, len(self.stages))
        return True


def first_verdict(stages: list[Stage], call: Call) -> Verdict | None:
    """What the first of these that has anything to say says."""
    for stage in stages:
        verdict = stage(call)
        if verdict is not None:
            return verdict
    return None


def verdict_of(call: Call, result: Any) -> Verdict:
    """What a handler's result means."""
    if type(result) is Wait:
        return result
    if call.close_reason is not None:
        return Close(call.close_reason, response=result)
    return Respond(result)


def encoded(call: Call, response: Any, version: int) -> list[bytes]:
    """A response frame, its length in front: in one piece unless it is large. Raises EncodeError."""
    message = type(response)
    tags = _header_tags.get((message, version))
    if tags is None:
        tags = NO_TAGS if response_header_version(message.api_key, version) else b""
        _header_tags[message, version] = tags
    own = codec(message, version)
    if message.api_key == FETCH:
        pieces = own.piece_encoder()(response)
        size = sum(map(len, pieces))
        output = [RESPONSE_START.pack(4 + len(tags) + size, call.correlation_id) + tags, *pieces]
        return [b"".join(output)] if size < LARGE_PIECE_BYTES else output
    body = own.encode(response)
    start = RESPONSE_START.pack(4 + len(tags) + len(body), call.correlation_id) + tags
    return [start + body] if len(body) < LARGE_PIECE_BYTES else [start, body]
