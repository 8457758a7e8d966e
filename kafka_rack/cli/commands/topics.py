"""Create a topic over the racks of a live cluster, give it more partitions, list, describe or delete topics.

Creating and altering do what KIP-36's TopicCommand does: they ask the cluster for its brokers and their racks, place
the replicas here, and send them as a manual assignment, so that any broker since 0.10.1 gives a topic that knows racks.
Brokers partly without a rack are refused and named, unless racks are ignored. Topics are named as they are: no pattern
stands for several, so that nothing else is deleted.

Examples:
  kafka-rack topics --create --bootstrap-server localhost:9092 --topic orders --partitions 12 --replication-factor 3
  kafka-rack topics --create --bootstrap-server localhost:9092 --topic orders --replica-assignment 0:1:2,1:2:0
  kafka-rack topics --alter --bootstrap-server localhost:9092 --topic orders --partitions 18
  kafka-rack topics --list --bootstrap-server localhost:9092 --exclude-internal
  kafka-rack topics --delete --bootstrap-server localhost:9092 --topic orders --if-exists
  kafka-rack topics --describe --bootstrap-server localhost:9092 --topic orders
  kafka-rack topics --describe --bootstrap-server localhost:9092 --under-replicated-partitions
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_rack.cli import DONE, UsageError
from kafka_rack.cli.live.cluster import Snapshot, add_cluster_arguments, cluster_of, layout_of
from kafka_rack.cli.live.partition_filters import FILTERS, add_partition_filters, chosen_partitions
from kafka_rack.cli.live.placing import (
    assignment_in,
    ids,
    placed,
    racks_of,
    rows_json,
    rows_table,
    warn_of_shared_racks,
)
from kafka_rack.cli.live.topic_changes import alter, delete, found_topics, list_topics
from kafka_rack.cli.options.layout import add_output_arguments, say_hints, say_notes
from kafka_rack.cli.options.placers import placer_help
from kafka_rack.cli.options.whole_numbers import MAX_BROKERS, MAX_ID, MAX_SEED, check_size, whole_number
from kafka_rack.cli.output.tables import table
from kafka_rack.cluster_layout import ClusterLayout, LayoutPartition, LayoutTopic
from kafka_rack.placement import MAX_REPLICAS

DISKLESS = "diskless"
"""In place of a replication factor: such a topic has no replicas, and whichever broker a client asks serves it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--create", action="store_true", help="make a topic, its replicas placed here")
    what.add_argument("--alter", action="store_true", help="give a topic more partitions, placed here")
    what.add_argument("--list", action="store_true", help="the names of topics, a line each")
    what.add_argument("--describe", action="store_true", help="topics, their replicas and the racks of these")
    what.add_argument("--delete", action="store_true", help="delete topics and all that is in them")
    add_cluster_arguments(parser, required=True)
    parser.add_argument(
        "--topic",
        action="append",
        metavar="NAME",
        help="its whole name; repeatable with --list, --describe and --delete;\n"
        "--list and --describe take all topics where none is named",
    )
    index = whole_number(MAX_ID)
    parser.add_argument(
        "--partitions",
        type=index,
        metavar="N",
        help="of --alter: how many there are to be, old and new;\n"
        f"times the replication factor at most {MAX_REPLICAS} replicas",
    )
    parser.add_argument(
        "--replication-factor",
        type=whole_number(MAX_BROKERS),
        metavar="N",
        help="of --create: replicas of each partition",
    )
    parser.add_argument(
        "--replica-assignment",
        metavar="ID:ID,...",
        help="instead of both: the brokers of each partition, sent as they are; 0:1,1:2 for two partitions.\n"
        "Of --alter: of all partitions, of which those that are there stay as they are",
    )
    parser.add_argument("--placer", metavar="NAME", help=placer_help())
    parser.add_argument(
        "--start-index", type=index, metavar="N", help="place of the first leader in the list of brokers"
    )
    parser.add_argument("--next-replica-shift", type=index, metavar="N", help="first shift of followers")
    parser.add_argument(
        "--seed",
        type=whole_number(MAX_SEED),
        metavar="N",
        help="what both are drawn with; default: drawn",
    )
    parser.add_argument(
        "--ignore-racks",
        "--disable-rack-aware",
        action="store_true",
        help="place as if no broker had a rack; without it brokers partly without are refused",
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="of --create: a setting of the topic; repeatable",
    )
    parser.add_argument(
        "--if-not-exists", action="store_true", help="of --create: done when the topic is there already"
    )
    parser.add_argument(
        "--if-exists", action="store_true", help="of --alter, --delete and --describe: done when there is no such topic"
    )
    parser.add_argument("--exclude-internal", action="store_true", help="of --list and --describe: without Kafka's own")
    parser.add_argument("--validate-only", action="store_true", help="let the cluster check it, and change nothing")
    add_partition_filters(parser)
    add_output_arguments(parser)


PLACING = ("partitions", "replica_assignment", "placer", "start_index", "next_replica_shift", "seed", "ignore_racks")
ACTIONS = {
    "create": (*PLACING, "replication_factor", "config", "if_not_exists", "validate_only"),
    "alter": (*PLACING, "if_exists", "validate_only"),
    "list": ("exclude_internal",),
    "describe": ("if_exists", "exclude_internal", *FILTERS),
    "delete": ("if_exists",),
}
"""What is done, and the options that go with it alone or with some others."""


def run(arguments: argparse.Namespace) -> int:
    action = next(name for name in ACTIONS if getattr(arguments, name))
    for option in dict.fromkeys(option for options in ACTIONS.values() for option in options):
        if getattr(arguments, option) not in (None, False, []) and option not in ACTIONS[action]:
            way_out = "; kafka-configs.sh --alter changes settings" if (option, action) == ("config", "alter") else ""
            raise UsageError(f"--{option.replace('_', '-')} does not go with --{action}{way_out}")
    work = {"create": create, "alter": alter, "list": list_topics, "describe": describe, "delete": delete}
    return work[action](arguments)


# creating


def create(arguments: argparse.Namespace) -> int:
    name, rows = check_create(arguments)
    configs = dict(key_and_value(pair) for pair in arguments.config)
    with cluster_of(arguments) as cluster:
        snapshot = cluster.snapshot(with_settings=False)
        if arguments.if_not_exists and name in snapshot.topics:
            sys.stderr.write(f"{arguments.program}: note: topic {name} is there already\n")
            return DONE
        layout = layout_of(snapshot)
        if rows is None:
            say_hints(arguments, layout)
            rows = placed(arguments, layout, arguments.partitions, arguments.replication_factor)
        elif not arguments.ignore_racks:
            warn_of_shared_racks(arguments, layout, rows)
        cluster.create_topic(name, rows, configs, validate_only=arguments.validate_only)
    done = "could be created" if arguments.validate_only else "created"
    if arguments.format == "json":
        print(json.dumps({"topic": name, "created": not arguments.validate_only, **rows_json(rows, layout)}, indent=2))
    else:
        print(f"Topic {name} {done}.\n\n{rows_table(name, rows, layout)}")
    return DONE


def check_create(arguments: argparse.Namespace) -> tuple[str, list[list[int]] | None]:
    """The topic's name, and its replicas where they are given by hand."""
    if not arguments.topic or len(arguments.topic) > 1:
        raise UsageError("--create makes one topic: name it by --topic")
    sizes = (arguments.partitions, arguments.replication_factor)
    rotation = (arguments.start_index, arguments.next_replica_shift)
    if arguments.replica_assignment:
        if sizes != (None, None):
            raise UsageError("--replica-assignment says both --partitions and --replication-factor: leave them out")
        if arguments.placer or arguments.seed is not None or rotation != (None, None):
            raise UsageError("--replica-assignment is sent as it is: no placer, seed, start or shift goes with it")
        return arguments.topic[0], assignment_in(arguments.replica_assignment)
    if None in sizes:
        raise UsageError("--create needs --partitions and --replication-factor, or --replica-assignment")
    check_size(*sizes)
    if arguments.seed is not None and rotation != (None, None):
        raise UsageError("--seed draws the start index and the shift: give one or the other")
    return arguments.topic[0], None


def key_and_value(pair: str) -> tuple[str, str]:
    key, equals, value = pair.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"--config: expected KEY=VALUE, got {pair!r}")
    return key.strip(), value


# describing


def describe(arguments: argparse.Namespace) -> int:
    with cluster_of(arguments) as cluster:
        snapshot = cluster.snapshot(found_topics(cluster, arguments))
        if arguments.exclude_internal:
            snapshot.topics = {name: topic for name, topic in snapshot.topics.items() if not topic.internal}
        say_notes(arguments, snapshot.notes)
        layout = layout_of(snapshot)
        chosen = chosen_partitions(cluster, arguments, layout)
    if arguments.format == "json":
        print(description_json(snapshot, layout, chosen))
    elif chosen is None:
        print(description_tables(layout))
    elif chosen:
        print(partitions_table(layout, chosen))
    return DONE


def description_json(snapshot: Snapshot, layout: ClusterLayout, chosen: Mapping[str, Sequence[int]] | None) -> str:
    """Topics with their partitions; of those that are chosen, these alone."""
    topics = topics_json(snapshot, layout)
    if chosen is not None:
        topics = {name: topics[name] for name in chosen}
        for name, numbers in chosen.items():
            topics[name]["partitions"] = [topics[name]["partitions"][number] for number in numbers]
    return json.dumps({"topics": topics}, indent=2)


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
    """The partitions of a topic; of a diskless one without the broker that it was told for us alone."""
    return [LayoutPartition(()) for _ in topic.partitions] if topic.diskless else topic.partitions


def description_tables(layout: ClusterLayout) -> str:
    heads = []
    for name, topic in layout.topics.items():
        factor = DISKLESS if topic.diskless else topic.replication_factor
        heads.append([name, len(topic.partitions), factor, topic.min_insync_replicas])
    summary = table(["topic", "partitions", "replication factor", "min.insync.replicas"], heads)
    every = {name: range(len(topic.partitions)) for name, topic in layout.topics.items()}
    return f"{summary}\n\n{partitions_table(layout, every)}"


def partitions_table(layout: ClusterLayout, chosen: Mapping[str, Sequence[int]]) -> str:
    """A line for each partition of topic -> numbers."""
    racks, rows = layout.rack_of, []
    for name, numbers in chosen.items():
        stored = stored_partitions(layout.topics[name])
        for number in numbers:
            one = stored[number]
            rows.append(
                [
                    f"{name}-{number}",
                    None if one.leading < 0 else one.leading,
                    ids(one.replicas) or None,
                    racks_of(one.replicas, racks) or None,
                    ids(one.isr or ()) or None,
                ]
            )
    return table(["partition", "leader", "replicas", "racks", "isr"], rows)
