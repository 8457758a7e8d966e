"""Observes a cluster's calls, and collects facts about the program that makes them.

A client's rack is that of the listener that it came in by, as each rack's process is given the addresses of its own: so
it is known where the process runs, whatever the client says. Calls of other listeners are not the program's.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from typing import Any

from kafka_rack.locality import Facts as LocalityFacts
from kafka_rack.locality import judge
from kafka_rack.writers import can_partition_by_rack
from mockbroker.call import Call, Outcome
from mockbroker.core.journal.records import (
    facts_of_read,
    facts_of_write,
    first_has_key,
    leader_racks_of,
    racks_of,
    response_of,
)
from mockbroker.handlers.fetch import named_partitions
from mockbroker.handlers.transferred import topic_facts
from mockbroker.state.cluster import Cluster
from mockbroker.state.topics.topic import INTERNAL_TOPICS, Partition
from mockbroker.testing.certify.facts import (
    AcknowledgedBatch,
    CallTrafficKey,
    ClientFacts,
    MemberSubscription,
    OffsetRanges,
    WireFacts,
)
from mockbroker.testing.certify.following import Following, PartitionSnapshot, TopicPartition
from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned, stated_version
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError
from protocol.records import iter_batches
from protocol.registry import APIS

PRODUCE, FETCH, METADATA, OFFSET_COMMIT = 0, 1, 3, 8
JOIN_GROUP, SYNC_GROUP = 11, 14
CONSUMER_GROUP_HEARTBEAT, DESCRIBE_TOPIC_PARTITIONS = 68, 75
READ = frozenset({PRODUCE, FETCH, OFFSET_COMMIT, JOIN_GROUP, SYNC_GROUP, CONSUMER_GROUP_HEARTBEAT})
"""The APIs whose requests are looked into; the rest is counted."""
TOPIC_ID_FETCH = 13
FIRST_FETCH_HINT, FIRST_PRODUCE_HINT = 16, 10
FIRST_FETCH_RACK = 11
LENGTH_BYTES = 4
NO_LEADER = -1
NO_ID = bytes(16)

FetchPositions = dict[TopicPartition, int]


class WireObserver:
    """One of ``CallPath.arrivals`` and of ``CallPath.observers``; ``facts`` grow with each call of the program.

    What is kept grows with clients, partitions and groups, not with calls; of acknowledged batches a checksum each.

    Args:
        out_of_sync: brokers that programs are to take for ones that lag, whatever the cluster's ISRs say.
    """

    def __init__(self, cluster: Cluster, out_of_sync: AbstractSet[int] = frozenset()) -> None:
        self.cluster, self._out_of_sync = cluster, out_of_sync
        self.facts = WireFacts(racks=cluster.liveness.racks())
        self.following = Following(self.facts, self._layout_of)
        self._clock = 0
        self._arrived: dict[Call, int] = {}
        self.moves: dict[TopicPartition, tuple[int, int]] = {}  # a new leader, and since when
        self.replicas: dict[TopicPartition, tuple[int, ...]] = {}  # of partitions on the move; clients may know first
        self._hinted: set[tuple[str, str | None, int, TopicPartition]] = set()  # clients with a hint, by API

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
        client = self._client(rack, call.session.client_id)
        client.calls[APIS[call.api_key][1] if call.api_key in APIS else str(call.api_key)] += 1
        if call.session.software is not None:
            client.software = " ".join(call.session.software).strip() or None
            client.has_partitioner = can_partition_by_rack(call.session.software)
        if call.api_key in (METADATA, DESCRIBE_TOPIC_PARTITIONS):
            client.last_metadata = self._clock
            client.metadata_at[call.session.broker.id] = arrived
            for topic in self.cluster.topics.values():
                client.leader_racks[topic.name] = [self._rack(one.leader) for one in topic.partitions]
        request = None
        if call.api_key in READ and call.body_start:
            with suppress(ProtocolError):
                request = call.request
        if call.api_key == FETCH and request is not None:
            self._fetched(client, outcome, request, arrived)
            return
        if call.api_key == PRODUCE and request is not None:
            self._produced(client, outcome, request, arrived)
            return
        self._count(client, outcome, LocalityFacts("other"), wire_bytes(outcome))
        if request is None:
            return
        with suppress(ProtocolError):
            if call.api_key == JOIN_GROUP:
                self._joined(client, request, arrived)
            elif call.api_key == SYNC_GROUP:
                client.last_rebalance = self._clock
                self._assigned(client, response_of(outcome))
            elif call.api_key == CONSUMER_GROUP_HEARTBEAT:
                self._heartbeat(client, request, response_of(outcome))
            elif call.api_key == OFFSET_COMMIT:
                client.group = client.group or request.group_id

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
                racks = racks_of(self.cluster, partition.replicas if partition is not None else ())
                if partition is None or set(self.facts.racks) <= racks:
                    continue  # near everybody, so it says nothing
                self.facts.assignments.note(
                    client.rack in racks,
                    f"{topic}-{index} (replicas in {', '.join(sorted(racks))}) to the member in rack {client.rack}",
                )

    # inside

    def _client(self, rack: str, client_id: str | None) -> ClientFacts:
        return self.facts.clients.setdefault((rack, client_id), ClientFacts(rack, client_id))

    def _partition(self, place: TopicPartition) -> Partition | None:
        topic = self.cluster.topics.get(place[0])
        if topic is None or topic.diskless or not 0 <= place[1] < len(topic.partitions):
            return None
        return topic.partitions[place[1]]

    def _layout_of(self, place: TopicPartition) -> PartitionSnapshot | None:
        partition = self._partition(place)
        if partition is None:
            return None
        brokers, replicas = self.cluster.brokers, self.replicas.get(place, partition.replicas)
        up = (one for one in self._in_sync(partition) & self.cluster.liveness.online_ids if brokers[one].is_running)
        return PartitionSnapshot(partition.leader, frozenset(up).intersection(replicas), replicas)

    def _in_sync(self, partition: Partition) -> set[int]:
        return {one for one in partition.isr if one == partition.leader or one not in self._out_of_sync}

    def _rack(self, broker_id: int) -> str | None:
        """The rack of a broker; a real cluster may name one that has not been there since the proxy has."""
        broker = self.cluster.brokers.get(broker_id)
        return None if broker is None else broker.rack

    # Fetch

    def _fetched(self, client: ClientFacts, outcome: Outcome, request: Any, arrived: int) -> None:
        call = outcome.call
        client.fetch_versions[call.version] += 1
        told = request.rack_id if call.version >= FIRST_FETCH_RACK else ""
        client.fetch_racks[told] += 1
        broker = call.session.broker.id
        positions = self._positions(call, request)
        response = outcome.response
        if response is None or response.error_code:
            self._count(client, outcome, LocalityFacts("consume", whole=False), wire_bytes(outcome))
            for place, offset in positions.items():
                self.following.asked(client, place, broker, offset, arrived)
            return
        entries = dict(self._entries(response.responses, "topic", "partitions", "partition_index"))
        for place, offset in positions.items():
            self.facts.consumed_topics.add(place[0])
            self._went_to_leader(client, FETCH, place, broker, arrived)
            reader = self.following.asked(client, place, broker, offset, arrived)
            entry = entries.get(place)
            if entry is None:
                self.following.answered(place, reader, 0, NO_LEADER, self._clock)
                continue
            self.following.answered(place, reader, entry.error_code, entry.preferred_read_replica, self._clock)
            if entry.current_leader.leader_id != NO_LEADER and entry.error_code:
                self._hinted.add((client.rack, client.client_id, FETCH, place))
            if entry.records:
                self._deliver(client, place, offset, bytes(entry.records))  # a broker's may be in pieces
        self._count_fetch(client, outcome, told, entries)

    def _positions(self, call: Call, request: Any) -> FetchPositions:
        """The offset of each partition that a Fetch reads, including those of its session."""
        wanted = call.wanted or named_partitions(request, call.version >= TOPIC_ID_FETCH)
        found = {}
        for one in wanted:
            named = ("", one.topic) if isinstance(one.topic, bytes) else (one.topic, NO_ID)
            if name := topic_facts(self.cluster, *named)[0]:
                found[name, one.index] = one.fetch_offset
        return found

    def _entries(self, topics: Any, name: str, parts: str, index: str) -> Iterator[tuple[TopicPartition, Any]]:
        for topic in topics:
            if found := topic_facts(self.cluster, getattr(topic, name), topic.topic_id)[0]:
                for entry in getattr(topic, parts):
                    yield (found, getattr(entry, index)), entry

    def _deliver(self, client: ClientFacts, place: TopicPartition, offset: int, records: bytes) -> None:
        """Record the offsets that a reader received from its position on."""
        first = end = -1
        for header in iter_batches(records):
            if first < 0:
                first = max(offset, header.base_offset)
            end = header.last_offset + 1
        if first < 0 or end <= first:
            return
        reader = client.group if client.group is not None else f"rack {client.rack}"
        ranges = self.facts.delivered.setdefault((reader, *place), OffsetRanges())
        again = ranges.add(first, end)
        if again:
            self.facts.delivered_again[reader] += again

    def _count_fetch(
        self, client: ClientFacts, outcome: Outcome, told: str, entries: dict[TopicPartition, Any]
    ) -> None:
        """Each partition's record batches by their own reason; the rest of the frames is other."""
        version = outcome.call.version
        left = wire_bytes(outcome)
        for place, entry in entries.items():
            size = len(entry.records or b"")
            if size:
                partition = self._partition(place)
                in_sync = None if partition is None else tuple(self._in_sync(partition))
                known = facts_of_read(FETCH, in_sync, self.cluster, client.rack, redirected=False)
                if told:
                    known |= {"told_rack": told, "told_in": "request"}
                self._count(client, outcome, LocalityFacts("consume", api_version=version, **known), size)
                left -= size
        self._count(client, outcome, LocalityFacts("other"), left)

    # Produce

    def _produced(self, client: ClientFacts, outcome: Outcome, request: Any, arrived: int) -> None:
        call = outcome.call
        client.produce_versions[call.version] += 1
        answered = [] if outcome.response is None else outcome.response.responses
        answers = dict(self._entries(answered, "name", "partition_responses", "index"))
        left = wire_bytes(outcome)
        broker = call.session.broker
        for place, part in self._entries(request.topic_data, "name", "partition_data", "index"):
            self.facts.produced_topics.add(place[0])
            self._went_to_leader(client, PRODUCE, place, broker.id, arrived)
            entry = answers.get(place)
            if entry is not None and entry.error_code == ErrorCode.NONE:
                self._acknowledge(place, entry.base_offset, part.records or b"")
            elif entry is not None and entry.current_leader.leader_id != NO_LEADER:
                self._hinted.add((client.rack, client.client_id, PRODUCE, place))
            size = len(part.records or b"")
            keyed = first_has_key(bytes(part.records or b""))
            if keyed is False:
                self._chose(client, place)
            partition = self._partition(place)
            isr = None if partition is None else partition.isr
            known = facts_of_write(isr, leader_racks_of(self.cluster, place[0]), client.rack, keyed)
            facts = LocalityFacts("produce", has_partitioner=client.has_partitioner, **known)
            self._count(client, outcome, facts, size)
            left -= size
        self._count(client, outcome, LocalityFacts("other"), left)

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

    def _acknowledge(self, place: TopicPartition, base_offset: int, records: bytes) -> None:
        produced = self.facts.produced
        known = produced.acknowledged.setdefault(place, {})
        with suppress(ProtocolError):
            for header in iter_batches(records):
                if header.magic < 2:
                    continue
                count = header.last_offset - header.base_offset + 1
                known[base_offset] = AcknowledgedBatch(header.crc, count)
                base_offset += count
                produced.records += count
                produced.idempotent_batches += header.producer_id >= 0
                produced.other_batches += header.producer_id < 0

    def _went_to_leader(
        self, client: ClientFacts, api_key: int, place: TopicPartition, broker: int, arrived: int
    ) -> None:
        """A client with a hint has come to a new leader: note if it used the hint, or an answer of Metadata.

        The course delays Metadata meanwhile, except at the new leader: of clients that asked there this is unknown.
        """
        move = self.moves.get(place)
        key = (client.rack, client.client_id, api_key, place)
        if move is None or broker != move[0] or arrived <= move[1] or key not in self._hinted:
            return
        self._hinted.discard(key)
        if client.metadata_at.get(broker, 0) > move[1]:
            return
        asked = move[1] < client.last_metadata < arrived
        how = "after an answer to Metadata" if asked else "without waiting for Metadata"
        name = "Produce" if api_key == PRODUCE else "Fetch"
        self.facts.hints.note(
            not asked, f"{place[0]}-{place[1]}, client in rack {client.rack}: {name} went to new leader {broker} {how}"
        )

    # groups

    def _joined(self, client: ClientFacts, request: Any, arrived: int) -> None:
        client.last_rebalance = max(client.last_rebalance, arrived)
        if request.protocol_type != "consumer":
            return
        client.group = request.group_id
        for protocol in request.protocols:
            data = bytes(protocol.metadata)
            try:
                version = stated_version(ConsumerProtocolSubscription, data)
            except ProtocolError:
                continue
            try:
                rack = read_versioned(ConsumerProtocolSubscription, data).rack_id or None
            except ProtocolError:  # kafka-go says version 1 and leaves out what that adds
                rack = None
            if client.subscription is None or rack or version > client.subscription.version:
                client.subscription = MemberSubscription(version, rack)

    def _assigned(self, client: ClientFacts, response: Any) -> None:
        if response is None or response.error_code or not response.assignment:
            return
        found = read_versioned(ConsumerProtocolAssignment, bytes(response.assignment))
        client.assignment = frozenset(
            (topic.topic, index) for topic in found.assigned_partitions for index in topic.partitions
        )

    def _heartbeat(self, client: ClientFacts, request: Any, response: Any) -> None:
        client.group = request.group_id
        if request.rack_id is not None or client.subscription is None:
            client.subscription = MemberSubscription(-1, request.rack_id or None)
        if response is not None and not response.error_code and response.assignment is not None:
            client.last_rebalance = self._clock
            client.assignment = frozenset(
                (topic.name, index)
                for one in response.assignment.topic_partitions
                if (topic := self.cluster.topic_by_id.get(one.topic_id)) is not None
                for index in one.partitions
            )

    # bytes

    def _count(self, client: ClientFacts, outcome: Outcome, known: LocalityFacts, size: int) -> None:
        if size <= 0:
            return
        broker_rack = outcome.call.session.broker.rack
        racks = frozenset(self.facts.racks)
        found = judge(replace(known, client_rack=client.rack, broker_rack=broker_rack, cluster_racks=racks))
        of_call = known.category, client.rack, broker_rack
        key = CallTrafficKey(*of_call, found.locality, found.reason, found.saves, found.at_most)
        self.facts.traffic[key] += size


def consumed_topics(facts: WireFacts) -> list[str]:
    """The topics that the program reads and does not write, without Kafka's internal ones; sorted."""
    return sorted(facts.consumed_topics - facts.produced_topics - INTERNAL_TOPICS)


def wire_bytes(outcome: Outcome) -> int:
    """The bytes of request and answer, length fields included."""
    answer = sum(map(len, outcome.output))
    return LENGTH_BYTES + len(outcome.call.frame) + answer
