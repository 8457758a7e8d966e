"""Bytes and money across racks: what captures show, what of it was avoidable, why it was not avoided.

IN is a capture or a folder of them; each is read by one of Spark's tasks. Below --out: locality.html, a page, and
locality.json. `kafka-rack locality` gives the same for what one process can read.

--prices FILE is TOML or JSON: currency, unit (GB or GiB), egress, ingress, free_replication, and pairs with prices of
their own. --client-racks FILE says where clients are that do not say it: lines as az-a@10.0.1.0/24,
az-b@client:billing-*, az-a@broker:4. --forecast tells what a cluster that is still a plan will cost; it reads no
capture and needs no Spark.

Examples:
  kafka-rack pipeline locality trace/ --out locality/
  kafka-rack pipeline locality s3a://traces/ --out locality/ --prices prices.toml --client-racks racks.txt --window 5m
  kafka-rack pipeline locality --forecast racks=3,rf=3,in=300MiB/s,readers=2
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, FAILED, CommandError, UsageError
from kafka_rack.cli.options.locality import add_locality_arguments, print_forecast, settings_of
from kafka_rack.cli.output.locality import as_text
from kafka_rack.cli.pipeline.captures import add_packet_arguments, check_capture_arguments, packet_options
from kafka_rack.cli.pipeline.running import add_spark_arguments, run_on_spark, say_done, told_in_one_line
from kafka_rack.plurals import counted
from kafka_rack.printable import printable

if TYPE_CHECKING:
    from kafka_rack.locality.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="*", metavar="IN", help="captures, or folders of them")
    parser.add_argument("--out", metavar="DIR", help="where the results are or shall be")
    add_locality_arguments(parser)
    add_packet_arguments(parser)
    add_spark_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.forecast is not None:
        if arguments.inputs or arguments.out:
            raise UsageError("--forecast is about a plan: it goes without IN and --out")
        print_forecast(arguments)
        return DONE
    check(arguments)
    return run_job(arguments, settings_of(arguments))


def check(arguments: argparse.Namespace) -> None:
    """Raises UsageError for what cannot be meant."""
    if not arguments.inputs:
        raise UsageError("what to read is missing: captures, or folders of them")
    if not arguments.out:
        raise UsageError("--out DIR is missing: where the results shall be")
    check_capture_arguments(arguments)


def run_job(arguments: argparse.Namespace, settings: Settings) -> int:
    from kafka_rack.pipeline.session import INSTALL_SPARK

    try:
        from kafka_rack.locality.captures import NothingToMeasure
        from kafka_rack.pipeline.locality import measure
    except ImportError as error:
        raise CommandError(f"{INSTALL_SPARK} ({error})") from None
    since_s = time.monotonic()

    def work(spark: Any) -> tuple[dict[str, Any], list[str]]:
        how = {"options": packet_options(arguments), "tasks": arguments.tasks}
        return measure(spark, arguments.inputs, arguments.out, settings, **how)

    with told_in_one_line(arguments.out):
        try:
            result, unread = run_on_spark(arguments, work, "measuring")
        except NothingToMeasure as error:
            raise CommandError(f"{', '.join(arguments.inputs)}: {error}") from None
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    sys.stdout.write(text if arguments.format == "json" else as_text(result))
    say_done(arguments, counted(result["span"]["captures"], "capture"), since_s)
    for given in unread:
        sys.stderr.write(f"kafka-rack pipeline locality: {printable(given)}: not one frame could be read\n")
    return FAILED if unread else DONE
