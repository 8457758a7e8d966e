"""``certify --server``: which promises about racks a cluster keeps."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
from collections.abc import Callable
from secrets import token_hex

from kafka_rack.cli import DONE, FINDINGS, CommandError, UsageError
from kafka_rack.cli.command import Arguments, say
from kafka_rack.cli.commands.certify import RunClock, show_checks
from kafka_rack.cli.options.command_config import client_settings_in
from kafka_rack.cli.output.console import Screen, painted
from mockbroker.adapters.client_properties.settings import ClientSettings
from mockbroker.adapters.real_cluster.cluster import addresses_of
from mockbroker.testing.certify.certificate import junit_of
from mockbroker.testing.certify.checks import FAIL, PASS
from mockbroker.testing.certify.server_checks import certify_server, report_json
from mockbroker.testing.certify.server_under_test import ServerPlan, ServerUnderTest

OF_PROGRAMS = ("command", "bootstrap_server", "broker_racks", "topic", "feed", "capture")
OPTION = {"command": "a program"}


def certify_the_server(arguments: Arguments) -> int:
    """Print the checks of a cluster, and return the exit code. Raises UsageError, CommandError, RealClusterError."""
    for name in OF_PROGRAMS:
        if getattr(arguments, name):
            raise UsageError(f"--server excludes {OPTION.get(name) or '--' + name.replace('_', '-')}")
    if bool(arguments.stop_rack) != bool(arguments.start_rack):
        raise UsageError("--stop-rack and --start-rack need each other")
    path = arguments.command_config
    settings = client_settings_in(path) if path else ClientSettings()
    plan = ServerPlan(
        racks=[rack for rack in arguments.racks or [] if rack],
        prefix=f"kafka-rack-certify-{token_hex(4)}",
        partitions=arguments.partitions,
        zone_client_id=arguments.zone_client_id,
        metadata_age_s=arguments.metadata_age / 1000,
        stop_rack=runs(arguments.stop_rack) if arguments.stop_rack else None,
        start_rack=runs(arguments.start_rack) if arguments.start_rack else None,
    )
    clock = RunClock(quiet=arguments.quiet)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    server = ServerUnderTest(addresses_of(arguments.server), settings, plan)
    try:
        checks = certify_server(server, clock.progress)
    finally:
        server.close()
    clock.write_junit(arguments.junit, lambda *run: junit_of(checks, arguments.server, {}, *run))
    broken = sum(one.verdict == FAIL for one in checks)
    if arguments.format == "json":
        print(json.dumps(report_json(arguments.server, plan.racks, checks), indent=2))
    else:
        screen = Screen()
        kept = sum(one.verdict == PASS for one in checks)
        screen.print(painted((arguments.server, "bold"), f": {kept} promises kept, {broken} broken"), "")
        show_checks(screen, checks)
    if broken:
        say(f"expected every promise to be kept, got {broken} broken")
        return FINDINGS
    return DONE


def runs(command: str) -> Callable[[str], None]:
    """A function that runs a command for a rack, and raises CommandError if the command fails."""
    words = shlex.split(command)

    def run(rack: str) -> None:
        line = [word.replace("{rack}", rack) for word in words]
        try:
            ran = subprocess.run(  # noqa: S603 - the user's own command
                line, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise CommandError(f"{shlex.join(line)}: {error.strerror}") from None
        if ran.returncode:
            last = (ran.stderr.strip() or ran.stdout.strip()).splitlines()[-1:]
            raise CommandError(f"{shlex.join(line)}: exit code {ran.returncode}: {''.join(last)}")

    return run
