"""Look at a live cluster's racks over the wire: brokers, listeners, topics by rack, and what each broker speaks.

What `--format json` writes can be read again by `audit` and `reassign` as --layout. `--format jsonl` is the same in one
line, for a file with a cluster a line as `kafka-rack pipeline audit` reads it.

Examples:
  kafka-rack inspect --bootstrap-server localhost:9092
  kafka-rack inspect --bootstrap-server localhost:9092 --format json > cluster.json
  kafka-rack inspect --bootstrap-server eu:9092 --format jsonl >> fleet.jsonl
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kafka_rack.cli import CommandError
from kafka_rack.cli.commands.topics import DISKLESS, topics_json
from kafka_rack.cli.live.cluster import LiveBroker, LiveCluster, Snapshot, add_cluster_arguments, cluster_of, layout_of
from kafka_rack.cli.live.wire_client import address_text
from kafka_rack.cli.options.layout import add_output_arguments, say_hints, say_notes
from kafka_rack.cli.output.tables import table
from kafka_rack.cluster_layout import ClusterLayout, LayoutTopic
from kafka_rack.printable import printable
from kafka_rack.rack_spread import spread_of, usable_racks
from protocol.registry import APIS

ADVERTISED, LISTENERS, SELECTOR = "advertised.listeners", "listeners", "replica.selector.class"
RACK_SELECTOR = "RackAwareReplicaSelector"

FEATURES: tuple[tuple[int, int, str], ...] = (
    (3, 1, "brokers' racks reach clients (KIP-36)"),
    (1, 11, "consumers read from a replica in their rack (KIP-392)"),
    (19, 0, "topics are created over racks by this tool (KIP-36)"),
    (45, 0, "replicas are moved by this tool (KIP-455)"),
    (60, 2, "brokers that are down are listed with their racks (KIP-1073)"),
    (68, 0, "consumers tell their rack to the group coordinator (KIP-848)"),
    (76, 0, "share consumers tell their rack (KIP-932)"),
    (88, 0, "streams clients tell their rack (KIP-1071)"),
    (3, 14, "clients tell their rack, for diskless topics (proposal)"),
    (75, 1, "the same, page by page (proposal)"),
)
"""API key, the version from which on, and what that is good for."""


@dataclass(slots=True)
class BrokerAnswers:
    """What one broker told of itself; ``trouble`` says why it told nothing."""

    versions: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    settings: Mapping[str, str | None] = field(default_factory=dict)
    trouble: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster_arguments(parser, required=True)
    parser.add_argument("--topic", action="append", metavar="NAME", help="look at this topic; repeatable; default: all")
    add_output_arguments(parser, formats=("table", "json", "jsonl"))


def run(arguments: argparse.Namespace) -> int:
    with cluster_of(arguments) as cluster:
        snapshot = cluster.snapshot(arguments.topic)
        told = {broker.id: told_by(cluster, broker) for broker in snapshot.brokers.values()}
    layout = layout_of(snapshot)
    say_notes(arguments, snapshot.notes)
    say_hints(arguments, layout)
    if arguments.format == "table":
        print(as_tables(snapshot, layout, told))
    else:
        print(as_json(snapshot, layout, told, indented=arguments.format == "json"))
    return 0


def told_by(cluster: LiveCluster, broker: LiveBroker) -> BrokerAnswers:
    """Ask one broker for its versions and settings; one that is down or hidden is no failure."""
    if broker.fenced:
        return BrokerAnswers(trouble="down")
    try:
        told = BrokerAnswers(cluster.connection_to(broker).versions)
    except CommandError as error:
        return BrokerAnswers(trouble=str(error))
    try:
        told.settings = cluster.broker_settings(broker, [ADVERTISED, LISTENERS, SELECTOR])
    except CommandError as error:
        told.trouble = str(error)
    return told


def speaks(told: Mapping[int, BrokerAnswers], api_key: int, version: int) -> tuple[list[int], list[int]]:
    """Brokers that serve a version of an API or a newer one, and those that do not, of those that answered."""
    answered = {broker: one.versions for broker, one in sorted(told.items()) if one.versions}
    can = [broker for broker, versions in answered.items() if versions.get(api_key, (0, -1))[1] >= version]
    return can, [broker for broker in answered if broker not in can]


def listeners_of(broker: LiveBroker, told: BrokerAnswers) -> str:
    """The addresses a broker gives out, by listener; else the one that Metadata gave."""
    return told.settings.get(ADVERTISED) or told.settings.get(LISTENERS) or address_text(broker.host, broker.port)


@dataclass(frozen=True, slots=True)
class TopicSpread:
    """A topic over racks: how many racks a partition is in, how many could be better, leaders by rack."""

    fewest_racks: int
    most_racks: int
    misplaced: int
    leaders: Mapping[str | None, int]


def topic_spread(topic: LayoutTopic, layout: ClusterLayout) -> TopicSpread:
    racks = layout.rack_of
    counts = [len({racks.get(broker) for broker in partition.replicas} - {None}) for partition in topic.partitions] or [
        0
    ]
    usable = usable_racks(layout)
    misplaced = sum(spread_of(one.replicas, racks, usable).misplaced > 0 for one in topic.partitions)
    leaders = Counter(racks.get(one.leading) for one in topic.partitions if one.leading in racks)
    return TopicSpread(min(counts), max(counts), misplaced, leaders)


def as_json(snapshot: Snapshot, layout: ClusterLayout, told: Mapping[int, BrokerAnswers], *, indented: bool) -> str:
    brokers = [
        {
            "id": broker.id,
            "rack": broker.rack,
            "host": broker.host,
            "port": broker.port,
            "fenced": broker.fenced,
            "listeners": listeners_of(broker, told[broker.id]),
            SELECTOR: told[broker.id].settings.get(SELECTOR) or None,
            "versions": {
                APIS[key][1]: list(told[broker.id].versions[key])
                for key in sorted(told[broker.id].versions)
                if key in APIS
            },
            "trouble": told[broker.id].trouble,
        }
        for broker in snapshot.brokers.values()
    ]
    topics = topics_json(snapshot, layout)
    for name, topic in layout.topics.items():
        if topic.diskless:
            topics[name] |= {"racks_per_partition": None, "misplaced_partitions": None, "leaders_by_rack": None}
            continue
        spread = topic_spread(topic, layout)
        topics[name]["racks_per_partition"] = [spread.fewest_racks, spread.most_racks]
        topics[name]["misplaced_partitions"] = spread.misplaced
        topics[name]["leaders_by_rack"] = {
            rack: spread.leaders[rack] for rack in [*layout.racks, None] if rack is not None or spread.leaders[None]
        }
    features = []
    for key, version, meaning in FEATURES:
        can, cannot = speaks(told, key, version)
        features.append({"api": APIS[key][1], "from": version, "meaning": meaning, "served_by": can, "not_by": cannot})
    return json.dumps(
        {
            "cluster_id": snapshot.cluster_id,
            "controller": snapshot.controller_id,
            "brokers": brokers,
            "topics": topics,
            "features": features,
            "notes": snapshot.notes,
        },
        indent=2 if indented else None,
    )


def as_tables(snapshot: Snapshot, layout: ClusterLayout, told: Mapping[int, BrokerAnswers]) -> str:
    controller = "a broker that is not told" if snapshot.controller_id is None else f"broker {snapshot.controller_id}"
    head = f"Cluster {printable(snapshot.cluster_id or 'without id')}; what is for the controller goes to {controller}."
    brokers = table(
        ["broker", "rack", "listeners", "replica selector", ""],
        [
            [
                broker.id,
                broker.rack,
                listeners_of(broker, told[broker.id]),
                (told[broker.id].settings.get(SELECTOR) or "").rpartition(".")[2] or None,
                told[broker.id].trouble or "",
            ]
            for broker in snapshot.brokers.values()
        ],
    )
    parts = [head, brokers]
    if layout.topics:
        parts.append(topics_table(layout))
    parts.append(features_table(told))
    return "\n\n".join(parts)


def topics_table(layout: ClusterLayout) -> str:
    racks: Sequence[str | None] = layout.racks
    if any(broker.rack is None for broker in layout.brokers):
        racks = [*racks, None]
    rows = []
    for name, topic in layout.topics.items():
        if topic.diskless:
            served_anywhere = [None] * (2 + len(racks))
            rows.append([name, len(topic.partitions), DISKLESS, topic.min_insync_replicas, *served_anywhere])
            continue
        spread = topic_spread(topic, layout)
        few, many = spread.fewest_racks, spread.most_racks
        rows.append(
            [
                name,
                len(topic.partitions),
                topic.replication_factor,
                topic.min_insync_replicas,
                str(few) if few == many else f"{few}-{many}",
                spread.misplaced,
                *(spread.leaders[rack] for rack in racks),
            ]
        )
    leads = [f"leaders in {rack or 'no rack'}" for rack in racks]
    return table(["topic", "partitions", "rf", "min.isr", "racks each", "misplaced", *leads], rows)


def features_table(told: Mapping[int, BrokerAnswers]) -> str:
    rows = []
    for key, version, meaning in FEATURES:
        can, cannot = speaks(told, key, version)
        answer = "no" if not can else "yes" if not cannot else f"not by {', '.join(map(str, cannot))}"
        if key == 1 and can and not any(RACK_SELECTOR in (one.settings.get(SELECTOR) or "") for one in told.values()):
            answer += f", but {SELECTOR} is not set to {RACK_SELECTOR}"
        rows.append([f"{APIS[key][1]} {version}", meaning, answer])
    return table(["needs", "for", "served"], rows)
