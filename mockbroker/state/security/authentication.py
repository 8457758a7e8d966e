"""Authentication of a connection to a SASL listener: the requests allowed in each state, and the session's lifetime.

The states of a connection, without its bytes:

  OPEN           ApiVersions or SaslHandshake is allowed
  HANDSHAKE      after ApiVersions: SaslHandshake is required
  AUTHENTICATE   a mechanism is chosen: tokens follow in SaslAuthenticate or, after SaslHandshake v0, without headers
  COMPLETE       all requests are allowed until the session expires; SaslHandshake begins a re-authentication
  WRONG_MECHANISM  a re-authentication with another mechanism was begun: the next request ends the connection

Source: KIP-43, KIP-152, KIP-368; SaslServerAuthenticator and KafkaChannel.maybeBeginServerReauthentication, Apache
Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from mockbroker.state.security.listeners import ListenerSecurity
from mockbroker.state.security.mechanisms import (
    AuthenticationFailedError,
    BrokenTokenError,
    Exchange,
    InvalidTokenError,
    Login,
)

REAUTHENTICATION_INTERVAL_MS = 1000  # minimum time between two
MAX_LIFETIME_MS = (2**63 - 1) // 1_000_000


class AuthenticationState(Enum):
    """The authentication state of a connection."""

    OPEN = "open"
    HANDSHAKE = "handshake"
    AUTHENTICATE = "authenticate"
    COMPLETE = "complete"
    WRONG_MECHANISM = "wrong mechanism"


class Authenticator:
    """Authenticates a connection.

    Args:
        security: the listener's security settings.
        make: returns a new exchange of a mechanism, by its name.

    ``user`` is the authenticated user, "" before; ``expires_ms`` is the session's end, None for no end.
    """

    def __init__(self, security: ListenerSecurity, make: Callable[[str], Exchange]) -> None:
        self.security, self._make = security, make
        self.state = AuthenticationState.OPEN
        self.has_headers = False
        self.is_again = False  # True for a re-authentication
        self.mechanism = self.user = ""
        self.expires_ms: int | None = None
        self._begun_ms: int | None = None  # the start of the last re-authentication
        self._exchange: Exchange | None = None

    @property
    def is_complete(self) -> bool:
        """True if all requests are allowed."""
        return self.state is AuthenticationState.COMPLETE

    @property
    def takes_bare_tokens(self) -> bool:
        """True if the next token has no header."""
        return self.state is AuthenticationState.AUTHENTICATE and not self.has_headers

    def has_expired(self, now_ms: int) -> bool:
        """True if the session has expired."""
        return self.expires_ms is not None and now_ms > self.expires_ms

    def versions_sent(self) -> None:
        """Record a successful ApiVersions request."""
        if self.state is AuthenticationState.OPEN:
            self.state = AuthenticationState.HANDSHAKE

    def begin_again(self, now_ms: int) -> bool:
        """Begin a re-authentication; returns False if the session does not expire, or the last one was too recent."""
        if self.expires_ms is None:
            return False
        if self._begun_ms is not None and now_ms - self._begun_ms < REAUTHENTICATION_INTERVAL_MS:
            return False
        self._begun_ms = now_ms
        self.is_again, self.has_headers = True, False
        self.state = AuthenticationState.HANDSHAKE
        return True

    def choose(self, mechanism: str, *, has_headers: bool) -> bool:
        """Choose a mechanism; returns False if the listener does not support it."""
        if has_headers:
            self.has_headers = True
        if mechanism not in self.security.mechanisms:
            return False
        if self.is_again and mechanism != self.mechanism:
            self.state = AuthenticationState.WRONG_MECHANISM
            return True
        self.mechanism, self._exchange = mechanism, self._make(mechanism)
        next(self._exchange)
        self.state = AuthenticationState.AUTHENTICATE
        return True

    def answer(self, token: bytes, now_ms: int) -> tuple[bytes, int]:
        """The broker's token, and the session's lifetime in ms: 0 for unlimited, or not begun yet.

        Raises: AuthenticationFailedError with the message for the client; BrokenTokenError, without a response;
            InvalidTokenError after tokens without headers, which have no error response.
        """
        assert self._exchange is not None
        try:
            return self._exchange.send((token, now_ms)), 0
        except StopIteration as complete:
            login: Login = complete.value
        except InvalidTokenError as error:
            if not self.has_headers:
                raise
            which = "re-authentication" if self.is_again else "authentication"
            raise AuthenticationFailedError(
                f"Authentication failed during {which} due to invalid credentials with SASL mechanism {self.mechanism}"
            ) from error
        if self.is_again and login.user != self.user:
            raise AuthenticationFailedError(
                f"Cannot change principals during re-authentication from User.{self.user}: User.{login.user}"
            )
        lifetime_ms = self._lifetime_ms(login, now_ms)
        self.expires_ms = None if lifetime_ms is None else now_ms + lifetime_ms
        self.user, self._exchange = login.user, None
        self.state = AuthenticationState.COMPLETE
        return login.token, lifetime_ms or 0

    def _lifetime_ms(self, login: Login, now_ms: int) -> int | None:
        limit_ms = self.security.max_reauth_ms.get(self.mechanism, 0)
        limits = [limit_ms] if limit_ms > 0 else []
        if login.expires_ms is not None:
            limits.append(login.expires_ms - now_ms)
        lifetime_ms = max(0, min(limits)) if limits else None
        if lifetime_ms is not None and lifetime_ms > MAX_LIFETIME_MS:
            # Kafka adds nanoseconds to the current time, and fails on overflow of 64 bits.
            raise BrokenTokenError(f"expected a token that is good for {MAX_LIFETIME_MS} ms or less")
        return lifetime_ms
