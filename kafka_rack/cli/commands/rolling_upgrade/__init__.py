"""Replay KIP-36's rolling upgrade, broker by broker, on a live cluster in ZooKeeper mode.

  1  brokers of 0.9.0.0 get 0.9.0.1, which reads registrations of any version
  2  brokers get the new code, one by one, and keep to the old inter.broker.protocol.version
  3  inter.broker.protocol.version is raised in their files
  4  brokers restart, one by one, and the new protocol takes effect

Clients of Kafka 0.9 and 0.10 (kafka-python) produce and consume all the while; that of 0.10 as soon as every broker
runs code that it can talk to. After each restart it notes what brokers wrote into ZooKeeper and who can read it, what
the controller sent, how a topic created now is placed and what clients are told of racks. Exits with 3 unless all held.

Examples:
  kafka-rack rolling-upgrade
  kafka-rack rolling-upgrade --from 0.9.0 --to 0.10.0 --no-clients --format json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from kafka_rack.cli import DONE, FINDINGS, CommandError, InterruptedWork, UsageError
from kafka_rack.extras import pip_install

MAX_BROKERS = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--brokers",
        type=int,
        default=6,
        metavar="N",
        help="how many; broker i is in rack i modulo the list; default: 6",
    )
    parser.add_argument("--racks", default="a,b,c", metavar="A,B,...", help="names of the racks; default: a,b,c")
    parser.add_argument(
        "--from", dest="old", default="0.9.0.1", metavar="RELEASE", help="what the brokers run before; default: 0.9.0.1"
    )
    parser.add_argument(
        "--to",
        dest="new",
        default="0.10.0.0",
        metavar="RELEASE",
        help="what they run after, up to 3.9; default: 0.10.0.0",
    )
    parser.add_argument("--no-clients", action="store_true", help="without kafka-python")
    parser.add_argument("--format", choices=["table", "json"], default="table", help="for people or for programs")


def run(arguments: argparse.Namespace) -> int:
    racks = arguments.racks.split(",")
    check_layout(arguments.brokers, racks, arguments.racks)

    from kafka_rack.cli.commands.rolling_upgrade.plan import upgrade_of

    try:
        upgrade = upgrade_of(range(arguments.brokers), arguments.old, arguments.new)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not arguments.no_clients and find_spec("kafka") is None:
        raise CommandError(
            f"kafka-python is not installed: {pip_install('clients')} brings it, --no-clients does without"
        )

    from kafka_rack.cli.commands.rolling_upgrade.replay import replay
    from kafka_rack.cli.commands.rolling_upgrade.report import as_json, as_text
    from kafka_rack.cli.commands.rolling_upgrade.verdict import judge

    try:
        with quiet_brokers():
            outcome = asyncio.run(replay(upgrade, racks, not arguments.no_clients, say))
    except KeyboardInterrupt:
        raise InterruptedWork("interrupted") from None
    verdicts = judge(outcome)
    if arguments.format == "json":
        print(json.dumps(as_json(outcome, verdicts), indent=2))
    else:
        print(as_text(outcome, verdicts))
    return DONE if all(verdict.holds for verdict in verdicts) else FINDINGS


def check_layout(brokers: int, racks: list[str], given: str) -> None:
    """Refuse what cannot be run. Raises: UsageError."""
    if len(set(racks)) != len(racks) or len(racks) < 2 or not all(racks):
        raise UsageError(f"--racks: expected two or more different names, as a,b,c, got {given!r}")
    if not len(racks) <= brokers <= MAX_BROKERS:
        raise UsageError(
            f"--brokers {brokers}: each of the {len(racks)} racks needs one at least, and {MAX_BROKERS} are the most"
        )


def say(line: str) -> None:
    """Progress, which is no part of the result."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


@contextmanager
def quiet_brokers() -> Iterator[None]:
    """Old brokers complain of each client that asks for what they do not serve; here that is part of the show."""
    logger = logging.getLogger("mockbroker")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
