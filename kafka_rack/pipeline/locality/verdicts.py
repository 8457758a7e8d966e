"""Facts to verdicts: bytes get their client's rack, local, cross or unknown, and the reason; their sums, the money."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from kafka_rack.locality.client_location import ClientLocation, locate_client
from kafka_rack.locality.prices import NOTHING, Prices
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.locality.reasons import REPLICATION, Facts, judge
from kafka_rack.pipeline.locality.facts import Amount, Fact
from kafka_rack.zones import zone_in_client_id

RACK_LISTENER = "RACK_"
MONEY = pa.decimal128(38, 18)
KEYS: dict[str, tuple[pa.DataType, str]] = {
    "window_start": (pa.timestamp("us", tz="UTC"), "begin of the window"),
    "capture": (pa.string(), "the capture: its file's name without .gz and .jsonl"),
    "category": (pa.string(), "produce, consume, replication, or other: all else"),
    "api": (pa.string(), "Kafka's name"),
    "client_id": (pa.string(), "the request's client id"),
    "client_host": (pa.string(), "the client's address without port"),
    "group_id": (pa.string(), "the consumer's group, where it was in one only; else null"),
    "topic": (pa.string(), "name, or its id where the capture tells no name; null where there is none"),
    "client_rack": (pa.string(), "where the client is, of replication the follower; null where not known"),
    "client_rack_from": (
        pa.string(),
        "how it is known: request, replica, connection, membership, client_id, listener, client or racks_file",
    ),
    "told_rack": (pa.string(), "the rack that the client itself named, and null where none"),
    "broker_rack": (pa.string(), "where the broker is"),
    "locality": (pa.string(), "local, cross or unknown"),
    "reason": (pa.string(), "why it is not local: docs/locality.md has the list; null for local"),
    "detail": (pa.string(), "the rack that was probably meant, or that the racks file has another"),
}
"""Column -> type, what it holds."""
COUNTS: dict[str, tuple[pa.DataType, str]] = {
    "calls": (pa.int64(), "requests"),
    "request_bytes": (pa.int64(), "from the client to the broker, length fields included"),
    "response_bytes": (pa.int64(), "from the broker to the client"),
    "record_bytes": (pa.int64(), "of them, the records fields"),
    "records": (pa.int64(), "records, transactions' markers left out"),
    "redirects": (pa.int64(), "partitions answered by the name of a nearer replica"),
    "bytes": (pa.int64(), "request_bytes and response_bytes"),
    "saves_bytes": (pa.int64(), "of bytes, what the reason's fix keeps in its rack for certain"),
    "at_most_bytes": (pa.int64(), "what it keeps in at most: the same, and where something is not known"),
    "cost": (MONEY, "what the bytes cost; 0 for unknown"),
    "possible_cost": (MONEY, "what unknown bytes cost if all of them cross, at the highest price"),
    "saves_cost": (MONEY, "cost of saves_bytes"),
    "at_most_cost": (MONEY, "cost of at_most_bytes, unknown ones at the highest price"),
}
COLUMNS = {**KEYS, **COUNTS}
ADDED = ("calls", "request_bytes", "response_bytes", "record_bytes", "records", "redirects")
SAVES = ("saves", "at_most")
"""Whether the reason's fix saves the bytes, for certain and at most."""


def schema_of(columns: Mapping[str, tuple[pa.DataType, str]]) -> pa.Schema:
    return pa.schema([(name, found[0]) for name, found in columns.items()])


JUDGED = {
    **KEYS,
    **{name: (pa.bool_(), "whether the reason's fix saves them") for name in SAVES},
    **{name: COUNTS[name] for name in ADDED},
}
"""What ``Judge`` gives, before money."""
JUDGED_SCHEMA = schema_of(JUDGED)
VERDICTS_SCHEMA = schema_of(COLUMNS)
MOST_AT_ONCE = 10_000


class Judge:
    """Verdicts on the facts of one capture, summed up where they are the same.

    Args:
        rules: the racks file, None without one.
        cluster: the racks that the capture knows brokers in.
    """

    def __init__(self, capture: str, cluster: frozenset[str], rules: RackRules | None = None) -> None:
        self.capture, self.cluster, self.rules = capture, cluster, rules
        self._known: dict[Fact, tuple[Any, ...]] = {}
        self._sums: dict[tuple[Any, ...], tuple[int, ...]] = {}

    def add(self, fact: Fact, amount: Amount) -> None:
        known = self._known.get(fact)
        if known is None:
            known = self._known[fact] = self.verdict(fact)
        key = (amount.window, *known)
        before = self._sums.get(key)
        self._sums[key] = amount.sums if before is None else tuple(map(int.__add__, before, amount.sums))

    def rows(self) -> pa.Table:
        """What was added, in the columns of ``JUDGED``."""
        rows = [(*key, *sums) for key, sums in self._sums.items()]
        columns = zip(*rows, strict=True) if rows else [()] * len(JUDGED)
        arrays = [pa.array(column, found[0]) for column, found in zip(columns, JUDGED.values(), strict=True)]
        return pa.Table.from_arrays(arrays, schema=JUDGED_SCHEMA)

    def verdict(self, fact: Fact) -> tuple[Any, ...]:
        """The columns of ``KEYS`` behind the window, and ``SAVES``."""
        broker_rack = fact.broker_rack or self.broker_rule(fact.broker)
        place = self.place(fact)
        found = judge(facts_of(fact, place, broker_rack, self.cluster))
        return (
            self.capture,
            fact.category,
            fact.api,
            fact.client_id,
            fact.client_host,
            fact.group_id,
            fact.topic,
            place.rack,
            place.known_from,
            place.named_rack,
            broker_rack,
            found.locality,
            found.reason,
            found.detail or place.conflict,
            found.saves,
            found.at_most,
        )

    def place(self, fact: Fact) -> ClientLocation:
        """Where the client is; of replication, the follower."""
        said, said_in = fact.said, fact.said_in
        if fact.category == REPLICATION:
            rack = said or self.broker_rule(fact.replica_id)
            return ClientLocation(rack, said_in if said else "racks_file" if rack else None)
        if not said:
            said, said_in = zone_in_client_id(fact.client_id), "client_id"
        listener = fact.listener or ""
        if not said and listener.startswith(RACK_LISTENER):
            said, said_in = listener.removeprefix(RACK_LISTENER), "listener"
        if said or not fact.elsewhere:
            return locate_client(said, said_in, self.rules, fact.client_id, fact.client_host, self.cluster)
        found = locate_client(fact.elsewhere, "client", self.rules, fact.client_id, fact.client_host, self.cluster)
        return found._replace(named_rack=None, named_in=None)

    def broker_rule(self, broker: int | None) -> str | None:
        return self.rules.brokers.get(broker) if self.rules is not None and broker is not None else None


class Priced:
    """Money for summed verdicts. Each direction has its own price; pickles, so that workers can have it."""

    def __init__(self, prices: Prices) -> None:
        self.prices = prices

    def __call__(self, judged: pa.Table) -> pa.Table:
        batches = judged.to_batches(max_chunksize=MOST_AT_ONCE)
        priced = [pa.Table.from_pylist([*map(self.row, batch.to_pylist())], VERDICTS_SCHEMA) for batch in batches]
        return pa.concat_tables(priced or [VERDICTS_SCHEMA.empty_table()])

    def row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        client_rack, broker_rack = row["client_rack"], row["broker_rack"]
        size = row["request_bytes"] + row["response_bytes"]
        replication = row["category"] == REPLICATION
        cost = possible = NOTHING
        if row["locality"] == "unknown" or client_rack is None or broker_rack is None:
            if not (replication and self.prices.free_replication):
                possible = self.prices.at_most(size)
        else:
            there = self.prices.cost(client_rack, broker_rack, row["request_bytes"], replication=replication)
            back = self.prices.cost(broker_rack, client_rack, row["response_bytes"], replication=replication)
            cost = there + back
        return {
            **{name: row[name] for name in (*KEYS, *ADDED)},
            "bytes": size,
            "saves_bytes": size if row["saves"] else 0,
            "at_most_bytes": size if row["at_most"] else 0,
            "cost": cost,
            "possible_cost": possible,
            "saves_cost": cost if row["saves"] else NOTHING,
            "at_most_cost": cost + possible if row["at_most"] else NOTHING,
        }


def facts_of(fact: Fact, place: ClientLocation, broker_rack: str | None, cluster: frozenset[str]) -> Facts:
    """What the verdict turns on."""
    in_sync, leaders = fact.racks_in_sync, fact.leader_racks
    return Facts(
        category=fact.category,
        client_rack=place.rack,
        told_rack=place.named_rack,
        told_in=place.named_in,
        broker_rack=broker_rack,
        api_version=fact.api_version,
        share=fact.share,
        cluster_racks=cluster,
        diskless=fact.diskless,
        redirected=fact.redirected,
        whole=fact.whole,
        replica_here=place.rack in in_sync if in_sync else None,
        leader_here=place.rack in leaders if leaders else None,
        keyed=fact.keyed,
        unread_fetch=fact.unread_fetch,
    )
