"""OAUTHBEARER: a client sends a token, and a validator returns its principal and expiry.

The answer to an invalid token is an error in JSON; the client acknowledges it with a single 0x01 and receives the same
text as an error. It may send another token instead.
Source: RFC 7628; KIP-255, KIP-342; OAuthBearerSaslServer and OAuthBearerClientInitialResponse, Apache Kafka 4.4, which
define the form of messages.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from mockbroker.state.security.mechanisms import (
    SASL_NAME,
    AuthenticationFailedError,
    BrokenTokenError,
    InvalidTokenError,
    SaslMechanism,
)
from mockbroker.state.timers import WallClock

SEPARATOR = "\x01"
ACKNOWLEDGEMENT = b"\x01"
KEY_AND_VALUE = rf"[A-Za-z]++=[\x21-\x7e \t\r\n]++{SEPARATOR}"
MAX_PAIRS = 1000
"""The most keys and values in a message; Java's patterns fail on a few thousand."""
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


class TokenValidator(Protocol):
    """Validates tokens."""

    def validate(self, token: str, wall_ms: int) -> BearerToken:
        """The principal and expiry of a token. Raises RefusedTokenError, BrokenTokenError."""


class OauthBearerMechanism(SaslMechanism):
    """The mechanism for one login: the client's token and its extensions come in one message.

    Args:
        validator: validates tokens.
        clock: the wall clock, for tokens' times.
    """

    def __init__(self, validator: TokenValidator, clock: WallClock) -> None:
        self._validator, self._clock = validator, clock
        self._refusal: RefusedTokenError | None = None

    def answer(self, token: bytes, now_ms: int) -> bytes:
        """The empty answer for a valid token, else the error as JSON."""
        if token == ACKNOWLEDGEMENT and self._refusal is not None:
            raise AuthenticationFailedError(error_text(self._refusal)) from self._refusal
        self._refusal = None
        authorization, shown = token_in(token)
        try:
            found = self._validator.validate(shown, self._clock.at(now_ms))
        except RefusedTokenError as error:
            self._refusal = error
            return error_text(error).encode()
        if authorization not in ("", found.principal):
            raise AuthenticationFailedError(
                f"Authentication failed: Client requested an authorization id ({authorization}) that is different from "
                f"the token's principal name ({found.principal})"
            )
        self.user, self.is_complete = found.principal, True
        self.expires_ms = found.expires_ms - self._clock.offset_ms
        return b""


def token_in(message: bytes) -> tuple[str, str]:
    """The authorization id of a client's first message, "" for none, and its token.

    Raises: InvalidTokenError: malformed message; BrokenTokenError: another scheme.

    >>> token_in(b"n,,\\x01auth=Bearer abc.def.\\x01team=blue\\x01\\x01")
    ('', 'abc.def.')
    """
    text = message.decode("utf-8", "replace")
    found = CLIENT_FIRST.fullmatch(text) if text.count(SEPARATOR) <= MAX_PAIRS else None
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
