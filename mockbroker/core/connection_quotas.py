"""Limits of the connections that a broker accepts: in all, per listener and per address.

Connections over ``max.connections``, of the broker or of one listener, wait in the order of their arrival; one over the
limit of its address is closed. The inter-broker listener has only its own limit, if another listener exists.
Source: ConnectionQuotas, Apache Kafka 4.4. Its limits of connections per second (KIP-612) are left out.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import Any

from mockbroker.state.cluster import Cluster
from mockbroker.state.configs.effective import own_name
from mockbroker.state.settings import DEFAULTS, inter_broker_listener

IN_ALL, PER_ADDRESS, OVERRIDES = "max.connections", "max.connections.per.ip", "max.connections.per.ip.overrides"
LOCALHOST = "127.0.0.1"
log = logging.getLogger("mockbroker")


@dataclass(slots=True, eq=False)
class ConnectionQuotas:
    """The connections of one broker. ``refused`` counts those refused since the last accepted one."""

    cluster: Cluster
    broker_id: int
    total: int = 0
    refused: int = 0
    _by_address: dict[str, int] = field(default_factory=dict)
    _by_listener: dict[str, int] = field(default_factory=dict)

    def has_room(self, listener: str) -> bool:
        """True if a listener may accept another connection before one ends."""
        if self._by_listener.get(listener, 0) >= self._limit(IN_ALL, listener):
            return False
        return self.is_protected(listener) or self.total < self._limit(IN_ALL)

    def is_protected(self, listener: str) -> bool:
        """True if this is the inter-broker listener, and another one exists."""
        listeners = self.cluster.brokers[self.broker_id].listeners
        if len(listeners) < 2:
            return False
        settings = self.cluster.settings
        return inter_broker_listener(settings, settings.given_names) == listener.upper()

    @property
    def excess(self) -> int:
        """The number of connections over the limit: it was lowered, or a protected listener accepted more."""
        return max(0, self.total - int(self._limit(IN_ALL)))

    def log_wait(self, listener: str, address: str) -> None:
        """Log that a connection waits, if none did before."""
        most, most_here = self._limit(IN_ALL), self._limit(IN_ALL, listener)
        is_here = self._by_listener.get(listener, 0) >= most_here and most_here != most
        log.warning(
            "broker %d has connections wait, the first is of %s: %s is %d",
            self.broker_id,
            address,
            own_name(listener, IN_ALL) if is_here else IN_ALL,
            most_here if is_here else most,
        )

    def admit(self, listener: str, address: str) -> bool:
        """Count a new connection from an address; True if it may stay. Only the first of several refusals is logged."""
        count = self._by_address.get(address, 0)
        reason = self._reason(address, count)
        if reason is None:
            self.total += 1
            self.refused = 0
            self._by_address[address] = count + 1
            self._by_listener[listener] = self._by_listener.get(listener, 0) + 1
            return True
        if not self.refused:
            log.warning("broker %d refuses connections of %s: %s", self.broker_id, address, reason)
        self.refused += 1
        return False

    def left(self, listener: str, address: str) -> None:
        """Count the end of an accepted connection."""
        self.total -= 1
        self._by_listener[listener] -= 1
        count = self._by_address.get(address, 0) - 1
        if count > 0:
            self._by_address[address] = count
        else:
            self._by_address.pop(address, None)

    def _reason(self, address: str, count: int) -> str | None:
        most = self._limit(PER_ADDRESS)
        overrides = self._limit(OVERRIDES)
        if overrides:
            limits = limits_by_address(overrides)
            most = next((limits[one] for one in spellings(address) if one in limits), most)
        return f"{PER_ADDRESS} is {most}" if count >= most else None

    def _limit(self, name: str, listener: str | None = None) -> Any:
        """The effective limit; loads Kafka's definitions only if a setting needs them."""
        cluster = self.cluster
        given = cluster.settings.given_names
        if cluster.image.configs or (listener is not None and own_name(listener, name) in given):
            configs = cluster.configs
            return (
                configs.broker(self.broker_id, name)
                if listener is None
                else configs.listener(self.broker_id, listener, name)
            )
        return cluster.settings[name] if name in DEFAULTS or name in given else ""


def spellings(address: str) -> tuple[str, ...]:
    """The spellings of an address that settings may use.

    >>> spellings("::1")
    ('::1', '0000:0000:0000:0000:0000:0000:0000:0001', '0:0:0:0:0:0:0:1')
    >>> spellings("127.0.0.1")
    ('127.0.0.1', 'localhost')
    """
    try:
        found = ip_address(address)
    except ValueError:
        return (address,)
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if isinstance(found, IPv6Address):
        whole = found.exploded
        return str(found), whole, ":".join(f"{int(part, 16):x}" for part in whole.split(":"))
    return (str(found), "localhost") if str(found) == LOCALHOST else (str(found),)


def limits_by_address(text: str) -> dict[str, int]:
    """The limits by address; malformed pairs are skipped.

    >>> limits_by_address("10.0.0.1:5, ::1:7,host")
    {'10.0.0.1': 5, '::1': 7}
    """
    found = {}
    for pair in text.split(","):
        address, _, limit = pair.strip().rpartition(":")
        if address and limit.isdecimal() and len(limit) < 11:
            found[address] = int(limit)
    return found
