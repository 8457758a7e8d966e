"""OAUTHBEARER: a client sends a token, and a validator returns its principal and expiry.

The answer to an invalid token is an error in JSON; the client acknowledges it with a single 0x01 and receives the same
text as an error. It may send another token instead.
Source: RFC 7628; KIP-255, KIP-342; OAuthBearerSaslServer and OAuthBearerClientInitialResponse, Apache Kafka 4.4, which
define the form of messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from mockbroker.state.security.mechanisms import (
    SASL_NAME,
    AuthenticationFailedError,
    BrokenTokenError,
    Exchange,
    InvalidTokenError,
    Login,
)
from mockbroker.state.timers import WallClock

SEPARATOR = "\x01"
ACKNOWLEDGEMENT = b"\x01"
KEY_AND_VALUE = rf"[A-Za-z]++=[\x21-\x7e \t\r\n]++{SEPARATOR}"
CLIENT_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization>{SASL_NAME}))?,{SEPARATOR}(?P<pairs>(?:{KEY_AND_VALUE})*+){SEPARATOR}"
)
AUTH = re.compile(r"(?P<scheme>\w++) ++(?P<token>[-_~+/.a-zA-Z0-9]++=*+)", re.ASCII)
BEARER = "bearer"


class BearerToken(NamedTuple):
    """A valid token: its principal, and its expiry by the wall clock, in ms."""

    principal: str
    expires_ms: int


class RefusedTokenError(Exception):
    """An invalid token; the text is for the log and contains nothing of the token.

    ``status`` and ``scope``, the required scopes, are for the client.
    """

    def __init__(self, reason: str, status: str = "invalid_token", scope: str | None = None) -> None:
        super().__init__(reason)
        self.status, self.scope = status, scope


Validate = Callable[[str, int], BearerToken]
"""Validates a token at a time of the wall clock, in ms. Raises RefusedTokenError, BrokenTokenError."""


def oauthbearer(validate: Validate, clock: WallClock) -> Exchange:
    """The client's token and its extensions in one message; the answer is empty for a valid token, else an error.

    Args:
        clock: the wall clock, for tokens' times.
    """
    message, now_ms = yield b""
    while True:
        authorization, token = token_in(message)
        try:
            found = validate(token, clock.at(now_ms))
        except RefusedTokenError as error:
            text = error_text(error)
            message, now_ms = yield text.encode()
            if message == ACKNOWLEDGEMENT:
                raise AuthenticationFailedError(text) from error
            continue
        if authorization not in ("", found.principal):
            raise AuthenticationFailedError(
                f"Authentication failed: Client requested an authorization id ({authorization}) that is different from "
                f"the token's principal name ({found.principal})"
            )
        return Login(b"", found.principal, found.expires_ms - clock.offset_ms)


def token_in(message: bytes) -> tuple[str, str]:
    """The authorization id of a client's first message, "" for none, and its token.

    Raises: InvalidTokenError: malformed message; BrokenTokenError: another scheme.

    >>> token_in(b"n,,\\x01auth=Bearer abc.def.\\x01team=blue\\x01\\x01")
    ('', 'abc.def.')
    """
    found = CLIENT_FIRST.fullmatch(message.decode("utf-8", "replace"))
    if found is None:
        raise InvalidTokenError("the client's first OAUTHBEARER message has not the form of one")
    pairs = dict(pair.split("=", 1) for pair in found["pairs"].split(SEPARATOR) if pair)
    auth = AUTH.fullmatch(pairs.get("auth", ""))
    if auth is None:
        raise InvalidTokenError("the client's first OAUTHBEARER message has no 'auth' of a scheme and a token")
    if auth["scheme"].lower() != BEARER:
        raise BrokenTokenError("the client's first OAUTHBEARER message has another scheme than Bearer")
    return found["authorization"] or "", auth["token"]


def error_text(refusal: RefusedTokenError) -> str:
    """The error for the client, as JSON.

    >>> error_text(RefusedTokenError("no", "insufficient_scope", "[read]"))
    '{"status":"insufficient_scope", "scope":"[read]"}'
    """
    scope = "" if refusal.scope is None else f', "scope":"{refusal.scope}"'
    return f'{{"status":"{refusal.status}"{scope}}}'
