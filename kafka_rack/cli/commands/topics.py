"""Create a topic over the racks of a live cluster, or describe topics with the racks of their replicas.

Creating does what KIP-36's TopicCommand does: it asks the cluster for its brokers and their racks, places the replicas
here, and sends them as a manual assignment, so that any broker since 0.10.1 gives a topic that knows racks. Brokers
partly without a rack are refused and named, unless racks are ignored.

Examples:
  kafka-rack topics --create --bootstrap-server localhost:9092 --topic orders --partitions 12 --replication-factor 3
  kafka-rack topics --create --bootstrap-server localhost:9092 --topic orders --replica-assignment 0:1:2,1:2:0
  kafka-rack topics --describe --bootstrap-server localhost:9092 --topic orders
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from typing import Any

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.live.cluster import Snapshot, add_cluster_arguments, cluster_of, layout_of
from kafka_rack.cli.options.layout import add_output_arguments, check_outputs, plot, say_hints, say_notes
from kafka_rack.cli.options.placers import placer_help
from kafka_rack.cli.options.whole_numbers import (
    HIGHEST_ID,
    HIGHEST_SEED,
    MOST_BROKERS,
    check_size,
    number_in,
    whole_number,
)
from kafka_rack.cli.output.tables import table
from kafka_rack.cluster_layout import ClusterLayout, Partition, Topic
from kafka_rack.errors import KafkaRackError, MissingRackError
from kafka_rack.placement import (
    CLASS_SETTING,
    DISABLED,
    ENFORCED,
    MOST_REPLICAS,
    SEED_SETTING,
    SHIFT_SETTING,
    START_INDEX_SETTING,
    close_placer,
    load_placer,
    place_checked,
)
from kafka_rack.rack_spread import spread_of, usable_racks

DISKLESS = "diskless"
"""In place of a replication factor: such a topic has no replicas, and whichever broker a client asks serves it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--create", action="store_true")
    what.add_argument("--describe", action="store_true")
    add_cluster_arguments(parser, required=True)
    parser.add_argument("--topic", action="append", metavar="NAME", help="one to create; those to describe, else all")
    index = whole_number(HIGHEST_ID)
    parser.add_argument(
        "--partitions", type=index, metavar="N", help=f"times the replication factor at most {MOST_REPLICAS} replicas"
    )
    parser.add_argument("--replication-factor", type=whole_number(MOST_BROKERS), metavar="N")
    parser.add_argument(
        "--replica-assignment",
        metavar="ID:ID,...",
        help="instead of both: the brokers of each partition, sent as they are; 0:1,1:2 for two partitions",
    )
    parser.add_argument("--placer", metavar="NAME", help=placer_help())
    parser.add_argument(
        "--start-index", type=index, metavar="N", help="place of the first leader in the list of brokers"
    )
    parser.add_argument("--next-replica-shift", type=index, metavar="N", help="first shift of followers")
    parser.add_argument(
        "--seed",
        type=whole_number(HIGHEST_SEED),
        metavar="N",
        help="what both are drawn with; drawn itself unless given",
    )
    parser.add_argument(
        "--ignore-racks",
        "--disable-rack-aware",
        action="store_true",
        help="place as if no broker had a rack; without it brokers partly without are refused",
    )
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE", help="a setting of the topic")
    parser.add_argument("--if-not-exists", action="store_true", help="done when the topic is there already")
    parser.add_argument("--validate-only", action="store_true", help="let the cluster check it, and create nothing")
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    check_outputs(arguments)
    return create(arguments) if arguments.create else describe(arguments)


# creating


def create(arguments: argparse.Namespace) -> int:
    name, rows = check_create(arguments)
    configs = dict(key_and_value(pair) for pair in arguments.config)
    with cluster_of(arguments) as cluster:
        snapshot = cluster.snapshot(with_settings=False)
        if arguments.if_not_exists and name in snapshot.topics:
            sys.stderr.write(f"{arguments.program}: note: topic {name} is there already\n")
            return 0
        layout = layout_of(snapshot)
        if rows is None:
            say_hints(arguments, layout)
            rows = placed(arguments, layout)
        elif not arguments.ignore_racks:
            warn_of_shared_racks(arguments, layout, rows)
        cluster.create_topic(name, rows, configs, validate_only=arguments.validate_only)
    if arguments.plot:
        plot(arguments.plot, {name: rows}, layout.rack_of, f"{name}: {len(rows)} partitions by rack")
    done = "could be created" if arguments.validate_only else "created"
    if arguments.format == "json":
        print(json.dumps({"topic": name, "created": not arguments.validate_only, **rows_json(rows, layout)}, indent=2))
    else:
        print(f"Topic {name} {done}.\n\n{rows_table(name, rows, layout)}")
    return 0


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


def assignment_in(text: str) -> list[list[int]]:
    """Replicas by hand, in the form of Kafka's own tool.

    >>> assignment_in("0:1:2,1:2:0")
    [[0, 1, 2], [1, 2, 0]]
    """
    rows: list[list[int]] = []
    for number, word in enumerate(text.split(",")):
        words = word.strip().split(":")
        if not all(one.isdecimal() for one in words):
            raise UsageError(f"--replica-assignment, partition {number}: expected ids as 0:1, got {word.strip()!r}")
        row = [number_in(f"--replica-assignment: partition {number}", one, HIGHEST_ID) for one in words]
        if len(set(row)) < len(row):
            raise UsageError(f"--replica-assignment: partition {number} has a broker twice in {word.strip()}")
        if rows and len(row) != len(rows[0]):
            raise UsageError(
                f"--replica-assignment: partition {number} has {len(row)} replicas, but partition 0 has {len(rows[0])}"
            )
        rows.append(row)
    return rows


def key_and_value(pair: str) -> tuple[str, str]:
    key, equals, value = pair.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"--config: expected KEY=VALUE, got {pair!r}")
    return key.strip(), value


def placed(arguments: argparse.Namespace, layout: ClusterLayout) -> list[list[int]]:
    """The replicas of a new topic over the brokers that are up, drawn as Kafka draws them unless said otherwise."""
    settings = {CLASS_SETTING: arguments.placer or "rack-aware"}
    if arguments.start_index is not None or arguments.next_replica_shift is not None:
        settings[START_INDEX_SETTING] = str(arguments.start_index or 0)
        if arguments.next_replica_shift is not None:
            settings[SHIFT_SETTING] = str(arguments.next_replica_shift)
    else:
        settings[SEED_SETTING] = str(random.randrange(1 << 48) if arguments.seed is None else arguments.seed)
    up = [broker for broker in layout.brokers if not broker.fenced]
    mode = DISABLED if arguments.ignore_racks else ENFORCED
    try:
        placer = load_placer(settings)
        try:
            return place_checked(placer, 0, arguments.partitions, arguments.replication_factor, up, rack_mode=mode)
        finally:
            close_placer(placer)
    except MissingRackError as error:
        raise CommandError(f"{error} with --ignore-racks") from error
    except KafkaRackError as error:
        raise CommandError(str(error)) from error


def warn_of_shared_racks(arguments: argparse.Namespace, layout: ClusterLayout, rows: Sequence[Sequence[int]]) -> None:
    """Replicas by hand are sent as they are; that they share racks without need is said."""
    racks, rack_of = usable_racks(layout), layout.rack_of
    shared = [number for number, row in enumerate(rows) if spread_of(row, rack_of, racks).misplaced]
    if shared:
        sys.stderr.write(
            f"{arguments.program}: note: {len(shared)} of {len(rows)} partitions have two copies in a rack while "
            f"another rack has none, first partition {shared[0]}\n"
        )


def rows_json(rows: Sequence[Sequence[int]], layout: ClusterLayout) -> dict[str, Any]:
    racks = layout.rack_of
    return {
        "partitions": [
            {"partition": number, "replicas": list(row), "racks": [racks.get(broker) for broker in row]}
            for number, row in enumerate(rows)
        ]
    }


def rows_table(name: str, rows: Sequence[Sequence[int]], layout: ClusterLayout) -> str:
    racks = layout.rack_of
    return table(
        ["partition", "replicas", "racks"],
        [[f"{name}-{number}", ids(row), racks_of(row, racks)] for number, row in enumerate(rows)],
    )


# describing


def describe(arguments: argparse.Namespace) -> int:
    unfit = [
        option
        for option in ("partitions", "replication_factor", "replica_assignment", "placer", "start_index", "seed")
        if getattr(arguments, option) is not None
    ]
    if unfit:
        raise UsageError(f"--{unfit[0].replace('_', '-')} does not go with --describe")
    with cluster_of(arguments) as cluster:
        snapshot = cluster.snapshot(arguments.topic)
    say_notes(arguments, snapshot.notes)
    layout = layout_of(snapshot)
    if arguments.plot:
        plot(arguments.plot, layout.replicas_by_topic(), layout.rack_of, "partitions by rack")
    print(description_json(snapshot, layout) if arguments.format == "json" else description_tables(layout))
    return 0


def description_json(snapshot: Snapshot, layout: ClusterLayout) -> str:
    return json.dumps({"topics": topics_json(snapshot, layout)}, indent=2)


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


def stored_partitions(topic: Topic) -> Sequence[Partition]:
    """The partitions of a topic; of a diskless one without the broker that it was told for us alone."""
    return [Partition(()) for _ in topic.partitions] if topic.diskless else topic.partitions


def description_tables(layout: ClusterLayout) -> str:
    racks = layout.rack_of
    heads, rows = [], []
    for name, topic in layout.topics.items():
        least = topic.min_insync_replicas
        factor = DISKLESS if topic.diskless else topic.replication_factor
        heads.append([name, len(topic.partitions), factor, least])
        rows += [
            [
                f"{name}-{number}",
                None if one.leading < 0 else one.leading,
                ids(one.replicas) or None,
                racks_of(one.replicas, racks) or None,
                ids(one.isr or ()) or None,
            ]
            for number, one in enumerate(stored_partitions(topic))
        ]
    summary = table(["topic", "partitions", "replication factor", "min.insync.replicas"], heads)
    return f"{summary}\n\n{table(['partition', 'leader', 'replicas', 'racks', 'isr'], rows)}"


def ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


def racks_of(brokers: Sequence[int], racks: dict[int, str | None]) -> str:
    """The racks of brokers between commas: a dash for none, a question mark for a broker that is not listed."""
    return ",".join((racks[broker] or "-") if broker in racks else "?" for broker in brokers)
