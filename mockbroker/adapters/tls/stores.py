"""Key stores and trust stores: PEM and PKCS#12, from files or out of the settings themselves.

A file in PKCS#12 is read under the types ``PKCS12`` and ``JKS``, Kafka's default, as in Java, whose keytool has written
PKCS#12 since Java 9. Files in Java's older formats are refused.
Source: DefaultSslEngineFactory, Apache Kafka 4.4; RFC 7468.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates, load_pkcs12

from mockbroker.state.security.tls import PEM, Store

JAVA_TYPES = frozenset({"PKCS12", "JKS"})
DER_SEQUENCE = b"\x30"
PKCS8 = ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY")
PRIVATE_KEY = re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----")


class StoreError(ValueError):
    """An invalid store; the text repeats no secret."""


@dataclass(slots=True, frozen=True)
class Identity:
    """A key and its certificate, with those that lead to its authority, as PEM; the key is not encrypted."""

    certificate: str
    key: str = field(repr=False)


def identity_of(key: Any, certificates: Iterable[x509.Certificate]) -> Identity:
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Identity(as_pem(certificates), text)


def as_pem(certificates: Iterable[x509.Certificate]) -> str:
    return "".join(one.public_bytes(Encoding.PEM).decode() for one in certificates)


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
        return identity_of(found.key, certificates_in(found))


def load_trusted(store: Store) -> str:
    """The certificates of a trust store, as PEM. Raises StoreError."""
    if store.certificates is not None:
        with explained("Invalid PEM truststore configs"):
            return as_pem(pem_certificates(store.certificates))
    with explained(f"Failed to load SSL truststore {store.location} of type {store.type}"):
        if store.type == PEM:
            return as_pem(pem_certificates(read_file(store.location).decode(errors="replace")))
        found = certificates_in(read_pkcs12(store))
        if not found:
            raise StoreError("expected certificates in it, got none")
        return as_pem(found)


def read_file(location: str | None) -> bytes:
    assert location is not None
    try:
        return Path(location).read_bytes()
    except OSError as error:
        raise StoreError(error.strerror or str(error)) from None


# PEM


def pem_key(text: str, chain: str, password: str | None) -> Identity:
    labels = PRIVATE_KEY.findall(text)
    if not labels:
        raise StoreError("No matching PRIVATE KEY entries in PEM file")
    if len(labels) > 1:
        raise StoreError(f"Expected one private key, but found {len(labels)}")
    if labels[0] not in PKCS8:
        raise StoreError(
            f"expected a key in PKCS#8 (BEGIN PRIVATE KEY), got BEGIN {labels[0]}; `openssl pkcs8 -topk8` converts it"
        )
    try:
        key = load_pem_private_key(text.encode(), None if password is None else password.encode())
    except (TypeError, ValueError) as error:
        raise StoreError(f"the private key cannot be read with ssl.key.password: {error}") from None
    return identity_of(key, pem_certificates(chain))


def pem_certificates(text: str) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(text.encode())
    except ValueError as error:
        raise StoreError(f"No matching CERTIFICATE entries in PEM file: {error}") from None


# PKCS#12


def read_pkcs12(store: Store) -> PKCS12KeyAndCertificates:
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


def certificates_in(store: PKCS12KeyAndCertificates) -> list[x509.Certificate]:
    own = [store.cert] if store.cert is not None else []
    return [one.certificate for one in (*own, *store.additional_certs)]
