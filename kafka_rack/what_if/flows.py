"""The ledger rerouted: the same flows, between the same clients and other brokers.

It uses the selectors, diskless profiles, placers and assignors of the cluster and the tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from zlib import crc32

from kafka_rack.assignment import Topology
from kafka_rack.diskless import DisklessBrokers
from kafka_rack.locality.ledger import RECORD_BYTES
from kafka_rack.locality.reasons import CONSUME, PRODUCE, REPLICATION, Facts, judge
from kafka_rack.locality.tables import SUMS
from kafka_rack.locality.traffic import TrafficKey
from kafka_rack.placement import (
    CLASS_SETTING,
    SEED_SETTING,
    UsableBroker,
    close_placer,
    load_placer,
    place_checked,
)
from kafka_rack.plurals import counted
from kafka_rack.selection import ReplicaView, find_selector
from kafka_rack.what_if.change import AUTO, WhatIfChange
from kafka_rack.what_if.groups import CONSUMER, COOPERATIVE, GroupHistory, as_captured, replayed
from kafka_rack.what_if.near_writes import UNAWARE, ReaderOf, numbers_divided, skews, with_aware_partitioners
from kafka_rack.what_if.workload import NOWHERE, Client, MemberSeen, ObservedPartition, Workload, client_of

Layouts = Mapping[str, Mapping[int, ObservedPartition]]
LEADERS_ONLY = ("version_too_old", "share_group")
"""Reasons of flows whose clients always read from leaders, even if they name a rack."""


@dataclass(slots=True)
class ReplayedTraffic:
    """The ledger's flows, the groups, the partitions led by broker, the topics that any broker serves, and skews.

    ``skews`` has the bytes written to each topic's fullest partition, by those of the mean.
    """

    flows: dict[TrafficKey, list[int]]
    groups: dict[str, GroupHistory]
    leaders: dict[int, int]
    diskless: frozenset[str]
    skews: dict[str, float]
    notes: list[str] = field(default_factory=list)


def as_it_was(workload: Workload) -> ReplayedTraffic:
    """The captured traffic. Replication that was not captured is estimated from produced bytes."""
    model = Model(workload, WhatIfChange())
    model.flows = {key: list(amounts) for key, amounts in workload.flows.items()}
    if not workload.replicated:
        model.replicate()
    return model.replayed()


def as_it_would_be(workload: Workload, change: WhatIfChange) -> ReplayedTraffic:
    """The traffic under a change, with the same records. Without a change, the model of the captured traffic."""
    if change.rack_aware_partitioner:
        anywhere = [topic for topic in workload.topics if topic in workload.diskless or change.makes_diskless(topic)]
        workload = with_aware_partitioners(workload, readers_of(workload), anywhere)
    model = Model(workload, change)
    for key, amounts in workload.flows.items():
        if key.category != REPLICATION:
            for client, part in model.clients(key, amounts[RECORD_BYTES]):
                model.serve(key, client, part, amounts[0])
    model.replicate()
    return model.replayed()


def readers_of(workload: Workload) -> ReaderOf:
    """Returns who reads a partition in place of a flow's client: the longest reader of its group in that window."""
    groups = {name: as_captured(group, workload.last) for name, group in workload.groups.items()}

    def reader_of(key: TrafficKey, partition: int) -> Client | None:
        place, history = (key.topic or "", partition), groups.get(key.group_id or "")
        readers = history.readers_between(place, key.window, key.window + workload.window_us) if history else {}
        return max(readers, key=readers.__getitem__, default=None)

    return reader_of


class Model:
    """Chooses the broker that serves each client under a change."""

    def __init__(self, workload: Workload, change: WhatIfChange) -> None:
        self.workload, self.change = workload, change
        self.racks = frozenset(filter(None, workload.brokers.values()))
        self.diskless = (
            frozenset(topic for topic in workload.topics if change.makes_diskless(topic)) | workload.diskless
        )
        self.topics = placed(workload, change, self.diskless)
        wanted = change.reads_from_followers
        self.reads_from_followers = workload.reads_from_followers if wanted is None else wanted
        self.selector = find_selector("rack-aware" if self.reads_from_followers else "leader")
        self.leaders_only = {client_of(key) for key in workload.flows if key.reason in LEADERS_ONLY}
        self.regroups = any((change.protocol, change.assignor, change.client_rack, change.placer))
        self.groups = self.grouped()
        self.flows: dict[TrafficKey, list[int]] = {}

    def grouped(self) -> dict[str, GroupHistory]:
        change, workload = self.change, self.workload
        if not self.regroups:
            return {name: as_captured(group, workload.last) for name, group in workload.groups.items()}
        replicas = {topic: lists_of(partitions) for topic, partitions in self.topics.items()}
        topology = Topology(workload.brokers, replicas, workload.topic_ids)

        def rack_of(seen: MemberSeen) -> str | None:
            return self.named_rack(seen.client, seen.rack)

        return {
            name: replayed(group, topology, workload.last, rack_of, change.protocol, change.assignor, workload.assignor)
            for name, group in workload.groups.items()
        }

    def named_rack(self, client: Client, own: str | None = None, *, diskless: bool = False) -> str | None:
        """The rack that a client names: in Fetch, or for diskless topics in its client id."""
        position = self.workload.positions.get(client, NOWHERE)
        if self.change.client_rack is None:
            return own or (position.zone if diskless else position.named)
        return position.rack if self.change.client_rack == AUTO else self.change.client_rack

    def clients(self, key: TrafficKey, size: int) -> Iterable[tuple[Client, int]]:
        """The clients of a flow's bytes; in a reassigned group, members by their time with the partition."""
        history = self.groups.get(key.group_id or "") if self.regroups else None
        if history is not None and key.topic is not None and key.partition is not None:
            last = key.window + self.workload.window_us
            readers = history.readers_between((key.topic, key.partition), key.window, last)
            if readers:
                return zip(readers, numbers_divided(size, [*readers.values()]), strict=True)
        return [(client_of(key), size)]

    def serve(self, key: TrafficKey, client: Client, size: int, calls: int) -> None:
        """Add record batches of a client, at the brokers that serve it."""
        diskless = key.topic in self.diskless
        brokers = self.near(key, client) if diskless else [self.source(key, client)]
        position = self.workload.positions.get(client, NOWHERE)
        named = position.zone if diskless else position.named
        parts = zip(brokers, *(numbers_divided(number, [1] * len(brokers)) for number in (size, calls)), strict=True)
        for broker, part, some_calls in parts:
            how = ("client_id" if diskless else "request") if named else None
            told = (position.rack, named, how, self.rack(broker))
            facts = Facts(key.category, *told, cluster_racks=self.racks, diskless=diskless)
            self.add(facts, client, broker, key.topic, key.partition, part, some_calls)

    def near(self, key: TrafficKey, client: Client) -> Sequence[int | None]:
        """The brokers of a diskless topic for a client: those of the rack that it names, or all."""
        if key.topic in self.workload.diskless and self.change.client_rack is None and key.broker is not None:
            return [key.broker]  # unchanged
        return DisklessBrokers(self.workload.brokers.items()).near(self.named_rack(client, diskless=True)) or [
            key.broker
        ]

    def source(self, key: TrafficKey, client: Client) -> int | None:
        """The broker that serves a client: the leader, or the one that the replica selector chooses for a reader."""
        layout = self.topics.get(key.topic or "", {}).get(-1 if key.partition is None else key.partition)
        if layout is None or layout.leader < 0:
            return key.broker
        if key.category == PRODUCE or client in self.leaders_only:
            return layout.leader
        views = [ReplicaView(broker, self.rack(broker), 0, 0) for broker in layout.in_sync]
        return self.selector.select(self.named_rack(client), layout.leader, views)

    def rack(self, broker: int | None) -> str | None:
        return self.workload.brokers.get(broker) if broker is not None else None

    def add(
        self,
        facts: Facts,
        client: Client,
        broker: int | None,
        topic: str | None,
        partition: int | None,
        size: int,
        calls: int = 0,
    ) -> None:
        key = TrafficKey(0, "", facts.category, "", *client, None, topic, partition, facts.client_rack)
        key = key._replace(broker=broker, broker_rack=facts.broker_rack, **judge(facts)._asdict())
        sums = self.flows.setdefault(key, [0] * len(SUMS))
        sums[0] += calls
        sums[1 if facts.category == PRODUCE else 2] += size
        sums[RECORD_BYTES] += size

    def replicate(self) -> None:
        """Add the bytes that followers copy."""
        for follower, leader, topic, partition, size in replication(self.workload, self.topics, self.diskless):
            facts = Facts(REPLICATION, self.rack(follower), broker_rack=self.rack(leader))
            self.add(facts, (f"broker-{follower}-fetcher-0", ""), leader, topic, partition, size)

    def leaders(self) -> dict[int, int]:
        """The number of leaders by broker, without diskless topics."""
        found = dict.fromkeys(sorted(self.workload.brokers), 0)
        for topic, partitions in self.topics.items():
            for layout in partitions.values() if topic not in self.diskless else ():
                if layout.leader >= 0:
                    found[layout.leader] = found.get(layout.leader, 0) + 1
        return found

    def replayed(self) -> ReplayedTraffic:
        counts = {topic: len(partitions) for topic, partitions in self.topics.items()}
        skewed = skews(self.flows.items(), counts)
        return ReplayedTraffic(self.flows, self.groups, self.leaders(), self.diskless, skewed, self.notes())

    def notes(self) -> list[str]:
        """Notes about the prediction."""
        workload, change = self.workload, self.change
        found = [
            f"no topic of the capture is named {pattern}"
            for pattern in change.diskless
            if not any(fnmatchcase(topic, pattern) for topic in workload.topics)
        ]
        readers = {key.topic for key in workload.flows if key.category == CONSUME}
        clients = {client_of(key) for key in workload.flows if key.category != REPLICATION}
        nowhere = sum(workload.positions.get(client, NOWHERE).rack is None for client in clients)
        if change.client_rack == AUTO and nowhere:
            found.append(f"{nowhere} of {len(clients)} clients name no rack, since nothing says where they are")
        if change.rack_aware_partitioner and not any(key.reason == UNAWARE and key.saves for key in workload.flows):
            found.append("no Java client of 4.4 or newer is seen to write records without keys to other racks")
        if change.client_rack is not None and not self.reads_from_followers and readers - self.diskless:
            found.append(
                "brokers have no rack-aware replica selector, so a reader's rack changes nothing for its fetches"
            )
        if change.client_rack is not None and self.leaders_only:
            found.append(
                f"{counted(len(self.leaders_only), 'client')} of share groups, or that fetch with a version before 11, "
                "will read from leaders all the same"
            )
        if change.assignor in ("sticky", COOPERATIVE):
            found.append(
                f"the assignments are those of {change.assignor} in Kafka's Java client; librdkafka has no sticky, and "
                "its cooperative-sticky may share partitions out differently"
            )
        if workload.serves_consumer_protocol is False and any(
            history.protocol == CONSUMER for history in self.groups.values()
        ):
            found.append("brokers do not serve the consumer protocol yet, which this takes (KIP-848)")
        return found


def placed(workload: Workload, change: WhatIfChange, diskless: frozenset[str]) -> Layouts:
    """The replicas: as reported, or as the placer places them, each topic from a start that its name decides."""
    if change.placer is None:
        return workload.topics
    brokers = [UsableBroker(broker, rack) for broker, rack in sorted(workload.brokers.items())]
    found: dict[str, Mapping[int, ObservedPartition]] = {}
    for topic, partitions in workload.topics.items():
        if topic in diskless or not partitions:
            found[topic] = partitions
            continue
        width = change.replication_factor or max(len(layout.replicas) for layout in partitions.values())
        settings = {SEED_SETTING: str(crc32(topic.encode())), **dict(change.placer_settings)}
        placer = load_placer({**settings, CLASS_SETTING: change.placer})
        try:
            rows = place_checked(placer, 0, max(partitions) + 1, max(1, width), brokers)
        finally:
            close_placer(placer)
        found[topic] = {
            number: ObservedPartition(tuple(rows[number]), rows[number][0], frozenset(rows[number]))
            for number in partitions
        }
    return found


def replication(
    workload: Workload, topics: Layouts, diskless: frozenset[str]
) -> Iterator[tuple[int, int | None, str | None, int | None, int]]:
    """The bytes that followers copy: as captured for the same followers, else as many as the others copied.

    If the capture has no replication, each follower copies the produced bytes. Yields follower, leader, topic,
    partition and bytes.
    """
    captured: dict[tuple[str | None, int | None], dict[int, dict[int | None, int]]] = {}
    for (follower, topic, partition, leader), size in workload.replicated.items():
        by_follower = captured.setdefault((topic, partition), {})
        by_follower.setdefault(follower, {})[leader] = size
    produced: dict[tuple[str | None, int | None], int] = {}
    for key, amounts in workload.flows.items():
        if key.category == PRODUCE:
            produced[key.topic, key.partition] = produced.get((key.topic, key.partition), 0) + amounts[RECORD_BYTES]
    for topic, partition in {**captured, **produced}:
        if topic in diskless:
            continue
        seen = captured.get((topic, partition), {})
        layout = topics.get(topic, {}).get(partition) if topic is not None and partition is not None else None
        if layout is None or layout.leader < 0:
            for follower, by_leader in seen.items():
                for leader, size in by_leader.items():  # it may have changed
                    yield follower, leader, topic, partition, size
            continue
        in_all = {follower: sum(by_leader.values()) for follower, by_leader in seen.items()}
        if in_all:
            each = numbers_divided(sum(in_all.values()), [1] * len(in_all))[0]
        else:  # produced bytes, unless other followers were captured
            each = 0 if workload.replicated else produced.get((topic, partition), 0)
        is_as_reported = topic is not None and workload.topics.get(topic) is topics.get(topic)
        for follower in layout.replicas:
            if follower != layout.leader:
                own = in_all[follower] if is_as_reported and follower in in_all else each
                if own:
                    yield follower, layout.leader, topic, partition, own


def lists_of(partitions: Mapping[int, ObservedPartition]) -> list[list[int]]:
    return [
        list(partitions[number].replicas) if number in partitions else []
        for number in range(max(partitions, default=-1) + 1)
    ]
