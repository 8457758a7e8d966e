"""Which addresses brokers have: a port each, and one more for each rack where racks have listeners of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mockbroker.state.brokers.broker import DEFAULT_LISTENER, Broker, Listener

RACK_LISTENER = "RACK_"
EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 - compared with


def numbered_brokers(
    count: int,
    racks: Sequence[str | None],
    host: str,
    port: int,
    listener_per_rack: bool = False,
    advertised_host: str | None = None,
) -> list[Broker]:
    """Brokers 0 and up: broker i on port + i, in rack i modulo the list, where None and "" are no rack.

    Rack listeners come behind: for the first rack on port + count + i, for the second on port + 2 * count + i, ...
    Clients are told ``advertised_host``, by default ``host``, or 127.0.0.1 where that is every address.

    >>> [(broker.id, broker.rack, broker.port) for broker in numbered_brokers(2, ["a"], "127.0.0.1", 9092)]
    [(0, 'a', 9092), (1, 'a', 9093)]
    """
    if count < 1:
        raise ValueError(f"brokers: expected 1 or more, got {count}")
    brokers = []
    rack_names = list(dict.fromkeys(rack for rack in racks if rack))
    for index in range(count):
        listeners = [listener_at(DEFAULT_LISTENER, host, port + index if port else 0, None, advertised_host)]
        if listener_per_rack:
            for place, rack in enumerate(rack_names):
                at = port + count * (place + 1) + index if port else 0
                listeners.append(listener_at(RACK_LISTENER + rack, host, at, rack, advertised_host))
        brokers.append(Broker(index, (racks[index % len(racks)] or None) if racks else None, listeners))
    return brokers


def with_free_ports(broker: Broker) -> Broker:
    """A broker like this one, whose listeners take any port that is free."""
    listeners = [replace(one, port=0, bind_port=None if one.bind_port is None else 0) for one in broker.listeners]
    return Broker(broker.id, broker.rack, listeners, broker.release, broker.protocol)


def listener_at(name: str, host: str, port: int, rack: str | None, advertised_host: str | None) -> Listener:
    """A listener that tells clients where it listens, or what it is to tell them."""
    advertised = advertised_host or ("127.0.0.1" if host in EVERY_ADDRESS else host)
    return Listener(name, advertised, port, rack, bind_host=host)
