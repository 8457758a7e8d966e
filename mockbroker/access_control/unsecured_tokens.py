"""Unsecured JWTs: tokens without a signature, for tests.

Source: RFC 7515, RFC 7519; KIP-255; OAuthBearerUnsecuredValidatorCallbackHandler, OAuthBearerUnsecuredJws and
OAuthBearerValidationUtils, Apache Kafka 4.4. Kafka reads claims as Jackson converts them to text: ``true`` and
``null`` are words, an object is empty.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from mockbroker.access_control.oauthbearer import BearerToken, RefusedTokenError
from mockbroker.state.security.mechanisms import BrokenTokenError

PREFIX = "unsecuredValidator"
PRINCIPAL_OPTION, SCOPE_OPTION, REQUIRED_SCOPE_OPTION, CLOCK_SKEW_OPTION = (
    f"{PREFIX}{name}" for name in ("PrincipalClaimName", "ScopeClaimName", "RequiredScope", "AllowableClockSkewMs")
)
BASE64_URL = re.compile(r"[A-Za-z0-9_-]*")
SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
MAX_SKEW_MS = 2**31 - 1
MAX_TIME_MS = 2**63 - 1
MAX_DIGITS = 1000
JAVA_SPACE = "".join(map(chr, range(33)))
JSON_SPACE = " \t\r\n"
INSUFFICIENT_SCOPE = "insufficient_scope"


class UnsecuredValidator:
    """Accepts any well-formed token.

    Args:
        options: the options of the JAAS configuration that begin with ``unsecuredValidator``.

    Raises: ValueError: an invalid option.
    """

    __slots__ = ("clock_skew_ms", "principal_claim", "required_scopes", "scope_claim")

    def __init__(self, options: Mapping[str, str]) -> None:
        given = {name: value.strip(JAVA_SPACE) for name, value in options.items()}
        self.principal_claim = given.get(PRINCIPAL_OPTION) or "sub"
        self.scope_claim = given.get(SCOPE_OPTION) or "scope"
        self.required_scopes = [one for one in given.get(REQUIRED_SCOPE_OPTION, "").split(" ") if one]
        wrong = [one for one in self.required_scopes if not SCOPE.fullmatch(one)]
        if wrong:
            raise ValueError(f"{REQUIRED_SCOPE_OPTION}: expected scopes with spaces between them, got {wrong[0]!r}")
        skew = given.get(CLOCK_SKEW_OPTION) or "0"
        if not skew.isdecimal() or len(skew) > 18 or int(skew) > MAX_SKEW_MS:
            raise ValueError(f"{CLOCK_SKEW_OPTION}: expected milliseconds, 0 or more, got {skew!r}")
        self.clock_skew_ms = int(skew)

    def validate(self, token: str, wall_ms: int) -> BearerToken:
        """The principal and expiry of a token.

        Raises: RefusedTokenError; BrokenTokenError: the header has no algorithm.
        """
        claims = unsecured_claims(token)
        scopes = scopes_in(claims, self.scope_claim)
        expires = number(claims, "exp")
        if expires is None:
            raise RefusedTokenError("expected a token with the claim exp, got one without")
        principal = claims.get(self.principal_claim)
        if not isinstance(principal, str) or not principal.strip(JAVA_SPACE):
            raise RefusedTokenError(f"expected a token with a name as the claim {self.principal_claim}")
        issued = number(claims, "iat")
        if issued is not None and 1000 * issued > wall_ms + self.clock_skew_ms:
            raise RefusedTokenError("expected a token issued by now, got one of the future")
        if wall_ms - self.clock_skew_ms >= 1000 * expires:
            raise RefusedTokenError("expected a token that is still good, got one that has expired")
        if issued is not None and expires <= issued:
            raise RefusedTokenError("expected a token that expires after it was issued")
        missing = [one for one in self.required_scopes if one not in scopes]
        if missing:
            required = f"[{', '.join(self.required_scopes)}]"
            raise RefusedTokenError(f"expected a token with scope {missing[0]}", INSUFFICIENT_SCOPE, required)
        return BearerToken(principal, in_ms(expires))


def unsecured_claims(token: str) -> dict[str, Any]:
    """The claims of an unsigned token. Raises RefusedTokenError, BrokenTokenError."""
    parts = token.split(".")
    if ".." in token or len(parts) != 3:
        raise RefusedTokenError("expected an unsecured token of a header and claims, each with a '.' after it")
    header, claims = fields_in(parts[0]), fields_in(parts[1])
    algorithm = header.get("alg")
    if algorithm is None:
        raise BrokenTokenError("expected a token whose header names an algorithm")
    if algorithm != "none" or parts[2]:
        raise RefusedTokenError("expected an unsecured token, of algorithm none and without a signature")
    return claims


def fields_in(part: str) -> dict[str, Any]:
    """The fields of a part of a token: text, numbers, and lists of text; empty if it is not an object.

    Raises: RefusedTokenError: it is not base64 or not JSON.

    >>> import base64
    >>> fields_in(base64.urlsafe_b64encode(b'{"sub":true,"exp":7,"scope":["a",1]}').decode())
    {'sub': 'true', 'exp': 7, 'scope': ['a', '1']}
    """
    data = bytes_in(part)
    try:
        text = data.decode(json.detect_encoding(data)).lstrip(JSON_SPACE)
        found = READER.raw_decode(text)[0] if text else {}
    except (ValueError, RecursionError):
        raise RefusedTokenError("expected the parts of a token to be JSON") from None
    return {name: taken(value) for name, value in found.items()} if isinstance(found, dict) else {}


def bytes_in(part: str) -> bytes:
    """The bytes of a part of a token. Raises RefusedTokenError."""
    if not BASE64_URL.fullmatch(part) or len(part) % 4 == 1:
        raise RefusedTokenError("expected the parts of a token in base64url")
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def integer(digits: str) -> int:
    """A whole number. Raises ValueError: Jackson refuses longer ones."""
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"expected {MAX_DIGITS} digits or fewer, got {len(digits)}")
    return int(digits)


def no_constant(name: str) -> NoReturn:
    raise ValueError(f"expected a number, got {name}")


READER = json.JSONDecoder(parse_int=integer, parse_constant=no_constant)


def taken(value: object) -> object:
    """The value of a claim: a number, text or a list of texts."""
    if isinstance(value, list):
        return [as_text(one) for one in value]
    return value if isinstance(value, int | float) and not isinstance(value, bool) else as_text(value)


def as_text(value: object) -> str:
    if isinstance(value, dict | list):
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def number(claims: Mapping[str, Any], name: str) -> float | None:
    """A number claim, None if missing. Raises RefusedTokenError."""
    value = claims.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise RefusedTokenError(f"expected a number as the claim {name}")
    return float(str(value))  # infinite for a large whole number


def scopes_in(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """The scopes of a token; one text is one scope. Raises RefusedTokenError: the claim is a number."""
    value = claims.get(name)
    if isinstance(value, int | float):
        raise RefusedTokenError(f"expected text or a list as the claim {name}")
    texts = [value] if isinstance(value, str) else value or ()
    return frozenset(filter(None, (one.strip(JAVA_SPACE) for one in texts)))


def in_ms(seconds: float) -> int:
    """A time in ms, rounded as in Java."""
    ms = seconds * 1000
    return MAX_TIME_MS if ms >= MAX_TIME_MS else max(-MAX_TIME_MS, math.floor(max(ms, -MAX_TIME_MS) + 0.5))
