"""How many connections a broker takes, in all, from one address and in a second.

What is over ``max.connections`` or ``max.connection.creation.rate`` waits, in the order in which it came; one too many
from its address is closed. Source: ConnectionQuotas, Apache Kafka 4.4.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from mockbroker.state.cluster import Cluster
from mockbroker.state.quotas.usage import Usage
from mockbroker.state.settings import DEFAULTS

IN_ALL, PER_ADDRESS, PER_SECOND = "max.connections", "max.connections.per.ip", "max.connection.creation.rate"
OVERRIDES = "max.connections.per.ip.overrides"
ANY = 2147483647
MAX_WAIT_MS = 1000
"""``quota.window.size.seconds``, by default."""
log = logging.getLogger("mockbroker")


@dataclass(slots=True, eq=False)
class ConnectionQuotas:
    """The connections of one broker. ``refused`` counts those that were not taken since the last one that was."""

    cluster: Cluster
    broker_id: int
    total: int = 0
    refused: int = 0
    _by_address: dict[str, int] = field(default_factory=dict)
    _created: Usage = field(default_factory=Usage)

    @property
    def has_room(self) -> bool:
        """Whether one more connection may be taken before another one ends."""
        return bool(self.total < self._limit(IN_ALL))

    def wait_ms(self, now_ms: int) -> int:
        """Count a connection that comes; gives how long it has to wait for the rate to be kept, a second at most."""
        rate = self._limit(PER_SECOND)
        if rate >= ANY:
            return 0
        self._created.record(1, now_ms)
        return min(MAX_WAIT_MS, self._created.throttle_ms(rate, now_ms)) if rate > 0 else MAX_WAIT_MS

    def tell_of_wait(self, address: str) -> None:
        """Log that a connection waits, where none did before."""
        name = PER_SECOND if self.has_room else IN_ALL
        log.warning(
            "broker %d has connections wait, the first is of %s: %s is %d",
            self.broker_id,
            address,
            name,
            self._limit(name),
        )

    def admit(self, address: str) -> bool:
        """Count a new connection from an address; whether it may stay. Of many in a row that may not, one is logged."""
        count = self._by_address.get(address, 0)
        reason = self._reason(address, count)
        if reason is None:
            self.total += 1
            self.refused = 0
            self._by_address[address] = count + 1
            return True
        if not self.refused:
            log.warning("broker %d refuses connections of %s: %s", self.broker_id, address, reason)
        self.refused += 1
        return False

    def left(self, address: str) -> None:
        """A connection that was taken has ended."""
        self.total -= 1
        count = self._by_address.get(address, 0) - 1
        if count > 0:
            self._by_address[address] = count
        else:
            self._by_address.pop(address, None)

    def _reason(self, address: str, count: int) -> str | None:
        most = self._limit(PER_ADDRESS)
        overrides = self._limit(OVERRIDES)
        if overrides:
            most = limits_by_address(overrides).get(address, most)
        return f"{PER_ADDRESS} is {most}" if count >= most else None

    def _limit(self, name: str) -> Any:
        """What is in force now; Kafka's definitions are loaded only where anything was set that takes them."""
        cluster = self.cluster
        if cluster.image.configs:
            return cluster.configs.broker(self.broker_id, name)
        return cluster.settings[name] if name in DEFAULTS or name in cluster.settings.given_names else ""


def limits_by_address(text: str) -> dict[str, int]:
    """The addresses with a limit of their own; what is no such pair is passed over.

    >>> limits_by_address("10.0.0.1:5, ::1:7,host")
    {'10.0.0.1': 5, '::1': 7}
    """
    found = {}
    for pair in text.split(","):
        address, _, limit = pair.strip().rpartition(":")
        if address and limit.isdecimal():
            found[address] = int(limit)
    return found
