"""Bytes and money across racks: what captures show, what of it was avoidable, why it was not avoided.

CAPTURE is a file or a folder of them: lines of JSON as `kafka-rack serve --capture` writes them, pcap or
pcapng, plain or gzip. It is read once, in this process: neither Spark nor Java is needed. With --out, DIR gets
locality.html, a page that needs nothing beside it, and locality.json. Many large captures, streams and Parquet tables
are the job's, which gives the same figures: kafka-rack pipeline locality.

--prices FILE is TOML or JSON: currency, unit (GB or GiB), egress, ingress, free_replication, and pairs with prices of
their own. --client-racks FILE says where clients are that do not say it: lines as az-a@10.0.1.0/24,
az-b@client:billing-*, az-a@broker:4. --forecast tells what a cluster that is still a plan will cost, and reads no
capture. Exit code 1: not one frame of an input could be read. docs/cost.md has the rules.

Examples:
  kafka-rack locality trace.jsonl
  kafka-rack locality traces/ --out locality/ --prices prices.toml --client-racks racks.txt --window 5m
  kafka-rack locality --forecast racks=3,rf=3,in=300MiB/s,readers=2
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_rack.cli import DONE, FAILED, CommandError, UsageError
from kafka_rack.cli.options.locality import add_locality_arguments, print_forecast, settings_of
from kafka_rack.cli.options.places import check_folder, not_read
from kafka_rack.cli.output.locality import as_text
from kafka_rack.printable import printable
from kafka_rack.wire_capture.files import is_url

if TYPE_CHECKING:
    from kafka_rack.wire_capture.files import CaptureFile

LOOK_SECONDS = 0.2
"""How often the line of progress changes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("captures", nargs="*", metavar="CAPTURE", help="captures, or folders of them")
    parser.add_argument("--out", metavar="DIR", help="where locality.html and locality.json go; default: nowhere")
    add_locality_arguments(parser)
    parser.add_argument("--ports", metavar="P,P,...", help="the brokers' ports in packets; default: recognised")
    parser.add_argument(
        "--brokers",
        metavar="ID[@RACK]=[HOST]:PORT,...",
        help="which broker listens where in packets;\ndefault: learned from Metadata",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.forecast is not None:
        if arguments.captures or arguments.out:
            raise UsageError("--forecast is about a plan: it goes without CAPTURE and --out")
        print_forecast(arguments)
        return DONE
    if not arguments.captures:
        raise UsageError("what to read is missing: captures, or folders of them")
    if arguments.out and is_url(arguments.out):
        raise UsageError(
            f"--out {arguments.out}: expected a folder of this machine; kafka-rack pipeline locality writes to URLs"
        )
    if arguments.out:
        check_folder(arguments.out)
    settings = settings_of(arguments)
    from kafka_rack.locality.captures import NothingToMeasure, measure
    from kafka_rack.wire_capture.captures import Options

    try:
        options = Options.parse(arguments.ports, arguments.brokers)
        with progress_line() as show:
            measured = measure(arguments.captures, settings, options, out=arguments.out, on_progress=show)
    except (ValueError, OSError) as error:
        raise not_read(error) from None
    except NothingToMeasure as error:
        raise CommandError(f"{', '.join(arguments.captures)}: {error}") from None
    text = json.dumps(measured.result, indent=2, ensure_ascii=False) + "\n"
    if arguments.out:
        from kafka_rack.locality.page import report

        write_results(Path(arguments.out), report(measured.result), text)
    sys.stdout.write(text if arguments.format == "json" else as_text(measured.result))
    for given in measured.unread:
        sys.stderr.write(f"kafka-rack locality: {printable(given)}: not one frame could be read\n")
    return FAILED if measured.unread else DONE


def write_results(out: Path, page: str, result: str) -> None:
    """The page, then the JSON: a program that sees it sees all. Raises CommandError."""
    from kafka_rack.cli.output.whole_files import write_whole

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{out}: {error.strerror}") from None
    write_whole(str(out / "locality.html"), page)
    write_whole(str(out / "locality.json"), result)


@contextmanager
def progress_line() -> Iterator[Callable[[CaptureFile, int], None]]:
    """A line of what is being read, on a terminal; gives what changes it."""
    if not sys.stderr.isatty():
        yield lambda file, frames: None
        return
    shown_at = 0.0

    def show(file: CaptureFile, frames: int) -> None:
        nonlocal shown_at
        now = time.monotonic()
        if now - shown_at >= LOOK_SECONDS:
            shown_at = now
            sys.stderr.write(f"\r\x1b[Kreading {printable(Path(file.path).name)}: {frames:,} frames")
            sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
