"""The files that clients of a cluster with test certificates need: keys, stores, and properties that name them.

All can be read by their owner alone. What is there under the same names is replaced.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from mockbroker.adapters.client_settings import ClientLogin, java, librdkafka
from mockbroker.adapters.tls.certificates import Identity
from mockbroker.adapters.tls.material import AUTHORITY_FILE, AUTHORITY_KEY_FILE, CLIENT, TlsMaterial

ONLY_OWNER, ONLY_OWNERS_FOLDER = 0o600, 0o700
PASSWORD_BYTES = 12
JAVA, LIBRDKAFKA = "java.properties", "librdkafka.properties"


def write_files(folder: Path, material: TlsMaterial, login: ClientLogin) -> None:
    """Write them into a folder, which is made where it is not there. Raises OSError."""
    folder.mkdir(mode=ONLY_OWNERS_FOLDER, parents=True, exist_ok=True)
    folder = folder.resolve()
    client, password = material.client(), secrets.token_urlsafe(PASSWORD_BYTES)
    files: dict[str, bytes | str] = {
        AUTHORITY_FILE: material.ca_pem,
        AUTHORITY_KEY_FILE: material.authority.identity.key,
        "client.pem": client.certificate,
        "client-key.pem": client.key,
        "client.p12": key_store(client, material.ca_pem, password),
        "truststore.p12": trust_store(material.ca_pem, password),
    }
    shows_key = login.identity is not None
    of_java = {
        **java(login),
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": str(folder / "truststore.p12"),
        "ssl.truststore.password": password,
    }
    of_librdkafka = {**librdkafka(login), "ssl.ca.location": str(folder / AUTHORITY_FILE)}
    if shows_key:
        of_java |= {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(folder / "client.p12"),
            "ssl.keystore.password": password,
            "ssl.key.password": password,
        }
        of_librdkafka |= {
            "ssl.certificate.location": str(folder / "client.pem"),
            "ssl.key.location": str(folder / "client-key.pem"),
        }
    files[JAVA] = "".join(f"{name}={java_text(value)}\n" for name, value in of_java.items())
    files[LIBRDKAFKA] = lines_of(of_librdkafka)
    for name, content in files.items():
        write_own(folder / name, content if isinstance(content, bytes) else content.encode())


def lines_of(properties: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def java_text(value: str) -> str:
    r"""A value as a Java properties file has it.

    >>> print(java_text('user\\"ü"'))
    user\\"\u00fc"
    """
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    units = escaped.encode("utf-16-be")
    numbers = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(chr(number) if 0x20 <= number < 0x7F else f"\\u{number:04x}" for number in numbers)


def key_store(identity: Identity, authority: str, password: str) -> bytes:
    """A key with its certificates, in PKCS#12."""
    certificate = x509.load_pem_x509_certificate(identity.certificate.encode())
    key = load_pem_private_key(identity.key.encode(), None)
    others = [x509.load_pem_x509_certificate(authority.encode())]
    encryption = BestAvailableEncryption(password.encode())
    return pkcs12.serialize_key_and_certificates(CLIENT.encode(), key, certificate, others, encryption)  # type: ignore[arg-type]  # a key of a kind that nobody has in PKCS#12 is not among ours


def trust_store(authority: str, password: str) -> bytes:
    """A certificate to trust, in PKCS#12 as Java marks it."""
    certificate = x509.load_pem_x509_certificate(authority.encode())
    encryption = BestAvailableEncryption(password.encode())
    return pkcs12.serialize_java_truststore([pkcs12.PKCS12Certificate(certificate, b"ca")], encryption)


def write_own(path: Path, content: bytes) -> None:
    """Put a file in its place that nobody else may read, and that nobody reads half of."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, ONLY_OWNER)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    beside.replace(path)
