"""kafka-rack certify: grade how rack-aware a program is."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from kafka_rack.cli import DONE, FINDINGS, CommandError, UsageError
from kafka_rack.cli.command import Arguments, argument, command, flag, option, say, section
from kafka_rack.cli.options.brokers import DEFAULT_RACKS, broker_racks_option, check_racks
from kafka_rack.cli.options.prices import prices_options
from kafka_rack.cli.options.shared import command_config_option, format_option, racks_option
from kafka_rack.cli.options.types import FILE, Duration, Name, WholeNumber, Words, whole_number
from kafka_rack.cli.serving.running import check_capture

if TYPE_CHECKING:
    from kafka_rack.cli.output.console import Screen
    from mockbroker.testing.certify.certificate import Certificate
    from mockbroker.testing.certify.plan import CertifyPlan

MIN_MS = 5_000
DEFAULT_TOPIC = "orders"


class RunClock:
    """The start of a run, for progress on stderr and for JUnit's XML."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._started, self._since_s = quiet, datetime.now(UTC), time.monotonic()

    def progress(self, line: str) -> None:
        if not self._quiet:
            print(f"{time.monotonic() - self._since_s:5.1f} s  {line}", file=sys.stderr, flush=True)

    def write_junit(self, path: str | None, xml: Callable[[str, str, float], str]) -> None:
        """Write the XML of a host, a start and a duration in seconds, if there is a path."""
        from kafka_rack.cli.output.whole_files import write_whole

        if path is not None:
            seconds = time.monotonic() - self._since_s
            write_whole(path, xml(socket.gethostname(), f"{self._started:%Y-%m-%dT%H:%M:%S}", seconds))


def grades() -> list[str]:
    from mockbroker.testing.certify.certificate import GRADES

    return [grade for grade, _ in GRADES]


@command(context_settings={"allow_interspersed_args": False})
@section(
    "Cluster",
    racks_option,
    option("--bootstrap-server", Words("HOST:PORT,..."), "Run against this real cluster, through a proxy."),
    option("--server", Words("HOST:PORT,..."), "Certify this cluster instead of a program."),
    command_config_option,
    broker_racks_option,
)
@section(
    "Run",
    option("--topic", Words("TOPIC"), "Topic of the run; default: orders, or a new one on a real cluster."),
    option("--partitions", WholeNumber(1), "Number of partitions of that topic.", default=12),
    flag("--feed", "Write records into an existing --topic of a real cluster."),
    option("--for", Duration(), "Limit the run to this time.", dest="limit", default="2m"),
    option("--capture", FILE, "Write every frame to this file, for locality and check."),
)
@section(
    "Of --server",
    option(
        "--zone-client-id",
        Words("TEXT"),
        "The client.id of clients in {rack}; default: kafka-rack,diskless_az={rack}.",
        default="kafka-rack,diskless_az={rack}",
    ),
    option("--stop-rack", Words("COMMAND"), "Command that stops the brokers of {rack}."),
    option("--start-rack", Words("COMMAND"), "Command that starts them again."),
    option(
        "--metadata-age",
        Duration(),
        "Time for clients of a stopped rack to be sent elsewhere; default: 5m.",
        default="5m",
    ),
)
@section(
    "Result",
    option(
        "--fail-below", Name("GRADE", grades), "Exit with 3 for a grade below: A to F, or a percentage.", default="C"
    ),
    option("--junit", FILE, "Write the checks as test cases in JUnit's XML."),
    prices_options,
    flag("--quiet", "Print no progress on standard error."),
    format_option,
)
@argument("command", metavar="-- PROGRAM [ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def certify(arguments: Arguments) -> int:
    """Run PROGRAM against a cluster of several racks, one process a rack, and grade what it does on the wire.

    Your program only has to produce or consume. Leaders and replicas move, a rack stops and comes back. {bootstrap},
    {rack}, {topic} and {group} in its arguments are filled in; the environment of each process has
    KAFKA_BOOTSTRAP_SERVERS, KAFKA_CLIENT_RACK, KAFKA_TOPIC and KAFKA_GROUP_ID. With --command-config brokers require
    the TLS and login of these client properties; {config} and KAFKA_COMMAND_CONFIG name the file for the program.
    docs/certify.md explains the checks.

    With --server, no program runs: certify is the client, and checks what the cluster promises to clients of each of
    --racks, on topics of its own. Exit code 3: a promise is broken.

    Examples:
      kafka-rack certify -- ./your-worker --brokers {bootstrap} --rack {rack} --topic {topic}
      kafka-rack certify --bootstrap-server staging-1:9092 -- ./your-worker --brokers {bootstrap} --rack {rack}
      kafka-rack certify --server staging-1:9092 --racks a,b,c
    """
    if arguments.server:
        from kafka_rack.cli.commands.certify.server import certify_the_server

        check_racks(arguments.racks)
        return certify_the_server(arguments)
    command = list(arguments.command)
    check(arguments, command)
    from kafka_rack.cli.options.locality import prices_of

    prices = prices_of(arguments)
    from mockbroker.testing.certify.certificate import certificate_of, junit_of, to_json

    clock = RunClock(quiet=arguments.quiet)
    with TemporaryDirectory(prefix="kafka-rack-certify-") as folder:
        plan = plan_of(arguments, command, Path(folder))
        certificate = certificate_of(command, facts_of(plan, clock.progress), prices)
    found = {"grade": certificate.grade, "percent": str(certificate.percent)}
    clock.write_junit(arguments.junit, lambda *run: junit_of(certificate.checks, " ".join(command), found, *run))
    if arguments.format == "json":
        print(json.dumps(to_json(certificate), indent=2))
    else:
        show(certificate)
    if not certificate.reaches(arguments.fail_below):
        grade = f"{certificate.grade} ({certificate.percent} %)"
        say(f"expected grade {arguments.fail_below} or better, got {grade}")
        return FINDINGS
    return DONE


def plan_of(arguments: Arguments, command: list[str], folder: Path) -> CertifyPlan:
    """The plan of a run. Raises UsageError."""
    from mockbroker.testing.certify.plan import NO_SECURITY, CertifyPlan

    given: dict[str, Any] = {
        "partitions": arguments.partitions,
        "budget_s": arguments.limit / 1000,
        "capture": Path(arguments.capture) if arguments.capture else None,
    }
    if arguments.bootstrap_server:
        from kafka_rack.cli.commands.certify.real import real_cluster_from

        upstream, security = real_cluster_from(arguments, folder)
        name = f"kafka-rack-certify-{token_hex(4)}"
        topic = arguments.topic or name
        return CertifyPlan(command, [], topic=topic, group=name, security=security, upstream=upstream, **given)
    from kafka_rack.cli.commands.certify.security import security_from

    security = security_from(arguments.command_config, folder) if arguments.command_config else NO_SECURITY
    racks = arguments.racks or DEFAULT_RACKS
    return CertifyPlan(command, racks, topic=arguments.topic or DEFAULT_TOPIC, security=security, **given)


def check(arguments: Arguments, command: list[str]) -> None:
    """Refuse what cannot be run. Raises UsageError."""
    if not command:
        raise UsageError("expected a program after --, such as: kafka-rack certify -- ./worker --brokers {bootstrap}")
    if arguments.feed and not (arguments.bootstrap_server and arguments.topic):
        raise UsageError("--feed needs --bootstrap-server and the --topic to write to")
    if arguments.bootstrap_server and arguments.racks:
        raise UsageError("--racks and --bootstrap-server exclude each other: --broker-racks has a real cluster's racks")
    if arguments.broker_racks and not arguments.bootstrap_server:
        raise UsageError("--broker-racks needs --bootstrap-server")
    check_racks(arguments.racks)
    if arguments.limit < MIN_MS:
        raise UsageError(f"--for: expected {MIN_MS // 1000}s or more, got {arguments.limit}ms")
    wanted = arguments.fail_below
    number = whole_number(wanted.removesuffix("%"), 0, 100)
    if wanted.upper() not in grades() and number is None:
        raise UsageError(f"--fail-below: expected one of {', '.join(grades())} or 0 to 100, got {wanted!r}")
    check_capture(arguments.capture)


def facts_of(plan: CertifyPlan, progress: Callable[[str], None]) -> Any:
    """Run the program; SIGTERM ends it as Ctrl-C does. Raises CommandError."""
    from mockbroker.state.errors import ApiError
    from mockbroker.testing.certify.course import run
    from mockbroker.testing.certify.plan import UnfitClusterError
    from mockbroker.testing.certify.programs import ProgramError

    async def main() -> Any:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await run(plan, progress)

    try:
        return asyncio.run(main())
    except (ProgramError, UnfitClusterError) as error:
        raise CommandError(str(error)) from None
    except ApiError as error:
        raise UsageError(error.message or str(error)) from None
    except OSError as error:
        raise CommandError(error.strerror or str(error)) from None
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def show_checks(screen: Screen, checks: Iterable[Any]) -> None:
    """The checks as a table: question, verdict, evidence."""
    from kafka_rack.cli.output.console import painted

    colours = {"pass": "green", "fail": "red"}
    rows: list[list[Any]] = [
        [f"{one.question}?", painted((one.verdict, colours.get(one.verdict, "dim"))), one.evidence] for one in checks
    ]
    screen.print_table(["check", "", "what the wire shows"], rows)


def show(certificate: Certificate) -> None:
    """One screen: the grade, the checks, what to set, what crossed."""
    from kafka_rack.cli.output.console import Screen, painted
    from kafka_rack.locality.amounts import bytes_text, money_text
    from mockbroker.testing.certify.certificate import crossings

    screen = Screen()
    screen.print(painted((" ".join(certificate.command), "bold")))
    grade = painted("grade ", (certificate.grade, "bold"), f", {certificate.percent} %: {software(certificate)}")
    screen.print(grade, "")
    show_checks(screen, certificate.checks)
    screen.print()
    failed = [one for one in certificate.checks if one.verdict == "fail"]
    for one in failed:
        screen.print(painted((f"{one.question}: ", "bold"), one.remedy))
    if failed:
        screen.print()
    crossed = [
        [
            row.category,
            bytes_text(row.bytes),
            f"{bytes_text(row.crossed)} ({100 * row.crossed // row.bytes} %)",
            bytes_text(row.avoidable),
            bytes_text(row.perhaps_avoidable),
            money_text(row.a_terabyte_costs, row.currency),
            money_text(row.avoidable_of_it, row.currency),
        ]
        for row in crossings(certificate)
    ]
    names = ["bytes", "all", "across racks", "avoidable", "perhaps", "a TB costs", "avoidable"]
    screen.print_table(names, crossed, right=range(1, len(names)))
    if certificate.facts.cut_short is not None:
        screen.print(f"cut short in step {certificate.facts.cut_short}: time was over, or every process had ended")
    for step, what in certificate.facts.unfinished.items():
        screen.print(f"did not happen, {step}: {what}")


def software(certificate: Certificate) -> str:
    """The clients' names for themselves."""
    facts = certificate.facts
    names = sorted({client.software for client in facts.clients.values() if client.software})
    return f"{', '.join(names) or 'clients of unknown make'} in the racks {', '.join(facts.racks)}"
