"""A cluster at work as a capture shows it, small enough to think over: who moves what, and who is in which group.

Everything is added up: one amount for each client, partition and broker. Times matter to groups alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_rack.locality.tables import Amounts
from kafka_rack.locality.traffic import TrafficKey

Client = tuple[str, str]
"""A client id, and the address without its port."""
TopicPartition = tuple[str, int]


class ClientPosition(NamedTuple):
    """Where a client is, as far as it is known; the rack that it sends in Fetch, and the zone that it names otherwise.

    A zone (in the client id, or by the listener) is looked at for diskless topics alone, and a rack in Fetch for the
    others alone.
    """

    rack: str | None = None
    named: str | None = None
    zone: str | None = None


NOWHERE = ClientPosition()


class ObservedPartition(NamedTuple):
    """A partition's replicas, preferred first, those in sync among them, and its leader; -1 without one."""

    replicas: tuple[int, ...]
    leader: int
    in_sync: frozenset[int]


class MemberSeen(NamedTuple):
    """A group's member: whose it is, what it subscribes to and the rack that it names."""

    client: Client
    topics: tuple[str, ...]
    rack: str | None = None
    instance_id: str | None = None


@dataclass(slots=True)
class ObservedGeneration:
    """A group between two rebalances, from ``since`` on (microseconds since 1970).

    ``assignment`` has who had what, where the capture shows it.
    """

    since: int
    members: dict[str, MemberSeen]
    assignment: dict[str, list[TopicPartition]] = field(default_factory=dict)


@dataclass(slots=True)
class ObservedGroup:
    """A group's history. ``protocol`` is classic or consumer, ``assignor`` as the wire names it."""

    protocol: str
    assignor: str | None
    generations: list[ObservedGeneration] = field(default_factory=list)


@dataclass(slots=True)
class Workload:
    """A cluster at work until ``last``, microseconds since 1970. Bytes are record batches as sent.

    Attributes:
        flows: the ledger's flows of clients and followers, as they were measured.
        brokers: broker id -> rack, None where it has none or none is known.
        topics: topic -> partition -> where its replicas are, as last told.
        positions: where clients are.
        produced: (client, topic, partition, broker) -> bytes; a broker or partition that is not known is None.
        consumed: (client, group, topic, partition, broker) -> bytes.
        replicated: (follower, topic, partition, leader) -> bytes of followers' fetches.
        diskless: topics that any broker serves.
        reads_from_followers: whether brokers have the rack-aware selector: any reader was sent to a follower.
    """

    last: int = 0
    flows: dict[TrafficKey, Amounts] = field(default_factory=dict)
    brokers: dict[int, str | None] = field(default_factory=dict)
    topics: dict[str, dict[int, ObservedPartition]] = field(default_factory=dict)
    topic_ids: dict[str, bytes] = field(default_factory=dict)
    positions: dict[Client, ClientPosition] = field(default_factory=dict)
    produced: dict[tuple[Client, str | None, int | None, int | None], int] = field(default_factory=dict)
    consumed: dict[tuple[Client, str | None, str | None, int | None, int | None], int] = field(default_factory=dict)
    replicated: dict[tuple[int, str | None, int | None, int | None], int] = field(default_factory=dict)
    groups: dict[str, ObservedGroup] = field(default_factory=dict)
    diskless: frozenset[str] = frozenset()
    reads_from_followers: bool = False

    def position(self, client: Client) -> ClientPosition:
        return self.positions.get(client, NOWHERE)

    def rack(self, broker: int | None) -> str | None:
        return self.brokers.get(broker) if broker is not None else None
