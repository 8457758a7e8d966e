"""The two sockets of a proxied connection whose client speaks TLS."""

from __future__ import annotations

from mockbroker.adapters.tls.clients import TlsClientProtocol
from mockbroker.proxy.adapters.clients import ProxiedClient


class TlsProxiedClient(ProxiedClient, TlsClientProtocol):
    """One client's socket with TLS over it, with a connection of its own to the real broker."""
