"""Decode captures into tables below --out, partitioned by capture and day; docs/tables.md has the columns.

IN is a capture or a folder of them: JSON lines as `kafka-rack serve --capture` writes, pcap or pcapng,
plain or gzip. Running again replaces the days of captures that were read. What cannot be read is in the table
`problems`; exit code 1 when that is all of an input.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, FAILED, CommandError
from kafka_rack.cli.output.tables import table
from kafka_rack.cli.pipeline.captures import (
    add_packet_arguments,
    add_stream_arguments,
    check_capture_arguments,
    check_stream_arguments,
    packet_options,
    stopped_by_signals,
    stream_options,
    wait_for,
)
from kafka_rack.cli.pipeline.running import add_spark_arguments, run_on_spark, say_done, spark_for, told_in_one_line
from kafka_rack.plurals import counted

if TYPE_CHECKING:
    from kafka_rack.pipeline.decode import DecodeSummary

FORMATS = ("parquet", "delta", "iceberg")
MAX_APIS = 12
US = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="+", metavar="IN", help="captures, or folders of them")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the tables are or shall be")
    add_packet_arguments(parser)
    add_stream_arguments(parser)
    parser.add_argument("--format", choices=("table", "json"), default="table", help="of the summary")
    parser.add_argument(
        "--output-format",
        choices=FORMATS,
        default="parquet",
        help="of the tables; default: parquet; delta and iceberg need their --packages,\nwhich an error names",
    )
    add_spark_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    check_capture_arguments(arguments)
    check_stream_arguments(arguments)
    from kafka_rack.pipeline.session import INSTALL_SPARK

    try:
        from kafka_rack.pipeline.decode import decode
    except ImportError as error:
        raise CommandError(f"{INSTALL_SPARK} ({error})") from None

    def work(spark: Any) -> DecodeSummary:
        how = {"options": packet_options(arguments), "output_format": arguments.output_format}
        return decode(spark, arguments.inputs, arguments.out, tasks=arguments.tasks, **how)

    since_s = time.monotonic()
    with told_in_one_line(arguments.out):
        if arguments.stream or arguments.once:
            with spark_for(arguments) as spark:
                follow(spark, arguments)
            return DONE
        summary = run_on_spark(arguments, work, "decoding")
    sys.stdout.write(as_json(summary) if arguments.format == "json" else as_text(summary))
    files, rows = counted(len(summary.files), "file"), counted(sum(summary.tables.values()), "row")
    say_done(arguments, f"{files}, {rows}", since_s)
    unread = summary.unread(arguments.inputs)
    for given in unread:
        sys.stderr.write(f"kafka-rack pipeline decode: {given}: not one frame could be read\n")
    return FAILED if unread else DONE


def follow(spark: Any, arguments: argparse.Namespace) -> None:
    """Stream until all is read (--once), SIGINT, SIGTERM or an error; a line for each batch with something new."""
    from kafka_rack.pipeline.decode import decode_stream

    def told(batch: int, summary: DecodeSummary) -> None:
        if arguments.format == "json":
            sys.stdout.write(json.dumps({"batch": batch, **summary_json(summary)}) + "\n")
        else:
            frames = summary.tables.get("frames", 0)
            sys.stdout.write(f"batch {batch}: {counted(frames, 'frame')} of {counted(len(summary.files), 'file')}\n")
        sys.stdout.flush()

    with stopped_by_signals() as stopped:
        how = {**stream_options(arguments), "output_format": arguments.output_format}
        wait_for(decode_stream(spark, arguments.inputs, arguments.out, on_batch=told, **how), stopped)


def summary_json(summary: DecodeSummary) -> dict[str, Any]:
    return {
        "out": summary.out,
        "files": len(summary.files),
        "tables": dict(sorted(summary.tables.items())),
        "apis": {api: {"frames": found[0], "bytes": found[1]} for api, found in sorted(summary.frames.items())},
        "first_ts": summary.first_ts,
        "last_ts": summary.last_ts,
        "unpaired": summary.unpaired,
        "problems": summary.tables.get("problems", 0),
    }


def as_json(summary: DecodeSummary) -> str:
    return json.dumps(summary_json(summary), indent=2) + "\n"


def as_text(summary: DecodeSummary) -> str:
    """One screen: what was read, the busiest APIs, the tables."""
    frames = sum(found[0] for found in summary.frames.values())
    size = sum(found[1] for found in summary.frames.values())
    lines = [
        f"{counted(frames, 'frame')}, {counted(size, 'byte')} of {counted(len(summary.files), 'file')}{span(summary)}",
        "",
    ]
    busiest = sorted(summary.frames.items(), key=lambda item: (-item[1][1], item[0]))
    shown = [[api, *found] for api, found in busiest[:MAX_APIS]]
    rest = busiest[MAX_APIS:]
    if rest:
        shown.append([f"{len(rest)} others", sum(one[0] for _, one in rest), sum(one[1] for _, one in rest)])
    lines += [table(["API", "frames", "bytes"], shown), ""]
    lines += [table(["table", "rows"], sorted([name, rows] for name, rows in summary.tables.items())), ""]
    problems = summary.tables.get("problems", 0)
    if problems:
        lines.append(f"{counted(problems, 'place')} could not be read: see the table problems")
    if summary.unpaired:
        lines.append(
            f"{counted(summary.unpaired, 'request or response', 'requests or responses')} without the other half"
        )
    lines.append(f"tables below {summary.out}")
    return "\n".join(lines) + "\n"


def span(summary: DecodeSummary) -> str:
    if summary.first_ts is None or summary.last_ts is None:
        return ""
    first, last = (datetime.fromtimestamp(ts / US, UTC) for ts in (summary.first_ts, summary.last_ts))
    return f", {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC"
