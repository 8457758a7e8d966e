"""kafka-rack serve: a mock cluster with racks until a signal."""

from __future__ import annotations

import gc
from typing import Any

import click

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.command import Arguments, command, flag, option, refuse_beside, say, section
from kafka_rack.cli.options.brokers import brokers_option
from kafka_rack.cli.options.shared import racks_option, set_option
from kafka_rack.cli.options.text_files import racks_file
from kafka_rack.cli.options.types import DIRECTORY, FILE, Name, Size, Words, topic_of
from kafka_rack.cli.serving.running import (
    LOOPBACK,
    PORT,
    capture_options,
    check_serving,
    control_options,
    control_token,
    faults_from,
    harness_options,
    loop_factory_of,
    network_options,
    path_of,
    run_made,
    tls_options,
)
from kafka_rack.cli.serving.security_folder import security_folder

SELECTOR = "replica.selector.class"
SAME_NAMES = ("capture", "capture_bytes", "diskless_as", "emulate", "authorize", "data_dir", "tls")
"""The options of the command that a cluster has by the same name."""
OF_LISTENERS = ("host", "advertised_host", "port")


def releases() -> list[str]:
    from mockbroker.state.releases import DISKLESS, RELEASES

    return [*RELEASES, DISKLESS]


def profiles() -> list[str]:
    from kafka_rack.diskless import PROFILES

    return list(PROFILES)


@command(environment=True)
@section(
    "Cluster",
    brokers_option,
    racks_option,
    flag("--rack-aware", "Let consumers read from replicas in their rack (KIP-392)."),
    set_option,
    option(
        "--server-properties",
        FILE,
        "Configure a broker by a server.properties file; repeat for each broker.",
        multiple=True,
    ),
    option("--emulate", Name("RELEASE", releases), "Emulate a Kafka release: 0.8.2 to 4.4, or diskless."),
)
@section(
    "Topics",
    option("--topic", Words("TOPIC"), "Create a topic: NAME[:PARTITIONS[:REPLICAS]]; repeatable.", multiple=True),
    option("--diskless-topic", Words("NAME[:PARTITIONS]"), "Create a diskless topic; repeatable.", multiple=True),
    option(
        "--diskless-as",
        Name("NAME", profiles),
        f"Serve diskless topics as this system does: {', '.join(profiles())}; default: {profiles()[0]}.",
    ),
    option("--memory", Size(), "Limit the size of all records, such as 512MiB; the oldest segments are dropped."),
)
@network_options
@control_options
@section(
    "Security",
    option(
        "--user", Words("NAME:PASSWORD"), "Let only these users in, by SASL PLAIN or SCRAM; repeatable.", multiple=True
    ),
    flag("--authorize", "Check access control lists; the first --user may do everything."),
    tls_options,
)
@section(
    "Storage",
    option("--data-dir", DIRECTORY, "Keep the cluster in this folder over restarts; default: in memory."),
    option(
        "--fsync",
        click.Choice(["always", "os"]),
        "Acknowledge records when they are on the disk, or let the system write them; default: os.",
    ),
)
@capture_options
@harness_options
def serve(arguments: Arguments) -> int:
    """Run a Kafka cluster with racks in this process, until Ctrl-C, SIGTERM or POST /shutdown.

    Broker i has node id i, port + i, and rack i modulo the list of racks. Each option has an environment variable,
    such as KAFKA_RACK_CONTROL_PORT; one that repeats takes commas: KAFKA_RACK_TOPIC=orders:6,payments.

    Examples:
      kafka-rack serve --topic orders:6:3 --rack-aware
      kafka-rack serve --racks a,b,c --port 9092 --capture run.jsonl
      kafka-rack serve --tls --user alice:secret --authorize --security-dir secrets
    """
    gc.disable()  # start-up makes no garbage; serving enables it again
    try:
        return run_cluster(arguments)
    finally:
        gc.enable()  # also if serving never began


def run_cluster(arguments: Arguments) -> int:
    """Build the cluster and serve it. Raises UsageError, CommandError."""
    settings: dict[str, Any] = dict(arguments.set)
    if arguments.rack_aware:
        settings.setdefault(SELECTOR, "rack-aware")
    if arguments.memory is not None:
        settings["records.max.bytes"] = arguments.memory
    topics = [topic_of(text) for text in arguments.topic]
    diskless_topics = [topic_of(text, diskless=True) for text in arguments.diskless_topic]
    names = [name for name, *_ in topics + diskless_topics]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"topic {name} is listed more than once")
    check_serving(arguments)
    if arguments.fsync and arguments.data_dir is None:
        raise UsageError("--fsync needs --data-dir")
    token = control_token(arguments)
    loop_factory = loop_factory_of(arguments.loop)
    faults = faults_from(arguments.faults)
    client_racks = racks_file(arguments.client_racks)
    with security_folder(arguments.security_dir, tls=arguments.tls) as folder:
        options = {
            **brokers_from(arguments, settings),
            "topics": {name: (partitions or -1, replicas or -1) for name, partitions, replicas in topics},
            "diskless_topics": {name: partitions or -1 for name, partitions, _ in diskless_topics},
            "users": users_from(arguments.user),
            "security_dir": folder.name,
            "client_racks": client_racks,
            "fsync": arguments.fsync or "os",
            **{name: getattr(arguments, name) for name in SAME_NAMES},
        }
        cluster = cluster_from(options, faults)
        if cluster.settings_without_effect and not arguments.quiet:
            say(f"without effect here: {', '.join(cluster.settings_without_effect)}")
        return run_made(cluster, arguments, token, folder, loop_factory)


def cluster_from(options: dict[str, Any], faults: list[Any]) -> Any:
    """A cluster with these options and faults, not started yet. Raises UsageError, CommandError."""
    from kafka_rack.errors import KafkaRackError
    from mockbroker.adapters.options import ClusterOptions
    from mockbroker.adapters.server import MockCluster
    from mockbroker.state.errors import ApiError

    try:
        cluster = MockCluster.of(ClusterOptions(**options))
        for fault in faults:
            cluster.faults.add(fault)
    except (ApiError, ValueError, KafkaRackError, OSError) as error:
        raise complaint_of(error) from None
    return cluster


def complaint_of(error: Exception) -> UsageError | CommandError:
    """The error for a cluster that cannot be as its options ask."""
    if isinstance(error, OSError):
        return CommandError(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    return UsageError(getattr(error, "message", None) or str(error))


def users_from(given: list[str]) -> dict[str, str]:
    """Passwords by user. Raises UsageError, which repeats no password."""
    users: dict[str, str] = {}
    for text in given:
        name, colon, password = text.partition(":")
        if not colon or not name or not password:
            raise UsageError("--user: expected NAME:PASSWORD, got one without a name, a ':' or a password")
        if users.setdefault(name, password) != password:
            raise UsageError(f"--user: {name} is given with two passwords")
    return users


def brokers_from(arguments: Arguments, settings: dict[str, Any]) -> dict[str, Any]:
    """The options of a cluster that say which brokers it has, and its settings. Raises UsageError."""
    if arguments.server_properties:
        excluded = ("brokers", "racks", *OF_LISTENERS, "listener_per_rack")
        refuse_beside(arguments, excluded, "--server-properties", ": the files describe brokers and their listeners")
        from kafka_rack.cli.options.server_properties import brokers_from_files
        from mockbroker.adapters.properties_file import PropertiesError

        try:
            brokers, shared = brokers_from_files([path_of(name) for name in arguments.server_properties], settings)
        except PropertiesError as error:
            raise UsageError(str(error)) from None
        return {"brokers": brokers, "settings": {**shared, **settings}}
    names = arguments.racks or ["a", "b", "c"]
    count = 3 if arguments.brokers is None else arguments.brokers
    if not isinstance(count, int):
        if arguments.racks:
            raise UsageError("--racks needs a number of --brokers; in a list each broker has its rack, such as 0:a,1:b")
        if [broker.id for broker in count] != list(range(len(count))):
            raise UsageError("--brokers: expected ids from 0 on, in order")
        names = [broker.rack for broker in count]
        count = len(names)
    port = 9092 if arguments.port is None else arguments.port
    named = set(names) - {None}
    if arguments.listener_per_rack and not named:
        raise UsageError("--listener-per-rack needs --racks")
    if "listeners" in settings:
        refuse_beside(arguments, OF_LISTENERS, "--set listeners")
    else:
        check_ports(port, count, 1 + (len(named) if arguments.listener_per_rack else 0))
    return {
        "brokers": count,
        "racks": names,
        "settings": settings,
        "host": arguments.host or LOOPBACK,
        "port": port,
        "advertised_host": arguments.advertised_host,
        "listener_per_rack": arguments.listener_per_rack,
    }


def check_ports(port: int, brokers: int, listeners: int) -> None:
    """Refuse more brokers than ports from this one on. Raises UsageError."""
    fit = (PORT.most + 1 - max(1, port)) // listeners
    if brokers > fit:
        each = f" of {listeners} listeners" if listeners > 1 else ""
        raise UsageError(
            f"--brokers: expected at most {fit}{each}, got {brokers}: "
            f"from port {max(1, port)} on, ports end at {PORT.most}"
        )
