"""The settings of a listener for Python's ``ssl``: its key, the authorities it trusts, and versions."""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mockbroker.adapters.tls.stores import ServerKey, StoreError, load_key, load_trusted
from mockbroker.state.security.principal_mapping import subject_of
from mockbroker.state.security.protocols import SSL, WITH_TLS
from mockbroker.state.security.tls import NONE, REQUIRED, ListenerTls, TrustStore

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(slots=True, frozen=True)
class TlsListener:
    """A listener's context, its settings, and the principals of clients with certificates."""

    context: ssl.SSLContext
    settings: ListenerTls
    is_sasl: bool

    def principal_of(self, certificate: bytes | None) -> str | None:
        """The principal of this certificate, in DER; None without a certificate, or where a login names the principal.

        Raises ValueError: no rule applies to the name, or it cannot be read.
        """
        if certificate is None or self.is_sasl:
            return None
        return "User:" + self.settings.mapping.name(subject_of(certificate))


def broker_listeners(cluster: Cluster, broker: Broker, made: dict[ListenerTls, TlsListener]) -> dict[str, TlsListener]:
    """The listeners with TLS of a broker, by name; those with equal settings share one of ``made``.

    Raises ValueError: a store cannot be used.
    """
    found: dict[str, TlsListener] = {}
    for listener in broker.listeners:
        if listener.protocol not in WITH_TLS:
            continue
        settings = cluster.security.tls_of(cluster, broker, listener)
        is_sasl = listener.protocol != SSL
        try:
            if settings not in made:
                made[settings] = TlsListener(context_of(settings), settings, is_sasl)
        except StoreError as error:
            raise ValueError(f"listener {settings.listener}: {error}") from None
        found[listener.name] = replace(made[settings], is_sasl=is_sasl)
    return found


def context_of(settings: ListenerTls) -> ssl.SSLContext:
    """The TLS context of a listener's connections. Raises StoreError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    put_versions(context, settings.versions)
    put_key(context, load_key(settings.key_store))
    if settings.client_auth != NONE:
        context.verify_mode = ssl.CERT_REQUIRED if settings.client_auth == REQUIRED else ssl.CERT_OPTIONAL
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # in Java whatever is in a trust store is trusted
        if settings.trust_store is None:
            context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    if settings.trust_store is not None:
        put_trusted(context, settings.trust_store)
    return context


def put_versions(context: ssl.SSLContext, names: tuple[str, ...]) -> None:
    """Set the versions of TLS."""
    context.minimum_version, context.maximum_version = VERSIONS[names[0]], VERSIONS[names[-1]]


def put_trusted(context: ssl.SSLContext, store: TrustStore) -> None:
    """Let a context trust the certificates of a store. Raises StoreError."""
    try:
        context.load_verify_locations(cadata=load_trusted(store))
    except ssl.SSLError as error:
        raise StoreError(f"ssl.truststore: {reason_of(error)}") from None


def put_key(context: ssl.SSLContext, own: ServerKey) -> None:
    """Load the key of a context; ``ssl`` reads it from a temporary file."""

    def password() -> str:
        return own.password or ""  # OpenSSL would otherwise ask the terminal

    with passing_file(own.key + own.chain) as name:
        try:
            context.load_cert_chain(name, password=password)
        except ssl.SSLError as error:
            reason = reason_of(error)
            if own.password is not None and "mismatch" not in reason:
                reason = f"ssl.key.password is not its password, or the key is damaged ({reason})"
            raise StoreError(f"the key and its certificates cannot be used: {reason}") from None


@contextmanager
def passing_file(text: str) -> Iterator[str]:
    """The name of a file with this text that only this process can read, in memory if possible."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("key")
        name = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, name = tempfile.mkstemp(prefix="kafka-rack-")
    try:
        with os.fdopen(descriptor, "w", closefd=False) as file:
            file.write(text)
        yield name
    finally:
        os.close(descriptor)
        if not name.startswith("/proc/"):
            with suppress(OSError):
                Path(name).unlink()


def reason_of(error: ssl.SSLError) -> str:
    """The reason of an error, in OpenSSL's words without its places in the code.

    >>> reason_of(ssl.SSLError(1, "[SSL: NO_SHARED_CIPHER] no shared cipher (_ssl.c:1016)"))
    'no shared cipher'
    """
    if isinstance(error, ssl.SSLCertVerificationError) and error.verify_message:
        return f"certificate verify failed: {error.verify_message}"
    text = str(error.args[1]) if len(error.args) > 1 else str(error)
    return re.sub(r"^\[[^\]]*\] | \(_ssl\.c:\d+\)$", "", text)
