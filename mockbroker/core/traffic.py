"""The ledger of a live cluster: an observer of calls that adds up flows, in bounded memory.

The end of a call only adds up its bytes, by connection and partition; they become flows of the ledger with the next
window, or when the ledger is read. A verdict is that of the time when the call ended: a rack that the connection names
later does not change it, and the first record of a Produce that crossed decides whether records have keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_rack.plurals import counted
from mockbroker.call import Outcome, ProducedPart
from mockbroker.core.journal.entry import LENGTH_BYTES
from mockbroker.core.journal.records import (
    FETCH,
    PRODUCE,
    Observed,
    ObservedClient,
    first_keys,
    observed,
    observed_client,
    record_of,
)
from mockbroker.core.own_thread import InOwnThread, in_own_thread
from mockbroker.core.response_errors import error_names
from mockbroker.handlers.transferred import parts_of
from mockbroker.subjects import NOTHING
from protocol.registry import APIS

if TYPE_CHECKING:
    from kafka_rack.locality.ledger import Ledger
    from kafka_rack.locality.prices import Prices
    from kafka_rack.locality.tables import Amounts
    from kafka_rack.locality.traffic import TrafficKey
    from mockbroker.call import Part
    from mockbroker.core.journal.entry import JournalEntry
    from mockbroker.core.journal.verdicts import Verdicts
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
NOT_APPENDED: tuple[int, ...] = ()
"""The in-sync replicas of records that were not appended, and that no follower copies."""
FLOW_COLUMNS = (
    *("client_rack", "broker", "broker_rack", "category", "locality", "reason", "calls", "request_bytes"),
    *("response_bytes", "bytes"),
)
"""Columns of ``traffic`` in a snapshot's flows."""
PAIR = ("client_rack", "broker", "broker_rack", "locality", "reason", "saves", "at_most")
NOTHING_OBSERVED = Observed(NOTHING, (), 0)


class Tally(NamedTuple):
    """The bytes of a connection, for one API or partition, since they were last added to the ledger.

    ``flow`` has the record batches, and ``rest`` the rest of their frames; or ``flow`` has all, and ``rest`` is None.
    ``copiers`` are the in-sync replicas of produced records. ``sums`` are those of ``kafka_rack.locality.tables.SUMS``.
    """

    flow: TrafficKey
    rest: TrafficKey | None
    copiers: tuple[int, ...] | None
    sums: list[int]


class Traffic(InOwnThread):
    """The traffic between racks since the start, or since ``clear``.

    Bytes are counted as ``kafka-rack locality`` does: record batches as produce, consume or replication, the rest of
    every frame, with its length field, as other. Replication is counted when records are written: the bytes that each
    in-sync follower copies from its leader.
    """

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._verdicts: Verdicts | None = None
        self.clear()

    @in_own_thread
    def clear(self) -> None:
        """Remove all traffic."""
        self._first_ms: int | None = None
        self._window_ms, self._window = WINDOW_MS, -1
        self._flows: dict[TrafficKey, Amounts] = {}
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
        self._calls[api_key if api_key in APIS else -1] += 1
        parts = parts_of(outcome)
        if parts:
            self._add_parts(outcome, client, parts, requested, answered)
            return
        if parts is None and (errors := (call.observed or observed(outcome)).errors):
            self._count_errors(api_key, errors)
        key = (client, api_key, api_key == FETCH and answered > 0)
        sums = (self._tallies.get(key) or self._new(key, outcome, client)).sums
        sums[0] += 1
        sums[1] += requested
        sums[2] += answered

    def _add_parts(
        self, outcome: Outcome, client: ObservedClient, parts: Iterable[Part], requested: int, answered: int
    ) -> None:
        """Add the record batches of each partition; both frames count for the first."""
        call = outcome.call
        api_key, version = call.api_key, call.version
        keyed: Mapping[Any, bool | None] = {}
        broker_rack = client.session.broker.rack
        is_away = client.rack != broker_rack  # or one of them is unknown
        crosses = is_away and client.rack is not None and broker_rack is not None
        if crosses and api_key == PRODUCE:
            keyed = first_keys(call.request)
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
            if is_away:
                key += (call.cluster.version, detail)
            tally = self._tallies.get(key) or self._new(key, outcome, client, part, detail)
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

    def _new(
        self,
        key: tuple[Any, ...],
        outcome: Outcome,
        client: ObservedClient,
        part: Part | None = None,
        keyed: bool | None = None,
    ) -> Tally:
        """A new tally, of a partition if there is a part, with the journal's verdict on the call.

        Args:
            keyed: True if the records of a Produce have keys, None if unknown.
        """
        if len(self._tallies) >= MAX_TALLIES:
            self._fold()
        self._cluster = cluster = outcome.call.cluster
        if self._verdicts is None:
            from mockbroker.core.journal.verdicts import Verdicts

            self._verdicts = Verdicts()
        found = NOTHING_OBSERVED if part is None else None
        record = record_of(outcome, client, 0, found, () if part is None else (part,), ())
        entry = self._verdicts.entry(record, 0, cluster, lambda _: keyed)
        flow, rest = flow_of(entry), None
        if entry.category != "other":
            rest = judged(flow, "other", entry.client_rack)._replace(topic=None, partition=None)
        copiers = part.isr if isinstance(part, ProducedPart) and part.end_offset >= 0 else None
        tally = self._tallies[key] = Tally(flow, rest, copiers, [0] * 6)
        return tally

    def _count_errors(self, api_key: int, errors: tuple[str, ...]) -> None:
        api_key = api_key if api_key in APIS else -1
        self._failed[api_key] += 1
        for name in errors:
            self._errors[api_key, name] += 1

    # adding together

    def _fold(self) -> None:
        """Add the sums of connections to the ledger."""
        brokers = self._cluster.brokers if self._cluster is not None else {}
        for (_, api_key, *_), (flow, rest, copiers, sums) in self._tallies.items():
            calls, requested, answered, size, records, redirects = sums
            if rest is None:
                self._add(flow, (calls, requested, answered, 0, 0, 0))
                continue
            sent, received = (size, 0) if api_key == PRODUCE else (0, size)
            self._add(flow, (calls, sent, received, size, records, redirects))
            self._add(rest, (0, requested - sent, answered - received, 0, 0, 0))
            for follower in copiers or ():
                if follower != flow.broker and follower in brokers:  # it copies from this leader
                    copies = judged(flow, "replication", brokers[follower].rack)
                    copies = copies._replace(client_id=None, client_host=None, client_rack_from=None)
                    self._add(copies, (0, 0, size, size, records, 0))
        self._tallies.clear()

    def _add(self, key: TrafficKey, amounts: Amounts) -> None:
        flow = key._replace(window=self._window * self._window_ms * 1000)
        if flow not in self._flows:
            while len(self._flows) >= MAX_FLOWS and self._widen():
                flow = key._replace(window=self._window * self._window_ms * 1000)
            if len(self._flows) >= MAX_FLOWS and flow not in self._flows:
                flow = self._other(flow)
        add_to(self._flows, flow, amounts)

    def _widen(self) -> bool:
        """Make windows twice as long; False if there is only one."""
        from kafka_rack.locality.traffic import rewindowed

        first_ms = self._first_ms or 0
        if first_ms // self._window_ms >= self._window:
            return False
        self._window_ms, self._window = 2 * self._window_ms, self._window // 2
        self._flows = rewindowed(self._flows, self._window_ms * 1000)
        return True

    def _other(self, key: TrafficKey) -> TrafficKey:
        """The row that a flow is added to when there are too many."""
        racks = self._cluster.liveness.racks() if self._cluster is not None else ()
        rack = key.client_rack if key.client_rack is None or key.client_rack in racks else OTHERS
        topic = OTHERS if key.topic is not None else None
        key = key._replace(client_id=OTHERS, client_host=None, topic=topic, partition=None, client_rack=rack)
        return key._replace(client_rack_from=None, detail=None)

    # reading

    @in_own_thread
    def ledger(self) -> Ledger:
        """The traffic as a ledger, by windows of a minute, or longer ones after a long time."""
        from kafka_rack.locality.ledger import Ledger

        self._fold()
        ledger = Ledger()
        ledger.add(self._flows)
        if self._first_ms is not None:
            ledger.completeness.spans = [(self._first_ms * 1000, self._last_ms() * 1000)]
        return ledger

    def _added(self, *names: str) -> dict[TrafficKey, Amounts]:
        """The flows, added up by kind and these fields."""
        from kafka_rack.locality.traffic import TrafficKey

        blank = TrafficKey(0, "", "", "")
        found: dict[TrafficKey, Amounts] = {}
        for key, amounts in self._flows.items():
            fields = {name: getattr(key, name) for name in ("category", *names)}
            add_to(found, blank._replace(**fields), amounts)
        return found

    def _crossed(self) -> dict[TrafficKey, Amounts]:
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

        completeness, sums = self.ledger().completeness, self._added(*PAIR)
        span_us = (max(self._last_ms(), now_ms or 0) - self._first_ms) * 1000 if self._first_ms is not None else 0
        crossed: Counter[int] = Counter()
        for key, amounts in self._flows.items():
            if key.locality == "cross" and key.category in ("produce", "consume") and amounts[3]:
                crossed[key.window] += amounts[3]
        pace = Pace.of(span_us, crossed.values(), self._window_ms * 1000)
        prices = prices_in_month(sums, prices or Prices(), pace)
        rows = {key: traffic_row(key, amounts, prices) for key, amounts in sums.items()}

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
            for key, amounts in self._crossed().items()
        ]
        return {
            "since_ms": self._first_ms,
            "until_ms": self._last_ms() if self._first_ms is not None else None,
            "calls": sum(self._calls.values()),
            "bytes": sum(row["bytes"] for row in rows.values()),
            "summary": summary_of(rows.values(), pace, prices.currency),
            "completeness": completeness.line(counted(sum(self._calls.values()), "call")),
            "flows": sorted(flows, key=lambda row: (-row["bytes"], *map(str, row.values()))),
            "crossings": crossings,
            "apis": self._apis(),
            "clients": self._clients_json(),
            "currency": prices.currency,
        }

    def _clients_json(self) -> list[dict[str, Any]]:
        """The clients, with the source by which requests with records have their rack.

        Connections without records and rack are added to their client's others.
        """
        found: dict[tuple[str | None, str | None], dict[str, Any]] = {}
        for key, amounts in self._flows.items():
            if key.category == "replication":
                continue
            name = key.client_id, key.client_rack
            is_other = key.client_id == OTHERS or (name not in found and len(found) >= MAX_LISTED)
            row = found.setdefault((OTHERS, None) if is_other else name, client_row(key, is_other=is_other))
            row["calls"] += amounts[0]
            if key.category != "other":
                row[f"{key.locality}_bytes"] += amounts[3]
                if not is_other:
                    row["client_rack_source"] = key.client_rack_from
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


def add_to(sums: dict[TrafficKey, Amounts], key: TrafficKey, amounts: Amounts) -> None:
    from kafka_rack.locality.tables import add_amounts

    sums[key] = add_amounts(sums.get(key), amounts)


def flow_of(entry: JournalEntry) -> TrafficKey:
    """The flow of an entry with a single share."""
    from kafka_rack.locality.traffic import TrafficKey

    (share,) = entry.shares
    whose = (entry.client_id, entry.client_address, None, share.topic, share.partition)
    place = (entry.client_rack, entry.client_rack_source, None, entry.broker_id, entry.rack, entry.locality)
    saves, at_most = share.avoidable == "yes", share.avoidable in ("yes", "perhaps")
    return TrafficKey._make(
        (0, "", entry.category, "", *whose, *place, share.reason, share.detail, saves, at_most),
    )


def judged(flow: TrafficKey, category: str, rack: str | None) -> TrafficKey:
    """The flow of other bytes, of or to the same broker, with their own verdict."""
    from kafka_rack.locality.reasons import Facts, judge

    verdict = judge(Facts(category, rack, broker_rack=flow.broker_rack))
    flow = flow._replace(category=category, client_rack=rack, locality=verdict.locality, reason=verdict.reason)
    return flow._replace(detail=verdict.detail, saves=verdict.saves, at_most=verdict.at_most)
