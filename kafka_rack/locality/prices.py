"""Prices of a byte between racks, and of requests to object stores.

Clouds charge the sender and the receiver, so a price has two parts: the sender's egress and the receiver's ingress.
``price_lists`` has those of AWS (the default: 0.01 $/GB each way), GCP and Azure, with date and source; for other
contracts use a prices file. Amounts are Decimal with 18 places, so sums are exact.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from kafka_rack.errors import InputError
from kafka_rack.printable import printable

UNITS = {"GB": 10**9, "GiB": 2**30}
"""Bytes by unit of a price."""
CENT = Decimal("0.01")
NOTHING = Decimal(0)
PLACES = Decimal(1).scaleb(-18)
EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)
LISTS = Path(__file__).with_name("price_lists")
BUILT_IN = tuple(sorted(path.stem for path in LISTS.glob("*.toml")))
"""Names of the clouds' price lists for ``--prices``: those of the files."""


class Tier(NamedTuple):
    """The price of each unit that exceeds ``above`` units in a month."""

    above: Decimal
    egress: Decimal
    ingress: Decimal


class Rate(NamedTuple):
    """The price of one unit of bytes: the sender's part and the receiver's. ``tiers`` are in ascending order."""

    egress: Decimal
    ingress: Decimal
    tiers: tuple[Tier, ...] = ()

    @property
    def both(self) -> Decimal:
        return self.egress + self.ingress

    def mean(self, units: Decimal) -> Rate:
        """The mean price of a unit in a month with that many units.

        >>> Rate(Decimal(2), Decimal(0), (Tier(Decimal(10), Decimal(1), Decimal(0)),)).mean(Decimal(40)).egress
        Decimal('1.25')
        """
        if not self.tiers or not units:
            return self
        steps = [Tier(NOTHING, self.egress, self.ingress), *self.tiers, Tier(Decimal("Infinity"), NOTHING, NOTHING)]
        parts = [(step, max(NOTHING, min(units, end.above) - step.above)) for step, end in pairwise(steps)]
        return Rate(
            EXACT.divide(sum((step.egress * part for step, part in parts), NOTHING), units),
            EXACT.divide(sum((step.ingress * part for step, part in parts), NOTHING), units),
        )


FREE = Rate(NOTHING, NOTHING)
CENT_EACH = Rate(CENT, CENT)


class StoreFees(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object store's price of 1,000 requests that write an object, and of 1,000 that read one."""

    put: Decimal = NOTHING
    get: Decimal = NOTHING

    def cost(self, puts: Decimal, gets: Decimal) -> Decimal:
        return (EXACT.divide(puts * self.put + gets * self.get, Decimal(1000))).quantize(PLACES, context=EXACT)


NO_FEES = StoreFees()


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of traffic between racks. ``unit`` is GB (10^9 bytes) or GiB (2^30).

    ``default`` applies to two different racks that are not in ``pairs``, (from, to) -> rate; traffic within a rack is
    free unless ``pairs`` has the rack with itself. ``source`` and ``dated`` are the origin of the prices. Rates with
    tiers need ``in_month`` first; ``ceiling`` is then the highest price without it.
    """

    currency: str = "$"
    unit: str = "GB"
    default: Rate = CENT_EACH
    pairs: Mapping[tuple[str, str], Rate] = field(default_factory=dict)
    free_replication: bool = False
    source: str = ""
    dated: str = ""
    store: StoreFees = NO_FEES
    ceiling: Decimal = NOTHING

    def rate(self, sender: str, receiver: str) -> Rate:
        """The price of one direction.

        >>> Prices().rate("az-a", "az-b").both, Prices().rate("az-a", "az-a").both
        (Decimal('0.02'), Decimal('0'))
        """
        found = self.pairs.get((sender, receiver))
        if found is not None:
            return found
        return self.default if sender != receiver else FREE

    def cost(self, sender: str, receiver: str, size_bytes: int, *, replication: bool = False) -> Decimal:
        """The cost of bytes, egress and ingress together, to 18 places.

        >>> Prices().cost("az-a", "az-b", 3_000_000_000)
        Decimal('0.060000000000000000')
        """
        if replication and self.free_replication:
            return NOTHING
        return self._money(self.rate(sender, receiver).both, size_bytes)

    @property
    def highest(self) -> Decimal:
        return max([self.ceiling, self.default.both, *(rate.both for rate in self.pairs.values())])

    def at_most(self, size_bytes: int) -> Decimal:
        """The highest cost of bytes of unknown racks."""
        return self._money(self.highest, size_bytes)

    def _money(self, price: Decimal, size_bytes: int) -> Decimal:
        whole = EXACT.multiply(price, Decimal(size_bytes))
        return EXACT.divide(whole, Decimal(UNITS[self.unit])).quantize(PLACES, context=EXACT)

    def in_month(self, months: Mapping[tuple[str, str], Decimal]) -> Prices:
        """The prices with one rate per direction, its mean in a month.

        Args:
            months: (from, to) -> bytes in a month.
        """
        units = {way: EXACT.divide(size, Decimal(UNITS[self.unit])) for way, size in months.items()}
        others = sum((size for way, size in units.items() if way not in self.pairs and way[0] != way[1]), NOTHING)
        pairs = {way: rate.mean(units.get(way, NOTHING)) for way, rate in self.pairs.items()}
        return replace(self, default=self.default.mean(others), pairs=pairs, ceiling=self.highest)

    def racks(self) -> set[str]:
        """All racks with their own price."""
        return {rack for pair in self.pairs for rack in pair}

    def with_free_replication(self) -> Prices:
        return replace(self, free_replication=True)

    def as_json(self) -> dict[str, Any]:
        """The prices in the form of a prices file, amounts as text."""
        return {
            "currency": self.currency,
            "unit": self.unit,
            **rate_json(self.default),
            "free_replication": self.free_replication,
            "source": self.source,
            "dated": self.dated,
            "store": {name: str(fee) for name, fee in msgspec.structs.asdict(self.store).items()},
            "pairs": [
                {"from": sender, "to": receiver, **rate_json(rate)}
                for (sender, receiver), rate in sorted(self.pairs.items())
            ],
        }


def rate_json(rate: Rate) -> dict[str, Any]:
    tiers = [{name: str(value) for name, value in tier._asdict().items()} for tier in rate.tiers]
    return {"egress": str(rate.egress), "ingress": str(rate.ingress), "tiers": tiers}


@cache
def price_list(name: str) -> Prices:
    """A cloud's prices between zones of one region, by a name of ``BUILT_IN``.

    >>> price_list("gcp").rate("a", "b"), price_list("gcp").unit
    (Rate(egress=Decimal('0.01'), ingress=Decimal('0'), tiers=()), 'GiB')
    """
    file = f"{name}.toml"
    return read_prices((LISTS / file).read_text(encoding="utf-8"), file)


class TierLine(msgspec.Struct, forbid_unknown_fields=True):
    """A tier in a prices file. Omitted parts are those of its rate."""

    above: Decimal
    egress: Decimal | None = None
    ingress: Decimal | None = None


class PairLine(msgspec.Struct, forbid_unknown_fields=True):
    """A pair of racks in a prices file: ``from`` and ``to`` for one direction, or ``between`` for both."""

    sender: str | None = msgspec.field(default=None, name="from")
    receiver: str | None = msgspec.field(default=None, name="to")
    between: tuple[str, str] | None = None
    egress: Decimal | None = None
    ingress: Decimal | None = None
    tiers: list[TierLine] = []


class PricesFile(msgspec.Struct, forbid_unknown_fields=True):
    """A prices file."""

    currency: Annotated[str, msgspec.Meta(pattern=r"^\S.{0,7}$")] = "$"
    unit: Literal["GB", "GiB"] = "GB"
    egress: Decimal = CENT
    ingress: Decimal = CENT
    tiers: list[TierLine] = []
    free_replication: bool = False
    pairs: list[PairLine] = []
    store: StoreFees = NO_FEES
    source: str = ""
    dated: str = ""


def read_prices(text: str, name: str) -> Prices:
    """The prices in a file's text: TOML if its name ends in ``.toml``, else JSON.

    Args:
        name: the file's name, for messages.

    Raises: InputError: an invalid file; the message has the place and the expected value.

    >>> prices = read_prices(
    ...     'egress = 0.01\\ningress = 0\\n[[pairs]]\\nbetween = ["a", "b"]\\negress = 0.002', "p.toml"
    ... )
    >>> str(prices.rate("b", "a").both), str(prices.rate("a", "c").both)
    ('0.002', '0.01')
    """
    try:
        if name.endswith(".toml"):
            found = msgspec.convert(tomllib.loads(text, parse_float=Decimal), PricesFile)
        else:
            found = msgspec.json.decode(text, type=PricesFile)
    except (msgspec.MsgspecError, tomllib.TOMLDecodeError, InvalidOperation, ValueError, RecursionError) as error:
        raise InputError(f"{name}: {printable(str(error))}") from None
    default = rate_of(found, CENT_EACH, name)
    for fee in (found.store.put, found.store.get):
        amount(fee, NOTHING, f"{name}: store")
    pairs, source = pairs_of(found.pairs, default, name), (found.source, found.dated)
    return Prices(found.currency, found.unit, default, pairs, found.free_replication, *source, found.store)


def pairs_of(lines: Iterable[PairLine], default: Rate, name: str) -> dict[tuple[str, str], Rate]:
    """Each direction's price. Omitted parts of a pair are the default's."""
    rates: dict[tuple[str, str], Rate] = {}
    for number, line in enumerate(lines, start=1):
        where = f"{name}, pair {number}"
        ways = [line.between, line.between[::-1]] if line.between else [(line.sender or "", line.receiver or "")]
        if not all(rack for way in ways for rack in way) or (line.between and (line.sender or line.receiver)):
            raise InputError(f'{where}: expected from and to, or between with two racks: between = ["az-a", "az-b"]')
        rate = rate_of(line, default, where)
        for way in ways:
            if rates.setdefault(way, rate) != rate:
                raise InputError(f"{where}: {way[0]} to {way[1]} has another price in a pair before")
    return rates


def rate_of(line: PricesFile | PairLine, default: Rate, where: str) -> Rate:
    base = Rate(amount(line.egress, default.egress, where), amount(line.ingress, default.ingress, where))
    tiers = tuple(
        Tier(tier.above, amount(tier.egress, base.egress, where), amount(tier.ingress, base.ingress, where))
        for tier in line.tiers
    )
    above = [NOTHING, *(tier.above for tier in tiers)]
    if not all(one.is_finite() for one in above) or any(one >= other for one, other in pairwise(above)):
        raise InputError(f"{where}: tiers: expected each above more than the one before")
    return base._replace(tiers=tiers)


def amount(value: Decimal | None, default: Decimal, where: str) -> Decimal:
    """A valid price, the default if omitted. Raises InputError."""
    found = default if value is None else value
    if not found.is_finite() or not 0 <= found <= 10**6 or found.normalize().as_tuple().exponent < -9:  # type: ignore[operator]
        raise InputError(f"{where}: expected a price from 0 to 1,000,000 with at most 9 decimals, got {found}")
    return found
