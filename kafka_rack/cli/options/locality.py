"""Options of `kafka-rack locality` and of the job of that name: prices, racks, windows, and plans."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

from kafka_rack.cli import UsageError
from kafka_rack.cli.command import option, together
from kafka_rack.cli.options.shared import client_racks_option, format_option, prices_options
from kafka_rack.cli.options.text_files import racks_file, read_file
from kafka_rack.cli.options.types import Duration, WholeNumber, Words
from kafka_rack.cli.output.locality import forecast_as_json, forecast_as_text
from kafka_rack.errors import InputError
from kafka_rack.locality.amounts import parse_size
from kafka_rack.locality.forecast import Forecast, forecast
from kafka_rack.locality.prices import BUILT_IN, Prices, price_list, read_prices
from kafka_rack.locality.settings import DEFAULT_TOP, Settings

FORECAST = ("racks", "rf", "in", "readers", "local-producers", "local-consumers")
FORECAST_FORM = "racks=3,rf=3,in=300MiB/s,readers=2"


locality_options = together(
    prices_options,
    client_racks_option,
    option("--window", Duration(), "Length of a window of the results; default: about 60 windows."),
    option("--top", WholeNumber(1, 1_000), "Rows of each list in the JSON.", default=DEFAULT_TOP),
    option(
        "--forecast",
        Words("NAME=VALUE,..."),
        f"Price a plan instead of captures: {FORECAST_FORM}; local-producers and local-consumers are shares "
        "that stay in their rack, such as 0.5.",
    ),
    format_option,
)


def prices_named(name: str | None) -> Prices:
    """A cloud's price list, or a file's prices. Raises UsageError."""
    if name is None or name in BUILT_IN:
        return price_list(name or BUILT_IN[0])
    return read_file(name, read_prices)


def prices_of(arguments: Any) -> Prices:
    prices = prices_named(arguments.prices)
    return prices.with_free_replication() if arguments.free_replication else prices


def print_forecast(arguments: Any) -> None:
    """Print what a plan costs. Raises UsageError."""
    plan = planned(arguments.forecast)
    as_asked = forecast_as_json if arguments.format == "json" else forecast_as_text
    sys.stdout.write(as_asked(plan, prices_of(arguments)))


def settings_of(arguments: Any) -> Settings:
    """What the job measures by. Raises UsageError: a file of prices or racks that cannot be read."""
    prices, rules = prices_of(arguments), racks_file(arguments.client_racks)
    window_us = arguments.window * 1_000 if arguments.window else None
    return Settings(prices, rules, window_us, arguments.top, arguments.client_racks)


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
