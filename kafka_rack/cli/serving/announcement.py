"""The addresses of `kafka-rack serve`: a page for people, one line of JSON for programs."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from kafka_rack.cli import UsageError
from kafka_rack.cli.output.tables import table
from kafka_rack.cli.serving.security_folder import SecurityFolder
from kafka_rack.plurals import counted

STANDARD_STREAMS = STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR = 0, 1, 2
PROTOCOL_SETTING = "inter.broker.protocol.version"


def banner(cluster: Any, control: Any, folder: SecurityFolder, new_token: str | None = None) -> str:
    """The addresses of a cluster, for people; a new token is part of the dashboard's address."""
    brokers = list(cluster.state.brokers.values())
    lines = [f"{counted(len(brokers), 'broker')} up, cluster id {cluster.state.id}", ""]
    lines.append(table(["broker", "rack", "address"], [[one.id, one.rack, addresses_of(one)] for one in brokers]))
    if cluster.state.other_mode is not None:
        lines += ["", f"ZooKeeper mode, controller {cluster.state.support.controller_id}"]
        for broker_id, software in sorted(cluster.state.other_mode.running.items()):
            lines.append(f"  broker {broker_id}: Kafka {software.release}, {PROTOCOL_SETTING}={software.protocol}")
    topics = [cluster.state.topics[name] for name in sorted(cluster.state.topics)]
    if topics:
        lines.append("")
        rows = [
            [one.name, len(one.partitions), "diskless" if one.diskless else one.replication_factor] for one in topics
        ]
        lines.append(table(["topic", "partitions", "replicas"], rows))
    if cluster.kept is not None:
        lines += ["", cluster.kept]
    lines += ["", f"bootstrap.servers={cluster.bootstrap_servers}"]
    if folder.name is not None:
        lines.append(f"TLS: clients find certificates and properties in {folder.name}")
    if control is not None:
        lines.append(f"dashboard: {control.url}{f'/?token={new_token}' if new_token is not None else ''}")
    if not cluster.state.is_mirror and not cluster.state.settings["replica.selector.class"]:
        lines.append("replica.selector.class is not set: consumers read from leaders; try --rack-aware")
    lines.append("Press Ctrl-C to stop.")
    return "\n".join(lines) + "\n"


def addresses_of(broker: Any) -> str:
    """A broker's addresses: its first listener's, then the others' with the clients that they are for."""
    addresses = f"{broker.host}:{broker.port}"
    for listener in broker.listeners[1:]:
        for_whom = f"clients of rack {listener.rack}" if listener.rack is not None else listener.name
        addresses += f", {listener.host}:{listener.port} for {for_whom}"
    return addresses


def check_ready_fd(number: int | None) -> None:
    """Refuse a file descriptor that is not open. Raises UsageError."""
    if number is None:
        return
    try:
        os.fstat(number)
    except OSError as error:
        raise UsageError(f"--ready-fd: expected an open file descriptor, got {number}: {error.strerror}") from None


def tell_ready(number: int, cluster: Any, control: Any, folder: SecurityFolder) -> None:
    """Write where everything is, in one line of JSON, and close the descriptor unless it is a standard stream."""
    import json

    brokers = [
        {"id": broker.id, "rack": broker.rack, "host": broker.host, "port": broker.port}
        for broker in cluster.state.brokers.values()
    ]
    where = {
        "bootstrap_servers": cluster.bootstrap_servers,
        "control": control.url if control is not None else None,
        "control_token": control.access.token if control is not None else None,
        "pid": os.getpid(),
        "brokers": brokers,
        "security_dir": folder.name,
    }
    with suppress(OSError), os.fdopen(number, "w", closefd=number not in STANDARD_STREAMS) as ready:
        ready.write(json.dumps(where) + "\n")
