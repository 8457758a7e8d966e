"""Run a Kafka cluster with racks in this process, until SIGTERM, SIGINT or POST /shutdown.

Broker i has node id i, listens on port + i and is in rack i modulo the list of racks; with a,,c broker 1 has none.

Each option has an environment variable, KAFKA_RACK_ and its name: KAFKA_RACK_BROKERS, KAFKA_RACK_CONTROL_PORT. Where an
option may be repeated its variable takes commas: KAFKA_RACK_TOPIC=orders:6,payments. What the command line says wins.

Exit codes: 0 ended as asked, 1 the cluster could not run (a port that is taken), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import gc
import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, CommandError, UsageError, environment
from kafka_rack.cli.announcement import STANDARD_ERROR, STANDARD_OUTPUT, banner, check_ready_fd, tell_ready
from kafka_rack.cli.control_token import ServedToken, served_token
from kafka_rack.cli.ending_signals import end_on_signals
from kafka_rack.cli.security_folder import SecurityFolder, security_folder
from kafka_rack.cli.text_files import racks_file

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.adapters.server import MockCluster

HIGHEST_PORT = 65535
LOOPBACK = "127.0.0.1"
CAPTURE_BYTES = 64 << 20
PARENT_LOOK_S = 1.0
NO_SOCKETS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
LOOPS = ("asyncio", "uvloop")
MEMORY_POLICIES = ("drop", "refuse")
PROTOCOL_SETTING = "inter.broker.protocol.version"

log = logging.getLogger("mockbroker")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from kafka_rack.diskless import SELECTIONS

    option = environment.option_of(parser)
    option("--brokers", type=int, metavar="N", help="how many; default: 3, or one a --config file")
    option("--racks", metavar="A,B,...", help='their racks, in turn, "" for none; default: a,b,c')
    option("--host", help="where to listen; default: 127.0.0.1")
    option(
        "--advertised-host",
        metavar="HOST",
        help="what clients are told to connect to; default: --host, or 127.0.0.1 for 0.0.0.0",
    )
    option("--port", type=int, help="of broker 0, 0 for free ports; default: 9092")
    option("--control-port", type=int, metavar="PORT", help="serve the control API and dashboard; 0 for a free port")
    option("--control-host", metavar="HOST", help="where the control API listens; default: 127.0.0.1, loopback")
    option(
        "--control-name",
        action="append",
        metavar="NAME",
        help="a DNS name under which the control API may be asked for; repeatable",
    )
    option(
        "--control-token-file",
        metavar="FILE",
        help="ask for the token in this file, or write a new one there; or it stands in KAFKA_RACK_CONTROL_TOKEN;\n"
        "default: none on loopback, elsewhere a new one, which is printed",
    )
    option("--topic", action="append", metavar="NAME[:PARTITIONS[:RF]]", help="create a classic topic; repeatable")
    option("--diskless-topic", action="append", metavar="NAME[:PARTITIONS]", help="create a diskless topic; repeatable")
    option(
        "--diskless-selection",
        choices=SELECTIONS,
        help="how a broker is chosen for diskless partitions: in turn, or each by its hash (docs/diskless.md)",
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
        help="a broker setting under Kafka's name, or one of the placer (docs/placers.md); repeatable",
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
    option("--config", action="append", metavar="FILE", help="a broker's server.properties; repeatable, one a broker")
    option(
        "--data-dir",
        metavar="DIR",
        help="keep the cluster in this directory, over restarts and kill -9 (docs/durability.md); default: in memory",
    )
    option(
        "--fsync",
        choices=("always", "os"),
        help="always: records are on the disk before they are acknowledged; default: when the OS sees fit, as in Kafka",
    )
    option(
        "--read-only",
        action="store_true",
        help="serve what a real Kafka 4.4 left in --data-dir, the log directory of its cluster's only broker:\n"
        "what writes is refused, and nothing in it changes",
    )
    option("--faults", metavar="FILE", help="what is to go wrong from the start, as JSON or YAML (docs/faults.md)")
    option(
        "--emulate",
        metavar="RELEASE",
        help="be a Kafka release, 0.8.2 to 4.4, or `diskless`; default: serve all there is (docs/releases.md)",
    )
    option("--bootstrap-file", metavar="FILE", help="write host:port,... here once every broker accepts")
    option("--control-file", metavar="FILE", help="write host:port of the control API here once every broker accepts")
    option(
        "--ready-fd",
        type=int,
        metavar="N",
        help="write one line of JSON to this open file descriptor once every broker accepts: bootstrap_servers,\n"
        "control (a URL), control_token, pid and brokers; then close it",
    )
    option("--end-with-parent", action="store_true", help="end once the process that started this one is gone")
    option(
        "--listener-per-rack",
        action="store_true",
        help="one more listener per rack on each broker: its clients count as in that rack",
    )
    option(
        "--client-racks",
        metavar="FILE",
        help="where clients are that do not say it, for journal, metrics and faults: lines as az-a@10.0.1.0/24 or\n"
        "az-b@client:billing-* (docs/locality.md); brokers know nothing of it",
    )
    option(
        "--capture",
        metavar="FILE",
        help="write every frame here, for `kafka-rack pipeline` (docs/pipeline.md); packets if named .pcapng",
    )
    option(
        "--capture-bytes",
        type=int,
        metavar="N",
        help="go on in FILE-0001, FILE-0002, ... when a file has N bytes; default: 64 MiB",
    )
    option("--loop", choices=LOOPS, help="the event loop to run on; default: uvloop where it is installed")
    option("--quiet", action="store_true", help="print nothing but errors")


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
    topics = [topic_from(text, most_parts=3) for text in arguments.topic]
    diskless_topics = [topic_from(text, most_parts=2) for text in arguments.diskless_topic]
    names = [name for name, *_ in topics + diskless_topics]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"topic {name} is given more than once")
    if arguments.control_port is not None and not 0 <= arguments.control_port <= HIGHEST_PORT:
        raise UsageError(f"--control-port: expected 0 to {HIGHEST_PORT}, got {arguments.control_port}")
    for name in ("control_file", "control_host", "control_name", "control_token_file"):
        if getattr(arguments, name) and arguments.control_port is None:
            raise UsageError(f"--{name.replace('_', '-')} needs --control-port")
    check_data_dir(arguments)
    check_ready_fd(arguments.ready_fd)
    token = control_token(arguments)
    loop_factory = loop_factory_of(arguments.loop)
    if arguments.capture is not None and arguments.capture.endswith(".gz"):
        raise UsageError(f"--capture {arguments.capture}: written plain, so that it can be read while it grows")
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
        return run_made(cluster, arguments, token, folder, loop_factory)


def run_made(
    cluster: MockCluster,
    arguments: argparse.Namespace,
    token: ServedToken,
    folder: SecurityFolder,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None,
) -> int:
    """Serve a cluster until it is to end. Raises CommandError."""
    from kafka_rack.errors import KafkaRackError
    from mockbroker.adapters.log_output import LogOutput
    from mockbroker.adapters.open_files import raise_open_files_limit

    if cluster.settings_without_effect and not arguments.quiet:
        sys.stderr.write(f"kafka-rack serve: without effect here: {', '.join(cluster.settings_without_effect)}\n")
    raise_open_files_limit()
    output = LogOutput(STANDARD_ERROR)
    logging.getLogger().addHandler(output)
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(serve(cluster, arguments, token, folder))
    except KafkaRackError as error:  # a placer that cannot close
        raise CommandError(str(error)) from error
    finally:
        logging.getLogger().removeHandler(output)
        output.close()


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
            read_only=arguments.data_dir if arguments.read_only else None,
            data_dir=None if arguments.read_only else arguments.data_dir,
            fsync=arguments.fsync or "os",
            **given,
        )
        for fault in faults:
            cluster.faults.add(fault)
    except (ApiError, ValueError, KafkaRackError, OSError) as error:
        raise complaint_of(error) from None
    return cluster


def loop_factory_of(name: str | None) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the event loop; None stands for asyncio's own. Raises UsageError: uvloop is not there."""
    if name == "asyncio":
        return None
    try:
        import uvloop
    except ImportError:
        if name is None:
            return None
        raise UsageError("--loop uvloop: it is not installed; pip install uvloop") from None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def serve(cluster: Any, arguments: argparse.Namespace, token: ServedToken, folder: SecurityFolder) -> int:
    """Run until a signal comes."""
    ended = asyncio.Event()
    parent = os.getppid()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(report_loop_error)
    written: dict[Path, str] = {}
    end_on_signals(lambda: loop.call_soon_threadsafe(ended.set), lambda: clean_up(written, folder))
    from mockbroker.adapters.garbage import ShortCollections

    collections = ShortCollections()
    try:
        await cluster.start()
    except OSError as error:
        raise CommandError(error.strerror or str(error)) from None
    control = None
    try:
        if arguments.control_port is not None:
            from mockbroker.adapters.control import ControlServer

            try:
                control = await ControlServer(
                    cluster,
                    host=arguments.control_host or LOOPBACK,
                    port=arguments.control_port,
                    names=arguments.control_name,
                    token=token.text,
                    on_shutdown=ended.set,
                ).__aenter__()
            except OSError as error:
                raise CommandError(f"control API: {error.strerror or error}") from None
        if arguments.bootstrap_file:
            written.update(write_whole(arguments.bootstrap_file, cluster.bootstrap_servers + "\n"))
        if arguments.control_file and control is not None:
            written.update(write_whole(arguments.control_file, control.url.removeprefix("http://") + "\n"))
        if not arguments.quiet and arguments.ready_fd != STANDARD_OUTPUT:
            with suppress(OSError):  # nobody reads it
                sys.stdout.write(banner(cluster, control, folder, token.text if token.is_new else None))
                sys.stdout.flush()
        if arguments.ready_fd is not None:
            tell_ready(arguments.ready_fd, cluster, control, folder)
        collections.start()
        gc.enable()
        if arguments.end_with_parent:
            watch_parent(loop, parent, ended)
        await ended.wait()
    finally:
        await asyncio.gather(cluster.finish(), *([control.__aexit__()] if control is not None else []))
        unlink_own(written)
        collections.stop()
        await cluster.close()
    return DONE


def clean_up(written: dict[Path, str], folder: SecurityFolder) -> None:
    """Take away what was written for this run alone."""
    unlink_own(written)
    folder.remove()


def control_token(arguments: argparse.Namespace) -> ServedToken:
    """What the control API is to ask for. Raises UsageError: nobody would learn it; CommandError."""
    if arguments.control_port is None:
        return ServedToken(None)
    token = served_token(arguments.control_token_file, os.environ, arguments.control_host or LOOPBACK)
    is_told = arguments.control_token_file is not None or arguments.ready_fd is not None or not arguments.quiet
    if token.is_new and not is_told:
        raise UsageError(
            "--quiet prints no token: expected --control-token-file, --ready-fd or KAFKA_RACK_CONTROL_TOKEN"
        )
    return token


def watch_parent(loop: asyncio.AbstractEventLoop, parent: int, ended: asyncio.Event) -> None:
    """Look every second whether the parent is still the same: an orphan gets another."""
    if os.getppid() != parent:
        ended.set()
        return
    loop.call_later(PARENT_LOOK_S, watch_parent, loop, parent, ended)


def complaint_of(error: Exception) -> UsageError | CommandError:
    """What to say of a cluster that cannot be as it was asked for."""
    if isinstance(error, OSError):
        return CommandError(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    return UsageError(getattr(error, "message", None) or str(error))


def check_data_dir(arguments: argparse.Namespace) -> None:
    """Refuse options that lack a directory, or contradict one that stays as it is. Raises UsageError."""
    for option in ("read_only", "fsync"):
        if getattr(arguments, option) and arguments.data_dir is None:
            raise UsageError(f"--{option.replace('_', '-')} needs --data-dir")
    if not arguments.read_only:
        return
    for option in ("brokers", "racks", "topic", "diskless_topic", "emulate", "fsync"):
        if getattr(arguments, option):
            raise UsageError(
                f"--{option.replace('_', '-')} and --read-only exclude each other: the directory has all of it"
            )


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

    if arguments.config:
        for option in ("brokers", "racks", "host", "advertised-host", "port"):
            if getattr(arguments, option.replace("-", "_")) is not None:
                raise UsageError(f"--{option} and --config exclude each other: the files describe the brokers")
        if arguments.listener_per_rack:
            raise UsageError("--listener-per-rack and --config exclude each other: the files describe the listeners")
        from kafka_rack.cli.properties_file import PropertiesError
        from kafka_rack.cli.server_properties import brokers_from_files

        try:
            brokers, shared = brokers_from_files([path_of(name) for name in arguments.config], settings)
        except PropertiesError as error:
            raise UsageError(str(error)) from None
        return brokers, {**shared, **settings}
    count = (1 if arguments.read_only else 3) if arguments.brokers is None else arguments.brokers
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
    if not 0 <= port <= HIGHEST_PORT:
        raise UsageError(f"--port: expected 0 to {HIGHEST_PORT}, got {port}")
    fit = (HIGHEST_PORT + 1 - max(1, port)) // listeners
    if brokers > fit:
        each = f" of {listeners} listeners" if listeners > 1 else ""
        raise UsageError(
            f"--brokers: expected at most {fit}{each}, got {brokers}: "
            f"from port {max(1, port)} on, ports end at {HIGHEST_PORT}"
        )


def faults_from(name: str | None) -> list[Any]:
    """The faults of a file, none without one. Raises UsageError."""
    if name is None:
        return []
    from mockbroker.adapters.fault_files import FaultFileError, faults_from_file

    try:
        return list(faults_from_file(path_of(name)))
    except FaultFileError as error:
        raise UsageError(f"--faults {error}") from None


def settings_from(given: list[str]) -> dict[str, str]:
    settings = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--set: expected KEY=VALUE, got {text!r}")
        settings[key.strip()] = value.strip()
    return settings


def topic_from(text: str, most_parts: int) -> tuple[str, int, int]:
    """Name, partitions and replication factor out of ``orders:6:3``; -1 for what is left out."""
    name, *numbers = text.split(":")
    if (
        len(numbers) >= most_parts
        or not name
        or not all(number.isdecimal() and len(number) < 10 and int(number) > 0 for number in numbers)
    ):
        form = "NAME[:PARTITIONS[:RF]]" if most_parts == 3 else "NAME[:PARTITIONS]"
        raise UsageError(f"topic: expected {form} with numbers from 1, got {text!r}")
    values = [int(number) for number in numbers]
    return (name, values[0] if values else -1, values[1] if len(values) > 1 else -1)


def path_of(name: str) -> Path:
    """A path; pathlib is loaded here, since most clusters start without one."""
    from pathlib import Path

    return Path(name)


def write_whole(name: str, text: str) -> dict[Path, str]:
    """Write a file so that nobody reads half of it; folders are made. Gives it with its text. Raises CommandError."""
    path = path_of(name)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text)
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise CommandError(f"cannot write {path}: {error.strerror}") from None
    return {path: text}


def unlink_own(written: Mapping[Path, str]) -> None:
    """Take the files away that were written here, unless another cluster has written them since."""
    for path, text in written.items():
        with suppress(OSError, UnicodeDecodeError):
            if path.read_text() == text:
                path.unlink()


def report_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """One line where the system gives no more sockets: accepting pauses, and goes on by itself."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in NO_SOCKETS and "accept" in str(context.get("message")):
        log.warning("no connection is accepted for a moment: %s", error.strerror)
        return
    if isinstance(error, ValueError) and "_start_serving" in str(context.get("message")):
        return  # a listener that was closed during such a pause: asyncio wants to go on with it
    loop.default_exception_handler(context)
