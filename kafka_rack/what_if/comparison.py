"""Two courses side by side: bytes and money by category and rack pair, load by broker, rebalances by group."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from kafka_rack.locality.amounts import in_a_month
from kafka_rack.locality.prices import NOTHING, Prices
from kafka_rack.what_if.change import WhatIfChange
from kafka_rack.what_if.flows import (
    CONSUME,
    PRODUCE,
    REPLICATION,
    ReplayedFlow,
    ReplayedTraffic,
    as_it_was,
    as_it_would_be,
)
from kafka_rack.what_if.groups import GroupHistory
from kafka_rack.what_if.workload import Workload

CATEGORIES = (PRODUCE, CONSUME, REPLICATION)
LOCAL, CROSS, UNKNOWN = "local", "cross", "unknown"
NOTED_SHARE = 0.1


@dataclass(slots=True)
class Bill:
    """Bytes by where they went, and their money: of those that crossed, and at most of those nobody can place."""

    bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys((LOCAL, CROSS, UNKNOWN), 0))
    cost: Decimal = NOTHING
    possible_cost: Decimal = NOTHING

    @property
    def total(self) -> int:
        return sum(self.bytes.values())

    def as_json(self, span_us: int) -> dict[str, Any]:
        month = in_a_month(self.cost, span_us)
        return {
            **{f"{name}_bytes": size for name, size in self.bytes.items()},
            "cost": str(self.cost),
            "possible_cost": str(self.possible_cost),
            "cost_a_month": None if month is None else str(month),
        }


@dataclass(slots=True)
class BrokerTraffic:
    """What goes through a broker: bytes in and out, those of followers on both sides, and partitions led."""

    bytes_in: int = 0
    bytes_out: int = 0
    leaders: int = 0


@dataclass(slots=True)
class TrafficTotals:
    """A course added up. ``pairs``: (rack of the sender, rack of the receiver) -> bytes; None is not known."""

    bills: dict[str, Bill]
    pairs: dict[tuple[str | None, str | None], int]
    brokers: dict[int, BrokerTraffic]
    groups: dict[str, GroupHistory]
    notes: list[str] = field(default_factory=list)

    @property
    def all(self) -> Bill:
        total = Bill()
        for bill in self.bills.values():
            for name, size in bill.bytes.items():
                total.bytes[name] += size
            total.cost += bill.cost
            total.possible_cost += bill.possible_cost
        return total

    def as_json(self, span_us: int) -> dict[str, Any]:
        return {
            "all": self.all.as_json(span_us),
            "categories": {name: bill.as_json(span_us) for name, bill in self.bills.items()},
            "rack_pairs": [
                {"from": sender, "to": receiver, "bytes": size}
                for (sender, receiver), size in sorted(self.pairs.items(), key=lambda one: (-one[1], str(one[0])))
            ],
            "brokers": [
                {"broker": broker, "bytes_in": load.bytes_in, "bytes_out": load.bytes_out, "leaders": load.leaders}
                for broker, load in sorted(self.brokers.items())
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
            "notes": self.notes,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """``measured`` is what was captured, ``model`` what the model makes of it unchanged, ``after`` the change."""

    change: WhatIfChange
    span_us: int
    measured: TrafficTotals
    model: TrafficTotals
    after: TrafficTotals
    brokers: dict[int, str | None]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "change": self.change.as_json(),
            "span_us": self.span_us,
            "brokers": [{"broker": broker, "rack": rack} for broker, rack in sorted(self.brokers.items())],
            "before": self.measured.as_json(self.span_us),
            "model": self.model.as_json(self.span_us),
            "after": self.after.as_json(self.span_us),
            "notes": list(self.notes),
        }


def compare(workload: Workload, change: WhatIfChange, prices: Prices | None = None) -> Comparison:
    """What was, and what would be."""
    prices = prices or Prices()
    was, unchanged, would_be = (
        as_it_was(workload),
        as_it_would_be(workload, WhatIfChange()),
        as_it_would_be(workload, change),
    )
    measured, model, after = (added_up(course, prices) for course in (was, unchanged, would_be))
    notes = [*would_be.notes]
    if not was.replication_is_captured and measured.bills[REPLICATION].total:
        notes.append("the capture has no followers' fetches: replication is taken from what was produced")
    for category in CATEGORIES:
        here, there = measured.bills[category].bytes[CROSS], model.bills[category].bytes[CROSS]
        if abs(here - there) > NOTED_SHARE * max(measured.bills[category].total, 1):
            notes.append(
                f"{category}: {here:,} bytes crossed racks, but the model of the capture as it is has {there:,}; "
                "compare its column with the last one"
            )
    return Comparison(
        change, max(0, workload.last - workload.first), measured, model, after, dict(workload.brokers), tuple(notes)
    )


def added_up(course: ReplayedTraffic, prices: Prices) -> TrafficTotals:
    """A course's sums."""
    bills = {category: Bill() for category in CATEGORIES}
    brokers = {broker: BrokerTraffic(leaders=leaders) for broker, leaders in course.leaders.items()}
    pairs: dict[tuple[str | None, str | None], int] = {}
    by_racks: dict[tuple[str, str | None, str | None], list[int]] = {}
    for flow in course.flows:
        sizes = by_racks.setdefault((flow.category, flow.client_rack, flow.broker_rack), [0, 0])
        sizes[0] += flow.amount.sent
        sizes[1] += flow.amount.received
        loaded(brokers, flow)
    for (category, client_rack, broker_rack), (sent, received) in by_racks.items():
        billed(bills[category], prices, category, client_rack, broker_rack, sent, received)
        for pair, size in (((client_rack, broker_rack), sent), ((broker_rack, client_rack), received)):
            if size:
                pairs[pair] = pairs.get(pair, 0) + size
    return TrafficTotals(bills, pairs, brokers, course.groups, course.notes)


def loaded(brokers: dict[int, BrokerTraffic], flow: ReplayedFlow) -> None:
    if flow.broker is not None:
        load = brokers.setdefault(flow.broker, BrokerTraffic())
        load.bytes_in += flow.amount.sent
        load.bytes_out += flow.amount.received
    if flow.follower is not None:
        load = brokers.setdefault(flow.follower, BrokerTraffic())
        load.bytes_in += flow.amount.received
        load.bytes_out += flow.amount.sent


def billed(
    bill: Bill,
    prices: Prices,
    category: str,
    client_rack: str | None,
    broker_rack: str | None,
    sent: int,
    received: int,
) -> None:
    is_replication = category == REPLICATION
    if client_rack is None or broker_rack is None:
        bill.bytes[UNKNOWN] += sent + received
        if not (is_replication and prices.free_replication):
            bill.possible_cost += prices.at_most(sent + received)
        return
    bill.bytes[LOCAL if client_rack == broker_rack else CROSS] += sent + received
    bill.cost += prices.cost(client_rack, broker_rack, sent, replication=is_replication)
    bill.cost += prices.cost(broker_rack, client_rack, received, replication=is_replication)
