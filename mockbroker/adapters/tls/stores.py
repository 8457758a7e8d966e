"""Key stores and trust stores: PEM and PKCS#12, from files or out of the settings themselves.

A file in PKCS#12 is read under the types ``PKCS12`` and ``JKS``, Kafka's default, as in Java, whose keytool has written
PKCS#12 since Java 9. Files in Java's older formats are refused.
Source: DefaultSslEngineFactory, Apache Kafka 4.4; RFC 7468.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mockbroker.state.security.tls import PEM, KeyStore, TrustStore

JAVA_TYPES = frozenset({"PKCS12", "JKS"})
OLD_FORMATS = {b"\xfe\xed\xfe\xed": "JKS", b"\xce\xce\xce\xce": "JCEKS"}
"""Java's own formats by their first bytes."""
DER_SEQUENCE = b"\x30"
DAMAGED = "keystore password was incorrect, or the file is damaged"
NO_KEY = "expected a private key with its certificate in it, got none"
HEADERS = r"(?:[^\r\n:]*+:[^\r\n]*+\s++)*+"
ENTRY = (
    r"(?<!-)-++BEGIN\s*+(?P<before>.*){name}[^-]*+-++\s++"
    + HEADERS
    + r"(?P<body>[a-zA-Z0-9/+=\s]*+)-++END\s*+.*{name}[^-]*+-++\s++"
)
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
        return pkcs12_key(java_store(store.location, store.type), store.password)
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


# PKCS#12


def java_certificates(location: str, type_: str, password: str | None) -> str:
    found = pkcs12_certificates(java_store(location, type_), password)
    if not found:
        raise StoreError("expected certificates in it, got none")
    return found


def java_store(location: str, type_: str) -> bytes:
    """Returns the bytes of a file in PKCS#12. Raises StoreError."""
    if type_.upper() not in JAVA_TYPES:
        raise StoreError(f"expected the type PEM, PKCS12 or JKS, got {type_}")
    data = read_file(location)
    if old := OLD_FORMATS.get(data[:4]):
        raise StoreError(
            f"it has Java's format {old}, which is not read; convert it by `keytool "
            f"-importkeystore -srcstoretype {old} -srckeystore {location} "
            f"-destkeystore {Path(location).stem}.p12 -deststoretype PKCS12`"
        )
    if not data.startswith(DER_SEQUENCE):
        raise StoreError("it is not PKCS#12")
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
    """The contents of a file in PKCS#12."""
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    try:
        return load_pkcs12(data, password.encode() if password is not None else None)
    except ValueError:
        raise StoreError(DAMAGED) from None
