"""Tokens of OAUTHBEARER and the messages that show them, as a client makes them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
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


def bearer(
    token: str, extensions: Mapping[str, str] | None = None, *, start: str = "n,,", scheme: str = "Bearer"
) -> bytes:
    """The client's first message."""
    pairs = "".join(f"{name}={value}\1" for name, value in (extensions or {}).items())
    return f"{start}\1auth={scheme} {token}\1{pairs}\1".encode()
