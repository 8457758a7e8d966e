"""kafka-rack topics: KIP-36's TopicCommand on a real cluster.

Source: TopicCommand, Apache Kafka 4.1; of partitions that are added, KIP-36 and AdminUtils of Apache Kafka 0.10.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.command import Arguments, Group, argument, flag, option, section
from kafka_rack.cli.options.brokers import MAX_BROKERS
from kafka_rack.cli.options.cluster import cluster_of, cluster_options, hints, layout_of, notes, topics_argument
from kafka_rack.cli.options.placement import placement_options, replicas_placed, rotation_of
from kafka_rack.cli.options.shared import format_option
from kafka_rack.cli.options.types import WholeNumber, Words, check_size
from kafka_rack.cli.output.replicas import ids, racks_of, replicas_json, replicas_table
from kafka_rack.cli.output.results import show_as
from kafka_rack.cli.output.tables import table
from kafka_rack.cluster_layout import ClusterLayout, LayoutPartition, LayoutTopic
from kafka_rack.placement import SEED_SETTING, START_INDEX_SETTING, UsableBroker, start_index_of_growth
from kafka_rack.plurals import counted
from mockbroker.adapters.real_cluster.cluster import LiveCluster, Snapshot

DISKLESS = "diskless"
"""Shown as the replication factor of a topic without replicas, which any broker serves."""

topics = Group(
    "topics",
    help="""Create topics over the racks of a real cluster, add partitions to them, and show their racks.

Create and alter work as KIP-36's TopicCommand: they place the replicas here and send them as a manual assignment, so
that any broker since 0.10.1 creates rack-aware topics. kafka-topics.sh lists and deletes topics.

Examples:
  kafka-rack topics create orders --bootstrap-server localhost:9092 --partitions 12 --replication-factor 3
  kafka-rack topics alter orders --bootstrap-server localhost:9092 --partitions 18
  kafka-rack topics describe orders --bootstrap-server localhost:9092""",
)


name_argument = argument("name", metavar="NAME", type=Words("NAME"))
if_exists_option = flag("--if-exists", "Succeed if the topic does not exist.")
validate_option = flag("--validate-only", "Let the cluster check the request, and change nothing.")


@topics.command("create")
@name_argument
@cluster_options
@section(
    "Topic",
    option("--partitions", WholeNumber(1), "Number of partitions.", required=True),
    option("--replication-factor", WholeNumber(1, MAX_BROKERS), "Replicas of each partition.", required=True),
    flag("--if-not-exists", "Succeed if the topic exists."),
    validate_option,
)
@placement_options
@format_option
def create(arguments: Arguments) -> int:
    """Create a topic whose replicas are placed over racks here; --set takes settings of the topic and of the placer."""
    name, partitions, replication_factor = arguments.name, arguments.partitions, arguments.replication_factor
    check_size(partitions, replication_factor)
    rotation = rotation_of(arguments) or {SEED_SETTING: str(random.randrange(1 << 48))}
    placing, configs = settings_in(arguments)
    with cluster_of(arguments) as cluster:
        snapshot = cluster.snapshot(with_settings=False)
        if arguments.if_not_exists and name in snapshot.topics:
            notes([f"topic {name} exists"])
            return DONE
        layout = layout_of(snapshot)
        hints(layout)
        sizes = {"partitions": partitions, "replication_factor": replication_factor}
        rows = replicas_placed(arguments, brokers_up(layout), rotation | placing, **sizes)
        cluster.create_topic(name, rows, configs, validate_only=arguments.validate_only)
    done = "could be created" if arguments.validate_only else "created"
    report(arguments, {"created": not arguments.validate_only}, f"Topic {name} {done}.", rows, layout)
    return DONE


@topics.command("alter")
@name_argument
@cluster_options
@section(
    "Topic",
    option("--partitions", WholeNumber(1), "Number of partitions, old and new.", required=True),
    if_exists_option,
    validate_option,
)
@placement_options
@format_option
def alter(arguments: Arguments) -> int:
    """Add partitions to a topic, with replicas placed over racks here.

    Without --start-index or --seed the placement continues from the topic's first leader, as KIP-36's TopicCommand
    does.
    """
    name, count = arguments.name, arguments.partitions
    rotation, (placing, configs) = rotation_of(arguments), settings_in(arguments)
    if configs:
        raise UsageError(f"--set {next(iter(configs))}: kafka-configs.sh --alter changes settings of a topic")
    with cluster_of(arguments) as cluster:
        if not existing_topics(cluster, [name], arguments.if_exists):
            return DONE
        snapshot = cluster.snapshot([name])
        topic, layout = snapshot.topics[name], layout_of(snapshot)
        before = len(topic.partitions)
        rows: list[list[int]] | None = None  # the cluster places them, or refuses
        if not topic.diskless and count > before:
            replicas = [list(partition.replicas) for partition in topic.partitions]
            check_size(count, len(replicas[0]))
            hints(layout)
            up = brokers_up(layout)
            start = start_index_of_growth(up, replicas[0][0]) if up else 0
            rotation = rotation or {START_INDEX_SETTING: str(start)}
            sizes = {"partitions": count - before, "replication_factor": len(replicas[0])}
            rows = replicas_placed(arguments, up, rotation | placing, first=before, **sizes)
        cluster.grow_topic(name, count, rows, validate_only=arguments.validate_only)
    done = f"Topic {name} {'can have' if arguments.validate_only else 'has'} {counted(count, 'partition')}."
    report(arguments, {"altered": not arguments.validate_only}, done, rows or [], layout, first=before)
    return DONE


@topics.command("describe")
@topics_argument
@cluster_options
@if_exists_option
@format_option
def describe(arguments: Arguments) -> int:
    """Describe topics, their replicas and the racks of these; all topics unless some are named."""
    with cluster_of(arguments) as cluster:
        wanted = existing_topics(cluster, arguments.topics, True) if arguments.if_exists else arguments.topics
        snapshot = cluster.snapshot(wanted if arguments.topics else None)
        notes(snapshot.notes)
        layout = layout_of(snapshot)
    show_as(arguments.format, {"topics": topics_json(snapshot, layout)}, description_tables(layout))
    return DONE


def existing_topics(cluster: LiveCluster, names: Iterable[str], if_exists: bool) -> list[str]:
    """The names that exist, with a note about the others. Raises CommandError: one does not, without ``if_exists``."""
    there = cluster.snapshot(with_settings=False).topics
    missing = [f"topic {name}: there is no such topic" for name in names if name not in there]
    if missing and not if_exists:
        raise CommandError(f"{missing[0]}, and nothing was done")
    notes(missing)
    return [name for name in names if name in there]


def settings_in(arguments: Arguments) -> tuple[dict[str, str], dict[str, str]]:
    """The settings of ``--set``: those of the placer, and those of the topic."""
    placing = {name: value for name, value in arguments.set if name.startswith("replica.placer.")}
    return placing, {name: value for name, value in arguments.set if name not in placing}


def report(
    arguments: Arguments,
    done: Mapping[str, bool],
    text: str,
    rows: Sequence[Sequence[int]],
    layout: ClusterLayout,
    *,
    first: int = 0,
) -> None:
    """Print the replicas of partitions from ``first`` on."""
    name, racks = arguments.name, layout.rack_of
    if rows:
        text = f"{text}\n\n{replicas_table(rows, racks, first, f'{name}-')}"
    show_as(arguments.format, {"topic": name, **done, "partitions": replicas_json(rows, racks, first)}, text)


def topics_json(snapshot: Snapshot, layout: ClusterLayout) -> dict[str, Any]:
    """Topics with all that is known of their partitions, in the form that ``--layout`` reads."""
    racks = layout.rack_of
    return {
        name: {
            "min_insync_replicas": topic.min_insync_replicas,
            "internal": topic.internal,
            "diskless": topic.diskless,
            "partitions": [
                {
                    "partition": number,
                    "leader": partition.leader,
                    "replicas": list(partition.replicas),
                    "isr": list(partition.isr or ()),
                    "racks": [racks.get(broker) for broker in partition.replicas],
                }
                for number, partition in enumerate(stored_partitions(topic))
            ],
        }
        for name, topic in snapshot.topics.items()
    }


def stored_partitions(topic: LayoutTopic) -> Sequence[LayoutPartition]:
    """The partitions of a topic; of a diskless one without the broker that was named for this client alone."""
    return [LayoutPartition(()) for _ in topic.partitions] if topic.diskless else topic.partitions


def description_tables(layout: ClusterLayout) -> str:
    heads = []
    for name, topic in layout.topics.items():
        factor = DISKLESS if topic.diskless else topic.replication_factor
        heads.append([name, len(topic.partitions), factor, topic.min_insync_replicas])
    summary = table(["topic", "partitions", "replication factor", "min.insync.replicas"], heads)
    racks, rows = layout.rack_of, []
    for name, topic in layout.topics.items():
        for number, one in enumerate(stored_partitions(topic)):
            leader = None if one.leading < 0 else one.leading
            replicas = [ids(one.replicas) or None, racks_of(one.replicas, racks) or None, ids(one.isr or ()) or None]
            rows.append([f"{name}-{number}", leader, *replicas])
    return f"{summary}\n\n{table(['partition', 'leader', 'replicas', 'racks', 'isr'], rows)}"


def brokers_up(layout: ClusterLayout) -> list[UsableBroker]:
    return [broker for broker in layout.brokers if not broker.fenced]
