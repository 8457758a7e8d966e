"""How many connections a broker takes, in all and from one address. Source: ConnectionQuotas, Apache Kafka 4.4.

Where Kafka lets a connection over ``max.connections`` wait in the queue until another one ends, it is closed here.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from mockbroker.state.cluster import Cluster
from mockbroker.state.settings import DEFAULTS

IN_ALL, PER_ADDRESS = "max.connections", "max.connections.per.ip"
OVERRIDES = "max.connections.per.ip.overrides"
log = logging.getLogger("mockbroker")


@dataclass(slots=True, eq=False)
class ConnectionQuotas:
    """The connections of one broker. ``refused`` counts those that were not taken since the last one that was."""

    cluster: Cluster
    broker_id: int
    total: int = 0
    refused: int = 0
    _by_address: dict[str, int] = field(default_factory=dict)

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
        most = self._limit(IN_ALL)
        if self.total >= most:
            return f"{IN_ALL} is {most}"
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
