"""Topics of a live cluster listed, given more partitions and deleted, with what kafka-topics.sh does there.

Source: TopicCommand, Apache Kafka 4.1; of partitions that are added, KIP-36 and AdminUtils of Apache Kafka 0.10.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.live.cluster import LiveCluster, cluster_of, layout_of
from kafka_rack.cli.live.placing import assignment_in, placed, rows_json, rows_table, warn_of_shared_racks
from kafka_rack.cli.options.layout import say_hints, say_notes
from kafka_rack.cli.options.whole_numbers import check_size
from kafka_rack.cluster_layout import ClusterLayout, LayoutTopic
from kafka_rack.plurals import counted


def list_topics(arguments: argparse.Namespace) -> int:
    """The names of topics, in order."""
    with cluster_of(arguments) as cluster:
        snapshot = cluster.snapshot(with_settings=False)
    say_notes(arguments, snapshot.notes)
    names = [
        name
        for name, topic in snapshot.topics.items()
        if not (arguments.topic and name not in arguments.topic) and not (arguments.exclude_internal and topic.internal)
    ]
    if arguments.format == "json":
        print(json.dumps({"topics": names}, indent=2))
    else:
        print("\n".join(names))
    return DONE


def found_topics(cluster: LiveCluster, arguments: argparse.Namespace) -> list[str] | None:
    """The topics that are named; with --if-exists those of them that are there, and a note about the others."""
    if not arguments.topic or not arguments.if_exists:
        return arguments.topic or None
    there = cluster.snapshot(with_settings=False).topics
    say_notes(arguments, (f"topic {name}: there is no such topic" for name in arguments.topic if name not in there))
    return [name for name in arguments.topic if name in there]


# deleting


def delete(arguments: argparse.Namespace) -> int:
    """Delete the topics that are named, or none of them where one is not there."""
    if not arguments.topic:
        raise UsageError("--delete needs the topics to delete: name each by --topic")
    with cluster_of(arguments) as cluster:
        there = cluster.snapshot(with_settings=False).topics
        names = list(dict.fromkeys(arguments.topic))
        missing = [name for name in names if name not in there]
        if missing and not arguments.if_exists:
            raise CommandError(f"topic {missing[0]}: there is no such topic, and nothing was deleted")
        say_notes(arguments, (f"topic {name}: there is no such topic" for name in missing))
        names = [name for name in names if name in there]
        refused = cluster.delete_topics(names) if names else {}
    deleted = [name for name in names if name not in refused]
    if arguments.format == "json":
        print(json.dumps({"deleted": deleted, "refused": refused}, indent=2))
    else:
        for name in deleted:
            print(f"Topic {name} deleted.")
    if refused:
        raise CommandError("; ".join(refused.values()))
    return DONE


# more partitions


def alter(arguments: argparse.Namespace) -> int:
    """Give a topic more partitions, with their replicas placed here unless they are given."""
    if not arguments.topic or len(arguments.topic) > 1:
        raise UsageError("--alter gives one topic more partitions: name it by --topic")
    by_hand = assignment_in(arguments.replica_assignment) if arguments.replica_assignment else None
    count = check_alter(arguments, by_hand)
    name = arguments.topic[0]
    with cluster_of(arguments) as cluster:
        if not found_topics(cluster, arguments):
            return DONE
        snapshot = cluster.snapshot([name])
        topic = snapshot.topics[name]
        layout = layout_of(snapshot)
        rows = new_rows(arguments, layout, topic, count, by_hand)
        cluster.grow_topic(name, count, rows, validate_only=arguments.validate_only)
    report(arguments, name, count, rows or [], layout, first=len(topic.partitions))
    return DONE


def check_alter(arguments: argparse.Namespace, by_hand: Sequence[Sequence[int]] | None) -> int:
    """How many partitions there are to be. Raises UsageError: options that say it twice, or not at all."""
    rotation = (arguments.start_index, arguments.next_replica_shift)
    if by_hand is not None:
        if arguments.placer or arguments.seed is not None or rotation != (None, None):
            raise UsageError("--replica-assignment is sent as it is: no placer, seed, start or shift goes with it")
        if arguments.partitions not in (None, len(by_hand)):
            named = counted(len(by_hand), "partition")
            raise UsageError(f"--replica-assignment names {named}, but --partitions {arguments.partitions}")
        return len(by_hand)
    if arguments.partitions is None:
        raise UsageError("--alter needs --partitions or --replica-assignment")
    if arguments.seed is not None and rotation != (None, None):
        raise UsageError("--seed draws the start index and the shift: give one or the other")
    return int(arguments.partitions)


def new_rows(
    arguments: argparse.Namespace,
    layout: ClusterLayout,
    topic: LayoutTopic,
    count: int,
    by_hand: Sequence[Sequence[int]] | None,
) -> list[list[int]] | None:
    """The replicas of the partitions to come; None where the cluster is to place them, or to refuse them."""
    existing = [list(partition.replicas) for partition in topic.partitions]
    if topic.diskless or count <= len(existing):
        return None
    if by_hand is not None:
        rows = [list(row) for row in by_hand[len(existing) :]]
        if not arguments.ignore_racks:
            warn_of_shared_racks(arguments, layout, rows, len(existing))
        return rows
    check_size(count, len(existing[0]))
    say_hints(arguments, layout)
    return placed(arguments, layout, count - len(existing), len(existing[0]), existing)


def report(
    arguments: argparse.Namespace, name: str, count: int, rows: list[list[int]], layout: ClusterLayout, *, first: int
) -> None:
    if arguments.format == "json":
        print(
            json.dumps(
                {"topic": name, "altered": not arguments.validate_only, **rows_json(rows, layout, first)}, indent=2
            )
        )
        return
    shown = f"\n\n{rows_table(name, rows, layout, first)}" if rows else ""
    print(f"Topic {name} {'can have' if arguments.validate_only else 'has'} {counted(count, 'partition')}.{shown}")
