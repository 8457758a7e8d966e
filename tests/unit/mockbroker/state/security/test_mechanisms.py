from __future__ import annotations

import base64

import pytest

from mockbroker.state.security import mechanisms
from mockbroker.state.security.jaas import JaasError, LoginModule, parse_jaas
from mockbroker.state.security.mechanisms import (
    SCRAM_SHA_256,
    AuthenticationFailedError,
    BrokenTokenError,
    InvalidTokenError,
    Login,
    plain,
    salted_password,
    scram,
)
from mockbroker.state.security.scram import Upsertion, credential
from protocol.embedded.metadata_security import UserScramCredentialRecord
from tests.exchanged import Exchanged

# The exchange of RFC 7677, section 3: user "user", password "pencil".
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_NONCE, SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SERVER_FIRST = f"r={CLIENT_NONCE}{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
CLIENT_FINAL = f"c=biws,r={CLIENT_NONCE}{SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def credential_of(user: str) -> UserScramCredentialRecord | None:
    if user != "user":
        return None
    return credential(Upsertion("user", 1, 4096, SALT, salted_password(1, "pencil", SALT)))


def exchange() -> Exchanged:
    return Exchanged(scram(SCRAM_SHA_256, credential_of, SERVER_NONCE))


def test_scram_sha_256_plays_the_example_of_rfc_7677():
    one = exchange()
    assert one.answer(f"n,,n=user,r={CLIENT_NONCE}".encode()) == SERVER_FIRST
    assert one.answer(CLIENT_FINAL) == Login(SERVER_FINAL, "user", None)


def test_scram_plays_the_example_of_rfc_5802_with_its_hash(monkeypatch):
    monkeypatch.setitem(mechanisms.SCRAM_MECHANISMS, "SCRAM-SHA-1", 99)
    monkeypatch.setitem(mechanisms.SCRAM_HASHES, 99, "sha1")
    salt = base64.b64decode("QSXCR+Q6sek8bf92")
    record = credential(Upsertion("user", 99, 4096, salt, salted_password(99, "pencil", salt)))
    one = Exchanged(scram("SCRAM-SHA-1", lambda _: record, "3rfcNHYJY1ZVvWVs7j"))
    first = one.answer(b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL")
    assert first == b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096"
    final = b"c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="
    assert one.answer(final) == Login(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=", "user")


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"n=user,r=abc",
        b"y,,n=user,r=abc",
        b"n,,n=us=er,r=abc",
        b"n,,n=user,r=",
        b"n,,n=nobody,r=abc",
        b"\xff\xfe",
        b"n,,n=user,r=abc,=x",
    ],
)
def test_a_first_scram_message_that_will_not_do_is_refused(token):
    with pytest.raises(InvalidTokenError):
        exchange().answer(token)


@pytest.mark.parametrize(
    "final",
    [
        b"c=biws,r=abc,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        CLIENT_FINAL.replace(b"dHzb", b"dHzc"),
        CLIENT_FINAL.replace(b"c=biws", b"c=eSws"),
        CLIENT_FINAL[:-1],
        b"",
    ],
)
def test_a_final_scram_message_that_proves_nothing_is_refused(final):
    one = exchange()
    one.answer(f"n,,n=user,r={CLIENT_NONCE}".encode())
    with pytest.raises(InvalidTokenError):
        one.answer(final)


def test_a_scram_proof_of_another_length_breaks_the_exchange():
    one = exchange()
    one.answer(f"n,,n=user,r={CLIENT_NONCE}".encode())
    with pytest.raises(BrokenTokenError):
        one.answer(f"c=biws,r={CLIENT_NONCE}{SERVER_NONCE},p=dHzb".encode())


def test_scram_takes_a_name_with_commas_and_equals_signs_and_ignores_extensions():
    seen: list[str] = []

    def found(user: str) -> UserScramCredentialRecord | None:
        seen.append(user)
        return credential_of("user")

    one = Exchanged(scram(SCRAM_SHA_256, found, SERVER_NONCE))
    assert one.answer(f"n,,m=x,n=a=2Cb=3Dc,r={CLIENT_NONCE},more=1".encode()) == SERVER_FIRST
    assert seen == ["a,b=c"]


def test_scram_lets_nobody_act_for_another():
    with pytest.raises(AuthenticationFailedError, match="authorization id that is different"):
        exchange().answer(b"n,a=other,n=user,r=abc")


def test_plain_takes_the_right_password_alone():
    one = Exchanged(plain({"alice": "s\u00e9cret"}))
    assert one.answer("\0alice\0s\u00e9cret".encode()) == Login(b"", "alice")
    assert Exchanged(plain({"alice": "secret"})).answer(b"alice\0alice\0secret") == Login(b"", "alice")


@pytest.mark.parametrize(
    ("token", "text"),
    [
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0bob\0secret", "Authentication failed: Invalid username or password"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"alice\0secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0a\0b\0c\0d\0e", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (
            b"bob\0alice\0secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
    ],
)
def test_plain_refuses_in_the_words_of_kafka(token, text):
    with pytest.raises(AuthenticationFailedError) as refused:
        Exchanged(plain({"alice": "secret"})).answer(token)
    assert str(refused.value) == text


def test_secrets_are_in_no_representation():
    assert "secret" not in repr(LoginModule("X", {"password": "secret"}))
    assert "6rri" not in repr(credential_of("user"))


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('a.B required username="x" password="y z";', {"username": "x", "password": "y z"}),
        ("a.B required\n  user_al-ice='p\\'w' // a comment\n /* another */ ;", {"user_al-ice": "p'w"}),
        ('a.B REQUIRED key="tab\\tquote\\"";', {"key": 'tab\tquote"'}),
        ("a.B optional;", {}),
    ],
)
def test_a_jaas_configuration_is_read(text, options):
    assert parse_jaas(text) == LoginModule("a.B", options)


@pytest.mark.parametrize(
    "text",
    ["", "a.B", 'a.B required user_x="secret"', "a.B sometimes;", 'a.B required user_x "secret";', 'a.B required x="y'],
)
def test_what_is_no_jaas_configuration_is_refused_without_its_secrets(text):
    with pytest.raises(JaasError) as refused:
        parse_jaas(text)
    assert "secret" not in str(refused.value)
