"""The broker's side of SASL mechanisms: takes the client's tokens, returns the broker's tokens and the user.

Without Kafka messages and sockets. An exchange is a generator, as a client's is in ``client_properties/login.py``.
Source: RFC 4616 (PLAIN), RFC 5802 and RFC 7677 (SCRAM); KIP-43, KIP-84; PlainSaslServer, ScramSaslServer and
ScramMessages, Apache Kafka 4.4, for the syntax of messages.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, NamedTuple

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


class Login(NamedTuple):
    """A complete login: the broker's last token, the user, and the end of the session; None for no end."""

    token: bytes
    user: str
    expires_ms: int | None = None


Exchange = Generator[bytes, tuple[bytes, int], Login]
"""One exchange, which waits at a first, empty token: it is sent each token of the client with the time, yields the
broker's, and returns the login. Raises AuthenticationFailedError, InvalidTokenError, BrokenTokenError.
"""


def plain(passwords: Mapping[str, str]) -> Exchange:
    """A name and a password in one token, which the broker answers with an empty one."""
    token, _ = yield b""
    tokens = token.decode("utf-8", "replace").split("\0")
    if len(tokens) != 3:
        raise AuthenticationFailedError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {min(len(tokens), 4)}")
    authorization, user, password = tokens
    if not user:
        raise AuthenticationFailedError("Authentication failed: username not specified")
    if not password:
        raise AuthenticationFailedError("Authentication failed: password not specified")
    expected = passwords.get(user)
    if expected is None or not hmac.compare_digest(expected.encode(), password.encode()):
        raise AuthenticationFailedError("Authentication failed: Invalid username or password")
    if authorization not in ("", user):
        raise AuthenticationFailedError(OTHER_AUTHORIZATION)
    return Login(b"", user)


def scram(name: str, credential_of: Callable[[str], UserScramCredentialRecord | None], nonce: str) -> Exchange:
    """Mutual proof by client and broker that they know a password: salt and iterations, then the broker's proof.

    Args:
        name: SCRAM-SHA-256 or SCRAM-SHA-512.
        credential_of: returns a user's credential; None for an unknown user.
        nonce: the broker's part of the nonce, unique.
    """
    token, _ = yield b""
    first = CLIENT_FIRST.fullmatch(token.decode("utf-8", "replace"))
    if first is None:
        raise InvalidTokenError("the client's first SCRAM message has not the form of one")
    user = first["name"].replace("=2C", ",").replace("=3D", "=")
    if names_token(first["extensions"]):
        raise InvalidTokenError(f"there is no delegation token {user!r}")
    credential = credential_of(user)
    if credential is None:
        raise InvalidTokenError(f"user {user!r} has no SCRAM credential of this mechanism")
    if (first["authorization"] or user) != user:
        raise AuthenticationFailedError(OTHER_AUTHORIZATION)
    if credential.iterations < MIN_ITERATIONS:
        raise InvalidTokenError(f"expected a credential of {MIN_ITERATIONS} iterations or more")
    salt = base64.b64encode(credential.salt).decode()
    server_first = f"r={first['nonce']}{nonce},s={salt},i={credential.iterations}"
    token, _ = yield server_first.encode()
    final = CLIENT_FINAL.fullmatch(token.decode("utf-8", "replace"))
    if final is None:
        raise InvalidTokenError("the client's final SCRAM message has not the form of one")
    if final["nonce"] != first["nonce"] + nonce:
        raise InvalidTokenError("the nonce of the client's final SCRAM message is not the one it was sent")
    binding = base64.b64encode(base64.b64decode(final["binding"])).decode()
    client_first = f"n={first['name']},r={first['nonce']}{first['extensions']}"
    message = f"{client_first},{server_first},c={binding},r={final['nonce']}".encode()
    hash_name = SCRAM_HASHES[SCRAM_MECHANISMS[name]]
    check_proof(base64.b64decode(final["proof"]), message, credential, hash_name)
    return Login(b"v=" + base64.b64encode(hmac.digest(credential.server_key, message, hash_name)), user)


def check_proof(proof: bytes, message: bytes, credential: UserScramCredentialRecord, hash_name: str) -> None:
    """Raises InvalidTokenError unless a proof shows that the client knows the password; BrokenTokenError."""
    signature = hmac.digest(credential.stored_key, message, hash_name)
    if len(proof) != len(signature):
        raise BrokenTokenError(f"expected a SCRAM proof of {len(signature)} bytes, got {len(proof)}")
    client_key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
    if not hmac.compare_digest(hashlib.new(hash_name, client_key).digest(), credential.stored_key):
        raise InvalidTokenError(f"the password of user {credential.name!r} is not the right one")


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
