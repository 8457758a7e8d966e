"""Facts to verdicts: each row of sums gets its client's rack, local, cross or unknown, the reason and the money.

Runs on workers over Arrow batches, or anywhere over dicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from kafka_rack.locality.places import Place, place_of
from kafka_rack.locality.prices import NOTHING, Prices
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.locality.reasons import REPLICATION, Facts, Verdict, judge
from kafka_rack.selection import zone_in_client_id

RACK_LISTENER = "RACK_"
MONEY = pa.decimal128(38, 18)
MONEY_DDL = "decimal(38,18)"
KEYS: dict[str, tuple[str, pa.DataType, str]] = {
    "window_start": ("timestamp", pa.timestamp("us", tz="UTC"), "begin of the window"),
    "capture": ("string", pa.string(), "the capture: its file's name without .gz and .jsonl"),
    "category": ("string", pa.string(), "produce, consume, replication, or other: all else"),
    "api": ("string", pa.string(), "Kafka's name"),
    "client_id": ("string", pa.string(), "the request's client id"),
    "client_host": ("string", pa.string(), "the client's address without port"),
    "group_id": ("string", pa.string(), "the consumer's group, where it was in one only; else null"),
    "topic": ("string", pa.string(), "name; null where there is none, or only its id is known"),
    "client_rack": ("string", pa.string(), "where the client is, of replication the follower; null where not known"),
    "client_rack_from": (
        "string",
        pa.string(),
        "how it is known: request, replica, connection, membership, client_id, listener or racks_file",
    ),
    "told_rack": ("string", pa.string(), "the rack that the client itself named, and null where none"),
    "broker_rack": ("string", pa.string(), "where the broker is"),
    "locality": ("string", pa.string(), "local, cross or unknown"),
    "reason": ("string", pa.string(), "why it is not local: docs/locality.md has the list; null for local"),
    "detail": ("string", pa.string(), "the rack that was probably meant, or that the racks file has another"),
}
"""Column -> Spark's type, Arrow's, what it holds."""
COUNTS: dict[str, tuple[str, pa.DataType, str]] = {
    "calls": ("long", pa.int64(), "requests"),
    "request_bytes": ("long", pa.int64(), "from the client to the broker, length fields included"),
    "response_bytes": ("long", pa.int64(), "from the broker to the client"),
    "record_bytes": ("long", pa.int64(), "of them, the records fields"),
    "records": ("long", pa.int64(), "records, transactions' markers left out"),
    "redirects": ("long", pa.int64(), "partitions answered by the name of a nearer replica"),
    "bytes": ("long", pa.int64(), "request_bytes and response_bytes"),
    "saves_bytes": ("long", pa.int64(), "of bytes, what the reason's fix keeps in its rack for certain"),
    "at_most_bytes": ("long", pa.int64(), "what it keeps in at most: the same, and where something is not known"),
    "cost": (MONEY_DDL, MONEY, "what the bytes cost; 0 for unknown"),
    "possible_cost": (MONEY_DDL, MONEY, "what unknown bytes cost if all of them cross, at the highest price"),
    "saves_cost": (MONEY_DDL, MONEY, "cost of saves_bytes"),
    "at_most_cost": (MONEY_DDL, MONEY, "cost of at_most_bytes, unknown ones at the highest price"),
}
COLUMNS = {**KEYS, **COUNTS}
VERDICTS_DDL = ", ".join(f"`{name}` {found[0]}" for name, found in COLUMNS.items())
VERDICTS_SCHEMA = pa.schema([(name, found[1]) for name, found in COLUMNS.items()])
SAME = ("window_start", "capture", "category", "api", "client_id", "client_host", "group_id", "topic")
ADDED = ("calls", "request_bytes", "response_bytes", "record_bytes", "records", "redirects")


class Judge:
    """Verdicts by prices and rules; pickles, so that workers can have it."""

    def __init__(self, prices: Prices, rules: RackRules | None = None) -> None:
        self.prices, self.rules = prices, rules

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pylist([self.row(row) for row in batch.to_pylist()], schema=VERDICTS_SCHEMA)

    def row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """One row of facts, judged."""
        cluster = frozenset(row["cluster_racks"] or ())
        broker_rack = row["broker_rack"] or self.broker_rule(row["broker"])
        place = self.place(row, cluster)
        verdict = judge(facts_of(row, place, broker_rack, cluster))
        return {
            **{name: row[name] for name in (*SAME, *ADDED)},
            "client_rack": place.rack,
            "client_rack_from": place.source,
            "told_rack": place.told,
            "broker_rack": broker_rack,
            "locality": verdict.locality,
            "reason": verdict.reason,
            "detail": verdict.detail or place.detail,
            **self.amounts(row, verdict, place.rack, broker_rack),
        }

    def place(self, row: Mapping[str, Any], cluster: frozenset[str]) -> Place:
        """Where the client is; of replication, the follower."""
        said, said_in = row["said"], row["said_in"]
        if row["category"] == REPLICATION:
            rack = said or self.broker_rule(row["replica_id"])
            return Place(rack, "replica" if said else "racks_file" if rack else None)
        if not said:
            said, said_in = zone_in_client_id(row["client_id"]), "client_id"
        listener = row["listener"] or ""
        if not said and listener.startswith(RACK_LISTENER):
            said, said_in = listener.removeprefix(RACK_LISTENER), "listener"
        return place_of(said, said_in, self.rules, row["client_id"], row["client_host"], cluster)

    def broker_rule(self, broker: int | None) -> str | None:
        return self.rules.brokers.get(broker) if self.rules is not None and broker is not None else None

    def amounts(
        self, row: Mapping[str, Any], verdict: Verdict, client_rack: str | None, broker_rack: str | None
    ) -> dict[str, int | Decimal]:
        """Bytes and money. Each direction has its own price."""
        size = row["request_bytes"] + row["response_bytes"]
        replication = row["category"] == REPLICATION
        cost = possible = NOTHING
        if verdict.locality == "unknown" or client_rack is None or broker_rack is None:
            if not (replication and self.prices.free_replication):
                possible = self.prices.at_most(size)
        else:
            there = self.prices.cost(client_rack, broker_rack, row["request_bytes"], replication=replication)
            back = self.prices.cost(broker_rack, client_rack, row["response_bytes"], replication=replication)
            cost = there + back
        return {
            "bytes": size,
            "saves_bytes": size if verdict.saves else 0,
            "at_most_bytes": size if verdict.at_most else 0,
            "cost": cost,
            "possible_cost": possible,
            "saves_cost": cost if verdict.saves else NOTHING,
            "at_most_cost": cost + possible if verdict.at_most else NOTHING,
        }


def facts_of(row: Mapping[str, Any], place: Place, broker_rack: str | None, cluster: frozenset[str]) -> Facts:
    """What the verdict turns on."""
    isr, leaders = row["isr_racks"], row["leader_racks"]
    return Facts(
        category=row["category"],
        client_rack=place.rack,
        told_rack=place.told,
        told_in=place.told_in,
        broker_rack=broker_rack,
        api_version=row["api_version"],
        share=row["share"],
        cluster_racks=cluster,
        diskless=row["diskless"],
        redirected=row["redirected"],
        whole=row["whole"],
        replica_here=None if not isr else place.rack in isr,
        leader_here=None if not leaders else place.rack in leaders,
        keyed=row["keyed"],
    )
