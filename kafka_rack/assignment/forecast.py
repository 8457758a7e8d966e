"""What an assignment costs: how many partitions each member reads inside its rack, and what each broker serves.

A member reads a partition from the closest replica (KIP-392: a replica in its rack, else the leader), where the
brokers have the rack-aware selector and the member its client.rack; otherwise from the leader. Every partition counts
as one unit of load.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_rack.assignment.members import Assignment, Member


@dataclass(frozen=True, slots=True)
class MemberForecast:
    """One member's reads.

    Attributes:
        partitions: how many it has.
        in_rack: how many of them it reads inside its rack from the closest replica; None: it has no rack.
        in_rack_from_leader: the same where it reads from leaders only.
    """

    member: str
    rack: str | None
    partitions: int
    in_rack: int | None
    in_rack_from_leader: int | None

    @property
    def share(self) -> float | None:
        """The share of its partitions that it reads inside its rack, 0 to 1; None without a rack or partitions."""
        return None if self.in_rack is None or not self.partitions else self.in_rack / self.partitions


@dataclass(frozen=True, slots=True)
class BrokerForecast:
    """How many partitions a broker serves to the group: as the closest replica, and as the leader only."""

    broker: int
    rack: str | None
    reads: int
    reads_as_leader: int


@dataclass(frozen=True, slots=True)
class GroupForecast:
    """The reads of a whole group; members sorted by id, brokers too.

    Attributes:
        out_of_rack: (topic, partition, member) of what a member with a rack cannot read inside it.
        unread: partitions without any replica on a broker that is up.
    """

    members: tuple[MemberForecast, ...]
    brokers: tuple[BrokerForecast, ...]
    out_of_rack: tuple[tuple[str, int, str], ...]
    unread: tuple[tuple[str, int], ...]

    @property
    def partitions(self) -> int:
        """Partitions of members that have a rack."""
        return sum(member.partitions for member in self.members if member.in_rack is not None)

    @property
    def in_rack(self) -> int:
        return sum(member.in_rack or 0 for member in self.members)

    @property
    def share(self) -> float | None:
        """The share of partitions read inside their rack, 0 to 1, over all members with a rack; None without any."""
        return self.in_rack / self.partitions if self.partitions else None

    @property
    def share_from_leader(self) -> float | None:
        """The same where all members read from leaders only."""
        if not self.partitions:
            return None
        return sum(member.in_rack_from_leader or 0 for member in self.members) / self.partitions


class ReplicaMap:
    """Which brokers can serve a partition now."""

    def __init__(self, cluster: Mapping[str, Any]) -> None:
        self.racks: dict[int, str | None] = dict(map(tuple, cluster["nodes"]))
        self._topics: Mapping[str, Sequence[Sequence[int]]] = cluster["topics"]
        self._offline: Mapping[str, Mapping[Any, Sequence[int]]] = cluster.get("offline") or {}
        self._leaders: Mapping[str, Sequence[int]] = cluster.get("leaders") or {}

    def online(self, topic: str, partition: int) -> list[int]:
        """Replicas on brokers that are up, the leader first; empty for a partition that does not exist."""
        partitions = self._topics.get(topic, ())
        if not 0 <= partition < len(partitions):
            return []
        offline = self._offline.get(topic, {})
        # Keys of JSON objects are strings.
        down = set(offline.get(partition, ())) | set(offline.get(str(partition), ()))
        up = [broker for broker in partitions[partition] if broker in self.racks and broker not in down]
        leaders = self._leaders.get(topic, ())
        if partition < len(leaders) and leaders[partition] in up:
            up.sort(key=lambda broker: broker != leaders[partition])
        return up

    def closest(self, online: Sequence[int], rack: str | None) -> int:
        """The replica that serves a member: the leader where it is in the rack, else the highest id there, else it."""
        near = [broker for broker in online if rack and self.racks[broker] == rack]
        if not near or online[0] in near:
            return online[0]
        return max(near)


def forecast(cluster: Mapping[str, Any], members: Sequence[Member], assignment: Assignment) -> GroupForecast:
    """Say who reads what from where.

    Args:
        cluster: as ``kafka_rack.assignment.assign`` takes it. ``offline`` replicas serve nobody. ``leaders``
            {topic: [leader of partition 0, ...]} may say who leads; else the first replica that is up does.
    """
    replicas = ReplicaMap(cluster)
    reads = dict.fromkeys(replicas.racks, 0)
    reads_as_leader = dict.fromkeys(replicas.racks, 0)
    rows, out_of_rack, unread = [], [], []
    for member in sorted(members, key=lambda one: one.member_id):
        rack = member.rack or None
        owned = assignment.get(member.member_id, [])
        in_rack = in_rack_from_leader = 0
        for topic, partition in owned:
            online = replicas.online(topic, partition)
            if not online:
                unread.append((topic, partition))
                continue
            broker = replicas.closest(online, rack)
            reads[broker] += 1
            reads_as_leader[online[0]] += 1
            in_rack_from_leader += replicas.racks[online[0]] == rack
            if replicas.racks[broker] == rack:
                in_rack += 1
            elif rack:
                out_of_rack.append((topic, partition, member.member_id))
        rows.append(
            MemberForecast(
                member.member_id,
                rack,
                len(owned),
                in_rack if rack else None,
                in_rack_from_leader if rack else None,
            )
        )
    brokers = tuple(
        BrokerForecast(broker, replicas.racks[broker], reads[broker], reads_as_leader[broker])
        for broker in sorted(replicas.racks)
    )
    return GroupForecast(tuple(rows), brokers, tuple(sorted(out_of_rack)), tuple(sorted(unread)))


def crossings(
    cluster: Mapping[str, Any], members: Sequence[Member], assignment: Assignment
) -> Counter[tuple[str, str]]:
    """How many partitions are read from one rack into another: (rack of the broker, rack of the member) -> partitions.

    What stays in its rack is not there, nor what is read by a member or from a broker without a rack.
    """
    replicas = ReplicaMap(cluster)
    found: Counter[tuple[str, str]] = Counter()
    for member in members:
        for topic, partition in assignment.get(member.member_id, ()) if member.rack else ():
            online = replicas.online(topic, partition)
            sender = replicas.racks[replicas.closest(online, member.rack)] if online else None
            if sender and member.rack and sender != member.rack:
                found[sender, member.rack] += 1
    return found
