"""Kafka's listener settings, and brokers on numbered ports: one port each, and one per rack with rack listeners."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mockbroker.state.brokers.broker import DEFAULT_LISTENER, RACK_LISTENER, Broker, Listener
from mockbroker.state.security.protocols import SECURITY_PROTOCOLS, protocol_of, protocols_in

LISTENER = re.compile(r"([A-Za-z0-9_.-]+)://(\[[^\]]*\]|[^:\[\]]*):(-?\d{1,10})")
EVERY_ADDRESS = ("", "0.0.0.0", "::", "[::]")  # noqa: S104 - compared with, not bound to
LOOPBACK = "127.0.0.1"
PROTOCOL_MAP = "listener.security.protocol.map"


def numbered_brokers(
    count: int,
    racks: Sequence[str | None],
    host: str,
    port: int,
    listener_per_rack: bool = False,
    advertised_host: str | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    protocol: str = DEFAULT_LISTENER,
) -> list[Broker]:
    """Brokers from 0 on: broker i on port + i, in rack i modulo the list, where None and "" are no rack.

    Rack listeners use the next ports: for the first rack port + count + i, for the second port + 2 * count + i, ...
    The advertised host is ``advertised_host``, default ``host``, or 127.0.0.1 if that is a wildcard.

    Args:
        settings: ``listeners`` in these, if set, are those of broker 0 instead of ``host`` and ``port``, and broker i
            has them on ports higher by i. ``listener.security.protocol.map`` always applies.
        protocol: the security protocol of listeners without one in the settings.

    Raises: ValueError: text that cannot be parsed.

    >>> [(broker.id, broker.rack, broker.port) for broker in numbered_brokers(2, ["a"], "127.0.0.1", 9092)]
    [(0, 'a', 9092), (1, 'a', 9093)]
    """
    if count < 1:
        raise ValueError(f"brokers: expected 1 or more, got {count}")
    settings = settings or {}
    protocols = protocols_in(str(settings.get(PROTOCOL_MAP, "")))
    first = listeners_in(settings)
    if not first:
        own = protocols.get(DEFAULT_LISTENER)
        advertised = advertised_host or (LOOPBACK if host in EVERY_ADDRESS else host)
        name = DEFAULT_LISTENER if own else protocol
        first = [Listener(name, advertised, port, bind_host=host, protocol=own or protocol)]
    if listener_per_rack:
        first += rack_listeners(first[0], list(dict.fromkeys(rack for rack in racks if rack)), count, protocols)
    brokers = []
    for index in range(count):
        listeners = [moved(one, index) for one in first]
        brokers.append(Broker(index, (racks[index % len(racks)] or None) if racks else None, listeners))
    return brokers


def rack_listeners(first: Listener, racks: Sequence[str], count: int, protocols: Mapping[str, str]) -> list[Listener]:
    """A listener per rack, with the security protocol of the first listener unless the map has another."""
    found = []
    for place, rack in enumerate(racks, 1):
        name = RACK_LISTENER + rack
        protocol = protocols.get(name.upper(), first.protocol)
        found.append(replace(moved(first, count * place), name=name, rack=rack, protocol=protocol))
    return found


def moved(listener: Listener, by: int) -> Listener:
    """The same listener with ports higher by ``by``; 0 stays 0."""
    bind_port = listener.bind_port
    return replace(listener, port=listener.port and listener.port + by, bind_port=bind_port and bind_port + by)


def with_free_ports(broker: Broker) -> Broker:
    """A copy of a broker whose listeners use any free port."""
    listeners = [replace(one, port=0, bind_port=None if one.bind_port is None else 0) for one in broker.listeners]
    return Broker(broker.id, broker.rack, listeners, broker.release, broker.protocol, broker.settings)


# settings

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


def listeners_in(settings: Mapping[str, Any]) -> list[Listener]:
    """The listeners in a broker's settings, empty if not set. Raises ValueError."""
    bound = addresses_in("listeners", str(settings.get("listeners", "")))
    if not bound and "listeners" in settings:
        raise ValueError("listeners: expected NAME://HOST:PORT, got none")
    advertised = addresses_in("advertised.listeners", str(settings.get("advertised.listeners", "")))
    return listeners_of(bound, advertised, protocols_in(str(settings.get(PROTOCOL_MAP, ""))))
