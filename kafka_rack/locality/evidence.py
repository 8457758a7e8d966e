"""Evidence in a capture's rows for the racks of clients, brokers and replicas.

It applies to the whole capture: a client that names its rack late was there before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from kafka_rack.locality.completeness import Completeness
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.wire_tables.rows import Rows

NUMBER = re.compile(r"[0-9]{1,9}")
PORT = re.compile(r":[0-9]+$")
FETCHER = re.compile(r"(?:broker-([0-9]{1,9})-fetcher-[0-9]+|raft-client-([0-9]{1,9}))")
"""Client ids of Kafka's own followers: ReplicaFetcherThread's and the metadata quorum's."""
AMONG_BROKERS = frozenset(
    ("LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown", "WriteTxnMarkers", "AlterPartition")
) | frozenset(("AllocateProducerIds", "BrokerRegistration", "BrokerHeartbeat", "Envelope", "AssignReplicasToDirs"))
"""APIs that only brokers and controllers call; their client id is then their own number."""
SELECTOR, DISKLESS = "replica.selector.class", "diskless.enable"
REBALANCE_PROTOCOLS, ASSIGNORS = "group.coordinator.rebalance.protocols", "group.consumer.assignors"
SETTINGS = frozenset({SELECTOR, DISKLESS, REBALANCE_PROTOCOLS, ASSIGNORS, "Fetch", "ConsumerGroupHeartbeat"})
"""The settings, and the APIs in ApiVersions, that show how a cluster uses racks."""
OWN_EVENTS = ("join", "heartbeat", "leave")
"""Events of ``memberships`` in which a client describes itself; a leader learns of others too."""
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Client = tuple[str, str]
"""A client id and the address without port."""
TopicPartition = tuple[str, int]
Setting = tuple[str, str, str]
"""The kind of a resource, its name, and the setting's name; for ``api`` the API's name."""


class Unanimous(Generic[Key, Value]):
    """The value of each key whose values are all equal.

    >>> found = Unanimous()
    >>> for key, value in (("a", 1), ("a", 1), ("b", 1), ("b", 2)):
    ...     found.add(key, value)
    >>> found.agreed()
    {'a': 1}
    """

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: dict[Key, Value | None] = {}

    def add(self, key: Key, value: Value | None) -> None:
        """``None`` means disagreement."""
        if self.values.setdefault(key, value) != value:
            self.values[key] = None

    def merge(self, other: Unanimous[Key, Value]) -> None:
        for key, value in other.values.items():
            self.add(key, value)

    def agreed(self) -> dict[Key, Value]:
        return {key: value for key, value in self.values.items() if value is not None}


@dataclass(slots=True)
class Evidence:
    """Collects the evidence in rows. ``first`` and ``last`` are times in microseconds since 1970.

    ``factors`` are topics' replication factors; ``unreadable`` counts frames with an error; ``problems`` are files'.
    """

    capture: str | None = None
    frames: int = 0
    first: int = 1 << 62
    last: int = 0
    broker_racks: Unanimous[int, str] = field(default_factory=Unanimous)
    racks: set[str] = field(default_factory=set)
    broker_of: Unanimous[int, int] = field(default_factory=Unanimous)
    calling_broker: Unanimous[int, int] = field(default_factory=Unanimous)
    rack_of: Unanimous[int, str] = field(default_factory=Unanimous)
    client_racks: Unanimous[Client, str] = field(default_factory=Unanimous)
    member_racks: Unanimous[tuple[str, str, str], str] = field(default_factory=Unanimous)
    groups: Unanimous[Client, str] = field(default_factory=Unanimous)
    follower_of: Unanimous[int, int] = field(default_factory=Unanimous)
    followers: Unanimous[Client, int] = field(default_factory=Unanimous)
    leaders: dict[str, set[tuple[int | None, str | None]]] = field(default_factory=dict)
    served_by: dict[tuple[str, int, int], tuple[int, int]] = field(default_factory=dict)
    topics: Unanimous[str, str] = field(default_factory=Unanimous)
    settings: Unanimous[Setting, str] = field(default_factory=Unanimous)
    software: Unanimous[int, tuple[str, str]] = field(default_factory=Unanimous)
    factors: dict[str, int] = field(default_factory=dict)
    unreadable: int = 0
    problems: Counter[str] = field(default_factory=Counter)

    def add(self, rows: Rows) -> None:
        """Add the evidence of the next frames."""
        for capture, ts, error in rows.rows("frames", ("capture", "ts", "error")):
            self.capture = capture
            self.frames += 1
            self.first, self.last = min(self.first, ts), max(self.last, ts)
            self.unreadable += error is not None
        for frame in set(rows.rows("frames", ("api", "conn", "client_id", "broker", "broker_rack"))):
            self.add_connection(*frame)
        self.problems.update(reason for (reason,) in rows.rows("problems", ("reason",)))
        for broker, rack in set(rows.rows("brokers", ("broker_id", "rack"))):
            self.add_broker(broker, rack)
        for conn, *setting, value in set(rows.rows("settings", ("conn", "resource", "resource_name", "name", "value"))):
            if setting[0] == "client":
                self.software.add(conn, (setting[2], value or ""))
            elif setting[2] in SETTINGS:
                self.settings.add(tuple(setting), value or "")
        self.add_fetches(rows)
        self.add_memberships(rows)
        self.add_partitions(rows)

    def add_broker(self, broker: int | None, rack: str | None) -> None:
        if broker is not None and rack:
            self.broker_racks.add(broker, rack)
            self.racks.add(rack)

    def add_client(self, conn: int, client: Client | None, rack: str) -> None:
        self.rack_of.add(conn, rack)
        if client is not None:
            self.client_racks.add(client, rack)

    def add_connection(
        self, api: str, conn: int, client_id: str | None, broker: int | None, broker_rack: str | None
    ) -> None:
        """Add a frame's evidence for its connection."""
        self.add_broker(broker, broker_rack)
        if broker is not None:
            self.broker_of.add(conn, broker)
        if api in AMONG_BROKERS and client_id and NUMBER.fullmatch(client_id):
            self.calling_broker.add(conn, int(client_id))

    def add_fetches(self, rows: Rows) -> None:
        columns = ("conn", "client_id", "client_addr", "client_rack", "client_rack_from")
        for conn, client_id, address, rack, rack_from, who, replica, replica_rack in set(
            rows.rows("fetches", (*columns, "who", "replica_id", "replica_rack"))
        ):
            client = client_of(client_id, address)
            if who == "follower":
                self.follower_of.add(conn, replica)
                if client is not None:
                    self.followers.add(client, replica)
                if replica_rack:
                    self.add_client(conn, client, replica_rack)
            elif rack_from == "request":
                self.add_client(conn, client, rack)

    def add_memberships(self, rows: Rows) -> None:
        columns = ("conn", "client_id", "client_addr", "event", "protocol", "group_id", "rack_id")
        for conn, client_id, address, event, protocol, group, rack in set(rows.rows("memberships", columns)):
            client = client_of(client_id, address)
            if client is not None and group:
                self.groups.add(client, group)
            if rack and event in OWN_EVENTS:
                self.add_client(conn, client, rack)
                if client is not None and protocol == "share" and group:
                    self.member_racks.add((*client, group), rack)

    def add_partitions(self, rows: Rows) -> None:
        """Replicas, leaders, and the brokers that served a partition of one replica in each leader epoch."""
        columns = ("topic", "topic_id", "partition", "leader", "leader_rack", "leader_epoch")
        for topic, topic_id, partition, leader, rack, epoch, replicas, racks, error in rows.rows(
            "partitions", (*columns, "replicas", "replica_racks", "error_code")
        ):
            if topic and topic_id:
                self.topics.add(topic_id, topic)
            if topic is None or partition is None or error != 0:
                continue
            self.leaders.setdefault(topic, set()).add((leader, rack))
            self.add_broker(leader, rack)
            self.factors[topic] = max(len(replicas or ()), self.factors.get(topic, 0))
            for broker, replica_rack in zip(replicas or (), racks or (), strict=False):
                self.add_broker(broker, replica_rack)
            if len(replicas or ()) == 1 and leader is not None and epoch is not None and epoch >= 0:
                least, most = self.served_by.get((topic, partition, epoch), (leader, leader))
                self.served_by[topic, partition, epoch] = min(least, leader), max(most, leader)

    def merge(self, other: Evidence) -> None:
        """Add the evidence of other connections of the same capture."""
        self.capture = self.capture or other.capture
        self.frames += other.frames
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        for name in UNANIMOUS:
            getattr(self, name).merge(getattr(other, name))
        self.racks |= other.racks
        self.unreadable += other.unreadable
        self.problems.update(other.problems)
        for topic, factor in other.factors.items():
            self.factors[topic] = max(factor, self.factors.get(topic, 0))
        for topic, leaders in other.leaders.items():
            self.leaders.setdefault(topic, set()).update(leaders)
        for key, (least, most) in other.served_by.items():
            before = self.served_by.get(key, (least, most))
            self.served_by[key] = min(least, before[0]), max(most, before[1])

    def completeness(self) -> Completeness:
        """The read and unread parts of the capture."""
        found = Completeness([(self.first, self.last)] if self.frames else [], self.frames, self.unreadable)
        for reason, count in self.problems.items():
            found.add_problem(reason, count)
        capture = self.capture or ""
        if self.follower_of.values:
            found.with_replication.add(capture)
        if any(factor > 1 for factor in self.factors.values()):
            found.copied_bytes[capture] = 0
        return found

    def conclude(self, rules: RackRules | None = None) -> Conclusions:
        """The conclusions; brokers whose rack no frame names have that of the racks file."""
        racks = self.broker_racks.agreed()
        filed = rules.brokers if rules is not None else {}
        known = {**filed, **racks}
        led_anywhere = frozenset(topic for (topic, _, _), (least, most) in self.served_by.items() if least != most)
        settings = self.settings.agreed()
        enabled = {
            topic: value == "true"
            for (kind, topic, name), value in settings.items()
            if (kind, name) == ("topic", DISKLESS)
        }
        diskless = frozenset(topic for topic in {*led_anywhere, *enabled} if enabled.get(topic, True))
        leaders = {}
        for topic, reports in self.leaders.items():
            led = frozenset(rack or known.get(leader, "") for leader, rack in reports if leader is not None) - {""}
            if led:
                leaders[topic] = led
        called = {conn: known[broker] for conn, broker in self.calling_broker.agreed().items() if broker in known}
        agreed = {name: getattr(self, name).agreed() for name in UNANIMOUS if name in Conclusions._fields}
        return Conclusions(
            **{**agreed, "rack_of": called | agreed["rack_of"]},
            capture=self.capture or "",
            filed_brokers=filed,
            cluster_racks=frozenset(self.racks) | frozenset(filed.values()),
            leaders=leaders,
            diskless=diskless,
            led_anywhere=led_anywhere,
        )


UNANIMOUS = tuple(one.name for one in fields(Evidence) if one.default_factory is Unanimous)
"""The fields of ``Evidence`` that hold a value by key."""


class Conclusions(NamedTuple):
    """The conclusions from a capture's evidence.

    A client is its id and its address, ``filed_brokers`` are the racks file's, ``topics`` are names by id, ``software``
    name and version by connection. Of topics
    ``led_anywhere`` several brokers lead a partition at a time, as Metadata reports diskless ones.
    """

    capture: str
    broker_racks: Mapping[int, str]
    filed_brokers: Mapping[int, str]
    cluster_racks: frozenset[str]
    broker_of: Mapping[int, int]
    rack_of: Mapping[int, str]
    client_racks: Mapping[Client, str]
    member_racks: Mapping[tuple[str, str, str], str]
    groups: Mapping[Client, str]
    follower_of: Mapping[int, int]
    followers: Mapping[Client, int]
    leaders: Mapping[str, frozenset[str]]
    diskless: frozenset[str]
    topics: Mapping[str, str]
    settings: Mapping[Setting, str]
    software: Mapping[int, tuple[str, str]]
    led_anywhere: frozenset[str]

    def rack_of_broker(self, broker: int) -> str | None:
        """A broker's rack, from frames, else from the racks file."""
        return self.broker_racks.get(broker) or self.filed_brokers.get(broker)

    def racks_of(self, brokers: Iterable[int] | None) -> frozenset[str] | None:
        """The known racks of brokers; None for None."""
        return None if brokers is None else frozenset(filter(None, map(self.rack_of_broker, brokers)))

    def follower(self, conn: int, client: Client) -> int | None:
        """The broker that replicates as this client, None if it is not a follower."""
        found = self.follower_of.get(conn, self.followers.get(client))
        if found is None and (match := FETCHER.fullmatch(client[0])):
            found = int(match[1] or match[2])
        return found


def client_of(client_id: str | None, address: str | None) -> Client | None:
    """The client of a frame; None without a client id or address."""
    found = host(address)
    return (client_id, found) if client_id and found else None


@lru_cache(maxsize=100_000)
def host(address: str | None) -> str | None:
    """An address without its port.

    >>> host("10.0.0.1:9092"), host("[::1]:9092"), host("2001:db8::1"), host(None)
    ('10.0.0.1', '::1', '2001:db8::1', None)
    """
    if address is None or (address.count(":") > 1 and not address.startswith("[")):
        return address
    return PORT.sub("", address).strip("[]")
