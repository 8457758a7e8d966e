"""Parts of the page about racks: escaped text, names of which every character is visible, amounts in words, tables.

Names in a capture are whatever a client sent: ``html`` and ``text`` escape everything that is not ``Html`` already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from typing import Any

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
        """The period of amounts of money: a month, unless the captures are too short."""
        return self.pace.heading

    def money(self, amount: str | Decimal) -> Html:
        """An amount of the captures as that of a ``period``."""
        return text(self.pace.money(Decimal(amount), self.currency))


def name(given: str | None, absent: str) -> Html:
    """A name, in italics the word for none or an empty one; a long one is cut, and its title has more of it."""
    if given is None:
        return html("<i>{}</i>", absent)
    if not given.strip():
        return html("<code>{}</code>", repr(given)) if given else Html("<i>empty</i>")
    if len(given) <= MAX_NAME_CHARACTERS:
        return text(given)
    return html('<span title="{}">{}…</span>', given[:MAX_TITLE_CHARACTERS], given[:MAX_NAME_CHARACTERS])


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], numbers: int, otherwise: str = "", caption: str = ""
) -> Html:
    """A table whose last columns are numbers, or a sentence if it has no rows."""
    if not rows:
        return html("<p>{}</p>", otherwise) if otherwise else Html("")
    kinds = [*[""] * (len(head) - numbers), *[Html(' class="number"')] * numbers]

    def line(kind: str, cells: Sequence[str]) -> Html:
        form = f"<{kind}{{}}>{{}}</{kind[:2]}>"
        return html("<tr>{}</tr>\n", joined(html(form, *pair) for pair in zip(kinds, cells, strict=True)))

    return html(
        '<div class="wide"><table>{}<thead>{}</thead>\n<tbody>\n{}</tbody></table></div>',
        html("<caption>{}</caption>\n", caption) if caption else "",
        line('th scope="col"', head),
        joined(line("td", row) for row in rows),
    )


def split_text(row: Mapping[str, Any]) -> Html:
    """Where a row's bytes went, in words, as markup."""
    told = [f"{bytes_text(row[f'{way}_bytes'])} {words}" for way, words in LOCALITIES.items() if row[f"{way}_bytes"]]
    return text(", ".join(told) or "no bytes")
