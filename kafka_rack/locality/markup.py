"""What the page about racks is written with: text that is escaped, names that can be seen, amounts in words, tables.

Names in a capture are what anybody sent: ``html`` and ``text`` escape whatever is not ``Html`` already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from typing import Any, NamedTuple

from kafka_rack.locality.amounts import Pace, bytes_text

LOCALITIES = {"cross": "crossed racks", "unknown": "unknown", "local": "stayed in a rack"}
"""In the order in which bars are stacked: what matters most from the base line."""
MAX_NAME_CHARACTERS, MAX_TITLE_CHARACTERS = 64, 400


class Html(str):
    """Text that is a part of a page as it is."""

    __slots__ = ()


def seen(given: str) -> str:
    r"""A text of which every character can be seen.

    >>> print(seen("a\x00\u202e"))
    a\x00\u202e
    """
    if given.isprintable():
        return given
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in given)


def text(given: object) -> Html:
    r"""Anything as a part of the page: markup escaped, and what cannot be seen written out.

    >>> print(text("<b>\x00\u202e'"), text("az-ä"), text(Html("<br>")))
    &lt;b&gt;\x00\u202e&#x27; az-ä <br>
    """
    return given if isinstance(given, Html) else Html(escape(seen(str(given))))


def html(form: str, *parts: object) -> Html:
    """A form with parts in the places of its braces.

    >>> html("<b>{}</b>", "a < b")
    '<b>a &lt; b</b>'
    """
    return Html(form.format(*map(text, parts)))


def joined(parts: Iterable[object]) -> Html:
    """Parts one after the other."""
    return Html("".join(map(text, parts)))


@dataclass(frozen=True, slots=True)
class Terms:
    """In what amounts are shown: the currency, and the pace that makes a month of them."""

    currency: str
    pace: Pace

    @property
    def period(self) -> str:
        """What amounts of money are for: a month, unless the captures are too short."""
        return self.pace.heading

    def money(self, amount: str | Decimal) -> Html:
        """What an amount in the captures comes to in ``period``."""
        return text(self.pace.money(Decimal(amount), self.currency))


def name(given: str | None, absent: str) -> Html:
    """A name, in italics what stands for none or for an empty one; long ones cut, with more when pointed at."""
    if given is None:
        return html("<i>{}</i>", absent)
    if not given.strip():
        return html("<code>{}</code>", repr(given)) if given else Html("<i>empty</i>")
    if len(given) <= MAX_NAME_CHARACTERS:
        return text(given)
    return html('<span title="{}">{}…</span>', given[:MAX_TITLE_CHARACTERS], given[:MAX_NAME_CHARACTERS])


def short(given: str | None, longest: int) -> Html:
    """A name for a picture: plain words, cut to a length."""
    if given is None:
        return Html("unknown")
    plain = seen(given)
    return text(plain if len(plain) <= longest else plain[: longest - 1] + "…")


class PageTable(NamedTuple):
    """A table of cells. ``classes``: column's heading -> class of its cells."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    classes: Mapping[str, str]

    def as_html(self) -> Html:
        kinds = [html(' class="{}"', self.classes[title]) if title in self.classes else "" for title in self.head]
        heads = [html('<th scope="col"{}>{}</th>', kind, title) for kind, title in zip(kinds, self.head, strict=True)]
        rows = [
            html("<tr>{}</tr>\n", joined(html("<td{}>{}</td>", *pair) for pair in zip(kinds, row, strict=True)))
            for row in self.rows
        ]
        return html(
            '<div class="wide"><table><caption>{}</caption>\n<thead><tr>{}</tr></thead>\n'
            "<tbody>\n{}</tbody></table></div>",
            self.caption,
            joined(heads),
            joined(rows),
        )


def split_text(row: Mapping[str, Any]) -> Html:
    """Where a row's bytes went, in words, as markup."""
    told = [f"{bytes_text(row[f'{way}_bytes'])} {words}" for way, words in LOCALITIES.items() if row[f"{way}_bytes"]]
    return text(", ".join(told) or "no bytes")
