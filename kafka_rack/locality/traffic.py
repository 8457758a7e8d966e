"""Flows to traffic: bytes with their client's rack, local, cross or unknown, and the reason; summed up, with money.

``TrafficSums`` judges the flows of a capture. Money is computed from whole sums of bytes, so that it is the same in
whatever order they were added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from kafka_rack.locality.amounts import Pace
from kafka_rack.locality.client_location import UNKNOWN_LOCATION, ClientLocation, locate_client
from kafka_rack.locality.evidence import Conclusions, host
from kafka_rack.locality.flows import FETCH, PRODUCE, Flow, Flows
from kafka_rack.locality.prices import NOTHING, PLACES, Prices
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.locality.reasons import CONSUME, OTHER, REPLICATION, Facts, judge
from kafka_rack.locality.reasons import PRODUCE as PRODUCED
from kafka_rack.locality.tables import SUMS, Amounts
from kafka_rack.zones import zone_in_client_id

RACK_LISTENER = "RACK_"
KEYS = {
    "window_start": "begin of the window",
    "capture": "the capture: its file's name without .gz and .jsonl",
    "category": "produce, consume or replication: record batches as sent; or other: the rest of every frame",
    "api": "Kafka's name",
    "client_id": "the request's client id",
    "client_host": "the client's address without port",
    "group_id": "the consumer's group, where it was in one only; else null",
    "topic": "name, or its id where the capture tells no name; null where there is none",
    "partition": "its number",
    "client_rack": "where the client is, of replication the follower; null where not known",
    "client_rack_from": "how it is known: request, replica, connection, membership, client_id, listener, client or "
    "racks_file",
    "told_rack": "the rack that the client itself named, and null where none",
    "broker": "the broker's id",
    "broker_rack": "where the broker is",
    "locality": "local, cross or unknown",
    "reason": "why it is not local: docs/locality.md has the list; null for local",
    "detail": "the rack that was probably meant, or that the racks file has another",
}
"""Column -> what it holds; text, but for the first, which is a time, and ``NUMBERS``."""
NUMBERS = ("partition", "broker")
COUNTS = {
    "calls": "requests",
    "request_bytes": "from the client to the broker, length fields included",
    "response_bytes": "from the broker to the client",
    "record_bytes": "of them, the records fields",
    "records": "records, transactions' markers left out",
    "redirects": "partitions answered by the name of a nearer replica",
    "bytes": "request_bytes and response_bytes",
    "saves_bytes": "of bytes, what the reason's fix keeps in its rack for certain",
    "at_most_bytes": "what it keeps in at most: the same, and where something is not known",
}
MONEY = {
    "cost": "what the bytes cost; 0 for unknown",
    "possible_cost": "what unknown bytes cost if all of them cross, at the highest price",
    "saves_cost": "cost of saves_bytes",
    "at_most_cost": "cost of at_most_bytes, unknown ones at the highest price",
}
SPLIT = ("local_bytes", "cross_bytes", "unknown_bytes")
ALL_SUMS = (*COUNTS, *MONEY, *SPLIT)
GROUPINGS: dict[str, tuple[str, ...]] = {
    "rack_pairs": ("client_rack", "broker_rack", "category", "locality"),
    "topics": ("topic", "category"),
    "clients": ("client_id", "client_host", "client_rack", "category"),
    "groups": ("group_id", "topic"),
    "apis": ("api", "category"),
    "windows": ("window_start", "category"),
    "reasons": ("category", "reason", "detail", "locality"),
}
"""Table -> the columns that it sums ``ALL_SUMS`` by."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TrafficRow = dict[str, Any]
"""A row of ``traffic``: the columns of ``KEYS``, ``COUNTS`` and ``MONEY``."""


class TrafficKey(NamedTuple):
    """The columns of ``KEYS``, the window as microseconds, and whether the reason's fix saves the bytes."""

    window: int
    capture: str
    category: str
    api: str
    client_id: str | None = None
    client_host: str | None = None
    group_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    client_rack: str | None = None
    client_rack_from: str | None = None
    told_rack: str | None = None
    broker: int | None = None
    broker_rack: str | None = None
    locality: str = "unknown"
    reason: str | None = None
    detail: str | None = None
    saves: bool = False
    at_most: bool = False


class TrafficSums:
    """The traffic of some flows of one capture, ``without`` some connections."""

    def __init__(
        self, conclusions: Conclusions, rules: RackRules | None = None, without: AbstractSet[int] = frozenset()
    ) -> None:
        self.conclusions, self.rules, self.without = conclusions, rules, without
        self.amounts: dict[TrafficKey, Amounts] = {}
        self._judged: dict[tuple[Flow, frozenset[str] | None], tuple[TrafficKey, TrafficKey | None]] = {}

    def add_flows(self, flows: Flows) -> None:
        """Add a capture's flows."""
        for (flow, window, since), amounts in flows.each():
            if flow.conn not in self.without:
                self.add(flow, window, since, amounts)

    def add(self, flow: Flow, window: int, since: int, amounts: Amounts) -> None:
        in_sync = None
        if flow.kind == FETCH:
            in_sync = self.conclusions.racks_in_sync(self.topic(flow), flow.partition, since)
        judged = self._judged.get((flow, in_sync))
        if judged is None:
            judged = self._judged[flow, in_sync] = self.judge(flow, in_sync)
        records, rest = judged
        if rest is not None:
            calls, asked, answered, size, *counts = amounts
            is_produce = flow.kind == PRODUCE
            self._add(rest, window, (0, asked - size * is_produce, answered - size * (not is_produce), 0, 0, 0))
            amounts = (calls, size * is_produce, size * (not is_produce), size, *counts)
        self._add(records, window, amounts)

    def _add(self, judged: TrafficKey, window: int, amounts: Amounts) -> None:
        key = judged._replace(window=window)
        self.amounts[key] = add_amounts(self.amounts.get(key), amounts)

    def topic(self, flow: Flow) -> str | None:
        return flow.topic or self.conclusions.topics.get(flow.topic_id or "", flow.topic_id)

    def judge(self, flow: Flow, in_sync: frozenset[str] | None) -> tuple[TrafficKey, TrafficKey | None]:
        """Whose bytes these are, where both ends are, and what follows; without the window.

        Returns the key of the record batches and that of the rest of their frames, or the key of all and None.
        """
        known = self.conclusions
        address = host(flow.client_addr)
        client = (flow.client_id or "", address or "")
        broker = flow.broker if flow.broker is not None else known.broker_of.get(flow.conn)
        broker_rack = flow.broker_rack or (known.rack_of_broker(broker) if broker is not None else None)
        is_unread = flow.kind == FETCH and flow.who is None
        replica = flow.replica_id if flow.who == "follower" else None
        if is_unread or (flow.kind not in (FETCH, PRODUCE) and flow.api == "Fetch"):
            replica = known.follower(flow.conn, client)
        group = None
        if replica is not None:
            category, location = REPLICATION if flow.kind == FETCH else OTHER, self.locate_follower(flow, replica)
        elif flow.kind == FETCH and not is_unread:
            category, group = CONSUME, flow.group_id or known.groups.get(client)
            location = self.locate(flow, address, group)
        else:
            category, location = PRODUCED if flow.kind == PRODUCE else OTHER, self.locate(flow, address)
        topic = self.topic(flow)
        leaders = known.leaders.get(topic) if topic is not None else None
        facts = Facts(
            category=category,
            client_rack=location.rack,
            told_rack=location.named_rack,
            told_in=location.named_in,
            broker_rack=broker_rack,
            api_version=flow.api_version,
            share=flow.who == "share",
            cluster_racks=known.cluster_racks,
            diskless=topic in known.diskless,
            redirected=flow.kind == FETCH and bool(flow.redirected),
            whole=flow.kind != FETCH or flow.partition is not None,
            replica_here=location.rack in in_sync if in_sync else None,
            leader_here=location.rack in leaders if leaders else None,
            keyed=flow.keyed,
            unread_fetch=is_unread and replica is None,
        )

        def key(facts: Facts, topic: str | None, partition: int | None, group: str | None) -> TrafficKey:
            verdict = judge(facts)
            return TrafficKey(
                0,
                known.capture,
                facts.category,
                flow.api,
                flow.client_id,
                address,
                group,
                topic,
                partition,
                location.rack,
                location.known_from,
                location.named_rack,
                broker,
                broker_rack,
                verdict.locality,
                verdict.reason,
                verdict.detail or location.conflict,
                verdict.saves,
                verdict.at_most,
            )

        if category == OTHER:
            return key(facts, topic, flow.partition, group), None
        rest = Facts(OTHER, location.rack, location.named_rack, location.named_in, broker_rack)
        return key(facts, topic, flow.partition, group), key(rest, None, None, None)

    def locate_follower(self, flow: Flow, replica: int) -> ClientLocation:
        known = self.conclusions
        for rack, known_from in (
            (flow.replica_rack or known.broker_racks.get(replica), "replica"),
            (known.rack_of.get(flow.conn), "connection"),
            (known.filed_brokers.get(replica), "racks_file"),
        ):
            if rack:
                return ClientLocation(rack, known_from)
        return UNKNOWN_LOCATION

    def locate(self, flow: Flow, address: str | None, group: str | None = None) -> ClientLocation:
        """Where a client is, by the first that says it."""
        known, cluster = self.conclusions, self.conclusions.cluster_racks
        rack, named_in = flow.client_rack, flow.client_rack_from
        if not rack:
            rack, named_in = known.rack_of.get(flow.conn), "connection"
        if not rack and flow.who == "share":
            client = (flow.client_id or "", address or "", group or "")
            rack, named_in = known.member_racks.get(client), "membership"
        if not rack:
            rack, named_in = zone_in_client_id(flow.client_id), "client_id"
        listener = flow.listener or ""
        if not rack and listener.startswith(RACK_LISTENER):
            rack, named_in = listener.removeprefix(RACK_LISTENER), "listener"
        if rack:
            return locate_client(rack, named_in, self.rules, flow.client_id, address, cluster)
        elsewhere = known.client_racks.get((flow.client_id or "", address or ""))
        found = locate_client(elsewhere, "client", self.rules, flow.client_id, address, cluster)
        return found._replace(named_rack=None, named_in=None)


def rewindowed(traffic: Mapping[TrafficKey, Amounts], window_us: int) -> dict[TrafficKey, Amounts]:
    """The same by windows of a length that those of before divide."""
    found: dict[TrafficKey, Amounts] = {}
    for key, amounts in traffic.items():
        wide = key._replace(window=key.window // window_us * window_us)
        found[wide] = add_amounts(found.get(wide), amounts)
    return found


def add_amounts(before: Amounts | None, more: Amounts) -> Amounts:
    return more if before is None else tuple(map(int.__add__, before, more))


def prices_in_month(flows: Mapping[TrafficKey, Amounts], prices: Prices, pace: Pace) -> Prices:
    """The prices of a month of these flows: tiers follow its volume, or below a minute what was measured."""
    sizes: dict[tuple[str, str], int] = {}
    for key, amounts in flows.items():
        client, broker = key.client_rack, key.broker_rack
        is_free = key.category == REPLICATION and prices.free_replication
        if client is not None and broker is not None and not is_free:
            for way, size in (((client, broker), amounts[1]), ((broker, client), amounts[2])):
                sizes[way] = sizes.get(way, 0) + size
    return prices.in_month({way: pace.month(size) or Decimal(size) for way, size in sizes.items()})


def traffic_row(key: TrafficKey, amounts: Amounts, prices: Prices) -> TrafficRow:
    """A row of ``traffic``. Each direction has its own price, to 18 places."""
    sums = dict(zip(SUMS, amounts, strict=True))
    size = sums["request_bytes"] + sums["response_bytes"]
    replication = key.category == REPLICATION
    cost = possible = NOTHING
    if key.locality == "unknown" or key.client_rack is None or key.broker_rack is None:
        if not (replication and prices.free_replication):
            possible = prices.at_most(size)
    else:
        there = prices.cost(key.client_rack, key.broker_rack, sums["request_bytes"], replication=replication)
        back = prices.cost(key.broker_rack, key.client_rack, sums["response_bytes"], replication=replication)
        cost = there + back
    window, *known, saves, at_most = key
    money = {
        "cost": cost,
        "possible_cost": possible,
        "saves_cost": cost if saves else NOTHING,
        "at_most_cost": cost + possible if at_most else NOTHING,
    }
    return {
        **dict(zip(KEYS, (time_of(window), *known), strict=True)),
        **sums,
        "bytes": size,
        "saves_bytes": size if saves else 0,
        "at_most_bytes": size if at_most else 0,
        **{name: amount.quantize(PLACES) for name, amount in money.items()},
    }


def time_of(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=us)


def grouped(row: TrafficRow) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """A row's part in each table of ``GROUPINGS``: the table's name with the row's key there, and ``ALL_SUMS``."""
    split = [row["bytes"] if f"{row['locality']}_bytes" == name else 0 for name in SPLIT]
    sums = (*(row[name] for name in (*COUNTS, *MONEY)), *split)
    for name, columns in GROUPINGS.items():
        yield (name, *(row[column] for column in columns)), sums


def add_sums(before: tuple[Any, ...], more: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(one + other for one, other in zip(before, more, strict=True))


def grouping_row(name: str, key: Iterable[Any], sums: Iterable[Any]) -> dict[str, Any]:
    """A row of a table of ``GROUPINGS``."""
    return dict(zip((*GROUPINGS[name], *ALL_SUMS), (*key, *sums), strict=True))


def in_order(name: str) -> Any:
    """What the rows of a table are sorted by: the largest crossers first, of equal ones by their names, none last."""

    def order(row: Mapping[str, Any]) -> tuple[Any, ...]:
        sizes = (-row["cross_bytes"], -row["unknown_bytes"], -row["bytes"])
        return (*sizes, *((row[column] is None, row[column] or "") for column in GROUPINGS[name]))

    return order
