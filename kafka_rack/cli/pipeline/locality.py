"""Bytes and money across racks: what captures show, what of it was avoidable, why it was not avoided.

IN is a capture, a folder of them, or a folder of tables as `kafka-rack pipeline decode` writes them. Below --out:
locality.html, a page; locality.json; Parquet tables by rack pair, topic, client, group, API and window. Running again
replaces them; --stream and --once do so with each batch of what is new.

--prices FILE is TOML or JSON: currency, unit (GB or GiB), egress, ingress, free_replication, and pairs with prices of
their own. --racks FILE says where clients are that do not say it: lines as az-a@10.0.1.0/24, az-b@client:billing-*,
az-a@broker:4. --forecast tells what a cluster that is still a plan will cost; it reads no capture and needs no Spark.

Examples:
  kafka-rack pipeline locality trace/ --out locality/
  kafka-rack pipeline locality tables/ --out locality/ --prices prices.toml --racks racks.txt --window 5m
  kafka-rack pipeline locality trace/ --out locality/ --stream
  kafka-rack pipeline locality --forecast racks=3,rf=3,in=300MiB/s,readers=2
"""

from __future__ import annotations

import argparse
import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import DONE, CommandError, UsageError
from kafka_rack.cli.options.text_files import racks_file, read_file
from kafka_rack.cli.pipeline.captures import add_capture_arguments, check_capture_arguments, source_options
from kafka_rack.cli.pipeline.locality_stream import follow
from kafka_rack.cli.pipeline.locality_text import as_text, forecast_as_json, forecast_as_text
from kafka_rack.cli.pipeline.running import add_spark_arguments, run_on_spark, spark_for, told_in_one_line
from kafka_rack.errors import InputError
from kafka_rack.locality.amounts import parse_size, parse_window
from kafka_rack.locality.forecast import Forecast, forecast
from kafka_rack.locality.prices import Prices, read_prices

if TYPE_CHECKING:
    from kafka_rack.locality.rack_rules import RackRules

FORECAST = ("racks", "rf", "in", "readers", "local-producers", "local-consumers")
FORECAST_FORM = "racks=3,rf=3,in=300MiB/s,readers=2"
MOST_TOP = 1_000
INTERRUPTED = "interrupted: what was there before is as it was"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="*", metavar="IN", help="captures, folders of them, or decoded tables")
    parser.add_argument("--out", metavar="DIR", help="where the results are or shall be")
    parser.add_argument("--prices", metavar="FILE", help="what crossing costs; 0.01 $/GB each way if not given")
    parser.add_argument("--racks", metavar="FILE", help="where clients and brokers are that do not say it")
    parser.add_argument("--window", metavar="TIME", help="as 30s, 5m, 1h; some sixty in all if not given")
    parser.add_argument("--free-replication", action="store_true", help="copies between brokers cost nothing")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="rows of each list in locality.json; 20")
    add_capture_arguments(parser)
    parser.add_argument(
        "--forecast",
        metavar="NAME=VALUE,...",
        help=f"of a plan: {FORECAST_FORM};\nlocal-producers and local-consumers are shares that stay, as 0.5",
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="of what is printed")
    add_spark_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    prices = read_file(arguments.prices, read_prices) if arguments.prices else Prices()
    if arguments.free_replication:
        prices = prices.with_free_replication()
    if arguments.forecast is not None:
        if arguments.inputs or arguments.out or arguments.stream or arguments.once:
            raise UsageError("--forecast is about a plan: it goes without IN, --out, --stream and --once")
        plan = planned(arguments.forecast)
        sys.stdout.write((forecast_as_json if arguments.format == "json" else forecast_as_text)(plan, prices))
        return DONE
    check(arguments)
    rules = racks_file(arguments.racks)
    try:
        window_us = parse_window(arguments.window) if arguments.window is not None else None
    except InputError as error:
        raise UsageError(f"--window: {error}") from None
    return run_job(arguments, prices, rules, window_us)


def check(arguments: argparse.Namespace) -> None:
    """Raises UsageError for what cannot be meant."""
    if not arguments.inputs:
        raise UsageError("what to read is missing: captures, folders of them, or decoded tables")
    if not arguments.out:
        raise UsageError("--out DIR is missing: where the results shall be")
    if not 1 <= arguments.top <= MOST_TOP:
        raise UsageError(f"--top {arguments.top}, but it must be from 1 to {MOST_TOP}")
    check_capture_arguments(arguments)
    if Path(arguments.out).exists() and not Path(arguments.out).is_dir():
        raise UsageError(f"--out {arguments.out}: it is no folder")


def run_job(arguments: argparse.Namespace, prices: Prices, rules: RackRules | None, window_us: int | None) -> int:
    from kafka_rack.pipeline.spark.session import INSTALL_SPARK

    try:
        from kafka_rack.pipeline.locality.job import NothingToMeasure, Settings, is_decoded, measure
        from kafka_rack.pipeline.output.staging import clear
        from kafka_rack.pipeline.output.writing import SchemaMismatch
    except ImportError as error:
        raise CommandError(f"{INSTALL_SPARK} ({error})") from None
    settings = Settings(prices, rules, window_us, top=arguments.top, racks_file=arguments.racks)
    options = source_options(arguments)
    out = Path(arguments.out)

    def work(spark: Any) -> dict[str, Any]:
        return measure(spark, arguments.inputs, out, settings, partitions=arguments.partitions, source_options=options)

    with told_in_one_line(arguments.out, INTERRUPTED):
        try:
            decoded = [given for given in arguments.inputs if is_decoded(Path(given))]
            if arguments.stream or arguments.once:
                if decoded:
                    raise UsageError(f"{decoded[0]} holds decoded tables, but a stream follows captures")
                with spark_for(arguments) as spark:
                    follow(spark, arguments, settings)
                return DONE
            result = run_on_spark(spark_for, arguments, work, "measuring")
        except NothingToMeasure as error:
            raise CommandError(f"{', '.join(arguments.inputs)}: {error}") from None
        except SchemaMismatch as error:
            raise CommandError(str(error)) from None
        except KeyboardInterrupt:
            clear(out)
            raise
    sys.stdout.write(json.dumps(result, indent=2) + "\n" if arguments.format == "json" else as_text(result))
    return DONE


def planned(text: str) -> Forecast:
    """``racks=3,rf=3,in=300MiB/s,readers=2`` as a forecast. Raises UsageError."""
    given: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name not in FORECAST or name in given:
            raise UsageError(f"--forecast {part!r}: each of {', '.join(FORECAST)} once, as {FORECAST_FORM}")
        given[name] = value
    for name in ("racks", "rf", "in"):
        if name not in given:
            raise UsageError(f"--forecast has no {name}=, as {FORECAST_FORM}")
    try:
        return forecast(
            racks=whole(given, "racks"),
            replication_factor=whole(given, "rf"),
            bytes_in=parse_size(given["in"]),
            readers=whole(given, "readers", "1"),
            local_producers=share(given, "local-producers"),
            local_consumers=share(given, "local-consumers"),
        )
    except InputError as error:
        raise UsageError(f"--forecast: {error}") from None


def whole(given: dict[str, str], name: str, default: str = "") -> int:
    text = given.get(name, default)
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise InputError(f"{name} {text!r}, but a whole number is wanted")
    return int(text)


def share(given: dict[str, str], name: str) -> Fraction:
    text = given.get(name, "0")
    try:
        if len(text) > 20:
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{name} {text!r}, but a share from 0 to 1 is wanted") from None
