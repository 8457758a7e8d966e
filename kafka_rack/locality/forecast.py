"""What crosses racks in a month of a cluster that is still a plan.

>>> whole = forecast(racks=3, replication_factor=3, bytes_in=300 << 20, readers=2)
>>> {name: int(found) >> 20 for name, found in whole.cross_by_category().items()}
{'produce': 200, 'replication': 600, 'consume': 400}
>>> int(whole.cross) >> 20
1200
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from kafka_rack.errors import InputError
from kafka_rack.locality.amounts import MONTH_SECONDS
from kafka_rack.locality.prices import EXACT, UNITS, Prices


@dataclass(frozen=True, slots=True)
class Forecast:
    """Bytes a second: ``total`` on the wire and what of it crosses racks, by who moves them. Exact fractions."""

    produced: Fraction
    replicated: Fraction
    consumed: Fraction
    produced_cross: Fraction
    replicated_cross: Fraction
    consumed_cross: Fraction

    @property
    def cross(self) -> Fraction:
        return self.produced_cross + self.replicated_cross + self.consumed_cross

    @property
    def total(self) -> Fraction:
        return self.produced + self.replicated + self.consumed

    def cross_by_category(self) -> dict[str, Fraction]:
        return {"produce": self.produced_cross, "replication": self.replicated_cross, "consume": self.consumed_cross}

    def month(self, prices: Prices, *, seconds: int = MONTH_SECONDS) -> dict[str, Decimal]:
        """What each costs in a month at the default price, to 18 places."""
        units = {
            name: EXACT.divide(Decimal(size.numerator * seconds), Decimal(size.denominator * UNITS[prices.unit]))
            for name, size in self.cross_by_category().items()
            if not (name == "replication" and prices.free_replication)
        }
        price = prices.default.mean(sum(units.values(), Decimal(0))).both
        costs = {name: EXACT.multiply(size, price) for name, size in units.items()}
        return {name: costs.get(name, Decimal(0)) for name in self.cross_by_category()}


def forecast(
    *,
    racks: int,
    replication_factor: int,
    bytes_in: int | Fraction,
    readers: int = 1,
    local_producers: Fraction | float = 0,
    local_consumers: Fraction | float = 0,
) -> Forecast:
    """Bytes a second across racks, where brokers, leaders, producers and consumers are spread evenly over racks.

    Args:
        racks: how many, all alike.
        replication_factor: copies of each partition, spread over racks as evenly as they can be; leaders too.
        bytes_in: produced, bytes a second.
        readers: how many times everything is read.
        local_producers, local_consumers: the share of what is produced, and of what is read, that stays in its rack
            (by diskless topics, by client.rack with a replica in each rack). By chance 1/racks of the rest stays too.

    Raises: InputError: a number out of its range.
    """
    for name, number, least in (
        ("racks", racks, 1),
        ("replication factor", replication_factor, 1),
        ("bytes in", bytes_in, 0),
        ("readers", readers, 0),
    ):
        if number < least:
            raise InputError(f"{name}: expected {least} at least, got {number}")
    for name, share in (("local producers", local_producers), ("local consumers", local_consumers)):
        if not 0 <= share <= 1:
            raise InputError(f"{name}: expected a share from 0 to 1, got {share}")
    produced = Fraction(bytes_in)
    consumed = produced * readers
    elsewhere = Fraction(racks - 1, racks)
    return Forecast(
        produced=produced,
        replicated=produced * (replication_factor - 1),
        consumed=consumed,
        produced_cross=produced * (1 - Fraction(local_producers)) * elsewhere,
        replicated_cross=produced * copies_elsewhere(racks, replication_factor),
        consumed_cross=consumed * (1 - Fraction(local_consumers)) * elsewhere,
    )


def copies_elsewhere(racks: int, replication_factor: int) -> Fraction:
    """How many copies of a partition are not in its leader's rack, on average over which copy leads.

    >>> copies_elsewhere(3, 3), copies_elsewhere(2, 3), copies_elsewhere(1, 3)
    (Fraction(2, 1), Fraction(4, 3), Fraction(0, 1))
    """
    fewer, more = divmod(replication_factor, racks)
    here = Fraction(more * (fewer + 1) ** 2 + (racks - more) * fewer**2, replication_factor)
    return replication_factor - here
