"""The ledger of a live cluster: an observer of calls that feeds it, in memory that does not grow.

While calls end it only adds up, by connection; that goes into the ledger when somebody asks, and every few seconds.
Verdicts are those of when a call ends: what a connection says of its rack later on changes nothing, and of a Produce
that crossed the first record says whether there are keys. The journal looks at both.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_rack.plurals import counted
from mockbroker.core.journal.clients import ObservedClient, observed_client
from mockbroker.core.journal.keys import first_keys
from mockbroker.core.journal.records import FETCH, NO_REPLICA, PRODUCE, SHARE_FETCH, observed, parts_of
from mockbroker.core.outcome import Outcome
from mockbroker.core.response_errors import error_names
from protocol.registry import APIS

if TYPE_CHECKING:
    from kafka_rack.locality.ledger import Ledger
    from kafka_rack.locality.prices import Prices
    from kafka_rack.locality.reasons import LocalityVerdict
    from mockbroker.call import Call
    from mockbroker.state.cluster import Cluster

MAX_CLIENTS = 1_000
"""Clients that are told apart; the rest is added up as one."""
MAX_RACKS = 100
"""Racks that clients name and no broker has; the rest is added up as one."""
MAX_CONNECTIONS = 1_000
"""Connections that are added up by themselves, before all are added to the whole."""
MAX_VERDICTS = 10_000
OTHER_RACKS = "(others)"
NOTHING_TO_SAVE = (None, "redirect", "empty_fetch")
"""Reasons that say nothing of where a client could read instead."""
LENGTH_BYTES = 4
RECORD_KINDS = ("produce", "consume", "replication")
WINDOW_MS, MAX_WINDOWS = 10_000, 120
"""Client bytes that cross are added up by windows, which get twice as long when there are too many."""
SIZE_OF_PRODUCED, ISR_OF_PRODUCED, END_OFFSET, ENTRY = 2, 3, 4, 6
SIZE_OF_FETCHED, ISR_OF_FETCHED, ERROR_OF_FETCHED, PREFERRED = 3, 4, 5, 6
"""Places in ``ProducedPart`` and ``FetchedPart``."""


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
    """What a flow of the ledger has; ``why`` is its locality and reason, ``saves`` for certain and at most."""

    client_rack: str | None
    broker: int
    broker_rack: str | None
    category: str
    why: tuple[str, str | None]
    saves: tuple[bool, bool]


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


class Traffic:
    """What went between racks since the beginning, or since ``clear``.

    Bytes are counted as ``kafka-rack locality`` does: record batches as produce, consume or replication, the rest of
    every frame, with its length field, as other. Replication is counted as records are written: what each follower in
    sync copies of its leader.
    """

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._version = -1
        self._racks: frozenset[str] = frozenset()
        self._leader_racks: dict[str, frozenset[str]] = {}
        self._verdicts: dict[Any, LocalityVerdict] = {}
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.tallies: dict[ObservedClient, dict[Any, list[int]]] = {}
        """What clients moved since the last time that all was added together: calls, bytes asked and bytes answered,
        and bytes of record batches.

        By API key, of answered calls about no records, whose bytes lack their length fields; else by ``TrafficKind``,
        with them. Calls about records whose kind is known by less stand by that too.
        """
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
        self._replicated: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        self._named_racks: set[str] = set()

    def call_ended(self, outcome: Outcome) -> None:
        """Add up how a call ended. The journal, where it has a ``traffic``, tells what it has not added up itself."""
        call = outcome.call
        if outcome.at_ms // self._window_ms != self._window:
            self._fold()
            self._window = outcome.at_ms // self._window_ms
        client = observed_client(call.session)
        output = outcome.output
        answered = len(output[0]) if len(output) == 1 else sum(map(len, output))
        asked = len(call.frame) + LENGTH_BYTES
        api_key = call.api_key
        parts = call.parts
        if parts is None and PRODUCE <= api_key <= FETCH:
            parts = parts_of(outcome)
        if parts:
            self._add_parts(outcome, client, parts, asked, answered)
            return
        if parts is None:
            facts = observed(outcome)
            if facts.errors:
                self._count_errors(api_key, facts.errors)
            if answered and api_key != FETCH:
                self._add(client, api_key, asked - LENGTH_BYTES, answered - LENGTH_BYTES, outcome)
                return
        if api_key == PRODUCE and call.read_request is not None:  # it has gone, and what became of it nobody knows
            size = sum(
                len(one.records or b"") for topic in call.read_request.topic_data for one in topic.partition_data
            )
            self._add(client, self._kind(client, call, "produce"), asked, answered, outcome, size)
            return
        category = "consume" if api_key == FETCH and answered else "other"
        self._add(client, self._kind(client, call, category, whole=False), asked, answered, outcome)

    def _add_parts(self, outcome: Outcome, client: ObservedClient, parts: list[Any], asked: int, answered: int) -> None:
        """Add a Produce or a Fetch, each partition by itself where its verdict depends on that."""
        call = outcome.call
        api_key = call.api_key
        codes: set[int] | None = None
        if api_key == PRODUCE:
            for part in parts:
                isr = part[ISR_OF_PRODUCED]
                if isr and part[END_OFFSET] >= 0:
                    copied = (client.broker_id, isr)
                    sums = self._replicated.get(copied)
                    if sums is None:
                        sums = self._replicated[copied] = [0, 0]
                    sums[0] += 1
                    sums[1] += part[SIZE_OF_PRODUCED]
                if code := part[ENTRY].error_code:
                    codes = {code} if codes is None else codes | {code}
        else:
            for part in parts:
                if code := part[ERROR_OF_FETCHED]:
                    codes = {code} if codes is None else codes | {code}
        if codes is not None:
            self._count_errors(api_key, error_names(codes))
        size = sum([part[SIZE_OF_PRODUCED if api_key == PRODUCE else SIZE_OF_FETCHED] for part in parts])
        if call.replica_id != NO_REPLICA:
            self._add(client, self._kind(client, call, "replication"), asked, answered, outcome, size)
            return
        if not answered and api_key == FETCH:
            self._add(client, self._kind(client, call, "other"), asked, answered, outcome)
            return
        rack, broker_rack = client.rack, client.broker_rack
        if rack is not None and broker_rack is not None and rack != broker_rack:
            self._add_crossing(outcome, client, parts, asked, answered)
            return
        diskless = parts[0][ISR_OF_PRODUCED if api_key == PRODUCE else ISR_OF_FETCHED] is None
        key = (api_key, call.version, diskless)
        tallies = self.tallies.get(client)
        tally = tallies.get(key) if tallies is not None else None
        if tally is None:
            category = "produce" if api_key == PRODUCE else "consume"
            tally = self._tally(client, self._kind(client, call, category, diskless=diskless), outcome)
            self.tallies[client][key] = tally
        tally[0] += 1
        tally[1] += asked
        tally[2] += answered
        tally[3] += size

    def _add_crossing(
        self, outcome: Outcome, client: ObservedClient, parts: list[Any], asked: int, answered: int
    ) -> None:
        """Add each partition's record batches by themselves; what is left of the frames goes with the first."""
        call = outcome.call
        is_produce = call.api_key == PRODUCE
        keyed = first_keys(call.request) if is_produce else {}
        place = SIZE_OF_PRODUCED if is_produce else SIZE_OF_FETCHED
        for part in parts:
            size = part[place]
            if is_produce:
                leaders, index = self._leaders(call.cluster, part[0]), part[ENTRY].index
                kind = self._kind(
                    client,
                    call,
                    "produce",
                    diskless=part[ISR_OF_PRODUCED] is None,
                    leader_here=client.rack in leaders if leaders else None,
                    keyed=keyed.get((part[0], index), keyed.get((part[1], index))),
                )
            else:
                in_sync = racks_of(call.cluster, part[ISR_OF_FETCHED])
                kind = self._kind(
                    client,
                    call,
                    "consume",
                    diskless=part[ISR_OF_FETCHED] is None,
                    redirected=part[PREFERRED] >= 0,
                    replica_here=client.rack in in_sync if in_sync else None,
                    share=call.api_key == SHARE_FETCH,
                )
            sent, received = (size, 0) if is_produce else (0, size)
            is_first = part is parts[0]
            if is_first:
                rest = sum([one[place] for one in parts[1:]])
                sent, received = (asked - rest, answered) if is_produce else (asked, answered - rest)
            self._add(client, kind, sent, received, outcome, size, calls=int(is_first))

    def _add(
        self,
        client: ObservedClient,
        key: int | TrafficKind,
        asked: int,
        answered: int,
        outcome: Outcome,
        size: int = 0,
        *,
        calls: int = 1,
    ) -> None:
        tallies = self.tallies.get(client)
        tally = tallies.get(key) if tallies is not None else None
        if tally is None:
            tally = self._tally(client, key, outcome)
        tally[0] += calls
        tally[1] += asked
        tally[2] += answered
        tally[3] += size

    def _tally(self, client: ObservedClient, key: int | TrafficKind, outcome: Outcome) -> list[int]:
        """Where a client adds up from now on."""
        self._cluster = outcome.call.cluster
        self._look_at(self._cluster)
        if self._first_ms is None:
            self._first_ms = outcome.at_ms
        tallies = self.tallies.get(client)
        if tallies is None:
            if len(self.tallies) >= MAX_CONNECTIONS:
                self._fold()
            tallies = self.tallies[client] = {}
        return tallies.setdefault(key, [0, 0, 0, 0])

    def _kind(self, client: ObservedClient, call: Call, category: str, **facts: Any) -> TrafficKind:
        """What some bytes of a client have in common with others."""
        cluster = call.cluster
        rack, source = client.rack, client.rack_source
        if category == "replication":
            broker = cluster.brokers.get(call.replica_id)
            rack, source = (broker.rack, None) if broker is not None else (None, None)
        self._look_at(cluster)
        api_key = call.api_key
        version = call.version if api_key == FETCH else None
        return TrafficKind(
            api_key, category, rack, source, client.broker_rack, version, self._racks, tuple(facts.items())
        )

    def _look_at(self, cluster: Cluster) -> None:
        """Look at the racks anew where the cluster has changed."""
        if cluster.version != self._version:
            self._version, self._racks = cluster.version, frozenset(cluster.racks())
            self._leader_racks.clear()

    def _leaders(self, cluster: Cluster, name: str) -> frozenset[str]:
        """The racks with leaders of a topic."""
        self._look_at(cluster)
        found = self._leader_racks.get(name)
        if found is None:
            topic = cluster.topics.get(name)
            if topic is None:
                return frozenset()
            led = {partition.leader for partition in topic.partitions}
            found = self._leader_racks[name] = racks_of(cluster, sorted(led))
        return found

    def _count_errors(self, api_key: int, errors: tuple[str, ...]) -> None:
        self._failed[api_key] = self._failed.get(api_key, 0) + 1
        for name in errors:
            key = (api_key if api_key in APIS else -1, name)
            self._errors[key] = self._errors.get(key, 0) + 1

    # adding together

    def _fold(self) -> None:
        """Add what connections have added up to the whole."""
        for client, tallies in self.tallies.items():
            for key, (calls, asked, answered, size) in tallies.items():
                if type(key) is TrafficKind:
                    self._fold_sums(client, key, calls, asked, answered, size)
                elif type(key) is int:
                    lengths = calls * LENGTH_BYTES
                    rack, broker_rack = client.rack, client.broker_rack
                    kind = TrafficKind(key, "other", rack, client.rack_source, broker_rack, None, self._racks, ())
                    self._fold_sums(client, kind, calls, asked + lengths, answered + lengths, 0)
                # else the same sums stand under their kind
        self.tallies.clear()

    def _fold_sums(
        self, client: ObservedClient, kind: TrafficKind, calls: int, asked: int, answered: int, size: int
    ) -> None:
        api_key = kind.api_key if kind.api_key in APIS else -1
        self._calls[api_key] = self._calls.get(api_key, 0) + calls
        of_client = self._client(client)
        of_client.calls += calls
        of_client.rack, of_client.source, of_client.address = client.rack, client.rack_source, client.address
        if kind.category not in RECORD_KINDS:
            self._add_flow(client, kind, calls, asked, answered, 0)
            return
        sent, received = (size, 0) if kind.api_key == PRODUCE else (0, size)
        verdict = self._add_flow(client, kind, calls, sent, received, size)
        self._add_flow(
            client, kind._replace(category="other", version=None, facts=()), 0, asked - sent, answered - received, 0
        )
        if kind.category != "replication":
            of_client.bytes[verdict.locality] += size
            if verdict.reason not in NOTHING_TO_SAVE:
                of_client.reason, of_client.detail = verdict.reason, verdict.detail
            if verdict.locality == "cross" and size:
                self._windows[self._window] = self._windows.get(self._window, 0) + size
                if len(self._windows) > MAX_WINDOWS:
                    self._widen()

    def _widen(self) -> None:
        """Make windows twice as long."""
        windows, self._windows = self._windows, {}
        self._window_ms, self._window = 2 * self._window_ms, self._window // 2
        for window, size in windows.items():
            self._windows[window // 2] = self._windows.get(window // 2, 0) + size

    def _add_flow(
        self, client: ObservedClient, kind: TrafficKind, calls: int, asked: int, answered: int, size: int
    ) -> LocalityVerdict:
        verdict = self._verdict(kind)
        key = FlowKind(
            self._rack_label(kind.rack), client.broker_id, client.broker_rack, kind.category, verdict[:2], verdict[2:4]
        )
        sums = self._flows.setdefault(key, [0, 0, 0, 0])
        for place, value in enumerate((calls, asked, answered, size)):
            sums[place] += value
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
            return OTHER_RACKS
        self._named_racks.add(rack)
        return rack

    # reading

    def ledger(self) -> Ledger:
        """All of it as a ledger: one window, without client ids, topics and partitions, which would make it grow."""
        from kafka_rack.locality.ledger import Ledger
        from kafka_rack.locality.traffic import TrafficKey

        self._fold()
        ledger = Ledger()
        for kind, (calls, asked, answered, size) in {**self._flows, **self._replication()}.items():
            (locality, reason), (saves, at_most) = kind.why, kind.saves
            key = TrafficKey(
                0,
                "",
                kind.category,
                "",
                client_rack=kind.client_rack,
                broker=kind.broker,
                broker_rack=kind.broker_rack,
                locality=locality,
                reason=reason,
                saves=saves,
                at_most=at_most,
            )
            ledger.add({key: (calls, asked, answered, size, 0, 0)})
        known = ledger.completeness
        known.spans = [(self._first_ms * 1000, self._last_ms() * 1000)] if self._first_ms is not None else []
        known.unknown_clients = {key for key, sums in self._clients.items() if sums.bytes["unknown"]}
        return ledger

    def _last_ms(self) -> int:
        return self._cluster.now_ms if self._cluster is not None else 0

    def snapshot(self, prices: Prices | None = None, now_ms: int | None = None) -> dict[str, Any]:
        """All of it as JSON has it.

        Args:
            prices: what crossing costs; ``Prices()`` unless given.
            now_ms: until when the pace is taken for that of a month; if not given, until the last call.

        ``summary`` is that of ``kafka_rack.locality.summary``: the headline, what is avoidable and how, replication;
        ``completeness`` says in a line what is missing. ``flows`` has ``client_rack``, ``broker``, ``broker_rack``
        (None where not known; of replication the follower's and the leader's), ``category``, ``locality``, ``reason``,
        ``avoidable``, ``calls``, ``request_bytes``, ``response_bytes``, ``bytes``, ``cost`` and ``cost_text``. ``apis``
        has ``api``, ``error`` ("" for calls without one) and ``calls``. ``clients`` has each client's record batches by
        locality and the reason that its bytes had last. Money is text, of what crossed until now; ``cost_text`` is what
        it comes to in a month, or what was measured where less than a minute has passed.
        """
        from kafka_rack.locality.amounts import Pace, plain
        from kafka_rack.locality.prices import Prices
        from kafka_rack.locality.summary import summary_of
        from kafka_rack.locality.traffic import prices_in_month, traffic_row

        ledger = self.ledger()
        span_us = (max(self._last_ms(), now_ms or 0) - self._first_ms) * 1000 if self._first_ms is not None else 0
        pace = Pace.of(span_us, self._windows.values(), self._window_ms * 1000)
        prices = prices_in_month(ledger.flows, prices or Prices(), pace)
        rows = [traffic_row(key, amounts, prices) for key, amounts in ledger.flows.items()]
        flows = [
            {
                **{name: row[name] for name in FLOW_COLUMNS},
                "avoidable": "yes" if key.saves else "perhaps" if key.at_most else "no" if key.reason else None,
                "cost": plain(row["cost"]),
                "cost_text": pace.money(row["cost"], prices.currency),
            }
            for key, row in zip(ledger.flows, rows, strict=True)
        ]
        return {
            "since_ms": self._first_ms,
            "until_ms": self._last_ms() if self._first_ms is not None else None,
            "calls": sum(self._calls.values()),
            "bytes": sum(row["bytes"] for row in rows),
            "summary": summary_of(rows, pace, prices.currency),
            "completeness": ledger.completeness.line(counted(sum(self._calls.values()), "call")),
            "flows": sorted(flows, key=lambda row: (-row["bytes"], *map(str, row.values()))),
            "apis": self._apis(),
            "clients": [client_json(key, sums) for key, sums in self._clients.items()]
            + ([client_json(("", ""), self._other)] if self._other.calls else []),
            "currency": prices.currency,
        }

    def _replication(self) -> dict[FlowKind, list[int]]:
        """What followers copied from their leaders, by their racks; together with followers that really fetched."""
        found = {kind: list(sums) for kind, sums in self._flows.items() if kind.category == "replication"}
        brokers = self._cluster.brokers if self._cluster is not None else {}
        for (leader, isr), (calls, size) in self._replicated.items():
            leader_rack = brokers[leader].rack if leader in brokers else None
            for follower in isr:
                if follower == leader or follower not in brokers:
                    continue
                rack = brokers[follower].rack
                verdict = self._verdict(
                    TrafficKind(FETCH, "replication", rack, None, leader_rack, None, self._racks, ())
                )
                kind = FlowKind(rack, leader, leader_rack, "replication", verdict[:2], verdict[2:4])
                sums = found.setdefault(kind, [0, 0, 0, 0])
                for place, value in enumerate((calls, 0, size, size)):
                    sums[place] += value
        return found

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


def racks_of(cluster: Cluster, brokers: Any) -> frozenset[str]:
    """The racks of these brokers."""
    known = cluster.brokers
    return frozenset(rack for one in brokers or () if one in known and (rack := known[one].rack) is not None)
