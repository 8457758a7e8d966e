"""SASL as a client plays it: PLAIN, SCRAM-SHA-256 and -512, and OAUTHBEARER with an unsecured or a given token.

An exchange is a generator: it yields the client's tokens, is sent the broker's, and ends when it is content.
Source: RFC 4616, RFC 5802, RFC 7628, KIP-43, KIP-84, KIP-255, KIP-48 (SCRAM with a delegation token); the options are
those of Kafka's login modules.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mockbroker.state.security.mechanisms import MIN_ITERATIONS, OAUTHBEARER, PLAIN, SCRAM_HASHES, SCRAM_MECHANISMS

MECHANISMS = (PLAIN, *SCRAM_MECHANISMS, OAUTHBEARER)
MODULES = {
    PLAIN: "PlainLoginModule",
    **dict.fromkeys(SCRAM_MECHANISMS, "ScramLoginModule"),
    OAUTHBEARER: "OAuthBearerLoginModule",
}
"""The login module that belongs to a mechanism; its package may be another since clients are shaded."""
MAX_ITERATIONS = 1_000_000
"""The most iterations of SCRAM that a broker may have us compute."""
UNSECURED_CLAIM = re.compile(r"unsecuredLogin(String|List)Claim_(.+)")
UNSECURED_EXTENSION = "unsecuredLoginExtension_"
LIFETIME_S = 3600
END_OF_PART = "\x01"

Exchange = Generator[bytes, bytes, None]


class LoginError(ValueError):
    """The settings say no login, or the broker proves nothing; the text repeats no secret."""


@dataclass(frozen=True, slots=True)
class SaslLogin:
    """The user of a login, and the means.

    ``is_delegation_token`` says that name and password are a delegation token's id and key; ``bearer_token`` is
    OAUTHBEARER's.
    """

    mechanism: str
    user: str
    password: str = field(default="", repr=False)
    is_delegation_token: bool = False
    bearer_token: str = field(default="", repr=False)
    extensions: Mapping[str, str] = field(default_factory=dict, repr=False)

    def exchange(self) -> Exchange:
        """The tokens of one login. Raises LoginError, during the exchange."""
        if self.mechanism == PLAIN:
            return plain(self)
        if self.mechanism == OAUTHBEARER:
            return bearer(self)
        return scram(self, secrets.token_urlsafe(18))

    def __str__(self) -> str:
        return f"{self.user} by {self.mechanism}" if self.user else self.mechanism


def login_of(mechanism: str, module: str, options: Mapping[str, str], token_url: str | None) -> SaslLogin:
    """The login that the options of a JAAS configuration describe.

    Args:
        module: the login module's class.
        token_url: ``sasl.oauthbearer.token.endpoint.url``.

    Raises: LoginError: an option is missing, or the module is that of another mechanism.
    """
    due = MODULES[mechanism]
    if module.rpartition(".")[2] != due:
        raise LoginError(f"expected {due} for the mechanism {mechanism}, got {module.rpartition('.')[2]}")
    if mechanism == OAUTHBEARER:
        return bearer_login(options, token_url)
    missing = [name for name in ("username", "password") if not options.get(name)]
    if missing:
        raise LoginError(f"expected username and password as options of {due}, got no {missing[0]}")
    is_token = mechanism != PLAIN and options.get("tokenauth", "").lower() == "true"
    return SaslLogin(mechanism, options["username"], options["password"], is_token)


def bearer_login(options: Mapping[str, str], token_url: str | None) -> SaslLogin:
    """OAUTHBEARER, with the token of a file, or an unsecured one whose claims the options have."""
    extensions = {
        name.removeprefix(UNSECURED_EXTENSION): value
        for name, value in options.items()
        if name.startswith(UNSECURED_EXTENSION)
    }
    if token_url is not None:
        if not token_url.startswith("file:"):
            raise LoginError(
                f"sasl.oauthbearer.token.endpoint.url: expected file:PATH of a token, got {token_url}; "
                "tokens are not fetched by HTTP"
            )
        return SaslLogin(OAUTHBEARER, "", bearer_token=token_in(token_url), extensions=extensions)
    claims = claims_of(options)
    if not isinstance(claims.get("sub"), str):
        raise LoginError('expected unsecuredLoginStringClaim_sub="NAME" among the options, got none')
    token = unsecured_token(claims)
    return SaslLogin(OAUTHBEARER, str(claims["sub"]), bearer_token=token, extensions=extensions)


def token_in(url: str) -> str:
    path = Path(re.sub(r"^file:(//(localhost)?(?=/))?", "", url))
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LoginError(f"{path}: no token: {getattr(error, 'strerror', None) or 'expected ASCII'}") from None
    if not token or any(character.isspace() for character in token):
        raise LoginError(f"{path}: expected a token, got {'nothing' if not token else 'several words'}")
    return token


def claims_of(options: Mapping[str, str]) -> dict[str, object]:
    """The claims of an unsecured token: Kafka's ``unsecuredLogin...Claim_NAME`` options and its time.

    >>> sorted(claims_of({"unsecuredLoginStringClaim_sub": "alice", "unsecuredLoginListClaim_scope": ",a,b"}))
    ['exp', 'iat', 'scope', 'sub']
    """
    now = round(time.time(), 3)
    claims: dict[str, object] = {"iat": now, "exp": now + LIFETIME_S}
    for option, value in options.items():
        if found := UNSECURED_CLAIM.fullmatch(option):
            is_text = found[1] == "String"
            claims[found[2]] = value if is_text else value[1:].split(value[0]) if value else []
    return claims


def unsecured_token(claims: Mapping[str, object]) -> str:
    """An unsigned JSON web token."""
    parts = ({"alg": "none"}, claims)
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."


# the exchanges


def plain(login: SaslLogin) -> Exchange:
    yield f"\0{login.user}\0{login.password}".encode()


def bearer(login: SaslLogin) -> Exchange:
    """RFC 7628. A broker that refuses says so in its token, and waits for one more of ours before it fails."""
    parts = [f"auth=Bearer {login.bearer_token}", *(f"{name}={value}" for name, value in login.extensions.items())]
    said = yield f"n,,{END_OF_PART}{END_OF_PART.join(parts)}{END_OF_PART}{END_OF_PART}".encode()
    if said:
        yield END_OF_PART.encode()


def scram(login: SaslLogin, nonce: str) -> Exchange:
    """RFC 5802: both sides prove that they know the password, without sending it."""
    hash_name = SCRAM_HASHES[SCRAM_MECHANISMS[login.mechanism]]
    name = login.user.replace("=", "=3D").replace(",", "=2C")
    first = f"n={name},r={nonce}{',tokenauth=true' if login.is_delegation_token else ''}"
    said = (yield f"n,,{first}".encode()).decode("utf-8", "replace")
    fields = fields_of(said)
    try:
        salt, iterations, whole_nonce = base64.b64decode(fields["s"], validate=True), int(fields["i"]), fields["r"]
    except (KeyError, ValueError):
        raise LoginError(f"the broker's first token has not the form of {login.mechanism}") from None
    if not whole_nonce.startswith(nonce) or whole_nonce == nonce:
        raise LoginError("the broker's nonce does not go on from ours")
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        raise LoginError(f"expected {MIN_ITERATIONS} to {MAX_ITERATIONS} iterations, the broker asks for {iterations}")
    salted = hashlib.pbkdf2_hmac(hash_name, login.password.encode(), salt, iterations)
    without_proof = f"c=biws,r={whole_nonce}"
    message = f"{first},{said},{without_proof}".encode()
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    signature = hmac.digest(hashlib.new(hash_name, client_key).digest(), message, hash_name)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    said = (yield f"{without_proof},p={base64.b64encode(proof).decode()}".encode()).decode("utf-8", "replace")
    fields = fields_of(said)
    if "e" in fields:
        raise LoginError(f"the broker refuses: {fields['e']}")
    expected = base64.b64encode(hmac.digest(hmac.digest(salted, b"Server Key", hash_name), message, hash_name))
    if not hmac.compare_digest(fields.get("v", "").encode(), expected):
        raise LoginError("the broker does not prove that it knows the password; is it the right cluster?")


def fields_of(token: str) -> dict[str, str]:
    """The fields of a SCRAM message.

    >>> fields_of("r=abc,s=c2FsdA==,i=4096")
    {'r': 'abc', 's': 'c2FsdA==', 'i': '4096'}
    """
    return {name: value for name, _, value in (part.partition("=") for part in token.split(","))}
