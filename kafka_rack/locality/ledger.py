"""The ledger: sums of flows with their verdicts, and their completeness.

Ledgers of parts, captures, brokers or clusters can be merged in any order. Every view of one shows its completeness.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_rack.locality.completeness import Completeness
from kafka_rack.locality.reasons import CONSUME, PRODUCE, REPLICATION
from kafka_rack.locality.tables import SUMS, Amounts, add_amounts
from kafka_rack.locality.traffic import TrafficKey

RECORD_BYTES = SUMS.index("record_bytes")


@dataclass(slots=True)
class Ledger:
    """Flows by ``TrafficKey``, and their completeness."""

    flows: dict[TrafficKey, Amounts] = field(default_factory=dict)
    completeness: Completeness = field(default_factory=Completeness)

    def add(self, flows: Mapping[TrafficKey, Amounts], factors: Mapping[str, int] | None = None) -> None:
        """Add flows, and update the completeness.

        Args:
            factors: topics' replication factors, if known.
        """
        factors = factors or {}
        known = self.completeness
        for key, amounts in flows.items():
            self.flows[key] = add_amounts(self.flows.get(key), amounts)
            if key.category == REPLICATION:
                known.with_replication.add(key.capture)
            elif key.category in (PRODUCE, CONSUME) and key.client_rack is None:
                known.unknown_clients.add((key.client_id, key.client_host))
            if key.category == PRODUCE and (copies := factors.get(key.topic or "", 1) - 1) > 0:
                known.copied_bytes[key.capture] += copies * amounts[RECORD_BYTES]

    def merge(self, other: Ledger) -> Ledger:
        """Add another ledger's flows; returns this ledger."""
        for key, amounts in other.flows.items():
            self.flows[key] = add_amounts(self.flows.get(key), amounts)
        self.completeness.merge(other.completeness)
        return self
