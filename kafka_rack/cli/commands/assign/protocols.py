"""``kafka-rack assign --to-consumer-protocol``: what the change does to a group's locality, and what that costs."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_rack.cli import UsageError
from kafka_rack.cli.output.tables import table
from kafka_rack.errors import InputError
from kafka_rack.locality import Prices, read_prices
from kafka_rack.locality.amounts import MONTH_SECONDS, money_text, parse_size
from kafka_rack.locality.prices import EXACT

if TYPE_CHECKING:
    from kafka_rack.assignment.protocol_change import ProtocolChange, ProtocolView

TERABYTE = 10**12


def prices_from(name: str | None) -> Prices | None:
    """The prices of a file. Raises UsageError: it cannot be read."""
    if name is None:
        return None
    try:
        return read_prices(Path(name).read_text(encoding="utf-8"), name)
    except OSError as error:
        raise UsageError(f"--prices {name}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, InputError) as error:
        raise UsageError(f"--prices: {error}") from None


def rate_from(text: str | None) -> Fraction | None:
    """Bytes a second that the group reads. Raises UsageError: no size."""
    if text is None:
        return None
    try:
        return parse_size(text)
    except InputError as error:
        raise UsageError(f"--reads: {error}") from None


def cost_of(view: ProtocolView, prices: Prices, size_bytes: Fraction) -> Decimal:
    """What crossing costs where the group reads so many bytes, of each partition alike."""
    partitions = sum(len(pairs) for pairs in view.assignment.values())
    total = Decimal(0)
    for (sender, receiver), count in sorted(view.crossings.items()):
        share = size_bytes * count / partitions
        total = EXACT.add(total, prices.cost(sender, receiver, int(share)))
    return total


def change_table(change: ProtocolChange, prices: Prices | None, rate: Fraction | None) -> str:
    """For people: a row for each assignor, then what is lost, in words."""
    heads = ["protocol", "assignor", "moved", "in rack at first", "later", "of", "share"]
    if prices is not None:
        heads.append("a TB costs" if rate is None else "a month costs")
    rows = []
    for view in change.views:
        forecast = view.forecast
        share = "-" if forecast.share is None else f"{100 * forecast.share:.1f} %"
        at_first = None if view.at_first is None else view.at_first.in_rack
        row = [view.protocol, view.assignor, view.moved, at_first, forecast.in_rack, forecast.partitions, share]
        if prices is not None:
            row.append(money_text(cost_of(view, prices, _bytes(rate)), prices.currency))
        rows.append(row)
    lines = [
        "From the classic to the consumer protocol: partitions read inside their rack",
        "",
        table(heads, rows),
        "",
        f"Beside {change.classic.assignor}, once every member has come anew:",
        *(_in_words(change, view, prices, rate) for view in change.views if view.protocol != "classic"),
    ]
    return "\n".join(lines)


def _bytes(rate: Fraction | None) -> Fraction:
    return Fraction(TERABYTE) if rate is None else rate * MONTH_SECONDS


def _in_words(change: ProtocolChange, view: ProtocolView, prices: Prices | None, rate: Fraction | None) -> str:
    lost, of = change.lost(view), change.classic.forecast.partitions
    if lost == 0:
        text = f"- {view.assignor} keeps as many in rack"
    else:
        text = f"- {view.assignor} {'loses' if lost > 0 else 'gains'} {abs(lost)} of {of} partitions in rack"
    if prices is None or lost == 0:
        return text
    before, after = (cost_of(one, prices, _bytes(rate)) for one in (change.classic, view))
    more = EXACT.subtract(after, before)
    each = "a TB read" if rate is None else "a month"
    return f"{text}: {money_text(abs(more), prices.currency)} {'more' if more >= 0 else 'less'} for {each}"


def change_json(change: ProtocolChange, prices: Prices | None, rate: Fraction | None) -> str:
    """The same for programs."""
    views: list[dict[str, Any]] = []
    for view in change.views:
        forecast = view.forecast
        one: dict[str, Any] = {
            "protocol": view.protocol,
            "assignor": view.assignor,
            "partitions": forecast.partitions,
            "in_rack_at_first": None if view.at_first is None else view.at_first.in_rack,
            "in_rack": forecast.in_rack,
            "share": forecast.share,
            "lost": change.lost(view),
            "moved": view.moved,
            "crossings": [
                {"from": sender, "to": receiver, "partitions": count}
                for (sender, receiver), count in sorted(view.crossings.items())
            ],
        }
        if prices is not None:
            one["terabyte_cost" if rate is None else "month_cost"] = str(cost_of(view, prices, _bytes(rate)))
        views.append(one)
    return json.dumps({"views": views, "prices": None if prices is None else prices.as_json()}, indent=2)
