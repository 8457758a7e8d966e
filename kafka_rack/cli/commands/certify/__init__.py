"""Run a program against a cluster of several racks, one process a rack, and grade what the wire shows of it.

    kafka-rack certify --racks a,b,c -- ./your-worker --brokers {bootstrap} --rack {rack} --topic {topic}
    kafka-rack certify --bootstrap-server staging-1:9092 -- ./your-worker --brokers {bootstrap} --rack {rack} ...

{bootstrap}, {rack}, {topic} and {group} are filled in, and in the environment of each process there are
KAFKA_BOOTSTRAP_SERVERS, KAFKA_CLIENT_RACK, KAFKA_TOPIC and KAFKA_GROUP_ID. What the program only reads is fed from
here. With --command-config brokers ask for TLS or a login, and {config} and KAFKA_COMMAND_CONFIG say where the
properties are that meet this.
With --bootstrap-server it is a real cluster that the program runs against, through a proxy on which all that happens; a
topic is made there for the run and taken away at its end, unless --topic names one that is there.
A follower lags, leaders and a replica move, a rack stops and comes back. docs/certify.md says what is checked.

Exit codes: 0 done, 1 the program could not be judged, 2 wrong usage, 3 a grade below --at-least, 130 interrupted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import socket
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, FINDINGS, CommandError, UsageError

if TYPE_CHECKING:
    from mockbroker.testing.certify.certificate import Certificate
    from mockbroker.testing.certify.plan import CertifyPlan, CertifySecurity

MIN_SECONDS = 5
DEFAULT_RACKS, DEFAULT_TOPIC = "a,b,c", "orders"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--racks",
        metavar="A,B,...",
        help="one broker in each; default: a,b,c. Of a real cluster, racks by node id in place of what brokers say,\n"
        "as 0=a,1=b",
    )
    parser.add_argument(
        "--bootstrap-server", metavar="HOST:PORT,...", help="a real cluster, in place of one of certify's own"
    )
    parser.add_argument(
        "--topic",
        help="the topic that is there from the start; default: orders, and before a real cluster one of a new name",
    )
    parser.add_argument(
        "--feed",
        action="store_true",
        help="write records into --topic of a real cluster, if the program reads it and it was there before",
    )
    parser.add_argument("--partitions", type=int, default=12, metavar="N", help="of that topic; default: 12")
    parser.add_argument(
        "--for", type=float, default=120.0, metavar="SECONDS", dest="seconds", help="at most so long; default: 120"
    )
    parser.add_argument("--at-least", metavar="GRADE", help="A to F, or a percentage; exit code 3 for a grade below")
    parser.add_argument("--format", choices=["table", "json"], default="table", help="for people or for programs")
    parser.add_argument("--junit", metavar="FILE", help="write the checks as test cases in JUnit's XML")
    parser.add_argument("--prices", metavar="FILE", help="what crossing costs (docs/cost.md); default: AWS's prices")
    parser.add_argument("--capture", metavar="FILE", help="write every frame here, for `kafka-rack pipeline`")
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="Kafka's client properties: brokers ask for what they give, or are reached by them where they are real,\n"
        "and programs find a file of them by {config} and KAFKA_COMMAND_CONFIG",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="-- PROGRAM [ARGUMENT ...]", help="what is certified"
    )


def run(arguments: argparse.Namespace) -> int:
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    check(arguments, command)
    from kafka_rack.cli.options.locality import prices_named

    prices = prices_named(arguments.prices)
    from mockbroker.testing.certify.certificate import certificate_of, to_json, to_junit

    started, before_s = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"), time.monotonic()
    with TemporaryDirectory(prefix="kafka-rack-certify-") as folder:
        plan = plan_of(arguments, command, Path(folder))
        certificate = certificate_of(command, facts_of(plan, quiet=arguments.quiet), prices)
    if arguments.junit:
        from kafka_rack.cli.output.whole_files import write_whole

        seconds = time.monotonic() - before_s
        write_whole(arguments.junit, to_junit(certificate, socket.gethostname(), started, seconds))
    if arguments.format == "json":
        print(json.dumps(to_json(certificate), indent=2))
    else:
        show(certificate)
    if arguments.at_least and not certificate.reaches(arguments.at_least):
        sys.stderr.write(
            f"kafka-rack certify: expected grade {arguments.at_least} or better, "
            f"got {certificate.grade} ({certificate.percent} %)\n"
        )
        return FINDINGS
    return DONE


def plan_of(arguments: argparse.Namespace, command: list[str], folder: Path) -> CertifyPlan:
    """What is to be run. Raises UsageError."""
    from mockbroker.testing.certify.plan import CertifyPlan

    given: dict[str, Any] = {
        "partitions": arguments.partitions,
        "budget_s": arguments.seconds,
        "capture": Path(arguments.capture) if arguments.capture else None,
    }
    if arguments.bootstrap_server:
        from kafka_rack.cli.commands.certify.real import real_cluster_from

        upstream, security = real_cluster_from(arguments, folder)
        name = f"kafka-rack-certify-{token_hex(4)}"
        topic = arguments.topic or name
        return CertifyPlan(command, [], topic=topic, group=name, security=security, upstream=upstream, **given)
    security = security_of(arguments, folder)
    racks = racks_from(arguments.racks or DEFAULT_RACKS)
    return CertifyPlan(command, racks, topic=arguments.topic or DEFAULT_TOPIC, security=security, **given)


def security_of(arguments: argparse.Namespace, folder: Path) -> CertifySecurity:
    """What the cluster asks for: nothing, or what ``--command-config`` meets. Raises UsageError."""
    from mockbroker.testing.certify.plan import NO_SECURITY

    if not arguments.command_config:
        return NO_SECURITY
    from kafka_rack.cli.commands.certify.security import security_from

    return security_from(arguments.command_config, folder)


def check(arguments: argparse.Namespace, command: list[str]) -> None:
    """Refuse what cannot be run. Raises UsageError."""
    from mockbroker.testing.certify.certificate import GRADES

    if not command:
        raise UsageError("expected a program behind --, as in: kafka-rack certify -- ./worker --brokers {bootstrap}")
    racks = racks_from(arguments.racks or DEFAULT_RACKS)
    if arguments.feed and not (arguments.bootstrap_server and arguments.topic):
        raise UsageError("--feed: expected --bootstrap-server and the --topic to write to, got no such")
    if arguments.bootstrap_server:
        pass  # its racks are looked at with its other options
    elif len(racks) < 2 or len(set(racks)) != len(racks) or not all(racks):
        raise UsageError(f"--racks: expected two or more different names, as a,b,c, got {arguments.racks!r}")
    if arguments.partitions < 1:
        raise UsageError(f"--partitions: expected 1 or more, got {arguments.partitions}")
    if arguments.seconds < MIN_SECONDS:
        raise UsageError(f"--for: expected {MIN_SECONDS} seconds or more, got {arguments.seconds:g}")
    wanted = arguments.at_least
    grades = [grade for grade, _ in GRADES]
    if wanted is not None and wanted.upper() not in grades:
        number = wanted.removesuffix("%")
        if not (number.isdecimal() and int(number[:4]) <= 100):
            raise UsageError(f"--at-least: expected one of {', '.join(grades)} or 0 to 100, got {wanted!r}")
    if arguments.capture is not None and arguments.capture.endswith(".gz"):
        raise UsageError(f"--capture {arguments.capture}: written plain, so that it can be read while it grows")


def racks_from(text: str) -> list[str]:
    return [rack.strip() for rack in text.split(",")]


def facts_of(plan: CertifyPlan, *, quiet: bool) -> Any:
    """Run the program; SIGTERM ends it as Ctrl-C does. Raises CommandError."""
    from mockbroker.proxy.adapters.upstream import UpstreamError
    from mockbroker.state.errors import ApiError
    from mockbroker.testing.certify.course import run
    from mockbroker.testing.certify.plan import UnfitClusterError
    from mockbroker.testing.certify.programs import ProgramError

    before_s = time.monotonic()

    def say(line: str) -> None:
        if not quiet:
            sys.stderr.write(f"{time.monotonic() - before_s:5.1f} s  {line}\n")
            sys.stderr.flush()

    async def main() -> Any:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await run(plan, say)

    try:
        return asyncio.run(main())
    except (ProgramError, UnfitClusterError, UpstreamError) as error:
        raise CommandError(str(error)) from None
    except ApiError as error:
        raise UsageError(error.message or str(error)) from None
    except OSError as error:
        raise CommandError(error.strerror or str(error)) from None
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def show(certificate: Certificate) -> None:
    """One screen: the grade, the checks, what crossed."""
    from kafka_rack.cli.output.console import console, painted, ruled_table
    from kafka_rack.locality.amounts import bytes_text, money_text
    from mockbroker.testing.certify.certificate import crossings

    screen = console()
    colours = {"pass": "green", "fail": "red", "not seen": "dim"}
    screen.print(painted((" ".join(certificate.command), "bold")), soft_wrap=True)
    grade = painted("grade ", (certificate.grade, "bold"), f", {certificate.percent} %: {software(certificate)}")
    screen.print(grade, "", sep="\n")
    checks: list[list[Any]] = [
        [f"{one.question}?", painted((one.verdict, colours[one.verdict])), one.evidence] for one in certificate.checks
    ]
    screen.print(ruled_table(["check", "", "what the wire shows"], checks), "", sep="\n")
    currency = certificate.prices.currency
    crossed = [
        [
            row.category,
            bytes_text(row.total),
            f"{bytes_text(row.crossed)} ({100 * row.crossed // row.total} %)",
            bytes_text(row.avoidable),
            bytes_text(row.perhaps),
            money_text(row.a_terabyte, currency),
            money_text(row.avoidable_a_terabyte, currency),
        ]
        for row in crossings(certificate)
    ]
    names = ["bytes", "all", "across racks", "avoidable", "perhaps", "a TB costs", "avoidable"]
    screen.print(ruled_table(names, crossed, right=range(1, len(names))))
    if certificate.facts.cut_short is not None:
        screen.print(f"cut short in step {certificate.facts.cut_short}: time was over, or every process had ended")
    for step, what in certificate.facts.unfinished.items():
        screen.print(f"waited in vain, {step}: {what}", soft_wrap=True)


def software(certificate: Certificate) -> str:
    """Who the clients say they are."""
    facts = certificate.facts
    names = sorted({client.software for client in facts.clients.values() if client.software})
    return f"{', '.join(names) or 'clients of unknown make'} in the racks {', '.join(facts.racks)}"
