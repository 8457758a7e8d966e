"""Why bytes crossed racks, or why it cannot be told; what would keep them in, and whether that is certain.

``judge`` takes what is known of some bytes and answers. It guesses nothing: without a client's rack the answer is
unknown, and a saving is certain only where the capture showed that what it takes was there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from kafka_rack.rack_names import likeness, shown

Locality = Literal["local", "cross", "unknown"]
Avoidable = Literal["yes", "perhaps", "no"]
CONSUME, PRODUCE, REPLICATION, OTHER = "consume", "produce", "replication", "other"
CATEGORIES = (PRODUCE, REPLICATION, CONSUME, OTHER)
FIRST_FETCH_WITH_RACK = 11
"""KIP-392, Apache Kafka 2.4."""
TOLD_TO_BROKERS = ("client_id", "listener")
"""How a client of a diskless topic tells its rack today."""


class Reason(NamedTuple):
    """``avoidable``: ``yes`` saves what it says, ``perhaps`` that much at most, ``no`` nothing."""

    name: str
    what: str
    fix: str
    avoidable: Avoidable


REASONS = {
    reason.name: reason
    for reason in (
        Reason(
            "no_client_rack",
            "the consumer names no client.rack, so leaders serve it wherever they are",
            "set client.rack to the client's rack (and replica.selector.class on the brokers)",
            "yes",
        ),
        Reason(
            "version_too_old",
            "the client fetches in a version before 11, which cannot carry a rack",
            "upgrade the client to one that knows Kafka 2.4's protocol and set client.rack",
            "yes",
        ),
        Reason(
            "rack_not_in_cluster",
            "the client names a rack that no broker has",
            "name racks as the brokers do in broker.rack, or run brokers there",
            "perhaps",
        ),
        Reason(
            "no_in_sync_replica",
            "no in-sync replica of the partition is in the client's rack",
            "place a replica there (kafka-rack reassign --repair), whose replication then crosses in its place",
            "perhaps",
        ),
        Reason(
            "not_redirected",
            "an in-sync replica is in the client's rack, and it read elsewhere all the same",
            "set replica.selector.class to the rack-aware one on every broker; if it is, the client does not follow",
            "yes",
        ),
        Reason(
            "share_group",
            "share groups read from leaders only",
            "none in Kafka yet: consumer groups can read near, or keep the leaders where the members are",
            "perhaps",
        ),
        Reason("redirect", "the leader's answer that sends the reader to a near replica", "none needed", "no"),
        Reason("empty_fetch", "fetches that brought no partition", "none needed", "no"),
        Reason(
            "diskless_without_zone",
            "the topic is served by any broker, but the client's id names no zone",
            "name the zone in client.id, as diskless_az=RACK",
            "yes",
        ),
        Reason(
            "diskless_elsewhere",
            "the topic is served by any broker, the client's id names its zone, and yet it went elsewhere",
            "brokers in that rack, up and known to the client",
            "perhaps",
        ),
        Reason(
            "unkeyed_produce",
            "records without keys went to a leader elsewhere, though the topic has leaders in the producer's rack",
            "a partitioner that prefers leaders in the producer's rack, or a diskless topic",
            "yes",
        ),
        Reason(
            "no_leader_in_rack",
            "records without keys, but the topic has no leader in the producer's rack",
            "leaders in every rack (more partitions, preferred leaders spread), or a diskless topic",
            "perhaps",
        ),
        Reason(
            "keyed_produce",
            "a record's key decides its partition, and so its leader",
            "none with classic topics; a diskless topic takes any record at any broker",
            "perhaps",
        ),
        Reason(
            "produce_not_read",
            "whether these records have keys cannot be read",
            "as for records with keys or without",
            "perhaps",
        ),
        Reason(
            "fetch_not_read",
            "whether a consumer or a follower fetched cannot be read, so neither what it costs nor what would help",
            "none: the request is damaged, or of a version that is not known here",
            "perhaps",
        ),
        Reason("replication", "replicas in other racks are what survives a rack's outage", "none", "no"),
        Reason(
            "cluster_work",
            "metadata, group and transaction coordination, and requests without an answer",
            "none: coordinators are where they are",
            "no",
        ),
        Reason(
            "client_rack_unknown",
            "nothing says where the client is",
            "name its address or client id in --client-racks, or put its zone into client.id",
            "perhaps",
        ),
        Reason(
            "broker_rack_unknown",
            "nothing says where the broker, or the follower, is",
            "set broker.rack, or name the broker in --client-racks as RACK@broker:ID",
            "perhaps",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of some bytes between a client and a broker. None is not known.

    Args:
        category: consume, produce, replication or other.
        client_rack: where the client is, or the follower.
        told_rack, told_in: the rack that the client itself named, and where: request, client_id, listener, ...
        share: of a share group.
        cluster_racks: racks of the cluster's brokers, empty where none is known.
        diskless: the topic is served by any broker.
        redirected: told to read elsewhere. whole: the bytes are of a partition, not of a fetch without any.
        replica_here: an in-sync replica is in the client's rack. leader_here: so is a leader of the topic.
        keyed: some record has a key.
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
    redirected: bool = False
    whole: bool = True
    replica_here: bool | None = None
    leader_here: bool | None = None
    keyed: bool | None = None
    unread_fetch: bool = False


class LocalityVerdict(NamedTuple):
    """``saves``: the fix keeps these bytes in for certain; ``at_most``: it may. ``detail``: the near match, or such."""

    locality: Locality
    reason: str | None = None
    saves: bool = False
    at_most: bool = False
    detail: str | None = None


LOCAL = LocalityVerdict("local")


def judge(facts: Facts) -> LocalityVerdict:
    """Where bytes went and why.

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
    """Bytes of somebody whose rack is not known: for a consumer, why it did not tell."""
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
        return LocalityVerdict("cross", "keyed_produce", at_most=True)
    if facts.leader_here is False:
        return LocalityVerdict("cross", "no_leader_in_rack", at_most=True)
    return LocalityVerdict("cross", "unkeyed_produce", saves=facts.leader_here is True, at_most=True)


def diskless(facts: Facts) -> LocalityVerdict:
    """Bytes of a topic that any broker serves: clients are sent to their own rack's, if they tell it."""
    if facts.told_in not in TOLD_TO_BROKERS:
        here = facts.client_rack in facts.cluster_racks
        return LocalityVerdict("cross", "diskless_without_zone", saves=here, at_most=True)
    return not_in_cluster(facts) or LocalityVerdict("cross", "diskless_elsewhere", at_most=True)


def not_in_cluster(facts: Facts) -> LocalityVerdict | None:
    """A rack that a client names and no broker has; with the rack that is probably meant.

    A name that is right saves the bytes for certain only where the racks file says where the client really is.
    """
    told = facts.told_rack
    if not facts.cluster_racks or told is None or told in facts.cluster_racks:
        return None
    certain = facts.client_rack != told and facts.replica_here is True
    near = near_match(told, facts.cluster_racks)
    return LocalityVerdict("cross", "rack_not_in_cluster", certain, at_most=True, detail=near or shown(told))


def near_match(rack: str, cluster_racks: frozenset[str]) -> str | None:
    """The racks that a name may mean, in words.

    >>> near_match("AZ-A", frozenset({"az-a", "az-b"}))
    'AZ-A is almost az-a: they differ in capitals only'
    """
    for other in sorted(cluster_racks):
        why = likeness(rack, other)
        if why is not None:
            return f"{shown(rack)} is almost {shown(other)}: {why}"
    return None
