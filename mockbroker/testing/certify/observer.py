"""Observes a cluster's calls, and collects facts about the program that makes them.

A client's rack is that of the listener that it came in by, as each rack's process is given the addresses of its own: so
it is known where the process runs, whatever the client says. Calls of other listeners are not the program's.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from typing import Any

from kafka_rack.locality import Facts as LocalityFacts
from kafka_rack.locality.traffic import TrafficKey
from kafka_rack.writers import can_partition_by_rack
from mockbroker.call import Call, FetchedPart, Outcome, ProducedPart
from mockbroker.core.journal.entry import LENGTH_BYTES
from mockbroker.core.journal.records import FETCH, facts_of_read, facts_of_write, first_keys, named_rack, response_of
from mockbroker.core.journal.verdicts import judged_once
from mockbroker.handlers.fetch import named_partitions
from mockbroker.handlers.transferred import fetched_parts, parts_of
from mockbroker.state.cluster import Cluster
from mockbroker.state.topics.topic import INTERNAL_TOPICS, Partition
from mockbroker.subjects import name_of_id
from mockbroker.testing.certify.facts import (
    AcknowledgedBatch,
    ClientFacts,
    MemberSubscription,
    OffsetRanges,
    TopicPartition,
    WireFacts,
)
from mockbroker.testing.certify.following import Following, PartitionSnapshot
from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned, stated_version
from protocol.errors import ProtocolError
from protocol.registry import APIS

TOPIC_ID_FETCH = 13
FIRST_WITH_BATCHES = 3
"""The first Produce without message sets, whose checksums logs do not keep."""
NO_LEADER = -1

Taker = Callable[[ClientFacts, Outcome, int], int | None]
"""``(client, outcome, arrived) -> record bytes``; raises ProtocolError."""


class WireObserver:
    """One of ``CallPath.arrivals`` and of ``CallPath.observers``; ``facts`` grow with each call of the program.

    What is kept grows with clients, partitions and groups, not with calls; of acknowledged batches a checksum each.

    Args:
        hidden_racks: racks whose followers programs are to take for ones that lag, whatever the cluster's ISRs say.
    """

    def __init__(self, cluster: Cluster, hidden_racks: AbstractSet[str] = frozenset()) -> None:
        self.cluster, self._hidden_racks = cluster, hidden_racks
        self.facts = WireFacts(racks=cluster.liveness.racks())
        self.following = Following(self.facts, self._layout_of)
        self._clock = 0
        self._arrived: dict[Call, int] = {}
        self.moves: dict[TopicPartition, tuple[int, int]] = {}  # a new leader, and since when
        self.replicas: dict[TopicPartition, tuple[int, ...]] = {}  # of partitions on the move; clients may know first
        self._hinted: set[tuple[str, str | None, str, TopicPartition]] = set()  # clients with a hint, by API
        self._takers: dict[str, Taker] = {
            "Produce": self._produced,
            "Fetch": self._fetched,
            "Metadata": self._looked,
            "FindCoordinator": self._found,
            "OffsetCommit": self._committed,
            "JoinGroup": self._joined,
            "SyncGroup": self._assigned,
            "ConsumerGroupHeartbeat": self._heartbeat,
            "DescribeTopicPartitions": self._looked,
        }

    # the path's calls

    def call_arrived(self, call: Call) -> None:
        """A request has arrived, and was not read yet."""
        if call.session.listener_rack is not None:
            self._clock += 1
            self._arrived[call] = self._clock

    def call_ended(self, outcome: Outcome) -> None:
        """A call has ended."""
        call = outcome.call
        rack = call.session.listener_rack
        if rack is None or not call.frame:
            return
        self._clock += 1
        arrived = self._arrived.pop(call, self._clock)
        key = (rack, call.session.client_id)
        client = self.facts.clients.setdefault(key, ClientFacts(*key))
        api = APIS[call.api_key][1] if call.api_key in APIS else str(call.api_key)
        client.calls[api] += 1
        if call.session.software is not None:
            client.software = " ".join(call.session.software).strip() or None
            client.has_partitioner = can_partition_by_rack(call.session.software)
        taker, records = self._takers.get(api), None
        if taker is not None and call.body_start:
            with suppress(ProtocolError):
                records = taker(client, outcome, arrived)
        frames = LENGTH_BYTES + len(call.frame) + sum(map(len, outcome.output))
        self._count(client, outcome, LocalityFacts("other"), frames - (records or 0))

    # called by the course of a certification

    def leader_moved(self, place: TopicPartition, leader: int) -> None:
        """A partition has another leader; clients that learn it from an error may go there without Metadata."""
        self.moves[place] = (leader, self._clock)

    def brokers_stopped(self, broker_ids: list[int]) -> int:
        """Brokers were stopped; returns the moment, to be compared with arrivals."""
        self.following.brokers_gone(broker_ids, self._clock)
        return self._clock

    def settle_assignments(self) -> None:
        """Count the assigned partitions with and without a replica in the member's rack, before any outage."""
        for client in self.facts.clients.values():
            for topic, index in sorted(client.assignment):
                partition = self._partition((topic, index))
                racks = self.cluster.liveness.racks_of(partition.replicas if partition is not None else ())
                if partition is None or set(self.facts.racks) <= racks:
                    continue  # near everybody, so it says nothing
                self.facts.tallies["local_assignments"].note(
                    client.rack in racks,
                    f"{topic}-{index} (replicas in {', '.join(sorted(racks))}) to the member in rack {client.rack}",
                )

    # inside

    def _partition(self, place: TopicPartition) -> Partition | None:
        topic = self.cluster.topics.get(place[0])
        if topic is None or topic.diskless or not 0 <= place[1] < len(topic.partitions):
            return None
        return topic.partitions[place[1]]

    def _layout_of(self, place: TopicPartition) -> PartitionSnapshot | None:
        partition = self._partition(place)
        if partition is None:
            return None
        leader, replicas = partition.leader, self.replicas.get(place, partition.replicas)
        online = (self.cluster.brokers[one] for one in self.cluster.liveness.online_ids)
        up = {one.id for one in online if one.is_running and (one.id == leader or one.rack not in self._hidden_racks)}
        return PartitionSnapshot(leader, frozenset(up.intersection(partition.isr, replicas)), replicas)

    def _rack(self, broker_id: int) -> str | None:
        """The rack of a broker; a real cluster may name one that has not been there since the proxy has."""
        broker = self.cluster.brokers.get(broker_id)
        return None if broker is None else broker.rack

    # what each API says; the record bytes that are counted already

    def _looked(self, client: ClientFacts, outcome: Outcome, arrived: int) -> None:
        client.last_metadata = self._clock
        client.metadata_at[outcome.call.session.broker.id] = arrived
        for topic in self.cluster.topics.values():
            client.leader_racks[topic.name] = [self._rack(one.leader) for one in topic.partitions]

    def _fetched(self, client: ClientFacts, outcome: Outcome, arrived: int) -> int:
        call, response, total = outcome.call, outcome.response, 0
        broker, request = call.session.broker.id, call.request
        client.fetch_versions[call.version] += 1
        client.fetch_racks[request.rack_id] += 1
        has_failed = response is None or response.error_code
        answers: dict[tuple[str | None, int], tuple[FetchedPart, Any]] = {}
        if not has_failed:
            entries = (entry for topic in response.responses for entry in topic.partitions)
            parts = fetched_parts(call, response, call.wanted)
            answers = {(one.topic, one.partition): (one, entry) for one, entry in zip(parts, entries, strict=True)}
        for one in call.wanted or named_partitions(request, call.version >= TOPIC_ID_FETCH):
            name = one.topic if isinstance(one.topic, str) else name_of_id(call, one.topic)
            if not name:
                continue
            place = (name, one.index)
            reader = self.following.asked(client, place, broker, one.fetch_offset, arrived)
            if has_failed:
                continue
            self.facts.consumed_topics.add(name)
            self._went_to_leader(client, "Fetch", place, broker, arrived)
            if place not in answers:
                self.following.answered(place, reader, 0, NO_LEADER, self._clock)
                continue
            part, entry = answers[place]
            self.following.answered(place, reader, part.error_code, part.preferred_replica, self._clock)
            if part.error_code and entry.current_leader.leader_id != NO_LEADER:
                self._hinted.add((client.rack, client.client_id, "Fetch", place))
            if part.size_bytes:
                self._deliver(client, place, max(part.first_offset, one.fetch_offset), part.next_offset)
                layout = self._layout_of(place)  # without one any broker serves it
                in_sync = None if layout is None else tuple(layout.in_sync)
                known = facts_of_read(FETCH, in_sync, self.cluster, client.rack, redirected=False)
                if request.rack_id:
                    known |= {"told_rack": request.rack_id, "told_in": "request"}
                facts = LocalityFacts("consume", api_version=call.version, **known)
                self._count(client, outcome, facts, part.size_bytes)
                total += part.size_bytes
        return total

    def _deliver(self, client: ClientFacts, place: TopicPartition, first: int, end: int) -> None:
        """Record the offsets that a reader received."""
        if first < end:
            reader = client.group if client.group is not None else f"rack {client.rack}"
            ranges = self.facts.delivered.setdefault(place, {}).setdefault(reader, OffsetRanges())
            self.facts.delivered_again[reader] += ranges.add(first, end)

    def _produced(self, client: ClientFacts, outcome: Outcome, arrived: int) -> int:
        call, facts, total = outcome.call, self.facts, 0
        client.produce_versions[call.version] += 1
        keyed = first_keys(call.request)
        for part in call.parts or parts_of(outcome) or ():
            assert isinstance(part, ProducedPart)
            if not part.topic:
                continue  # an unknown topic id
            place = (part.topic, part.partition)
            facts.produced_topics.add(part.topic)
            self._went_to_leader(client, "Produce", place, call.session.broker.id, arrived)
            has_key = keyed.get(place, keyed.get((part.topic_id, part.partition)))
            if has_key is False:
                self._chose(client, place)
            known = facts_of_write(part.isr, part.leader_racks, client.rack, has_key)
            locality = LocalityFacts("produce", has_partitioner=client.has_partitioner, **known)
            self._count(client, outcome, locality, part.size_bytes)
            total += part.size_bytes
            if outcome.response is None:
                continue
            if part.records and not part.error_code and call.version >= FIRST_WITH_BATCHES:
                batch = AcknowledgedBatch(int.from_bytes(part.crc), part.records)
                facts.acknowledged.setdefault(place, {})[part.entry.base_offset] = batch
                facts.acknowledged_records += part.records
            elif part.entry.current_leader.leader_id != NO_LEADER:
                self._hinted.add((client.rack, client.client_id, "Produce", place))
        return total

    def _chose(self, client: ClientFacts, place: TopicPartition) -> None:
        """Note a partition for records without keys, by the leaders in the client's last metadata, or by now."""
        topic, index = place
        partition, known = self._partition(place), client.leader_racks.get(topic, [])
        if partition is None or client.chosen.get(topic) == index or client.rack not in known:
            return
        client.chosen[topic] = index
        led_in = {*known[index : index + 1], self._rack(partition.leader)}
        where = ", ".join(sorted(filter(None, led_in)))
        client.choices.note(client.rack in led_in, f"{topic}-{index} (leader in {where}) in rack {client.rack}")

    def _went_to_leader(self, client: ClientFacts, api: str, place: TopicPartition, broker: int, arrived: int) -> None:
        """A client with a hint has come to a new leader: note if it used the hint, or an answer of Metadata.

        The course delays Metadata meanwhile, except at the new leader: of clients that asked there this is unknown.
        """
        move = self.moves.get(place)
        key = (client.rack, client.client_id, api, place)
        if move is None or broker != move[0] or arrived <= move[1] or key not in self._hinted:
            return
        self._hinted.discard(key)
        if client.metadata_at.get(broker, 0) > move[1]:
            return
        asked = move[1] < client.last_metadata < arrived
        how = "after an answer to Metadata" if asked else "without waiting for Metadata"
        self.facts.tallies["leader_hints"].note(
            not asked, f"{place[0]}-{place[1]}, client in rack {client.rack}: {api} went to new leader {broker} {how}"
        )

    def _found(self, client: ClientFacts, outcome: Outcome, _: int) -> None:
        response = response_of(outcome)
        for one in () if response is None else response.coordinators or [response]:
            if not one.error_code and one.node_id >= 0:
                self.facts.coordinators.add(one.node_id)

    def _committed(self, client: ClientFacts, outcome: Outcome, _: int) -> None:
        client.group = client.group or outcome.call.request.group_id

    def _joined(self, client: ClientFacts, outcome: Outcome, arrived: int) -> None:
        request = outcome.call.request
        client.last_rebalance = max(client.last_rebalance, arrived)
        if request.protocol_type != "consumer":
            return
        client.group, rack = request.group_id, named_rack(outcome.call)
        version = max(stated_version(ConsumerProtocolSubscription, bytes(one.metadata)) for one in request.protocols)
        if client.subscription is None or rack or version > client.subscription.version:
            client.subscription = MemberSubscription(version, rack or None)

    def _assigned(self, client: ClientFacts, outcome: Outcome, _: int) -> None:
        client.last_rebalance = self._clock
        response = response_of(outcome)
        if response is None or response.error_code or not response.assignment:
            return
        found = read_versioned(ConsumerProtocolAssignment, bytes(response.assignment))
        client.assignment = frozenset(
            (topic.topic, index) for topic in found.assigned_partitions for index in topic.partitions
        )

    def _heartbeat(self, client: ClientFacts, outcome: Outcome, _: int) -> None:
        request, response = outcome.call.request, response_of(outcome)
        client.group = request.group_id
        if request.rack_id is not None or client.subscription is None:
            client.subscription = MemberSubscription(-1, request.rack_id or None)
        if response is not None and not response.error_code and response.assignment is not None:
            client.last_rebalance = self._clock
            client.assignment = frozenset(
                (name, index)
                for one in response.assignment.topic_partitions
                if (name := name_of_id(outcome.call, one.topic_id)) is not None
                for index in one.partitions
            )

    # bytes

    def _count(self, client: ClientFacts, outcome: Outcome, known: LocalityFacts, size: int) -> None:
        if size > 0:
            broker = outcome.call.session.broker
            racks = frozenset(self.facts.racks)
            known = replace(known, client_rack=client.rack, broker_rack=broker.rack, cluster_racks=racks)
            found = judged_once(known)
            key = TrafficKey(0, "", known.category, "", client_rack=client.rack, broker_rack=broker.rack)
            key = key._replace(locality=found.locality, reason=found.reason, saves=found.saves, at_most=found.at_most)
            self.facts.traffic[key] += size


def consumed_topics(facts: WireFacts) -> list[str]:
    """The topics that the program reads and does not write, without Kafka's internal ones; sorted."""
    return sorted(facts.consumed_topics - facts.produced_topics - INTERNAL_TOPICS)
