"""Where a workload's bytes go: as they were captured, and as they would go if something were different."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NamedTuple
from zlib import crc32

from kafka_rack.assignment import Topology
from kafka_rack.placement import UsableBroker, place
from kafka_rack.what_if.change import AUTO, WhatIfChange
from kafka_rack.what_if.groups import GroupHistory, as_captured, replayed
from kafka_rack.what_if.workload import Amount, Client, MemberSeen, ObservedPartition, Workload

PRODUCE, CONSUME, REPLICATION = "produce", "consume", "replication"


class ReplayedFlow(NamedTuple):
    """Bytes between a client, or a follower, and a broker. A rack or broker that is not known is None."""

    category: str
    client: Client | None
    follower: int | None
    client_rack: str | None
    broker: int | None
    broker_rack: str | None
    topic: str | None
    amount: Amount


@dataclass(slots=True)
class ReplayedTraffic:
    """How it goes: the bytes, the groups, and who leads how many partitions."""

    flows: list[ReplayedFlow]
    groups: dict[str, GroupHistory]
    leaders: dict[int, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    replication_is_captured: bool = True


def as_it_was(workload: Workload) -> ReplayedTraffic:
    """What was captured. Replication that was not is what producing makes of it."""
    flows = []
    for (client, topic, _, broker), amount in workload.produced.items():
        flows.append(client_flow(workload, PRODUCE, client, broker, topic, amount))
    for (client, _, topic, _, broker), amount in workload.consumed.items():
        flows.append(client_flow(workload, CONSUME, client, broker, topic, amount))
    flows += replication(workload, workload.topics, workload.diskless)
    groups = {name: as_captured(group, workload.last) for name, group in workload.groups.items()}
    return ReplayedTraffic(
        flows,
        groups,
        leaders_of(workload, workload.topics, workload.diskless),
        replication_is_captured=bool(workload.replicated),
    )


def as_it_would_be(workload: Workload, change: WhatIfChange) -> ReplayedTraffic:
    """The same records written and read, with what differs. Nothing at all gives the model of what was captured."""
    notes: list[str] = []
    diskless = frozenset(topic for topic in workload.topics if change.makes_diskless(topic)) | workload.diskless
    topics = placed(workload, change, diskless)
    model = Model(workload, change, topics, diskless)
    groups = model.groups()
    flows = [*model.produce(), *model.consume(groups), *replication(workload, topics, diskless)]
    notes += [
        f"no topic of the capture is named {pattern}"
        for pattern in change.diskless
        if not any(fnmatchcase(topic, pattern) for topic in workload.topics)
    ]
    if diskless > workload.diskless:
        notes.append("what diskless topics put into object storage and take from it is not in the bill")
    nowhere = sum(position.rack is None for position in workload.positions.values())
    if change.client_rack == AUTO and nowhere:
        notes.append(f"{nowhere} of {len(workload.positions)} clients name no rack, since nothing says where they are")
    if change.client_rack is not None and not model.reads_from_followers:
        notes.append("brokers have no rack-aware replica selector, so a reader's rack changes nothing for its fetches")
    return ReplayedTraffic(flows, groups, leaders_of(workload, topics, diskless), notes, bool(workload.replicated))


@dataclass(slots=True)
class Model:
    """Who talks to whom under a change."""

    workload: Workload
    change: WhatIfChange
    topics: Mapping[str, Mapping[int, ObservedPartition]]
    diskless: frozenset[str]

    @property
    def reads_from_followers(self) -> bool:
        asked = self.change.reads_from_followers
        return self.workload.reads_from_followers if asked is None else asked

    def named_rack(self, client: Client, own: str | None = None) -> str | None:
        """The rack that a client names to brokers."""
        position = self.workload.position(client)
        if self.change.client_rack is None:
            return own or position.named
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

    def produce(self) -> Iterator[ReplayedFlow]:
        workload = self.workload
        for (client, topic, partition, broker), amount in workload.produced.items():
            if topic in self.diskless:
                yield from self.near(PRODUCE, client, broker, topic, amount)
                continue
            layout = self.layout(topic, partition)
            to = layout.leader if layout is not None and layout.leader >= 0 else broker
            yield client_flow(workload, PRODUCE, client, to, topic, amount)

    def consume(self, groups: Mapping[str, GroupHistory]) -> Iterator[ReplayedFlow]:
        pooled: dict[tuple[str, str | None, int | None], Amount] = {}
        for (client, group, topic, partition, broker), amount in self.workload.consumed.items():
            history = groups.get(group) if group is not None else None
            if history is not None and topic is not None and (topic, partition) in history.readers:
                assert group is not None
                key = (group, topic, partition)
                pooled[key] = pooled.get(key, Amount()).plus(amount)
            else:
                yield from self.read(client, topic, partition, broker, amount)
        for (group, topic, partition), amount in pooled.items():
            assert topic is not None
            assert partition is not None
            readers = groups[group].readers[topic, partition]
            parts = divided(amount, [*readers.values()])
            for client, part in zip(readers, parts, strict=True):
                yield from self.read(client, topic, partition, None, part)

    def read(
        self, client: Client, topic: str | None, partition: int | None, broker: int | None, amount: Amount
    ) -> Iterator[ReplayedFlow]:
        if topic in self.diskless:
            yield from self.near(CONSUME, client, broker, topic, amount)
            return
        layout = self.layout(topic, partition)
        source = self.source(layout, client) if layout is not None and layout.leader >= 0 else broker
        yield client_flow(self.workload, CONSUME, client, source, topic, amount)

    def source(self, layout: ObservedPartition, client: Client) -> int:
        """Who serves a reader: the leader, or where brokers look at racks a replica in sync that is in its rack."""
        rack = self.named_rack(client) if self.reads_from_followers else None
        racks = self.workload.brokers
        near = [broker for broker in layout.in_sync if rack and racks.get(broker) == rack]
        return layout.leader if not near or layout.leader in near else max(near)

    def near(
        self, category: str, client: Client, broker: int | None, topic: str | None, amount: Amount
    ) -> Iterator[ReplayedFlow]:
        """Of diskless topics: any broker of the rack that the client names; of all, where it names none."""
        workload = self.workload
        if topic in workload.diskless and self.change.client_rack is None and broker is not None:
            yield client_flow(workload, category, client, broker, topic, amount)  # as it went
            return
        rack = self.named_rack(client)
        brokers = [one for one, its in sorted(workload.brokers.items()) if rack and its == rack]
        chosen: Sequence[int] = brokers or sorted(workload.brokers)
        if not chosen:
            yield client_flow(workload, category, client, broker, topic, amount)
            return
        for one, part in zip(chosen, divided(amount, [1] * len(chosen)), strict=True):
            if part.bytes:
                yield client_flow(workload, category, client, one, topic, part)

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
        rows = place(
            change.placer,
            brokers,
            0,
            max(partitions) + 1,
            max(1, width),
            seed=crc32(topic.encode()),
            settings=dict(change.placer_settings),
        )
        found[topic] = {
            number: ObservedPartition(tuple(rows[number]), rows[number][0], frozenset(rows[number]))
            for number in partitions
        }
    return found


def replication(
    workload: Workload, topics: Mapping[str, Mapping[int, ObservedPartition]], diskless: frozenset[str]
) -> Iterator[ReplayedFlow]:
    """What followers fetch: as captured where they are the same, else as much as the others did.

    A capture without any of it shows clients alone; then each follower fetches what is produced.
    """
    captured: dict[tuple[str | None, int | None], dict[int, dict[int | None, Amount]]] = {}
    for (follower, topic, partition, leader), amount in workload.replicated.items():
        by_follower = captured.setdefault((topic, partition), {})
        by_follower.setdefault(follower, {})[leader] = amount
    produced: dict[tuple[str | None, int | None], int] = {}
    for (_, topic, partition, _), amount in workload.produced.items():
        produced[topic, partition] = produced.get((topic, partition), 0) + amount.record_bytes
    for topic, partition in {**captured, **produced}:
        if topic in diskless:
            continue
        seen = captured.get((topic, partition), {})
        layout = topics.get(topic, {}).get(partition) if topic is not None and partition is not None else None
        if layout is None or layout.leader < 0:
            for follower, by_leader in seen.items():
                for leader, amount in by_leader.items():  # it may have changed
                    yield follower_flow(workload, follower, leader, topic, amount)
            continue
        in_all = {follower: total_of(by_leader.values()) for follower, by_leader in seen.items()}
        if in_all:
            each = divided(total_of(in_all.values()), [1] * len(in_all))[0]
        elif not workload.replicated:
            copied = produced.get((topic, partition), 0)
            each = Amount(0, copied, copied)
        else:
            each = Amount()  # followers were listened to, and had none of it
        is_as_told = topic is not None and workload.topics.get(topic) is topics.get(topic)
        for follower in layout.replicas:
            if follower != layout.leader:
                own = in_all[follower] if is_as_told and follower in in_all else each
                if own.bytes:
                    yield follower_flow(workload, follower, layout.leader, topic, own)


def client_flow(
    workload: Workload, category: str, client: Client, broker: int | None, topic: str | None, amount: Amount
) -> ReplayedFlow:
    return ReplayedFlow(
        category, client, None, workload.position(client).rack, broker, workload.rack(broker), topic, amount
    )


def follower_flow(
    workload: Workload, follower: int, leader: int | None, topic: str | None, amount: Amount
) -> ReplayedFlow:
    return ReplayedFlow(
        REPLICATION, None, follower, workload.rack(follower), leader, workload.rack(leader), topic, amount
    )


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


def total_of(amounts: Iterable[Amount]) -> Amount:
    total = Amount()
    for amount in amounts:
        total = total.plus(amount)
    return total


def divided(amount: Amount, weights: Sequence[int]) -> list[Amount]:
    """An amount by weights, to the byte: the parts add up to it.

    >>> divided(Amount(10, 1, 0), [1, 2])
    [Amount(sent=4, received=1, record_bytes=0), Amount(sent=6, received=0, record_bytes=0)]
    """
    columns = [numbers_divided(number, weights) for number in amount]
    return [Amount(*parts) for parts in zip(*columns, strict=True)]


def numbers_divided(number: int, weights: Sequence[int]) -> list[int]:
    total = sum(weights)
    parts = [number * weight // total for weight in weights]
    for place_of_rest in range(number - sum(parts)):
        parts[place_of_rest % len(parts)] += 1
    return parts
