"""kafka-rack proxy: a real cluster behind listeners of ours, until a signal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafka_rack.cli import UsageError
from kafka_rack.cli.command import Arguments, command, flag, option, section
from kafka_rack.cli.options.brokers import broker_racks_option
from kafka_rack.cli.options.command_config import settings_with_notes
from kafka_rack.cli.options.shared import command_config_option, set_option
from kafka_rack.cli.options.text_files import racks_file
from kafka_rack.cli.options.types import Duration, Name, Words
from kafka_rack.cli.serving.running import (
    LOOPBACK,
    capture_options,
    check_serving,
    control_options,
    control_token,
    faults_from,
    harness_options,
    loop_factory_of,
    network_options,
    run_made,
    tls_options,
)
from kafka_rack.cli.serving.security_folder import SecurityFolder, security_folder
from kafka_rack.cli.serving.upstream import upstream_settings
from kafka_rack.diskless import ZONE_KEYS
from mockbroker.adapters.real_cluster.cluster import addresses_of


def zone_keys() -> list[str]:
    return [key.key for key in ZONE_KEYS]


@command(environment=True)
@section(
    "Cluster",
    option("--bootstrap-server", Words("HOST:PORT,..."), "Addresses of the real cluster."),
    command_config_option,
    option("--wait", Duration(), "Wait this long for the cluster at the start.", default="60s"),
    broker_racks_option,
)
@network_options
@control_options
@section(
    "Rewriting",
    flag("--rewrite-racks", "Add a client's rack to its requests that lack one (docs/proxy.md)."),
    option(
        "--rewrite-client-ids",
        Name("KEY", zone_keys),
        f"Add KEY=RACK to client ids without a rack; KEY is one of {', '.join(zone_keys())}.",
    ),
    option(
        "--rewrite-diskless",
        Words("CONFIG[=VALUE]"),
        "Return brokers of the client's rack for topics with this topic config (default value: true).",
    ),
)
@section("Security", tls_options, set_option)
@capture_options
@harness_options
def proxy(arguments: Arguments) -> int:
    """Put racks, faults and a journal in front of a real cluster, until Ctrl-C, SIGTERM or POST /shutdown.

    The proxy has a listener for each broker. Every answer leads clients to these listeners, with the same node ids,
    racks and cluster id; everything else passes unchanged. Calls are counted by rack pair, recorded, slowed and failed
    as in the cluster of `kafka-rack serve`. Stopping rack a makes its brokers unreachable to clients of the proxy only.

    Each option has an environment variable, such as KAFKA_RACK_BOOTSTRAP_SERVER. --set takes ssl.* settings, for TLS
    with clients by a key of yours.

    Examples:
      kafka-rack proxy --bootstrap-server staging-1:9092 --port 9092
      kafka-rack proxy --bootstrap-server staging-1:9093 --command-config client.properties --bootstrap-file address
      kafka-rack proxy --bootstrap-server staging-1:9092 --broker-racks 0:a,1:b,2:c --capture run.jsonl
    """
    if not arguments.bootstrap_server:
        raise UsageError("--bootstrap-server: expected HOST:PORT of the real cluster, got none")
    check_serving(arguments)
    with security_folder(arguments.security_dir, tls=arguments.tls) as folder:
        return run_proxy(arguments, folder)


def run_proxy(arguments: Arguments, folder: SecurityFolder) -> int:
    """Build the proxy and serve it. Raises UsageError, CommandError."""
    servers, own_keys = addresses_of(arguments.bootstrap_server), tls_settings_from(arguments.set)
    settings = settings_with_notes(arguments)
    token = control_token(arguments)
    loop_factory = loop_factory_of(arguments.loop)
    faults = faults_from(arguments.faults)
    from mockbroker.proxy.adapters.server import KafkaProxy

    upstream = upstream_settings(servers, arguments.command_config, settings)
    try:
        proxy = KafkaProxy(
            upstream,
            racks=arguments.broker_racks or {},
            host=arguments.host or LOOPBACK,
            port=arguments.port or 0,
            listener_per_rack=arguments.listener_per_rack,
            advertised_host=arguments.advertised_host,
            capture=arguments.capture,
            capture_bytes=arguments.capture_bytes,
            wait_s=arguments.wait / 1000,
            client_racks=racks_file(arguments.client_racks),
            rewrites=rewrites_from(arguments),
            tls=arguments.tls,
            security_dir=folder.name,
            settings=own_keys,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    for fault in faults:
        proxy.faults.add(fault)
    return run_made(proxy, arguments, token, folder, loop_factory)


def rewrites_from(arguments: Arguments) -> Any:
    """The chosen rewrites. Raises UsageError."""
    from mockbroker.proxy.rewrites import Rewrites

    config = None
    if arguments.rewrite_diskless:
        name, _, value = arguments.rewrite_diskless.partition("=")
        config = (name.strip(), value.strip() or None)
    try:
        return Rewrites(arguments.rewrite_racks, arguments.rewrite_client_ids or None, config)
    except ValueError as error:
        raise UsageError(f"--rewrite-client-ids: {error}") from None


def tls_settings_from(given: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The ``ssl.*`` settings. Raises UsageError, which repeats no value."""
    settings = dict(given)
    for key in settings:
        if not key.startswith("ssl."):
            raise UsageError(f"--set: expected ssl.NAME=VALUE, for TLS with clients, got {key!r}")
    return settings
