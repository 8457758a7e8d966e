"""kafka-rack inspect: a real cluster's brokers, topics and APIs by rack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_rack.cli import DONE
from kafka_rack.cli.command import Arguments, command
from kafka_rack.cli.commands.topics import DISKLESS, topics_json
from kafka_rack.cli.options.cluster import cluster_of, cluster_options, hints, layout_of, notes, topics_argument
from kafka_rack.cli.options.shared import format_option
from kafka_rack.cli.output.results import show_as
from kafka_rack.cli.output.tables import table
from kafka_rack.cluster_layout import ClusterLayout, LayoutTopic
from kafka_rack.printable import printable
from kafka_rack.rack_spread import spread_of, usable_racks
from mockbroker.adapters.real_cluster.cluster import LiveBroker, LiveCluster, Snapshot
from mockbroker.adapters.real_cluster.connection import RealClusterError, address_text
from protocol.registry import APIS

ADVERTISED, LISTENERS, SELECTOR = "advertised.listeners", "listeners", "replica.selector.class"
RACK_SELECTOR = "RackAwareReplicaSelector"

FEATURES: tuple[tuple[int, int, str], ...] = (
    (3, 1, "clients see the racks of brokers (KIP-36)"),
    (1, 11, "consumers read from a replica in their rack (KIP-392)"),
    (19, 0, "kafka-rack topics creates topics over racks (KIP-36)"),
    (45, 0, "kafka-reassign-partitions moves replicas (KIP-455)"),
    (60, 2, "brokers that are down are listed with their racks (KIP-1073)"),
    (68, 0, "consumers report their rack to the group coordinator (KIP-848)"),
    (76, 0, "share consumers report their rack (KIP-932)"),
    (88, 0, "streams clients report their rack (KIP-1071)"),
    (3, 14, "clients report their rack, for diskless topics (proposal)"),
    (75, 1, "the same, page by page (proposal)"),
)
"""API key, the first version, and what it is good for."""


@dataclass(slots=True)
class BrokerAnswers:
    """The report of one broker; ``trouble``: why there is none."""

    versions: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    settings: Mapping[str, str | None] = field(default_factory=dict)
    trouble: str | None = None


@command()
@topics_argument
@cluster_options
@format_option
def inspect(arguments: Arguments) -> int:
    """Show a real cluster's racks: brokers, listeners, topics by rack, and what each broker supports.

    audit and reassign read the JSON as --layout, and kafka-rack pipeline audit reads folders of it.

    Examples:
      kafka-rack inspect --bootstrap-server localhost:9092
      kafka-rack inspect --bootstrap-server localhost:9092 --format json > cluster.json
    """
    with cluster_of(arguments) as cluster:
        snapshot = cluster.snapshot(arguments.topics or None)
        answers = {broker.id: answers_of(cluster, broker) for broker in snapshot.brokers.values()}
    layout = layout_of(snapshot)
    notes(snapshot.notes)
    hints(layout)
    found = described(snapshot, layout, answers)
    show_as(arguments.format, found, as_tables(found))
    return DONE


def answers_of(cluster: LiveCluster, broker: LiveBroker) -> BrokerAnswers:
    """The versions and settings of one broker; one that is down or out of reach is no failure."""
    if broker.fenced:
        return BrokerAnswers(trouble="down")
    try:
        answers = BrokerAnswers(cluster.connection_to(broker).versions)
    except RealClusterError as error:
        return BrokerAnswers(trouble=str(error))
    try:
        answers.settings = cluster.broker_settings(broker, [ADVERTISED, LISTENERS, SELECTOR])
    except RealClusterError as error:
        answers.trouble = str(error)
    return answers


def speaks(answers: Mapping[int, BrokerAnswers], api_key: int, version: int) -> tuple[list[int], list[int]]:
    """Brokers that serve a version of an API or a newer one, and those that do not, of those that answered."""
    answered = {broker: one.versions for broker, one in sorted(answers.items()) if one.versions}
    can = [broker for broker, versions in answered.items() if versions.get(api_key, (0, -1))[1] >= version]
    return can, [broker for broker in answered if broker not in can]


def listeners_of(broker: LiveBroker, answers: BrokerAnswers) -> str:
    """The advertised addresses of a broker, by listener; else the one in Metadata."""
    return answers.settings.get(ADVERTISED) or answers.settings.get(LISTENERS) or address_text(broker.host, broker.port)


def spread_in(topic: LayoutTopic, layout: ClusterLayout) -> dict[str, Any]:
    """A topic over racks: how many racks a partition is in, how many could be better, leaders by rack."""
    if topic.diskless:
        return {"racks_per_partition": None, "misplaced_partitions": None, "leaders_by_rack": None}
    rack_of, usable = layout.rack_of, usable_racks(layout)
    counts = [len({rack_of.get(broker) for broker in one.replicas} - {None}) for one in topic.partitions] or [0]
    leaders = Counter(rack_of.get(one.leading) for one in topic.partitions if one.leading in rack_of)
    return {
        "racks_per_partition": [min(counts), max(counts)],
        "misplaced_partitions": sum(spread_of(one.replicas, rack_of, usable).misplaced > 0 for one in topic.partitions),
        "leaders_by_rack": {rack: leaders[rack] for rack in [*layout.racks, None] if rack is not None or leaders[None]},
    }


def described(snapshot: Snapshot, layout: ClusterLayout, answers: Mapping[int, BrokerAnswers]) -> dict[str, Any]:
    brokers = []
    for broker in snapshot.brokers.values():
        own = answers[broker.id]
        brokers.append(
            {
                "id": broker.id,
                "rack": broker.rack,
                "host": broker.host,
                "port": broker.port,
                "fenced": broker.fenced,
                "listeners": listeners_of(broker, own),
                SELECTOR: own.settings.get(SELECTOR) or None,
                "versions": {APIS[key][1]: list(own.versions[key]) for key in sorted(own.versions) if key in APIS},
                "trouble": own.trouble,
            }
        )
    topics = topics_json(snapshot, layout)
    for name, topic in layout.topics.items():
        topics[name] |= spread_in(topic, layout)
    features = []
    for key, version, meaning in FEATURES:
        can, cannot = speaks(answers, key, version)
        features.append({"api": APIS[key][1], "from": version, "meaning": meaning, "served_by": can, "not_by": cannot})
    return {
        "cluster_id": snapshot.cluster_id,
        "controller": snapshot.controller_id,
        "brokers": brokers,
        "topics": topics,
        "features": features,
        "notes": snapshot.notes,
    }


def as_tables(found: Mapping[str, Any]) -> str:
    controller = "an unknown broker" if found["controller"] is None else f"broker {found['controller']}"
    head = f"Cluster {printable(found['cluster_id'] or 'without id')}; requests for the controller go to {controller}."
    brokers = []
    for one in found["brokers"]:
        selector = (one[SELECTOR] or "").rpartition(".")[2] or None
        brokers.append([one["id"], one["rack"], one["listeners"], selector, one["trouble"] or ""])
    parts = [head, table(["broker", "rack", "listeners", "replica selector", ""], brokers)]
    if found["topics"]:
        parts.append(topics_table(found))
    rows = []
    for one in found["features"]:
        some = f"not by {', '.join(map(str, one['not_by']))}" if one["not_by"] else "yes"
        answer = some if one["served_by"] else "no"
        selects = any(RACK_SELECTOR in (broker[SELECTOR] or "") for broker in found["brokers"])
        if one["api"] == "Fetch" and one["served_by"] and not selects:
            answer += f", but {SELECTOR} is not set to {RACK_SELECTOR}"
        rows.append([f"{one['api']} {one['from']}", one["meaning"], answer])
    return "\n\n".join([*parts, table(["needs", "for", "served"], rows)])


def topics_table(found: Mapping[str, Any]) -> str:
    racks = sorted({one["rack"] for one in found["brokers"]}, key=lambda rack: (rack is None, rack))
    rows = []
    for name, topic in found["topics"].items():
        least, partitions = topic["min_insync_replicas"], topic["partitions"]
        if topic["diskless"]:
            rows.append([name, len(partitions), DISKLESS, least, *[None] * (2 + len(racks))])
            continue
        few, many = topic["racks_per_partition"]
        replicas = max((len(one["replicas"]) for one in partitions), default=0)
        leads = [topic["leaders_by_rack"].get(rack, 0) for rack in racks]
        spread = str(few) if few == many else f"{few}-{many}"
        rows.append([name, len(partitions), replicas, least, spread, topic["misplaced_partitions"], *leads])
    heads = [f"leaders in {rack or 'no rack'}" for rack in racks]
    return table(["topic", "partitions", "rf", "min.isr", "racks each", "misplaced", *heads], rows)
