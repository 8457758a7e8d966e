"""The login of clients on SASL listeners: what they may send before it, and after their session expires.

``guard`` checks each call on a connection with an ``Authenticator``, before the stages of the path; other connections,
such as those of PLAINTEXT listeners, skip it.
Source: SaslServerAuthenticator.handleKafkaRequest and handleSaslToken, SocketServer.processCompletedReceives, Apache
Kafka 4.4.
"""

from __future__ import annotations

from mockbroker.api import SERVED
from mockbroker.call import Call, Verdict, Wait
from mockbroker.core.path import LENGTH, REQUEST_START
from mockbroker.handlers.error_responses import error_response
from mockbroker.handlers.sasl import finish_login, reason_of, refused
from mockbroker.state.errors import ApiError
from mockbroker.state.security.authentication import AuthenticationState, Authenticator
from mockbroker.state.security.mechanisms import AuthenticationFailedError, BrokenTokenError, InvalidTokenError
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol.error_codes import ErrorCode
from protocol.registry import message_class

SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 17, 18, 36
BARE_TOKEN_VERSION = 0


def guard(call: Call, authenticator: Authenticator) -> Verdict | Wait | None:
    """None if a call may continue, else its verdict."""
    if authenticator.takes_bare_tokens:
        return bare_token(call, authenticator)
    api_key, version, _ = REQUEST_START.unpack_from(call.frame)
    state = authenticator.state
    if state is AuthenticationState.COMPLETE:
        if api_key == SASL_HANDSHAKE and authenticator.begin_again(call.now_ms):
            return None
        return Verdict(closes="the session has expired") if authenticator.has_expired(call.now_ms) else None
    if state is AuthenticationState.WRONG_MECHANISM:
        return refused(call, authenticator, None, f"expected a re-authentication by {authenticator.mechanism}")
    if state is AuthenticationState.AUTHENTICATE:
        return None if api_key == SASL_AUTHENTICATE else illegal(call, authenticator)
    if api_key == SASL_HANDSHAKE:
        return None
    if api_key != API_VERSIONS or state is AuthenticationState.HANDSHAKE:
        return Verdict(closes=f"expected a SaslHandshake, got {name_of(api_key)} version {version}")
    return None


def illegal(call: Call, authenticator: Authenticator) -> Verdict | Wait:
    """A request instead of a token: the answer is an error, and the connection ends. Raises ProtocolError."""
    call.api_key, call.version, call.correlation_id = REQUEST_START.unpack_from(call.frame)
    reason = f"expected a SaslAuthenticate, got {name_of(call.api_key)}"
    if call.api_key not in SERVED:
        return Verdict(closes=reason)
    from protocol.headers import read_request_header

    if call.api_key == API_VERSIONS and call.version not in message_class(API_VERSIONS, "request").valid_versions:
        call.version = 0
        call.decoded = ApiVersionsRequest()
    else:
        _, call.body_start = read_request_header(call.frame)
    response = error_response(call.request, call.version, ApiError(ErrorCode.ILLEGAL_SASL_STATE))
    return refused(call, authenticator, response, reason)


def bare_token(call: Call, authenticator: Authenticator) -> Verdict | Wait:
    """A token without a header, which observers see as a SaslAuthenticate with the token removed."""
    token = call.frame
    call.api_key, call.version, call.frame = SASL_AUTHENTICATE, BARE_TOKEN_VERSION, bytes(len(token))
    call.decoded = SaslAuthenticateRequest()
    try:
        answer, _ = authenticator.answer(token, call.now_ms)
    except AuthenticationFailedError as error:
        return refused(call, authenticator, None, reason_of(error))
    except (InvalidTokenError, BrokenTokenError) as error:
        return Verdict(closes=str(error))
    finish_login(call, authenticator)
    return Verdict(SaslAuthenticateResponse(), output=[LENGTH.pack(len(answer)) + answer])


def name_of(api_key: int) -> str:
    """The name of an API, for the log."""
    return message_class(api_key, "request").name if api_key in SERVED else f"API key {api_key}"
