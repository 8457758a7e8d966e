"""SaslHandshake (key 17), SaslAuthenticate (36): the login of a client of a SASL listener.

Errors: UNSUPPORTED_SASL_MECHANISM, SASL_AUTHENTICATION_FAILED: both come after a delay and close the connection;
ILLEGAL_SASL_STATE if the listener has no login, or the login is complete.
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
    """Choose the client's mechanism; the answer lists all mechanisms of the listener."""
    authenticator = call.session.authenticator
    if authenticator is None or authenticator.is_complete:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    mechanisms = list(authenticator.security.mechanisms)
    if authenticator.choose(request.mechanism, has_headers=call.version >= WITH_HEADERS_VERSION):
        return SaslHandshakeResponse(mechanisms=mechanisms)
    reason = f"expected a SASL mechanism of {', '.join(mechanisms)}"
    if authenticator.is_again:  # Kafka sends no answer here either
        return Verdict(closes=reason)
    response = SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=mechanisms)
    return refused(call, authenticator, response, reason)


@handles(SaslAuthenticateRequest, access=Needs(note="Nothing: it comes before the login"))
def sasl_authenticate(call: Call, request: SaslAuthenticateRequest) -> Any:
    """Pass the client's token to the mechanism, and return the mechanism's answer."""
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
    finish_login(call, authenticator)
    return SaslAuthenticateResponse(auth_bytes=token, session_lifetime_ms=lifetime_ms)


def finish_login(call: Call, authenticator: Authenticator) -> None:
    """Set the session's principal once the login is complete."""
    if authenticator.is_complete:
        call.session.authenticated(USER + authenticator.user)
        if authenticator.expires_ms is None:
            call.session.authenticator = None


def refused(call: Call, authenticator: Authenticator, response: Any, reason: str) -> Verdict | Wait:
    """Close the connection after this answer, None for none, and the configured delay for failures."""
    verdict = Verdict(response, closes=reason)
    delay_ms = authenticator.security.failure_delay_ms
    return Wait(call.now_ms + delay_ms, (), lambda _: verdict) if delay_ms else verdict


def reason_of(error: AuthenticationFailedError) -> str:
    """The reason for the log: the cause of the error that the client sees, if it has one."""
    return str(error.__cause__ or error)
