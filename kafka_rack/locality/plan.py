"""A plan of a cluster in words, and its forecast as JSON."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from kafka_rack.errors import InputError
from kafka_rack.locality.amounts import MONTH_SECONDS, parse_size
from kafka_rack.locality.forecast import Forecast, forecast
from kafka_rack.locality.prices import Prices

NAMES = ("racks", "rf", "in", "readers", "local-producers", "local-consumers")
FORM = "racks=3,rf=3,in=300MiB/s,readers=2"


def forecast_in(text: str) -> Forecast:
    """The forecast of a plan such as ``racks=3,rf=3,in=300MiB/s,readers=2``. Raises InputError."""
    values: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name not in NAMES or name in values:
            raise InputError(f"expected each of {', '.join(NAMES)} once, such as {FORM}, got {part!r}")
        values[name] = value
    for name in ("racks", "rf", "in"):
        if name not in values:
            raise InputError(f"{name} is missing; expected a plan such as {FORM}")
    return forecast(
        racks=whole_in(values, "racks"),
        replication_factor=whole_in(values, "rf"),
        bytes_in=parse_size(values["in"]),
        readers=whole_in(values, "readers", "1"),
        local_producers=share_in(values, "local-producers"),
        local_consumers=share_in(values, "local-consumers"),
    )


def whole_in(values: dict[str, str], name: str, default: str = "") -> int:
    text = values.get(name, default)
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise InputError(f"{name}: expected a whole number, got {text!r}")
    return int(text)


def share_in(values: dict[str, str], name: str) -> Fraction:
    text = values.get(name, "0")
    try:
        if len(text) > 20:
            raise ValueError
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{name}: expected a share from 0 to 1, got {text!r}") from None


def forecast_as_json(plan: Forecast, prices: Prices) -> dict[str, Any]:
    """Bytes a second as numbers, costs of a month as text."""
    month = plan.month(prices)
    return {
        "bytes_per_second": {
            "produce": float(plan.produced),
            "replication": float(plan.replicated),
            "consume": float(plan.consumed),
            "all": float(plan.total),
        },
        "cross_bytes_per_second": {
            **{name: float(size) for name, size in plan.cross_by_category().items()},
            "all": float(plan.cross),
        },
        "month_seconds": MONTH_SECONDS,
        "month_cost": {
            **{name: f"{amount:f}" for name, amount in month.items()},
            "all": f"{sum(month.values(), Decimal(0)):f}",
        },
        "prices": prices.as_json(),
    }
