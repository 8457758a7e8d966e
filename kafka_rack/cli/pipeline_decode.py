"""Decode captures into tables: Parquet below --out, partitioned by API; docs/tables.md has the columns.

IN is a capture or a folder of them: JSON lines as `kafka-rack serve --capture` writes, pcap or pcapng, plain or gzip.
Running again replaces what was read, and nothing else. What cannot be read is in the table `problems`.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.pipeline_running import (
    add_spark_arguments,
    check_spark_arguments,
    run_on_spark,
    spark_for,
    told_in_one_line,
)
from kafka_rack.cli.tables import table

if TYPE_CHECKING:
    from kafka_rack.pipeline.job import Summary

MOST_APIS = 12
US = 1_000_000
EVERY_SECONDS = 5.0
MOST_SECONDS = 86_400
LOOK_SECONDS = 1
GRACE_SECONDS = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="+", metavar="IN", help="captures, or folders of them")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the tables are or shall be")
    parser.add_argument("--ports", metavar="P,P,...", help="the brokers' ports in packets; recognised if not given")
    parser.add_argument(
        "--brokers",
        metavar="ID[@RACK]=[HOST]:PORT,...",
        help="which broker listens where in packets;\nlearned from Metadata if not given",
    )
    parser.add_argument("--partitions", type=int, metavar="N", help="how many tasks; by the files' sizes if not given")
    parser.add_argument(
        "--stream", action="store_true", help="follow growing folders, until SIGINT or SIGTERM; a line for each batch"
    )
    parser.add_argument("--once", action="store_true", help="a stream that takes what is new since the last, and ends")
    parser.add_argument(
        "--every", type=float, metavar="SECONDS", help="how often a stream looks for more; 5 if not given"
    )
    parser.add_argument(
        "--checkpoint", metavar="DIR", help="where a stream keeps its place; OUT/_checkpoint if not given"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="of the summary")
    add_spark_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.partitions is not None and arguments.partitions < 1:
        raise UsageError(f"--partitions {arguments.partitions}, but 1 at least is wanted")
    check_stream_arguments(arguments)
    check_spark_arguments(arguments)
    options = {name: getattr(arguments, name) for name in ("ports", "brokers") if getattr(arguments, name)}
    from kafka_rack.pipeline.captures import Options

    try:
        Options.parse(arguments.ports, arguments.brokers)
    except ValueError as error:
        raise UsageError(str(error)) from None
    for given in arguments.inputs:
        if not Path(given).exists():
            raise UsageError(f"{given}: no such file or folder")
    from kafka_rack.pipeline.session import INSTALL_SPARK

    try:
        from kafka_rack.pipeline import job
        from kafka_rack.pipeline.writing import SchemaMismatch
    except ImportError as error:
        raise CommandError(f"{INSTALL_SPARK} ({error})") from None
    out = Path(arguments.out)

    def work(spark: Any) -> Summary:
        return job.decode(spark, arguments.inputs, out, partitions=arguments.partitions, source_options=options)

    with told_in_one_line(arguments.out):
        try:
            if arguments.stream or arguments.once:
                with spark_for(arguments) as spark:
                    follow(spark, arguments, options)
                return DONE
            summary = run_on_spark(spark_for, arguments, work, "decoding")
        except SchemaMismatch as error:
            raise CommandError(str(error)) from None
    sys.stdout.write(as_json(summary) if arguments.format == "json" else as_text(summary))
    return DONE


def check_stream_arguments(arguments: argparse.Namespace) -> None:
    """Refuse what only a stream has, or a stream has not. Raises UsageError."""
    streams = arguments.stream or arguments.once
    for name in ("checkpoint", "every"):
        if getattr(arguments, name) is not None and not streams:
            raise UsageError(f"--{name} is for a stream: --stream or --once is missing")
    if streams and arguments.partitions is not None:
        raise UsageError("--partitions is for a batch; a stream makes a task of each new piece of a file")
    if arguments.stream and arguments.once:
        raise UsageError("--stream goes on and --once ends: one of them")
    if arguments.every is not None and (arguments.once or not 0 < arguments.every <= MOST_SECONDS):
        raise UsageError(f"--every {arguments.every:g}: with --stream, above 0 and up to {MOST_SECONDS} seconds")


def follow(spark: Any, arguments: argparse.Namespace, options: dict[str, str]) -> None:
    """Stream until all is read (--once), SIGINT, SIGTERM or an error; a line for each batch with something new.

    A signal ends it between two batches; one that takes longer than GRACE_SECONDS is cut off, and read again next time.
    """
    from kafka_rack.pipeline import job

    out = Path(arguments.out)
    checkpoint = Path(arguments.checkpoint) if arguments.checkpoint else out / "_checkpoint"

    def told(batch: int, summary: Summary) -> None:
        if arguments.format == "json":
            sys.stdout.write(json.dumps({"batch": batch, **summary_json(summary)}) + "\n")
        else:
            frames = summary.tables.get("frames", 0)
            sys.stdout.write(f"batch {batch}: {frames} frames of {summary.files} files\n")
        sys.stdout.flush()

    with stopped_by_signals() as stopped:
        query = job.decode_stream(
            spark,
            arguments.inputs,
            out,
            checkpoint,
            source_options=options,
            available_now=arguments.once,
            every=f"{round((arguments.every or EVERY_SECONDS) * 1000)} milliseconds",
            on_batch=told,
        )
        while not query.awaitTermination(LOOK_SECONDS):
            if stopped.is_set():
                end_between_batches(query)
                return


def end_between_batches(query: Any) -> None:
    deadline = time.monotonic() + GRACE_SECONDS
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
    query.stop()


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


def summary_json(summary: Summary) -> dict[str, Any]:
    return {
        "out": summary.out,
        "files": summary.files,
        "blocks": summary.blocks,
        "tables": dict(sorted(summary.tables.items())),
        "apis": {api: {"frames": found[0], "bytes": found[1]} for api, found in sorted(summary.frames.items())},
        "first_ts": summary.first_ts,
        "last_ts": summary.last_ts,
        "problems": summary.tables.get("problems", 0),
    }


def as_json(summary: Summary) -> str:
    return json.dumps(summary_json(summary), indent=2) + "\n"


def as_text(summary: Summary) -> str:
    """One screen: what was read, the busiest APIs, the tables."""
    frames = sum(found[0] for found in summary.frames.values())
    size = sum(found[1] for found in summary.frames.values())
    lines = [f"{frames} frames, {size} bytes of {summary.files} captures{span(summary)}", ""]
    busiest = sorted(summary.frames.items(), key=lambda item: (-item[1][1], item[0]))
    shown = [[api, *found] for api, found in busiest[:MOST_APIS]]
    rest = busiest[MOST_APIS:]
    if rest:
        shown.append([f"{len(rest)} others", sum(one[0] for _, one in rest), sum(one[1] for _, one in rest)])
    lines += [table(["API", "frames", "bytes"], shown), ""]
    lines += [table(["table", "rows"], sorted([name, rows] for name, rows in summary.tables.items())), ""]
    problems = summary.tables.get("problems", 0)
    if problems:
        lines.append(f"{problems} places could not be read: see the table problems")
    lines.append(f"tables below {summary.out}")
    return "\n".join(lines) + "\n"


def span(summary: Summary) -> str:
    if summary.first_ts is None or summary.last_ts is None:
        return ""
    first, last = (datetime.fromtimestamp(ts / US, UTC) for ts in (summary.first_ts, summary.last_ts))
    return f", {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC"
