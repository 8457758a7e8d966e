"""The principal of a client that logs in to the real broker, from tokens that the broker has accepted.

Only the name in a token is stored, and it counts once the broker has accepted the login: PLAIN has it beside the
password, SCRAM in the first of its two tokens, OAUTHBEARER in the claim ``sub`` of a JSON web token. A delegation
token shows its id, since only the broker knows its owner. GSSAPI has no readable name.

>>> login = LoginIdentity()
>>> login.begin("PLAIN")
>>> login.answered(login.claim_in(b"\\0alice\\0secret"), b"")
'User:alice'

Source: RFC 4616, RFC 5802, RFC 7628; KIP-48, KIP-255; ScramSaslServer and OAuthBearerSaslServer, Apache Kafka 4.4.
"""

from __future__ import annotations

import base64
import json

from mockbroker.parts import provided
from mockbroker.state.security.mechanisms import (
    CLIENT_FIRST,
    OAUTHBEARER,
    PLAIN,
    SCRAM_MECHANISMS,
    BrokenTokenError,
    InvalidTokenError,
    names_token,
)

USER, DELEGATION_TOKEN = "User:", "DelegationToken:"
PLAIN_PARTS = 3
SUBJECT = "sub"
SERVER_SIGNATURE = b"v="


class LoginIdentity:
    """Follows the logins of one connection. Answers come in the order of the tokens."""

    __slots__ = ("_claim", "_mechanism")

    def __init__(self) -> None:
        self._mechanism: str | None = None
        self._claim: str | None = None

    def begin(self, mechanism: str) -> None:
        """The broker has accepted a handshake with this mechanism."""
        self._mechanism, self._claim = mechanism, None

    def claim_in(self, token: bytes) -> str | None:
        """The name in a client's token; None without one."""
        text = token.decode("utf-8", "replace")
        if self._mechanism == PLAIN:
            parts = text.split("\0")
            return USER + parts[1] if len(parts) == PLAIN_PARTS and parts[1] else None
        if self._mechanism in SCRAM_MECHANISMS:
            found = CLIENT_FIRST.fullmatch(text)
            if found is None:
                return None
            name = found["name"].replace("=2C", ",").replace("=3D", "=")
            return (DELEGATION_TOKEN if names_token(found["extensions"]) else USER) + name
        read_oauthbearer = provided("read_oauthbearer")
        if self._mechanism == OAUTHBEARER and read_oauthbearer is not None:
            try:
                authorization, shown = read_oauthbearer(token)
            except (InvalidTokenError, BrokenTokenError):
                return None
            name = authorization or subject_of(shown)
            return USER + name if name else None
        return None

    def answered(self, claim: str | None, token: bytes) -> str | None:
        """The principal, if the login is complete after the broker's answer to a token, without an error; else None.

        Args:
            claim: the name in the client's token.
        """
        if claim is not None:
            self._claim = claim
        if self._mechanism in SCRAM_MECHANISMS:
            is_over = token.startswith(SERVER_SIGNATURE)
        else:
            is_over = not token or self._mechanism == PLAIN
        if not is_over:
            return None
        found, self._claim = self._claim, None
        return found


def subject_of(token: str) -> str | None:
    """The claim ``sub`` of a JSON web token; None without one.

    >>> subject_of("e30.eyJzdWIiOiAiYWxpY2UifQ.")
    'alice'
    """
    parts = token.split(".")
    if len(parts) != PLAIN_PARTS:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    subject = claims.get(SUBJECT) if isinstance(claims, dict) else None
    return subject if isinstance(subject, str) and subject else None
