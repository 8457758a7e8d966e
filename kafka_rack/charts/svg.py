"""What pictures are made of: SVG elements as text, with all that is not ours escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

TEXT_COLOUR = "#333333"
SWATCH, LETTER = 10, 6
"""Pixels: the side of a colour in a legend, and about a letter's width in its size."""


def text(x: float, y: float, content: str, **more: str | int) -> str:
    """A line of text; ``font_size`` stands for SVG's ``font-size``.

    >>> text(10, 18, "a < b", font_size=13)
    '<text x="10" y="18" font-size="13">a &lt; b</text>'
    """
    return f'<text x="{x:g}" y="{y:g}"{attributes(**more)}>{escape(content)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str, title: str | None = None, **more: str | int) -> str:
    """A rectangle; ``title`` is what browsers show over it and screen readers say."""
    start = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{escape(fill)}"{attributes(**more)}'
    return f"{start}/>" if title is None else f"{start}><title>{escape(title)}</title></rect>"


def attributes(**more: str | int) -> str:
    return "".join(f' {name.replace("_", "-")}="{escape(str(value))}"' for name, value in more.items())


def legend(entries: Sequence[tuple[str, str]], x: float, y: float) -> tuple[list[str], float]:
    """What colours mean, one behind the other, and where the last ends. ``edge:#c62828`` is a frame in that colour."""
    parts = []
    for fill, meaning in entries:
        parts.append(swatch(fill, x, y))
        parts.append(text(x + SWATCH + 4, y + SWATCH - 1, meaning))
        x += SWATCH + 4 + LETTER * len(meaning) + 14
    return parts, x


def swatch(fill: str, x: float, y: float) -> str:
    if fill.startswith("edge:"):
        return box(x + 1, y + 1, SWATCH - 2, SWATCH - 2, "none", stroke=fill.removeprefix("edge:"), stroke_width=2)
    return box(x, y, SWATCH, SWATCH, fill)


def document(width: float, height: float, parts: Iterable[str]) -> str:
    """A whole picture on white."""
    size = f'width="{width:g}" height="{height:g}"'
    style = f'viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" font-size="10" fill="{TEXT_COLOUR}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>'
    return "\n".join([start, f'<rect {size} fill="white"/>', *parts, "</svg>", ""])
