"""Run a Kafka cluster with racks in this process, until SIGTERM or SIGINT.

Broker i has node id i, listens on port + i and is in rack i modulo the list of racks.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, CommandError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

HIGHEST_PORT = 65535
PROTOCOL_SETTING = "inter.broker.protocol.version"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--brokers", type=int, metavar="N", help="how many brokers; 3 unless there are --config files")
    parser.add_argument("--racks", metavar="A,B,...", help='their racks, in turn; "a,b,c" by default, "" for none')
    parser.add_argument(
        "--host", help="where to listen, and what clients are told (127.0.0.1 for 0.0.0.0); 127.0.0.1 by default"
    )
    parser.add_argument("--port", type=int, help="of broker 0; 9092 by default, 0 for free ports")
    parser.add_argument(
        "--control-port", type=int, metavar="PORT", help="serve the control API on loopback; 0 for a free port"
    )
    parser.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="NAME[:PARTITIONS[:RF]]",
        help="create a classic topic; repeatable",
    )
    parser.add_argument(
        "--diskless-topic",
        action="append",
        default=[],
        metavar="NAME[:PARTITIONS]",
        help="create a diskless topic; repeatable",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a broker setting under Kafka's name; repeatable",
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FILE",
        help="a broker's server.properties; repeatable, one a broker",
    )
    parser.add_argument(
        "--emulate",
        metavar="RELEASE",
        help="run the code of a Kafka release of the ZooKeeper era, 0.8.2 to 3.9 (docs/rolling-upgrade.md)",
    )
    parser.add_argument("--bootstrap-file", metavar="FILE", help="write host:port,... here once every broker accepts")
    parser.add_argument(
        "--listener-per-rack",
        action="store_true",
        help="one more listener per rack on each broker: its clients count as in that rack",
    )
    parser.add_argument(
        "--capture", metavar="FILE", help="write every frame here, for `kafka-rack pipeline` (docs/pipeline.md)"
    )
    parser.add_argument(
        "--capture-bytes",
        type=int,
        default=64 << 20,
        metavar="N",
        help="go on in FILE-0001, FILE-0002, ... when a file has N bytes; 64 MiB by default",
    )
    parser.add_argument("--uvloop", action="store_true", help="run on uvloop (pip install kafka-rack[uvloop])")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def run(arguments: argparse.Namespace) -> int:
    gc.disable()  # nothing that starting makes is garbage; `serve` turns it on again
    try:
        return run_cluster(arguments)
    finally:
        gc.enable()  # also where it never came to serving


def run_cluster(arguments: argparse.Namespace) -> int:
    """Build the cluster as asked and serve it. Raises UsageError, CommandError."""
    settings = settings_from(arguments.set)
    topics = [topic_from(text, most_parts=3) for text in arguments.topic]
    diskless_topics = [topic_from(text, most_parts=2) for text in arguments.diskless_topic]
    names = [name for name, *_ in topics + diskless_topics]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"topic {name} is given more than once")
    if arguments.control_port is not None and not 0 <= arguments.control_port <= HIGHEST_PORT:
        raise UsageError(f"--control-port {arguments.control_port}, but 0 to {HIGHEST_PORT} are possible")
    if arguments.capture is not None and arguments.capture.endswith(".gz"):
        raise UsageError(f"--capture {arguments.capture}: written plain, so that it can be read while it grows")
    brokers, settings = brokers_from(arguments, settings)
    from kafka_rack.errors import KafkaRackError
    from mockbroker.adapters.server import MockCluster
    from mockbroker.state.errors import ApiError

    try:
        cluster = MockCluster(
            brokers,
            settings=settings,
            capture=arguments.capture,
            capture_bytes=arguments.capture_bytes,
            emulate=arguments.emulate,
        )
        for name, partitions, replication_factor in topics:
            cluster.create_topic(name, partitions, replication_factor)
        for name, partitions, _ in diskless_topics:
            cluster.create_topic(name, partitions, diskless=True)
    except ApiError as error:
        raise UsageError(error.message or str(error)) from None
    except (ValueError, KafkaRackError) as error:
        raise UsageError(str(error)) from None
    if arguments.uvloop:
        try:
            import uvloop
        except ImportError:
            raise UsageError("--uvloop: uvloop is not installed; pip install 'kafka-rack[uvloop]'") from None
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(serve(cluster, arguments))
    return asyncio.run(serve(cluster, arguments))


async def serve(cluster: Any, arguments: argparse.Namespace) -> int:
    """Run until a signal comes."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    try:
        await cluster.start()
    except OSError as error:
        raise CommandError(error.strerror or str(error)) from None
    bootstrap_file = path_of(arguments.bootstrap_file) if arguments.bootstrap_file else None
    control = None
    try:
        if arguments.control_port is not None:
            from mockbroker.adapters.control import ControlServer

            try:
                control = await ControlServer(cluster, port=arguments.control_port).__aenter__()
            except OSError as error:
                raise CommandError(f"control API: {error.strerror or error}") from None
        if bootstrap_file is not None:
            write_whole(bootstrap_file, cluster.bootstrap_servers + "\n")
        if not arguments.quiet:
            sys.stdout.write(banner(cluster, control))
            sys.stdout.flush()
        gc.freeze()
        gc.enable()
        await ended.wait()
    finally:
        if control is not None:
            await control.__aexit__()
        await cluster.close()
        if bootstrap_file is not None:
            bootstrap_file.unlink(missing_ok=True)
    return DONE


def banner(cluster: Any, control: Any) -> str:
    """What runs where, for people."""
    brokers = list(cluster.state.brokers.values())
    width = max(len("rack"), *(len(broker.rack or "-") for broker in brokers))
    lines = [f"{len(brokers)} broker{'s' if len(brokers) > 1 else ''} up, cluster id {cluster.state.id}", ""]
    lines.append(f"  broker  {'rack':<{width}}  address")
    for broker in brokers:
        addresses = f"{broker.host}:{broker.port}"
        for listener in broker.listeners[1:]:
            for_whom = f"clients of rack {listener.rack}" if listener.rack is not None else listener.name
            addresses += f", {listener.host}:{listener.port} for {for_whom}"
        lines.append(f"  {broker.id:<6}  {broker.rack or '-':<{width}}  {addresses}")
    if cluster.state.zookeeper is not None:
        lines += ["", f"ZooKeeper mode, controller {cluster.state.controller_id()}"]
        for broker_id, software in sorted(cluster.state.zookeeper.running.items()):
            lines.append(f"  broker {broker_id}: Kafka {software.release}, {PROTOCOL_SETTING}={software.protocol}")
    topics = [cluster.state.topics[name] for name in sorted(cluster.state.topics)]
    if topics:
        lines.append("")
        name_width = max(len("topic"), *(len(topic.name) for topic in topics))
        lines.append(f"  {'topic':<{name_width}}  partitions  replicas")
        for topic in topics:
            replicas = "diskless" if topic.diskless else topic.replication_factor
            lines.append(f"  {topic.name:<{name_width}}  {len(topic.partitions):<10}  {replicas}")
    lines += ["", f"bootstrap.servers={cluster.bootstrap_servers}"]
    if control is not None:
        lines.append(f"control API: http://{control.host}:{control.port}/cluster")
    return "\n".join(lines) + "\n"


def brokers_from(arguments: argparse.Namespace, settings: dict[str, str]) -> tuple[list[Any], dict[str, str]]:
    """The brokers that options or properties files describe, and the settings for all of them."""
    from mockbroker.state.brokers.numbered import numbered_brokers

    if arguments.config:
        for option in ("brokers", "racks", "host", "port"):
            if getattr(arguments, option) is not None:
                raise UsageError(f"--{option} and --config exclude each other: the files describe the brokers")
        if arguments.listener_per_rack:
            raise UsageError("--listener-per-rack and --config exclude each other: the files describe the listeners")
        from kafka_rack.cli.server_properties import PropertiesError, brokers_from_files

        try:
            brokers, shared = brokers_from_files([path_of(name) for name in arguments.config])
        except PropertiesError as error:
            raise UsageError(str(error)) from None
        return brokers, {**shared, **settings}
    count = 3 if arguments.brokers is None else arguments.brokers
    if count < 1:
        raise UsageError(f"--brokers {count}, but 1 at least is wanted")
    racks = "a,b,c" if arguments.racks is None else arguments.racks
    names = racks.split(",") if racks else []
    if "" in names:
        raise UsageError(f"--racks {racks}: a rack has no name")
    port = 9092 if arguments.port is None else arguments.port
    listeners = 1 + (len(dict.fromkeys(names)) if arguments.listener_per_rack else 0)
    if not 0 <= port <= HIGHEST_PORT - count * listeners + 1:
        raise UsageError(f"--port {port}, but 0 to {HIGHEST_PORT - count * listeners + 1} are possible")
    if arguments.listener_per_rack and not names:
        raise UsageError("--listener-per-rack needs --racks")
    host = arguments.host or "127.0.0.1"
    return numbered_brokers(count, names, host, port, arguments.listener_per_rack), settings


def settings_from(given: list[str]) -> dict[str, str]:
    settings = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {text}: KEY=VALUE is wanted")
        settings[key.strip()] = value.strip()
    return settings


def topic_from(text: str, most_parts: int) -> tuple[str, int, int]:
    """Name, partitions and replication factor out of ``orders:6:3``; -1 for what is left out."""
    name, *numbers = text.split(":")
    if len(numbers) >= most_parts or not name or not all(number.isdigit() and int(number) > 0 for number in numbers):
        form = "NAME[:PARTITIONS[:RF]]" if most_parts == 3 else "NAME[:PARTITIONS]"
        raise UsageError(f"topic {text!r}: {form} is wanted, with numbers from 1")
    values = [int(number) for number in numbers]
    return (name, values[0] if values else -1, values[1] if len(values) > 1 else -1)


def path_of(name: str) -> Path:
    """A path; pathlib is loaded here, since most clusters start without one."""
    from pathlib import Path

    return Path(name)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that nobody reads half of it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise CommandError(f"cannot write {path}: {error.strerror}") from None
