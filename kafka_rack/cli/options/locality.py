"""Options of `kafka-rack locality` and of the job of that name: prices, racks, windows, and plans."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafka_rack.cli import UsageError
from kafka_rack.cli.command import option, together
from kafka_rack.cli.options.prices import prices_options
from kafka_rack.cli.options.shared import client_racks_option, format_option
from kafka_rack.cli.options.text_files import racks_file, read_file
from kafka_rack.cli.options.types import Duration, WholeNumber, Words
from kafka_rack.cli.output.locality import as_text, forecast_as_text
from kafka_rack.cli.output.results import report_unread, show_as
from kafka_rack.errors import InputError
from kafka_rack.locality.forecast import FORM, forecast_in
from kafka_rack.locality.prices import BUILT_IN, Prices, price_list, read_prices
from kafka_rack.locality.settings import DEFAULT_TOP, Settings

locality_options = together(
    prices_options,
    client_racks_option,
    option("--window", Duration(), "Length of a window of the results; default: about 60 windows."),
    option("--top", WholeNumber(1, 1_000), "Number of rows of each list in the JSON.", default=DEFAULT_TOP),
    option(
        "--forecast",
        Words("NAME=VALUE,..."),
        f"Price a plan instead of captures: {FORM}; local-producers and local-consumers are shares "
        "that stay in their rack, such as 0.5.",
    ),
    format_option,
)


def prices_named(name: str | None) -> Prices:
    """A cloud's price list, or a file's prices. Raises UsageError."""
    if name is None or name in BUILT_IN:
        return price_list(name or "aws")
    return read_file(name, read_prices)


def prices_of(arguments: Any) -> Prices:
    prices = prices_named(arguments.prices)
    return prices.with_free_replication() if arguments.free_replication else prices


def forecasts(arguments: Any, inputs: Any, name: str) -> bool:
    """Print the bill of a plan if ``--forecast`` has one. Raises UsageError: neither a plan nor inputs, or both."""
    if arguments.forecast is not None:
        if inputs or arguments.out:
            raise UsageError(f"--forecast prices a plan: omit {name} and --out")
        print_forecast(arguments)
    elif not inputs:
        raise UsageError(f"{name} is missing: captures, or folders of them")
    return arguments.forecast is not None


def print_result(arguments: Any, result: dict[str, Any], unread: Collection[str]) -> int:
    """Print a result and the inputs of which no frame could be read; returns the exit code."""
    show_as(arguments.format, result, as_text(result))
    return report_unread(unread)


def print_forecast(arguments: Any) -> None:
    """Print what a plan costs. Raises UsageError."""
    try:
        plan = forecast_in(arguments.forecast)
    except InputError as error:
        raise UsageError(f"--forecast: {error}") from None
    prices = prices_of(arguments)
    show_as(arguments.format, plan.as_json(prices), forecast_as_text(plan, prices))


def settings_of(arguments: Any) -> Settings:
    """The settings of the job. Raises UsageError: a file of prices or racks that cannot be read."""
    prices, rules = prices_of(arguments), racks_file(arguments.client_racks)
    window_us = arguments.window * 1_000 if arguments.window else None
    return Settings(prices, rules, window_us, arguments.top, arguments.client_racks)
