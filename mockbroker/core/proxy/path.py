"""The path of a call whose answer a real broker gives: the stages of our own cluster, with ``forward`` at the end.

Requests go on as they came, unless a fault took a part out of them; answers come back as they came, unless they carry
addresses of brokers, which are to be ours, or a fault changes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mockbroker.call import Call
from mockbroker.core.faults.matching import RACK_VERSIONS, learn_rack
from mockbroker.core.outcome import Ending, Outcome
from mockbroker.core.path import API_VERSIONS, LENGTH, CallPath, Close, Respond, Verdict, encoded
from mockbroker.core.proxy.addresses import may_carry_addresses, rewrite_addresses
from mockbroker.core.proxy.api_versions import clamp
from mockbroker.core.proxy.faults import sending_of
from mockbroker.core.proxy.login import LoginFollower, LoginNotFollowedError, refusal_of_first_frame
from mockbroker.core.proxy.login_identity import LoginIdentity
from mockbroker.core.proxy.parts import APIS_WITH_PARTS, FETCH, PRODUCE, note_parts, sent_parts
from mockbroker.core.proxy.sessions import FollowedSessions
from mockbroker.session import Session
from protocol.errors import ProtocolError
from protocol.headers import read_response, request_frame
from protocol.registry import message_class

if TYPE_CHECKING:
    from mockbroker.core.proxy.connection import ProxyConnection
    from mockbroker.core.proxy.mending import Mending
    from mockbroker.core.proxy.mirror import Mirror

METADATA, SASL_HANDSHAKE, DELETE_TOPICS, SASL_AUTHENTICATE = 3, 17, 20, 36
NOTED = (METADATA, SASL_HANDSHAKE, DELETE_TOPICS, SASL_AUTHENTICATE)
"""APIs whose answers say what there is, who somebody is, or what comes next."""
UNSUPPORTED_VERSION = 35
SOFTWARE_VERSION = 3
NO_ACKS = 0


class Forwarded:
    """What a stage says of a call that has gone on to the real broker."""


FORWARDED: Any = Forwarded()


@dataclass(slots=True, eq=False)
class ProxySession(Session):
    """The session of a client that is served by a real broker, over ``link``."""

    link: Any = None


@dataclass(slots=True, eq=False)
class ProxyPath(CallPath):
    """Takes calls from frame to outcome. ``mirror`` learns from the answers what there is,
    ``mending`` puts right what was asked to be.
    """

    mirror: Mirror = field(kw_only=True)
    mending: Mending | None = field(default=None, kw_only=True)

    fetches: FollowedSessions = field(init=False)

    def __post_init__(self) -> None:
        CallPath.__post_init__(self)
        self.fetches = FollowedSessions(self.cluster)
        self.stages = (self.read_header, self.gate_version, self.open_session, self.inject_faults, self.forward)

    # the stages

    def gate_version(self, call: Call) -> Verdict | None:
        """Refuse what the codec does not know: brokers were said to know no more."""
        start = call.frame[:4]
        if start in self._served:
            return None
        reason = self.refusal_of(call.frame)
        if reason is not None:
            return Close(reason)
        if call.version not in message_class(call.api_key, "request").valid_versions:
            # of ApiVersions, whose answer might be of a form that we cannot read
            from mockbroker.handlers.api_versions import refuse_version

            return Respond(refuse_version(None), version=0)
        self._served.add(start)
        return None

    def refusal_of(self, frame: bytes) -> str | None:
        """Why a frame is no request that can go on; None where it is one, or is answered here."""
        if frame[:4] in self._served:
            return None
        api_key, version = int.from_bytes(frame[:2], signed=True), int.from_bytes(frame[2:4], signed=True)
        try:
            request = message_class(api_key, "request")
        except ProtocolError:
            return refusal_of_first_frame(frame) or f"API key {api_key} is not known to the proxy"
        if version in request.valid_versions or api_key == API_VERSIONS:
            return None
        return f"expected {request.name} version {request.valid_versions}, got {version}"

    def open_session(self, call: Call) -> Verdict | None:
        """Read the rest of the header, and what the request says of who sent it."""
        api_key, version = call.api_key, call.version
        verdict = CallPath.open_session(self, call)
        if verdict is not None:
            return verdict
        if api_key == API_VERSIONS and version >= SOFTWARE_VERSION:
            try:
                request = call.request
            except ProtocolError:
                return None
            call.session.software = (request.client_software_name, request.client_software_version)
        elif api_key in RACK_VERSIONS:
            learn_rack(call)
        return None

    def forward(self, call: Call) -> Verdict | None:
        """Have the real broker answer."""
        link: ProxyConnection = call.session.link  # type: ignore[attr-defined]
        try:
            changed = None
            if call.injected is not None:
                sending = sending_of(call)
                if sending.closes is not None:
                    return Close(sending.closes)
                if sending.request is None:
                    return Respond(sending.answer)
                if sending.request is not call.request or call.injected.hides_part:
                    changed = sending.request
            frame = self.mending.frame_of(call, changed) if self.mending is not None else None
            if frame is None:
                frame = (
                    (LENGTH.pack(len(call.frame)), call.frame) if changed is None else (encoded_request(call, changed),)
                )
            is_answered = call.api_key != PRODUCE or call.request.acks != NO_ACKS
            if call.api_key == FETCH:
                self.fetches.forwarded(call)
        except ProtocolError as error:
            return Close(str(error))
        if call.api_key == SASL_HANDSHAKE:
            link.login.handshake_sent(call.version)
            link.identity = link.identity or LoginIdentity()
        link.forward(call, frame, is_answered=is_answered)
        if is_answered:
            return FORWARDED  # type: ignore[no-any-return]
        call.parts = sent_parts(call, message_class(PRODUCE, "response"))
        return Respond(None)

    # what the connection to the real broker does

    def answered(self, call: Call, frame: bytes, now_ms: int) -> None:
        """The real broker has answered a call."""
        self.cluster.now_ms = call.now_ms = now_ms
        injected = call.injected
        is_amended = injected is not None and bool(injected.amend)
        try:
            response, is_changed = self._read(call, frame, is_amended=is_amended)
            if call.api_key == FETCH:
                self.fetches.answered(call, response)
            if is_changed and response is not None:
                for amend in injected.amend if injected is not None else ():
                    amend(response)
                version = call.version
                if call.api_key == API_VERSIONS and response.error_code == UNSUPPORTED_VERSION:
                    version = 0
                output = encoded(call, response, version)
            else:
                output = [LENGTH.pack(len(frame)), frame]
            if response is not None and call.api_key in APIS_WITH_PARTS:
                note_parts(call, response)
        except (ProtocolError, LoginNotFollowedError) as error:
            self._conclude(call, Close(f"the broker's answer cannot be passed on: {error}"))
            return
        self._end(Outcome(call, Ending.ANSWERED, now_ms, output, response))

    def lost(self, call: Call, reason: str, now_ms: int) -> None:
        """The real broker will not answer a call that has gone on to it: the client's connection ends."""
        call.now_ms = now_ms
        self._conclude(call, Close(reason))

    def forget_forwarded(self, call: Call, now_ms: int) -> None:
        """Nobody waits any more for the answer to a call that has gone on."""
        parked = self._parked.pop(call, None)
        if parked is not None:  # its answer is there, and held back
            self.purgatory.drop(parked)
        self._end(Outcome(call, Ending.DROPPED, now_ms))

    # inside

    def _conclude(self, call: Call, verdict: Verdict) -> None:
        if verdict is not FORWARDED:
            CallPath._conclude(self, call, verdict)

    def _read(self, call: Call, frame: bytes, *, is_amended: bool) -> tuple[Any, bool]:
        """The message of an answer, where it matters to us, and whether it is another now. Raises ProtocolError."""
        api_key, version = call.api_key, call.version
        if api_key == API_VERSIONS:
            _, response = read_response(frame, api_key, version)
            clamp(response)
            return response, True
        carries = may_carry_addresses(api_key, version)
        mending = self.mending if self.mending is not None and self.mending.looks_at_answer(api_key) else None
        if not (carries or is_amended or mending or api_key in APIS_WITH_PARTS or api_key in NOTED):
            return None, False
        _, response = read_response(frame, api_key, version)
        if api_key == METADATA:
            self.mirror.learn(response, version)
        elif api_key == SASL_HANDSHAKE:
            login: LoginFollower = call.session.link.login  # type: ignore[attr-defined]
            login.handshake_answered(version, call.request.mechanism, response.error_code)
            if not response.error_code:
                call.session.link.identity.begin(call.request.mechanism)  # type: ignore[attr-defined]
        elif api_key == SASL_AUTHENTICATE:
            link: ProxyConnection = call.session.link  # type: ignore[attr-defined]
            if not response.error_code and link.identity is not None:
                link.token_answered(link.identity.claim_in(call.request.auth_bytes), response.auth_bytes)
        elif api_key == DELETE_TOPICS:
            self._topics_deleted(call, response)
        is_changed = is_amended
        if mending is not None:
            is_changed |= mending.mend_answer(call, response)
        if carries:
            is_changed |= rewrite_addresses(api_key, version, response, self.mirror.directory(call.session.listener))
        return response, is_changed

    def _topics_deleted(self, call: Call, response: Any) -> None:
        """Forget the topics that are gone."""
        for one in response.responses:
            if not one.error_code:
                known = call.cluster.topic_by_id.get(getattr(one, "topic_id", b""))
                self.mirror.forget_topic(one.name or (known.name if known is not None else ""))


def encoded_request(call: Call, request: Any) -> bytes:
    """A request in place of the one that came, with its length."""
    client_id = call.session.client_id
    return request_frame(request, call.version, correlation_id=call.correlation_id, client_id=client_id)
