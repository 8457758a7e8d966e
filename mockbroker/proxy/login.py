"""Follows a client's login as its frames pass, to know which frames have a header and which are bare tokens.

After SaslHandshake version 0 the tokens of a mechanism have no headers, those of the client and of the broker, and a
frame does not show that it is one: only the state of the login does. After version 1 they are SaslAuthenticate
requests. Of a token only the name in it is stored, which is the session's principal once the login is complete.

    client            broker              next from the client
    SaslHandshake v0                      unknown: it waits
                      no error            a token
    token                                 unknown: it waits
                      token               a request if the answer ends the login, else a token

GSSAPI has as many tokens as Kerberos needs, until the broker has sent the first wrapped one, its offer of security
layers. The client's choice follows, which a broker does not answer after version 0: a request is next.

>>> login = LoginFollower()
>>> login.handshake_sent(0)
>>> login.handshake_answered(0, "PLAIN", 0)
>>> login.request_follows_header()
False
>>> login.token_sent(b"\\0alice\\0secret")
True
>>> login.token_answered(b"")
'User:alice'
>>> login.request_follows_header()
True

Source: KIP-43, KIP-152; RFC 4616, RFC 5802, RFC 7628, RFC 4752 (GSSAPI), RFC 4121 and RFC 1964 (its tokens);
SaslServerAuthenticator and SaslClientAuthenticator, Apache Kafka 4.4; GssKrb5Server, OpenJDK 17.
"""

from __future__ import annotations

from enum import Enum, auto

from mockbroker.proxy.login_identity import ends_login, principal_in
from mockbroker.state.security.mechanisms import OAUTHBEARER, PLAIN, SCRAM_MECHANISMS

GSSAPI = "GSSAPI"
BARE_TOKENS_VERSION = 0
FOLLOWED = (PLAIN, *SCRAM_MECHANISMS, OAUTHBEARER, GSSAPI)
GENERIC_TOKEN = 0x60  # the first byte of a GSSAPI token in generic form
OBJECT_IDENTIFIER = 0x06
WRAP = b"\x05\x04"
GENERIC_WRAP = b"\x02\x01"


class LoginNotFollowedError(Exception):
    """A login whose end cannot be determined; the text says what to change."""


class LoginState(Enum):
    """The kind of a client's next frame."""

    REQUEST = auto()
    UNKNOWN = auto()  # it depends on the answer to a handshake or to a token
    TOKEN = auto()
    LAST_TOKEN = auto()  # which is not answered


REQUEST, UNKNOWN, TOKEN, LAST_TOKEN = LoginState  # Python 3.11 takes a while to look up each


class LoginFollower:
    """Follows one connection; each method is called as its frame passes, those for answers in the requests' order.

    ``has_begun`` once there was a handshake.
    """

    def __init__(self) -> None:
        self.has_begun = False
        self._state = REQUEST
        self._mechanism = ""
        self._principal: str | None = None  # of the login that is not complete

    def request_follows_header(self) -> bool:
        """True if the client's next frame is a request with a header; else it is a bare token.

        While ``waits_for_answer`` is true this is unknown, and the frame must wait.
        """
        return self._state is REQUEST

    @property
    def waits_for_answer(self) -> bool:
        """True if the kind of the client's next frame depends on an answer that has not come."""
        return self._state is UNKNOWN

    def handshake_sent(self, version: int) -> None:
        """A SaslHandshake is forwarded, the first or that of a re-authentication."""
        self.has_begun = True
        if version == BARE_TOKENS_VERSION:
            self._state = UNKNOWN

    def handshake_answered(self, version: int, mechanism: str, error_code: int) -> None:
        """The broker has answered a SaslHandshake of that version and mechanism.

        Raises: LoginNotFollowedError: bare tokens of an unknown mechanism follow.
        """
        if not error_code:
            self._mechanism, self._principal = mechanism, None
        if version != BARE_TOKENS_VERSION:
            return
        if not error_code and mechanism not in FOLLOWED:
            raise LoginNotFollowedError(
                f"after SaslHandshake version 0 tokens come without headers, and how many {mechanism!r} takes is not "
                f"known: expected one of {', '.join(FOLLOWED)}, or a client that sends SaslHandshake version 1"
            )
        self._state = REQUEST if error_code else TOKEN

    def token_sent(self, token: bytes) -> bool:
        """A bare token is forwarded. Returns: True if the broker answers it, unless it ends the connection."""
        if self._state is LAST_TOKEN:
            self._state = REQUEST
            return False
        assert self._state is TOKEN, self._state
        self._read(token)
        self._state = UNKNOWN
        return True

    def token_answered(self, answer: bytes) -> str | None:
        """The broker has answered a bare token with its own. Returns: the principal if the login is complete."""
        if ends_login(self._mechanism, answer):
            self._state = REQUEST
        else:
            self._state = LAST_TOKEN if is_wrapped(answer) else TOKEN
        return self._logged_in(answer)

    def authenticated(self, token: bytes, answer: bytes) -> str | None:
        """The broker has answered a SaslAuthenticate without an error. Returns: as ``token_answered``."""
        self._read(token)
        return self._logged_in(answer)

    def _read(self, token: bytes) -> None:
        self._principal = principal_in(self._mechanism, token) or self._principal

    def _logged_in(self, answer: bytes) -> str | None:
        if not ends_login(self._mechanism, answer):
            return None
        found, self._principal = self._principal, None
        return found


def is_wrapped(token: bytes) -> bool:
    """True if a GSSAPI token of a broker is a wrapped message, not one that sets up the context.

    >>> is_wrapped(bytes.fromhex("050401ff000c000000000000"))
    True
    >>> is_wrapped(bytes.fromhex("600f06092a864886f71201020202006e00"))
    False
    """
    if token.startswith(WRAP):  # RFC 4121, 4.2.6.2
        return True
    if len(token) < 2 or token[0] != GENERIC_TOKEN:
        return False
    # RFC 2743, 3.1: a length in DER, then the mechanism's object identifier and the mechanism's own data
    identifier = 2 + (token[1] & 0x7F if token[1] & 0x80 else 0)
    if token[identifier : identifier + 1] != bytes([OBJECT_IDENTIFIER]) or len(token) < identifier + 2:
        return False
    inner = identifier + 2 + token[identifier + 1]
    return token.startswith(GENERIC_WRAP, inner)
