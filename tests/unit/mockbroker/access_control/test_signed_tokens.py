from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import get_default_algorithms

from mockbroker.access_control import token_settings
from mockbroker.access_control.oauthbearer import BearerToken, RefusedTokenError
from mockbroker.access_control.signed_tokens import Expectations, SignedValidator
from mockbroker.access_control.token_settings import SIGNED_HANDLER
from mockbroker.adapters.server import MockCluster
from mockbroker.core.simulation import Simulation
from mockbroker.state.security.mechanisms import BrokenTokenError
from tests.tokens import jwk, key, part, signed

NOW = 1_700_000_000
NOW_MS = NOW * 1000
EXPECTED = Expectations(frozenset({"kafka", "rack"}), "issuer")
CLAIMS = {"sub": "alice", "iss": "issuer", "aud": "kafka", "iat": NOW - 100, "exp": NOW + 100}
SECRET = b"0123456789abcdef0123456789abcdef"
SECOND_NS = 1_000_000_000


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("keys") / "keys.json"


def made(file: Path, *keys: dict[str, Any], expected: Expectations = EXPECTED) -> SignedValidator:
    file.write_text(json.dumps({"keys": keys}))
    return SignedValidator(str(file), expected)


def changed(file: Path, text: str) -> None:
    file.write_text(text)
    os.utime(file, ns=(SECOND_NS, SECOND_NS))


@pytest.fixture(scope="module")
def validator(file) -> SignedValidator:
    return made(
        file,
        jwk("P-256", kid="one"),
        jwk("P-384", kid="two"),
        jwk("rsa", kid="three"),
        jwk("rsa-1024", kid="weak"),
        jwk("Ed25519", kid="four"),
        jwk("P-256/2", kid="enc", use="enc"),
        {"kty": "oct", "kid": "secret", "k": part(SECRET)},
        {"kty": "EC", "kid": "broken"},
    )


def token(kind: str | bytes = "P-256", alg: str = "ES256", kid: str | None = "one", **claims: Any) -> str:
    told = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not ...}
    return signed(kind, {"alg": alg, **({} if kid is None else {"kid": kid})}, told)


@pytest.mark.parametrize(
    ("kind", "alg", "kid"),
    [
        ("P-256", "ES256", "one"),
        ("P-256", "ES256", None),
        ("P-384", "ES384", "two"),
        ("P-384", "ES384", None),
        ("rsa", "RS256", "three"),
        ("rsa", "PS512", "three"),
        ("Ed25519", "EdDSA", "four"),
        (SECRET, "HS256", "secret"),
    ],
)
def test_a_token_signed_by_a_key_of_the_file_is_taken(validator, kind, alg, kid):
    assert validator.validate(token(kind, alg, kid), NOW_MS) == BearerToken("alice", (NOW + 100) * 1000)


@pytest.mark.parametrize(
    ("kind", "alg", "kid"),
    [
        ("P-256/3", "ES256", "one"),
        ("P-256", "ES256", "two"),
        ("P-256", "ES256", "nobody"),
        ("P-256", "ES256", "broken"),
        ("P-256/2", "ES256", "enc"),
        ("P-384", "ES256", "two"),
        ("rsa-1024", "RS256", "weak"),
        (SECRET, "HS512", "secret"),
        (json.dumps(jwk("P-256")).encode(), "HS256", "one"),
    ],
)
def test_a_token_of_another_or_too_weak_a_key_is_refused(validator, kind, alg, kid):
    with pytest.raises(RefusedTokenError):
        validator.validate(token(kind, alg, kid), NOW_MS)


def test_a_token_that_was_changed_or_is_not_signed_is_refused(validator):
    header, claims, signature = token().split(".")
    _, others, _ = token(sub="bob").split(".")
    none = part({"alg": "none"})
    for changed in (
        f"{header}.{others}.{signature}",
        f"{header}.{claims}.{signature[:-4]}",
        f"{header}.{claims}.",
        f"{none}.{claims}.{signature}",
        f"{none}.{claims}.",
        f"{part({'kid': 'one'})}.{claims}.{signature}",
        f"{header}.{claims}.{signature}.",
        f"{header}.{claims}",
    ):
        with pytest.raises(RefusedTokenError):
            validator.validate(changed, NOW_MS)


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": ...},
        {"aud": "others"},
        {"aud": ["kafka", 7]},
        {"iss": ...},
        {"iss": "Issuer"},
        {"exp": ...},
        {"exp": NOW - 30},
        {"exp": "soon"},
        {"exp": True},
        {"iat": ...},
        {"iat": NOW + 101},
        {"iat": -1},
        {"nbf": NOW + 31},
        {"sub": ...},
        {"sub": " "},
        {"sub": 7},
        {"jti": 7},
        {"scope": ""},
        {"scope": ["read", "read "]},
    ],
    ids=str,
)
def test_claims_that_will_not_do_are_refused(validator, claims):
    with pytest.raises(RefusedTokenError):
        validator.validate(token(**claims), NOW_MS)


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": ["others", "rack"]},
        {"exp": NOW - 29},
        {"exp": NOW + 0.5},
        {"nbf": NOW + 30},
        {"sub": " alice "},
        {"scope": ["read", "write"]},
        {"scope": 7},
    ],
    ids=str,
)
def test_claims_that_will_do_are_taken(validator, claims):
    assert validator.validate(token(**claims), NOW_MS).principal == "alice"


@pytest.mark.parametrize("claims", [{"exp": 2**62}, {"scope": ["read", 7]}], ids=str)
def test_claims_over_which_kafka_fails_break_the_exchange(validator, claims):
    with pytest.raises(BrokenTokenError):
        validator.validate(token(**claims), NOW_MS)


def test_claims_have_the_names_that_are_set(tmp_path):
    expected = Expectations(subject_claim="name", scope_claim="groups", clock_skew_s=0)
    own = made(tmp_path / "keys.json", jwk("P-256"), expected=expected)
    assert own.validate(token(kid=None, name="carol", sub=..., aud=..., iss=...), NOW_MS).principal == "carol"
    with pytest.raises(RefusedTokenError):
        own.validate(token(kid=None, name="carol", exp=NOW), NOW_MS)


def test_new_keys_of_the_file_count_at_once_and_old_ones_no_longer(tmp_path):
    own = made(tmp_path / "keys.json", jwk("P-256", kid="one"))
    assert [own.validate(token(), NOW_MS).principal for _ in range(2)] == ["alice", "alice"]
    changed(tmp_path / "keys.json", json.dumps({"keys": [jwk("P-384", kid="two")]}))
    assert own.validate(token("P-384", "ES384", "two"), NOW_MS).principal == "alice"
    with pytest.raises(RefusedTokenError):
        own.validate(token(), NOW_MS)


def test_while_the_file_cannot_be_read_no_token_is_taken(tmp_path):
    file = tmp_path / "keys.json"
    own = made(file, jwk("P-256", kid="one"))
    changed(file, "[]")
    for _ in range(2):
        with pytest.raises(RefusedTokenError, match="expected a JWKS"):
            own.validate(token(), NOW_MS)
    file.unlink()
    with pytest.raises(RefusedTokenError, match="No such file"):
        own.validate(token(), NOW_MS)


def test_a_file_with_a_private_key_verifies_its_tokens(tmp_path):
    for kind, alg in (("P-256", "ES256"), ("rsa", "RS256"), ("Ed25519", "EdDSA")):
        private = json.loads(get_default_algorithms()[alg].to_jwk(key(kind))) | {"key_ops": ["sign", "verify"]}
        own = made(tmp_path / "keys.json", private)
        assert own.validate(token(kind, alg, None), NOW_MS).principal == "alice"


@given(st.lists(st.text("abc-_=+/", max_size=12) | st.sampled_from([part(CLAIMS), part({"alg": "ES256"})]), max_size=4))
def test_no_made_up_token_is_taken(validator, parts):
    with pytest.raises(RefusedTokenError):
        validator.validate(".".join(parts), NOW_MS)


NAME = "listener.name.plaintext.oauthbearer"
PACKAGE = "org.apache.kafka.common.security.oauthbearer"
SETTINGS = {
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    f"{NAME}.sasl.jaas.config": f"{PACKAGE}.OAuthBearerLoginModule required;",
    f"{NAME}.sasl.server.callback.handler.class": f"{PACKAGE}.OAuthBearerValidatorCallbackHandler",
    f"{NAME}.sasl.oauthbearer.jwks.endpoint.url": "file:/keys.json",
    f"{NAME}.sasl.oauthbearer.expected.audience": "kafka",
    f"{NAME}.sasl.oauthbearer.expected.issuer": "issuer",
}


def checked(paths: list[str], **changes: str | None) -> None:
    """Settings with changes, held to be right."""
    settings = {**SETTINGS, **{f"{NAME}.{name.replace('_', '.')}": value for name, value in changes.items()}}
    sim = Simulation(settings={name: value for name, value in settings.items() if value is not None})
    sim.cluster.brokers[0].listeners[0].protocol = "SASL_PLAINTEXT"

    def open_file(path: str, _expected: Expectations) -> Mock:
        paths.append(path)
        return Mock()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_settings, "SignedValidator", open_file)
        sim.cluster.security.check(sim.cluster)


@pytest.mark.parametrize("url", ["file:/keys.json", "file:///keys.json", "file://host/keys.json"])
def test_the_file_of_keys_is_named_by_a_url(url):
    paths: list[str] = []
    checked(paths, sasl_oauthbearer_jwks_endpoint_url=url)
    assert paths == ["/keys.json"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("sasl_oauthbearer_jwks_endpoint_url", None, r"jwks\.endpoint\.url: expected file:/PATH, .* got none"),
        ("sasl_oauthbearer_jwks_endpoint_url", "https://a/keys", "for keys are not fetched, got https://a/keys"),
        ("sasl_oauthbearer_expected_audience", None, r"expected\.audience: expected a value, or .*=true"),
        ("sasl_oauthbearer_expected_issuer", None, r"expected\.issuer: expected a value, or .*=true"),
        ("sasl_oauthbearer_sub_claim_name", " ", r"sub\.claim\.name: expected a claim's name"),
        ("sasl_oauthbearer_jwt_validator_class", "com.example.Mine", r"validator\.class: expected one of"),
    ],
)
def test_settings_that_leave_tokens_unjudged_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        checked([], **{name: value})


def test_without_pyjwt_signed_tokens_are_refused_at_start_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(
        ValueError, match=r"jwks\.endpoint\.url: signed tokens need PyJWT, of the extra oauth, .*: pip in"
    ):
        checked([])


def test_a_cluster_does_not_start_without_its_keys(tmp_path: Path):
    name = "listener.name.sasl_plaintext.oauthbearer"
    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "issuer",
        f"{name}.sasl.jaas.config": "OAuthBearerLoginModule required;",
        f"{name}.sasl.server.callback.handler.class": SIGNED_HANDLER,
        f"{name}.sasl.oauthbearer.jwks.endpoint.url": f"file:{tmp_path}/keys.json",
    }
    with pytest.raises(ValueError, match=r"jwks\.endpoint\.url: .*No such file"):
        MockCluster(1, settings=settings)
    (tmp_path / "keys.json").write_text("[]")
    with pytest.raises(ValueError, match=r"jwks\.endpoint\.url: expected a JWKS"):
        MockCluster(1, settings=settings)
    (tmp_path / "keys.json").write_text('{"keys": []}')
    assert MockCluster(1, settings=settings).settings_without_effect == ()
