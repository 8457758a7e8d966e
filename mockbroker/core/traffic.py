"""The ledger of a live cluster: an observer of calls that adds up flows, in bounded memory.

The end of a call only adds up its bytes, by connection and partition; they become flows of the ledger with the next
window, or when the ledger is read. A verdict is that of the time when the call ended: a rack that the connection names
later does not change it, and the first record of a Produce that crossed decides whether records have keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from operator import add, attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_rack.plurals import counted
from kafka_rack.writers import can_partition_by_rack
from mockbroker.call import Outcome, ProducedPart
from mockbroker.core.journal.records import (
    FETCH,
    NO_REPLICA,
    PRODUCE,
    ObservedClient,
    facts_of_read,
    facts_of_write,
    first_keys,
    leader_racks_of,
    observed,
    observed_client,
)
from mockbroker.core.own_thread import InOwnThread, in_own_thread
from mockbroker.core.response_errors import error_names
from mockbroker.handlers.transferred import parts_of
from protocol.registry import APIS

if TYPE_CHECKING:
    from kafka_rack.locality.ledger import Ledger
    from kafka_rack.locality.prices import Prices
    from kafka_rack.locality.traffic import TrafficKey
    from mockbroker.call import Call, Part
    from mockbroker.state.cluster import Cluster

WINDOW_MS = 60_000
MAX_FLOWS = 10_000
"""Flows by window, client, racks, broker, kind, topic and partition. At this limit windows become twice as long; in a
single window, further flows are added up in rows of ``OTHERS``, by racks, broker and reason.
"""
MAX_TALLIES = 5_000
"""The most partitions of connections with their own sums, before all are added to the ledger."""
MAX_LISTED, MAX_CROSSINGS = 1_000, 100
"""The most clients, and pairs of client and topic whose bytes crossed, in a snapshot; one row has the rest."""
OTHERS = "(others)"
NOTHING_TO_SAVE = (None, "redirect", "empty_fetch")
"""Reasons that do not say where a client could read instead."""
LENGTH_BYTES = 4
NOT_APPENDED: tuple[int, ...] = ()
"""The in-sync replicas of records that were not appended, and that no follower copies."""
FLOW_COLUMNS = (
    *("client_rack", "broker", "broker_rack", "category", "locality", "reason", "calls", "request_bytes"),
    *("response_bytes", "bytes"),
)
"""Columns of ``traffic`` in a snapshot's flows."""
PAIR = ("client_rack", "broker", "broker_rack", "locality", "reason", "saves", "at_most")
Sums = list[int]
"""As ``kafka_rack.locality.tables.SUMS``: calls, bytes of requests, of responses and of records, records, redirects."""


class Tally(NamedTuple):
    """The bytes of a connection, for one API or partition, since they were last added to the ledger.

    ``flow`` has the record batches, and ``rest`` the rest of their frames; or ``flow`` has all, and ``rest`` is None.
    ``copiers`` are the in-sync replicas of produced records.
    """

    flow: TrafficKey
    rest: TrafficKey | None
    copiers: tuple[int, ...] | None
    sums: Sums


class Traffic(InOwnThread):
    """The traffic between racks since the start, or since ``clear``.

    Bytes are counted as ``kafka-rack locality`` does: record batches as produce, consume or replication, the rest of
    every frame, with its length field, as other. Replication is counted when records are written: the bytes that each
    in-sync follower copies from its leader.
    """

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._version = -1
        self._racks: frozenset[str] = frozenset()
        self._leader_racks: dict[str | None, frozenset[str]] = {}
        self.clear()

    @in_own_thread
    def clear(self) -> None:
        """Remove all traffic."""
        self._first_ms: int | None = None
        self._window_ms, self._window = WINDOW_MS, -1
        self._flows: dict[TrafficKey, Sums] = {}
        self._tallies: dict[tuple[Any, ...], Tally] = {}
        self._calls: Counter[int] = Counter()
        self._failed: Counter[int] = Counter()
        self._errors: Counter[tuple[int, str]] = Counter()

    # adding

    def call_ended(self, outcome: Outcome) -> None:
        """Add up the bytes of a call."""
        call = outcome.call
        if outcome.at_ms // self._window_ms != self._window:
            self._fold()
            self._window = outcome.at_ms // self._window_ms
            if self._first_ms is None:
                self._first_ms = outcome.at_ms
        client = call.session.observed or observed_client(call.session)
        output = outcome.output
        answered = len(output[0]) if len(output) == 1 else sum(map(len, output))
        requested = len(call.frame) + LENGTH_BYTES if call.frame else 0
        api_key = call.api_key
        parts = call.parts
        if parts is None and api_key <= FETCH:
            parts = parts_of(outcome)
        if parts:
            self._add_parts(call, client, parts, requested, answered)
            return
        if parts is None and (errors := (call.observed or observed(outcome)).errors):
            self._count_errors(api_key, errors)
        category, size = "other", 0
        if api_key == FETCH and answered:
            category = "consume"
        elif api_key == PRODUCE and call.read_request is not None and not answered:  # forwarded: its result is unknown
            category = "produce"
            size = sum(
                len(one.records or b"") for topic in call.read_request.topic_data for one in topic.partition_data
            )
        key = (client, api_key, category)
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._new(key, call, client, category, whole=category != "consume")
        sums = tally.sums
        sums[0] += 1
        sums[1] += requested
        sums[2] += answered
        sums[3] += size

    def _add_parts(
        self, call: Call, client: ObservedClient, parts: Iterable[Part], requested: int, answered: int
    ) -> None:
        """Add the record batches of each partition; both frames count for the first."""
        api_key, version = call.api_key, call.version
        keyed: Mapping[Any, bool | None] = {}
        crosses = client.rack is not None and client.broker_rack is not None and client.rack != client.broker_rack
        if crosses and api_key == PRODUCE:
            keyed = first_keys(call.request)
        cluster_version = call.cluster.version if crosses else 0
        codes: set[int] = set()
        is_first = True
        detail: bool | None = None
        for part in parts:
            size, isr, code = part.size_bytes, part.isr, part.error_code
            is_redirected = False
            if isinstance(part, ProducedPart):
                if isr and part.end_offset < 0:
                    isr = NOT_APPENDED
                if crosses:
                    detail = keyed.get((part.topic, part.partition), keyed.get((part.topic_id, part.partition)))
            else:
                is_redirected = part.preferred_replica >= 0
                detail = is_redirected if crosses else None
            if code:
                codes.add(code)
            if not (size or is_first or crosses):
                continue
            key: tuple[Any, ...] = (client, api_key, version, part.topic, part.partition, isr)
            if crosses:
                key += (cluster_version, detail)
            tally = self._tallies.get(key)
            if tally is None:
                tally = self._new_of_part(key, call, client, detail, is_answered=answered > 0)
            sums = tally.sums
            if is_first:
                is_first = False
                sums[0] += 1
                sums[1] += requested
                sums[2] += answered
            sums[3] += size
            sums[4] += part.records
            sums[5] += is_redirected
        if codes:
            self._count_errors(api_key, error_names(codes))

    def _new_of_part(
        self, key: tuple[Any, ...], call: Call, client: ObservedClient, detail: bool | None, *, is_answered: bool
    ) -> Tally:
        """The tally of a partition, by the key of ``_add_parts``; ``isr`` is None for a diskless topic.

        ``detail`` is, for a Produce, True if records have keys; for a Fetch, True if it was redirected.
        """
        _, api_key, _, topic, index, isr = key[:6]
        category, facts = "replication", dict[str, Any]()
        if call.replica_id == NO_REPLICA and api_key == PRODUCE:
            leaders = self._leaders(call.cluster, topic)
            category, facts = "produce", facts_of_write(isr, leaders, client.rack, detail)
            facts["has_partitioner"] = can_partition_by_rack(client.session.software)
        elif call.replica_id == NO_REPLICA and api_key == FETCH and not is_answered:
            category = "other"
        elif call.replica_id == NO_REPLICA:
            category = "consume"
            facts = facts_of_read(api_key, isr, call.cluster, client.rack, redirected=bool(detail))
        tally = self._new(key, call, client, category, **facts)
        if tally.rest is not None:
            flow = tally.flow._replace(topic=topic, partition=index)
            tally = self._tallies[key] = Tally(flow, tally.rest, isr if api_key == PRODUCE else None, tally.sums)
        return tally

    def _new(self, key: tuple[Any, ...], call: Call, client: ObservedClient, category: str, **facts: Any) -> Tally:
        if len(self._tallies) >= MAX_TALLIES:
            self._fold()
        self._cluster = call.cluster
        self._look_at(call.cluster)
        source = client.rack_source
        place, whose = (client.rack, source, client.rack), (client.client_id, client.address)
        if category == "replication":
            follower = call.cluster.brokers.get(call.replica_id)
            place, whose = (follower.rack if follower is not None else None, None, None), (None, client.address)
        elif source == "racks_file":
            place = (client.rack, source, None)
        broker = (client.broker_id, client.broker_rack)
        rest = None
        if category != "other":
            rest = self._judged("other", whose, place, broker)
            if place[2] is not None:
                facts["told_in"] = "client_id" if source == "client.id" else source
            facts["api_version"] = call.version if call.api_key == FETCH else None
        tally = self._tallies[key] = Tally(self._judged(category, whose, place, broker, **facts), rest, None, [0] * 6)
        return tally

    def _judged(
        self,
        category: str,
        whose: tuple[str | None, str | None],
        place: tuple[str | None, str | None, str | None],
        broker: tuple[int | None, str | None],
        **facts: Any,
    ) -> TrafficKey:
        """A flow with its verdict. ``place``: the client's rack, its source, and the rack that the client named."""
        from kafka_rack.locality.reasons import Facts, judge
        from kafka_rack.locality.traffic import TrafficKey

        rack, _, named = place
        verdict = judge(Facts(category, rack, named, broker_rack=broker[1], cluster_racks=self._racks, **facts))
        flow = TrafficKey(0, "", category, "", *whose, None, None, None, *place, *broker, verdict.locality)
        return flow._replace(reason=verdict.reason, detail=verdict.detail, saves=verdict.saves, at_most=verdict.at_most)

    def _look_at(self, cluster: Cluster) -> None:
        """Read the racks again if the cluster has changed."""
        if cluster.version != self._version:
            self._version, self._racks = cluster.version, frozenset(cluster.liveness.racks())
            self._leader_racks.clear()

    def _leaders(self, cluster: Cluster, name: str | None) -> frozenset[str]:
        """The racks with leaders of a topic."""
        self._look_at(cluster)
        found = self._leader_racks.get(name)
        if found is None:
            found = leader_racks_of(cluster, name) if name is not None else frozenset()
            if name in cluster.topics:
                self._leader_racks[name] = found
        return found

    def _count_errors(self, api_key: int, errors: tuple[str, ...]) -> None:
        api_key = api_key if api_key in APIS else -1
        self._failed[api_key] += 1
        for name in errors:
            self._errors[api_key, name] += 1

    # adding together

    def _fold(self) -> None:
        """Add the sums of connections to the ledger."""
        for (_, api_key, *_), (flow, rest, copiers, sums) in self._tallies.items():
            calls, requested, answered, size, records, redirects = sums
            self._calls[api_key if api_key in APIS else -1] += calls
            if rest is None:
                self._add(flow, [calls, requested, answered, 0, 0, 0])
                continue
            sent, received = (size, 0) if api_key == PRODUCE else (0, size)
            self._add(flow, [calls, sent, received, size, records, redirects])
            self._add(rest, [0, requested - sent, answered - received, 0, 0, 0])
            brokers = self._cluster.brokers if self._cluster is not None else {}
            for follower in copiers or ():
                if follower != flow.broker and follower in brokers:  # it copies from this leader
                    place = (brokers[follower].rack, None, None)
                    copies = self._judged("replication", (None, None), place, (flow.broker, flow.broker_rack))
                    copies = copies._replace(topic=flow.topic, partition=flow.partition)
                    self._add(copies, [0, 0, size, size, records, 0])
        self._tallies.clear()

    def _add(self, key: TrafficKey, amounts: Sums) -> None:
        flow = key._replace(window=self._window * self._window_ms * 1000)
        if flow not in self._flows:
            while len(self._flows) >= MAX_FLOWS and self._widen():
                flow = key._replace(window=self._window * self._window_ms * 1000)
            if len(self._flows) >= MAX_FLOWS and flow not in self._flows:
                flow = self._other(flow)
        add_to(self._flows, flow, amounts)

    def _widen(self) -> bool:
        """Make windows twice as long; False if there is only one."""
        first_ms = self._first_ms or 0
        if first_ms // self._window_ms >= self._window:
            return False
        self._window_ms, self._window = 2 * self._window_ms, self._window // 2
        flows, self._flows = self._flows, {}
        for key, amounts in flows.items():
            window_us = self._window_ms * 1000
            add_to(self._flows, key._replace(window=key.window // window_us * window_us), amounts)
        return True

    def _other(self, key: TrafficKey) -> TrafficKey:
        """The row that a flow is added to when there are too many."""
        rack = key.client_rack if key.client_rack is None or key.client_rack in self._racks else OTHERS
        topic = OTHERS if key.topic is not None else None
        key = key._replace(client_id=OTHERS, client_host=None, topic=topic, partition=None, client_rack=rack)
        return key._replace(client_rack_from=None, told_rack=None, detail=None)

    # reading

    @in_own_thread
    def ledger(self) -> Ledger:
        """The traffic as a ledger, by windows of a minute, or longer ones after a long time."""
        self._fold()
        return self._ledger_of(self._flows)

    def _ledger_of(self, flows: Mapping[TrafficKey, Sums]) -> Ledger:
        from kafka_rack.locality.ledger import Ledger

        ledger = Ledger()
        ledger.add({key: tuple(amounts) for key, amounts in flows.items()})
        known = ledger.completeness
        known.spans = [(self._first_ms * 1000, self._last_ms() * 1000)] if self._first_ms is not None else []
        known.unknown_clients = {
            (key.client_id, key.client_host)
            for key, amounts in self._flows.items()
            if key.locality == "unknown" and key.category in ("produce", "consume") and amounts[3]
        }
        return ledger

    def _added(self, *names: str) -> dict[TrafficKey, Sums]:
        """The flows, added up by kind and these fields."""
        from kafka_rack.locality.traffic import TrafficKey

        fields: Callable[[TrafficKey], tuple[Any, ...]] = attrgetter("category", *names)
        found: dict[tuple[Any, ...], Sums] = {}
        for key, amounts in self._flows.items():
            add_to(found, fields(key), amounts)
        blank = TrafficKey(0, "", "", "")
        named = ("category", *names)
        return {blank._replace(**dict(zip(named, values, strict=True))): amounts for values, amounts in found.items()}

    def _crossed(self) -> dict[TrafficKey, Sums]:
        """The client traffic that crossed racks, by client and topic, largest first; one row has the rest."""
        crossed = [
            (key, amounts)
            for key, amounts in self._added(*PAIR, "client_id", "topic").items()
            if key.locality == "cross" and key.category in ("produce", "consume") and amounts[3]
        ]
        crossed.sort(key=lambda one: (-one[1][3], *map(str, one[0])))
        found = dict(crossed[:MAX_CROSSINGS])
        for key, amounts in crossed[MAX_CROSSINGS:]:
            add_to(found, key._replace(client_id=OTHERS, topic=OTHERS), amounts)
        return found

    def _last_ms(self) -> int:
        return self._cluster.now_ms if self._cluster is not None else 0

    @in_own_thread
    def snapshot(self, prices: Prices | None = None, now_ms: int | None = None) -> dict[str, Any]:
        """The traffic as JSON.

        Args:
            prices: the prices of crossing; default: ``Prices()``.
            now_ms: the end of the time that is scaled to a month; default: the last call.

        ``summary`` is that of ``kafka_rack.locality.summary``: headline, avoidable traffic with actions, replication.
        ``completeness`` is a line that says what is missing. ``flows`` has ``client_rack``, ``broker``, ``broker_rack``
        (None if unknown; of replication the follower's and the leader's), ``category``, ``locality``, ``reason``,
        ``avoidable``, ``calls``, ``request_bytes``, ``response_bytes``, ``bytes``, ``cost`` and ``cost_text``.
        ``crossings`` has the same of client traffic that crossed, with ``client_id``, ``topic`` and the ``action``, the
        most bytes first. ``apis`` has ``api``, ``error`` ("" for calls without one) and ``calls``. ``clients`` has each
        client's record batches by locality, and its last reason. Costs are text, for the traffic until now;
        ``cost_text`` is the cost of a month at this pace, or the measured cost if less than a minute has passed.
        """
        from kafka_rack.locality.amounts import Pace, plain
        from kafka_rack.locality.prices import Prices
        from kafka_rack.locality.reasons import REASONS
        from kafka_rack.locality.summary import summary_of
        from kafka_rack.locality.traffic import prices_in_month, traffic_row

        self._fold()
        ledger = self._ledger_of(self._added(*PAIR))
        span_us = (max(self._last_ms(), now_ms or 0) - self._first_ms) * 1000 if self._first_ms is not None else 0
        crossed: Counter[int] = Counter()
        for key, amounts in self._flows.items():
            if key.locality == "cross" and key.category in ("produce", "consume") and amounts[3]:
                crossed[key.window] += amounts[3]
        pace = Pace.of(span_us, crossed.values(), self._window_ms * 1000)
        prices = prices_in_month(ledger.flows, prices or Prices(), pace)
        rows = {key: traffic_row(key, amounts, prices) for key, amounts in ledger.flows.items()}

        def flow(key: TrafficKey, row: dict[str, Any], *more: str) -> dict[str, Any]:
            return {
                **{name: row[name] for name in (*more, *FLOW_COLUMNS)},
                "avoidable": "yes" if key.saves else "perhaps" if key.at_most else "no" if key.reason else None,
                "cost": plain(row["cost"]),
                "cost_text": pace.money(row["cost"], prices.currency),
            }

        flows = [flow(key, row) for key, row in rows.items()]
        crossings = [
            {
                **flow(key, traffic_row(key, amounts, prices), "client_id", "topic"),
                "action": REASONS[key.reason or ""].action,
            }
            for key, amounts in self._ledger_of(self._crossed()).flows.items()
        ]
        return {
            "since_ms": self._first_ms,
            "until_ms": self._last_ms() if self._first_ms is not None else None,
            "calls": sum(self._calls.values()),
            "bytes": sum(row["bytes"] for row in rows.values()),
            "summary": summary_of(rows.values(), pace, prices.currency),
            "completeness": ledger.completeness.line(counted(sum(self._calls.values()), "call")),
            "flows": sorted(flows, key=lambda row: (-row["bytes"], *map(str, row.values()))),
            "crossings": crossings,
            "apis": self._apis(),
            "clients": self._clients_json(),
            "currency": prices.currency,
        }

    def _clients_json(self) -> list[dict[str, Any]]:
        """The clients; connections without records and rack are added to their client's others."""
        found: dict[tuple[str | None, str | None], dict[str, Any]] = {}
        for key, amounts in self._flows.items():
            if key.category == "replication":
                continue
            is_other = key.client_id == OTHERS
            name = (OTHERS, None) if is_other else (key.client_id, key.client_rack)
            if name not in found and len(found) >= MAX_LISTED:
                name, is_other = (OTHERS, None), True
            row = found.get(name)
            if row is None:
                row = found[name] = client_row(key, is_other=is_other)
            row["calls"] += amounts[0]
            if key.category != "other":
                row[f"{key.locality}_bytes"] += amounts[3]
                if key.reason not in NOTHING_TO_SAVE and not is_other:
                    row["reason"], row["detail"] = key.reason, key.detail
        known = {client_id: name for name in found if (client_id := name[0]) and name[1]}
        for name in [name for name in found if not name[1] and name[0] in known]:
            row = found[name]
            if not (row["local_bytes"] or row["cross_bytes"] or row["unknown_bytes"]):
                found[known[name[0] or ""]]["calls"] += found.pop(name)["calls"]
        return sorted(found.values(), key=lambda row: row["is_other"])

    def _apis(self) -> list[dict[str, Any]]:
        rows = []
        for api_key, calls in sorted(self._calls.items()):
            api = APIS[api_key][1] if api_key in APIS else ""
            rows.append({"api": api, "error": "", "calls": calls - self._failed[api_key]})
            named = sorted((name, number) for (key, name), number in self._errors.items() if key == api_key)
            rows += [{"api": api, "error": name, "calls": number} for name, number in named]
        return rows


def client_row(key: TrafficKey, *, is_other: bool) -> dict[str, Any]:
    places = ("client_id", "client_rack", "client_rack_source", "client_address")
    known = (key.client_id or "", key.client_rack, key.client_rack_from, key.client_host)
    row: dict[str, Any] = dict(zip(places, (None, None, None, "") if is_other else known, strict=True))
    sums = dict.fromkeys(("calls", "local_bytes", "cross_bytes", "unknown_bytes"), 0)
    return {**row, **sums, "reason": None, "detail": None, "is_other": is_other}


def add_to(sums: dict[Any, Sums], key: Any, amounts: Sums) -> None:
    before = sums.get(key)
    sums[key] = amounts.copy() if before is None else list(map(add, before, amounts))
