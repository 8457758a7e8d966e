"""The reasons why bytes crossed racks, or why that is unknown; the actions against it, and their certainty.

``judge`` returns a verdict from the known facts about some bytes. It does not guess: without a client's rack the
verdict is unknown, and a saving is certain only if the capture shows that its preconditions hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from kafka_rack.diskless import ZONE_KEYS
from kafka_rack.rack_names import likeness, shown

Locality = Literal["local", "cross", "unknown"]
Avoidable = Literal["yes", "perhaps", "no"]
Actor = Literal["client", "brokers", "nobody"]
CONSUME, PRODUCE, REPLICATION, OTHER = "consume", "produce", "replication", "other"
CATEGORIES = (PRODUCE, REPLICATION, CONSUME, OTHER)
FIRST_FETCH_WITH_RACK = 11
"""KIP-392, Apache Kafka 2.4."""
TOLD_TO_BROKERS = ("client_id", "listener")
"""The ways in which a client of a diskless topic can name its rack today."""


AVOIDABLE_WORDS: dict[Avoidable, str] = {"yes": "avoidable", "perhaps": "cannot tell", "no": "unavoidable"}
"""Text for ``Avoidable``."""


class Reason(NamedTuple):
    """Why bytes crossed racks, or why that is unknown.

    ``action`` is the remedy, in a sentence; ``who`` does it: client, brokers or nobody. ``avoidable``: ``yes``, the
    action keeps the bytes in their rack if the capture shows its preconditions; ``perhaps``, it may; ``no``, it does
    not. ``in_test`` is the action in a test with a ``MockCluster``, if different.
    """

    name: str
    what: str
    action: str
    who: Actor
    avoidable: Avoidable
    in_test: str | None = None

    @property
    def docs(self) -> str:
        """The place in the documentation that explains it."""
        return f"cost.md#{self.name.replace('_', '-')}"


REASONS = {
    reason.name: reason
    for reason in (
        Reason(
            "no_client_rack",
            "The consumer does not send client.rack, so leaders serve it wherever they are.",
            "Set client.rack to the client's rack, and replica.selector.class on the brokers.",
            "client",
            "yes",
            "Set client.rack in the consumer, and settings={'replica.selector.class': 'rack-aware'} in MockCluster.",
        ),
        Reason(
            "version_too_old",
            "The client fetches with a version before 11, which cannot carry a rack.",
            "Upgrade the client to one that speaks Apache Kafka 2.4's protocol, and set client.rack.",
            "client",
            "yes",
        ),
        Reason(
            "rack_not_in_cluster",
            "The client sends a rack that no broker has.",
            "Set client.rack to a name that brokers have in broker.rack, or run brokers in that rack.",
            "client",
            "perhaps",
            "Set client.rack to one of MockCluster's racks.",
        ),
        Reason(
            "no_in_sync_replica",
            "No in-sync replica of the partition is in the client's rack.",
            "Place a replica in that rack (kafka-rack reassign repair). Its replication then crosses instead.",
            "brokers",
            "perhaps",
            "Start the brokers of that rack, or create the topic with a replica in each rack: topics={NAME: "
            "(PARTITIONS, REPLICAS)}.",
        ),
        Reason(
            "not_redirected",
            "An in-sync replica is in the client's rack, but the client read from another rack.",
            "Set replica.selector.class on the brokers. If it is set, upgrade the client: it ignores redirects.",
            "brokers",
            "yes",
            "Set settings={'replica.selector.class': 'rack-aware'} in MockCluster. If it is set, upgrade the "
            "client: it ignores redirects.",
        ),
        Reason(
            "share_group",
            "Share groups read from leaders only.",
            "Read with a consumer group, or keep the leaders in the members' rack.",
            "client",
            "perhaps",
        ),
        Reason("redirect", "The leader's answer that names a nearer replica.", "Nothing to do.", "nobody", "no"),
        Reason("empty_fetch", "Fetches that returned no partition.", "Nothing to do.", "nobody", "no"),
        Reason(
            "diskless_without_zone",
            "Any broker serves the topic, but the client's id names no zone.",
            f"Name the zone in client.id by the system's key: {', '.join(f'{one.key}=RACK' for one in ZONE_KEYS)}.",
            "client",
            "yes",
        ),
        Reason(
            "diskless_elsewhere",
            "Any broker serves the topic and the client's id names its zone, but it went to another rack.",
            "Run brokers in that rack that the client can reach.",
            "brokers",
            "perhaps",
            "Start the brokers of that rack.",
        ),
        Reason(
            "unaware_partitioner",
            "A Java client of 4.4 or newer wrote records without keys to a leader in another rack than the producer's.",
            "Set partitioner.rack.aware=true and client.rack in the producer (KIP-1123), or make the topic diskless.",
            "client",
            "yes",
        ),
        Reason(
            "unkeyed_produce",
            "Records without keys went to a leader in another rack, and the client cannot choose partitions by rack.",
            "Unavoidable for classic topics without a Java client of 4.4. Any broker takes a diskless topic's records.",
            "nobody",
            "no",
        ),
        Reason(
            "no_leader_in_rack",
            "Records without keys, and the topic has no leader in the producer's rack.",
            "Spread the topic's leaders over all racks (more partitions, preferred leaders), or make it diskless.",
            "brokers",
            "perhaps",
            "Create the topic with a partition for each rack or more, or with diskless_topics.",
        ),
        Reason(
            "keyed_produce",
            "A record's key decides its partition, and so its leader.",
            "Unavoidable for classic topics. Any broker takes the records of a diskless topic.",
            "nobody",
            "no",
            "Unavoidable for classic topics: assert api='Fetch', or create the topic with diskless_topics.",
        ),
        Reason(
            "produce_not_read",
            "These records are compressed or damaged, so it is not known whether they have keys.",
            "Look at the producer: records without keys can go to a leader in its rack, records with keys cannot.",
            "client",
            "perhaps",
        ),
        Reason(
            "fetch_not_read",
            "The request cannot be read, so it is not known whether a consumer or a follower fetched.",
            "Capture whole packets (tcpdump -s 0).",
            "nobody",
            "perhaps",
        ),
        Reason(
            "replication",
            "Followers in other racks copy from the leader: that is what survives a rack's outage.",
            "Unavoidable with replicas in several racks.",
            "nobody",
            "no",
        ),
        Reason(
            "cluster_work",
            "Metadata, group and transaction coordination, and all bytes that are not record batches.",
            "Nothing to do: coordinators and leaders are where they are.",
            "nobody",
            "no",
        ),
        Reason(
            "client_rack_unknown",
            "Nothing says which rack the client is in.",
            "Name the client's address or client id in a racks file (--client-racks).",
            "client",
            "perhaps",
            "Name the rack in client.id (diskless_az=RACK), or set "
            "client_racks=RackRules.read('RACK@client:PATTERN', 'racks') in MockCluster.",
        ),
        Reason(
            "broker_rack_unknown",
            "Nothing says which rack the broker, or the follower, is in.",
            "Set broker.rack, or name the broker in a racks file (--client-racks) as RACK@broker:ID.",
            "brokers",
            "perhaps",
            "Give every broker a rack: MockCluster(racks=...).",
        ),
    )
}
"""Every reason by name: a new one needs a row here and a rule in ``judge``."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about some bytes between a client and a broker. None: unknown.

    Args:
        category: consume, produce, replication or other.
        client_rack: the rack of the client or follower.
        told_rack, told_in: the rack that the client itself named, and where: request, client_id, listener, ...
        share: of a share group.
        cluster_racks: racks of the cluster's brokers, empty if none is known.
        diskless: the topic is served by any broker. zone_key: the key by which these read a zone in client.id.
        redirected: the answer names another replica. whole: the bytes are of a partition, not of a fetch without any.
        replica_here: an in-sync replica is in the client's rack. leader_here: so is a leader of the topic.
        keyed: some record has a key. has_partitioner: the client has partitioner.rack.aware.
        unread_fetch: a fetch of category other, which may be a consumer's or a follower's.
    """

    category: str
    client_rack: str | None = None
    told_rack: str | None = None
    told_in: str | None = None
    broker_rack: str | None = None
    api_version: int | None = None
    share: bool = False
    cluster_racks: frozenset[str] = frozenset()
    diskless: bool = False
    zone_key: str | None = None
    redirected: bool = False
    whole: bool = True
    replica_here: bool | None = None
    leader_here: bool | None = None
    keyed: bool | None = None
    has_partitioner: bool | None = None
    unread_fetch: bool = False


class LocalityVerdict(NamedTuple):
    """``saves``: the action certainly keeps the bytes in their rack; ``at_most``: it may. ``detail``: a better name."""

    locality: Locality
    reason: str | None = None
    saves: bool = False
    at_most: bool = False
    detail: str | None = None

    @property
    def avoidable(self) -> Avoidable | None:
        """The certainty that the reason's action keeps these bytes in their rack; None for local bytes."""
        if self.reason is None:
            return None
        return "yes" if self.saves else "perhaps" if self.at_most else "no"


LOCAL = LocalityVerdict("local")


def judge(facts: Facts) -> LocalityVerdict:
    """The locality of bytes and its reason.

    >>> judge(Facts("consume", "az-a", broker_rack="az-b", api_version=12, replica_here=True))
    LocalityVerdict(locality='cross', reason='no_client_rack', saves=True, at_most=True, detail=None)
    """
    if facts.broker_rack is None:
        return LocalityVerdict("unknown", "broker_rack_unknown", at_most=facts.category in (CONSUME, PRODUCE))
    if facts.client_rack is None:
        return without_rack(facts)
    if facts.client_rack == facts.broker_rack:
        return LOCAL
    if facts.unread_fetch:
        return LocalityVerdict("unknown", "fetch_not_read", at_most=True)
    if facts.category == REPLICATION:
        return LocalityVerdict("cross", "replication")
    if facts.category == PRODUCE:
        return produced(facts)
    if facts.category == CONSUME:
        return consumed(facts)
    return LocalityVerdict("cross", "cluster_work")


def without_rack(facts: Facts) -> LocalityVerdict:
    """The verdict for a client of unknown rack: for a consumer, why its rack is unknown."""
    if facts.unread_fetch:
        return LocalityVerdict("unknown", "fetch_not_read", at_most=True)
    if facts.category == REPLICATION:
        return LocalityVerdict("unknown", "broker_rack_unknown")
    if facts.category == CONSUME and not facts.share and not facts.diskless:
        return LocalityVerdict("unknown", not_told(facts), at_most=True)
    return LocalityVerdict("unknown", "client_rack_unknown", at_most=facts.category in (CONSUME, PRODUCE))


def not_told(facts: Facts) -> str:
    too_old = facts.api_version is not None and facts.api_version < FIRST_FETCH_WITH_RACK
    return "version_too_old" if too_old else "no_client_rack"


def consumed(facts: Facts) -> LocalityVerdict:
    if facts.diskless:
        return diskless(facts)
    if facts.share:
        return LocalityVerdict("cross", "share_group", at_most=facts.replica_here is not False)
    told = facts.told_in == "request"
    if told and (elsewhere := not_in_cluster(facts)) is not None:
        return elsewhere
    if told and facts.redirected:
        return LocalityVerdict("cross", "redirect")
    if told and not facts.whole:
        return LocalityVerdict("cross", "empty_fetch")
    if facts.replica_here is False:
        return LocalityVerdict("cross", "no_in_sync_replica", at_most=True)
    reason = "not_redirected" if told else not_told(facts)
    return LocalityVerdict("cross", reason, saves=facts.replica_here is True, at_most=True)


def produced(facts: Facts) -> LocalityVerdict:
    if facts.diskless:
        return diskless(facts)
    if facts.keyed is None:
        return LocalityVerdict("cross", "produce_not_read", at_most=True)
    if facts.keyed:
        return LocalityVerdict("cross", "keyed_produce")
    if facts.leader_here is False:
        return LocalityVerdict("cross", "no_leader_in_rack", at_most=True)
    if facts.has_partitioner is False:
        return LocalityVerdict("cross", "unkeyed_produce")
    saves = facts.leader_here is facts.has_partitioner is True
    return LocalityVerdict("cross", "unaware_partitioner", saves=saves, at_most=True)


def diskless(facts: Facts) -> LocalityVerdict:
    """The verdict for a topic that any broker serves: brokers of the client's rack do, if it names its rack."""
    if facts.told_in not in TOLD_TO_BROKERS:
        here = facts.client_rack in facts.cluster_racks
        form = f"this cluster reads {facts.zone_key}=RACK" if facts.zone_key else None
        return LocalityVerdict("cross", "diskless_without_zone", saves=here, at_most=True, detail=form)
    return not_in_cluster(facts) or LocalityVerdict("cross", "diskless_elsewhere", at_most=True)


def not_in_cluster(facts: Facts) -> LocalityVerdict | None:
    """The verdict for a rack that a client names and no broker has, with the rack that is probably meant.

    A corrected name saves the bytes for certain only if the racks file has the client's real rack.
    """
    told = facts.told_rack
    if not facts.cluster_racks or told is None or told in facts.cluster_racks:
        return None
    certain = facts.client_rack != told and facts.replica_here is True
    near = near_match(told, facts.cluster_racks)
    return LocalityVerdict("cross", "rack_not_in_cluster", certain, at_most=True, detail=near or shown(told))


def near_match(rack: str, cluster_racks: frozenset[str]) -> str | None:
    """The racks that a name may mean, as text.

    >>> near_match("AZ-A", frozenset({"az-a", "az-b"}))
    'AZ-A is almost az-a: they differ in capitals only'
    """
    near = ((other, likeness(rack, other)) for other in sorted(cluster_racks))
    return next((f"{shown(rack)} is almost {shown(other)}: {why}" for other, why in near if why is not None), None)
