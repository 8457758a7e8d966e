"""Java's old key stores, as its own keytool has written them: fixtures/key_stores."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from mockbroker.adapters.tls.stores import StoreError, load_key, load_trusted
from mockbroker.state.security.tls import KeyStore, TrustStore
from tests.fixture_data import FIXTURES

STORES = FIXTURES / "key_stores"
CERTIFICATE = (STORES / "server.pem").read_text()
PASSWORD, KEY_PASSWORD = "secret-store", "secret-key"


def key_of(file: Path, password: str = PASSWORD, key_password: str | None = KEY_PASSWORD, type_: str = "JKS"):
    return load_key(KeyStore(type_, str(file), password, key_password, key=None, certificate_chain=None))


def trusted_by(file: Path, password: str | None = PASSWORD) -> str:
    return load_trusted(TrustStore("JKS", str(file), password, certificates=None))


def der(pem: str) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pem)


@pytest.mark.parametrize("type_", ["JKS", "PKCS12"])  # Java reads both formats under both names
def test_a_key_with_a_password_of_its_own_is_the_one_of_its_certificate(type_):
    found = key_of(STORES / "server.jks", type_=type_)
    key = load_pem_private_key(found.key.encode(), None)
    assert der(found.chain) == der(CERTIFICATE)
    assert key.public_key() == load_pem_x509_certificate(CERTIFICATE.encode()).public_key()


@pytest.mark.parametrize("password", [PASSWORD, None])
def test_certificates_to_trust_are_read_with_a_password_or_without_as_in_java(password):
    assert der(trusted_by(STORES / "trust.jks", password)) == der(CERTIFICATE)


def test_who_trusts_a_key_store_trusts_its_own_certificate():
    assert der(trusted_by(STORES / "server.jks")) == der(CERTIFICATE)


def test_wrong_passwords_and_what_is_missing_are_told():
    for password, key_password, words in (
        ("tell-guessed", KEY_PASSWORD, "keystore password was incorrect, or the file is damaged"),
        (PASSWORD, "tell-guessed", "the key's password was incorrect"),
        (PASSWORD, None, "the key's password was incorrect"),
    ):
        with pytest.raises(StoreError) as refused:
            key_of(STORES / "server.jks", password, key_password)
        assert words in str(refused.value)
        assert "tell-" not in str(refused.value)
    with pytest.raises(StoreError, match="expected a private key with its certificate in it, got none"):
        key_of(STORES / "trust.jks")


def test_a_byte_that_was_flipped_or_is_missing_is_an_error_and_nothing_else(tmp_path):
    whole = (STORES / "server.jks").read_bytes()
    damaged = [whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :] for at in range(len(whole))]
    file = tmp_path / "damaged.jks"
    for data in damaged + [whole[:at] for at in range(len(whole))]:
        file.write_bytes(data)
        with pytest.raises(StoreError):
            key_of(file)
        with suppress(StoreError):  # without a password only its form is looked at
            trusted_by(file, None)
