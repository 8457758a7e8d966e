"""The path of a call: the stages that every request passes, of real clients and of simulated ones.

``Stage`` lists them in order. The step of a stage returns None to continue the call, a ``Verdict`` to end it, or a
``Wait``, after which the call continues. The observers receive the call's one ``Outcome``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from random import Random
from struct import Struct
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from msgspec.structs import replace

from mockbroker.api import served_api
from mockbroker.call import Call, Ending, Outcome, Verdict, Wait
from mockbroker.core.purgatory import Purgatory
from mockbroker.core.response_cache import METADATA, ResponseCache
from mockbroker.handlers.error_responses import error_response
from mockbroker.parts import provided
from mockbroker.session import Session
from mockbroker.state.cluster import Cluster
from mockbroker.state.errors import ApiError
from mockbroker.state.timers import Timers
from protocol.codec import codec
from protocol.errors import ProtocolError
from protocol.framing import LARGE_PIECE_BYTES
from protocol.headers import read_request_header, response_header_version
from protocol.registry import message_class
from protocol.versions import VersionRange

if TYPE_CHECKING:
    from mockbroker.core.connection import Connection

FETCH, API_VERSIONS = 1, 18
OF_NO_RECORD = frozenset({FETCH, 2, 17, API_VERSIONS, 36})
"""Fetch, ListOffsets, ApiVersions and logins: their answers need no sync of earlier writes."""
log = logging.getLogger("mockbroker")
REQUEST_START = Struct(">hhi")  # API key, version, correlation id
RESPONSE_START = Struct(">ii")  # size, correlation id
LENGTH = Struct(">i")
NO_TAGS = b"\0"  # follows the correlation id in a flexible response's header
MIN_REQUEST_BYTES = REQUEST_START.size


class Observer(Protocol):
    """Receives the outcomes of calls."""

    def call_ended(self, outcome: Outcome) -> None:
        """Called once for each call, when it has ended."""


class Stage(Enum):
    """The stage of a call. Calls pass the stages in this order, and skip those without a step in their path."""

    LOGIN = "login"  # a client that must log in, or that is refused after a delay
    HEADER = "header"  # API key, version and correlation id
    VERSION = "version"  # the API is served in this version
    SESSION = "session"  # the rest of the header: client id, rack and the rack's source
    LIMITS = "limits"  # quotas, limits and access
    FAULTS = "faults"  # faults that tests inject; a call waits here for delays
    CACHE = "cache"  # an earlier answer to the same request is still valid, and no fault changes it
    HANDLER = "handler"  # the handler reads the body and answers, or the call waits
    FORWARD = "forward"  # a real broker answers a proxy's call
    DISK = "disk"  # the call's writes are synced to the disk
    PACING = "pacing"  # the answer waits for the bandwidth that a fault allows


Step = Callable[[Call], Verdict | Wait | None]
Finish = Callable[[Outcome], None]


@dataclass(slots=True, eq=False)
class CallPath:
    """Processes calls from frame to outcome, for one cluster.

    ``faults`` are steps that others add; each sees every request in a served version. ``arrivals`` receive each call
    before the first stage, ``observers`` its outcome, in order. ``sync``, if set, writes to the disk what must be there
    before an answer; it raises ApiError. ``muted`` has the times at which connections are read again. ``access_check``
    refuses unauthorized calls, None without an authorizer.
    """

    session_type: ClassVar[type[Session]] = Session
    cluster: Cluster
    rng: Random
    faults: list[Step] = field(default_factory=list)
    arrivals: list[Callable[[Call], None]] = field(default_factory=list)
    observers: list[Observer] = field(default_factory=list)
    sync: Callable[[], None] | None = None
    connections: dict[Connection, None] = field(default_factory=dict)  # the open ones
    purgatory: Purgatory = field(init=False)
    response_cache: ResponseCache = field(init=False)
    muted: Timers[Connection] = field(init=False)
    steps: dict[Stage, Step] = field(init=False)
    access_check: Step | None = field(init=False)

    def __post_init__(self) -> None:
        self.purgatory = Purgatory(self.cluster.woken, self._resume)
        self.begin_with(self.cluster)
        has_authorizer = "authorizer.class.name" in self.cluster.settings.given_names
        self.access_check = provided("access_check") if has_authorizer else None
        self.steps = {
            Stage.LOGIN: self.log_in,
            Stage.HEADER: self.read_header,
            Stage.VERSION: self.gate_version,
            Stage.SESSION: self.open_session,
            Stage.LIMITS: self.check_limits,
            Stage.FAULTS: self.inject_faults,
            Stage.CACHE: self.answer_cached,
            Stage.HANDLER: self.handle,
        }

    def begin_with(self, cluster: Cluster) -> None:
        """Process calls for a new cluster from now on; no call may wait."""
        assert not self.purgatory.parked, "calls wait at the cluster of before"
        self.cluster = cluster
        self.purgatory.woken = cluster.woken
        self.response_cache = ResponseCache(cluster)
        self.muted = cluster.timers.subsystem("muted connections", lambda muted, now_ms: muted.unmute(now_ms))

    # what connections do

    def take(self, frame: bytes, session: Session, now_ms: int, finish: Finish) -> Call | None:
        """Process a frame. ``finish`` is called with its outcome, now or later, after the observers.

        Returns the call if it waits, for ``drop``.
        """
        self.cluster.now_ms = now_ms
        call = self._call(frame, session, now_ms, finish)
        for arrived in self.arrivals:
            arrived(call)
        self._run(call, self.steps)
        if not self.purgatory.parked:
            self.cluster.woken.clear()
            return None
        self.purgatory.wake(now_ms)
        return call if call in self.purgatory.parked else None

    def refuse(self, session: Session, reason: str, now_ms: int, finish: Finish) -> None:
        """End a connection because of a limit, with a call that contains only the reason."""
        self._conclude(self._call(b"", session, now_ms, finish), Verdict(closes=reason))

    def refuse_frame(self, session: Session, reason: str, now_ms: int, finish: Finish) -> Call | None:
        """End a connection whose bytes are not frames; before the login is complete, after the delay of a failed login.

        Returns the call if it waits, for ``drop``.
        """
        call = self._call(b"", session, now_ms, finish)
        verdict: Verdict | Wait = Verdict(closes=reason)
        if session.authenticator is not None and not session.authenticator.is_complete:
            from mockbroker.handlers.sasl import refused

            verdict = refused(call, session.authenticator, None, reason)
        self._proceed(call, verdict, Stage.LOGIN)
        return call if call in self.purgatory.parked else None

    def drop(self, call: Call, now_ms: int) -> None:
        """Drop a waiting call, because its client has gone."""
        if self.purgatory.drop(call):
            self._end(Outcome(call, Ending.DROPPED, now_ms))

    def close(self, call: Call, reason: str, now_ms: int) -> None:
        """End a waiting call by closing its connection."""
        if self.purgatory.drop(call):
            call.now_ms = now_ms
            self._conclude(call, Verdict(closes=reason))

    def forget(self, connection: Connection) -> None:
        """A connection has ended."""
        self.connections.pop(connection, None)
        self.muted.cancel(connection)
        session = connection.session
        for extension in self.cluster.extensions():
            extension.connection_closed(session.broker.id, session.connection)
        self.purgatory.wake(self.cluster.now_ms)

    # the steps

    def log_in(self, call: Call) -> Verdict | Wait | None:
        """Refuse requests that a client must not send before its login."""
        if call.session.authenticator is None:
            return None
        from mockbroker.core.authentication import guard

        return guard(call, call.session.authenticator)

    def read_header(self, call: Call) -> Verdict | Wait | None:
        """Read the start of the header: API key, version and correlation id."""
        call.api_key, call.version, call.correlation_id = REQUEST_START.unpack_from(call.frame)
        return None

    def gate_version(self, call: Call) -> Verdict | Wait | None:
        """Refuse versions that the broker does not serve: ApiVersions by an answer, others by closing connections."""
        served, api_key, version = call.session.served_versions, call.api_key, call.version
        if api_key not in served:
            return Verdict(closes=f"API key {api_key} is not served")
        lowest, highest = served[api_key]
        if lowest <= version <= highest:
            return None
        if api_key == API_VERSIONS:
            from mockbroker.handlers.api_versions import refuse_version

            return Verdict(refuse_version(served), version=0)
        expected = VersionRange(lowest, highest)
        return Verdict(closes=f"expected {message_class(api_key, 'request').name} version {expected}, got {version}")

    def open_session(self, call: Call) -> Verdict | Wait | None:
        """Read the rest of the header, with the client's id."""
        session = call.session
        header, call.body_start = read_request_header(call.frame)
        if header.client_id != session.client_id:
            session.identify(header.client_id)
        if call.api_key == API_VERSIONS:
            with suppress(ProtocolError):  # the handler's stage answers it
                session.software = call.request.client_software_name, call.request.client_software_version
        return None

    def check_limits(self, call: Call) -> Verdict | Wait | None:
        """Count the client's use of its quotas, and check its access, if configured."""
        if self.cluster.writer.image.client_quotas:
            from mockbroker.core.quota_limits import check_quotas

            check_quotas(call)
        return None if self.access_check is None else self.access_check(call)

    def inject_faults(self, call: Call) -> Verdict | Wait | None:
        """Run the steps of ``faults``."""
        for step in self.faults:
            verdict = step(call)
            if verdict is not None:
                return verdict
        return None

    def answer_cached(self, call: Call) -> Verdict | Wait | None:
        """Answer Metadata from the response cache, unless a fault changes the answer or clients have access rules."""
        if call.api_key != METADATA or call.injected is not None or self.access_check is not None:
            return None
        cached = self.response_cache.find(call)
        if cached is None:
            return None
        return Verdict(output=[RESPONSE_START.pack(4 + len(cached), call.correlation_id) + cached])

    def handle(self, call: Call) -> Verdict | Wait | None:
        """Run the handler."""
        request = call.request
        try:
            return verdict_of(served_api(call.api_key).handler(call, request))
        except Exception as error:  # noqa: BLE001 - a handler that fails costs one call, not the cluster
            return self._failed(call, error)

    # inside

    def _call(self, frame: bytes, session: Session, now_ms: int, finish: Finish) -> Call:
        return Call(self.cluster, session, frame, now_ms, self.rng, arrived_ms=now_ms, finish=finish)

    def _run(self, call: Call, steps: Mapping[Stage, Step]) -> None:
        """Run these steps for a call. One that finds bytes that are not the request ends the connection."""
        for stage, step in steps.items():
            try:
                verdict = step(call)
            except ProtocolError as error:
                verdict = Verdict(closes=str(error))
            if verdict is not None:
                self._proceed(call, verdict, stage)
                return

    def _resume(self, call: Call, wait: Wait, stage: Stage) -> None:
        """A wait is over: after the handler's, the call has its answer; after a limit's or a fault's, it continues."""
        if stage is Stage.PACING:
            self._end(replace(wait.then(call), at_ms=call.now_ms, ending=Ending.ANSWERED_LATER))
            return
        try:
            result = wait.then(call)
        except Exception as error:  # noqa: BLE001 - as in handle
            result = self._failed(call, error)
        self._proceed(call, verdict_of(result) if stage is Stage.HANDLER else result, stage)

    def _proceed(self, call: Call, verdict: Verdict | Wait | None, stage: Stage) -> None:
        """Act on the result of a stage's step."""
        if verdict is None:
            steps = list(self.steps.items())
            self._run(call, dict(steps[list(self.steps).index(stage) + 1 :]))
        elif isinstance(verdict, Wait):
            call.was_parked |= stage is not Stage.FORWARD
            self.purgatory.park(call, verdict, stage)
        else:
            self._conclude(call, verdict)

    def _failed(self, call: Call, error: Exception) -> Verdict:
        """Answer with an error if the answer has an error field; else close the connection."""
        unforeseen = None if isinstance(error, ApiError) else error
        response = error_response(call.request, call.version, error)
        if response is None:
            return Verdict(closes=f"{type(error).__name__}: {error}", error=unforeseen)
        return Verdict(response, error=unforeseen)

    def _conclude(self, call: Call, verdict: Verdict) -> None:
        """Sync what the call wrote, encode its answer, if it has one, and end it."""
        given = verdict
        if self.sync is not None and call.api_key not in OF_NO_RECORD and (verdict.response or verdict.output):
            try:
                self.sync()
            except ApiError as failed:
                verdict = self._failed(call, failed)
        response, output, closes, error = verdict.response, verdict.output, verdict.closes, verdict.error
        if output is None and response is not None:
            amend = call.injected.amend if call.injected is not None else ()
            for change in amend:
                change(response)
            try:
                output = encoded(call, response, call.version if verdict.version is None else verdict.version)
            except ProtocolError as found:
                response, closes, error = None, f"the answer cannot be written: {found}", found
            else:
                if call.api_key == METADATA and verdict is given and error is None:
                    self.response_cache.keep(call, output)
        ending = Ending.ANSWERED_LATER if call.was_parked else Ending.ANSWERED
        if closes is not None:
            ending = Ending.CLOSED
        self._end(Outcome(call, ending, call.now_ms, output or (), response, closes, error))

    def _end(self, outcome: Outcome) -> None:
        """Notify the observers, then the connection, which may continue with the next call."""
        call = outcome.call
        if call.injected is not None and call.injected.pace and self._held_back(outcome):
            return
        finish, call.finish = call.finish, None
        assert finish is not None, "a call ends once"
        if outcome.error is not None or outcome.reason is not None:
            log_failure(outcome)
        for observer in self.observers:
            observer.call_ended(outcome)
        finish(outcome)

    def _held_back(self, outcome: Outcome) -> bool:
        """True if a fault's bandwidth delays the answer; the call ends later."""
        call = outcome.call
        assert call.injected is not None
        paces, call.injected.pace = call.injected.pace, []
        if not outcome.output:
            return False
        size = sum(map(len, outcome.output))
        until_ms = max(pace(size, call.now_ms) for pace in paces)
        if until_ms <= call.now_ms:
            return False
        self.purgatory.park(call, Wait(until_ms, (), lambda _call: outcome), Stage.PACING)
        return True


def verdict_of(result: Any) -> Verdict | Wait:
    """A handler's result as a verdict or a wait."""
    return result if type(result) is Wait or type(result) is Verdict else Verdict(result)


def encoded(call: Call, response: Any, version: int) -> list[bytes]:
    """A response frame with its length in front, in one piece unless it is large. Raises EncodeError."""
    message: Any = type(response)
    tags, encode = writer_of(message, version)
    pieces = encode(response)
    size = sum(map(len, pieces))
    output = [RESPONSE_START.pack(4 + len(tags) + size, call.correlation_id) + tags, *pieces]
    return [b"".join(output)] if size < LARGE_PIECE_BYTES else output


@cache
def writer_of(message: Any, version: int) -> tuple[bytes, Callable[[Any], list[bytes]]]:
    """The tags of a message's header, and its encoder into pieces. Raises UnsupportedVersionError."""
    form = codec(message, version)
    tags = NO_TAGS if response_header_version(message.api_key, version) else b""
    return tags, form.piece_encoder() if message.api_key == FETCH else lambda response: [form.encode(response)]


def log_failure(outcome: Outcome) -> None:
    """Write one line if a call closed its connection, and a traceback if our own code failed."""
    call = outcome.call
    session = call.session
    if outcome.error is not None:
        log.error("broker %d failed on API key %d", session.broker.id, call.api_key, exc_info=outcome.error)
    if outcome.ending is Ending.CLOSED:
        level = logging.INFO if call.faults else logging.WARNING  # a fault ends calls on purpose
        log.log(level, "broker %d closes the connection of %s: %s", session.broker.id, session.address, outcome.reason)
