"""What a byte costs on its way from one rack to another.

Clouds charge by who sends and who receives, so a price has two halves: the sender's egress and the receiver's ingress.
``price_lists`` has those of AWS (the default: 0.01 $/GB each way), GCP and Azure, dated and with their source; a
contract may differ: a prices file says what yours are. Amounts are Decimal throughout: 18 places, of which sums lose
none.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from kafka_rack.errors import InputError

UNITS = {"GB": 10**9, "GiB": 2**30}
"""Bytes of what a price is for."""
CENT = Decimal("0.01")
NOTHING = Decimal(0)
PLACES = Decimal(1).scaleb(-18)
EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)
BUILT_IN = ("aws", "gcp", "azure")
"""Price lists of clouds, by the names that ``--prices`` takes."""
FILE_KEYS = ("currency", "unit", "egress", "ingress", "free_replication", "pairs", "source", "dated")
PAIR_KEYS = ("from", "to", "between", "egress", "ingress")
MAX_CURRENCY_CHARACTERS = 8


class Rate(NamedTuple):
    """Money for one unit of bytes: the sender's part and the receiver's."""

    egress: Decimal
    ingress: Decimal

    @property
    def both(self) -> Decimal:
        return self.egress + self.ingress


FREE = Rate(NOTHING, NOTHING)
CENT_EACH = Rate(CENT, CENT)


@dataclass(frozen=True, slots=True)
class Prices:
    """What crossing costs. ``unit`` is GB (10^9 bytes) or GiB (2^30).

    ``default`` holds for two different racks that ``pairs``, (from, to) -> rate, does not have; bytes that stay in
    their rack are free unless ``pairs`` has the rack with itself. ``source`` and ``dated`` say where prices are from.
    """

    currency: str = "$"
    unit: str = "GB"
    default: Rate = CENT_EACH
    pairs: Mapping[tuple[str, str], Rate] = field(default_factory=dict)
    free_replication: bool = False
    source: str = ""
    dated: str = ""

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
        """What the bytes cost, both halves together, to 18 places.

        >>> Prices().cost("az-a", "az-b", 3_000_000_000)
        Decimal('0.060000000000000000')
        """
        if replication and self.free_replication:
            return NOTHING
        return self._money(self.rate(sender, receiver).both, size_bytes)

    def at_most(self, size_bytes: int) -> Decimal:
        """What bytes cost at most whose racks are not known: the highest price that there is."""
        highest = max([self.default.both, *(rate.both for rate in self.pairs.values())])
        return self._money(highest, size_bytes)

    def _money(self, price: Decimal, size_bytes: int) -> Decimal:
        whole = EXACT.multiply(price, Decimal(size_bytes))
        return EXACT.divide(whole, Decimal(UNITS[self.unit])).quantize(PLACES, context=EXACT)

    def racks(self) -> set[str]:
        """Every rack that has a price of its own."""
        return {rack for pair in self.pairs for rack in pair}

    def with_free_replication(self) -> Prices:
        return replace(self, free_replication=True)

    def as_json(self) -> dict[str, Any]:
        """The prices as a file of them would have them, amounts as text."""
        return {
            "currency": self.currency,
            "unit": self.unit,
            "unit_bytes": UNITS[self.unit],
            "egress": str(self.default.egress),
            "ingress": str(self.default.ingress),
            "free_replication": self.free_replication,
            "source": self.source,
            "dated": self.dated,
            "pairs": [
                {"from": sender, "to": receiver, "egress": str(rate.egress), "ingress": str(rate.ingress)}
                for (sender, receiver), rate in sorted(self.pairs.items())
            ],
        }


@cache
def price_list(name: str) -> Prices:
    """A cloud's prices between zones of one region, by a name of ``BUILT_IN``.

    >>> price_list("gcp").rate("a", "b"), price_list("gcp").unit
    (Rate(egress=Decimal('0.01'), ingress=Decimal('0')), 'GiB')
    """
    file = f"{name}.toml"
    return read_prices((files(__package__) / "price_lists" / file).read_text(encoding="utf-8"), file)


def read_prices(text: str, name: str) -> Prices:
    """Prices out of a file's text: TOML where its name ends so, else JSON.

    Args:
        name: the file's, for messages.

    Raises: InputError: what is wrong, where, and what would be right.

    >>> prices = read_prices(
    ...     'egress = 0.01\\ningress = 0\\n[[pairs]]\\nbetween = ["a", "b"]\\negress = 0.002', "p.toml"
    ... )
    >>> str(prices.rate("b", "a").both), str(prices.rate("a", "c").both)
    ('0.002', '0.01')
    """
    try:
        if name.endswith(".toml"):
            found = tomllib.loads(text, parse_float=Decimal)
        else:
            found = json.loads(text, parse_float=Decimal)
    except json.JSONDecodeError as error:
        raise InputError(f"{name}, line {error.lineno}, column {error.colno}: no JSON: {error.msg}") from None
    except (tomllib.TOMLDecodeError, InvalidOperation, ValueError, RecursionError) as error:
        raise InputError(f"{name}: not as {'TOML' if name.endswith('.toml') else 'JSON'} is: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"{name}: expected an object with {', '.join(FILE_KEYS)}, got {kind(found)}")
    return prices_of(found, name)


def prices_of(found: Mapping[str, Any], name: str) -> Prices:
    known_keys(found, FILE_KEYS, name)
    currency = found.get("currency", "$")
    if not isinstance(currency, str) or not 0 < len(currency.strip()) <= MAX_CURRENCY_CHARACTERS:
        raise InputError(
            f"{name}: currency: expected 1 to {MAX_CURRENCY_CHARACTERS} letters or a sign, got {currency!r}"
        )
    unit = found.get("unit", "GB")
    if not isinstance(unit, str) or unit not in UNITS:
        raise InputError(f"{name}: unit: expected GB (10^9 bytes) or GiB (2^30 bytes), got {unit!r}")
    free = found.get("free_replication", False)
    if not isinstance(free, bool):
        raise InputError(f"{name}: free_replication: expected true or false, got {free!r}")
    texts = {key: found.get(key, "") for key in ("source", "dated")}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise InputError(f"{name}: {key}: expected text, got {value!r}")
    default = rate_of(found, CENT_EACH, name)
    pairs = found.get("pairs", [])
    if not isinstance(pairs, list):
        raise InputError(f"{name}: pairs: expected a list of objects with {', '.join(PAIR_KEYS)}, got {kind(pairs)}")
    return Prices(currency.strip(), unit, default, pairs_of(pairs, default, name), free, **texts)


def pairs_of(pairs: list[Any], default: Rate, name: str) -> dict[tuple[str, str], Rate]:
    """Each direction's price. A half that a pair leaves out is the default's."""
    rates: dict[tuple[str, str], Rate] = {}
    said_by: dict[tuple[str, str], int] = {}
    for number, one in enumerate(pairs, start=1):
        where = f"{name}, pair {number}"
        if not isinstance(one, dict):
            raise InputError(f"{where}: expected an object with {', '.join(PAIR_KEYS)}, got {kind(one)}")
        known_keys(one, PAIR_KEYS, where)
        rate = rate_of(one, default, where)
        for direction in directions(one, where):
            if rates.get(direction, rate) != rate:
                sender, receiver = direction
                raise InputError(f"{where}: {sender} to {receiver} has another price than in pair {said_by[direction]}")
            rates[direction] = rate
            said_by[direction] = number
    return rates


def directions(one: Mapping[str, Any], where: str) -> list[tuple[str, str]]:
    """``from`` and ``to`` are one direction, ``between`` two."""
    between = one.get("between")
    if (between is None) == ("from" not in one and "to" not in one):
        raise InputError(f'{where}: either from and to, or between with two racks, as between = ["az-a", "az-b"]')
    if between is not None:
        if not isinstance(between, list) or len(between) != 2:
            raise InputError(f"{where}: between: expected a list of two racks, got {between!r}")
        first, second = (rack_of(rack, "between", where) for rack in between)
        return sorted({(first, second), (second, first)})
    return [(rack_of(one.get("from"), "from", where), rack_of(one.get("to"), "to", where))]


def rack_of(found: Any, key: str, where: str) -> str:
    if not isinstance(found, str) or not found:
        raise InputError(f"{where}: {key}: expected a rack's name, got {found!r}")
    return found


def rate_of(found: Mapping[str, Any], default: Rate, where: str) -> Rate:
    return Rate(
        amount(found.get("egress", default.egress), "egress", where),
        amount(found.get("ingress", default.ingress), "ingress", where),
    )


def amount(found: Any, key: str, where: str) -> Decimal:
    """A price; text is taken too, since some writers of JSON have no exact numbers."""
    try:
        if isinstance(found, bool) or not isinstance(found, int | str | Decimal):
            raise InvalidOperation
        value = Decimal(found)
        if not value.is_finite() or value < 0 or value > 10**6 or value.normalize().as_tuple().exponent < -9:  # type: ignore[operator]
            raise InvalidOperation
    except InvalidOperation:
        shown = str(found) if isinstance(found, Decimal) else repr(found)
        raise InputError(f"{where}: {key}: expected a price from 0 with at most 9 decimals, got {shown}") from None
    return value


def known_keys(found: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in found:
        if key not in known:
            raise InputError(f"{where}: unknown key {key!r}; there are {', '.join(known)}")


def kind(found: Any) -> str:
    return {list: "a list", dict: "an object", str: "text", bool: "true or false", type(None): "null"}.get(
        type(found), "a number"
    )
