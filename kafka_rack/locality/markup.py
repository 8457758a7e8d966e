"""What the page about racks is written with: names made harmless, amounts in words, tables, style.

Names in a capture are what anybody sent: all that becomes a part of the page goes through ``text`` or ``name``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from typing import Any

from kafka_rack.locality.amounts import bytes_text, in_a_month, money_text

LOCALITIES = {"cross": "crossed racks", "unknown": "unknown", "local": "stayed in a rack"}
"""In the order in which bars are stacked: what matters most from the base line."""
LONGEST_NAME, LONGEST_TITLE = 64, 400
STYLE = """
:root{color-scheme:light dark;--ink:#24292f;--soft:#606a75;--line:#d8dee4;--page:#fff;--card:#f6f8fa;
--cross:#d9742b;--unknown:#9aa3ad;--local:#2a9d8f;--warn:#fff4e0}
@media (prefers-color-scheme:dark){:root{--ink:#e3e7eb;--soft:#9aa5b1;--line:#39424c;--page:#14181d;--card:#1d232a;
--cross:#e58b45;--unknown:#727c87;--local:#36b3a3;--warn:#3a2f1c}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:1100px;margin:0 auto;
padding:24px}
h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:36px 0 6px}p{margin:6px 0}
.soft,i{color:var(--soft)}i{font-style:italic}
nav a{color:var(--soft);margin-right:14px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(215px,1fr));gap:12px;margin:18px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px}
.card b{display:block;font-size:27px;line-height:1.3}.card span{display:block;font-size:13px;color:var(--soft)}
.note{background:var(--warn);border-radius:6px;padding:6px 12px;margin:6px 0}
.legend span{margin-right:18px;white-space:nowrap}.legend svg{vertical-align:-1px;margin-right:6px}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;margin:8px 0;font-size:13.5px}
caption{text-align:left;color:var(--soft);padding-bottom:4px}
th{font-weight:600;color:var(--soft);text-align:left;vertical-align:bottom}
td,th{padding:4px 10px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}
td:first-child,pre{overflow-wrap:anywhere}td:first-child{min-width:96px}
.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td.bar{width:190px;vertical-align:middle}
pre{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:10px 14px;white-space:pre-wrap}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}svg .soft{fill:var(--soft)}
svg .cross{fill:var(--cross)}svg .unknown{fill:var(--unknown)}svg .local{fill:var(--local)}
svg .grid{stroke:var(--line)}svg .empty{fill:var(--card)}
summary{cursor:pointer;color:var(--soft)}
@media screen and (max-width:760px){body{padding:14px}.wide table,.wide svg[width="100%"]{min-width:720px}}
@media print{:root{color-scheme:light;--ink:#000;--soft:#444;--line:#bbb;--page:#fff;--card:#fff;--cross:#d9742b;
--unknown:#9aa3ad;--local:#2a9d8f;--warn:#fff}body{max-width:none;padding:0;font-size:11px}nav{display:none}
table{font-size:10px}.cards{grid-template-columns:repeat(4,1fr)}.card b{font-size:20px}
tr,.card,.figure{break-inside:avoid}h2{break-after:avoid}.wide{overflow:visible}
.wide svg{max-width:100%;height:auto}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""


@dataclass(frozen=True, slots=True)
class Terms:
    """In what amounts are told: the currency, and the microseconds that the captures cover."""

    currency: str
    span_us: int

    @property
    def period(self) -> str:
        """What amounts of money are for: a month, where captures that cover some time allow to say so."""
        return "a month" if self.span_us > 0 else "in the captures"

    def money(self, amount: str | Decimal) -> str:
        """What an amount in the captures comes to in ``period``."""
        captured = Decimal(amount)
        month = in_a_month(captured, self.span_us)
        return self.captured(captured if month is None else month)

    def captured(self, amount: str | Decimal) -> str:
        """An amount as it is."""
        return text(money_text(Decimal(amount), self.currency))

    def size(self, size: int) -> str:
        """Bytes in ``period``."""
        month = in_a_month(size, self.span_us)
        return bytes_text(size if month is None else month)


def text(given: object) -> str:
    r"""Anything as a part of the page: markup escaped, and what cannot be seen written out.

    >>> text("<b>\x00\u202e'"), text("az-ä")
    ('&lt;b&gt;\\x00\\u202e&#x27;', 'az-ä')
    """
    return escape(seen(str(given)))


def seen(given: str) -> str:
    """The same without the escapes of HTML: for what goes through them later."""
    if given.isprintable():
        return given
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in given)


def name(given: str | None, absent: str) -> str:
    """A name, in italics what stands for none or for an empty one; long ones cut, with more when pointed at."""
    if given is None:
        return f"<i>{text(absent)}</i>"
    if not given.strip():
        return "<i>empty</i>" if not given else f"<code>{text(repr(given))}</code>"
    if len(given) <= LONGEST_NAME:
        return text(given)
    return f'<span title="{text(given[:LONGEST_TITLE])}">{text(given[:LONGEST_NAME])}…</span>'


def short(given: str | None, longest: int) -> str:
    """A name for a picture: plain words, cut to a length."""
    if given is None:
        return "unknown"
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


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], classes: Mapping[str, str]) -> str:
    """A table of cells that are markup already. ``classes``: column's heading -> class of its cells."""
    kinds = [f' class="{classes[title]}"' if title in classes else "" for title in head]
    heads = "".join(f'<th scope="col"{kind}>{text(title)}</th>' for title, kind in zip(head, kinds, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{kind}>{cell}</td>" for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table><caption>{text(caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def split_text(row: Mapping[str, Any]) -> str:
    """Where a row's bytes went, in words, as markup."""
    told = [f"{bytes_text(row[f'{way}_bytes'])} {words}" for way, words in LOCALITIES.items() if row[f"{way}_bytes"]]
    return text(", ".join(told) or "no bytes")
