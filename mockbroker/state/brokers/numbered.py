"""Which addresses brokers have: a port each, and one more for each rack where racks have listeners of their own."""

from __future__ import annotations

from collections.abc import Sequence

from mockbroker.state.brokers.broker import DEFAULT_LISTENER, Broker, Listener

RACK_LISTENER = "RACK_"
EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 - compared with


def numbered_brokers(
    count: int, racks: Sequence[str], host: str, port: int, listener_per_rack: bool = False
) -> list[Broker]:
    """Brokers 0 and up: broker i on port + i, in rack i modulo the list.

    Rack listeners come behind: for the first rack on port + count + i, for the second on port + 2 * count + i, ...
    Where they listen on every address, clients are told 127.0.0.1.

    >>> [(broker.id, broker.rack, broker.port) for broker in numbered_brokers(2, ["a"], "127.0.0.1", 9092)]
    [(0, 'a', 9092), (1, 'a', 9093)]
    """
    if count < 1:
        raise ValueError(f"{count} brokers, but 1 at least are wanted")
    brokers = []
    rack_names = list(dict.fromkeys(racks))
    for index in range(count):
        listeners = [listener_at(DEFAULT_LISTENER, host, port + index if port else 0)]
        if listener_per_rack:
            for place, rack in enumerate(rack_names):
                at = port + count * (place + 1) + index if port else 0
                listeners.append(listener_at(RACK_LISTENER + rack, host, at, rack))
        brokers.append(Broker(index, racks[index % len(racks)] if racks else None, listeners))
    return brokers


def listener_at(name: str, host: str, port: int, rack: str | None = None) -> Listener:
    """A listener that tells clients where it listens, or 127.0.0.1 where that is every address."""
    if host in EVERY_ADDRESS:
        return Listener(name, "127.0.0.1", port, rack, bind_host=host)
    return Listener(name, host, port, rack)
