"""kafka-rack demo: real clients in three racks, one of which goes down and comes back."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from importlib.util import find_spec

from kafka_rack.cli import DONE, FINDINGS, CommandError, UsageError
from kafka_rack.cli.command import Arguments, command, flag, option
from kafka_rack.cli.options.brokers import DEFAULT_RACKS, brokers_option, check_racks, racked_count
from kafka_rack.cli.options.shared import format_option, racks_option
from kafka_rack.cli.options.types import Duration, Listed, Words
from kafka_rack.extras import pip_install
from mockbroker.testing.clients.process import LIBRARIES, MODULES

BROKERS = 6
MIN_PHASE_MS = 1_000
LOOK_S = 0.1


@command()
@brokers_option
@racks_option
@option("--stop", Words("RACK"), "Stop this rack; default: the first.")
@option("--libraries", Listed("NAME,..."), f"Run these clients; default: {','.join(LIBRARIES)}.")
@option("--phase", Duration(), "Length of each phase: before, during and after the outage.", default="6s")
@flag("--keep", "Keep the clients at work, with the dashboard, until Ctrl-C; stop no rack.")
@format_option
def demo(arguments: Arguments) -> int:
    """Watch real clients in three racks while one rack goes down and comes back.

    Start a cluster and, in each rack, a producer and a consumer of each client library; stop one rack's brokers, start
    them again, and show which brokers served which clients. Exit code 3: a client of a diskless topic was served by
    another rack while its own was up, or an acknowledged record is missing or came twice.

    Examples:
      kafka-rack demo
      kafka-rack demo --racks a,b,c --stop c --libraries confluent-kafka --phase 5s
      kafka-rack demo --keep
    """
    racks = arguments.racks or DEFAULT_RACKS
    libraries = arguments.libraries or list(LIBRARIES)
    stopped = arguments.stop or racks[0]
    brokers = check(arguments, racks, stopped, libraries)

    from kafka_rack.cli.output.console import Screen
    from kafka_rack.cli.output.demo import as_json, show
    from kafka_rack.cli.output.results import show_as
    from mockbroker.testing.demo.scenario import play
    from mockbroker.testing.demo.verdict import judge

    screen = Screen(errors=arguments.format == "json")
    if arguments.keep:
        asyncio.run(keep(libraries, racks, brokers, screen.print))
        return DONE
    outcome = asyncio.run(play(libraries, racks, brokers, stopped, arguments.phase / 1000, screen.print))
    verdict = judge(outcome)
    if arguments.format == "json":
        show_as("json", as_json(outcome, verdict), "")
    else:
        show(screen, outcome, verdict)
    return DONE if verdict.holds else FINDINGS


def check(arguments: Arguments, racks: list[str], stopped: str, libraries: list[str]) -> int:
    """Refuse what cannot be run; returns the number of brokers. Raises UsageError, CommandError."""
    check_racks(racks)
    if stopped not in racks:
        raise UsageError(f"--stop {stopped}: the racks are {', '.join(racks)}")
    if arguments.phase < MIN_PHASE_MS:
        raise UsageError(f"--phase: expected 1s or more, got {arguments.phase}ms")
    for library in libraries:
        if library not in LIBRARIES:
            raise UsageError(f"--libraries: expected some of {', '.join(LIBRARIES)}, got {library!r}")
    missing = [library for library in libraries if find_spec(MODULES[library]) is None]
    if missing:
        raise CommandError(f"{', '.join(missing)}: not installed; {pip_install('clients')} brings the client libraries")
    return racked_count(arguments.brokers, BROKERS, len(racks))


async def keep(libraries: Sequence[str], racks: list[str], brokers: int, say: Callable[[str], None]) -> None:
    """Keep the clients at work until SIGINT or SIGTERM, with the dashboard. Raises ClientError: one has ended."""
    from kafka_rack.cli.serving.running import started_control
    from mockbroker.testing.clients.process import check_all_run
    from mockbroker.testing.demo.scenario import set_up

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    async with AsyncExitStack() as stack:
        cluster, clients = await set_up(stack, libraries, racks, brokers, say)
        control = await started_control(cluster, on_shutdown=ended.set)
        stack.push_async_exit(control)
        say(f"dashboard: {control.url}\nbootstrap.servers={cluster.bootstrap_servers}\nPress Ctrl-C to stop.")
        while not ended.is_set():
            check_all_run(clients)
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), LOOK_S)
