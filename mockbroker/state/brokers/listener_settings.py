"""Kafka's listener settings: ``listeners``, ``advertised.listeners`` and ``listener.security.protocol.map``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mockbroker.state.brokers.broker import RACK_LISTENER, Listener
from mockbroker.state.security.protocols import SECURITY_PROTOCOLS, protocol_of, protocols_in

LISTENER = re.compile(r"([A-Za-z0-9_.-]+)://(\[[^\]]*\]|[^:\[\]]*):(-?\d{1,10})")
EVERY_ADDRESS = ("", "0.0.0.0", "[::]", "::")  # noqa: S104 - compared with, not bound to
LOOPBACK = "127.0.0.1"
PROTOCOL_MAP = "listener.security.protocol.map"

Addresses = dict[str, tuple[str, int]]
"""Host and port by the listener's name."""


def addresses_in(key: str, text: str) -> Addresses:
    """The addresses of ``PLAINTEXT://host:9092,OTHER://:9093``. Raises ValueError."""
    result: Addresses = {}
    for part in text.split(","):
        if not part.strip():
            continue
        found = LISTENER.fullmatch(part.strip())
        if found is None or not 0 <= int(found[3]) <= 65535:
            raise ValueError(f"{key}: expected NAME://HOST:PORT, got {part.strip()!r}")
        if found[1] in result:
            raise ValueError(f"{key} has {found[1]} twice")
        result[found[1]] = (found[2], int(found[3]))
    return result


def listeners_of(bound: Addresses, advertised: Addresses, protocols: Mapping[str, str]) -> list[Listener]:
    """Listeners with their advertised addresses and security protocols.

    A listener named ``RACK_a`` is for the clients of rack a, as if created by ``listener_per_rack``.

    Raises: ValueError: an advertised address has no listener, or a listener has no security protocol.
    """
    unknown = [name for name in advertised if name not in bound]
    if unknown:
        raise ValueError(f"advertised.listeners names {unknown[0]}, which is not among listeners")
    listeners = []
    for name, (host, port) in bound.items():
        protocol = protocol_of(name, protocols)
        if protocol is None:
            expected = f"{name}:PROTOCOL, one of {', '.join(SECURITY_PROTOCOLS)}"
            raise ValueError(f"{PROTOCOL_MAP}: expected {expected}, got nothing for {name}")
        shown_host, shown_port = advertised.get(name, (host, port))
        if shown_host in EVERY_ADDRESS:
            shown_host = LOOPBACK
        listeners.append(
            Listener(
                name,
                shown_host.strip("[]"),
                shown_port,
                name.removeprefix(RACK_LISTENER) if name.startswith(RACK_LISTENER) else None,
                bind_host=host.strip("[]"),
                bind_port=port,
                protocol=protocol,
            )
        )
    return listeners


def listeners_in(settings: Mapping[str, str]) -> list[Listener]:
    """The listeners in a broker's settings, empty if not set. Raises ValueError."""
    bound = addresses_in("listeners", settings.get("listeners", ""))
    if not bound and "listeners" in settings:
        raise ValueError("listeners: expected NAME://HOST:PORT, got none")
    advertised = addresses_in("advertised.listeners", settings.get("advertised.listeners", ""))
    return listeners_of(bound, advertised, protocols_in(settings.get(PROTOCOL_MAP, "")))
