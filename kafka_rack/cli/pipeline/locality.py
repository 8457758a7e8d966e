"""Bytes and money across racks: what captures show, what of it was avoidable, why it was not avoided.

IN is a capture, a folder of them, or a folder of tables as `kafka-rack pipeline decode` writes them. Below --out:
locality.html, a page; locality.json; Parquet tables by rack pair, topic, client, group, API and window. Running again
replaces them; --stream and --once do so with each batch of what is new.

--prices FILE is TOML or JSON: currency, unit (GB or GiB), egress, ingress, free_replication, and pairs with prices of
their own. --client-racks FILE says where clients are that do not say it: lines as az-a@10.0.1.0/24,
az-b@client:billing-*, az-a@broker:4. --forecast tells what a cluster that is still a plan will cost; it reads no
capture and needs no Spark.

Examples:
  kafka-rack pipeline locality trace/ --out locality/
  kafka-rack pipeline locality tables/ --out locality/ --prices prices.toml --client-racks racks.txt --window 5m
  kafka-rack pipeline locality trace/ --out locality/ --stream
  kafka-rack pipeline locality --forecast racks=3,rf=3,in=300MiB/s,readers=2
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.options.locality import add_locality_arguments, print_forecast, settings_of
from kafka_rack.cli.output.locality import as_text
from kafka_rack.cli.pipeline.captures import add_capture_arguments, check_capture_arguments, source_options
from kafka_rack.cli.pipeline.locality_stream import follow
from kafka_rack.cli.pipeline.running import add_spark_arguments, run_on_spark, spark_for, told_in_one_line
from kafka_rack.cli.pipeline.small_inputs import tell_of_command
from kafka_rack.storage import location, named_url

if TYPE_CHECKING:
    from kafka_rack.locality.settings import Settings

INTERRUPTED = "interrupted: what was there before is as it was"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="*", metavar="IN", help="captures, folders of them, or decoded tables")
    parser.add_argument("--out", metavar="DIR", help="where the results are or shall be")
    add_locality_arguments(parser)
    add_capture_arguments(parser)
    add_spark_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.forecast is not None:
        if arguments.inputs or arguments.out or arguments.stream or arguments.once:
            raise UsageError("--forecast is about a plan: it goes without IN, --out, --stream and --once")
        print_forecast(arguments)
        return DONE
    check(arguments)
    return run_job(arguments, settings_of(arguments))


def check(arguments: argparse.Namespace) -> None:
    """Raises UsageError for what cannot be meant."""
    if not arguments.inputs:
        raise UsageError("what to read is missing: captures, folders of them, or decoded tables")
    if not arguments.out:
        raise UsageError("--out DIR is missing: where the results shall be")
    check_capture_arguments(arguments)


def run_job(arguments: argparse.Namespace, settings: Settings) -> int:
    from kafka_rack.pipeline.spark.session import INSTALL_SPARK

    try:
        from kafka_rack.locality.captures import NothingToMeasure
        from kafka_rack.pipeline.locality.job import measure
        from kafka_rack.pipeline.output.formats import FormatMissing
        from kafka_rack.pipeline.output.staging import clear
        from kafka_rack.pipeline.output.writing import SchemaMismatch
        from kafka_rack.pipeline.spark.storage_settings import use_settings_of
        from kafka_rack.wire_tables.stored import is_stored
    except ImportError as error:
        raise CommandError(f"{INSTALL_SPARK} ({error})") from None
    options = source_options(arguments)
    out = arguments.out

    def work(spark: Any) -> dict[str, Any]:
        return measure(spark, arguments.inputs, out, settings, partitions=arguments.tasks, source_options=options)

    def check_tables(*, behind_urls: bool) -> None:
        for given in arguments.inputs:
            if named_url(given) == behind_urls and is_stored(location(given)) and (arguments.stream or arguments.once):
                raise UsageError(f"{given} holds decoded tables, but a stream follows captures")

    with told_in_one_line(arguments.out, INTERRUPTED):
        try:
            check_tables(behind_urls=False)
            if arguments.stream or arguments.once:
                with spark_for(arguments) as spark:
                    use_settings_of(spark)
                    check_tables(behind_urls=True)
                    follow(spark, arguments, settings)
                return DONE
            tell_of_command(arguments)
            result = run_on_spark(spark_for, arguments, work, "measuring")
        except NothingToMeasure as error:
            raise CommandError(f"{', '.join(arguments.inputs)}: {error}") from None
        except (SchemaMismatch, FormatMissing) as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:
            clear(location(arguments.out))
            raise
    sys.stdout.write(json.dumps(result, indent=2) + "\n" if arguments.format == "json" else as_text(result))
    return DONE
