"""Key stores and trust stores: PEM and PKCS#12, from files or out of the settings themselves.

A file in PKCS#12 is read under the types ``PKCS12`` and ``JKS``, Kafka's default, as in Java, whose keytool has written
PKCS#12 since Java 9. Files in Java's older formats are refused.
Source: DefaultSslEngineFactory, Apache Kafka 4.4; RFC 7468.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from mockbroker.state.security.tls import PEM, Store

JAVA_TYPES = frozenset({"PKCS12", "JKS"})
DER_SEQUENCE = b"\x30"
PEM_BLOCK = re.compile(r"-----BEGIN (?P<label>[A-Z ]+)-----(?P<body>[^-]*)-----END (?P=label)-----")
LINE = 64


class StoreError(ValueError):
    """An invalid store; the text repeats no secret."""


@dataclass(slots=True, frozen=True)
class Identity:
    """A key and its certificate, with those that lead to its authority, as PEM; the password of the key if any."""

    certificate: str
    key: str = field(repr=False)
    password: str | None = field(default=None, repr=False)


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Put what has failed before the reason of a StoreError."""
    try:
        yield
    except StoreError as error:
        raise StoreError(f"{what}: {error}") from None


def load_key(store: Store) -> Identity:
    """The key and certificates of a key store. Raises StoreError."""
    if store.key is not None:
        with explained("Invalid PEM keystore configs"):
            return pem_key(store.key, store.certificates or "", store.key_password)
    if store.type == PEM:
        with explained(f"Failed to load PEM SSL keystore {store.location}"):
            text = read_file(store.location).decode(errors="replace")
            return pem_key(text, text, store.key_password)
    with explained(f"Failed to load SSL keystore {store.location} of type {store.type}"):
        found = read_pkcs12(store)
        if found.key is None or found.cert is None:
            raise StoreError("expected a private key with its certificate in it, got none")
        key = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        return Identity(certificates_in(found), key)


def load_trusted(store: Store) -> str:
    """The certificates of a trust store, as PEM. Raises StoreError."""
    if store.certificates is not None:
        with explained("Invalid PEM truststore configs"):
            return pem_certificates(store.certificates)
    with explained(f"Failed to load SSL truststore {store.location} of type {store.type}"):
        if store.type == PEM:
            return pem_certificates(read_file(store.location).decode(errors="replace"))
        found = certificates_in(read_pkcs12(store))
        if not found:
            raise StoreError("expected certificates in it, got none")
        return found


def read_file(location: str | None) -> bytes:
    assert location is not None
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise StoreError(error.strerror or str(error)) from None


# PEM


def pem_key(text: str, chain: str, password: str | None) -> Identity:
    found = pem_blocks(text, "PRIVATE KEY")
    if len(found) > 1:
        raise StoreError(f"Expected one private key, but found {len(found)}")
    ((label, key),) = found
    is_encrypted = label == "ENCRYPTED PRIVATE KEY"
    if not is_encrypted and label != "PRIVATE KEY":
        raise StoreError(
            f"expected a key in PKCS#8 (BEGIN PRIVATE KEY), got BEGIN {label}; `openssl pkcs8 -topk8` converts it"
        )
    if is_encrypted and password is None:
        raise StoreError("the private key is encrypted: expected its password in ssl.key.password, got none")
    if password is not None and not is_encrypted:
        raise StoreError("expected an encrypted private key for ssl.key.password, got one that is not")
    return Identity(pem_certificates(chain), key, password)


def pem_certificates(text: str) -> str:
    return "".join(block for _, block in pem_blocks(text, "CERTIFICATE"))


def pem_blocks(text: str, kind: str) -> list[tuple[str, str]]:
    """Labels and blocks of a kind, with the line breaks that OpenSSL requires; in settings they may be missing."""
    found = []
    for match in PEM_BLOCK.finditer(text):
        label, body = match["label"], "".join(match["body"].split())
        if label.endswith(kind):
            lines = [body[at : at + LINE] for at in range(0, len(body), LINE)]
            found.append((label, "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])))
    if not found:
        raise StoreError(f"No matching {kind} entries in PEM file")
    return found


# PKCS#12


def read_pkcs12(store: Store) -> Any:
    """The contents of a file in PKCS#12. Raises StoreError."""
    if store.type.upper() not in JAVA_TYPES:
        raise StoreError(f"expected the type PEM, PKCS12 or JKS, got {store.type}")
    data = read_file(store.location)
    if not data.startswith(DER_SEQUENCE):
        raise StoreError("it is not PKCS#12, which `keytool -importkeystore -deststoretype PKCS12` writes")
    try:
        return load_pkcs12(data, store.password.encode() if store.password is not None else None)
    except ValueError:
        raise StoreError("keystore password was incorrect, or the file is damaged") from None


def certificates_in(store: Any) -> str:
    own = [*([store.cert] if store.cert is not None else []), *store.additional_certs]
    return "".join(one.certificate.public_bytes(Encoding.PEM).decode() for one in own)
