"""``certify --command-config``: a cluster that asks for what Kafka's client properties give, and the file for programs.

The cluster is certify's own, so nobody else's keys fit it: for TLS it has an authority of its own, and programs get a
copy of the file that trusts this one in place of whom the file named.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from kafka_rack.cli import UsageError
from kafka_rack.cli.options.command_config import client_settings_in
from mockbroker.adapters.properties_file import read_properties
from mockbroker.state.security.mechanisms import OAUTHBEARER
from mockbroker.state.security.protocols import WITH_TLS
from mockbroker.testing.certify.plan import CertifySecurity

TRUST_STORE = "ssl.truststore."
AUTHORITY = "ca.pem"
HOSTS = ("127.0.0.1", "localhost")


def security_from(path: str, folder: Path) -> CertifySecurity:
    """The security that the cluster requires, and the settings that programs get for it.

    Args:
        folder: for the copy of the file, and the authority's certificate.

    Raises: UsageError: the file cannot be read, or says what cannot be.
    """
    given = client_settings_in(path)
    users: dict[str, str] = {}
    if given.login is not None:
        if given.login.mechanism == OAUTHBEARER or given.login.is_delegation_token:
            raise UsageError(
                f"--command-config {path}: expected a user and a password for PLAIN or SCRAM, got a token; "
                "certify's own cluster takes none"
            )
        users = {given.login.user: given.login.password}
    if given.protocol not in WITH_TLS:
        return CertifySecurity(given.protocol, str(Path(path).absolute()), users, {})
    from mockbroker.adapters.tls.certificates import CertificateAuthority

    authority = CertificateAuthority()
    server = authority.server(HOSTS)
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": server.key,
        "ssl.keystore.certificate.chain": server.certificate,
    }
    trusted = folder / AUTHORITY
    trusted.write_text(authority.pem, encoding="ascii")
    copy = copy_for_programs(path, folder)
    return CertifySecurity(given.protocol, str(copy), users, settings)


def copy_for_programs(path: str, folder: Path) -> Path:
    """The file, with the test authority as the only trusted one."""
    own = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(folder / AUTHORITY)}
    kept = {name: value for name, value in read_properties(Path(path)).items() if not name.startswith(TRUST_STORE)}
    copy = folder / "client.properties"
    write_properties(copy, {**kept, **own})
    return copy


def write_properties(path: Path, properties: Mapping[str, str]) -> None:
    """Write a properties file that only its owner can read: it contains passwords."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        for name, value in properties.items():
            file.write(f"{name}={escaped(value)}\n")


def escaped(value: str) -> str:
    r"""A value as Java's properties have it.

    >>> escaped(" a\\b\nc")
    '\\ a\\\\b\\nc'
    """
    text = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"\\{text}" if text.startswith(" ") else text
