"""Captures of jobs: which are read, and how a stream of them waits and ends."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, UsageError
from kafka_rack.cli.command import Arguments, argument, flag, option, section
from kafka_rack.cli.options.places import check_places
from kafka_rack.cli.options.types import DIRECTORY, PATH, Duration
from kafka_rack.cli.pipeline.running import errors_in_one_line, signals_to, spark_for

if TYPE_CHECKING:
    from kafka_rack.wire_capture.captures import Options

EVERY_MS = 5_000
LOOK_SECONDS = 1
GRACE_SECONDS = 30
inputs_argument = argument("inputs", metavar="IN...", nargs=-1, type=PATH)
stream_options = section(
    "Stream",
    flag("--stream", "Read files as they arrive, until SIGINT or SIGTERM; print a line a batch."),
    flag("--once", "Read what is new since the last stream, and end."),
    option("--every", Duration(), "Look for new files this often; default: 5s."),
    option("--checkpoint", DIRECTORY, "Keep a stream's position here; default: _checkpoint below --out."),
)


def capture_options(arguments: Arguments) -> Options:
    """The options of packets. Raises UsageError: wrong ones, or an input that does not exist."""
    from kafka_rack.wire_capture.captures import Options

    check_places(arguments.inputs, arguments.out)
    try:
        return Options.parse(arguments.ports, arguments.addresses)
    except ValueError as error:
        raise UsageError(str(error)) from None


def check_stream(arguments: Arguments) -> None:
    """Raises UsageError: options that only a stream has, or that a stream does not have."""
    streams = arguments.stream or arguments.once
    for name in ("checkpoint", "every"):
        if getattr(arguments, name) is not None and not streams:
            raise UsageError(f"--{name} is for a stream: expected --stream or --once")
    check_places([], arguments.checkpoint)
    if streams and arguments.tasks is not None:
        raise UsageError("--tasks is for a batch, not for a stream")
    if arguments.stream and arguments.once:
        raise UsageError("expected --stream, which continues, or --once, which ends")
    if arguments.every is not None and arguments.once:
        raise UsageError("--every is for --stream")


def follow(arguments: Arguments, start: Callable[..., Any]) -> int:
    """Run a stream until all is read (--once), SIGINT, SIGTERM or an error; returns the exit code.

    Args:
        start: starts it with a session, inputs, the output, a checkpoint, and when to look for files.
    """
    checkpoint = arguments.checkpoint or f"{arguments.out.rstrip('/')}/_checkpoint"
    when = {"available_now": arguments.once, "every": f"{arguments.every or EVERY_MS} milliseconds"}
    stopped = Event()
    with errors_in_one_line(arguments.out), spark_for(arguments) as spark, signals_to(lambda *_: stopped.set()):
        wait_for(start(spark, arguments.inputs, arguments.out, checkpoint, **when), stopped)
    return DONE


def say_batch(arguments: Arguments, batch: int, text: str, found: dict[str, Any]) -> None:
    """Print a line for a batch: ``text``, or with ``--format json`` all of ``found``."""
    is_json = arguments.format == "json"
    sys.stdout.write(f"{json.dumps({'batch': batch, **found}) if is_json else f'batch {batch}: {text}'}\n")
    sys.stdout.flush()


def wait_for(query: Any, stopped: Event) -> None:
    """Wait until a stream ends by itself, fails, or ``stopped`` is set.

    It ends between two batches; one that takes longer than GRACE_SECONDS is cut off, and read again next time.
    """
    while not query.awaitTermination(LOOK_SECONDS):
        if stopped.is_set():
            deadline = time.monotonic() + GRACE_SECONDS
            while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
                time.sleep(LOOK_SECONDS)
            query.stop()
            return
