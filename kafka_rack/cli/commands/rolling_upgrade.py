"""kafka-rack rolling-upgrade: KIP-36's upgrade of a live cluster in ZooKeeper mode."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec

from kafka_rack.cli import DONE, FINDINGS, CommandError, UsageError
from kafka_rack.cli.command import Arguments, command, flag, option
from kafka_rack.cli.options.brokers import DEFAULT_RACKS, brokers_option, check_racks, racked_count
from kafka_rack.cli.options.shared import format_option, racks_option
from kafka_rack.cli.options.types import Name
from kafka_rack.cli.output.results import show_as
from kafka_rack.extras import pip_install

BROKERS, MAX_BROKERS = 6, 30


def releases() -> list[str]:
    from mockbroker.state.releases import ZOOKEEPER_RELEASES

    return list(ZOOKEEPER_RELEASES)


@command()
@brokers_option
@racks_option
@option("--from", Name("RELEASE", releases), "Release before the upgrade.", dest="old", default="0.9.0.1")
@option("--to", Name("RELEASE", releases), "Release after it, up to 3.9.", dest="new", default="0.10.0.0")
@flag("--no-clients", "Run without clients, which need kafka-python.")
@format_option
def rolling_upgrade(arguments: Arguments) -> int:
    """Replay KIP-36's rolling upgrade, broker by broker, on a live cluster in ZooKeeper mode.

    Steps:
      1  brokers of 0.9.0.0 get 0.9.0.1, which reads registrations of any version
      2  brokers get the new code, one by one, and keep the old inter.broker.protocol.version
      3  inter.broker.protocol.version is raised in their files
      4  brokers restart, one by one, and the new protocol takes effect

    Clients of Kafka 0.9 and 0.10 (kafka-python) produce and consume all the time, that of 0.10 from the moment that
    every broker can talk to it. After each restart the command records which registrations brokers wrote into
    ZooKeeper and which brokers can read them, what the controller sent, how a new topic is placed, and which racks
    clients see. Exit code 3: a promise of the upgrade is broken.

    Examples:
      kafka-rack rolling-upgrade
      kafka-rack rolling-upgrade --from 0.9.0 --to 0.10.0 --no-clients --format json
    """
    racks = arguments.racks or DEFAULT_RACKS
    check_racks(racks)
    brokers = racked_count(arguments.brokers, BROKERS, len(racks), MAX_BROKERS)

    from mockbroker.testing.rolling_upgrade.plan import upgrade_of

    try:
        upgrade = upgrade_of(range(brokers), arguments.old, arguments.new)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not arguments.no_clients and find_spec("kafka") is None:
        raise CommandError(f"kafka-python is not installed: {pip_install('clients')} brings it, or use --no-clients")

    from kafka_rack.cli.output.rolling_upgrade import as_json, as_text
    from mockbroker.testing.rolling_upgrade.replay import replay
    from mockbroker.testing.rolling_upgrade.verdict import judge

    with quiet_brokers():
        outcome = asyncio.run(
            replay(upgrade, racks, not arguments.no_clients, partial(print, file=sys.stderr, flush=True))
        )
    verdicts = judge(outcome)
    show_as(arguments.format, as_json(outcome, verdicts), as_text(outcome, verdicts))
    return DONE if all(verdict.holds for verdict in verdicts) else FINDINGS


@contextmanager
def quiet_brokers() -> Iterator[None]:
    """Suppress the log: old brokers log each request that they do not serve, which is expected here."""
    logger = logging.getLogger("mockbroker")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
