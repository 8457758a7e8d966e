"""Problems with a cluster's racks: in their names, in the placement of replicas, and in the effect of an outage.

Findings come in the order of ``KINDS``; each says where and what, with the actual values. The cost of a failed rack
counts every replica as in sync, as in normal operation; partitions that are unwritable now are a finding of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kafka_rack.cluster_layout import ClusterLayout, LayoutTopic
from kafka_rack.placement import missing_racks
from kafka_rack.rack_names import rack_hints
from kafka_rack.rack_spread import brokers_by_rack, spread_of, usable_racks

MISSING_RACKS = "missing-racks"
RACK_NAMES = "rack-names"
UNEVEN_RACKS = "uneven-racks"
UNKNOWN_BROKERS = "unknown-brokers"
SHARED_RACK = "shared-rack"
REPLICATION_FACTOR = "replication-factor-above-racks"
UNWRITABLE_NOW = "unwritable-now"
IN_SYNC_RACKS = "in-sync-racks"
LOST_WITH_RACK = "lost-with-rack"
UNWRITABLE_WITH_RACK = "unwritable-with-rack"
SKEW = "skew"
KINDS = {
    UNWRITABLE_NOW: "fewer in-sync replicas than min.insync.replicas, now",
    IN_SYNC_RACKS: "in-sync replicas in fewer racks than --min-insync-racks, now",
    LOST_WITH_RACK: "no replica left when a rack fails",
    UNWRITABLE_WITH_RACK: "fewer in-sync replicas than min.insync.replicas when a rack fails",
    UNKNOWN_BROKERS: "replicas on brokers that are not in the cluster",
    SHARED_RACK: "two replicas in one rack, while another rack has none",
    MISSING_RACKS: "brokers without a rack",
    RACK_NAMES: "rack names that almost match",
    REPLICATION_FACTOR: "more replicas than racks",
    SKEW: "brokers with far more leaders or replicas than others",
    UNEVEN_RACKS: "racks with more brokers than others",
}
"""Kinds of findings, worst first: failures, losses with one failed rack, risks, inconsistencies."""
DEFAULT_SKEW = 1.5
"""A broker with more than this multiple of an even share of leaders or replicas is a finding."""
DEFAULT_MIN_INSYNC_REPLICAS = 1
"""Kafka's default of min.insync.replicas."""
SHOWN = 8
"""The most partitions that a text lists."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem. ``partitions`` are (topic, number); ``brokers`` and ``rack`` if they apply."""

    kind: str
    where: str
    text: str
    partitions: tuple[tuple[str, int], ...] = ()
    brokers: tuple[int, ...] = ()
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class BrokerLoad:
    """The replicas and leaders of one broker."""

    broker: int
    rack: str | None
    fenced: bool
    leaders: int
    replicas: int


@dataclass(frozen=True, slots=True)
class RackLoad:
    """The contents of one rack, and how many partitions fail with it: unwritable ones include lost ones."""

    rack: str | None
    brokers: int
    leaders: int
    replicas: int
    unwritable: int | None
    lost: int | None


@dataclass(frozen=True, slots=True)
class Audit:
    """All findings, and the loads by rack and broker."""

    partitions: int
    findings: tuple[Finding, ...]
    racks: tuple[RackLoad, ...]
    brokers: tuple[BrokerLoad, ...]


def audit(
    layout: ClusterLayout,
    *,
    min_insync_replicas: int | None = None,
    min_insync_racks: int = 1,
    skew: float = DEFAULT_SKEW,
) -> Audit:
    """Find all rack problems of a layout.

    Args:
        min_insync_replicas: for topics whose own is unknown; default: 1, as in Kafka.
        min_insync_racks: the racks in which each partition should have in-sync replicas, as KIP-1290 proposes.
        skew: the largest multiple of an even share that a broker may hold; at least 1.

    >>> from kafka_rack.cluster_layout import layout_of_json
    >>> said = {"brokers": [[0, "a"], [1, "a"], [2, "b"]], "topics": {"orders": [[2, 0], [0, 1]]}}
    >>> [(found.kind, found.where) for found in audit(layout_of_json(said)).findings]
    [('lost-with-rack', 'orders'), ('shared-rack', 'orders'), ('uneven-racks', 'cluster')]
    """
    least = DEFAULT_MIN_INSYNC_REPLICAS if min_insync_replicas is None else min_insync_replicas
    loads = broker_loads(layout)
    failures = {rack: rack_failure(layout, rack, least) for rack in layout.racks}
    findings = [
        *brokers_without_racks(layout),
        *names_alike(layout),
        *uneven_racks(layout),
        *strangers(layout),
        *shared_racks(layout),
        *above_racks(layout),
        *unwritable_now(layout, least),
        *few_racks_in_sync(layout, min_insync_racks),
        *(
            found
            for rack, (unwritable, lost) in failures.items()
            for found in of_rack_failure(layout, rack, unwritable, lost, least)
        ),
        *skewed(loads, skew),
    ]
    order = list(KINDS)
    findings.sort(key=lambda found: order.index(found.kind))
    return Audit(
        partitions=sum(len(topic.partitions) for topic in layout.topics.values()),
        findings=tuple(findings),
        racks=tuple(rack_loads(layout, loads, failures)),
        brokers=tuple(loads),
    )


def brokers_without_racks(layout: ClusterLayout) -> Iterator[Finding]:
    bare = missing_racks(layout.brokers)
    if bare:
        text = f"{named(bare)} without a rack, while others have one: Kafka's tools refuse to place replicas"
        yield Finding(MISSING_RACKS, "cluster", text, brokers=bare)
    elif layout.brokers and not layout.racks:
        everyone = tuple(broker.id for broker in layout.brokers)
        yield Finding(MISSING_RACKS, "cluster", "no broker has a rack: set broker.rack", brokers=everyone)


def names_alike(layout: ClusterLayout) -> Iterator[Finding]:
    for hint in rack_hints(broker.rack for broker in layout.brokers):
        yield Finding(RACK_NAMES, "cluster", hint)


def uneven_racks(layout: ClusterLayout) -> Iterator[Finding]:
    sizes = {rack: len(brokers) for rack, brokers in brokers_by_rack(layout).items() if rack is not None}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{rack}: {size}" for rack, size in sizes.items())
        ratio = max(sizes.values()) / min(sizes.values())
        text = (
            f"brokers by rack: {counts}; replicas go evenly to racks, so a broker of the smallest rack holds "
            f"up to {ratio:.3g} times as many as one of the largest"
        )
        yield Finding(UNEVEN_RACKS, "cluster", text)


def strangers(layout: ClusterLayout) -> Iterator[Finding]:
    for broker, partitions in layout.unknown_brokers().items():
        text = f"broker {broker} is not in the cluster or not up, but holds {partitions_named(partitions)}"
        yield Finding(UNKNOWN_BROKERS, f"broker {broker}", text, tuple(partitions), (broker,))


def shared_racks(layout: ClusterLayout) -> Iterator[Finding]:
    """The partitions, by topic, whose replicas could be in more racks."""
    rack_of, racks = layout.rack_of, usable_racks(layout)
    for name, topic in layout.topics.items():
        found: list[tuple[str, int]] = []
        example = ""
        for number, partition in enumerate(topic.partitions):
            spread = spread_of(partition.replicas, rack_of, racks)
            if not spread.misplaced:
                continue
            if not found:
                rack, brokers = next(iter(spread.shared.items()))
                together = " and ".join(map(str, brokers))
                free = f"rack {spread.free[0]} has" if len(spread.free) == 1 else f"racks {', '.join(spread.free)} have"
                example = f"in partition {number} brokers {together} share rack {rack}, while {free} no replica"
            found.append((name, number))
        if found:
            yield Finding(SHARED_RACK, name, f"{numbers_named(found, topic)}; {example}", tuple(found))


def above_racks(layout: ClusterLayout) -> Iterator[Finding]:
    """Topics with more replicas than racks, so that replicas always share racks."""
    count = len(layout.racks)
    for name, topic in layout.topics.items():
        found = [(name, number) for number, one in enumerate(topic.partitions) if len(one.replicas) > count]
        if found and count:
            there = "1 rack" if count == 1 else f"{count} racks"
            text = f"replication factor {topic.replication_factor}, but there {'is' if count == 1 else 'are'} {there}"
            yield Finding(REPLICATION_FACTOR, name, text, tuple(found))


def unwritable_now(layout: ClusterLayout, least: int) -> Iterator[Finding]:
    """Partitions that take no writes with acks=all at this moment."""
    for name, topic in layout.topics.items():
        needed = topic.min_insync_replicas or least
        found = [
            (name, number)
            for number, partition in enumerate(topic.partitions)
            if partition.isr is not None and (len(partition.isr) < needed or partition.leader == -1)
        ]
        if found:
            text = f"{numbers_named(found, topic)} have fewer in-sync replicas than min.insync.replicas {needed}"
            yield Finding(UNWRITABLE_NOW, name, text, tuple(found))


def few_racks_in_sync(layout: ClusterLayout, least: int) -> Iterator[Finding]:
    """Partitions whose in-sync replicas are in too few racks; brokers without a rack count as none."""
    for name, topic in layout.topics.items():
        found = [
            (name, number)
            for number, partition in enumerate(topic.partitions)
            if partition.isr is not None
            and len({layout.rack_of.get(broker) for broker in partition.isr} - {None}) < least
        ]
        if found and least > 1:
            text = f"{numbers_named(found, topic)} have in-sync replicas in fewer than {least} racks"
            yield Finding(IN_SYNC_RACKS, name, text, tuple(found))


def rack_failure(
    layout: ClusterLayout, rack: str, least: int
) -> tuple[dict[str, list[tuple[str, int]]], dict[str, list[tuple[str, int]]]]:
    """The partitions that fail with one rack, by topic: unwritable but not lost ones, and lost ones."""
    gone = {broker.id for broker in layout.brokers if broker.rack == rack}
    unwritable: dict[str, list[tuple[str, int]]] = {}
    lost: dict[str, list[tuple[str, int]]] = {}
    for name, number, partition in layout.each_partition():
        left = sum(broker not in gone for broker in partition.replicas)
        if left == len(partition.replicas):
            continue
        if left == 0:
            lost.setdefault(name, []).append((name, number))
        elif left < (layout.topics[name].min_insync_replicas or least):
            unwritable.setdefault(name, []).append((name, number))
    return unwritable, lost


def of_rack_failure(
    layout: ClusterLayout,
    rack: str,
    unwritable: dict[str, list[tuple[str, int]]],
    lost: dict[str, list[tuple[str, int]]],
    least: int,
) -> Iterator[Finding]:
    """The findings of one rack's failure, by topic."""
    for name, found in lost.items():
        text = f"when rack {rack} fails, no replica is left of {numbers_named(found, layout.topics[name])}"
        yield Finding(LOST_WITH_RACK, name, text, tuple(found), rack=rack)
    for name, found in unwritable.items():
        needed = layout.topics[name].min_insync_replicas or least
        text = (
            f"when rack {rack} fails, {numbers_named(found, layout.topics[name])} have fewer in-sync replicas than "
            f"min.insync.replicas {needed}"
        )
        yield Finding(UNWRITABLE_WITH_RACK, name, text, tuple(found), rack=rack)


def skewed(loads: Sequence[BrokerLoad], limit: float) -> Iterator[Finding]:
    """Brokers far above an even share, and by more than one: with few partitions, one more means nothing."""
    up = [load for load in loads if not load.fenced]
    for what in ("leaders", "replicas"):
        total = sum(getattr(load, what) for load in up)
        share = total / len(up) if up else 0
        for load in up:
            held = getattr(load, what)
            if held > limit * share and held > share + 1:
                where = f"broker {load.broker}"
                text = f"{held} {what}, {held / share:.3g} times the even share of {share:.4g}"
                yield Finding(SKEW, where, text, brokers=(load.broker,), rack=load.rack)


def broker_loads(layout: ClusterLayout) -> list[BrokerLoad]:
    """Leaders and replicas of each broker; a partition without a leader counts for none."""
    leaders = dict.fromkeys(layout.rack_of, 0)
    replicas = dict.fromkeys(layout.rack_of, 0)
    for _, _, partition in layout.each_partition():
        if partition.leading in leaders:
            leaders[partition.leading] += 1
        for broker in partition.replicas:
            if broker in replicas:
                replicas[broker] += 1
    return [
        BrokerLoad(broker.id, broker.rack, broker.fenced, leaders[broker.id], replicas[broker.id])
        for broker in layout.brokers
    ]


def rack_loads(
    layout: ClusterLayout,
    loads: Sequence[BrokerLoad],
    failures: dict[str, tuple[dict[str, list[tuple[str, int]]], dict[str, list[tuple[str, int]]]]],
) -> Iterator[RackLoad]:
    """The loads by rack; brokers without a rack are one row, without the effects of a failure."""
    for rack, brokers in brokers_by_rack(layout).items():
        own = [load for load in loads if load.rack == rack]
        leaders, replicas = sum(load.leaders for load in own), sum(load.replicas for load in own)
        if rack is None:
            yield RackLoad(None, len(brokers), leaders, replicas, None, None)
            continue
        unwritable, lost = (sum(map(len, by_topic.values())) for by_topic in failures[rack])
        yield RackLoad(rack, len(brokers), leaders, replicas, unwritable + lost, lost)


def named(brokers: Sequence[int]) -> str:
    """Brokers as text.

    >>> named([1]), named([1, 2])
    ('broker 1', 'brokers 1, 2')
    """
    return f"broker{'s' if len(brokers) > 1 else ''} {', '.join(map(str, brokers))}"


def numbers_named(partitions: Sequence[tuple[str, int]], topic: LayoutTopic) -> str:
    """Partitions of one topic as text: how many of how many, and the first ones."""
    shown = ", ".join(str(number) for _, number in partitions[:SHOWN])
    more = ", ..." if len(partitions) > SHOWN else ""
    return f"{len(partitions)} of {len(topic.partitions)} partitions ({shown}{more})"


def partitions_named(partitions: Sequence[tuple[str, int]]) -> str:
    """Partitions of several topics as text."""
    shown = ", ".join(f"{topic}-{number}" for topic, number in partitions[:SHOWN])
    more = f" and {len(partitions) - SHOWN} more" if len(partitions) > SHOWN else ""
    return f"replicas of {shown}{more}"
