"""The ledger before and after, side by side: bytes and money by kind, load by broker, rebalances by group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from kafka_rack.locality.amounts import Pace, plain
from kafka_rack.locality.completeness import Completeness
from kafka_rack.locality.evidence import FETCHER
from kafka_rack.locality.prices import NOTHING, Prices
from kafka_rack.locality.reasons import CONSUME, PRODUCE, REPLICATION
from kafka_rack.locality.summary import summary_of
from kafka_rack.locality.traffic import TrafficRow, traffic_row
from kafka_rack.what_if.change import WhatIfChange
from kafka_rack.what_if.flows import ReplayedTraffic, as_it_was, as_it_would_be
from kafka_rack.what_if.groups import GroupHistory
from kafka_rack.what_if.workload import Workload

CATEGORIES = (PRODUCE, CONSUME, REPLICATION)
LOCAL, CROSS, UNKNOWN = "local", "cross", "unknown"
TRUSTED_SHARE = 0.1
"""Of a kind's bytes: if the model of the capture as it is puts more of them elsewhere, its prediction is refused."""


@dataclass(slots=True)
class Bill:
    """Bytes by where they went, and their money: of those that crossed, and at most of unknown ones."""

    bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys((LOCAL, CROSS, UNKNOWN), 0))
    cost: Decimal = NOTHING
    possible_cost: Decimal = NOTHING

    @property
    def total(self) -> int:
        return sum(self.bytes.values())

    def add(self, row: TrafficRow) -> None:
        self.bytes[row["locality"]] += row["bytes"]
        self.cost += row["cost"]
        self.possible_cost += row["possible_cost"]

    def as_json(self, pace: Pace) -> dict[str, Any]:
        month = pace.month(self.cost)
        return {
            **{f"{name}_bytes": size for name, size in self.bytes.items()},
            "cost": plain(self.cost),
            "possible_cost": plain(self.possible_cost),
            "cost_a_month": None if month is None else plain(month),
        }


@dataclass(slots=True)
class BrokerTraffic:
    """What goes through a broker: bytes in and out, those of followers on both sides, and partitions led."""

    bytes_in: int = 0
    bytes_out: int = 0
    leaders: int = 0


BrokerKey = tuple[int, int]
"""The number of a cluster, and a broker's id there."""


@dataclass(slots=True)
class TrafficTotals:
    """One side added up: the ledger's rows, and what they come to."""

    rows: list[TrafficRow] = field(default_factory=list)
    brokers: dict[BrokerKey, BrokerTraffic] = field(default_factory=dict)
    groups: dict[str, GroupHistory] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    replication_is_captured: bool = True

    @property
    def bills(self) -> dict[str, Bill]:
        found = {category: Bill() for category in CATEGORIES}
        for row in self.rows:
            found[row["category"]].add(row)
        return found

    def bill(self, categories: Iterable[str]) -> Bill:
        """All of some kinds together."""
        found, wanted = Bill(), frozenset(categories)
        for row in self.rows:
            if row["category"] in wanted:
                found.add(row)
        return found

    def add(self, number: int, workload: Workload, course: ReplayedTraffic, prices: Prices) -> None:
        """Add a cluster's."""
        rows = [traffic_row(key, tuple(amounts), prices) for key, amounts in course.flows.items()]
        self.rows += rows
        for broker, leaders in course.leaders.items():
            self.brokers.setdefault((number, broker), BrokerTraffic()).leaders += leaders
        for key, amounts in course.flows.items():
            if key.broker is not None:
                load = self.brokers.setdefault((number, key.broker), BrokerTraffic())
                load.bytes_in += amounts[1]
                load.bytes_out += amounts[2]
            follower = FETCHER.fullmatch(key.client_id or "") if key.category == REPLICATION else None
            if follower is not None:
                copied = self.brokers.setdefault((number, int(follower[1] or follower[2])), BrokerTraffic())
                copied.bytes_in += amounts[2]
        self.groups |= course.groups
        self.notes += [note for note in course.notes if note not in self.notes]
        self.replication_is_captured &= course.replication_is_captured

    def as_json(self, pace: Pace, currency: str) -> dict[str, Any]:
        return {
            "summary": summary_of(self.rows, pace, currency),
            "categories": {name: bill.as_json(pace) for name, bill in self.bills.items()},
            "brokers": [
                {
                    "cluster": cluster,
                    "broker": broker,
                    "bytes_in": load.bytes_in,
                    "bytes_out": load.bytes_out,
                    "leaders": load.leaders,
                }
                for (cluster, broker), load in sorted(self.brokers.items())
            ],
            "groups": [
                {
                    "group": name,
                    "protocol": history.protocol,
                    "assignor": history.assignor,
                    "members": history.members,
                    "rebalances": history.rebalances,
                    "partitions_stopped": history.stopped,
                    "partitions_moved": history.moved,
                    "note": history.note,
                }
                for name, history in sorted(self.groups.items())
            ],
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """``measured`` is what was captured, ``model`` what the model makes of it unchanged, ``after`` the change.

    ``refused`` are the kinds of which the model is not near what was measured: nothing is predicted of them.
    """

    change: WhatIfChange
    measured: TrafficTotals
    model: TrafficTotals
    after: TrafficTotals
    brokers: dict[BrokerKey, str | None]
    notes: tuple[str, ...]
    prices: Prices
    completeness: Completeness
    refused: frozenset[str] = frozenset()

    @property
    def pace(self) -> Pace:
        return Pace(self.completeness.covered_us)

    @property
    def predicted(self) -> list[str]:
        """The kinds of which something is predicted."""
        return [category for category in CATEGORIES if category not in self.refused]

    def as_json(self) -> dict[str, Any]:
        currency = self.prices.currency
        return {
            "schema": 1,
            "change": self.change.as_json(),
            "completeness": self.completeness.as_json(),
            "prices": self.prices.as_json(),
            "brokers": [
                {"cluster": cluster, "broker": broker, "rack": rack}
                for (cluster, broker), rack in sorted(self.brokers.items())
            ],
            "before": self.measured.as_json(self.pace, currency),
            "model": self.model.as_json(self.pace, currency),
            "after": self.after.as_json(self.pace, currency),
            "refused": sorted(self.refused),
            "notes": list(self.notes),
        }


def compare(
    workloads: Sequence[Workload],
    change: WhatIfChange,
    prices: Prices | None = None,
    completeness: Completeness | None = None,
) -> Comparison:
    """What was, and what would be, of some clusters."""
    prices = prices or Prices()
    measured, model, after = TrafficTotals(), TrafficTotals(), TrafficTotals()
    brokers: dict[BrokerKey, str | None] = {}
    for number, workload in enumerate(workloads):
        measured.add(number, workload, as_it_was(workload), prices)
        model.add(number, workload, as_it_would_be(workload, WhatIfChange()), prices)
        after.add(number, workload, as_it_would_be(workload, change), prices)
        brokers |= {(number, broker): rack for broker, rack in workload.brokers.items()}
    notes = [*after.notes]
    bills, of_model, refused = measured.bills, model.bills, set()
    if not measured.replication_is_captured and bills[REPLICATION].total:
        notes.append("replication is not in the capture: it is estimated from what was produced")
    for category in CATEGORIES:
        here, there = bills[category].bytes[CROSS], of_model[category].bytes[CROSS]
        if abs(here - there) > TRUSTED_SHARE * max(bills[category].total, 1):
            refused.add(category)
            notes.append(
                f"{category} is not predicted: {here:,} bytes crossed racks, but the model of the capture as it is has "
                f"{there:,}" + (WHY_READS if category == CONSUME else "")
            )
    known = completeness or Completeness()
    return Comparison(change, measured, model, after, brokers, tuple(notes), prices, known, frozenset(refused))


WHY_READS = "; if its brokers have a replica selector, say so with --captured-with replica.selector.class=rack-aware"
