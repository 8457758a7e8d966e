"""What a live cluster's ledger has: flows by client, topic and partition in bounded memory, and how they are read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_rack.plurals import counted
from mockbroker.core.journal.clients import ObservedClient
from mockbroker.core.journal.records import FETCH, PRODUCE
from protocol.registry import APIS

if TYPE_CHECKING:
    from kafka_rack.locality.ledger import Ledger
    from kafka_rack.locality.prices import Prices
    from kafka_rack.locality.reasons import LocalityVerdict
    from kafka_rack.locality.traffic import TrafficKey
    from mockbroker.state.cluster import Cluster

MAX_FLOWS = 10_000
"""Flows by client id, topic and partition; further ones are added up in rows of ``OTHERS``, by racks and broker."""
MAX_CLIENTS = 1_000
"""Clients that are listed separately; the rest is added up as one."""
MAX_RACKS = 100
"""Racks that clients name and no broker has; the rest is added up as one."""
MAX_VERDICTS = 10_000
MAX_CROSSINGS = 100
"""Clients and topics that a snapshot lists by the bytes that crossed."""
OTHERS = "(others)"
NOTHING_TO_SAVE = (None, "redirect", "empty_fetch")
"""Reasons that say nothing of where a client could read instead."""
RECORD_KINDS = ("produce", "consume", "replication")
WINDOW_MS, MAX_WINDOWS = 10_000, 120
"""Client bytes that cross are added up by windows, which get twice as long when there are too many."""
TopicPartition = tuple[str | None, int | None]


FLOW_COLUMNS = (
    *("client_rack", "broker", "broker_rack", "category", "locality", "reason", "calls", "request_bytes"),
    *("response_bytes", "bytes"),
)
"""Columns of ``traffic`` that a snapshot's flows have."""


class TrafficKind(NamedTuple):
    """What bytes have in common that are added up: an API, whose they are, and all that a verdict takes.

    ``rack`` is the client's, of replication the follower's; ``facts`` are names and values of further ``Facts``.
    """

    api_key: int
    category: str
    rack: str | None
    source: str | None
    broker_rack: str | None
    version: int | None
    cluster_racks: frozenset[str]
    facts: tuple[tuple[str, Any], ...]


class FlowKind(NamedTuple):
    """What a flow of the ledger has; ``why`` is its locality and reason, ``saves`` for certain and at most.

    ``client_id`` is None for what followers copied, ``topic`` and ``partition`` for what is no record batch.
    """

    client_rack: str | None
    broker: int
    broker_rack: str | None
    category: str
    why: tuple[str, str | None]
    saves: tuple[bool, bool]
    client_id: str | None = None
    topic: str | None = None
    partition: int | None = None


PAIR, PAIR_AND_TOPIC = 6, 8
"""How many fields of ``FlowKind`` say between which racks and why; and how many with the client id and the topic."""


class ClientSums:
    """What record batches one client moved, and what is known of it last."""

    __slots__ = ("address", "bytes", "calls", "detail", "is_other", "rack", "reason", "source")

    def __init__(self, *, is_other: bool = False) -> None:
        self.calls = 0
        self.bytes = {"local": 0, "cross": 0, "unknown": 0}
        self.rack: str | None = None
        self.source: str | None = None
        self.address = ""
        self.reason: str | None = None
        self.detail: str | None = None
        self.is_other = is_other

    def add(self, other: ClientSums) -> None:
        """Take what another moved."""
        self.calls += other.calls
        for locality, size in other.bytes.items():
            self.bytes[locality] += size


class FlowTotals:
    """What went between racks since the start, or since ``clear``."""

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._version = -1
        self._racks: frozenset[str] = frozenset()
        self._verdicts: dict[Any, LocalityVerdict] = {}
        self.clear()

    def clear(self) -> None:
        """Forget what went."""
        self._first_ms: int | None = None
        self._flows: dict[FlowKind, list[int]] = {}
        self._windows: dict[int, int] = {}
        self._window_ms = WINDOW_MS
        self._window = 0
        self._calls: dict[int, int] = {}
        self._failed: dict[int, int] = {}
        self._errors: dict[tuple[int, str], int] = {}
        self._clients: OrderedDict[tuple[str, str], ClientSums] = OrderedDict()
        self._other = ClientSums(is_other=True)
        self._named_racks: set[str] = set()

    def _fold(self) -> None:
        """Add what an observer has not added yet."""

    # adding

    def _fold_sums(
        self,
        client: ObservedClient,
        kind: TrafficKind,
        partition: TopicPartition,
        calls: int,
        asked: int,
        answered: int,
        size: int,
    ) -> None:
        api_key = kind.api_key if kind.api_key in APIS else -1
        self._calls[api_key] = self._calls.get(api_key, 0) + calls
        of_client = self._client(client)
        of_client.calls += calls
        of_client.rack, of_client.source, of_client.address = client.rack, client.rack_source, client.address
        client_id = client.client_id
        if kind.category not in RECORD_KINDS:
            self._add_flow(client, kind, (client_id, None, None), calls, asked, answered, 0)
            return
        sent, received = (size, 0) if kind.api_key == PRODUCE else (0, size)
        verdict = self._add_flow(client, kind, (client_id, *partition), calls, sent, received, size)
        rest = kind._replace(category="other", version=None, facts=())
        self._add_flow(client, rest, (client_id, None, None), 0, asked - sent, answered - received, 0)
        if kind.category != "replication":
            of_client.bytes[verdict.locality] += size
            if verdict.reason not in NOTHING_TO_SAVE:
                of_client.reason, of_client.detail = verdict.reason, verdict.detail
            if verdict.locality == "cross" and size:
                self._windows[self._window] = self._windows.get(self._window, 0) + size
                if len(self._windows) > MAX_WINDOWS:
                    self._widen()

    def _fold_copies(self, leader: ObservedClient, partition: TopicPartition, isr: tuple[int, ...], size: int) -> None:
        """Add what the followers in sync copied from the leader that a client wrote to."""
        brokers = self._cluster.brokers if self._cluster is not None else {}
        for follower in isr:
            if follower != leader.broker_id and follower in brokers:
                rack = brokers[follower].rack
                kind = TrafficKind(FETCH, "replication", rack, None, leader.broker_rack, None, self._racks, ())
                self._add_flow(leader, kind, (None, *partition), 0, 0, size, size)

    def _widen(self) -> None:
        """Make windows twice as long."""
        windows, self._windows = self._windows, {}
        self._window_ms, self._window = 2 * self._window_ms, self._window // 2
        for window, size in windows.items():
            self._windows[window // 2] = self._windows.get(window // 2, 0) + size

    def _add_flow(
        self,
        client: ObservedClient,
        kind: TrafficKind,
        whose: tuple[str | None, str | None, int | None],
        calls: int,
        asked: int,
        answered: int,
        size: int,
    ) -> LocalityVerdict:
        verdict = self._verdict(kind)
        why, saves = verdict[:2], verdict[2:4]
        rack = self._rack_label(kind.rack)
        key = FlowKind(rack, client.broker_id, client.broker_rack, kind.category, why, saves, *whose)
        sums = self._flows.get(key)
        if sums is None:
            if len(self._flows) >= MAX_FLOWS:
                key = key._replace(client_id=OTHERS, topic=OTHERS if whose[1] is not None else None, partition=None)
            sums = self._flows.setdefault(key, [0, 0, 0, 0])
        sums[0] += calls
        sums[1] += asked
        sums[2] += answered
        sums[3] += size
        return verdict

    def _verdict(self, kind: TrafficKind) -> LocalityVerdict:
        """What ``kafka_rack.locality`` says of bytes of a kind."""
        key = kind[1:]
        found = self._verdicts.get(key)
        if found is None:
            if len(self._verdicts) > MAX_VERDICTS:
                self._verdicts.clear()
            found = self._verdicts[key] = verdict_of(kind)
        return found

    def _client(self, client: ObservedClient) -> ClientSums:
        """Where a client is added up; the one that was heard of longest ago goes to the others."""
        key = (client.client_id or "", client.rack or "")
        found = self._clients.get(key)
        if found is None:
            found = self._clients[key] = ClientSums()
            if len(self._clients) > MAX_CLIENTS:
                self._other.add(self._clients.popitem(last=False)[1])
        else:
            self._clients.move_to_end(key)
        return found

    def _rack_label(self, rack: str | None) -> str | None:
        if rack is None:
            return None
        if self._cluster is not None and rack in self._cluster.racks():
            return rack
        if rack not in self._named_racks and len(self._named_racks) >= MAX_RACKS:
            return OTHERS
        self._named_racks.add(rack)
        return rack

    # reading

    def ledger(self) -> Ledger:
        """All of it as a ledger, in one window."""
        self._fold()
        return self._ledger_of(self._flows)

    def _ledger_of(self, flows: Mapping[FlowKind, list[int]]) -> Ledger:
        from kafka_rack.locality.ledger import Ledger
        from kafka_rack.locality.traffic import TrafficKey

        ledger = Ledger()
        ledger.add(
            {
                TrafficKey(
                    0,
                    "",
                    kind.category,
                    "",
                    client_id=kind.client_id,
                    topic=kind.topic,
                    partition=kind.partition,
                    client_rack=kind.client_rack,
                    broker=kind.broker,
                    broker_rack=kind.broker_rack,
                    locality=kind.why[0],
                    reason=kind.why[1],
                    saves=kind.saves[0],
                    at_most=kind.saves[1],
                ): (*sums, 0, 0)
                for kind, sums in flows.items()
            }
        )
        known = ledger.completeness
        known.spans = [(self._first_ms * 1000, self._last_ms() * 1000)] if self._first_ms is not None else []
        known.unknown_clients = {key for key, sums in self._clients.items() if sums.bytes["unknown"]}
        return ledger

    def _added(self, fields: int) -> dict[FlowKind, list[int]]:
        """The flows added up by so many fields of theirs."""
        found: dict[Any, list[int]] = {}
        for kind, amounts in self._flows.items():
            sums = found.get(kind[:fields])
            if sums is None:
                found[kind[:fields]] = amounts.copy()
            else:
                for place, value in enumerate(amounts):
                    sums[place] += value
        return {FlowKind(*key): sums for key, sums in found.items()}

    def _crossed(self) -> dict[FlowKind, list[int]]:
        """The client traffic that crossed by client and topic, the most first; of many the last are added up."""
        crossed = [
            (kind, sums)
            for kind, sums in self._added(PAIR_AND_TOPIC).items()
            if kind.why[0] == "cross" and kind.category in ("produce", "consume") and sums[3]
        ]
        crossed.sort(key=lambda one: (-one[1][3], *map(str, one[0])))
        found = dict(crossed[:MAX_CROSSINGS])
        for kind, sums in crossed[MAX_CROSSINGS:]:
            rest = found.setdefault(kind._replace(client_id=OTHERS, topic=OTHERS), [0, 0, 0, 0])
            for place, value in enumerate(sums):
                rest[place] += value
        return found

    def _last_ms(self) -> int:
        return self._cluster.now_ms if self._cluster is not None else 0

    def snapshot(self, prices: Prices | None = None, now_ms: int | None = None) -> dict[str, Any]:
        """All of it as JSON has it.

        Args:
            prices: what crossing costs; ``Prices()`` unless given.
            now_ms: until when the pace is taken for that of a month; if not given, until the last call.

        ``summary`` is that of ``kafka_rack.locality.summary``: the headline, what is avoidable and how, replication.
        ``completeness`` is a line that says what is missing. ``flows`` has ``client_rack``, ``broker``, ``broker_rack``
        (None if unknown; of replication the follower's and the leader's), ``category``, ``locality``, ``reason``,
        ``avoidable``, ``calls``, ``request_bytes``, ``response_bytes``, ``bytes``, ``cost`` and ``cost_text``.
        ``crossings`` has the same of client traffic that crossed, with ``client_id``, ``topic`` and the ``action``, the
        most bytes first. ``apis`` has ``api``, ``error`` ("" for calls without one) and ``calls``. ``clients`` has each
        client's record batches by locality, and its last reason. Money is text, of what crossed until now;
        ``cost_text`` is what it comes to in a month, or what was measured if less than a minute has passed.
        """
        from kafka_rack.locality.amounts import Pace, plain
        from kafka_rack.locality.prices import Prices
        from kafka_rack.locality.reasons import REASONS
        from kafka_rack.locality.summary import summary_of
        from kafka_rack.locality.traffic import prices_in_month, traffic_row

        self._fold()
        ledger = self._ledger_of(self._added(PAIR))
        span_us = (max(self._last_ms(), now_ms or 0) - self._first_ms) * 1000 if self._first_ms is not None else 0
        pace = Pace.of(span_us, self._windows.values(), self._window_ms * 1000)
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
        """The clients; connections without records and rack count with their client's others."""
        found = {key: client_json(key, sums) for key, sums in self._clients.items()}
        known = {client_id: key for key in found if (client_id := key[0]) and key[1]}
        for key, sums in self._clients.items():
            if not key[1] and key[0] in known and not any(sums.bytes.values()):
                found[known[key[0]]]["calls"] += found.pop(key)["calls"]
        return [*found.values(), *([client_json(("", ""), self._other)] if self._other.calls else [])]

    def _apis(self) -> list[dict[str, Any]]:
        rows = []
        for api_key, calls in sorted(self._calls.items()):
            api = APIS[api_key][1] if api_key in APIS else ""
            rows.append({"api": api, "error": "", "calls": calls - self._failed.get(api_key, 0)})
            named = sorted((name, number) for (key, name), number in self._errors.items() if key == api_key)
            rows += [{"api": api, "error": name, "calls": number} for name, number in named]
        return rows


def client_json(key: tuple[str, str], sums: ClientSums) -> dict[str, Any]:
    return {
        "client_id": key[0] if not sums.is_other else None,
        "client_rack": sums.rack,
        "client_rack_source": sums.source,
        "client_address": sums.address,
        "calls": sums.calls,
        "local_bytes": sums.bytes["local"],
        "cross_bytes": sums.bytes["cross"],
        "unknown_bytes": sums.bytes["unknown"],
        "reason": sums.reason,
        "detail": sums.detail,
        "is_other": sums.is_other,
    }


def verdict_of(kind: TrafficKind) -> LocalityVerdict:
    from kafka_rack.locality.reasons import Facts, judge

    told = kind.rack if kind.category != "replication" and kind.source != "racks_file" else None
    return judge(
        Facts(
            category=kind.category,
            client_rack=kind.rack,
            told_rack=told,
            told_in="client_id" if kind.source == "client.id" else kind.source if told else None,
            broker_rack=kind.broker_rack,
            api_version=kind.version,
            cluster_racks=kind.cluster_racks,
            **dict(kind.facts),
        )
    )
