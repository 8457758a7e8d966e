"""Test certificates for a cluster: an authority, the brokers' key, and keys of clients by their names."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mockbroker.adapters.tls.certificates import CertificateAuthority
from mockbroker.adapters.tls.contexts import put_key
from mockbroker.adapters.tls.stores import Identity
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.security.protocols import SASL_SSL, SSL, WITH_TLS
from mockbroker.state.security.tls import PEM, REQUESTED

CLIENT = "client"
OF_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 - compared with
STORES = ("ssl.keystore.", "ssl.truststore.", "ssl.key.password")
AUTHORITY_FILE, AUTHORITY_KEY_FILE = "ca.pem", "ca-key.pem"


class TlsMaterial:
    """The certificates of ``tls=True``: clients that trust ``ca_pem`` trust the brokers, which know ``User:CN=client``.

    Args:
        brokers: their certificate has their bound and advertised addresses.
        folder: an authority in it is used again, so that clients still trust it.
    """

    def __init__(self, brokers: Iterable[Broker], folder: Path | None = None) -> None:
        self.authority = authority_in(folder)
        self.server = self.authority.server(hosts_of(brokers))
        self._clients: dict[str, Identity] = {}

    @property
    def ca_pem(self) -> str:
        """The authority's certificate."""
        return self.authority.pem

    def client(self, name: str = CLIENT) -> Identity:
        """A client's certificate and key, as PEM; the same whenever one asks. Its principal is ``User:CN=name``."""
        if name not in self._clients:
            self._clients[name] = self.authority.client(name)
        return self._clients[name]

    def client_context(self, name: str | None = None) -> ssl.SSLContext:
        """The TLS context of a client in Python; with a name it shows that certificate."""
        return client_context(self.ca_pem, None if name is None else self.client(name))

    def added_to(self, settings: Mapping[str, Any], brokers: Iterable[Broker]) -> dict[str, Any]:
        """Settings with the brokers' key and the authority. Raises ValueError: they have others, or need none."""
        all_brokers = list(brokers)
        for name in (name for given in (settings, *(one.settings for one in all_brokers)) for name in given):
            if any(store in name for store in STORES):
                raise ValueError(f"tls makes keys of its own: expected no {name}")
        if all(one.protocol not in WITH_TLS for broker in all_brokers for one in broker.listeners):
            raise ValueError(f"tls: expected a listener with the security protocol {SSL} or {SASL_SSL}, got none")
        return {
            "ssl.client.auth": REQUESTED,
            **settings,
            "ssl.keystore.type": PEM,
            "ssl.keystore.key": self.server.key,
            "ssl.keystore.certificate.chain": self.server.certificate,
            "ssl.truststore.type": PEM,
            "ssl.truststore.certificates": self.ca_pem,
        }


def client_context(trusted: str, identity: Identity | None) -> ssl.SSLContext:
    """The TLS context of a client in Python."""
    context = ssl.create_default_context(cadata=trusted)
    if identity is not None:
        put_key(context, identity)
    return context


def hosts_of(brokers: Iterable[Broker]) -> list[str]:
    """The names and addresses under which clients may know brokers."""
    found = [host for broker in brokers for one in broker.listeners for host in (one.host, one.bind_host or "")]
    return [host for host in dict.fromkeys([*found, *OF_THIS_MACHINE]) if host not in EVERY_ADDRESS]


def authority_in(folder: Path | None) -> CertificateAuthority:
    """The authority that a folder has from before, else a new one. Raises ValueError: its files do not fit."""
    if folder is None or not (folder / AUTHORITY_FILE).exists() or not (folder / AUTHORITY_KEY_FILE).exists():
        return CertificateAuthority()
    try:
        own = Identity((folder / AUTHORITY_FILE).read_text(), (folder / AUTHORITY_KEY_FILE).read_text())
        return CertificateAuthority(own)
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder}: expected {AUTHORITY_FILE} with its {AUTHORITY_KEY_FILE}: {error}") from None
