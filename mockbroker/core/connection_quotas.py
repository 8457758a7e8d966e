"""Limits of the connections that a broker accepts: in all, per listener and per address.

Connections over ``max.connections``, of the broker or of one listener, wait in the order of their arrival; one over the
limit of its address is closed. The inter-broker listener has only its own limit, if another listener exists.
Source: ConnectionQuotas, Apache Kafka 4.4. Its limits of connections per second (KIP-612) are left out.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from mockbroker.state.cluster import Cluster
from mockbroker.state.configs.effective import own_name
from mockbroker.state.settings import inter_broker_listener

IN_ALL, PER_ADDRESS, OVERRIDES = "max.connections", "max.connections.per.ip", "max.connections.per.ip.overrides"
log = logging.getLogger("mockbroker")


@dataclass(slots=True, eq=False)
class ConnectionQuotas:
    """The connections of one broker. ``refused`` counts those refused since the last accepted one."""

    cluster: Cluster
    broker_id: int
    refused: int = 0
    _by_address: Counter[str] = field(default_factory=Counter)
    _by_listener: Counter[str] = field(default_factory=Counter)

    def has_room(self, listener: str) -> bool:
        """True if a listener may accept another connection before one ends."""
        if self._by_listener[listener] >= self._limit(IN_ALL, listener):
            return False
        return self.is_protected(listener) or self._by_listener.total() < self._limit(IN_ALL)

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
        return max(0, self._by_listener.total() - int(self._limit(IN_ALL)))

    def log_wait(self, listener: str, address: str) -> None:
        """Log that a connection waits, if none did before."""
        name, most, most_here = IN_ALL, self._limit(IN_ALL), self._limit(IN_ALL, listener)
        if self._by_listener[listener] >= most_here != most:
            name, most = own_name(listener, IN_ALL), most_here
        text = "broker %d has connections wait, the first is of %s: %s is %d"
        log.warning(text, self.broker_id, address, name, most)

    def admit(self, listener: str, address: str) -> bool:
        """Count a new connection from an address; True if it may stay. Only the first of several refusals is logged."""
        most = limits_by_address(self._limit(OVERRIDES)).get(spelled(address), self._limit(PER_ADDRESS))
        if self._by_address[address] >= most:
            if not self.refused:
                text = "broker %d refuses connections of %s: %s is %d"
                log.warning(text, self.broker_id, address, PER_ADDRESS, most)
            self.refused += 1
            return False
        self.refused = 0
        self._by_address[address] += 1
        self._by_listener[listener] += 1
        return True

    def left(self, listener: str, address: str) -> None:
        """Count the end of an accepted connection."""
        self._by_listener[listener] -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def _limit(self, name: str, listener: str | None = None) -> Any:
        """The effective limit; loads Kafka's definitions only if a setting needs them."""
        cluster = self.cluster
        is_set = listener is not None and own_name(listener, name) in cluster.settings.given_names
        if not (cluster.image.configs or is_set):
            return cluster.settings.get(name, "")
        if listener is None:
            return cluster.configs.broker(self.broker_id, name)
        return cluster.configs.listener(self.broker_id, listener, name)


def spelled(address: str) -> str:
    """An address in its shortest form, by which addresses are compared.

    >>> spelled("0:0:0:0:0:0:0:1"), spelled("::ffff:10.0.0.1"), spelled("localhost")
    ('::1', '10.0.0.1', '127.0.0.1')
    """
    try:
        found = ip_address("127.0.0.1" if address == "localhost" else address)
    except ValueError:
        return address
    return str(getattr(found, "ipv4_mapped", None) or found)


def limits_by_address(text: str) -> dict[str, int]:
    """The limits by address; malformed pairs are skipped.

    >>> limits_by_address("10.0.0.1:5, ::1:7,host")
    {'10.0.0.1': 5, '::1': 7}
    """
    found = {}
    for pair in text.split(","):
        address, _, limit = pair.strip().rpartition(":")
        if address and limit.isdecimal() and len(limit) < 11:
            found[spelled(address)] = int(limit)
    return found
