"""Signed JWTs, verified with the keys of a JWKS file: audience, issuer, times and principal.

PyJWT verifies signatures; it is loaded with the first listener that needs it. The checks of claims and the choice of a
key follow the library that Kafka uses, except that nested tokens are refused.
Source: RFC 7515, RFC 7517, RFC 7519; KIP-768; BrokerJwtValidator, ClaimValidationUtils and
JwksFileVerificationKeyResolver, Apache Kafka 4.4; JwtConsumer, NumericDateValidator, AudValidator and
VerificationJwkSelector, jose4j 0.9.6.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from mockbroker.access_control.oauthbearer import BearerToken, RefusedTokenError
from mockbroker.access_control.unsecured_tokens import JAVA_SPACE, MAX_TIME_MS, integer, no_constant
from mockbroker.state.security.mechanisms import BrokenTokenError

MAX_LONG = 2**63 - 1

ALGORITHMS = {
    **{f"{kind}{bits}": "RSA" for kind in ("RS", "PS") for bits in (256, 384, 512)},
    **{f"HS{bits}": "oct" for bits in (256, 384, 512)},
    **{f"ES{bits}": "EC" for bits in (256, 384, 512)},
    "EdDSA": "OKP",
}
"""The type of key of each signature algorithm."""
CURVES = {"ES256": ("P-256",), "ES384": ("P-384",), "ES512": ("P-521",), "EdDSA": ("Ed25519", "Ed448")}
NESTED = ("jwt", "application/jwt")

Key = dict[str, Any]
Seconds = Annotated[int, msgspec.Meta(ge=-MAX_LONG, le=MAX_LONG)] | float


@dataclass(slots=True, frozen=True)
class Expectations:
    """The required claims of tokens: one of ``audiences``, and ``issuer``, if these are set.

    ``subject_claim`` contains the user's name, ``scope_claim`` the scopes.
    """

    audiences: frozenset[str] = frozenset()
    issuer: str | None = None
    subject_claim: str = "sub"
    scope_claim: str = "scope"
    clock_skew_s: int = 30


class TokenClaims(msgspec.Struct):
    """The claims whose types are checked in every token."""

    exp: Seconds
    iat: Seconds
    nbf: Seconds | None = None
    iss: str | None = None
    sub: str | None = None
    jti: str | None = None


class SignedValidator:
    """Accepts tokens signed by a key of a JWKS file, which is read again after a change.

    Raises: OSError, ValueError: the file cannot be read, or is not a JWKS.
    """

    __slots__ = ("_expected", "_keys", "_modified_ns", "_path")

    def __init__(self, path: str, expected: Expectations) -> None:
        self._path, self._expected = path, expected
        self._modified_ns: int | None = None
        self._keys: list[Key] = []
        self._refresh()

    def validate(self, token: str, wall_ms: int) -> BearerToken:
        """The principal and expiry of a token. Raises RefusedTokenError, BrokenTokenError."""
        try:
            self._refresh()
        except (OSError, ValueError) as error:
            raise RefusedTokenError(f"expected a file of keys to judge a token by: {error}") from error
        return judged(object_in(verified(token, self._keys)), self._expected, wall_ms // 1000)

    def _refresh(self) -> None:
        modified_ns = os.stat(self._path).st_mtime_ns  # noqa: PTH116 - pathlib is not loaded with a cluster
        if modified_ns != self._modified_ns:
            with open(self._path, "rb") as file:  # noqa: PTH123 - the same
                self._keys = keys_in(file.read())
            self._modified_ns = modified_ns


def keys_in(text: bytes) -> list[Key]:
    """The keys of a JWKS. Raises ValueError."""
    try:
        return [one for one in json.loads(text)["keys"] if isinstance(one, dict)]
    except (ValueError, TypeError, KeyError):
        raise ValueError('expected a JWKS, {"keys": [...]}') from None


def object_in(data: bytes) -> dict[str, Any]:
    """A JSON object without repeated names. Raises RefusedTokenError."""
    try:
        found = READER.decode(data.decode())
    except (ValueError, RecursionError):
        raise RefusedTokenError("expected the claims of a token to be JSON") from None
    if not isinstance(found, dict):
        raise RefusedTokenError("expected the claims of a token to be an object in JSON")
    return found


def without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("expected each name once in an object")
    return found


READER = json.JSONDecoder(object_pairs_hook=without_doubles, parse_int=integer, parse_constant=no_constant)


def verified(token: str, keys: list[Key]) -> bytes:
    """The claims of a token that one of the keys has signed. Raises RefusedTokenError."""
    from jwt import PyJWK, PyJWTError
    from jwt.api_jws import PyJWS

    jws = PyJWS(options={"enforce_minimum_key_length": True})
    try:
        header = jws.get_unverified_header(token)
        key = PyJWK(key_for(header, keys), header["alg"]).key
        if hasattr(key, "public_key"):  # the file has the private key
            key = key.public_key()
        claims: bytes = jws.decode(token, key, [header["alg"]])
    except (PyJWTError, ValueError, TypeError, KeyError):
        raise RefusedTokenError("expected a token with a valid signature by a strong enough key") from None
    return claims


def key_for(header: Mapping[str, Any], keys: list[Key]) -> Key:
    """The first key that may have signed a token. Raises RefusedTokenError: no key for the token's algorithm."""
    name = header.get("alg")
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise RefusedTokenError(f"expected a token signed by one of {', '.join(ALGORITHMS)}")
    if "crit" in header:
        raise RefusedTokenError("expected a token without critical extensions")
    if str(header.get("cty", "")).lower() in NESTED:
        raise RefusedTokenError("expected a token of claims, got one of another token")
    found = [
        one
        for one in keys
        if one.get("kty") == ALGORITHMS[name]
        and one.get("use", "sig") == "sig"
        and "verify" in one.get("key_ops", ("verify",))
        and (header.get("kid") is None or one.get("kid") == header["kid"])
    ]
    if len(found) > 1:
        found = [one for one in found if one.get("alg", name) == name]
    if len(found) > 1 and name in CURVES:
        found = [one for one in found if one.get("crv") in CURVES[name]]
    if not found:
        raise RefusedTokenError(f"expected a token of a key in the file, got one of none there for {name}")
    return found[0]


def judged(claims: Mapping[str, Any], expected: Expectations, now_s: int) -> BearerToken:
    """The principal and expiry of a token, from its claims. Raises RefusedTokenError, BrokenTokenError."""
    check_audience(claims, expected.audiences)
    try:
        known = msgspec.convert(claims, TokenClaims)
    except msgspec.ValidationError as error:
        raise RefusedTokenError(f"expected a token with the claims exp and iat, and their types: {error}") from error
    if expected.issuer is not None and known.iss != expected.issuer:
        raise RefusedTokenError(f"expected a token issued by {expected.issuer}")
    expires, issued = whole(known.exp), whole(known.iat)
    not_before = issued if known.nbf is None else whole(known.nbf)
    if now_s - expected.clock_skew_s >= expires:
        raise RefusedTokenError("expected a token that is still good, got one that has expired")
    if expires < max(issued, not_before):
        raise RefusedTokenError("expected a token that expires after it was issued and begins")
    if known.nbf is not None and now_s + expected.clock_skew_s < not_before:
        raise RefusedTokenError("expected a token that is good by now, got one for later")
    principal = claims.get(expected.subject_claim)
    if not isinstance(principal, str | None):
        raise RefusedTokenError(f"expected text as the claim {expected.subject_claim}")
    check_scopes(claims.get(expected.scope_claim), expected.scope_claim)
    if expires < 0 or issued < 0:
        raise RefusedTokenError("expected a token with times since 1970")
    if expires * 1000 > MAX_TIME_MS:
        raise BrokenTokenError("expected a token that expires within 64 bits of milliseconds")
    name = (principal or "").strip(JAVA_SPACE)
    if not name:
        raise RefusedTokenError(f"expected a token with a name as the claim {expected.subject_claim}")
    return BearerToken(name, expires * 1000)


def whole(seconds: float) -> int:
    """A time in whole seconds of 64 bits."""
    return int(max(-MAX_LONG, min(MAX_LONG, seconds)))


def check_audience(claims: Mapping[str, Any], audiences: frozenset[str]) -> None:
    """Raises RefusedTokenError: the token is for another audience."""
    if not audiences:
        return
    found = claims.get("aud")
    named = [found] if isinstance(found, str) else found
    if not isinstance(named, list) or not all(isinstance(one, str | None) for one in named):
        raise RefusedTokenError("expected text or a list of texts as the claim aud")
    if audiences.isdisjoint(named):
        raise RefusedTokenError(f"expected a token for one of {', '.join(sorted(audiences))}")


def check_scopes(found: Any, claim: str) -> None:
    """Raises RefusedTokenError, BrokenTokenError: the scopes are invalid."""
    scopes = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    seen = set()
    for one in scopes:
        if one is not None and not isinstance(one, str):
            raise BrokenTokenError(f"expected texts as the claim {claim}")
        scope = (one or "").strip(JAVA_SPACE)
        if not scope or scope in seen:
            raise RefusedTokenError(f"expected scopes that differ as the claim {claim}")
        seen.add(scope)
