"""What the page about racks is written with: names that can be seen, amounts in words, tables.

Names in a capture are what anybody sent. Templates escape whatever is no ``Markup``; pictures have ``text`` do it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from kafka_rack.locality.amounts import bytes_text, in_a_month, money_text
from kafka_rack.page_templates import seen

LOCALITIES = {"cross": "crossed racks", "unknown": "unknown", "local": "stayed in a rack"}
"""In the order in which bars are stacked: what matters most from the base line."""
MAX_NAME_CHARACTERS, MAX_TITLE_CHARACTERS = 64, 400


@dataclass(frozen=True, slots=True)
class Terms:
    """In what amounts are told: the currency, and the microseconds that the captures cover."""

    currency: str
    span_us: int

    @property
    def period(self) -> str:
        """What amounts of money are for: a month, where captures that cover some time allow to say so."""
        return "a month" if self.span_us > 0 else "in the captures"

    def money(self, amount: str | Decimal) -> Markup:
        """What an amount in the captures comes to in ``period``."""
        captured = Decimal(amount)
        month = in_a_month(captured, self.span_us)
        return self.captured(captured if month is None else month)

    def captured(self, amount: str | Decimal) -> Markup:
        """An amount as it is."""
        return text(money_text(Decimal(amount), self.currency))

    def size(self, size: int) -> str:
        """Bytes in ``period``."""
        month = in_a_month(size, self.span_us)
        return bytes_text(size if month is None else month)


def text(given: object) -> Markup:
    r"""Anything as a part of the page: markup escaped, and what cannot be seen written out.

    >>> print(text("<b>\x00\u202e'"), text("az-ä"))
    &lt;b&gt;\x00\u202e&#39; az-ä
    """
    return escape(seen(str(given)))


def name(given: str | None, absent: str) -> Markup:
    """A name, in italics what stands for none or for an empty one; long ones cut, with more when pointed at."""
    if given is None:
        return Markup("<i>{}</i>").format(seen(absent))
    if not given.strip():
        return Markup("<code>{}</code>").format(seen(repr(given))) if given else Markup("<i>empty</i>")
    if len(given) <= MAX_NAME_CHARACTERS:
        return text(given)
    title, start = seen(given[:MAX_TITLE_CHARACTERS]), seen(given[:MAX_NAME_CHARACTERS])
    return Markup('<span title="{}">{}…</span>').format(title, start)


def short(given: str | None, longest: int) -> Markup:
    """A name for a picture: plain words, cut to a length."""
    if given is None:
        return Markup("unknown")
    plain = seen(given)
    return text(plain if len(plain) <= longest else plain[: longest - 1] + "…")


def share(part: int, whole: int) -> str:
    """A part in percent.

    >>> share(1, 3), share(0, 0), share(1, 10_000), share(9_999, 10_000)
    ('33.3 %', '0 %', 'under 0.1 %', 'over 99.9 %')
    """
    if part <= 0 or whole <= 0:
        return "0 %"
    if part >= whole:
        return "100 %"
    percent = 100 * part / whole
    if percent < 0.1:
        return "under 0.1 %"
    return "over 99.9 %" if percent > 99.9 else f"{percent:.1f} %"


class PageTable(NamedTuple):
    """A table of cells that are text, or markup already. ``classes``: column's heading -> class of its cells."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    classes: Mapping[str, str]


def split_text(row: Mapping[str, Any]) -> Markup:
    """Where a row's bytes went, in words, as markup."""
    told = [f"{bytes_text(row[f'{way}_bytes'])} {words}" for way, words in LOCALITIES.items() if row[f"{way}_bytes"]]
    return text(", ".join(told) or "no bytes")
