"""Writes the files that clients of a cluster with test certificates need: keys, and properties that name them.

Only their owner can read them. Existing files of the same names are replaced. Java reads keys and certificates as PEM
since Kafka 2.7 (KIP-651).
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from mockbroker.adapters.client_settings import client_login, java, librdkafka
from mockbroker.adapters.tls.material import AUTHORITY_FILE, AUTHORITY_KEY_FILE, TlsMaterial
from mockbroker.state.cluster import Cluster
from mockbroker.state.security.protocols import WITH_TLS

ONLY_OWNER, ONLY_OWNERS_FOLDER = 0o600, 0o700
JAVA, LIBRDKAFKA = "java.properties", "librdkafka.properties"


def write_files(to: Path | str, state: Cluster, material: TlsMaterial) -> None:
    """Write the files into a folder, which is created if it is missing; the properties are for the first listener with
    TLS. Raises OSError, naming the folder.
    """
    listeners = [one for broker in state.brokers.values() for one in broker.listeners]
    first = next(one for one in listeners if one.protocol in WITH_TLS)
    servers = ",".join(f"{one.host}:{one.port}" for one in listeners if one.name == first.name)
    login = client_login(state, first, servers, tls=material)
    client, folder, to_connect = material.client(), Path(to), replace(login, trusted=None, identity=None)
    try:
        folder.mkdir(mode=ONLY_OWNERS_FOLDER, parents=True, exist_ok=True)
        folder = folder.resolve()
        of_java = {
            **java(to_connect),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(folder / AUTHORITY_FILE),
        }
        of_librdkafka = {**librdkafka(to_connect), "ssl.ca.location": str(folder / AUTHORITY_FILE)}
        if login.identity is not None:
            of_java |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(folder / "client-keystore.pem")}
            of_librdkafka |= {
                "ssl.certificate.location": str(folder / "client.pem"),
                "ssl.key.location": str(folder / "client-key.pem"),
            }
        files = {
            AUTHORITY_FILE: material.ca_pem,
            AUTHORITY_KEY_FILE: material.authority.identity.key,
            "client.pem": client.certificate,
            "client-key.pem": client.key,
            "client-keystore.pem": client.key + client.certificate,
            JAVA: "".join(f"{name}={java_text(value)}\n" for name, value in of_java.items()),
            LIBRDKAFKA: "".join(f"{name}={value}\n" for name, value in of_librdkafka.items()),
        }
        for name, content in files.items():
            write_own(folder / name, content.encode())
    except OSError as error:
        raise OSError(error.errno, f"cannot write {to}: {error.strerror}") from None


def java_text(value: str) -> str:
    r"""A value for a Java properties file.

    >>> print(java_text('user\\"ü"'))
    user\\"\u00fc"
    """
    escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    units = escaped.encode("utf-16-be")
    numbers = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(chr(number) if 0x20 <= number < 0x7F else f"\\u{number:04x}" for number in numbers)


def write_own(path: Path, content: bytes) -> None:
    """Write a file at once, readable by its owner only."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    beside.touch(ONLY_OWNER, exist_ok=False)
    beside.write_bytes(content)
    beside.replace(path)
