"""Key stores and trust stores: PEM, PKCS#12 and JKS, from files or out of the settings themselves.

``PKCS12`` and ``JKS``, Kafka's default type, both stand for what is in the file, as in Java, whose keytool has written
PKCS#12 since Java 9.
Source: DefaultSslEngineFactory, Apache Kafka 4.4; RFC 7468.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mockbroker.adapters.tls import jks
from mockbroker.state.security.tls import PEM, KeyStore, TrustStore

JAVA_TYPES = frozenset({"PKCS12", "JKS"})
OLD_JCEKS = b"\xce\xce\xce\xce"
DER_SEQUENCE = b"\x30"
NO_KEY = "expected a private key with its certificate in it, got none"
HEADERS = r"(?:\s*[^\r\n]*:[^\r\n]*[\r\n]+)*"
ENTRY = r"-+BEGIN\s*(?P<before>.*){name}[^-]*-+\s+" + HEADERS + r"(?P<body>[a-zA-Z0-9/+=\s]*)-+END\s*.*{name}[^-]*-+\s+"
CERTIFICATES = re.compile(ENTRY.format(name="CERTIFICATE"))
PRIVATE_KEYS = re.compile(ENTRY.format(name=r"PRIVATE\s+KEY"))
LINE = 64


class StoreError(ValueError):
    """A store that cannot be used; what it says repeats no secret."""


@dataclass(slots=True, frozen=True)
class ServerKey:
    """A private key as PEM, with its password where it has one, and the certificates for it, its own first."""

    key: str = field(repr=False)
    password: str | None = field(repr=False)
    chain: str


def load_key(store: KeyStore) -> ServerKey:
    """The key and certificates of a key store. Raises StoreError."""
    if store.key is not None:
        assert store.certificate_chain is not None
        try:
            return pem_key(store.key, store.certificate_chain, store.key_password)
        except StoreError as error:
            raise StoreError(f"Invalid PEM keystore configs: {error}") from None
    assert store.location is not None
    if store.type == PEM:
        try:
            text = read_file(store.location).decode(errors="replace")
            return pem_key(text, text, store.key_password)
        except StoreError as error:
            raise StoreError(f"Failed to load PEM SSL keystore {store.location}: {error}") from None
    try:
        assert store.password is not None
        return java_key(store.location, store.type, store.password, store.key_password)
    except StoreError as error:
        raise StoreError(f"Failed to load SSL keystore {store.location} of type {store.type}: {error}") from None


def load_trusted(store: TrustStore) -> str:
    """The certificates of a trust store, as PEM. Raises StoreError."""
    if store.certificates is not None:
        try:
            return pem_certificates(store.certificates)
        except StoreError as error:
            raise StoreError(f"Invalid PEM truststore configs: {error}") from None
    assert store.location is not None
    try:
        if store.type == PEM:
            return pem_certificates(read_file(store.location).decode(errors="replace"))
        return java_certificates(store.location, store.type, store.password)
    except StoreError as error:
        raise StoreError(f"Failed to load SSL truststore {store.location} of type {store.type}: {error}") from None


def read_file(location: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise StoreError(error.strerror or str(error)) from None


# PEM


def pem_key(key: str, chain: str, password: str | None) -> ServerKey:
    found = list(PRIVATE_KEYS.finditer(key + "\n"))
    if not found:
        raise StoreError("No matching PRIVATE KEY entries in PEM file")
    if len(found) > 1:
        raise StoreError(f"Expected one private key, but found {len(found)}")
    before = found[0]["before"].strip()
    if before not in ("", "ENCRYPTED"):
        raise StoreError(
            f"expected a key in PKCS#8 (BEGIN PRIVATE KEY), got BEGIN {before} PRIVATE KEY; "
            "`openssl pkcs8 -topk8` converts it"
        )
    if before and password is None:
        raise StoreError("the private key is encrypted: expected its password in ssl.key.password, got none")
    if password is not None and not before:
        raise StoreError("expected an encrypted private key for ssl.key.password, got one that is not")
    label = f"{before} PRIVATE KEY".strip()
    return ServerKey(armoured(label, decoded(found[0]["body"])), password, pem_certificates(chain))


def pem_certificates(text: str) -> str:
    found = [decoded(one["body"]) for one in CERTIFICATES.finditer(text + "\n")]
    if not found:
        raise StoreError("No matching CERTIFICATE entries in PEM file")
    return "".join(armoured("CERTIFICATE", one) for one in found)


def decoded(body: str) -> bytes:
    try:
        return b64decode("".join(body.split()), validate=True)
    except Base64Error:
        raise StoreError("expected base64 between BEGIN and END") from None


def armoured(label: str, der: bytes) -> str:
    """DER as PEM, however its text was broken into lines."""
    text = b64encode(der).decode()
    lines = [text[at : at + LINE] for at in range(0, len(text), LINE)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])


# PKCS#12 and JKS


def java_key(location: str, type_: str, password: str, key_password: str | None) -> ServerKey:
    data = java_store(location, type_)
    if data.startswith(jks.MAGIC):
        return jks_key(data, password, key_password)
    return pkcs12_key(data, password)


def java_certificates(location: str, type_: str, password: str | None) -> str:
    data = java_store(location, type_)
    found = jks_certificates(data, password) if data.startswith(jks.MAGIC) else pkcs12_certificates(data, password)
    if not found:
        raise StoreError("expected certificates in it, got none")
    return found


def java_store(location: str, type_: str) -> bytes:
    """The bytes of a file in PKCS#12 or JKS."""
    if type_.upper() not in JAVA_TYPES:
        raise StoreError(f"expected the type PEM, PKCS12 or JKS, got {type_}")
    data = read_file(location)
    if data.startswith(OLD_JCEKS):
        raise StoreError(
            "it has Java's format JCEKS, which is not read; convert it by `keytool -importkeystore -srcstoretype JCEKS "
            f"-srckeystore {location} -destkeystore {Path(location).stem}.p12 -deststoretype PKCS12`"
        )
    if not data.startswith((DER_SEQUENCE, jks.MAGIC)):
        raise StoreError("it is neither PKCS#12 nor JKS")
    return data


def pkcs12_key(data: bytes, password: str) -> ServerKey:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    found = pkcs12(data, password)
    if found.key is None or found.cert is None:
        raise StoreError(NO_KEY)
    own = [found.cert, *found.additional_certs]
    pem = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return ServerKey(pem, None, "".join(one.certificate.public_bytes(Encoding.PEM).decode() for one in own))


def pkcs12_certificates(data: bytes, password: str | None) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    found = pkcs12(data, password)
    own = [*([found.cert] if found.cert is not None else []), *found.additional_certs]
    return "".join(one.certificate.public_bytes(Encoding.PEM).decode() for one in own)


def pkcs12(data: bytes, password: str | None) -> Any:
    """What a file in PKCS#12 holds."""
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    try:
        return load_pkcs12(data, password.encode() if password is not None else None)
    except ValueError:
        raise StoreError(jks.DAMAGED) from None


def jks_key(data: bytes, password: str, key_password: str | None) -> ServerKey:
    """The first key of a store in JKS, whose password may be another than the store's."""
    for one in jks_entries(data, password):
        if one.encrypted_key is not None and one.certificates:
            try:
                key = jks.jks_private_key(one.encrypted_key, password if key_password is None else key_password)
            except ValueError as error:
                raise StoreError(str(error)) from None
            return ServerKey(armoured("PRIVATE KEY", key), None, certificates_as_pem(one.certificates))
    raise StoreError(NO_KEY)


def jks_certificates(data: bytes, password: str | None) -> str:
    """Those that stand for themselves in a store in JKS, and that of each key, which Java trusts too."""
    return "".join(certificates_as_pem(one.certificates[:1]) for one in jks_entries(data, password))


def jks_entries(data: bytes, password: str | None) -> list[jks.JksEntry]:
    try:
        return jks.jks_entries(data, password)
    except ValueError as error:
        raise StoreError(str(error)) from None


def certificates_as_pem(certificates: Iterable[bytes]) -> str:
    return "".join(armoured("CERTIFICATE", one) for one in certificates)
