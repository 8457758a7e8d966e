"""The settings of a listener for Python's ``ssl``: its key, the authorities it trusts, and versions."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from mockbroker.adapters.tls.stores import Identity, StoreError, load_key, load_trusted
from mockbroker.state.security.tls import NONE, REQUIRED, ListenerTls, Store

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


class TlsListener(NamedTuple):
    """A listener's context, and its settings."""

    context: ssl.SSLContext
    settings: ListenerTls


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


def put_trusted(context: ssl.SSLContext, store: Store) -> None:
    """Let a context trust the certificates of a store. Raises StoreError."""
    try:
        context.load_verify_locations(cadata=load_trusted(store))
    except ssl.SSLError as error:
        raise StoreError(f"ssl.truststore: {reason_of(error)}") from None


def put_key(context: ssl.SSLContext, own: Identity) -> None:
    """Load the key of a context; ``ssl`` reads it from a temporary file."""
    with passing_file(own.key + own.certificate) as name:
        try:
            context.load_cert_chain(name)
        except ssl.SSLError as error:
            raise StoreError(f"the key and its certificates cannot be used: {reason_of(error)}") from None


@contextmanager
def passing_file(text: str) -> Iterator[str]:
    """The name of a file with this text that only this process can read, in memory if possible."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("key"), "w") as file:
            file.write(text)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with TemporaryDirectory(prefix="kafka-rack-") as folder:
            path = Path(folder, "key.pem")
            path.write_text(text)
            yield str(path)


def reason_of(error: ssl.SSLError) -> str:
    """The reason of an error, in OpenSSL's words without its places in the code.

    >>> reason_of(ssl.SSLError(1, "[SSL: NO_SHARED_CIPHER] no shared cipher (_ssl.c:1016)"))
    'no shared cipher'
    """
    if isinstance(error, ssl.SSLCertVerificationError) and error.verify_message:
        return f"certificate verify failed: {error.verify_message}"
    text = str(error.args[1]) if len(error.args) > 1 else str(error)
    return re.sub(r"^\[[^\]]*\] | \(_ssl\.c:\d+\)$", "", text)
