"""The cluster that a tool looks at: a live one, or a file with brokers and topics."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.options.brokers import add_broker_arguments, brokers_of, no_json, read_json
from kafka_rack.cluster_layout import ClusterLayout, layout_of_json
from kafka_rack.errors import InputError
from kafka_rack.rack_names import rack_hints

Answer = TypeVar("Answer")
STANDARD_INPUT = "-"


def add_layout_arguments(parser: argparse.ArgumentParser) -> None:
    """``--bootstrap-server`` or ``--layout``, with brokers beside it where the file names none."""
    from kafka_rack.cli.live.cluster import add_cluster_arguments

    add_cluster_arguments(parser, required=False)
    parser.add_argument(
        "--layout",
        metavar="FILE | -",
        help="instead: a JSON file with brokers and topics, as `kafka-rack inspect --format json` writes it,\n"
        "or a plan of Kafka's reassignment tool with --brokers or --brokers-file beside it",
    )
    add_broker_arguments(parser)


def add_output_arguments(parser: argparse.ArgumentParser, formats: Sequence[str] = ("table", "json")) -> None:
    """``--format``."""
    parser.add_argument("--format", choices=formats, default="table", help="table for people, else for programs")


def layout_given(arguments: argparse.Namespace) -> ClusterLayout:
    """The layout of the live cluster or the file that the arguments name; notes and hints go to stderr.

    Raises: UsageError: none or both are given, or the file does not say what it should. CommandError.
    """
    if bool(arguments.bootstrap_server) == bool(arguments.layout):
        raise UsageError("give the cluster by --bootstrap-server, or a file by --layout")
    beside = bool(arguments.brokers or arguments.brokers_file)
    if arguments.bootstrap_server:
        if beside:
            raise UsageError("--brokers and --brokers-file go with --layout; a live cluster tells its own")
        from kafka_rack.cli.live.cluster import cluster_of, layout_of

        with cluster_of(arguments) as cluster:
            snapshot = cluster.snapshot()
        say_notes(arguments, snapshot.notes)
        return with_replicas(arguments, layout_of(snapshot))
    if arguments.command_config:
        raise UsageError("--command-config goes with --bootstrap-server")
    where = "standard input" if arguments.layout == STANDARD_INPUT else arguments.layout
    said = json_given(arguments.layout)
    layout = told(where, lambda: layout_of_json(said, brokers_of(arguments) if beside else None))
    return with_replicas(arguments, layout)


def with_replicas(arguments: argparse.Namespace, layout: ClusterLayout) -> ClusterLayout:
    """The layout without its diskless topics, whose partitions have no replicas to judge or to move."""
    kept = layout.without_diskless()
    left_out = [name for name in layout.topics if name not in kept.topics]
    say_notes(arguments, (f"topic {name} is diskless and left out: it has no replicas" for name in left_out))
    return kept


def json_given(path: str) -> Any:
    """The content of a JSON file, or of standard input for ``-``."""
    if path != STANDARD_INPUT:
        return read_json(path)
    try:
        return json.load(sys.stdin)
    except (ValueError, RecursionError) as error:
        raise UsageError(no_json("standard input", error)) from error


def told(where: str, read: Callable[[], Answer]) -> Answer:
    """What ``read`` gives; an error about its input says in which file it is."""
    try:
        return read()
    except InputError as error:
        raise UsageError(f"{where}: {error}") from error


def say_notes(arguments: argparse.Namespace, notes: Iterable[str]) -> None:
    """Lines on stderr about what could not be asked."""
    for note in notes:
        sys.stderr.write(f"{arguments.program}: note: {note}\n")


def say_hints(arguments: argparse.Namespace, layout: ClusterLayout) -> None:
    """Lines on stderr about rack names that almost match."""
    for hint in rack_hints(broker.rack for broker in layout.brokers):
        sys.stderr.write(f"{arguments.program}: hint: {hint}\n")


def wanted_topics(arguments: argparse.Namespace, layout: ClusterLayout) -> ClusterLayout:
    """The layout with the topics of ``--topic`` alone, or with all where none is named."""
    if not arguments.topic:
        return layout
    try:
        return layout.only(arguments.topic)
    except InputError as error:
        raise CommandError(str(error)) from error


def plan_in_file(path: str) -> Any:
    """A plan of Kafka's reassignment tool, as entries."""
    from kafka_rack.cluster_layout import reassignment_entries
    from kafka_rack.reassignment import Entry

    where = "standard input" if path == STANDARD_INPUT else path
    said = json_given(path)
    return [Entry(*entry) for entry in told(where, lambda: reassignment_entries(said))]
