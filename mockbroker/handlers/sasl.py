"""SaslHandshake (key 17), SaslAuthenticate (36): how a client of a SASL listener says who it is.

Errors: UNSUPPORTED_SASL_MECHANISM, SASL_AUTHENTICATION_FAILED, both after a delay, and the end of the connection with
them; ILLEGAL_SASL_STATE where nobody has to log in, or nobody has to now.
Source: KIP-43, KIP-152, KIP-368; SaslServerAuthenticator, KafkaApis.handleSaslHandshakeRequest and
handleSaslAuthenticateRequest, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import Any

from mockbroker.api import Needs, handles
from mockbroker.call import Call, Verdict, Wait
from mockbroker.state.security.authentication import AuthenticationState, Authenticator
from mockbroker.state.security.mechanisms import AuthenticationFailedError, BrokenTokenError
from protocol.apis.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from protocol.error_codes import ErrorCode

WITH_HEADERS_VERSION = 1
USER = "User:"


@handles(SaslHandshakeRequest, access=Needs(note="Nothing: it comes before the login"))
def sasl_handshake(call: Call, request: SaslHandshakeRequest) -> Any:
    """Take the mechanism that the client names; all that there are in answer."""
    authenticator = call.session.authenticator
    if authenticator is None or authenticator.is_complete:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    mechanisms = list(authenticator.security.mechanisms)
    if authenticator.choose(request.mechanism, has_headers=call.version >= WITH_HEADERS_VERSION):
        return SaslHandshakeResponse(mechanisms=mechanisms)
    reason = f"expected a SASL mechanism of {', '.join(mechanisms)}"
    if authenticator.is_again:  # a broker of Kafka, too, says nothing here
        return Verdict(closes=reason)
    response = SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=mechanisms)
    return refused(call, authenticator, response, reason)


@handles(SaslAuthenticateRequest, access=Needs(note="Nothing: it comes before the login"))
def sasl_authenticate(call: Call, request: SaslAuthenticateRequest) -> Any:
    """One token for another."""
    authenticator = call.session.authenticator
    if authenticator is None or authenticator.state is not AuthenticationState.AUTHENTICATE:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE,
            error_message="SaslAuthenticate request received after successful authentication",
        )
    try:
        token, lifetime_ms = authenticator.answer(request.auth_bytes, call.now_ms)
    except AuthenticationFailedError as error:
        response = SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=str(error))
        return refused(call, authenticator, response, reason_of(error))
    except BrokenTokenError as error:
        return Verdict(closes=str(error))
    settle(call, authenticator)
    return SaslAuthenticateResponse(auth_bytes=token, session_lifetime_ms=lifetime_ms)


def settle(call: Call, authenticator: Authenticator) -> None:
    """Take down who the client is, once that is known."""
    if authenticator.is_complete:
        call.session.authenticated(USER + authenticator.user)
        if authenticator.expires_ms is None:
            call.session.authenticator = None


def refused(call: Call, authenticator: Authenticator, response: Any, reason: str) -> Verdict | Wait:
    """The end of the connection with this answer, None for none, after the delay that is set for failures."""
    verdict = Verdict(response, closes=reason)
    delay_ms = authenticator.security.failure_delay_ms
    return Wait(call.now_ms + delay_ms, (), lambda _: verdict) if delay_ms else verdict


def reason_of(error: AuthenticationFailedError) -> str:
    """What the log says: what is behind the words that the client is told, where something is."""
    return str(error.__cause__ or error)
