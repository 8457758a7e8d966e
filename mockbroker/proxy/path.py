"""The path of a call that a real broker answers: the stages of our own cluster, with ``forward`` at the end.

Requests are forwarded unchanged, unless a fault removes a part of them; answers are returned unchanged, unless they
contain brokers' addresses, which the proxy replaces, or a fault changes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from mockbroker.call import NO_ACKS, Call, Verdict, Wait
from mockbroker.core.faults.matching import RACK_VERSIONS, learn_rack
from mockbroker.core.path import API_VERSIONS, LENGTH, CallPath, Stage
from mockbroker.handlers.transferred import WITH_PARTS, produced_parts
from mockbroker.parts import provided
from mockbroker.proxy.addresses import may_carry_addresses, rewrite_addresses
from mockbroker.proxy.api_versions import clamp
from mockbroker.proxy.faults import sending_of
from mockbroker.proxy.frames import read_answer, view_large_produce
from mockbroker.proxy.login import LoginNotFollowedError
from mockbroker.proxy.rewrites import NO_REWRITES, Rewrites
from mockbroker.proxy.sessions import fetch_answered, fetch_forwarded
from mockbroker.session import Session
from protocol.codec import codec
from protocol.errors import ProtocolError
from protocol.framing import LARGE_PIECE_BYTES
from protocol.headers import request_frame
from protocol.registry import api_key_of, message_class

if TYPE_CHECKING:
    from mockbroker.proxy.connection import ProxyConnection
    from mockbroker.proxy.mirror import Mirror

PRODUCE, FETCH, METADATA, SASL_HANDSHAKE, DELETE_TOPICS, SASL_AUTHENTICATE = 0, 1, 3, 17, 20, 36
NOTED = (METADATA, SASL_HANDSHAKE, DELETE_TOPICS, SASL_AUTHENTICATE)
"""APIs whose answers the proxy reads: for metadata, the client's principal, or the login's state."""
SHARE = (api_key_of("ShareFetch"), api_key_of("ShareAcknowledge"))
UNSUPPORTED_VERSION = 35


@dataclass(slots=True, eq=False)
class ProxySession(Session):
    """The session of a client that a real broker serves, over ``link``."""

    link: Any = None


@dataclass(slots=True, eq=False)
class ProxyPath(CallPath):
    """Processes calls from frame to outcome. ``mirror`` learns the cluster's state from answers, ``rewrites`` are
    the configured ones.
    """

    session_type = ProxySession
    mirror: Mirror = field(kw_only=True)
    rewrites: Rewrites = field(default=NO_REWRITES, kw_only=True)

    def __post_init__(self) -> None:
        CallPath.__post_init__(self)
        own = (Stage.HEADER, Stage.VERSION, Stage.SESSION, Stage.FAULTS)
        self.steps = {**{stage: self.steps[stage] for stage in own}, Stage.FORWARD: self.forward}

    # the steps

    def gate_version(self, call: Call) -> Verdict | Wait | None:
        """Refuse versions that the codec does not know: ApiVersions answers do not list them."""
        reason = self.refusal_of(call.frame)
        if reason is not None:
            return Verdict(closes=reason)
        if call.version not in message_class(call.api_key, "request").valid_versions:
            # only ApiVersions comes here, whose answer might have an unknown form
            from mockbroker.handlers.api_versions import refuse_version

            return Verdict(refuse_version(), version=0)
        return None

    def refusal_of(self, frame: bytes) -> str | None:
        """The reason why a frame cannot be forwarded; None if it can, or is answered here."""
        api_key, version = int.from_bytes(frame[:2], signed=True), int.from_bytes(frame[2:4], signed=True)
        try:
            request = message_class(api_key, "request")
        except ProtocolError:
            return f"API key {api_key} is not known to the proxy"
        if version in request.valid_versions or api_key == API_VERSIONS:
            return None
        return f"expected {request.name} version {request.valid_versions}, got {version}"

    def open_session(self, call: Call) -> Verdict | Wait | None:
        """Read the rest of the header, and the client's data in the request."""
        verdict = CallPath.open_session(self, call)
        if verdict is None and call.api_key in RACK_VERSIONS:
            learn_rack(call)
        return verdict

    def forward(self, call: Call) -> Verdict | Wait | None:
        """Forward the call to the real broker."""
        link: ProxyConnection = call.session.link  # type: ignore[attr-defined]
        try:
            changed = None
            if call.injected is not None:
                request, refusal = sending_of(call)
                if refusal is not None:
                    if request is not None:
                        link.forward(call, self.upstream_frame(call, request), is_answered=False)
                    return refusal
                if request is not call.request or call.injected.hides_part:
                    changed = request
            frame = self.upstream_frame(call, changed)
            view_large_produce(call)
            is_answered = call.api_key != PRODUCE or call.request.acks != NO_ACKS
            if call.api_key == FETCH:
                fetch_forwarded(call)
            elif call.api_key in SHARE and (sessions := provided("followed_share_sessions")) is not None:
                sessions.forwarded(call)
        except ProtocolError as error:
            return Verdict(closes=str(error))
        if call.api_key == SASL_HANDSHAKE:
            link.login.handshake_sent(call.version)
        return link.forward(call, frame, is_answered=is_answered)

    def upstream_frame(self, call: Call, changed: Any = None) -> Sequence[bytes]:
        """The frame for the real broker with its length. Raises ProtocolError.

        Args:
            changed: the request after a fault has removed a part.
        """
        rewrites, session, request = self.rewrites, call.session, changed
        if rewrites.takes_request(call):
            if request is None:  # a copy: observers see the client's request
                decode = codec(message_class(call.api_key, "request"), call.version).brief_decoder()
                request, _ = decode(call.frame, call.body_start)
            if not rewrites.rewrite_request(call, request):
                request = changed
        client_id = rewrites.client_id(session.client_id, session.rack)
        if request is None and client_id == session.client_id:
            return framed(call.frame)
        request = call.request if request is None else request
        return (request_frame(request, call.version, correlation_id=call.correlation_id, client_id=client_id),)

    def is_silenced(self, call: Call) -> bool:
        """True if a call waits forever, so that neither it nor the connection's next calls continue."""
        if call not in self.purgatory.parked:
            return False
        wait = self.purgatory.parked[call][0]
        return wait.until_ms is None and not wait.on

    # what the connection to the real broker does

    def answered(self, call: Call, frame: bytes, now_ms: int) -> None:
        """The real broker has answered a call."""
        if not self.purgatory.drop(call):
            return  # a fault has ended it
        self.cluster.now_ms = call.now_ms = now_ms
        try:
            verdict = self._verdict(call, frame)
        except (ProtocolError, LoginNotFollowedError, OSError) as error:  # OSError: no listener for a new broker
            verdict = Verdict(closes=f"the broker's answer cannot be passed on: {error}")
        self._conclude(call, verdict)

    # inside

    def _verdict(self, call: Call, frame: bytes) -> Verdict:
        """The verdict of a call that was answered by this frame. Raises ProtocolError."""
        injected = call.injected
        response, is_changed = self._read(call, frame, is_amended=injected is not None and bool(injected.amend))
        if call.api_key == FETCH:
            fetch_answered(call, response)
        elif call.api_key in SHARE and (sessions := provided("followed_share_sessions")) is not None:
            sessions.answered(call, response)
        if response is None or not is_changed:
            return Verdict(response, output=framed(frame))
        if call.api_key == PRODUCE:  # a write counts even if a fault changes its answer
            call.parts = produced_parts(call, response)
        is_refused = call.api_key == API_VERSIONS and response.error_code == UNSUPPORTED_VERSION
        return Verdict(response, version=0 if is_refused else None)

    def _read(self, call: Call, frame: bytes, *, is_amended: bool) -> tuple[Any, bool]:
        """The message of an answer, if the proxy reads it, and True if it changed. Raises ProtocolError."""
        api_key, version = call.api_key, call.version
        if not (is_amended or self._reads_answer(api_key, version)):
            return None, False
        link: ProxyConnection = call.session.link  # type: ignore[attr-defined]
        response = read_answer(frame, api_key, version)
        if api_key == API_VERSIONS:
            clamp(response)
            return response, True
        if api_key == METADATA:
            self.mirror.learn(response, version)
        elif api_key == SASL_HANDSHAKE:
            link.login.handshake_answered(version, call.request.mechanism, response.error_code)
        elif api_key == SASL_AUTHENTICATE:
            if not response.error_code:
                link.logged_in(link.login.authenticated(call.request.auth_bytes, response.auth_bytes))
        elif api_key == DELETE_TOPICS:
            self._topics_deleted(call, response)
        is_changed = is_amended
        if self.rewrites.takes_answer(api_key):
            is_changed |= self.rewrites.rewrite_answer(call, response)
        if may_carry_addresses(api_key, version):
            is_changed |= rewrite_addresses(
                api_key, version, response, partial(self.mirror.place_of, call.session.listener)
            )
        return response, is_changed

    def _reads_answer(self, api_key: int, version: int) -> bool:
        """True if the proxy reads the answers of an API in a version."""
        return (
            api_key in (API_VERSIONS, *WITH_PARTS, *NOTED)
            or may_carry_addresses(api_key, version)
            or self.rewrites.takes_answer(api_key)
        )

    def _topics_deleted(self, call: Call, response: Any) -> None:
        """Remove the deleted topics."""
        for one in response.responses:
            if not one.error_code:
                known = call.cluster.topic_by_id.get(getattr(one, "topic_id", b""))
                self.mirror.forget_topic(one.name or (known.name if known is not None else ""))


def framed(frame: bytes) -> list[bytes]:
    """A frame with its length in front, a small one in one piece."""
    if len(frame) < LARGE_PIECE_BYTES:
        return [LENGTH.pack(len(frame)) + frame]
    return [LENGTH.pack(len(frame)), frame]
