"""The workload of a captured cluster: the ledger's flows, the replicas of partitions, and the members of groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_rack.locality.amounts import US
from kafka_rack.locality.tables import Amounts
from kafka_rack.locality.traffic import TrafficKey

Client = tuple[str, str]
"""A client id, and the address without its port."""
TopicPartition = tuple[str, int]


class ClientPosition(NamedTuple):
    """A client's real rack, as far as known; the rack that it sends in Fetch, and the zone that it names otherwise.

    A zone (in the client id, or by the listener) counts only for diskless topics, a rack in Fetch only for the others.
    """

    rack: str | None = None
    named: str | None = None
    zone: str | None = None


NOWHERE = ClientPosition()


class ObservedPartition(NamedTuple):
    """A partition's replicas, preferred first, the in-sync ones, and its leader; -1 without one."""

    replicas: tuple[int, ...]
    leader: int
    in_sync: frozenset[int]


class MemberSeen(NamedTuple):
    """A group's member: its client, its subscription and the rack that it names."""

    client: Client
    topics: tuple[str, ...]
    rack: str | None = None
    instance_id: str | None = None


@dataclass(slots=True)
class ObservedGeneration:
    """A group between two rebalances, from ``since`` on (microseconds since 1970).

    ``assignment`` has the partitions of each member, if the capture has them.
    """

    since: int
    members: dict[str, MemberSeen]
    assignment: dict[str, list[TopicPartition]] = field(default_factory=dict)


@dataclass(slots=True)
class ObservedGroup:
    """A group's history. ``protocol`` is classic or consumer, ``assignor`` is its name on the wire."""

    protocol: str
    assignor: str | None
    generations: list[ObservedGeneration] = field(default_factory=list)


@dataclass(slots=True)
class Workload:
    """A cluster's workload until ``last``, microseconds since 1970. Bytes are record batches as sent.

    Attributes:
        flows: the ledger's flows of clients and followers, as they were measured, by windows of ``window_us``.
        brokers: broker id -> rack, None if it has none or is unknown.
        topics: topic -> partition -> its last reported replicas.
        positions: the racks of clients, also of those without records.
        replicated: (follower, topic, partition, leader) -> bytes of followers' fetches.
        diskless: topics that any broker serves.
        reads_from_followers: brokers have the rack-aware selector.
        serves_consumer_protocol: brokers serve KIP-848; None if unknown.
        assignor: the coordinator's default.
        notes: contradictions in the known settings of the cluster.
    """

    last: int = 0
    window_us: int = US
    flows: dict[TrafficKey, Amounts] = field(default_factory=dict)
    brokers: dict[int, str | None] = field(default_factory=dict)
    topics: dict[str, dict[int, ObservedPartition]] = field(default_factory=dict)
    topic_ids: dict[str, bytes] = field(default_factory=dict)
    positions: dict[Client, ClientPosition] = field(default_factory=dict)
    replicated: dict[tuple[int, str | None, int | None, int | None], int] = field(default_factory=dict)
    groups: dict[str, ObservedGroup] = field(default_factory=dict)
    diskless: frozenset[str] = frozenset()
    reads_from_followers: bool = False
    serves_consumer_protocol: bool | None = None
    assignor: str = "uniform"
    notes: list[str] = field(default_factory=list)

    def see(self, key: TrafficKey) -> None:
        """Record the rack of a flow's client."""
        known, named, how = self.positions.get(client_of(key), NOWHERE), key.told_rack, key.client_rack_from
        self.positions[client_of(key)] = ClientPosition(
            key.client_rack or known.rack,
            named if how == "request" or (how == "racks_file" and named) else known.named,
            named if how in ("client_id", "listener") else known.zone,
        )


def client_of(key: TrafficKey) -> Client:
    return key.client_id or "", key.client_host or ""
