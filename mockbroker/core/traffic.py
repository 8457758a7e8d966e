"""The ledger of a live cluster: an observer of calls that feeds it, in bounded memory.

When a call ends its bytes are only added up, by connection and partition. They go into the ledger every few seconds and
when the ledger is read. A verdict is that of the moment when the call ended: a rack that the connection names later
changes nothing, and the first record of a Produce that crossed says whether there are keys. The journal looks at both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mockbroker.core.journal.clients import ObservedClient, observed_client
from mockbroker.core.journal.keys import first_keys
from mockbroker.core.journal.records import FETCH, NO_REPLICA, PRODUCE, SHARE_FETCH, observed, parts_of
from mockbroker.core.outcome import Outcome
from mockbroker.core.response_errors import error_names
from mockbroker.core.traffic_totals import FlowTotals, TrafficKind
from protocol.registry import APIS

if TYPE_CHECKING:
    from mockbroker.call import Call
    from mockbroker.state.cluster import Cluster

MAX_CONNECTIONS, MAX_TALLIES = 1_000, 5_000
"""Connections, and partitions of connections, with sums of their own before all are added to the ledger."""
LENGTH_BYTES = 4
SIZE_OF_PRODUCED, ISR_OF_PRODUCED, END_OFFSET, ENTRY = 2, 3, 4, 6
INDEX_OF_FETCHED, ERROR_OF_FETCHED, PREFERRED = 2, 5, 6
"""Places in ``ProducedPart`` and ``FetchedPart``."""
NOT_APPENDED: tuple[int, ...] = ()
"""Stands for the replicas in sync of records that no log has, and that no follower copies."""


class Traffic(FlowTotals):
    """What went between racks since the start, or since ``clear``.

    Bytes are counted as ``kafka-rack locality`` does: record batches as produce, consume or replication, the rest of
    every frame, with its length field, as other. Replication is counted as records are written: what each follower in
    sync copies of its leader.
    """

    def __init__(self) -> None:
        self._leader_racks: dict[str | None, frozenset[str]] = {}
        super().__init__()

    def clear(self) -> None:
        """Forget what went."""
        super().clear()
        self.tallies: dict[ObservedClient, dict[Any, list[Any]]] = {}
        """What clients moved since all was last added to the ledger: calls, bytes of requests, of responses and of
        record batches; then kind, topic, partition, and the replicas in sync that copied it.

        The keys are API keys for answered calls about no records, whose bytes lack their length fields; a
        ``TrafficKind`` for calls without partitions; and for partitions what decides their kind.
        """
        self._held = 0

    def call_ended(self, outcome: Outcome) -> None:
        """Add up how a call ended. A journal with a ``traffic`` calls this for what it has not added up itself."""
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
        if api_key == PRODUCE and call.read_request is not None:  # it was sent on, and its outcome is unknown
            size = sum(
                len(one.records or b"") for topic in call.read_request.topic_data for one in topic.partition_data
            )
            self._add(client, self._kind(client, call, "produce"), asked, answered, outcome, size)
            return
        category = "consume" if api_key == FETCH and answered else "other"
        self._add(client, self._kind(client, call, category, whole=False), asked, answered, outcome)

    def _add_parts(self, outcome: Outcome, client: ObservedClient, parts: list[Any], asked: int, answered: int) -> None:
        """Add the record batches of each partition; both frames go with the first."""
        call = outcome.call
        api_key, version, cluster_version = call.api_key, call.version, 0
        is_produce = api_key == PRODUCE
        keyed: Mapping[Any, bool | None] = {}
        rack, broker_rack = client.rack, client.broker_rack
        crosses = rack is not None and broker_rack is not None and rack != broker_rack
        if crosses:
            self._look_at(call.cluster)
            cluster_version = self._version
            if is_produce:
                keyed = first_keys(call.request)
        tallies = self.tallies.get(client)
        if tallies is None:
            tallies = self._tallies(client, outcome)
        codes: set[int] | None = None
        is_first = True
        for part in parts:
            if is_produce:
                entry, size, isr = part[ENTRY], part[SIZE_OF_PRODUCED], part[ISR_OF_PRODUCED]
                index, code = entry.index, entry.error_code
                if isr and part[END_OFFSET] < 0:
                    isr = NOT_APPENDED
            else:
                index, size, isr, code = part[INDEX_OF_FETCHED : ERROR_OF_FETCHED + 1]
            if code:
                codes = {code} if codes is None else codes | {code}
            if not (size or is_first or crosses):
                continue
            key: tuple[Any, ...]
            if crosses:
                detail = (
                    keyed.get((part[0], index), keyed.get((part[1], index))) if is_produce else part[PREFERRED] >= 0
                )
                key = (api_key, version, part[0], index, isr, cluster_version, detail)
            else:
                detail = None
                key = (api_key, version, part[0], index, isr)
            tally = tallies.get(key)
            if tally is None:
                kind = self._kind_of_part(client, call, part[0], isr, detail, is_answered=answered > 0)
                tally = tallies[key] = [0, 0, 0, 0, kind, part[0], index, isr if is_produce else None]
                self._held += 1
            if is_first:
                is_first = False
                tally[0] += 1
                tally[1] += asked
                tally[2] += answered
            tally[3] += size
        if codes is not None:
            self._count_errors(api_key, error_names(codes))
        if self._held > MAX_TALLIES:
            self._fold()

    def _kind_of_part(
        self,
        client: ObservedClient,
        call: Call,
        topic: str | None,
        isr: tuple[int, ...] | None,
        detail: bool | None,
        *,
        is_answered: bool,
    ) -> TrafficKind:
        """What a partition's record batches have in common with others.

        Args:
            isr: None for a diskless topic.
            detail: for a Produce whether records have keys, for a Fetch whether it was redirected.
        """
        if call.replica_id != NO_REPLICA:
            return self._kind(client, call, "replication")
        is_diskless = isr is None
        if call.api_key == PRODUCE:
            leaders = self._leaders(call.cluster, topic)
            leader_here = client.rack in leaders if leaders else None
            return self._kind(client, call, "produce", diskless=is_diskless, leader_here=leader_here, keyed=detail)
        if call.api_key == FETCH and not is_answered:
            return self._kind(client, call, "other")
        in_sync = racks_of(call.cluster, isr)
        return self._kind(
            client,
            call,
            "consume",
            diskless=is_diskless,
            redirected=bool(detail),
            replica_here=client.rack in in_sync if in_sync else None,
            share=call.api_key == SHARE_FETCH,
        )

    def _add(
        self, client: ObservedClient, key: int | TrafficKind, asked: int, answered: int, outcome: Outcome, size: int = 0
    ) -> None:
        tallies = self.tallies.get(client)
        if tallies is None:
            tallies = self._tallies(client, outcome)
        tally = tallies.get(key)
        if tally is None:
            tally = tallies[key] = [0, 0, 0, 0, key, None, None, None]
        tally[0] += 1
        tally[1] += asked
        tally[2] += answered
        tally[3] += size

    def _tallies(self, client: ObservedClient, outcome: Outcome) -> dict[Any, list[Any]]:
        """Where a client adds up from now on."""
        self._cluster = outcome.call.cluster
        self._look_at(self._cluster)
        if self._first_ms is None:
            self._first_ms = outcome.at_ms
        if len(self.tallies) >= MAX_CONNECTIONS:
            self._fold()
        return self.tallies.setdefault(client, {})

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
        """Look at the racks again if the cluster has changed."""
        if cluster.version != self._version:
            self._version, self._racks = cluster.version, frozenset(cluster.racks())
            self._leader_racks.clear()

    def _leaders(self, cluster: Cluster, name: str | None) -> frozenset[str]:
        """The racks with leaders of a topic."""
        self._look_at(cluster)
        found = self._leader_racks.get(name)
        if found is None:
            topic = cluster.topics.get(name) if name is not None else None
            if name is None or topic is None:
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
        """Add what connections have added up to the ledger."""
        for client, tallies in self.tallies.items():
            for key, (calls, asked, answered, size, kind, topic, partition, isr) in tallies.items():
                if type(key) is int:
                    lengths = calls * LENGTH_BYTES
                    whose = (client.rack, client.rack_source, client.broker_rack)
                    kind_of_all = TrafficKind(key, "other", *whose, None, self._racks, ())
                    self._fold_sums(client, kind_of_all, (None, None), calls, asked + lengths, answered + lengths, 0)
                else:
                    self._fold_sums(client, kind, (topic, partition), calls, asked, answered, size)
                    if isr:
                        self._fold_copies(client, (topic, partition), isr, size)
        self.tallies.clear()
        self._held = 0


def racks_of(cluster: Cluster, brokers: Any) -> frozenset[str]:
    """The racks of these brokers."""
    known = cluster.brokers
    return frozenset(rack for one in brokers or () if one in known and (rack := known[one].rack) is not None)
