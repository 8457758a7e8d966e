"""What `kafka-rack locality` and the job of that name are told alike: prices, racks, windows, and plans."""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction

from kafka_rack.cli import UsageError
from kafka_rack.cli.options.text_files import racks_file, read_file
from kafka_rack.cli.output.locality import forecast_as_json, forecast_as_text
from kafka_rack.errors import InputError
from kafka_rack.locality.amounts import parse_size, parse_window
from kafka_rack.locality.forecast import Forecast, forecast
from kafka_rack.locality.prices import BUILT_IN, Prices, price_list, read_prices
from kafka_rack.locality.settings import DEFAULT_TOP, Settings

FORECAST = ("racks", "rf", "in", "readers", "local-producers", "local-consumers")
FORECAST_FORM = "racks=3,rf=3,in=300MiB/s,readers=2"
MAX_TOP = 1_000


def add_locality_arguments(parser: argparse.ArgumentParser) -> None:
    add_prices(parser)
    parser.add_argument(
        "--client-racks", dest="racks", metavar="FILE", help="where clients and brokers are that do not say it"
    )
    parser.add_argument("--window", metavar="TIME", help="as 30s, 5m, 1h; default: about 60 windows")
    parser.add_argument(
        "--top",
        type=int,
        default=DEFAULT_TOP,
        metavar="N",
        help=f"rows of each list in the JSON; default: {DEFAULT_TOP}",
    )
    parser.add_argument(
        "--forecast",
        metavar="NAME=VALUE,...",
        help=f"of a plan: {FORECAST_FORM};\nlocal-producers and local-consumers are shares that stay, as 0.5",
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="of what is printed")


def add_prices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prices",
        metavar="NAME|FILE",
        help=f"what crossing costs: {', '.join(BUILT_IN)}, or a file;\ndefault: aws, $0.01/GB each way",
    )
    parser.add_argument("--free-replication", action="store_true", help="replication between brokers costs nothing")


def prices_named(name: str | None) -> Prices:
    """A cloud's price list, or a file's prices. Raises UsageError."""
    if name is None or name in BUILT_IN:
        return price_list(name or BUILT_IN[0])
    return read_file(name, read_prices)


def prices_of(arguments: argparse.Namespace) -> Prices:
    prices = prices_named(arguments.prices)
    return prices.with_free_replication() if arguments.free_replication else prices


def print_forecast(arguments: argparse.Namespace) -> None:
    """Print what a plan costs. Raises UsageError."""
    plan = planned(arguments.forecast)
    as_asked = forecast_as_json if arguments.format == "json" else forecast_as_text
    sys.stdout.write(as_asked(plan, prices_of(arguments)))


def settings_of(arguments: argparse.Namespace) -> Settings:
    """Raises UsageError for what cannot be meant."""
    if not 1 <= arguments.top <= MAX_TOP:
        raise UsageError(f"--top: expected 1 to {MAX_TOP}, got {arguments.top}")
    prices, rules = prices_of(arguments), racks_file(arguments.racks)
    try:
        window_us = parse_window(arguments.window) if arguments.window is not None else None
    except InputError as error:
        raise UsageError(f"--window: {error}") from None
    return Settings(prices, rules, window_us, arguments.top, arguments.racks)


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
        raise InputError(f"{name}: expected a whole number, got {text!r}")
    return int(text)


def share(given: dict[str, str], name: str) -> Fraction:
    text = given.get(name, "0")
    try:
        if len(text) > 20:
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{name}: expected a share from 0 to 1, got {text!r}") from None
