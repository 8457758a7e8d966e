"""Flows to traffic: bytes with their client's rack, local, cross or unknown, and the reason; summed up, with costs.

``TrafficSums`` judges the flows of a capture. Costs are computed from total bytes, so that they do not depend on the
order of additions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from functools import partial
from operator import add
from typing import Any, NamedTuple

from kafka_rack.diskless import ZONE_KEYS
from kafka_rack.locality.amounts import Pace, moment
from kafka_rack.locality.client_location import UNKNOWN_LOCATION, ClientLocation, locate_client
from kafka_rack.locality.evidence import Conclusions, host
from kafka_rack.locality.flows import FETCH, PRODUCE, Flow, Flows
from kafka_rack.locality.prices import NOTHING, PLACES, Prices
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.locality.reasons import CONSUME, OTHER, REPLICATION, Facts, judge
from kafka_rack.locality.reasons import PRODUCE as PRODUCED
from kafka_rack.locality.tables import SUMS, Amounts, add_amounts
from kafka_rack.writers import can_partition_by_rack
from kafka_rack.zones import zone_in_client_id

RACK_LISTENER = "RACK_"
COUNTS = (*SUMS, "bytes", "saves_bytes", "at_most_bytes")
"""``SUMS``, all bytes, and the bytes that the reason's action keeps in their rack for certain and at most."""
MONEY = ("cost", "possible_cost", "saves_cost", "at_most_cost")
"""The cost of the bytes, 0 if unknown; the cost of unknown bytes if all of them cross, at the highest price; and
the costs of ``saves_bytes`` and ``at_most_bytes``, unknown ones at the highest price."""
SPLIT = ("local_bytes", "cross_bytes", "unknown_bytes")
ALL_SUMS = (*COUNTS, *MONEY, *SPLIT)
GROUPINGS: dict[str, tuple[str, ...]] = {
    "rack_pairs": ("client_rack", "broker_rack", "category", "locality"),
    "topics": ("topic", "category"),
    "clients": ("client_id", "client_host", "client_rack"),
    "groups": ("group_id", "topic"),
    "apis": ("api", "category"),
    "windows": ("window_start", "category"),
    "reasons": ("category", "reason", "detail", "locality"),
}
"""Table -> the columns by which it groups ``ALL_SUMS``."""
TrafficRow = dict[str, Any]
"""A row of ``traffic``: the fields of ``TrafficKey``, ``COUNTS`` and ``MONEY``."""


class TrafficKey(NamedTuple):
    """The properties that bytes of a flow share, and the verdict.

    Args:
        window: its start, microseconds since 1970.
        category: produce, consume or replication: record batches as sent; or other: the rest of every frame.
        client_host: the client's address without its port.
        group_id: the consumer's group, if it is in one only.
        topic: its name, or its id if the capture has no name.
        client_rack: where the client is, of replication the follower; None if unknown.
        client_rack_from: request, replica, connection, membership, client_id, listener, client or racks_file.
        told_rack: the rack that the client itself named.
        detail: the rack that was probably meant, or that the racks file has another.
        saves, at_most: whether the reason's action keeps the bytes in their rack for certain, and at most.
    """

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
        self._judged: dict[Flow, tuple[TrafficKey, TrafficKey | None]] = {}

    def add_flows(self, flows: Flows) -> None:
        """Add a capture's flows."""
        for (flow, window), amounts in flows.each():
            if flow.conn not in self.without:
                self.add(flow, window, amounts)

    def add(self, flow: Flow, window: int, amounts: Amounts) -> None:
        judged = self._judged.get(flow)
        if judged is None:
            judged = self._judged[flow] = self.judge(flow)
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

    def judge(self, flow: Flow) -> tuple[TrafficKey, TrafficKey | None]:
        """The client, both racks and the verdict of a flow, without the window.

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
        in_sync = None if topic in known.diskless else known.racks_of(flow.in_sync)
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
            has_partitioner=can_partition_by_rack(known.software.get(flow.conn)),
            unread_fetch=is_unread and replica is None,
        )

        def key(facts: Facts, topic: str | None, partition: int | None, group: str | None) -> TrafficKey:
            verdict = judge(facts)
            whose = (facts.category, flow.api, flow.client_id, address, group, topic, partition)
            known_as = (location.rack, location.known_from, location.named_rack)
            why = (verdict.locality, verdict.reason, verdict.detail or location.conflict)
            saves = (verdict.saves, verdict.at_most)
            return TrafficKey(0, known.capture, *whose, *known_as, broker, broker_rack, *why, *saves)

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
        """A client's location, from the first source that has it."""
        known, cluster = self.conclusions, self.conclusions.cluster_racks
        rack, named_in = flow.client_rack, flow.client_rack_from
        if not rack:
            rack, named_in = known.rack_of.get(flow.conn), "connection"
        if not rack and flow.who == "share":
            client = (flow.client_id or "", address or "", group or "")
            rack, named_in = known.member_racks.get(client), "membership"
        if not rack:
            rack, named_in = zone_in_client_id(flow.client_id, ZONE_KEYS), "client_id"
        listener = flow.listener or ""
        if not rack and listener.startswith(RACK_LISTENER):
            rack, named_in = listener.removeprefix(RACK_LISTENER), "listener"
        if rack:
            return locate_client(rack, named_in, self.rules, flow.client_id, address, cluster)
        elsewhere = known.client_racks.get((flow.client_id or "", address or ""))
        found = locate_client(elsewhere, "client", self.rules, flow.client_id, address, cluster)
        return found._replace(named_rack=None, named_in=None)


def rewindowed(traffic: Mapping[TrafficKey, Amounts], window_us: int) -> dict[TrafficKey, Amounts]:
    """The traffic by longer windows, whose length is a multiple of theirs."""
    found: dict[TrafficKey, Amounts] = {}
    for key, amounts in traffic.items():
        wide = key._replace(window=key.window // window_us * window_us)
        found[wide] = add_amounts(found.get(wide), amounts)
    return found


def prices_in_month(flows: Mapping[TrafficKey, Amounts], prices: Prices, pace: Pace) -> Prices:
    """The prices for a month of these flows: tiers use the month's volume, or, below a minute, the measured one."""
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
    _, *known, saves, at_most = key
    money = {
        "cost": cost,
        "possible_cost": possible,
        "saves_cost": cost if saves else NOTHING,
        "at_most_cost": cost + possible if at_most else NOTHING,
    }
    return {
        "window_start": moment(key.window),
        **dict(zip(TrafficKey._fields[1:-2], known, strict=True)),
        **sums,
        "bytes": size,
        "saves_bytes": size if saves else 0,
        "at_most_bytes": size if at_most else 0,
        **{name: amount.quantize(PLACES) for name, amount in money.items()},
    }


def grouped(traffic: Mapping[TrafficKey, Amounts], prices: Prices) -> dict[str, list[TrafficRow]]:
    """The tables of ``GROUPINGS``: most crossing bytes first, equal ones by name, None last."""
    sums: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for key, amounts in traffic.items():
        row = traffic_row(key, amounts, prices)
        split = (row["bytes"] if f"{row['locality']}_bytes" == name else 0 for name in SPLIT)
        more = (*(row[name] for name in (*COUNTS, *MONEY)), *split)
        for name, columns in GROUPINGS.items():
            group = (name, *(row[column] for column in columns))
            before = sums.get(group)
            sums[group] = more if before is None else tuple(map(add, before, more))
    tables: dict[str, list[TrafficRow]] = {name: [] for name in GROUPINGS}
    for (name, *values), found in sums.items():
        tables[name].append(dict(zip((*GROUPINGS[name], *ALL_SUMS), (*values, *found), strict=True)))
    sizes = ("cross_bytes", "unknown_bytes", "bytes")
    return {
        name: sorted(rows, key=partial(by_size, sizes=sizes, names=GROUPINGS[name])) for name, rows in tables.items()
    }


def by_size(row: Mapping[str, Any], sizes: Iterable[str], names: Iterable[str]) -> tuple[Any, ...]:
    """A sort key: most bytes first, equal ones by name, None last."""
    return (*(-row[size] for size in sizes), *((row[name] is None, row[name] or "") for name in names))
