"""The same signed tokens to a real Kafka 4.4 and to ours, with the same file of keys: both take and refuse the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mockbroker.adapters.server import MockCluster
from protocol.apis.metadata import MetadataRequest
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_brokers
from tests.interop.sasl_line import Line
from tests.tokens import YEAR_2100, bearer, jwk, part, signed

PACKAGE = "org.apache.kafka.common.security.oauthbearer"
LISTENERS = {"SIGNED": "SASL_PLAINTEXT", "OPEN": "SASL_PLAINTEXT"}
SECRET = b"0123456789abcdef0123456789abcdef"
YEAR_2020 = 1_577_836_800
CLAIMS = {"sub": "alice", "iss": "issuer", "aud": "kafka", "iat": YEAR_2020, "exp": YEAR_2100}
OPEN_CLAIMS = {"name": "carol", "iat": YEAR_2020, "exp": YEAR_2100}
METADATA = MetadataRequest(topics=[])


def keys() -> dict[str, Any]:
    return {
        "keys": [
            jwk("rsa/1", kid="one"),
            jwk("rsa/2", kid="two", alg="RS512"),
            jwk("rsa-1024", kid="weak"),
            jwk("rsa/3", kid="encrypts", use="enc"),
            jwk("rsa/4", kid="signs", key_ops=["sign"]),
            jwk("rsa/5", kid="verifies", use="sig", key_ops=["sign", "verify"]),
            jwk("P-256", kid="p256"),
            jwk("P-384", kid="p384"),
            jwk("P-521", kid="p521"),
            jwk("Ed25519", kid="ed"),
            {"kty": "oct", "kid": "secret", "k": part(SECRET)},
            {"kty": "oct", "kid": "short", "k": part(SECRET[:16])},
            {"kty": "XX", "kid": "unknown"},
            {"kid": "nothing"},
            {"kty": "RSA", "kid": "broken", "n": "AQAB"},
        ]
    }


def changed(*left_out: str, **claims: Any) -> dict[str, Any]:
    return {name: value for name, value in {**CLAIMS, **claims}.items() if name not in left_out}


def by(kind: str | bytes, alg: str, kid: str | None = None, claims: Any = CLAIMS, **header: Any) -> str:
    named = {} if kid is None else {"kid": kid}
    return signed(kind, {"alg": alg, **named, **header}, claims)


def tokens() -> dict[str, str]:
    """Tokens for the listener that knows for whom and by whom they have to be."""
    good = by("rsa/1", "RS256", "one")
    start, _, signature = good.rpartition(".")
    found = {
        "good": good,
        **{f"by {name}": by("rsa/1", name, "one") for name in ("RS384", "RS512", "PS256", "PS384", "PS512")},
        **{
            f"by {name}": by(curve, name, kid)
            for name, curve, kid in (("ES256", "P-256", "p256"), ("ES384", "P-384", "p384"), ("ES512", "P-521", "p521"))
        },
        "by EdDSA": by("Ed25519", "EdDSA", "ed"),
        "by HS256": by(SECRET, "HS256", "secret"),
        "by HS512 with too short a key": by(SECRET, "HS512", "secret"),
        "by HS256 with too short a key": by(SECRET[:16], "HS256", "short"),
        "by a public key as a secret": by(json.dumps(jwk("rsa/1")).encode(), "HS256", "one"),
        "by a curve of another algorithm": by("P-384", "ES256", "p384"),
        "by a weak key": by("rsa-1024", "RS256", "weak"),
        "by a key that encrypts": by("rsa/3", "RS256", "encrypts"),
        "by a key that only signs": by("rsa/4", "RS256", "signs"),
        "by a key that verifies": by("rsa/5", "RS256", "verifies"),
        "by a key of another algorithm": by("rsa/2", "RS256", "two"),
        "by a broken key": by("rsa/1", "RS256", "broken"),
        "by a key of no type": by("rsa/1", "RS256", "nothing"),
        "by another key": by("rsa/9", "RS256", "one"),
        "of a key that is not there": by("rsa/1", "RS256", "three"),
        "of no key's name": by("rsa/1", "RS256"),
        "of no key's name, by the second": by("rsa/2", "RS512"),
        "of no key's name, by a curve": by("P-384", "ES384"),
        "of no key's name, by a secret": by(SECRET, "HS256"),
        "of a key's name that is a number": by("rsa/1", "RS256", claims=CLAIMS, kid=7),
        "without a signature": f"{start}.",
        "with half a signature": f"{start}.{signature[:100]}",
        "with another signature": f"{start}.{by('rsa/1', 'RS256', 'one', changed(sub='bob')).rpartition('.')[2]}",
        "of no algorithm": f"{part({'typ': 'JWT'})}.{part(CLAIMS)}.{signature}",
        "of algorithm none": f"{part({'alg': 'none', 'kid': 'one'})}.{part(CLAIMS)}.{signature}",
        "of algorithm none, unsigned": f"{part({'alg': 'none'})}.{part(CLAIMS)}.",
        "of an unknown algorithm": f"{part({'alg': 'RS257', 'kid': 'one'})}.{part(CLAIMS)}.{signature}",
        "of four parts": f"{good}.x",
        "of a dot more": f"{good}.",
        "of no JSON": signed("rsa/1", {"alg": "RS256", "kid": "one"}, b"sub=alice"),
        "of a list": by("rsa/1", "RS256", "one", [CLAIMS]),
        "of a name twice": by("rsa/1", "RS256", "one", json.dumps(CLAIMS).encode()[:-1] + b',"sub":"bob"}'),
        "with critical extensions": by("rsa/1", "RS256", "one", crit=["exp"], exp=1),
        "of a type": by("rsa/1", "RS256", "one", typ="at+jwt"),
        "of a content type": by("rsa/1", "RS256", "one", cty="application/json"),
        "of another token": by("rsa/1", "RS256", "one", cty="JWT"),
        "for two": by("rsa/1", "RS256", "one", changed(aud=["others", "rack"])),
        "with null among whom it is for": by("rsa/1", "RS256", "one", changed(aud=[None, "rack"])),
    }
    claims: dict[str, dict[str, Any]] = {
        "for nobody": changed("aud"),
        "for others": changed(aud="others"),
        "for no others": changed(aud=[]),
        "for a number": changed(aud=7),
        "for a number among others": changed(aud=["kafka", 7]),
        "by nobody": changed("iss"),
        "by another issuer": changed(iss="Issuer"),
        "by a number": changed(iss=7),
        "without sub": changed("sub"),
        "with a blank sub": changed(sub=" "),
        "with spaces around sub": changed(sub=" alice "),
        "with a number as sub": changed(sub=7),
        "with a number as its id": changed(jti=7),
        "with an id": changed(jti="7"),
        "without exp": changed("exp"),
        "without iat": changed("iat"),
        "with null as iat": changed(iat=None),
        "with text as exp": changed(exp="4102444800"),
        "with true as exp": changed(exp=True),
        "with a fraction as exp": changed(exp=YEAR_2100 + 0.5),
        "that has expired": changed(exp=YEAR_2020 + 1),
        "that expires before it is issued": changed(iat=YEAR_2100 + 1),
        "that expires when it is issued": changed(iat=YEAR_2100),
        "issued before 1970": changed(iat=-1),
        "issued in the future": changed(iat=YEAR_2100 - 1),
        "for later": changed(nbf=YEAR_2100 - 1),
        "for some time": changed(nbf=YEAR_2020),
        "for no time": changed(nbf=YEAR_2100 + 1),
        "from no time": changed(nbf="x"),
        "for 300 years": changed(exp=99_999_999_999),
        "for 64 bits of seconds": changed(exp=2**63 - 1),
        "for 65 bits of seconds": changed(exp=2**63),
        "for a large power of ten": changed(exp=1e30),
        "with a scope": changed(scope="read write"),
        "with an empty scope": changed(scope=""),
        "with scopes": changed(scope=["read", "write"]),
        "with a scope twice": changed(scope=["read", " read"]),
        "with a blank scope": changed(scope=["read", " "]),
        "with null among its scopes": changed(scope=["read", None]),
        "with a number among its scopes": changed(scope=["read", 7]),
        "with a number as scope": changed(scope=7),
        "with an object as scope": changed(scope={"read": True}),
    }
    return {**found, **{name: by("rsa/1", "RS256", "one", one) for name, one in claims.items()}}


def open_tokens() -> dict[str, str]:
    """Tokens for the listener that takes them for anybody, by anybody, and has other names for their claims."""
    return {
        name: by("rsa/1", "RS256", "one", claims)
        for name, claims in {
            "good": OPEN_CLAIMS,
            "for somebody": {**OPEN_CLAIMS, "aud": "others", "iss": "others"},
            "by a number": {**OPEN_CLAIMS, "iss": 7},
            "for a number": {**OPEN_CLAIMS, "aud": 7},
            "with a sub alone": {**OPEN_CLAIMS, "name": None, "sub": "carol"},
            "with a number as sub": {**OPEN_CLAIMS, "sub": 7},
            "with a name that is a number": {**OPEN_CLAIMS, "name": 7},
            "with groups": {**OPEN_CLAIMS, "groups": ["a", "b"], "scope": ["a", 7]},
            "with a group twice": {**OPEN_CLAIMS, "groups": ["a", "a"]},
            "long expired": {**OPEN_CLAIMS, "exp": YEAR_2020 + 1},
        }.items()
    }


def settings_for(file: Path) -> dict[str, str]:
    found = {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "connection.failed.authentication.delay.ms": "20",
        "sasl.oauthbearer.jwks.endpoint.url": f"file:{file}",
        "listener.name.signed.oauthbearer.sasl.oauthbearer.expected.audience": "kafka,rack",
        "listener.name.signed.sasl.oauthbearer.expected.issuer": "issuer",
        "listener.name.open.oauthbearer.sasl.oauthbearer.allow.unverified.audience": "true",
        "listener.name.open.oauthbearer.sasl.oauthbearer.allow.unverified.issuer": "true",
        "listener.name.open.oauthbearer.sasl.oauthbearer.sub.claim.name": "name",
        "listener.name.open.oauthbearer.sasl.oauthbearer.scope.claim.name": "groups",
        "listener.name.open.oauthbearer.sasl.oauthbearer.clock.skew.seconds": "0",
    }
    for listener in ("signed", "open"):
        name = f"listener.name.{listener}.oauthbearer"
        found[f"{name}.sasl.jaas.config"] = f"{PACKAGE}.OAuthBearerLoginModule required;"
        found[f"{name}.sasl.server.callback.handler.class"] = f"{PACKAGE}.OAuthBearerValidatorCallbackHandler"
    return found


def told(addresses: Mapping[str, str], shown: Mapping[str, Mapping[str, str]]) -> dict[str, list[Any]]:
    """What each token leads to."""
    found = {}
    for listener, of_listener in shown.items():
        for name, token in of_listener.items():
            with closing(Line(addresses[listener])) as line:
                line.handshake("OAUTHBEARER")
                line.token(bearer(token))
                line.token(b"\1")
                line.ask(METADATA, 9)
            found[f"{listener}: {name}"] = [without_time(heard) for heard in line.heard]
    return found


def without_time(heard: Any) -> Any:
    lifetime = heard.get("sessionLifetimeMs", 0) if isinstance(heard, dict) else 0
    return {**heard, "sessionLifetimeMs": "years"} if lifetime else heard


def test_every_signed_token_is_taken_or_refused_as_by_kafka(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "keys.json"
    file.write_text(json.dumps(keys()))
    shown = {"SIGNED": tokens(), "OPEN": open_tokens()}
    settings = settings_for(file)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=file:{file}")
    with skipped_without_tools(), kafka_brokers(["a"], tmp_path, settings, listeners=LISTENERS) as kafka:
        theirs = told({name: found[0] for name, found in kafka.others.items()}, shown)
    settings |= {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in LISTENERS),
        "listener.security.protocol.map": ",".join(f"{name}:{one}" for name, one in LISTENERS.items()),
    }
    with MockCluster(1, settings=settings) as cluster:
        broker = cluster.run(lambda running: running.state.brokers[0])
        ours = told({one.name: f"{one.host}:{one.port}" for one in broker.listeners}, shown)
    differing = {name: (theirs[name], ours[name]) for name in theirs if theirs[name] != ours[name]}
    assert differing == {}
    taken = [name for name, heard in theirs.items() if ["Metadata"] in heard]
    assert {"SIGNED: good", "SIGNED: by ES512", "SIGNED: by EdDSA", "OPEN: good"} <= set(taken)
    assert len(theirs) - len(taken) > 50, "Kafka refused next to nothing: a wrong set-up"
