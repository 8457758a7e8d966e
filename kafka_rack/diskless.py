"""Diskless Kafkas by name: how each reads a client's zone, whom it sends the client to, and who accepts.

A diskless partition lives in object storage, so its leader is whoever Metadata names to the client that asks. The
systems that work so choose differently. A profile is one class here, found by its name (``diskless.profile``); nothing
else knows which there are.

Sources: KIP-1163; InklessTopicMetadataTransformer and ClientAZExtractor of Inkless (aiven/inkless b1fcb5f6).
"""

from __future__ import annotations

import base64
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_rack.java import murmur2, to_positive
from kafka_rack.zones import ZoneKey, known_rack_in_client_id, zone_in_client_id

NO_LEADER = -1
MAX_RACKS_KEPT = 1000  # clients may claim any rack


class DisklessBrokers:
    """The brokers of a cluster, as the one that answers knows them.

    Attributes:
        alive: (id, rack) of those that are alive, by id.
        known: the same of all that are registered, alive or not.
    """

    __slots__ = ("_near", "alive", "known")

    def __init__(
        self, alive: Iterable[tuple[int, str | None]], known: Iterable[tuple[int, str | None]] | None = None
    ) -> None:
        self.alive = tuple(sorted(alive))
        self.known = self.alive if known is None else tuple(sorted(known))
        self._near: dict[str | None, list[int]] = {}

    def near(self, rack: str | None) -> list[int]:
        """The ids of the brokers that may serve a client of this rack: its rack's, or all where the rack has none.

        >>> brokers = DisklessBrokers([(0, "a"), (1, "b"), (2, "a")])
        >>> brokers.near("a"), brokers.near("z"), brokers.near(None)
        ([0, 2], [0, 1, 2], [0, 1, 2])
        """
        found = self._near.get(rack)
        if found is None:
            found = [one for one, its_rack in self.alive if rack is not None and its_rack == rack]
            found = found or [one for one, _ in self.alive]
            if len(self._near) < MAX_RACKS_KEPT:
                self._near[rack] = found
        return found


class DisklessClient(NamedTuple):
    """The client that asks: its rack as the profile read it, its client.id, the answers that its rack had before."""

    brokers: DisklessBrokers
    rack: str | None
    client_id: str | None = None
    turn: int = 0


class DisklessPartition(NamedTuple):
    """A partition of a diskless topic; ``tiered``: ``remote.storage.enable`` is set for the topic."""

    topic_id: bytes
    number: int
    tiered: bool = False


class ShownPartition(NamedTuple):
    """A partition as Metadata shows it to one client."""

    leader: int
    replicas: Sequence[int]
    isr: Sequence[int]
    offline: Sequence[int] = ()


def choose(candidate_ids: Sequence[int], turn: int) -> int:
    """The candidate whose turn it is, -1 of none; turns count from 0 and go round evenly.

    >>> [choose([4, 7], turn) for turn in range(3)], choose([], 0)
    ([4, 7, 4], -1)
    """
    return candidate_ids[turn % len(candidate_ids)] if candidate_ids else NO_LEADER


def partition_hash(topic_id: bytes, partition: int) -> int:
    """Kafka's murmur2 of ``TOPIC_ID-PARTITION``, a signed number, by which several systems choose.

    >>> partition_hash(bytes(16), 0)
    -1319922449
    """
    return murmur2(f"{base64.urlsafe_b64encode(topic_id).decode().rstrip('=')}-{partition}".encode())


def choose_by_hash(candidate_ids: Sequence[int], topic_id: bytes, partition: int) -> int:
    """The candidate of a partition as Inkless chooses it, the same while its brokers stay the same; -1 of none.

    Args:
        candidate_ids: in ascending order.

    >>> [choose_by_hash([4, 7], bytes(16), partition) for partition in range(3)]
    [7, 4, 7]
    """
    return choose(candidate_ids, to_positive(partition_hash(topic_id, partition)))


class DisklessProfile:
    """How one system serves diskless topics. This one is KIP-1163: the rack's brokers in turn, and any accepts.

    Attributes:
        keys: how a zone is written into client.id.
        reads_requests: the RackId of Metadata 14 and DescribeTopicPartitions 1 counts.
        reads_listeners: the rack of the listener counts, where there is one listener per rack.
        takes_turns: the choice depends on how many answers the rack had, and is the same for all partitions of one.
        redirects: some broker refuses a partition: ``accepts`` has to be asked.
    """

    name = "kip-1163"
    keys: tuple[ZoneKey, ...] = (
        ZoneKey("diskless_az", "Inkless and the diskless proposals", " ,|", "=", suffixed=True),
    )
    reads_requests = True
    reads_listeners = True
    takes_turns = True
    redirects = False

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """``settings``: those of the cluster."""

    def rack(
        self, rack_id: str | None, client_id: str | None, listener_rack: str | None, racks: Container[str] | None
    ) -> str | None:
        """A client's rack: what the request names, else its client.id, else the listener's; None if nobody says.

        Args:
            racks: those that brokers have: a zone in client.id counts only if it is one. None: it is any.

        >>> DisklessProfile({}).rack(None, "app,diskless_az=b-producer", "c", {"a", "b", "c"})
        'b'
        """
        if rack_id and self.reads_requests:
            return rack_id
        said = (
            zone_in_client_id(client_id, self.keys)
            if racks is None
            else known_rack_in_client_id(client_id, racks, self.keys)
        )
        return said or (listener_rack if self.reads_listeners else None) or None

    def leader(self, client: DisklessClient, partition: DisklessPartition) -> int:
        """The broker that Metadata names to a client as the partition's leader, -1 for none."""
        return choose(client.brokers.near(client.rack), client.turn)

    def shown(self, client: DisklessClient, partition: DisklessPartition) -> ShownPartition:
        """All that Metadata tells a client of a partition: the leader alone, unless the system tells more."""
        leader = self.leader(client, partition)
        alone = [] if leader == NO_LEADER else [leader]
        return ShownPartition(leader, alone, alone)

    def accepts(self, client: DisklessClient, partition: DisklessPartition, broker: int, *, reading: bool) -> bool:
        """True if a broker takes this client's request; only asked where the profile ``redirects``."""
        return broker == self.leader(client, partition)


class Inkless(DisklessProfile):
    """Inkless with one replica: each partition has a broker of the client's rack, by hash."""

    name = "inkless"
    reads_requests = False
    takes_turns = False

    def leader(self, client: DisklessClient, partition: DisklessPartition) -> int:
        return choose_by_hash(client.brokers.near(client.rack), partition.topic_id, partition.number)


PROFILES: dict[str, type[DisklessProfile]] = {one.name: one for one in (DisklessProfile, Inkless)}
"""Every profile by its name."""
PROFILE_SETTING = "diskless.profile"
OTHER_KEYS = (
    ZoneKey("warpstream_az", "WarpStream", ","),
    ZoneKey("ws_az", "WarpStream", ","),
    ZoneKey("automq_az", "AutoMQ", "&", percent_encoded=True),
    ZoneKey("zone", "Bufstream", ",;"),
)
ZONE_KEYS = (*dict.fromkeys(key for profile in PROFILES.values() for key in profile.keys), *OTHER_KEYS)
"""Every key of a zone in client.id, in the order in which they are looked for where the system is not known."""


def find_profile(settings: Mapping[str, Any]) -> DisklessProfile:
    """The profile that a cluster's settings name."""
    return PROFILES[settings[PROFILE_SETTING]](settings)
