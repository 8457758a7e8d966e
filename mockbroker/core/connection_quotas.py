"""Limits of the connections that a broker accepts: in all, per listener, per address and per second.

Connections over ``max.connections`` or ``max.connection.creation.rate``, of the broker or of one listener, wait in the
order of their arrival at the listener; one over the limit of its address is closed, at once or, if the address has a
``connection_creation_rate`` (KIP-612), after the delay for that rate. The inter-broker listener has only its own
limits, if another listener exists.
Source: ConnectionQuotas, Apache Kafka 4.4.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import Any

from mockbroker.state.cluster import Cluster
from mockbroker.state.configs.effective import own_name
from mockbroker.state.quotas.client_quotas import IP
from mockbroker.state.quotas.usage import Usage
from mockbroker.state.settings import DEFAULTS, inter_broker_listener

IN_ALL, PER_ADDRESS, PER_SECOND = "max.connections", "max.connections.per.ip", "max.connection.creation.rate"
OVERRIDES = "max.connections.per.ip.overrides"
RATE_OF_ADDRESS = "connection_creation_rate"
LOCALHOST = "127.0.0.1"
ANY = 2147483647
MAX_WAIT_MS = 1000
"""``quota.window.size.seconds``, by default."""
MAX_ADDRESSES = 10_000  # with their own rate; further ones reset the counts
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
    _created: Usage = field(default_factory=Usage)
    _created_at: dict[str, Usage] = field(default_factory=dict)
    _created_from: dict[str, Usage] = field(default_factory=dict)

    def begin_with(self, cluster: Cluster) -> None:
        """Apply the limits of a new cluster; open connections still count, past ones do not."""
        self.cluster = cluster
        self._created = Usage()
        self._created_at.clear()
        self._created_from.clear()

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

    def wait_ms(self, listener: str, now_ms: int) -> int:
        """Count a new connection; returns how long it must wait to respect the rates, at most a second."""
        wait_ms = 0
        if not self.is_protected(listener):
            wait_ms = wait_for_rate(self._created, self._limit(PER_SECOND), now_ms)
        created = self._created_at.setdefault(listener, Usage())
        return max(wait_ms, wait_for_rate(created, self._limit(PER_SECOND, listener), now_ms))

    def close_after_ms(self, listener: str, address: str, now_ms: int) -> int:
        """Count a connection of an address; returns the delay until it must be closed, 0 if it may stay.

        A connection that may not stay does not count for any rate.
        """
        rate = self._rate_of(address)
        if rate is None:
            return 0
        if address not in self._created_from and len(self._created_from) >= MAX_ADDRESSES:
            self._created_from.clear()
        created = self._created_from.setdefault(address, Usage())
        close_ms = wait_for_rate(created, rate, now_ms)
        if close_ms:
            for usage in (created, self._created, self._created_at.get(listener)):
                if usage is not None and usage.samples:
                    usage.record(-1, now_ms)
            self._tell_of_refusal(address, f"{RATE_OF_ADDRESS} is {rate:g}")
        return close_ms

    def tell_of_wait(self, listener: str, address: str) -> None:
        """Log that a connection waits, if none did before."""
        name = PER_SECOND if self.has_room(listener) else IN_ALL
        most, most_here = self._limit(name), self._limit(name, listener)
        if name == IN_ALL:
            is_here = self._by_listener.get(listener, 0) >= most_here
        else:
            is_here = most_here < most or self.is_protected(listener)
        log.warning(
            "broker %d has connections wait, the first is of %s: %s is %d",
            self.broker_id,
            address,
            own_name(listener, name) if is_here and most_here != most else name,
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
        self._tell_of_refusal(address, reason)
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

    def _tell_of_refusal(self, address: str, reason: str) -> None:
        if not self.refused:
            log.warning("broker %d refuses connections of %s: %s", self.broker_id, address, reason)
        self.refused += 1

    def _reason(self, address: str, count: int) -> str | None:
        most = self._limit(PER_ADDRESS)
        overrides = self._limit(OVERRIDES)
        if overrides:
            limits = limits_by_address(overrides)
            most = next((limits[one] for one in spellings(address) if one in limits), most)
        return f"{PER_ADDRESS} is {most}" if count >= most else None

    def _rate_of(self, address: str) -> float | None:
        quotas = self.cluster.image.client_quotas
        if not quotas:
            return None
        for name in (*spellings(address), None):
            rate = quotas.get(((IP, name),), {}).get(RATE_OF_ADDRESS)
            if rate is not None:
                return rate
        return None

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


def wait_for_rate(created: Usage, rate: float, now_ms: int) -> int:
    """Count a connection; returns the delay that respects the rate, at most a second."""
    if rate >= ANY:
        return 0
    created.record(1, now_ms)
    return min(MAX_WAIT_MS, created.throttle_ms(rate, now_ms)) if rate > 0 else MAX_WAIT_MS


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
