"""Diskless Kafkas by name: how each reads a client's zone, chooses leaders for the client, and accepts requests.

A diskless partition is in object storage, so its leader is the broker that Metadata names to the requesting client. The
systems choose it differently. A profile is one class here, found by its name (``diskless.profile``); no other code
depends on the available profiles.

Sources: KIP-1163; InklessTopicMetadataTransformer and ClientAZExtractor of Inkless (aiven/inkless b1fcb5f6);
ProxyNodeMapping, ClientIdMetadata and DefaultClientRackProvider of AutoMQ (AutoMQ/automq f1ce98ec);
DisklessTopicMetadataTransformer, DisklessBrokerSelector and DisklessClientZone of Lakestream (lakestream-io/kafka
ed35f496). WarpStream and Bufstream are closed: theirs are as docs.warpstream.com and buf.build/docs/bufstream have it.
"""

from __future__ import annotations

import base64
from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from kafka_rack.java import HashTable, murmur2, string_hash, to_positive, utf16_key
from kafka_rack.zones import ZoneKey, known_rack_in_client_id, zone_in_client_id

NO_LEADER = -1
CIDR_BLOCKS = "automq.zone.cidr.blocks"
MAX_RACKS_KEPT = 1000  # clients may claim any rack


class DisklessBrokers:
    """The brokers of a cluster, as the answering one knows them.

    Attributes:
        alive: (id, rack) of live brokers, by id.
        known: the same for all registered brokers, live or not.
    """

    __slots__ = ("_near", "alive", "known")

    def __init__(
        self, alive: Iterable[tuple[int, str | None]], known: Iterable[tuple[int, str | None]] | None = None
    ) -> None:
        self.alive = tuple(sorted(alive))
        self.known = self.alive if known is None else tuple(sorted(known))
        self._near: dict[str | None, list[int]] = {}

    def near(self, rack: str | None) -> list[int]:
        """The ids of the brokers that may serve a client of this rack: those in it, or all if it has none.

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
    """The requesting client: its rack by the profile, its client.id, and the number of earlier answers to its rack."""

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
    """The next candidate of the rotation, -1 without candidates; turns count from 0.

    >>> [choose([4, 7], turn) for turn in range(3)], choose([], 0)
    ([4, 7, 4], -1)
    """
    return candidate_ids[turn % len(candidate_ids)] if candidate_ids else NO_LEADER


def partition_hash(topic_id: bytes, partition: int) -> int:
    """Kafka's murmur2 of ``TOPIC_ID-PARTITION``, a signed number, which several systems use for the choice.

    >>> partition_hash(bytes(16), 0)
    -1319922449
    """
    return murmur2(f"{base64.urlsafe_b64encode(topic_id).decode().rstrip('=')}-{partition}".encode())


def choose_by_hash(candidate_ids: Sequence[int], topic_id: bytes, partition: int) -> int:
    """The candidate of a partition by Inkless's rule, stable while the brokers are; -1 without candidates.

    Args:
        candidate_ids: in ascending order.

    >>> [choose_by_hash([4, 7], bytes(16), partition) for partition in range(3)]
    [7, 4, 7]
    """
    return choose(candidate_ids, to_positive(partition_hash(topic_id, partition)))


class DisklessProfile:
    """How one system serves diskless topics. This one is KIP-1163: the rack's brokers in turn, and any accepts.

    Attributes:
        keys: the forms of a zone in client.id.
        cidr_setting: the setting that maps clients' addresses to zones, ``zone@cidr,cidr<>zone@cidr``; None without.
        reads_requests: Metadata 14 and DescribeTopicPartitions 1 are served, and their RackId counts.
        reads_listeners: the rack of the listener counts, if each rack has a listener.
        checks_zones: a zone in client.id is ignored unless a broker is in it.
        takes_turns: the choice depends on the number of answers to the rack, and is the same for all partitions of one.
        redirects: some brokers refuse partitions: ``accepts`` must be checked.
    """

    name = "kip-1163"
    keys: tuple[ZoneKey, ...] = (
        ZoneKey("diskless_az", "Inkless and the diskless proposals", " ,|", "=", suffixed=True),
    )
    cidr_setting: ClassVar[str | None] = None
    reads_requests = True
    reads_listeners = True
    checks_zones = True
    takes_turns = True
    redirects = False

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """``settings`` are the cluster's. Raises ValueError: address blocks that are invalid."""
        self.blocks = zone_blocks(settings[self.cidr_setting]) if self.cidr_setting else ()

    def rack(
        self, rack_id: str | None, client_id: str | None, listener_rack: str | None, racks: Container[str] | None
    ) -> str | None:
        """A client's rack: that of the request, else of its client.id, else of the listener; None without any.

        Args:
            racks: the brokers' racks, for a profile that ``checks_zones``. None: any zone counts.

        >>> DisklessProfile({}).rack(None, "app,diskless_az=b-producer", "c", {"a", "b", "c"})
        'b'
        """
        if rack_id and self.reads_requests:
            return rack_id
        said = (
            zone_in_client_id(client_id, self.keys)
            if racks is None or not self.checks_zones
            else known_rack_in_client_id(client_id, racks, self.keys)
        )
        return said or (listener_rack if self.reads_listeners else None) or None

    def place(self, address: str, listener_rack: str | None) -> str | None:
        """The rack of a connection before its client names one: that of its address block, else of its listener."""
        return zone_of_address(address, self.blocks) or listener_rack

    def leader(self, client: DisklessClient, partition: DisklessPartition) -> int:
        """The broker that Metadata names to a client as the partition's leader, -1 for none."""
        return choose(client.brokers.near(client.rack), client.turn)

    def shown(self, client: DisklessClient, partition: DisklessPartition) -> ShownPartition:
        """A partition as Metadata shows it to a client: only the leader, unless the system shows more."""
        leader = self.leader(client, partition)
        alone = [] if leader == NO_LEADER else [leader]
        return ShownPartition(leader, alone, alone)

    def accepts(self, client: DisklessClient, partition: DisklessPartition, broker: int, *, reading: bool) -> bool:
        """True if a broker serves this client's request; only called if the profile ``redirects``."""
        return broker == self.leader(client, partition)

    def preferred(self, brokers: DisklessBrokers, broker: int, rack: str) -> int | None:
        """The broker to which one sends the readers of a rack that a Fetch names (KIP-392), None to serve them."""
        return None


class Inkless(DisklessProfile):
    """Inkless with one replica: each partition has a broker of the client's rack, by hash."""

    name = "inkless"
    reads_requests = False
    takes_turns = False

    def leader(self, client: DisklessClient, partition: DisklessPartition) -> int:
        return choose_by_hash(client.brokers.near(client.rack), partition.topic_id, partition.number)


class InklessManaged(Inkless):
    """Inkless with ``diskless.managed.rf.enable``: partitions have replicas, without records, which are preferred.

    In this order, each by hash: a replica in the client's rack, any broker there, a replica elsewhere, any broker. Of
    tiered topics only replicas serve. All replicas that are alive are in sync. The replicas are this cluster's own
    choice: brokers of one rack after the other, ``default.replication.factor`` of them.
    """

    name = "inkless-managed"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self.replication_factor = int(settings["default.replication.factor"])

    def leader(self, client: DisklessClient, partition: DisklessPartition) -> int:
        return self.shown(client, partition).leader

    def shown(self, client: DisklessClient, partition: DisklessPartition) -> ShownPartition:
        replicas = placed(client.brokers.known, partition)[: self.replication_factor]
        return self.shown_with(client, partition, replicas)

    def shown_with(
        self, client: DisklessClient, partition: DisklessPartition, replicas: Sequence[int]
    ) -> ShownPartition:
        """The partition with these replicas, as a client sees it; a single replica is ignored."""
        if len(replicas) < 2:
            alone = [super().leader(client, partition)]
            return ShownPartition(alone[0], alone, alone)
        racks = dict(client.brokers.alive)
        there = {broker for broker, rack in racks.items() if client.rack is not None and rack == client.rack}
        alive = [one for one in replicas if one in racks]
        tiers = [[one for one in alive if one in there], [] if partition.tiered else there]
        tiers += [alive, [] if partition.tiered else racks]
        serving = sorted(next(filter(None, tiers), []))
        leader = choose_by_hash(serving, partition.topic_id, partition.number)
        return ShownPartition(leader, replicas, alive, [one for one in replicas if one not in racks])


class AutoMQ(DisklessProfile):
    """AutoMQ: a partition has a real leader, and in each other rack one proxy broker, by consistent hash.

    A client that names a rack sees the leader's proxy in that rack as the leader, and only the proxy takes its records.
    A client that names no rack, or one without brokers, sees the real leader, and only that takes its records; replicas
    are then the leader and its proxies, so that consumers with ``client.rack`` are sent to theirs. The rack is
    named in client.id, else by the longest block of ``automq.zone.cidr.blocks`` that has the client's address. Which
    broker is the real leader is this cluster's own choice.
    """

    name = "automq"
    keys = (ZoneKey("automq_az", "AutoMQ", "&", percent_encoded=True),)
    cidr_setting = CIDR_BLOCKS
    reads_requests = False
    checks_zones = False
    takes_turns = False
    redirects = True

    def leader(self, client: DisklessClient, partition: DisklessPartition) -> int:
        return self.standing(client.brokers, client.rack, self.main(client, partition))

    def main(self, client: DisklessClient, partition: DisklessPartition) -> int:
        """The real leader: of the brokers, one rack after the other, the first that is alive."""
        alive = dict(client.brokers.alive)
        return next((one for one in placed(client.brokers.known, partition) if one in alive), NO_LEADER)

    def standing(self, brokers: DisklessBrokers, rack: str | None, main: int) -> int:
        """The proxy of a leader in a rack: the leader itself if it is there, or if the rack has no brokers."""
        return proxies_by_rack(brokers.alive).get(rack, {}).get(main, main)

    def shown(self, client: DisklessClient, partition: DisklessPartition) -> ShownPartition:
        return self.shown_with(client, self.main(client, partition))

    def shown_with(self, client: DisklessClient, main: int) -> ShownPartition:
        """A partition with this leader, as a client sees it."""
        if main == NO_LEADER:
            return ShownPartition(main, [], [])
        leader = self.standing(client.brokers, client.rack, main)
        by_rack = proxies_by_rack(client.brokers.alive)
        replicas = (
            [leader] if client.rack in by_rack else [main, *(one[main] for one in by_rack.values() if main in one)]
        )
        return ShownPartition(leader, replicas, replicas)

    def accepts(self, client: DisklessClient, partition: DisklessPartition, broker: int, *, reading: bool) -> bool:
        main = self.main(client, partition)
        racks = {None, *proxies_by_rack(client.brokers.alive)} if reading else {client.rack}
        return any(broker == self.standing(client.brokers, rack, main) for rack in racks)

    def preferred(self, brokers: DisklessBrokers, broker: int, rack: str) -> int | None:
        other = self.standing(brokers, rack, broker)
        return None if other == broker else other


class Lakestream(DisklessProfile):
    """Lakestream (StreamNative): each partition has one owner in each zone, by hash; no other broker serves it."""

    name = "lakestream"
    keys = (ZoneKey("zone_id", "Lakestream", ",", trimmed=True),)
    reads_requests = False
    takes_turns = False
    redirects = True

    def rack(
        self, rack_id: str | None, client_id: str | None, listener_rack: str | None, racks: Container[str] | None
    ) -> str | None:
        zone = zone_in_client_id(client_id, self.keys)
        return None if zone == "no-zone" else zone

    def leader(self, client: DisklessClient, partition: DisklessPartition) -> int:
        return choose(client.brokers.near(client.rack), partition_hash(partition.topic_id, partition.number))


class WarpStream(DisklessProfile):
    """WarpStream, by its documentation: one agent of the client's zone leads all partitions; any accepts.

    A client that names no zone is in that of its address block. Its pages do not say which agent leads: here the hash
    of client.id chooses one, so that a client keeps its agent.
    """

    name = "warpstream"
    keys: tuple[ZoneKey, ...] = (ZoneKey("warpstream_az", "WarpStream", ","), ZoneKey("ws_az", "WarpStream", ","))
    cidr_setting: ClassVar[str | None] = "warpstream.zoned.cidr.blocks"  # -zonedCIDRBlocks of its agents
    reads_requests = False
    checks_zones = False
    takes_turns = False

    def leader(self, client: DisklessClient, partition: DisklessPartition) -> int:
        return choose(client.brokers.near(client.rack), to_positive(murmur2((client.client_id or "").encode())))


class Bufstream(WarpStream):
    """Bufstream, by its documentation: as WarpStream, with another key."""

    name = "bufstream"
    keys = (ZoneKey("zone", "Bufstream", ",;"),)
    cidr_setting = None
    reads_listeners = False


def placed(brokers: Sequence[tuple[int, str | None]], partition: DisklessPartition) -> list[int]:
    """The brokers in the order in which this cluster would have them as replicas: one rack after the other.

    >>> placed([(0, "a"), (1, "a"), (2, "b"), (3, "b")], DisklessPartition(bytes(16), 0))
    [0, 2, 1, 3]
    """
    by_rack: dict[str, list[int]] = {}
    for broker, rack in brokers:
        by_rack.setdefault(rack or "", []).append(broker)
    ordered = sorted((place, rack, broker) for rack, ids in by_rack.items() for place, broker in enumerate(ids))
    if not ordered:
        return []
    first = (to_positive(murmur2(partition.topic_id)) + partition.number) % len(ordered)
    return [broker for _, _, broker in ordered[first:] + ordered[:first]]


VIRTUAL_NODES = 8
CONTROLLERS = range(-1, 100)
"""The node ids that AutoMQ takes for controllers', which it spares; by that rule, its first slot as well."""


@lru_cache(maxsize=64)
def proxies_by_rack(brokers: Sequence[tuple[int, str | None]]) -> Mapping[str | None, Mapping[int, int]]:
    """For each rack, its proxy of each broker of another rack, as AutoMQ has it.

    Slots, as many as the largest rack has brokers, get one broker of each rack; brokers of a slot are proxies of one
    another. If a rack has no broker in a slot, its least busy broker is the proxy. Racks are in Java's order.

    Source: ProxyNodeMapping.calMain2proxyByRackV1, of AutoMQ's versions with dual mapping.

    >>> proxies_by_rack(((0, "a"), (1, "b"), (2, "a")))
    {'a': {1: 0}, 'b': {0: 1, 2: 1}}
    """
    by_rack: dict[str, list[int]] = {}
    for broker, rack in sorted(brokers):
        by_rack.setdefault(rack or "", []).append(broker)
    rack_of = {broker: rack for rack, ids in by_rack.items() for broker in ids}
    racks = sorted(by_rack, key=utf16_key)
    slots = range(-1, -1 - max(map(len, by_rack.values()), default=0), -1)
    in_slot: dict[int, list[int]] = {slot: [] for slot in slots}
    for rack in racks:
        for slot, ids in slotted(by_rack[rack], slots).items():
            in_slot[slot] += ids
    found: dict[str | None, dict[int, int]] = {}
    order: HashTable[str] = HashTable(string_hash)
    load: dict[int, int] = dict.fromkeys(rack_of, 0)

    def stand(broker: int, main: int) -> None:
        load[broker] += 1
        found[rack_of[broker]][main] = broker

    for ids in in_slot.values():
        for broker in sorted(ids):
            order.add_first(rack_of[broker])
            found.setdefault(rack_of[broker], {})
            for main in sorted(ids):
                if main != broker:
                    stand(broker, main)
    for ids in in_slot.values():
        lacking = [rack for rack in racks if rack not in {rack_of[broker] for broker in ids}]
        for main in sorted(ids):
            for rack in lacking:
                stand(min(by_rack[rack], key=load.__getitem__), main)
    return {rack: found[rack] for rack in order}


def slotted(brokers: Sequence[int], slots: range) -> dict[int, list[int]]:
    """The brokers of one rack by slot, one each at most: by consistent hash, and the surplus in free slots."""
    ring = {md5_hash(f"{slot}-{number}"): slot for slot in slots for number in range(VIRTUAL_NODES)}
    places = sorted(ring)
    held: dict[int, list[int]] = {slot: [] for slot in slots}
    for broker in brokers:
        at = bisect_left(places, md5_hash(str(broker)))
        held[ring[places[at % len(places)]]].append(broker)
    ordered = sorted(slots, key=lambda slot: (len(held[slot]), slot), reverse=True)
    for full in ordered:
        for free in reversed(ordered):
            if len(held[full]) > 1 and not held[free]:
                held[free].append(held[full].pop())
    for slot in slots:
        if slot not in CONTROLLERS or not held[slot] or held[slot][0] in CONTROLLERS:
            continue
        for other in ordered:
            if other in CONTROLLERS or (held[other] and held[other][0] not in CONTROLLERS):
                continue
            held[slot], held[other] = held[other], held[slot]
            break
    return held


def md5_hash(text: str) -> int:
    """The first four bytes of a text's MD5, by which AutoMQ's ConsistentHashRouter goes."""
    from hashlib import md5

    return int.from_bytes(md5(text.encode(), usedforsecurity=False).digest()[:4])


ZoneBlocks = Sequence[tuple[Any, str]]


def zone_blocks(text: str) -> ZoneBlocks:
    """The blocks of ``zone@cidr,cidr<>zone@cidr``, longest prefix first. Raises ValueError: a block that is none."""
    from ipaddress import ip_network

    parts = [part.split("@") for part in text.split("<>")]
    named = [(block, part[0]) for part in parts if len(part) == 2 for block in part[1].split(",")]
    blocks = [(ip_network(block, strict=False), zone) for block, zone in named]
    return sorted(blocks, key=lambda block: -block[0].prefixlen)


def zone_of_address(address: str, blocks: ZoneBlocks) -> str | None:
    """The zone of the first block that an address is in, None of none.

    >>> zone_of_address("10.1.2.3", zone_blocks("a@10.0.0.0/8<>b@10.1.0.0/16,10.2.0.0/16"))
    'b'
    """
    if not blocks or not address:
        return None
    from ipaddress import ip_address

    found = ip_address(address)
    found = getattr(found, "ipv4_mapped", None) or found
    return next((zone for network, zone in blocks if found in network), None)


PROFILES: dict[str, type[DisklessProfile]] = {
    one.name: one for one in (DisklessProfile, Inkless, InklessManaged, AutoMQ, Lakestream, WarpStream, Bufstream)
}
"""All profiles by name."""
PROFILE_SETTING = "diskless.profile"
PROFILE_SETTINGS = {profile.cidr_setting: "" for profile in PROFILES.values() if profile.cidr_setting}
"""The settings of single profiles, with their defaults."""
ZONE_KEYS = tuple(dict.fromkeys(key for profile in PROFILES.values() for key in profile.keys))
"""All keys of a zone in client.id, in the order in which an unknown system's client.id is searched."""


def find_profile(settings: Mapping[str, Any]) -> DisklessProfile:
    """The profile that a cluster's settings name. Raises ValueError: another of its settings is wrong."""
    return PROFILES[settings[PROFILE_SETTING]](settings)
