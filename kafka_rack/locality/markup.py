"""Parts of the page: escaped text, names with only visible characters, amounts as text, tables.

Names in a capture are untrusted input of clients: ``html`` and ``text`` escape everything that is not ``Html``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from typing import Any

from kafka_rack.locality.amounts import Pace, bytes_text

LOCALITIES = {"cross": "crossed racks", "unknown": "unknown", "local": "stayed in a rack"}
"""In the order in which bars are stacked, the most important at the base."""
MAX_NAME_CHARACTERS, MAX_TITLE_CHARACTERS = 64, 400


class Html(str):
    """Text that is markup and needs no escaping."""

    __slots__ = ()


def seen(given: str) -> str:
    r"""A text with escapes for invisible characters.

    >>> print(seen("a\x00\u202e"))
    a\x00\u202e
    """
    if given.isprintable():
        return given
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in given)


def text(given: object) -> Html:
    r"""Any value as markup: escaped, with escapes for invisible characters too.

    >>> print(text("<b>\x00\u202e'"), text("az-ä"), text(Html("<br>")))
    &lt;b&gt;\x00\u202e&#x27; az-ä <br>
    """
    return given if isinstance(given, Html) else Html(escape(seen(str(given))))


def html(form: str, *parts: object) -> Html:
    """A template with parts in place of its braces.

    >>> html("<b>{}</b>", "a < b")
    '<b>a &lt; b</b>'
    """
    return Html(form.format(*map(text, parts)))


def joined(parts: Iterable[object]) -> Html:
    """The concatenated parts."""
    return Html("".join(map(text, parts)))


@dataclass(frozen=True, slots=True)
class Terms:
    """The units of amounts: the currency, and the pace that scales them to a month."""

    currency: str
    pace: Pace

    @property
    def period(self) -> str:
        """The period of amounts of money: a month, unless the captures are too short."""
        return self.pace.heading

    def money(self, amount: str | Decimal) -> Html:
        """An amount of the captures, scaled to a ``period``."""
        return text(self.pace.money(Decimal(amount), self.currency))


def name(given: str | None, absent: str) -> Html:
    """A name, or in italics the text for a missing or empty one; a long name is cut, with more of it in its title."""
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
    """A table whose last columns are numbers; a sentence if it has no rows."""
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
    """A row's bytes by locality, as markup."""
    told = [f"{bytes_text(row[f'{way}_bytes'])} {words}" for way, words in LOCALITIES.items() if row[f"{way}_bytes"]]
    return text(", ".join(told) or "no bytes")
