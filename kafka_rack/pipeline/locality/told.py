"""What a capture told in some place that bears on bytes in others: racks, groups, leaders, replicas in sync.

Read from few columns of the decoded tables, block after block; kept is what differs, not what was said again and again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_rack.pipeline.locality.files import Block, Capture

NUMBER = re.compile(r"[0-9]{1,9}")
PORT = re.compile(r":[0-9]+$")
FETCHER = re.compile(r"(?:broker-([0-9]{1,9})-fetcher-[0-9]+|raft-client-([0-9]{1,9}))")
"""Client ids of Kafka's own followers: ReplicaFetcherThread's and the metadata quorum's."""
AMONG_BROKERS = (
    *("LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown", "WriteTxnMarkers", "AlterPartition"),
    *("AllocateProducerIds", "BrokerRegistration", "BrokerHeartbeat", "Envelope", "AssignReplicasToDirs"),
)
"""APIs that only brokers and controllers call; their client id is then their own number."""
OWN_WORDS = ("join", "heartbeat", "leave")
"""Events of ``memberships`` in which a client speaks of itself; a leader is told of others too."""
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Client = tuple[str, str]
"""A client id and the address without port."""


class Only(Generic[Key, Value]):
    """What is said by key, where it is the same each time."""

    def __init__(self) -> None:
        self.found: dict[Key, Value | None] = {}

    def add(self, key: Key, value: Value) -> None:
        if self.found.setdefault(key, value) != value:
            self.found[key] = None

    def agreed(self) -> dict[Key, Value]:
        return {key: value for key, value in self.found.items() if value is not None}


class Told(NamedTuple):
    """Of one capture; ``first`` and ``last`` are moments in microseconds since 1970.

    A client is its id and its address, ``topics`` are names by id. ``in_sync`` has for each topic and partition the
    racks with replicas in sync from a moment on; ``moments`` are those at which any of them changed. ``covered`` are
    frames whose rows in ``fetches`` or ``produces`` are in a later block.
    """

    capture: str
    first: int
    last: int
    broker_racks: dict[int, str]
    cluster: frozenset[str]
    broker_of: dict[int, int]
    rack_of: dict[int, str]
    client_racks: dict[Client, str]
    member_racks: dict[tuple[str, str, str], str]
    groups: dict[Client, str]
    follower_of: dict[int, int]
    followers: dict[Client, int]
    leaders: dict[str, frozenset[str]]
    diskless: frozenset[str]
    in_sync: dict[tuple[str, int], list[tuple[int, frozenset[str]]]]
    topics: dict[str, str]
    moments: list[int]
    covered: frozenset[int]

    def racks_in_sync(self, topic: str | None, partition: int | None, ts: int) -> frozenset[str] | None:
        """Racks with a replica in sync as last told before; None where nothing was."""
        if topic is None or partition is None:
            return None
        told = self.in_sync.get((topic, partition), [])
        before = bisect_right(told, ts, key=itemgetter(0))
        return told[before - 1][1] if before else None

    def follower(self, conn: int, client: Client) -> int | None:
        """Which broker copies by this client, None for one that is no follower."""
        found = self.follower_of.get(conn, self.followers.get(client))
        if found is None and (match := FETCHER.fullmatch(client[0])):
            found = int(match[1] or match[2])
        return found


@lru_cache(maxsize=100_000)
def host(address: str | None) -> str | None:
    """An address without its port.

    >>> host("10.0.0.1:9092"), host("[::1]:9092"), host(None)
    ('10.0.0.1', '::1', None)
    """
    return PORT.sub("", address).strip("[]") if address is not None else None


def told_by(capture: Capture) -> Told | None:
    """What a capture told; None where it has no frame."""
    telling = Telling()
    for block in capture.blocks:
        telling.add(block)
    return telling.told()


@dataclass(slots=True)
class Telling:
    """Gathers what the blocks of a capture tell, in their order."""

    name: str | None = None
    first: int = 1 << 62
    last: int = 0
    brokers: Only[int, str] = field(default_factory=Only)
    racks: set[str] = field(default_factory=set)
    broker_of: Only[int, int] = field(default_factory=Only)
    brokers_own: Only[int, int] = field(default_factory=Only)
    rack_of: Only[int, str] = field(default_factory=Only)
    client_racks: Only[Client, str] = field(default_factory=Only)
    member_racks: Only[tuple[str, str, str], str] = field(default_factory=Only)
    groups: Only[Client, str] = field(default_factory=Only)
    follower_of: Only[int, int] = field(default_factory=Only)
    followers: Only[Client, int] = field(default_factory=Only)
    leaders: dict[str, set[str]] = field(default_factory=dict)
    served_by: dict[tuple[str, int, int], tuple[int, int]] = field(default_factory=dict)
    diskless: set[str] = field(default_factory=set)
    in_sync: dict[tuple[str, int], list[tuple[int, int, frozenset[str]]]] = field(default_factory=dict)
    topics: Only[str, str] = field(default_factory=Only)
    covered: set[int] = field(default_factory=set)

    def add(self, block: Block) -> None:
        first_frame = self.frames(block)
        for rack in different(block.read("brokers", ("broker_id", "rack")), "broker_id", "rack"):
            self.broker_rack(rack["broker_id"], rack["rack"])
        for table in ("fetches", "produces"):
            frames = block.read(table, ("frame",))["frame"]
            earlier = pc.filter(frames, pc.less(frames, first_frame)) if first_frame is not None else frames
            self.covered.update(pc.unique(earlier).to_pylist())
        self.fetches(block)
        self.memberships(block)
        self.partitions(block)

    def frames(self, block: Block) -> int | None:
        """Gives the first frame's number."""
        rows = block.read("frames", ("capture", "ts", "conn", "broker", "broker_rack", "frame", "client_id"))
        if not len(rows):
            return None
        if self.name is None:
            self.name = rows["capture"][0].as_py()
        moments = pc.min_max(rows["ts"].cast(pa.int64())).as_py()
        self.first, self.last = min(self.first, moments["min"]), max(self.last, moments["max"])
        for row in different(rows, "conn", "broker", "broker_rack"):
            self.broker_rack(row["broker"], row["broker_rack"])
            if row["broker"] is not None:
                self.broker_of.add(row["conn"], row["broker"])
        among = rows.filter(pc.is_in(rows["api"], pa.array(AMONG_BROKERS)))
        for row in different(among, "conn", "client_id"):
            if row["client_id"] and NUMBER.fullmatch(row["client_id"]):
                self.brokers_own.add(row["conn"], int(row["client_id"]))
        found: int = pc.min(rows["frame"]).as_py()
        return found

    def broker_rack(self, broker: int | None, rack: str | None) -> None:
        if broker is not None and rack:
            self.brokers.add(broker, rack)
            self.racks.add(rack)

    def client_rack(self, conn: int, client: Client | None, rack: str) -> None:
        self.rack_of.add(conn, rack)
        if client is not None:
            self.client_racks.add(client, rack)

    def fetches(self, block: Block) -> None:
        named = ("client_rack", "client_rack_from", "who", "replica_id", "replica_rack")
        columns = ("conn", "client_id", "client_addr", *named)
        for row in different(block.read("fetches", columns), *columns):
            client = client_of(row)
            if row["who"] == "follower":
                self.follower_of.add(row["conn"], row["replica_id"])
                if client is not None:
                    self.followers.add(client, row["replica_id"])
                if row["replica_rack"]:
                    self.client_rack(row["conn"], client, row["replica_rack"])
            elif row["client_rack_from"] == "request":
                self.client_rack(row["conn"], client, row["client_rack"])

    def memberships(self, block: Block) -> None:
        columns = ("conn", "client_id", "client_addr", "event", "protocol", "group_id", "rack_id")
        for row in different(block.read("memberships", columns), *columns):
            client, group, rack = client_of(row), row["group_id"], row["rack_id"]
            if client is not None and group:
                self.groups.add(client, group)
            if rack and row["event"] in OWN_WORDS:
                self.client_rack(row["conn"], client, rack)
                if client is not None and row["protocol"] == "share" and group:
                    self.member_racks.add((*client, group), rack)

    def partitions(self, block: Block) -> None:
        """Replicas in sync, leaders, and what is diskless: one partition with two leaders in one epoch."""
        columns = ("ts", "frame", "topic", "topic_id", "partition", "leader", "leader_rack", "leader_epoch")
        rows = block.read("partitions", (*columns, "replicas", "replica_racks", "isr", "error_code"))
        for row in different(rows, "topic", "topic_id"):
            if row["topic"] and row["topic_id"]:
                self.topics.add(row["topic_id"], row["topic"])
        right = pc.and_(pc.is_valid(rows["topic"]), pc.is_valid(rows["partition"]))
        rows = rows.filter(pc.and_(right, pc.equal(rows["error_code"], 0)))
        if not len(rows):
            return
        self.any_broker(rows)
        for row in different(rows.filter(pc.is_valid(rows["leader_rack"])), "topic", "leader_rack"):
            self.leaders.setdefault(row["topic"], set()).add(row["leader_rack"])
        own = pc.invert(pc.is_in(rows["topic"], pa.array(sorted(self.diskless), pa.string())))
        for row in changes(rows.filter(own)).to_pylist():
            racks = dict(zip(row["replicas"] or (), row["replica_racks"] or (), strict=False))
            found = frozenset(rack for broker in row["isr"] or () if (rack := racks.get(broker)))
            told = (row["ts"], row["frame"], found)
            self.in_sync.setdefault((row["topic"], row["partition"]), []).append(told)

    def any_broker(self, rows: pa.Table) -> None:
        alone = pc.equal(pc.list_value_length(rows["replicas"]), 1)
        led = pc.and_(pc.is_valid(rows["leader"]), pc.greater_equal(rows["leader_epoch"], 0))
        single = rows.filter(pc.and_(alone, led)).select(["topic", "partition", "leader_epoch", "leader"])
        found = single.group_by(["topic", "partition", "leader_epoch"], use_threads=False)
        for row in found.aggregate([("leader", "min"), ("leader", "max")]).to_pylist():
            key = (row["topic"], row["partition"], row["leader_epoch"])
            least, most = self.served_by.get(key, (row["leader_min"], row["leader_max"]))
            self.served_by[key] = least, most = min(least, row["leader_min"]), max(most, row["leader_max"])
            if least != most:
                self.diskless.add(row["topic"])

    def told(self) -> Told | None:
        if self.name is None:
            return None
        in_sync = {}
        for key, found in self.in_sync.items():
            if key[0] not in self.diskless:
                ordered = [
                    (moment, racks) for moment, _, racks in sorted(found, key=lambda one: (*one[:2], sorted(one[2])))
                ]
                again = [ordered[0], *(later for before, later in pairwise(ordered) if before[1] != later[1])]
                in_sync[key] = again
        racks = self.brokers.agreed()
        brokers_own = {conn: racks[own] for conn, own in self.brokers_own.agreed().items() if own in racks}
        return Told(
            capture=self.name,
            first=self.first,
            last=self.last,
            broker_racks=racks,
            cluster=frozenset(self.racks),
            broker_of=self.broker_of.agreed(),
            rack_of=brokers_own | self.rack_of.agreed(),
            client_racks=self.client_racks.agreed(),
            member_racks=self.member_racks.agreed(),
            groups=self.groups.agreed(),
            follower_of=self.follower_of.agreed(),
            followers=self.followers.agreed(),
            leaders={topic: frozenset(racks) for topic, racks in self.leaders.items()},
            diskless=frozenset(self.diskless),
            in_sync=in_sync,
            topics=self.topics.agreed(),
            moments=sorted({moment for found in in_sync.values() for moment, _ in found}),
            covered=frozenset(self.covered),
        )


def client_of(row: dict[str, Any]) -> Client | None:
    """Who sent it, where it says so: no client id is nobody."""
    address = host(row["client_addr"])
    return (row["client_id"], address) if row["client_id"] and address else None


def different(rows: pa.Table, *columns: str) -> Iterable[dict[str, Any]]:
    """The different values of some columns."""
    found: list[dict[str, Any]] = (
        rows.select([*columns]).group_by([*columns], use_threads=False).aggregate([]).to_pylist()
    )
    return found


def changes(rows: pa.Table) -> pa.Table:
    """Of what was told of each partition, in order of time, whatever is not what was told before."""
    state = pc.binary_join_element_wise(*[joined(rows[name]) for name in ("replicas", "replica_racks", "isr")], "|")
    rows = rows.append_column("state", state).set_column(0, "ts", rows["ts"].cast(pa.int64()))
    rows = rows.sort_by([(name, "ascending") for name in ("topic", "partition", "ts", "frame")])
    changed = np.zeros(len(rows), dtype=bool)
    changed[:1] = True
    for name in ("topic", "partition", "state"):
        codes = rows[name].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
        changed[1:] |= codes[1:] != codes[:-1]
    return rows.filter(pa.array(changed))


def joined(lists: pa.ChunkedArray) -> pa.Array:
    """Each list as one text; what is null in it as nothing."""
    whole = lists.combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(whole), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = pc.fill_null(pc.list_flatten(whole).cast(pa.string()), "")
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values), ",")
