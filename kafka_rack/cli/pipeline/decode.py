"""kafka-rack pipeline decode: captures to tables."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kafka_rack.cli.command import Arguments, command, option
from kafka_rack.cli.options.shared import format_option, packets_options
from kafka_rack.cli.output.results import report_unread, show_as
from kafka_rack.cli.output.tables import table
from kafka_rack.cli.pipeline.captures import (
    capture_options,
    check_stream,
    follow,
    inputs_argument,
    say_batch,
    stream_options,
)
from kafka_rack.cli.pipeline.running import job_module, required_out_option, run_on_spark, spark_options
from kafka_rack.locality.amounts import bytes_text
from kafka_rack.plurals import counted

if TYPE_CHECKING:
    from kafka_rack.pipeline.decode import DecodeSummary

FORMATS = ("parquet", "delta", "iceberg")
MAX_APIS = 12
US = 1_000_000


@command()
@inputs_argument
@required_out_option
@option(
    "--output-format",
    click.Choice(FORMATS),
    "Format of the tables; an error names the package that delta or iceberg need in --spark-conf.",
    default="parquet",
)
@stream_options
@spark_options
@packets_options
@format_option
def decode(arguments: Arguments) -> int:
    """Decode captures into tables, partitioned by capture and day; docs/tables.md has the columns.

    IN is a capture or a folder of them: lines of JSON as kafka-rack serve --capture writes them, pcap or pcapng, plain
    or gzip. A second run replaces the days of captures that were read. The table problems has what cannot be read; the
    exit code is 1 if that is all of an input.

    Examples:
      kafka-rack pipeline decode trace/ --out tables/
      kafka-rack pipeline decode trace/ --out tables/ --once
    """
    options = capture_options(arguments)
    check_stream(arguments)
    job = job_module("decode")
    if arguments.stream or arguments.once:

        def show(batch: int, summary: DecodeSummary) -> None:
            text = f"{counted(summary.tables.get('frames', 0), 'frame')} of {counted(len(summary.files), 'file')}"
            say_batch(arguments, batch, text, summary_json(summary))

        how = {"options": options, "output_format": arguments.output_format, "on_batch": show}
        return follow(arguments, partial(job.decode_stream, **how))

    how = {"options": options, "output_format": arguments.output_format, "tasks": arguments.tasks}
    summary: DecodeSummary = run_on_spark(
        arguments,
        lambda spark: job.decode(spark, arguments.inputs, arguments.out, **how),
        lambda found: f"{counted(len(found.files), 'file')}, {counted(sum(found.tables.values()), 'row')}",
    )
    show_as(arguments.format, summary_json(summary), as_text(summary))
    return report_unread(summary.unread(arguments.inputs))


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


def as_text(summary: DecodeSummary) -> str:
    """One screen: what was read, the busiest APIs, the tables."""
    frames = sum(found[0] for found in summary.frames.values())
    size = sum(found[1] for found in summary.frames.values())
    lines = [
        f"{counted(frames, 'frame')}, {bytes_text(size)} of {counted(len(summary.files), 'file')}{span(summary)}",
        "",
    ]
    busiest = sorted(summary.frames.items(), key=lambda item: (-item[1][1], item[0]))
    shown = [[api, count, bytes_text(size)] for api, (count, size) in busiest[:MAX_APIS]]
    rest = [found for _, found in busiest[MAX_APIS:]]
    if rest:
        shown.append(
            [f"{len(rest)} others", sum(count for count, _ in rest), bytes_text(sum(size for _, size in rest))]
        )
    lines += [table(["API", "frames", "bytes"], shown), ""]
    lines += [table(["table", "rows"], sorted([name, rows] for name, rows in summary.tables.items())), ""]
    problems = summary.tables.get("problems", 0)
    if problems:
        lines.append(f"{counted(problems, 'place')} could not be read: see the table problems")
    if summary.unpaired:
        lines.append(
            f"{counted(summary.unpaired, 'request or response', 'requests or responses')} without the other half"
        )
    lines.append(f"Tables are in {summary.out}")
    return "\n".join(lines)


def span(summary: DecodeSummary) -> str:
    if summary.first_ts is None or summary.last_ts is None:
        return ""
    first, last = (datetime.fromtimestamp(ts / US, UTC) for ts in (summary.first_ts, summary.last_ts))
    return f", {first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC"
