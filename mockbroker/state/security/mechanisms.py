"""The broker's side of SASL mechanisms: takes the client's tokens, returns the broker's tokens and the user.

Without Kafka messages and sockets. Each exchange has a new mechanism object.
Source: RFC 4616 (PLAIN), RFC 5802 and RFC 7677 (SCRAM); KIP-43, KIP-84; PlainSaslServer, ScramSaslServer and
ScramMessages, Apache Kafka 4.4, for the syntax of messages.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protocol.embedded.metadata_security import UserScramCredentialRecord

OAUTHBEARER = "OAUTHBEARER"
PLAIN, SCRAM_SHA_256, SCRAM_SHA_512 = "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"
SCRAM_MECHANISMS = {SCRAM_SHA_256: 1, SCRAM_SHA_512: 2}
"""Kafka's number of each in requests and records."""
SCRAM_HASHES = {1: "sha256", 2: "sha512"}
"""The hash by that number."""
MIN_ITERATIONS = 4096
BASE64 = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
SASL_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]++|=2C|=3D)++"
VALUE = r"[\x01-\x2b\x2d-\x7f]+"
NONCE = r"[\x21-\x2b\x2d-\x7e]+"
EXTENSIONS = rf"(?:,[A-Za-z]+={VALUE})*"
CLIENT_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization>{SASL_NAME}))?,(?:m={VALUE},)?n=(?P<name>{SASL_NAME}),r=(?P<nonce>{NONCE})"
    rf"(?P<extensions>{EXTENSIONS})"
)
CLIENT_FINAL = re.compile(rf"c=(?P<binding>{BASE64}),r=(?P<nonce>{NONCE}){EXTENSIONS},p=(?P<proof>{BASE64})")
OTHER_AUTHORIZATION = "Authentication failed: Client requested an authorization id that is different from username"


class AuthenticationFailedError(Exception):
    """Authentication failed; the text is Kafka's message for the client."""


class InvalidTokenError(Exception):
    """A token with wrong syntax or a wrong proof; the text is for the log and has no part of the token."""


class BrokenTokenError(Exception):
    """A token on which Kafka fails, so that the connection closes without a response."""


class SaslMechanism(ABC):
    """One exchange. Once ``is_complete``: ``user``, and ``expires_ms``, the end of its session; None for no end."""

    is_complete = False
    user = ""
    expires_ms: int | None = None

    @abstractmethod
    def answer(self, token: bytes, now_ms: int) -> bytes:
        """The broker's token. Raises AuthenticationFailedError, InvalidTokenError, BrokenTokenError."""


class PlainMechanism(SaslMechanism):
    """A name and a password in one token."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords

    def answer(self, token: bytes, now_ms: int = 0) -> bytes:
        """The empty token, if the password is right."""
        tokens = token.decode("utf-8", "replace").split("\0")
        if len(tokens) != 3:
            raise AuthenticationFailedError(
                f"Invalid SASL/PLAIN response: expected 3 tokens, got {min(len(tokens), 4)}"
            )
        authorization, user, password = tokens
        if not user:
            raise AuthenticationFailedError("Authentication failed: username not specified")
        if not password:
            raise AuthenticationFailedError("Authentication failed: password not specified")
        expected = self._passwords.get(user)
        if expected is None or not hmac.compare_digest(expected.encode(), password.encode()):
            raise AuthenticationFailedError("Authentication failed: Invalid username or password")
        if authorization not in ("", user):
            raise AuthenticationFailedError(OTHER_AUTHORIZATION)
        self.user, self.is_complete = user, True
        return b""


class ScramMechanism(SaslMechanism):
    """Mutual proof by client and broker that they know a password.

    Args:
        name: SCRAM-SHA-256 or SCRAM-SHA-512.
        credential_of: returns a user's credential; None for an unknown user.
        nonce: the broker's part of the nonce, unique.
    """

    def __init__(self, name: str, credential_of: Callable[[str], UserScramCredentialRecord | None], nonce: str) -> None:
        self._hash = SCRAM_HASHES[SCRAM_MECHANISMS[name]]
        self._credential_of, self._nonce = credential_of, nonce
        self._credential: UserScramCredentialRecord | None = None
        self._client_first = self._server_first = ""

    def answer(self, token: bytes, now_ms: int = 0) -> bytes:
        """Salt and iterations for the client's first token, the broker's proof for its final one."""
        text = token.decode("utf-8", "replace")
        return self._first(text) if self._credential is None else self._final(text, self._credential)

    def _first(self, text: str) -> bytes:
        found = CLIENT_FIRST.fullmatch(text)
        if found is None:
            raise InvalidTokenError("the client's first SCRAM message has not the form of one")
        user = found["name"].replace("=2C", ",").replace("=3D", "=")
        if names_token(found["extensions"]):
            raise InvalidTokenError(f"there is no delegation token {user!r}")
        credential = self._credential_of(user)
        if credential is None:
            raise InvalidTokenError(f"user {user!r} has no SCRAM credential of this mechanism")
        if (found["authorization"] or user) != user:
            raise AuthenticationFailedError(OTHER_AUTHORIZATION)
        if credential.iterations < MIN_ITERATIONS:
            raise InvalidTokenError(f"expected a credential of {MIN_ITERATIONS} iterations or more")
        self.user, self._credential = user, credential
        self._nonce = found["nonce"] + self._nonce
        self._client_first = f"n={found['name']},r={found['nonce']}{found['extensions']}"
        salt = base64.b64encode(credential.salt).decode()
        self._server_first = f"r={self._nonce},s={salt},i={credential.iterations}"
        return self._server_first.encode()

    def _final(self, text: str, credential: UserScramCredentialRecord) -> bytes:
        found = CLIENT_FINAL.fullmatch(text)
        if found is None:
            raise InvalidTokenError("the client's final SCRAM message has not the form of one")
        if found["nonce"] != self._nonce:
            raise InvalidTokenError("the nonce of the client's final SCRAM message is not the one it was sent")
        binding = base64.b64encode(base64.b64decode(found["binding"])).decode()
        message = f"{self._client_first},{self._server_first},c={binding},r={self._nonce}".encode()
        proof = base64.b64decode(found["proof"])
        signature = hmac.digest(credential.stored_key, message, self._hash)
        if len(proof) != len(signature):
            raise BrokenTokenError(f"expected a SCRAM proof of {len(signature)} bytes, got {len(proof)}")
        client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
        if not hmac.compare_digest(hashlib.new(self._hash, client_key).digest(), credential.stored_key):
            raise InvalidTokenError(f"the password of user {self.user!r} is not the right one")
        self.is_complete = True
        return b"v=" + base64.b64encode(hmac.digest(credential.server_key, message, self._hash))


def names_token(extensions: str) -> bool:
    """True if the client declares its name to be a delegation token's id.

    >>> names_token(",a=b,tokenauth=True")
    True
    """
    pairs = dict(pair.split("=", 1) for pair in extensions.split(",") if pair)
    return pairs.get("tokenauth", "").lower() == "true"


def salted_password(mechanism: int, password: str, salt: bytes, iterations: int = MIN_ITERATIONS) -> bytes:
    """A password as in AlterUserScramCredentials: salted and hashed in this number of iterations."""
    return hashlib.pbkdf2_hmac(SCRAM_HASHES[mechanism], password.encode(), salt, iterations)
