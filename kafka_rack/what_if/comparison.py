"""The ledger before and after, side by side: bytes and money by kind, load by broker, rebalances by group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from kafka_rack.locality.amounts import US, Pace, plain
from kafka_rack.locality.completeness import Completeness
from kafka_rack.locality.evidence import FETCHER
from kafka_rack.locality.prices import NO_FEES, NOTHING, Prices
from kafka_rack.locality.reasons import CONSUME, PRODUCE, REPLICATION
from kafka_rack.locality.summary import summary_of
from kafka_rack.locality.tables import Amounts, add_amounts
from kafka_rack.locality.traffic import TrafficKey, TrafficRow, prices_in_month, traffic_row
from kafka_rack.what_if.change import WhatIfChange
from kafka_rack.what_if.flows import ReplayedTraffic, as_it_was, as_it_would_be
from kafka_rack.what_if.groups import GroupHistory
from kafka_rack.what_if.workload import Workload

CATEGORIES = (PRODUCE, CONSUME, REPLICATION)
LOCAL, CROSS, UNKNOWN = "local", "cross", "unknown"
TRUSTED_SHARE = 0.1
"""Of a kind's bytes: if the model of the capture as it is puts more of them elsewhere, its prediction is refused."""
OBJECT_BYTES, OBJECT_US = 8 << 20, US // 4
"""The size, and the interval, in which a broker writes the records of diskless topics to the object store: the defaults
of Inkless, produce.buffer.max.bytes and produce.commit.interval.ms."""


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
    """The traffic of a broker: bytes in and out, those of followers on both sides, and partitions led."""

    bytes_in: int = 0
    bytes_out: int = 0
    leaders: int = 0


BrokerKey = tuple[int, int]
"""The number of a cluster, and a broker's id there."""


class StoreRequests(NamedTuple):
    """Objects of diskless topics that brokers write, how often they are read, and the fees."""

    puts: int = 0
    gets: int = 0
    cost: Decimal = NOTHING


@dataclass(slots=True)
class ComparedTraffic:
    """The sums of one side: the ledger's rows, brokers, groups, requests to the object store, and skews."""

    rows: list[TrafficRow] = field(default_factory=list)
    brokers: dict[BrokerKey, BrokerTraffic] = field(default_factory=dict)
    groups: dict[str, GroupHistory] = field(default_factory=dict)
    store: StoreRequests = field(default_factory=StoreRequests)
    skews: dict[str, float] = field(default_factory=dict)

    @property
    def bills(self) -> dict[str, Bill]:
        return {category: self.bill([category]) for category in CATEGORIES}

    def bill(self, categories: Iterable[str]) -> Bill:
        """All of some kinds together."""
        found, wanted = Bill(), frozenset(categories)
        for row in self.rows:
            if row["category"] in wanted:
                found.add(row)
        return found

    @classmethod
    def of(cls, clusters: Sequence[ReplayedTraffic], prices: Prices, pace: Pace) -> ComparedTraffic:
        """Add up clusters."""
        found, flows, puts, gets = cls(), dict[TrafficKey, Amounts](), 0, 0
        for number, cluster in enumerate(clusters):
            for key, amounts in cluster.flows.items():
                flows[key] = add_amounts(flows.get(key), tuple(amounts))
            found.add_load(number, cluster)
            found.groups |= cluster.groups
            found.skews |= cluster.skews
            objects, racks = objects_of(cluster, pace.covered_us)
            puts, gets = puts + objects, gets + objects * racks
        monthly = prices_in_month(flows, prices, pace)
        found.rows = [traffic_row(key, amounts, monthly) for key, amounts in flows.items()]
        found.store = StoreRequests(puts, gets, prices.store.cost(Decimal(puts), Decimal(gets)))
        return found

    def add_load(self, number: int, cluster: ReplayedTraffic) -> None:
        """Add the traffic through a cluster's brokers."""

        def load(broker: int) -> BrokerTraffic:
            return self.brokers.setdefault((number, broker), BrokerTraffic())

        for broker, leaders in cluster.leaders.items():
            load(broker).leaders += leaders
        for key, amounts in cluster.flows.items():
            if key.broker is not None:
                load(key.broker).bytes_in += amounts[1]
                load(key.broker).bytes_out += amounts[2]
            if key.category == REPLICATION and (follower := FETCHER.fullmatch(key.client_id or "")) is not None:
                load(int(follower[1] or follower[2])).bytes_in += amounts[2]

    def as_json(self, pace: Pace, currency: str) -> dict[str, Any]:
        return {
            "summary": summary_of(self.rows, pace, currency),
            "categories": {name: bill.as_json(pace) for name, bill in self.bills.items()},
            "object_storage": {**self.store._asdict(), "cost": plain(self.store.cost)},
            "brokers": [
                {"cluster": cluster, "broker": broker, **asdict(load)}
                for (cluster, broker), load in sorted(self.brokers.items())
            ],
            "topics": [{"topic": name, "skew": skew} for name, skew in self.skews.items()],
            "groups": [
                {"group": name, **{key: value for key, value in asdict(history).items() if key != "readers"}}
                for name, history in sorted(self.groups.items())
            ],
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """``measured`` is the capture, ``model`` the model's result without a change, ``after`` its result with the change.

    ``refused`` are the kinds for which the model is too far from the capture: there is no prediction for them.
    """

    change: WhatIfChange
    measured: ComparedTraffic
    model: ComparedTraffic
    after: ComparedTraffic
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
        """The kinds with a prediction."""
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
    """Compare clusters before and after a change."""
    prices, known = prices or Prices(), completeness or Completeness()
    was, as_modelled = [as_it_was(one) for one in workloads], [as_it_would_be(one, WhatIfChange()) for one in workloads]
    would_be = [as_it_would_be(one, change) for one in workloads]
    pace = Pace(known.covered_us)
    measured, model, after = (ComparedTraffic.of(side, prices, pace) for side in (was, as_modelled, would_be))
    brokers = {(number, id_): rack for number, one in enumerate(workloads) for id_, rack in one.brokers.items()}
    said = [note for one in workloads for note in one.notes] + [note for one in would_be for note in one.notes]
    notes = [*dict.fromkeys(said)]
    if after.store.puts > measured.store.puts:
        cost = f"{pace.money(after.store.cost, prices.currency)} {pace.heading}"
        notes.append(
            f"object storage: about {after.store.puts:,} writes and {after.store.gets:,} reads, "
            f"{'which these prices have no fees for' if prices.store == NO_FEES else cost}; "
            "what is stored there is not in the bill"
        )
    bills, of_model, refused = measured.bills, model.bills, set()
    if bills[REPLICATION].total and not all(one.replicated for one in workloads):
        notes.append("replication is not in the capture: it is estimated from what was produced")
    for category in CATEGORIES:
        here, there = bills[category].bytes[CROSS], of_model[category].bytes[CROSS]
        if abs(here - there) > TRUSTED_SHARE * max(bills[category].total, 1):
            refused.add(category)
            notes.append(
                f"{category} is not predicted: {here:,} bytes crossed racks, but the model of the capture as it is has "
                f"{there:,}" + (WHY_READS if category == CONSUME else "")
            )
    return Comparison(change, measured, model, after, brokers, tuple(notes), prices, known, frozenset(refused))


def objects_of(cluster: ReplayedTraffic, covered_us: int) -> tuple[int, int]:
    """The objects that brokers write for diskless topics, and the number of racks that read them: each reads all once.

    A broker writes an object at an interval, or as soon as it is full; never more objects than it got requests.
    """
    produced: dict[int | None, tuple[int, int]] = {}
    racks = set()
    for key, amounts in cluster.flows.items():
        if key.topic in cluster.diskless and key.category == PRODUCE:
            calls, size = produced.get(key.broker, (0, 0))
            produced[key.broker] = calls + amounts[0], size + amounts[1]
        elif key.topic in cluster.diskless and key.category == CONSUME:
            racks.add(key.broker_rack)
    return sum(
        max(size // OBJECT_BYTES, min(calls, covered_us // OBJECT_US)) for calls, size in produced.values()
    ), len(racks)


WHY_READS = "; if its brokers have a replica selector, say so with --captured-with replica.selector.class=rack-aware"
