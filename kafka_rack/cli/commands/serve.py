"""Run a Kafka cluster with racks in this process, until SIGTERM, SIGINT or POST /shutdown.

Broker i has node id i, listens on port + i and is in rack i modulo the list of racks; with a,,c broker 1 has none.

Each option has an environment variable, KAFKA_RACK_ and its name: KAFKA_RACK_BROKERS, KAFKA_RACK_CONTROL_PORT. Where an
option may be repeated its variable takes commas: KAFKA_RACK_TOPIC=orders:6,payments. What the command line says wins.

Examples:
  kafka-rack serve --racks a,b,c --topic orders:6:3
  kafka-rack serve --racks a,b,c --port 9092 --control-port 8080 --capture run.jsonl
  kafka-rack serve --racks a,b,c --tls --user alice:secret --authorize --security-dir secrets
  kafka-rack serve --racks a,b,c --port 9092 --data-dir data

Exit codes: 0 ended as asked, by a signal too, 1 the cluster could not run (a port that is taken), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from typing import Any

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.options import environment
from kafka_rack.cli.options.text_files import racks_file
from kafka_rack.cli.serving.running import (
    CAPTURE_BYTES,
    LOOPBACK,
    MAX_PORT,
    add_control_options,
    add_serving_options,
    check_serving,
    control_token,
    faults_from,
    loop_factory_of,
    path_of,
    run_made,
)
from kafka_rack.cli.serving.security_folder import security_folder

MEMORY_POLICIES = ("drop", "refuse")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from kafka_rack.diskless import SELECTIONS

    option = environment.option_of(parser)
    option("--brokers", type=int, metavar="N", help="how many; default: 3, or one for each --server-properties")
    option("--racks", metavar="A,B,...", help='their racks, in turn, "" for none; default: a,b,c')
    option("--host", help="where to listen; default: 127.0.0.1")
    option(
        "--advertised-host",
        metavar="HOST",
        help="what clients are told to connect to; default: --host, or 127.0.0.1 for 0.0.0.0",
    )
    option("--port", type=int, help="of broker 0, 0 for free ports; default: 9092")
    add_control_options(option)
    option("--topic", action="append", metavar="NAME[:PARTITIONS[:RF]]", help="create a classic topic; repeatable")
    option("--diskless-topic", action="append", metavar="NAME[:PARTITIONS]", help="create a diskless topic; repeatable")
    option(
        "--diskless-selection",
        choices=SELECTIONS,
        help="how a broker is chosen for diskless partitions: in turn, or each by its hash (docs/racks.md)",
    )
    option("--memory", metavar="SIZE", help="what the records of all topics may take together, as 512MiB; default: any")
    option(
        "--memory-policy",
        choices=MEMORY_POLICIES,
        help="what is done about more than --memory: drop the oldest segments, or refuse producers; default: drop",
    )
    option(
        "--set",
        action="append",
        metavar="KEY=VALUE",
        help="a broker setting under Kafka's name, or one of the placer (docs/plan.md); repeatable",
    )
    option(
        "--user",
        action="append",
        metavar="NAME:PASSWORD",
        help="who may log in, by SASL PLAIN or SCRAM; brokers then let in nobody else (docs/security.md); repeatable",
    )
    option(
        "--authorize",
        action="store_true",
        help="let users do what access control allows, and the first --user everything unless super.users is set",
    )
    option(
        "--tls",
        action="store_true",
        help="have test certificates made and speak TLS; with --user logins go over it (docs/security.md)",
    )
    option(
        "--security-dir",
        metavar="DIR",
        help="where --tls writes ca.pem, keys, stores and properties of clients, and finds an authority of before;\n"
        "default: a new folder beside other temporary files, which is told, and gone at the end",
    )
    option(
        "--server-properties",
        action="append",
        metavar="FILE",
        help="a broker's server.properties; repeatable, one a broker",
    )
    option(
        "--data-dir",
        metavar="DIR",
        help="keep the cluster in this directory, over restarts and kill -9 (docs/cluster.md); default: in memory",
    )
    option(
        "--fsync",
        choices=("always", "os"),
        help="always: records are on the disk before they are acknowledged; default: when the OS sees fit, as in Kafka",
    )
    option(
        "--emulate",
        metavar="RELEASE",
        help="be a Kafka release, 0.8.2 to 4.4, or `diskless`; default: serve all there is (docs/cluster.md)",
    )
    option(
        "--listener-per-rack",
        action="store_true",
        help="one more listener per rack on each broker: its clients count as in that rack",
    )
    add_serving_options(option)


def run(arguments: argparse.Namespace) -> int:
    gc.disable()  # nothing that starting makes is garbage; `serve` turns it on again
    try:
        return run_cluster(arguments)
    finally:
        gc.enable()  # also where it never came to serving


def run_cluster(arguments: argparse.Namespace) -> int:
    """Build the cluster as asked and serve it. Raises UsageError, CommandError."""
    environment.fill_in(arguments, os.environ)
    settings = settings_from(arguments.set)
    if arguments.diskless_selection:
        settings["diskless.selection"] = arguments.diskless_selection
    settings |= memory_settings(arguments)
    topics = [topic_from(text, max_parts=3) for text in arguments.topic]
    diskless_topics = [topic_from(text, max_parts=2) for text in arguments.diskless_topic]
    names = [name for name, *_ in topics + diskless_topics]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"topic {name} is given more than once")
    check_serving(arguments)
    if arguments.fsync and arguments.data_dir is None:
        raise UsageError("--fsync needs --data-dir")
    token = control_token(arguments)
    loop_factory = loop_factory_of(arguments.loop)
    faults = faults_from(arguments.faults)
    client_racks = racks_file(arguments.client_racks)
    users = users_from(arguments.user)
    if arguments.security_dir and not arguments.tls:
        raise UsageError("--security-dir needs --tls")
    from mockbroker.state.security.protocols import default_protocol

    protocol = default_protocol(has_users=bool(users), tls=arguments.tls)
    brokers, settings = brokers_from(arguments, settings, protocol)
    with security_folder(arguments.security_dir, tls=arguments.tls) as folder:
        cluster = cluster_from(
            arguments,
            brokers,
            faults,
            settings=settings,
            topics={name: (partitions, replication_factor) for name, partitions, replication_factor in topics},
            diskless_topics={name: partitions for name, partitions, _ in diskless_topics},
            users=users,
            tls=arguments.tls,
            security_dir=folder.name,
            client_racks=client_racks,
        )
        if cluster.settings_without_effect and not arguments.quiet:
            sys.stderr.write(f"kafka-rack serve: without effect here: {', '.join(cluster.settings_without_effect)}\n")
        return run_made(cluster, arguments, token, folder, loop_factory)


def memory_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings behind --memory and --memory-policy. Raises UsageError."""
    if arguments.memory is None:
        if arguments.memory_policy:
            raise UsageError("--memory-policy needs --memory")
        return {}
    from kafka_rack.errors import InputError
    from kafka_rack.locality.amounts import parse_size

    try:
        given: dict[str, Any] = {"records.max.bytes": int(parse_size(arguments.memory))}
    except InputError as error:
        raise UsageError(f"--memory: {error}") from None
    if arguments.memory_policy:
        given["records.max.bytes.policy"] = arguments.memory_policy
    return given


def cluster_from(arguments: argparse.Namespace, brokers: Any, faults: list[Any], **given: Any) -> Any:
    """The cluster as asked, not started yet. Raises UsageError, CommandError."""
    from kafka_rack.errors import KafkaRackError
    from mockbroker.adapters.server import MockCluster
    from mockbroker.state.errors import ApiError

    try:
        cluster = MockCluster(
            brokers,
            capture=arguments.capture,
            capture_bytes=arguments.capture_bytes or CAPTURE_BYTES,
            emulate=arguments.emulate,
            authorize=arguments.authorize,
            data_dir=arguments.data_dir,
            fsync=arguments.fsync or "os",
            **given,
        )
        for fault in faults:
            cluster.faults.add(fault)
    except (ApiError, ValueError, KafkaRackError, OSError) as error:
        raise complaint_of(error) from None
    return cluster


def complaint_of(error: Exception) -> UsageError | CommandError:
    """What to say of a cluster that cannot be as it was asked for."""
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


def brokers_from(
    arguments: argparse.Namespace, settings: dict[str, str], protocol: str
) -> tuple[list[Any], dict[str, str]]:
    """The brokers that options or properties files describe, and the settings for all of them.

    Args:
        protocol: the security protocol of listeners of which nothing is said.
    """
    from mockbroker.state.brokers.numbered import numbered_brokers

    if arguments.server_properties:
        for option in ("brokers", "racks", "host", "advertised-host", "port"):
            if getattr(arguments, option.replace("-", "_")) is not None:
                raise UsageError(
                    f"--{option} and --server-properties exclude each other: the files describe the brokers"
                )
        if arguments.listener_per_rack:
            raise UsageError(
                "--listener-per-rack and --server-properties exclude each other: the files describe the listeners"
            )
        from kafka_rack.cli.options.properties_file import PropertiesError
        from kafka_rack.cli.options.server_properties import brokers_from_files

        try:
            brokers, shared = brokers_from_files([path_of(name) for name in arguments.server_properties], settings)
        except PropertiesError as error:
            raise UsageError(str(error)) from None
        return brokers, {**shared, **settings}
    count = 3 if arguments.brokers is None else arguments.brokers
    if count < 1:
        raise UsageError(f"--brokers: expected 1 or more, got {count}")
    racks = "a,b,c" if arguments.racks is None else arguments.racks
    names = [name.strip() for name in racks.split(",")]
    port = 9092 if arguments.port is None else arguments.port
    named = set(names) - {""}
    if arguments.listener_per_rack and not named:
        raise UsageError("--listener-per-rack needs --racks")
    if "listeners" in settings:
        for option in ("host", "advertised-host", "port"):
            if getattr(arguments, option.replace("-", "_")) is not None:
                raise UsageError(f"--{option} and --set listeners exclude each other")
    else:
        check_ports(port, count, 1 + (len(named) if arguments.listener_per_rack else 0))
    try:
        brokers = numbered_brokers(
            count,
            names,
            arguments.host or LOOPBACK,
            port,
            arguments.listener_per_rack,
            arguments.advertised_host,
            settings=settings,
            protocol=protocol,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    return brokers, settings


def check_ports(port: int, brokers: int, listeners: int) -> None:
    """Refuse a port that there is not, and more brokers than ports from there on. Raises UsageError."""
    if not 0 <= port <= MAX_PORT:
        raise UsageError(f"--port: expected 0 to {MAX_PORT}, got {port}")
    fit = (MAX_PORT + 1 - max(1, port)) // listeners
    if brokers > fit:
        each = f" of {listeners} listeners" if listeners > 1 else ""
        raise UsageError(
            f"--brokers: expected at most {fit}{each}, got {brokers}: "
            f"from port {max(1, port)} on, ports end at {MAX_PORT}"
        )


def settings_from(given: list[str]) -> dict[str, str]:
    settings = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--set: expected KEY=VALUE, got {text!r}")
        settings[key.strip()] = value.strip()
    return settings


def topic_from(text: str, max_parts: int) -> tuple[str, int, int]:
    """Name, partitions and replication factor out of ``orders:6:3``; -1 for what is left out."""
    name, *numbers = text.split(":")
    if (
        len(numbers) >= max_parts
        or not name
        or not all(number.isdecimal() and len(number) < 10 and int(number) > 0 for number in numbers)
    ):
        form = "NAME[:PARTITIONS[:RF]]" if max_parts == 3 else "NAME[:PARTITIONS]"
        raise UsageError(f"topic: expected {form} with numbers from 1, got {text!r}")
    values = [int(number) for number in numbers]
    return (name, values[0] if values else -1, values[1] if len(values) > 1 else -1)
