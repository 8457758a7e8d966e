"""Tokens of OAUTHBEARER and the messages that show them, as a client makes them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

NONE = {"alg": "none"}
YEAR_2100 = 4_102_444_800
"""In seconds, as claims have times."""


def part(value: Any) -> str:
    """A part of a token: JSON, or bytes as they are, in base64url."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unsecured(header: Any = NONE, **claims: Any) -> str:
    """A token that nobody signed, alice's unless ``sub`` says else and good until 2100 unless ``exp`` does.

    A claim that is ``...`` is left out.
    """
    told = {"sub": "alice", "exp": YEAR_2100, **claims}
    return f"{part(header)}.{part({name: value for name, value in told.items() if value is not ...})}."


def raw(claims: bytes) -> str:
    """A token with bytes for its claims."""
    return f"{part(NONE)}.{part(claims)}."


@cache
def key(kind: str) -> Any:
    """A private key: "rsa", "rsa-1024", a curve of P-256 to P-521 or "Ed25519"; one name is one key.

    What stands behind a slash makes it another.
    """
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    kind = kind.partition("/")[0]
    if kind.startswith("rsa"):
        return rsa.generate_private_key(65537, int(kind.partition("-")[2] or 2048))
    if kind == "Ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    return ec.generate_private_key({"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}[kind])


def jwk(kind: str, **fields: Any) -> dict[str, Any]:
    """The public part of a key, as a key of a JWKS."""
    from jwt.algorithms import get_default_algorithms

    name = "RS256" if kind.startswith("rsa") else "EdDSA" if kind.startswith("Ed") else "ES256"
    return {**json.loads(get_default_algorithms()[name].to_jwk(key(kind).public_key())), **fields}


def signed(kind: str | bytes, header: Mapping[str, Any], claims: Any) -> str:
    """A token signed by a key, or by bytes for HS256 and its like; ``header`` has ``alg`` at least."""
    from jwt.algorithms import get_default_algorithms

    text = f"{part(header)}.{part(claims)}"
    with_key = get_default_algorithms()[header["alg"]]
    return f"{text}.{part(with_key.sign(text.encode(), kind if isinstance(kind, bytes) else key(kind)))}"


def bearer(
    token: str, extensions: Mapping[str, str] | None = None, *, start: str = "n,,", scheme: str = "Bearer"
) -> bytes:
    """The client's first message."""
    pairs = "".join(f"{name}={value}\1" for name, value in (extensions or {}).items())
    return f"{start}\1auth={scheme} {token}\1{pairs}\1".encode()
