"""The name of a client in the tokens by which it logs in to the real broker.

It counts once the broker has accepted the login: PLAIN has it beside the password, SCRAM in the first of its two
tokens, OAUTHBEARER in the claim ``sub`` of a JSON web token. A delegation token shows its id, since only the broker
knows its owner. GSSAPI has no readable name.

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


def principal_in(mechanism: str, token: bytes) -> str | None:
    """The principal that a client's token names; None if it names none.

    >>> principal_in("PLAIN", b"\\0alice\\0secret")
    'User:alice'
    """
    text = token.decode("utf-8", "replace")
    if mechanism == PLAIN:
        parts = text.split("\0")
        return USER + parts[1] if len(parts) == PLAIN_PARTS and parts[1] else None
    if mechanism in SCRAM_MECHANISMS:
        found = CLIENT_FIRST.fullmatch(text)
        if found is None:
            return None
        name = found["name"].replace("=2C", ",").replace("=3D", "=")
        return (DELEGATION_TOKEN if names_token(found["extensions"]) else USER) + name
    read_oauthbearer = provided("read_oauthbearer")
    if mechanism == OAUTHBEARER and read_oauthbearer is not None:
        try:
            authorization, shown = read_oauthbearer(token)
        except (InvalidTokenError, BrokenTokenError):
            return None
        name = authorization or subject_of(shown)
        return USER + name if name else None
    return None


def ends_login(mechanism: str, answer: bytes) -> bool:
    """True if the broker's answer to a token, without an error, ends the login."""
    if mechanism in SCRAM_MECHANISMS:
        return answer.startswith(SERVER_SIGNATURE)
    return not answer or mechanism == PLAIN


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
