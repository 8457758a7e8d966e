"""The ledger rerouted: the same flows, between the same clients and other brokers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from zlib import crc32

from kafka_rack.assignment import Topology
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
from kafka_rack.what_if.change import AUTO, WhatIfChange
from kafka_rack.what_if.groups import GroupHistory, as_captured, replayed
from kafka_rack.what_if.workload import Client, MemberSeen, ObservedPartition, Workload


@dataclass(slots=True)
class ReplayedTraffic:
    """How it goes: the ledger's flows, the groups, and who leads how many partitions."""

    flows: dict[TrafficKey, list[int]]
    groups: dict[str, GroupHistory]
    leaders: dict[int, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    replication_is_captured: bool = True


def as_it_was(workload: Workload) -> ReplayedTraffic:
    """What was captured. Replication that was not is what producing makes of it."""
    flows = Rerouted(workload, {key: list(amounts) for key, amounts in workload.flows.items()})
    if not workload.replicated:
        for follower, leader, topic, partition, size in replication(workload, workload.topics, workload.diskless):
            flows.copy(follower, leader, topic, partition, size)
    groups = {name: as_captured(group, workload.last) for name, group in workload.groups.items()}
    return ReplayedTraffic(
        flows.amounts,
        groups,
        leaders_of(workload, workload.topics, workload.diskless),
        replication_is_captured=bool(workload.replicated),
    )


@dataclass(slots=True)
class Rerouted:
    """Flows of a workload to chosen brokers, with the ledger's verdicts."""

    workload: Workload
    amounts: dict[TrafficKey, list[int]] = field(default_factory=dict)

    def move(
        self,
        category: str,
        client: Client,
        broker: int | None,
        topic: str | None,
        partition: int | None,
        size: int,
        *,
        diskless: bool = False,
    ) -> None:
        """Add record batches of a client."""
        workload, position = self.workload, self.workload.position(client)
        told = position.zone if diskless else position.named
        facts = Facts(
            category,
            position.rack,
            told,
            ("client_id" if diskless else "request") if told else None,
            workload.rack(broker),
            cluster_racks=frozenset(filter(None, workload.brokers.values())),
            diskless=diskless,
        )
        self._add(facts, client, broker, topic, partition, size)

    def copy(self, follower: int, leader: int | None, topic: str | None, partition: int | None, size: int) -> None:
        """Add record batches that a follower copies."""
        facts = Facts(REPLICATION, self.workload.rack(follower), broker_rack=self.workload.rack(leader))
        self._add(facts, (f"broker-{follower}-fetcher-0", ""), leader, topic, partition, size)

    def _add(
        self, facts: Facts, client: Client, broker: int | None, topic: str | None, partition: int | None, size: int
    ) -> None:
        verdict = judge(facts)
        key = TrafficKey(
            0,
            "",
            facts.category,
            "",
            *client,
            topic=topic,
            partition=partition,
            client_rack=facts.client_rack,
            broker=broker,
            broker_rack=facts.broker_rack,
            locality=verdict.locality,
            reason=verdict.reason,
            saves=verdict.saves,
            at_most=verdict.at_most,
        )
        sums = self.amounts.setdefault(key, [0] * len(SUMS))
        sums[1 if facts.category == PRODUCE else 2] += size
        sums[RECORD_BYTES] += size


def as_it_would_be(workload: Workload, change: WhatIfChange) -> ReplayedTraffic:
    """The same records written and read, with what differs. Nothing at all gives the model of what was captured."""
    notes: list[str] = []
    diskless = frozenset(topic for topic in workload.topics if change.makes_diskless(topic)) | workload.diskless
    topics = placed(workload, change, diskless)
    model = Model(workload, change, topics, diskless, Rerouted(workload))
    groups = model.groups()
    model.produce()
    model.consume(groups)
    for copied in replication(workload, topics, diskless):
        model.to.copy(*copied)
    notes += [
        f"no topic of the capture is named {pattern}"
        for pattern in change.diskless
        if not any(fnmatchcase(topic, pattern) for topic in workload.topics)
    ]
    if diskless > workload.diskless:
        notes.append("what diskless topics put into object storage and take from it is not in the bill")
    readers = {topic for (_, _, topic, _, _), size in workload.consumed.items() if size}
    nowhere = sum(position.rack is None for position in workload.positions.values())
    if change.client_rack == AUTO and nowhere:
        notes.append(f"{nowhere} of {len(workload.positions)} clients name no rack, since nothing says where they are")
    if change.client_rack is not None and not model.reads_from_followers and readers - diskless:
        notes.append("brokers have no rack-aware replica selector, so a reader's rack changes nothing for its fetches")
    return ReplayedTraffic(
        model.to.amounts, groups, leaders_of(workload, topics, diskless), notes, bool(workload.replicated)
    )


@dataclass(slots=True)
class Model:
    """Who talks to whom under a change."""

    workload: Workload
    change: WhatIfChange
    topics: Mapping[str, Mapping[int, ObservedPartition]]
    diskless: frozenset[str]
    to: Rerouted

    @property
    def reads_from_followers(self) -> bool:
        asked = self.change.reads_from_followers
        return self.workload.reads_from_followers if asked is None else asked

    def named_rack(self, client: Client, own: str | None = None, *, diskless: bool = False) -> str | None:
        """The rack that a client names to brokers: in Fetch, or for diskless topics in its client id."""
        position = self.workload.position(client)
        if self.change.client_rack is None:
            return own or (position.zone if diskless else position.named)
        return position.rack if self.change.client_rack == AUTO else self.change.client_rack

    def groups(self) -> dict[str, GroupHistory]:
        change, workload = self.change, self.workload
        asked = (change.protocol, change.assignor, change.client_rack, change.placer)
        if not any(asked):
            return {name: as_captured(group, workload.last) for name, group in workload.groups.items()}
        replicas = {topic: lists_of(partitions) for topic, partitions in self.topics.items()}
        topology = Topology(workload.brokers, replicas, workload.topic_ids)

        def rack_of(seen: MemberSeen) -> str | None:
            return self.named_rack(seen.client, seen.rack)

        return {
            name: replayed(group, topology, workload.last, rack_of, change.protocol, change.assignor)
            for name, group in workload.groups.items()
        }

    def produce(self) -> None:
        for (client, topic, partition, broker), amount in self.workload.produced.items():
            if topic in self.diskless:
                self.near(PRODUCE, client, broker, topic, partition, amount)
                continue
            layout = self.layout(topic, partition)
            to = layout.leader if layout is not None and layout.leader >= 0 else broker
            self.to.move(PRODUCE, client, to, topic, partition, amount)

    def consume(self, groups: Mapping[str, GroupHistory]) -> None:
        pooled: dict[tuple[str, str | None, int | None], int] = {}
        for (client, group, topic, partition, broker), amount in self.workload.consumed.items():
            history = groups.get(group) if group is not None else None
            if history is not None and topic is not None and (topic, partition) in history.readers:
                assert group is not None
                key = (group, topic, partition)
                pooled[key] = pooled.get(key, 0) + amount
            else:
                self.read(client, topic, partition, broker, amount)
        for (group, topic, partition), amount in pooled.items():
            assert topic is not None
            assert partition is not None
            readers = groups[group].readers[topic, partition]
            parts = numbers_divided(amount, [*readers.values()])
            for client, part in zip(readers, parts, strict=True):
                self.read(client, topic, partition, None, part)

    def read(self, client: Client, topic: str | None, partition: int | None, broker: int | None, amount: int) -> None:
        if topic in self.diskless:
            self.near(CONSUME, client, broker, topic, partition, amount)
            return
        layout = self.layout(topic, partition)
        source = self.source(layout, client) if layout is not None and layout.leader >= 0 else broker
        self.to.move(CONSUME, client, source, topic, partition, amount)

    def source(self, layout: ObservedPartition, client: Client) -> int:
        """Who serves a reader: the leader, or where brokers look at racks a replica in sync that is in its rack."""
        rack = self.named_rack(client) if self.reads_from_followers else None
        racks = self.workload.brokers
        near = [broker for broker in layout.in_sync if rack and racks.get(broker) == rack]
        return layout.leader if not near or layout.leader in near else max(near)

    def near(
        self,
        category: str,
        client: Client,
        broker: int | None,
        topic: str | None,
        partition: int | None,
        size: int,
    ) -> None:
        """Of diskless topics: any broker of the rack that the client names; of all, where it names none."""
        workload = self.workload
        rack = self.named_rack(client, diskless=True)
        brokers = [one for one, its in sorted(workload.brokers.items()) if rack and its == rack]
        chosen: Sequence[int | None] = brokers or sorted(workload.brokers) or [broker]
        if topic in workload.diskless and self.change.client_rack is None and broker is not None:
            chosen = [broker]  # as it went
        for one, part in zip(chosen, numbers_divided(size, [1] * len(chosen)), strict=True):
            self.to.move(category, client, one, topic, partition, part, diskless=True)

    def layout(self, topic: str | None, partition: int | None) -> ObservedPartition | None:
        if topic is None or partition is None:
            return None
        return self.topics.get(topic, {}).get(partition)


def placed(
    workload: Workload, change: WhatIfChange, diskless: frozenset[str]
) -> Mapping[str, Mapping[int, ObservedPartition]]:
    """Where replicas are: as told, or as the placer puts them, each topic from a place that its name decides."""
    if change.placer is None:
        return workload.topics
    brokers = [UsableBroker(broker, rack) for broker, rack in sorted(workload.brokers.items())]
    found: dict[str, Mapping[int, ObservedPartition]] = {}
    for topic, partitions in workload.topics.items():
        if topic in diskless or not partitions:
            found[topic] = partitions
            continue
        width = change.replication_factor or max(len(layout.replicas) for layout in partitions.values())
        settings = {**dict(change.placer_settings), SEED_SETTING: str(crc32(topic.encode()))}
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
    workload: Workload, topics: Mapping[str, Mapping[int, ObservedPartition]], diskless: frozenset[str]
) -> Iterator[tuple[int, int | None, str | None, int | None, int]]:
    """What followers copy: as captured where they are the same, else as much as the others did.

    A capture without any of it shows clients alone; then each follower copies what is produced. Gives follower, leader,
    topic, partition and bytes.
    """
    captured: dict[tuple[str | None, int | None], dict[int, dict[int | None, int]]] = {}
    for (follower, topic, partition, leader), size in workload.replicated.items():
        by_follower = captured.setdefault((topic, partition), {})
        by_follower.setdefault(follower, {})[leader] = size
    produced: dict[tuple[str | None, int | None], int] = {}
    for (_, topic, partition, _), size in workload.produced.items():
        produced[topic, partition] = produced.get((topic, partition), 0) + size
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
        else:  # without any captured follower, what is produced; else followers were listened to, and had none of it
            each = 0 if workload.replicated else produced.get((topic, partition), 0)
        is_as_told = topic is not None and workload.topics.get(topic) is topics.get(topic)
        for follower in layout.replicas:
            if follower != layout.leader:
                own = in_all[follower] if is_as_told and follower in in_all else each
                if own:
                    yield follower, layout.leader, topic, partition, own


def leaders_of(
    workload: Workload, topics: Mapping[str, Mapping[int, ObservedPartition]], diskless: frozenset[str]
) -> dict[int, int]:
    """Partitions led by broker; of diskless topics nobody leads."""
    found = dict.fromkeys(sorted(workload.brokers), 0)
    for topic, partitions in topics.items():
        if topic in diskless:
            continue
        for layout in partitions.values():
            if layout.leader >= 0:
                found[layout.leader] = found.get(layout.leader, 0) + 1
    return found


def lists_of(partitions: Mapping[int, ObservedPartition]) -> list[list[int]]:
    return [
        list(partitions[number].replicas) if number in partitions else []
        for number in range(max(partitions, default=-1) + 1)
    ]


def numbers_divided(number: int, weights: Sequence[int]) -> list[int]:
    """A number by weights: the parts add up to it.

    >>> numbers_divided(10, [1, 2])
    [4, 6]
    """
    total = sum(weights)
    parts = [number * weight // total for weight in weights]
    for place_of_rest in range(number - sum(parts)):
        parts[place_of_rest % len(parts)] += 1
    return parts
