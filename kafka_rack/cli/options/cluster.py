"""The cluster that a command looks at: a real one, or a JSON file with brokers and topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.command import Arguments, Decorator, argument, option, say, section, together
from kafka_rack.cli.options.brokers import broker_options, brokers_of
from kafka_rack.cli.options.command_config import settings_with_notes
from kafka_rack.cli.options.shared import command_config_option
from kafka_rack.cli.options.text_files import STANDARD_INPUT, read_json
from kafka_rack.cli.options.types import Duration, Words
from kafka_rack.cluster_layout import ClusterLayout, layout_of_json, reassignment_entries
from kafka_rack.errors import InputError
from kafka_rack.rack_names import rack_hints
from kafka_rack.reassignment import Entry
from mockbroker.adapters.client_properties.settings import MAX_TIMEOUT_S
from mockbroker.adapters.real_cluster.cluster import LiveCluster, Snapshot

Answer = TypeVar("Answer")
topics_argument = argument("topics", nargs=-1, metavar="[TOPIC]...", type=Words("TOPIC"))
real_cluster_options = (
    command_config_option,
    option(
        "--timeout",
        Duration(),
        "Wait this long for each answer, at most 1d; default: request.timeout.ms of --command-config, else 10s.",
    ),
)


def bootstrap_option(*, required: bool) -> Decorator[Any]:
    help_text = "Connect to a real cluster by one of these addresses."
    return option("--bootstrap-server", Words("HOST:PORT,..."), help_text, required=required)


cluster_options = section("Cluster", bootstrap_option(required=True), *real_cluster_options)
layout_options = together(
    section(
        "Cluster",
        bootstrap_option(required=False),
        *real_cluster_options,
        option(
            "--layout",
            Words("FILE|-"),
            "Read brokers and topics from JSON instead, as kafka-rack inspect --format json prints it; or a plan "
            "of Kafka's reassignment tool, with --brokers.",
        ),
    ),
    broker_options,
)


def cluster_of(arguments: Arguments) -> LiveCluster:
    """The cluster of ``cluster_options``; notes on its settings go to stderr."""
    settings = settings_with_notes(arguments)
    if arguments.timeout:
        settings = replace(settings, timeout_s=arguments.timeout / 1000)
    if settings.timeout_s > MAX_TIMEOUT_S:
        raise UsageError(f"--timeout: expected at most 1d, got {settings.timeout_s:g} s")
    return LiveCluster(arguments.bootstrap_server, settings)


def layout_of(snapshot: Snapshot) -> ClusterLayout:
    """The layout of a snapshot. Raises CommandError: it contradicts itself."""
    try:
        return snapshot.layout()
    except InputError as error:
        raise CommandError(str(error)) from error


def layout_given(arguments: Arguments) -> ClusterLayout:
    """The layout of ``layout_options``, without diskless topics; notes go to stderr.

    Raises: UsageError: two sources or none, or a file of another form. CommandError.
    """
    if bool(arguments.bootstrap_server) == bool(arguments.layout):
        raise UsageError("expected a real cluster by --bootstrap-server, or a file by --layout")
    beside = arguments.brokers is not None
    if arguments.bootstrap_server:
        if beside:
            raise UsageError("--brokers needs --layout; a real cluster reports its own brokers")
        with cluster_of(arguments) as cluster:
            snapshot = cluster.snapshot()
        notes(snapshot.notes)
        layout = layout_of(snapshot)
    elif arguments.command_config:
        raise UsageError("--command-config needs --bootstrap-server")
    else:
        said = read_json(arguments.layout)
        where = name_of(arguments.layout)
        layout = about(where, lambda: layout_of_json(said, brokers_of(arguments) if beside else None))
    replicated = layout.without_diskless()
    notes(
        f"topic {name} is diskless and left out: it has no replicas"
        for name in layout.topics
        if name not in replicated.topics
    )
    return replicated


def plan_in_file(path: str) -> list[Entry]:
    """The entries of a plan of Kafka's reassignment tool."""
    said = read_json(path)
    return [Entry(*entry) for entry in about(name_of(path), lambda: reassignment_entries(said))]


def name_of(path: str) -> str:
    return "standard input" if path == STANDARD_INPUT else path


def about(where: str, read: Callable[[], Answer]) -> Answer:
    """The result of ``read``; an error about its input names the file."""
    try:
        return read()
    except InputError as error:
        raise UsageError(f"{where}: {error}") from error


def notes(texts: Iterable[str]) -> None:
    """Notes on stderr, a line each."""
    for text in texts:
        say(f"note: {text}")


def hints(layout: ClusterLayout) -> None:
    """Hints on stderr about rack names that almost match."""
    for hint in rack_hints(broker.rack for broker in layout.brokers):
        say(f"hint: {hint}")


def chosen_topics(layout: ClusterLayout, topics: Iterable[str]) -> ClusterLayout:
    """The layout with these topics alone; with all if none are named. Raises CommandError."""
    try:
        return layout.only(topics) if topics else layout
    except InputError as error:
        raise CommandError(str(error)) from error
