"""The forecast of a planned cluster's traffic across racks.

>>> plan = forecast(racks=3, replication_factor=3, bytes_in=300 << 20, readers=2)
>>> {kind: int(size) >> 20 for kind, size in plan.cross_by_kind.items()}
{'produce': 200, 'replication': 600, 'consume': 400}
>>> int(plan.cross) >> 20
1200
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from kafka_rack.errors import InputError
from kafka_rack.locality.amounts import MONTH_SECONDS, parse_size
from kafka_rack.locality.prices import EXACT, UNITS, Prices

NAMES = ("racks", "rf", "in", "readers", "local-producers", "local-consumers")
FORM = "racks=3,rf=3,in=300MiB/s,readers=2"
KINDS = ("produce", "replication", "consume")


@dataclass(frozen=True, slots=True)
class Forecast:
    """Bytes a second by kind of ``KINDS``: all, and those that cross racks. Exact fractions."""

    by_kind: dict[str, Fraction]
    cross_by_kind: dict[str, Fraction]

    @property
    def total(self) -> Fraction:
        return sum(self.by_kind.values(), Fraction(0))

    @property
    def cross(self) -> Fraction:
        return sum(self.cross_by_kind.values(), Fraction(0))

    def month(self, prices: Prices, *, seconds: int = MONTH_SECONDS) -> dict[str, Decimal]:
        """The cost of each kind in a month at the default price, to 18 places."""
        units = {
            kind: EXACT.divide(Decimal(size.numerator * seconds), Decimal(size.denominator * UNITS[prices.unit]))
            for kind, size in self.cross_by_kind.items()
            if not (kind == "replication" and prices.free_replication)
        }
        price = prices.default.mean(sum(units.values(), Decimal(0))).both
        return {kind: EXACT.multiply(units[kind], price) if kind in units else Decimal(0) for kind in KINDS}

    def as_json(self, prices: Prices) -> dict[str, Any]:
        """Bytes a second as numbers, costs of a month as text."""
        month = self.month(prices)
        return {
            "bytes_per_second": {kind: float(size) for kind, size in (*self.by_kind.items(), ("all", self.total))},
            "cross_bytes_per_second": {
                kind: float(size) for kind, size in (*self.cross_by_kind.items(), ("all", self.cross))
            },
            "month_seconds": MONTH_SECONDS,
            "month_cost": {
                kind: f"{cost:f}" for kind, cost in (*month.items(), ("all", sum(month.values(), Decimal(0))))
            },
            "prices": prices.as_json(),
        }


def forecast(
    *,
    racks: int,
    replication_factor: int,
    bytes_in: int | Fraction,
    readers: int = 1,
    local_producers: Fraction | float = 0,
    local_consumers: Fraction | float = 0,
) -> Forecast:
    """Bytes a second across racks, if brokers, leaders, producers and consumers are spread evenly over racks.

    Args:
        racks: the number of racks, all alike.
        replication_factor: copies of each partition; they and the leaders are spread evenly over racks.
        bytes_in: produced bytes a second.
        readers: how many times all records are read.
        local_producers, local_consumers: the shares of produced and of read bytes that stay in their rack (by diskless
            topics, by client.rack with a replica in each rack). By chance 1/racks of the rest stays too.

    Raises: InputError: a number out of its range.
    """
    least = {"racks": 1, "replication factor": 1, "bytes in": 0, "readers": 0}
    for (name, low), number in zip(least.items(), (racks, replication_factor, bytes_in, readers), strict=True):
        if number < low:
            raise InputError(f"{name}: expected {low} at least, got {number}")
    for name, share in (("local producers", local_producers), ("local consumers", local_consumers)):
        if not 0 <= share <= 1:
            raise InputError(f"{name}: expected a share from 0 to 1, got {share}")
    produced, elsewhere = Fraction(bytes_in), Fraction(racks - 1, racks)
    moved = (produced, produced * (replication_factor - 1), produced * readers)
    crossing = (
        (1 - Fraction(local_producers)) * elsewhere,
        copies_elsewhere(racks, replication_factor),
        readers * (1 - Fraction(local_consumers)) * elsewhere,
    )
    return Forecast(
        dict(zip(KINDS, moved, strict=True)),
        {kind: produced * share for kind, share in zip(KINDS, crossing, strict=True)},
    )


def copies_elsewhere(racks: int, replication_factor: int) -> Fraction:
    """The number of a partition's copies outside its leader's rack, on average over the possible leaders.

    >>> copies_elsewhere(3, 3), copies_elsewhere(2, 3), copies_elsewhere(1, 3)
    (Fraction(2, 1), Fraction(4, 3), Fraction(0, 1))
    """
    fewer, more = divmod(replication_factor, racks)
    here = Fraction(more * (fewer + 1) ** 2 + (racks - more) * fewer**2, replication_factor)
    return replication_factor - here


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
