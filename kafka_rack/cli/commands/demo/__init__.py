"""Watch real clients in three racks while one rack goes down and comes back.

Starts a cluster and, in each rack, a producer and a consumer of each client library; stops one rack's brokers, starts
them again, and shows who served whom. Exit code 3 if a client of a diskless topic was served by another rack while its
own was up, or if an acknowledged record is missing or came twice.

Examples:
  kafka-rack demo
  kafka-rack demo --racks a,b,c --stop c --libraries confluent-kafka --phase-seconds 5
"""

from __future__ import annotations

import argparse
import asyncio
import json
from importlib.util import find_spec

from kafka_rack.cli import DONE, FINDINGS, CommandError, UsageError
from kafka_rack.cli.commands.demo.plan import LIBRARIES
from kafka_rack.extras import pip_install

MODULES = {"confluent-kafka": "confluent_kafka", "aiokafka": "aiokafka", "kafka-python": "kafka"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--brokers",
        type=int,
        default=6,
        metavar="N",
        help="how many; broker i is in rack i modulo the list; default: 6",
    )
    parser.add_argument("--racks", default="a,b,c", metavar="A,B,...", help="names of the racks; default: a,b,c")
    parser.add_argument("--stop", metavar="RACK", help="the rack that goes down; default: the first")
    parser.add_argument(
        "--libraries",
        default=",".join(LIBRARIES),
        metavar="NAME,...",
        help=f"some of {', '.join(LIBRARIES)}; default: all",
    )
    parser.add_argument(
        "--phase-seconds",
        type=float,
        default=6.0,
        metavar="SECONDS",
        help="how long before, during and after each take; default: 6",
    )
    parser.add_argument("--format", choices=["table", "json"], default="table", help="for people or for programs")


def run(arguments: argparse.Namespace) -> int:
    racks = arguments.racks.split(",")
    libraries = arguments.libraries.split(",")
    stopped = racks[0] if arguments.stop is None else arguments.stop
    check(racks, stopped, libraries, arguments)

    from kafka_rack.cli.commands.demo.report import as_json, show
    from kafka_rack.cli.commands.demo.scenario import play
    from kafka_rack.cli.commands.demo.verdict import judge
    from kafka_rack.cli.output.console import console

    screen = console(errors=arguments.format == "json")
    outcome = asyncio.run(play(libraries, racks, arguments.brokers, stopped, arguments.phase_seconds, screen.print))
    verdict = judge(outcome)
    if arguments.format == "json":
        print(json.dumps(as_json(outcome, verdict), indent=2))
    else:
        show(screen, outcome, verdict)
    return DONE if verdict.holds else FINDINGS


def check(racks: list[str], stopped: str, libraries: list[str], arguments: argparse.Namespace) -> None:
    """Refuse what cannot be run. Raises: UsageError, CommandError."""
    if len(set(racks)) != len(racks) or len(racks) < 2 or not all(racks):
        raise UsageError(f"--racks: expected two or more different names, as a,b,c, got {arguments.racks!r}")
    if stopped not in racks:
        raise UsageError(f"--stop {stopped}: the racks are {', '.join(racks)}")
    if arguments.brokers < len(racks):
        raise UsageError(f"--brokers {arguments.brokers}: each of the {len(racks)} racks needs one at least")
    if arguments.phase_seconds < 1:
        raise UsageError(f"--phase-seconds {arguments.phase_seconds}: at least 1, or there is nothing to see")
    for library in libraries:
        if library not in LIBRARIES:
            raise UsageError(f"--libraries: {library!r} is none of {', '.join(LIBRARIES)}")
    missing = [library for library in libraries if find_spec(MODULES[library]) is None]
    if missing:
        raise CommandError(f"{', '.join(missing)}: not installed; {pip_install('clients')} brings the client libraries")
