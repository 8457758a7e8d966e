"""What the jobs that read captures share: how captures are named, and how a stream of them waits and ends."""

from __future__ import annotations

import argparse
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import UsageError
from kafka_rack.cli.options.places import check_places
from kafka_rack.cli.pipeline.running import add_tasks_argument, check_spark_arguments

if TYPE_CHECKING:
    from kafka_rack.wire_capture.captures import Options

EVERY_SECONDS = 5.0
MAX_SECONDS = 86_400
LOOK_SECONDS = 1
GRACE_SECONDS = 30


def add_packet_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ports", metavar="P,P,...", help="the brokers' ports in packets; default: recognised")
    parser.add_argument(
        "--brokers",
        metavar="ID[@RACK]=[HOST]:PORT,...",
        help="which broker listens where in packets;\ndefault: learned from Metadata",
    )
    add_tasks_argument(parser, "how many tasks share the work; default: as Spark is set")


def add_stream_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stream", action="store_true", help="read files as they come, until SIGINT or SIGTERM; a line for each batch"
    )
    parser.add_argument("--once", action="store_true", help="a stream that takes what is new since the last, and ends")
    parser.add_argument("--every", type=float, metavar="SECONDS", help="how often a stream looks for more; default: 5")
    parser.add_argument(
        "--checkpoint", metavar="DIR", help="where a stream keeps its place; default: _checkpoint below --out"
    )


def check_capture_arguments(arguments: argparse.Namespace) -> None:
    """Refuse what cannot be meant, of Spark too. Raises UsageError."""
    if arguments.tasks is not None and arguments.tasks < 1:
        raise UsageError(f"--tasks: expected 1 or more, got {arguments.tasks}")
    check_spark_arguments(arguments)
    check_places(arguments.inputs, arguments.out)
    try:
        packet_options(arguments)
    except ValueError as error:
        raise UsageError(str(error)) from None


def check_stream_arguments(arguments: argparse.Namespace) -> None:
    """Refuse what only a stream has, or a stream has not. Raises UsageError."""
    streams = arguments.stream or arguments.once
    for name in ("checkpoint", "every"):
        if getattr(arguments, name) is not None and not streams:
            raise UsageError(f"--{name} is for a stream: --stream or --once is missing")
    check_places([], arguments.checkpoint)
    if streams and arguments.tasks is not None:
        raise UsageError("--tasks is for a batch")
    if arguments.stream and arguments.once:
        raise UsageError("--stream goes on and --once ends: one of them")
    if arguments.every is not None and (arguments.once or not 0 < arguments.every <= MAX_SECONDS):
        raise UsageError(f"--every {arguments.every:g}: with --stream, above 0 and up to {MAX_SECONDS} seconds")


def packet_options(arguments: argparse.Namespace) -> Options:
    """What packets do not say."""
    from kafka_rack.wire_capture.captures import Options

    return Options.parse(arguments.ports, arguments.brokers)


def stream_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """How a stream is to go on: its checkpoint, whether it ends by itself, how often it looks."""
    return {
        "checkpoint": arguments.checkpoint or f"{arguments.out.rstrip('/')}/_checkpoint",
        "options": packet_options(arguments),
        "available_now": arguments.once,
        "every": f"{round((arguments.every or EVERY_SECONDS) * 1000)} milliseconds",
    }


def wait_for(query: Any, stopped: Event) -> None:
    """Until a stream ends by itself, fails, or is told to end.

    It ends between two batches; one that takes longer than GRACE_SECONDS is cut off, and read again next time.
    """
    while not query.awaitTermination(LOOK_SECONDS):
        if stopped.is_set():
            deadline = time.monotonic() + GRACE_SECONDS
            while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
                time.sleep(LOOK_SECONDS)
            query.stop()
            return


@contextmanager
def stopped_by_signals() -> Iterator[Event]:
    """An event that SIGINT and SIGTERM set, in place of what they did before."""
    stopped = Event()
    before = {one: signal.signal(one, lambda *_: stopped.set()) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
