"""kafka-rack locality: bytes and money across racks, from captures."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.command import Arguments, argument, command, option
from kafka_rack.cli.options.locality import forecasts, locality_options, print_result, settings_of
from kafka_rack.cli.options.places import check_folder, not_read
from kafka_rack.cli.options.shared import packets_options
from kafka_rack.cli.options.types import DIRECTORY, PATH
from kafka_rack.cli.output.results import json_text
from kafka_rack.cli.output.whole_files import write_whole
from kafka_rack.printable import printable
from kafka_rack.wire_capture.files import is_url

if TYPE_CHECKING:
    from kafka_rack.wire_capture.files import CaptureFile
    from kafka_rack.wire_tables.rows import Rows

LOOK_SECONDS = 0.2
"""How often the line of progress changes."""


@command()
@argument("captures", metavar="CAPTURE...", nargs=-1, type=PATH)
@option("--out", DIRECTORY, "Write locality.html, a page for people, and locality.json into this folder.")
@locality_options
@packets_options
def locality(arguments: Arguments) -> int:
    """Price the bytes that cross racks in captures: how many, what of it was avoidable, and why it crossed.

    CAPTURE is a file or a folder of them: lines of JSON as `kafka-rack serve --capture` writes them, pcap or pcapng,
    plain or gzip. It is read once, in this process. `kafka-rack pipeline locality` has the same figures for many
    large captures. docs/cost.md explains the rules, and the files of --prices and --client-racks.

    Exit code 1: no frame of an input could be read.

    Examples:
      kafka-rack locality trace.jsonl
      kafka-rack locality traces/ --out locality/ --prices prices.toml --client-racks racks.txt --window 5m
      kafka-rack locality --forecast racks=3,rf=3,in=300MiB/s,readers=2
    """
    if forecasts(arguments, arguments.captures, "CAPTURE"):
        return DONE
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
        options = Options.parse(arguments.ports, arguments.addresses)
        with progress_line() as show:
            measured = measure(arguments.captures, settings, options, out=arguments.out, on_rows=show)
    except (ValueError, OSError) as error:
        raise not_read(error) from None
    except NothingToMeasure as error:
        raise CommandError(f"{', '.join(arguments.captures)}: {error}") from None
    if arguments.out:
        from kafka_rack.locality.page import report

        # The page, then the JSON: a program that sees it sees all.
        write_whole(str(Path(arguments.out, "locality.html")), report(measured.result), make_folders=True)
        write_whole(str(Path(arguments.out, "locality.json")), json_text(measured.result) + "\n")
    return print_result(arguments, measured.result, measured.unread)


@contextmanager
def progress_line() -> Iterator[Callable[[CaptureFile, Rows], None]]:
    """Show on a terminal which file is being read; yields the function that changes the line."""
    if not sys.stderr.isatty():
        yield lambda file, rows: None
        return
    shown_at, frames = 0.0, 0

    def show(file: CaptureFile, rows: Rows) -> None:
        nonlocal shown_at, frames
        now = time.monotonic()
        frames += rows.frames
        if now - shown_at >= LOOK_SECONDS:
            shown_at = now
            sys.stderr.write(f"\r\x1b[Kreading {printable(Path(file.path).name)}: {frames:,} frames")
            sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
