"""The settings of a TLS listener, under Kafka's names, with Kafka's checks; files are not read here.

A setting of one listener is ``listener.name.LISTENER.ssl...``; otherwise the plain name applies, first in the broker's
own settings. The plain ``ssl.client.auth`` applies to SSL only, not to SASL_SSL (KIP-684).
Source: SslConfigs, DefaultSslEngineFactory and ChannelBuilders, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mockbroker.state.security.listeners import ListenerSettings
from mockbroker.state.security.principal_mapping import Rule, parse_rules
from mockbroker.state.security.protocols import SASL_SSL

PEM = "PEM"
NONE, REQUESTED, REQUIRED = "none", "requested", "required"
TLS_VERSIONS = ("TLSv1.2", "TLSv1.3")
CONTEXTS = ("TLS", "TLSv1.2", "TLSv1.3")
"""Values of ``ssl.protocol``: the versions in use follow from ``ssl.enabled.protocols``, as in Kafka."""
CLIENT_AUTH = "ssl.client.auth"


@dataclass(slots=True, frozen=True)
class Store:
    """Certificates, in a key store with a private key: in a file, or in the settings themselves, as PEM.

    Those of a trust store are the ones that clients' certificates are verified with.
    """

    type: str
    location: str | None
    password: str | None = field(repr=False)
    certificates: str | None = field(repr=False)
    key: str | None = field(repr=False, default=None)
    key_password: str | None = field(repr=False, default=None)


def store_of(own: ListenerSettings, kind: str, certificates: str, *more: str) -> Store:
    names = (f"{kind}.location", f"{kind}.password", certificates, *more)
    return Store(own.value(f"ssl.{kind}.type") or "", *(own.value(f"ssl.{name}") for name in names))


@dataclass(slots=True, frozen=True)
class ListenerTls:
    """The TLS settings for one listener of one broker."""

    listener: str
    key_store: Store
    trust_store: Store | None
    versions: tuple[str, ...]
    client_auth: str
    rules: tuple[Rule, ...]


def tls_of(settings: Mapping[str, Any], listener: str, protocol: str) -> ListenerTls:
    """The settings of a TLS listener. Raises ValueError, whose message has no secrets."""
    own = ListenerSettings(settings, listener)
    try:
        return ListenerTls(
            listener,
            key_store(own),
            trust_store(own),
            versions(own),
            client_auth(own, protocol),
            parse_rules(own.value("ssl.principal.mapping.rules") or "DEFAULT"),
        )
    except ValueError as error:
        raise ValueError(f"listener {listener}: {error}") from None


def key_store(own: ListenerSettings) -> Store:
    """The configured key store, with settings that are valid together."""
    found = store_of(own, "keystore", "keystore.certificate.chain", "keystore.key", "key.password")
    if found.key is not None:
        if found.type != PEM:
            raise ValueError(f"SSL private key can be specified only for PEM, but key store type is {found.type}.")
        if found.certificates is None:
            raise ValueError("SSL private key is specified, but certificate chain is not specified.")
        if found.location is not None:
            raise ValueError("Both SSL key store location and separate private key are specified.")
    elif found.certificates is not None:
        raise ValueError("SSL certificate chain is specified, but private key is not specified")
    if found.type == PEM and found.password is not None and (found.key is not None or found.location is not None):
        raise ValueError(
            "SSL key store password cannot be specified with PEM format, only key password may be specified"
        )
    if found.key is None and found.location is None:
        if found.password is not None:
            raise ValueError("SSL key store is not specified, but key store password is specified.")
        raise ValueError("expected a key store in ssl.keystore.location or ssl.keystore.key, got none")
    if found.location is not None and found.password is None and found.type != PEM:
        raise ValueError("SSL key store is specified, but key store password is not specified.")
    return found


def trust_store(own: ListenerSettings) -> Store | None:
    """The configured trust store, with settings that are valid together; None for the system's certificates."""
    found = store_of(own, "truststore", "truststore.certificates")
    if found.certificates is not None:
        if found.type != PEM:
            raise ValueError(
                f"SSL trust store certs can be specified only for PEM, but trust store type is {found.type}."
            )
        if found.location is not None:
            raise ValueError("Both SSL trust store location and separate trust certificates are specified.")
    elif found.location is None:
        if found.password is not None:
            raise ValueError("SSL trust store is not specified, but trust store password is specified.")
        return None
    if found.type == PEM and found.password is not None:
        raise ValueError("SSL trust store password cannot be specified for PEM format.")
    return found


def versions(own: ListenerSettings) -> tuple[str, ...]:
    """The enabled versions of TLS, lowest first."""
    context = own.value("ssl.protocol")
    if context not in CONTEXTS:
        raise ValueError(f"ssl.protocol: expected {' or '.join(CONTEXTS)}, got {context}")
    given = own.value("ssl.enabled.protocols") or TLS_VERSIONS
    strange = [one for one in given if one not in TLS_VERSIONS]
    if strange:
        raise ValueError(f"ssl.enabled.protocols: expected some of {', '.join(TLS_VERSIONS)}, got {', '.join(strange)}")
    return tuple(one for one in TLS_VERSIONS if one in given)


def client_auth(own: ListenerSettings, protocol: str) -> str:
    """The requirement of client certificates: ``required``, ``requested`` or ``none``."""
    if protocol == SASL_SSL and own.name_of(CLIENT_AUTH) == CLIENT_AUTH:
        return NONE
    return str(own.value(CLIENT_AUTH))
