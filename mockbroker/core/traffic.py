"""Bytes and calls between racks, of clients and by API, in memory that does not grow: an observer of calls.

While calls end it only adds up, by connection; that goes together by rack, client and API when somebody asks. Verdicts
are ``kafka_rack.locality``'s, of what is known when a call ends: what a connection says of its rack later on changes
nothing, and of a Produce that crossed the first record says whether there are keys. The journal looks at both.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.core.journal.clients import ObservedClient, observed_client
from mockbroker.core.journal.records import FETCH, NO_REPLICA, PRODUCE, SHARE_FETCH, observed, parts_of
from mockbroker.core.outcome import Outcome
from mockbroker.core.response_errors import error_names
from protocol.registry import APIS

if TYPE_CHECKING:
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
UNSAVED = "no"
SIZE_OF_PRODUCED, ISR_OF_PRODUCED, END_OFFSET, ENTRY = 2, 3, 4, 6
SIZE_OF_FETCHED, ISR_OF_FETCHED, ERROR_OF_FETCHED, PREFERRED = 3, 4, 5, 6
"""Places in ``ProducedPart`` and ``FetchedPart``."""


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


class ClientSums:
    """What one client moved, and what is known of it last."""

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

    Bytes are those of frames with their length fields, as ``kafka-rack pipeline locality`` counts them. Replication is
    counted as records are written: what each follower in sync copies of its leader.
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
        """What clients moved since the last time that all was added together: calls, bytes asked and bytes answered.

        By API key, of answered calls about no records, whose bytes lack their length fields; else by ``TrafficKind``,
        with them. Calls about records whose kind is known by less stand by that too.
        """
        self._first_ms: int | None = None
        self._pairs: dict[tuple[str, str, str, str, str], list[int]] = {}
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
            self._add(client, self._kind(client, call, "produce"), asked, answered, outcome)
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
        if call.replica_id != NO_REPLICA:
            self._add(client, self._kind(client, call, "replication"), asked, answered, outcome)
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

    def _add_crossing(
        self, outcome: Outcome, client: ObservedClient, parts: list[Any], asked: int, answered: int
    ) -> None:
        from kafka_rack.byte_shares import shares

        call = outcome.call
        none = [0] * len(parts)
        own = [part[SIZE_OF_PRODUCED if call.api_key == PRODUCE else SIZE_OF_FETCHED] for part in parts]
        is_produce = call.api_key == PRODUCE
        keyed = first_keys(call.request) if is_produce else {}
        requests = shares(asked, own if is_produce else none)
        answers = shares(answered, none if is_produce else own)
        for part, request_bytes, response_bytes in zip(parts, requests, answers, strict=True):
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
            self._add(client, kind, request_bytes, response_bytes, outcome, calls=part is parts[0])

    def _add(
        self,
        client: ObservedClient,
        key: int | TrafficKind,
        asked: int,
        answered: int,
        outcome: Outcome,
        *,
        calls: bool = True,
    ) -> None:
        tallies = self.tallies.get(client)
        tally = tallies.get(key) if tallies is not None else None
        if tally is None:
            tally = self._tally(client, key, outcome)
        tally[0] += calls
        tally[1] += asked
        tally[2] += answered

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
        return tallies.setdefault(key, [0, 0, 0])

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
            for key, (calls, asked, answered) in tallies.items():
                if type(key) is TrafficKind:
                    self._fold_sums(client, key, (calls, asked, answered))
                elif type(key) is int:
                    lengths = calls * LENGTH_BYTES
                    rack, broker_rack = client.rack, client.broker_rack
                    kind = TrafficKind(key, "other", rack, client.rack_source, broker_rack, None, self._racks, ())
                    self._fold_sums(client, kind, (calls, asked + lengths, answered + lengths))
                # else the same sums stand under their kind
        self.tallies.clear()

    def _fold_sums(self, client: ObservedClient, kind: TrafficKind, sums: tuple[int, int, int]) -> None:
        verdict = self._verdict(kind)
        api_key = kind.api_key if kind.api_key in APIS else -1
        self._calls[api_key] = self._calls.get(api_key, 0) + sums[0]
        rack = self._rack_label(kind.rack)
        pair = (rack, client.broker_rack or "", kind.category, verdict.locality, avoidable_of(verdict) or "")
        whole = self._pairs.setdefault(pair, [0, 0, 0])
        for place, value in enumerate(sums):
            whole[place] += value
        of_client = self._client(client)
        of_client.calls += sums[0]
        of_client.bytes[verdict.locality] += sums[1] + sums[2]
        of_client.rack, of_client.source, of_client.address = client.rack, client.rack_source, client.address
        if kind.category != "other" and verdict.reason not in NOTHING_TO_SAVE:
            of_client.reason, of_client.detail = verdict.reason, verdict.detail

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

    def _rack_label(self, rack: str | None) -> str:
        if rack is None:
            return ""
        if self._cluster is not None and rack in self._cluster.racks():
            return rack
        if rack not in self._named_racks and len(self._named_racks) >= MAX_RACKS:
            return OTHER_RACKS
        self._named_racks.add(rack)
        return rack

    # reading

    def snapshot(self, prices: Prices | None = None, now_ms: int | None = None) -> dict[str, Any]:
        """All of it as JSON has it.

        Args:
            prices: what crossing costs; ``Prices()`` unless given.
            now_ms: until when the pace is taken for that of a month; if not given, until the last call.

        ``rack_pairs`` has ``client_rack``, ``broker_rack`` ("" where not known; of replication the follower's and the
        leader's), ``category``, ``locality``, ``avoidable``, ``calls``, ``request_bytes``, ``response_bytes``,
        ``bytes``, ``cost`` and ``month``. ``apis`` has ``api``, ``error`` ("" for calls without one) and ``calls``.
        ``clients`` has each client's bytes by locality and the reason that its bytes had last. Money is of bytes that
        are known to cross; ``month`` is None until some time has passed.
        """
        from kafka_rack.locality.amounts import in_a_month
        from kafka_rack.locality.prices import NOTHING, Prices

        prices = prices or Prices()
        self._fold()
        last_ms = self._cluster.now_ms if self._cluster is not None else 0
        span_us = (max(last_ms, now_ms or 0) - self._first_ms) * 1000 if self._first_ms is not None else 0
        pairs, whole = [], NOTHING
        sums = {"local": 0, "cross": 0, "unknown": 0}
        for key, (calls, asked, answered) in sorted({**self._pairs, **self._replication_pairs()}.items()):
            client_rack, broker_rack, category, locality, avoidable = key
            cost = NOTHING
            if locality == "cross":
                replication = category == "replication"
                there = prices.cost(client_rack, broker_rack, asked, replication=replication)
                cost = there + prices.cost(broker_rack, client_rack, answered, replication=replication)
            whole += cost
            sums[locality] += asked + answered
            month = in_a_month(cost, span_us)
            pairs.append(
                {
                    "client_rack": client_rack,
                    "broker_rack": broker_rack,
                    "category": category,
                    "locality": locality,
                    "avoidable": avoidable,
                    "calls": calls,
                    "request_bytes": asked,
                    "response_bytes": answered,
                    "bytes": asked + answered,
                    "cost": float(cost),
                    "month": None if month is None else float(month),
                }
            )
        month = in_a_month(whole, span_us)
        return {
            "since_ms": self._first_ms,
            "until_ms": last_ms if self._first_ms is not None else None,
            "calls": sum(self._calls.values()),
            "bytes": sum(sums.values()),
            **{f"{locality}_bytes": size for locality, size in sums.items()},
            "rack_pairs": pairs,
            "apis": self._apis(),
            "clients": [client_json(key, sums) for key, sums in self._clients.items()]
            + ([client_json(("", ""), self._other)] if self._other.calls else []),
            "currency": prices.currency,
            "cost": float(whole),
            "month": None if month is None else float(month),
        }

    def _replication_pairs(self) -> dict[tuple[str, str, str, str, str], list[int]]:
        """What followers copied from their leaders, by their racks; together with followers that really fetched."""
        found: dict[tuple[str, str, str, str, str], list[int]] = {
            key: list(sums) for key, sums in self._pairs.items() if key[2] == "replication"
        }
        brokers = self._cluster.brokers if self._cluster is not None else {}
        for (leader, isr), (calls, size) in self._replicated.items():
            leader_rack = brokers[leader].rack if leader in brokers else None
            for follower in isr:
                if follower == leader or follower not in brokers:
                    continue
                rack = brokers[follower].rack
                locality = locality_of(rack, leader_rack)
                key = (rack or "", leader_rack or "", "replication", locality, "" if locality == "local" else UNSAVED)
                sums = found.setdefault(key, [0, 0, 0])
                sums[0] += calls
                sums[2] += size
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


def avoidable_of(verdict: LocalityVerdict) -> str | None:
    """Whether what the reason names would have kept the bytes in; None where they stayed in."""
    if verdict.reason is None:
        return None
    return "yes" if verdict.saves else "perhaps" if verdict.at_most else "no"


def locality_of(client_rack: str | None, broker_rack: str | None) -> str:
    """As ``judge`` has it: it depends on nothing but the two racks."""
    if client_rack is None or broker_rack is None:
        return "unknown"
    return "local" if client_rack == broker_rack else "cross"


def racks_of(cluster: Cluster, brokers: Any) -> frozenset[str]:
    """The racks of these brokers."""
    known = cluster.brokers
    return frozenset(rack for one in brokers or () if one in known and (rack := known[one].rack) is not None)


def first_keys(request: Any) -> dict[tuple[str | bytes, int], bool | None]:
    """Whether the first record of each partition of a Produce has a key; None where that takes decompressing."""
    return {
        (topic.name or topic.topic_id, one.index): first_has_key(one.records or b"")
        for topic in request.topic_data
        for one in topic.partition_data
    }


def first_has_key(records: bytes) -> bool | None:
    """The same of one batch of magic 2 that is not compressed; None of all others."""
    if len(records) < 66 or records[16] != 2 or records[22] & 7:
        return None
    at = 61
    try:
        for field in range(4):  # length, attributes, time and offset within the batch: all but the attributes vary
            if field == 1:
                at += 1
                continue
            while records[at] > 127:
                at += 1
            at += 1
        return not records[at] & 1
    except IndexError:
        return None
