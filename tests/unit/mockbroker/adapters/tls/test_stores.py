"""Key stores and trust stores as Kafka takes them, and what is said of those that it does not take."""

from __future__ import annotations

import ssl
from contextlib import suppress

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from mockbroker.adapters.tls.certificates import CertificateAuthority
from mockbroker.adapters.tls.contexts import context_of
from mockbroker.state.security.tls import tls_of
from mockbroker.state.settings import KafkaSettings
from tests.certificates import LOCAL, PASSWORD, client_context, inline, key_store, trust_store

AUTHORITY = CertificateAuthority()
SERVER = AUTHORITY.server(LOCAL)


def encoded(key: str, format_: PrivateFormat, password: str | None = None) -> str:
    encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    return load_pem_private_key(key.encode(), None).private_bytes(Encoding.PEM, format_, encryption).decode()


ENCRYPTED = encoded(SERVER.key, PrivateFormat.PKCS8, PASSWORD)
OLD_FORM = encoded(SERVER.key, PrivateFormat.TraditionalOpenSSL)


def made(settings: dict[str, str], listener: str = "SSL", protocol: str = "SSL") -> ssl.SSLContext:
    return context_of(tls_of(KafkaSettings(settings), listener, protocol))


def shown_by(server: ssl.SSLContext, client: ssl.SSLContext) -> bytes | None:
    """What a server shows to a client that trusts it, both without sockets."""
    ends = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in range(2)]
    there = server.wrap_bio(*ends[0], server_side=True)
    here = client.wrap_bio(*ends[1], server_hostname="127.0.0.1")
    for _ in range(5):
        for one in (here, there):
            with suppress(ssl.SSLWantReadError):
                one.do_handshake()
            ends[0][0].write(ends[1][1].read())
            ends[1][0].write(ends[0][1].read())
    return here.getpeercert(binary_form=True)


def certificate() -> bytes:
    return ssl.PEM_cert_to_DER_cert(SERVER.certificate)


def one_line(pem: str) -> str:
    return pem.replace("\n", " ").strip()


def test_a_key_may_stand_in_the_settings_in_a_pem_file_or_in_pkcs12(tmp_path):
    file = tmp_path / "server.pem"
    file.write_text("subject=CN = 127.0.0.1\n" + SERVER.certificate + ENCRYPTED)
    store = str(key_store(tmp_path / "server.p12", SERVER))
    given = [
        inline(SERVER),
        {name: one_line(text) for name, text in inline(SERVER).items()},
        inline(SERVER) | {"ssl.keystore.key": ENCRYPTED, "ssl.key.password": PASSWORD},
        {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(file), "ssl.key.password": PASSWORD},
        {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": store, "ssl.keystore.password": PASSWORD},
        {"ssl.keystore.location": store, "ssl.keystore.password": PASSWORD},  # by type JKS, as keytool writes it
    ]
    client = client_context(AUTHORITY)
    assert [shown_by(made(settings), client) for settings in given] == [certificate()] * len(given)


def test_trusted_certificates_may_stand_in_the_settings_in_a_pem_file_or_in_pkcs12(tmp_path):
    file = tmp_path / "ca.pem"
    file.write_text(AUTHORITY.pem)
    store = str(trust_store(tmp_path / "trust.p12", AUTHORITY))
    given = [
        inline(SERVER, AUTHORITY),
        inline(SERVER) | {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(file)},
        inline(SERVER) | {"ssl.truststore.location": store, "ssl.truststore.password": PASSWORD},
        inline(SERVER, AUTHORITY) | {"ssl.truststore.certificates": one_line(AUTHORITY.pem)},
    ]
    own = ssl.PEM_cert_to_DER_cert(AUTHORITY.pem)
    assert [made(settings).get_ca_certs(binary_form=True) for settings in given] == [[own]] * len(given)


def test_a_listener_has_its_own_settings_before_those_of_all(tmp_path):
    other = CertificateAuthority().server(LOCAL)
    own = {f"listener.name.outside.{name}": value for name, value in inline(SERVER).items()}
    context = made(inline(other) | own, "OUTSIDE")
    assert shown_by(context, client_context(AUTHORITY)) == certificate()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "expected a key store in ssl.keystore.location or ssl.keystore.key, got none"),
        ({"ssl.keystore.key": "k"}, "SSL private key can be specified only for PEM, but key store type is JKS."),
        (
            {"ssl.keystore.key": "k", "ssl.keystore.type": "PEM"},
            "SSL private key is specified, but certificate chain is not specified.",
        ),
        (
            {"ssl.keystore.certificate.chain": "k"},
            "SSL certificate chain is specified, but private key is not specified",
        ),
        (inline(SERVER) | {"ssl.keystore.location": "x"}, "Both SSL key store location and separate private key"),
        (inline(SERVER) | {"ssl.keystore.password": PASSWORD}, "SSL key store password cannot be specified with PEM"),
        ({"ssl.keystore.password": PASSWORD}, "SSL key store is not specified, but key store password is specified."),
        ({"ssl.keystore.location": "x"}, "SSL key store is specified, but key store password is not specified."),
        (
            {"ssl.keystore.location": "no-such-file", "ssl.keystore.password": PASSWORD},
            "Failed to load SSL keystore no-such-file of type JKS: No such file or directory",
        ),
        (inline(SERVER) | {"ssl.truststore.certificates": "x"}, "SSL trust store certs can be specified only for PEM"),
        (
            inline(SERVER, AUTHORITY) | {"ssl.truststore.location": "x"},
            "Both SSL trust store location and separate trust certificates are specified.",
        ),
        (
            inline(SERVER, AUTHORITY) | {"ssl.truststore.password": PASSWORD},
            "SSL trust store password cannot be specified for PEM format.",
        ),
        (
            inline(SERVER) | {"ssl.truststore.password": PASSWORD},
            "SSL trust store is not specified, but trust store password is specified.",
        ),
        (
            inline(SERVER) | {"ssl.keystore.key": ENCRYPTED},
            "with ssl.key.password: Password was not given but private key is encrypted",
        ),
        (
            inline(SERVER) | {"ssl.keystore.key": ENCRYPTED, "ssl.key.password": "tell-guessed"},
            "with ssl.key.password: Incorrect password",
        ),
        (
            inline(SERVER) | {"ssl.key.password": PASSWORD},
            "with ssl.key.password: Password was given but private key is not encrypted",
        ),
        (inline(SERVER) | {"ssl.keystore.key": OLD_FORM}, "expected a key in PKCS#8 (BEGIN PRIVATE KEY), got BEGIN EC"),
        (inline(SERVER) | {"ssl.keystore.key": "k"}, "No matching PRIVATE KEY entries in PEM file"),
        (inline(SERVER) | {"ssl.keystore.key": SERVER.key * 2}, "Expected one private key, but found 2"),
        (inline(SERVER) | {"ssl.keystore.certificate.chain": "k"}, "No matching CERTIFICATE entries in PEM file"),
        (inline(SERVER) | {"ssl.keystore.certificate.chain": AUTHORITY.pem}, "key values mismatch"),
        (inline(SERVER) | {"ssl.enabled.protocols": "TLSv1.2,SSLv3"}, "expected some of TLSv1.2, TLSv1.3, got SSLv3"),
        (inline(SERVER) | {"ssl.protocol": "SSLv3"}, "ssl.protocol: expected TLS or TLSv1.2 or TLSv1.3, got SSLv3"),
        (inline(SERVER) | {"ssl.client.auth": "maybe"}, "ssl.client.auth"),
        (inline(SERVER) | {"ssl.principal.mapping.rules": "RULE:a"}, "Invalid rule: `RULE:a`"),
        (inline(SERVER) | {"ssl.principal.mapping.rules": "RULE:(?=a)/b/"}, "cannot use the pattern '(?=a)'"),
    ],
)
def test_what_cannot_be_is_refused_in_kafkas_words_and_without_a_secret(given, words):
    with pytest.raises(ValueError, match=r"\w") as refused:
        made(given)
    assert words in str(refused.value)
    assert "tell-" not in str(refused.value)
    assert SERVER.key.splitlines()[1] not in str(refused.value)


def test_a_wrong_password_and_formats_that_are_not_read_are_told_apart(tmp_path):
    store = str(key_store(tmp_path / "server.p12", SERVER))
    older, other = tmp_path / "older.jks", tmp_path / "notes.txt"
    older.write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    other.write_text("no store")
    said = []
    for location, password in (
        (store, "tell-guessed"),
        (str(older), PASSWORD),
        (str(other), PASSWORD),
    ):
        with pytest.raises(ValueError, match="Failed to load SSL keystore") as refused:
            made({"ssl.keystore.location": location, "ssl.keystore.password": password})
        said.append(str(refused.value))
    assert "keystore password was incorrect" in said[0]
    assert all("it is not PKCS#12, which `keytool" in one for one in said[1:])
