"""Stand before a real Kafka cluster with a listener for each of its brokers, until SIGTERM, SIGINT or POST /shutdown.

Clients that connect here are led here by every answer, with the same node ids, racks and cluster id. What they send and
are answered goes through as it is; it is counted by rack pair, written down, slowed, failed and asserted on as before
the cluster of `kafka-rack serve`. "Stop rack a" makes its brokers unreachable to clients of the proxy, and to nobody
else.

Each option has an environment variable, KAFKA_RACK_ and its name: KAFKA_RACK_BOOTSTRAP_SERVER. What the command line
says wins.

Examples:
  kafka-rack proxy --bootstrap-server staging-1:9092 --port 9092 --control-port 8080
  kafka-rack proxy --bootstrap-server staging-1:9093 --command-config client.properties --bootstrap-file address
  kafka-rack proxy --bootstrap-server staging-1:9092 --racks 0=a,1=b,2=c --capture run.pcapng

Exit codes: 0 ended as asked, by a signal too, 1 the real cluster does not answer, or a port is taken, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.live.cluster import addresses_of
from kafka_rack.cli.live.command_config import client_settings_in
from kafka_rack.cli.live.upstream import broker_racks_in, upstream_settings
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
    run_made,
)
from kafka_rack.cli.serving.security_folder import SecurityFolder, security_folder
from mockbroker.adapters.client_properties.settings import ClientSettings

DEFAULT_WAIT_S = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    option = environment.option_of(parser)
    option("--bootstrap-server", metavar="HOST:PORT,...", help="the real cluster")
    option(
        "--command-config",
        metavar="FILE",
        help="Kafka's client properties, where the cluster asks for TLS or who the proxy is (docs/proxy.md)",
    )
    option("--wait", type=int, metavar="S", help=f"how long to wait for the cluster; default: {DEFAULT_WAIT_S} s")
    option(
        "--racks",
        metavar="ID=RACK,...",
        help='racks of brokers by node id, in place of what they say, as 0=a,1=b; "" takes one away',
    )
    option("--host", help="where to listen; default: 127.0.0.1")
    option(
        "--advertised-host",
        metavar="HOST",
        help="what clients are told to connect to; default: --host, or 127.0.0.1 for 0.0.0.0",
    )
    option("--port", type=int, help="of the broker with the lowest id, 0 for free ports; default: 0")
    option(
        "--listener-per-rack",
        action="store_true",
        help="one more listener per rack on each broker: its clients count as in that rack",
    )
    option(
        "--mend-racks",
        action="store_true",
        help="put a client's rack into its requests that could name one and do not (docs/proxy.md)",
    )
    option(
        "--mend-client-ids",
        metavar="KEY",
        help="put KEY=RACK into client ids that name no rack: diskless_az, warpstream_az, ws_az, automq_az or zone",
    )
    option(
        "--mend-diskless",
        metavar="CONFIG[=VALUE]",
        help="name brokers of the client's rack for topics with this topic config, true unless VALUE is given",
    )
    option(
        "--tls",
        action="store_true",
        help="have a test certificate made and speak TLS with clients, whatever the cluster speaks (docs/proxy.md)",
    )
    option(
        "--security-dir",
        metavar="DIR",
        help="where --tls writes ca.pem, keys, stores and properties of clients, and finds an authority of before;\n"
        "default: a new folder beside other temporary files, which is told, and gone at the end",
    )
    option(
        "--set",
        action="append",
        metavar="KEY=VALUE",
        help="TLS with clients by a key of yours: a broker's ssl.* under Kafka's name, as ssl.keystore.location; "
        "repeatable",
    )
    add_control_options(option)
    add_serving_options(option)


def run(arguments: argparse.Namespace) -> int:
    environment.fill_in(arguments, os.environ)
    if arguments.security_dir and not arguments.tls:
        raise UsageError("--security-dir needs --tls")
    with security_folder(arguments.security_dir, tls=arguments.tls) as folder:
        return run_proxy(arguments, folder)


def run_proxy(arguments: argparse.Namespace, folder: SecurityFolder) -> int:
    """Build the proxy as asked and serve it. Raises UsageError, CommandError."""
    if not arguments.bootstrap_server:
        raise UsageError("--bootstrap-server: expected HOST:PORT of the real cluster, got none")
    servers = addresses_of(arguments.bootstrap_server)
    port = arguments.port or 0
    if not 0 <= port <= MAX_PORT:
        raise UsageError(f"--port: expected 0 to {MAX_PORT}, got {port}")
    wait_s = DEFAULT_WAIT_S if arguments.wait is None else arguments.wait
    if wait_s < 0:
        raise UsageError(f"--wait: expected 0 or more seconds, got {wait_s}")
    check_serving(arguments)
    racks, own_keys = broker_racks_in(arguments.racks), tls_settings_from(arguments.set)
    settings = client_settings_in(arguments.command_config) if arguments.command_config else ClientSettings()
    for note in settings.notes:
        sys.stderr.write(f"kafka-rack proxy: note: {arguments.command_config}: {note}\n")
    token = control_token(arguments)
    loop_factory = loop_factory_of(arguments.loop)
    faults = faults_from(arguments.faults)
    from mockbroker.proxy.adapters.server import KafkaProxy
    from mockbroker.proxy.adapters.upstream import UpstreamError

    upstream = upstream_settings(servers, arguments.command_config, settings)
    try:
        proxy = KafkaProxy(
            upstream,
            racks=racks,
            host=arguments.host or LOOPBACK,
            port=port,
            listener_per_rack=arguments.listener_per_rack,
            advertised_host=arguments.advertised_host,
            capture=arguments.capture,
            capture_bytes=arguments.capture_bytes or CAPTURE_BYTES,
            wait_s=wait_s,
            client_racks=racks_file(arguments.client_racks),
            mends=mends_from(arguments),
            tls=arguments.tls,
            security_dir=folder.name,
            settings=own_keys,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    for fault in faults:
        proxy.faults.add(fault)
    try:
        return run_made(proxy, arguments, token, folder, loop_factory)
    except UpstreamError as error:
        raise CommandError(str(error)) from None


def mends_from(arguments: argparse.Namespace) -> Any:
    """The mends that are asked for, None without any. Raises UsageError."""
    from mockbroker.proxy.mends import Mends

    config = None
    if arguments.mend_diskless:
        name, _, value = arguments.mend_diskless.partition("=")
        config = (name.strip(), value.strip() or None)
    try:
        mends = Mends(arguments.mend_racks, arguments.mend_client_ids or None, config)
    except ValueError as error:
        raise UsageError(f"--mend-client-ids: {error}") from None
    return None if mends == Mends() else mends


def tls_settings_from(given: list[str]) -> dict[str, str]:
    """The ``ssl.*`` settings out of ``KEY=VALUE``. Raises UsageError, which repeats no value.

    >>> tls_settings_from(["ssl.keystore.type=PEM"])
    {'ssl.keystore.type': 'PEM'}
    """
    settings = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key.strip().startswith("ssl."):
            raise UsageError(f"--set: expected ssl.NAME=VALUE, for TLS with clients, got {key!r}")
        settings[key.strip()] = value.strip()
    return settings
