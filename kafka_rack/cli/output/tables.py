"""Plain tables for people: the one place where columns are aligned."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from unicodedata import combining, east_asian_width

from kafka_rack.printable import printable

GAP = 2
"""Blanks between two columns."""


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns aligned: numbers to the right, text to the left; on a terminal too narrow for them cells are folded.

    >>> print(table(["broker", "rack"], [[1, "a"], [12, None]]))
    broker  rack
         1  a
        12  -
    """
    texts = [[cell(value) for value in row] for row in rows]
    right = [all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(columns))]
    room = terminal_columns() if sys.stdout is not None and sys.stdout.isatty() else None
    return aligned([printable(name) for name in columns], texts, right, room)


def aligned(
    heading: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[bool],
    room: int | None,
    painted: Sequence[Sequence[str | None]] | None = None,
) -> str:
    """Rows of texts in columns; cells are folded if the table is wider than ``room``.

    Args:
        right: whether a column is aligned to the right.
        painted: cells with a terminal's codes, None for plain ones; with it a line is drawn under the heading.
    """
    widths = [max(columns_of(row[at]) for row in (heading, *rows)) for at in range(len(heading))]
    widths = fitted(widths, None if room is None else room - GAP * (len(widths) - 1))
    lines = lines_of(heading, widths, right, None)
    if painted is not None:
        lines.append("─" * (sum(widths) + GAP * (len(widths) - 1)))
    for at, row in enumerate(rows):
        lines += lines_of(row, widths, right, painted[at] if painted is not None else None)
    return "\n".join(lines)


def lines_of(
    cells: Sequence[str], widths: Sequence[int], right: Sequence[bool], painted: Sequence[str | None] | None
) -> list[str]:
    """A row as lines, as many as its tallest cell has."""
    folds = [folded(text, width) for text, width in zip(cells, widths, strict=True)]
    lines = []
    for number in range(max(map(len, folds))):
        pieces = []
        for at, fold in enumerate(folds):
            text = fold[number] if number < len(fold) else ""
            shown = padded(text, widths[at], right[at])
            if painted is not None and painted[at] is not None and len(fold) == 1 and text:
                shown = shown.replace(text, painted[at] or "")
            pieces.append(shown)
        lines.append((" " * GAP).join(pieces).rstrip())
    return lines


def fitted(widths: Sequence[int], room: int | None) -> list[int]:
    """Widths of columns that fit into so many columns together: the widest become narrower.

    >>> fitted([4, 30, 20], 34)
    [4, 15, 15]
    """
    found = list(widths)
    while room is not None and sum(found) > room and max(found) > 1:
        widest = max(found)
        several = [at for at, width in enumerate(found) if width == widest]
        below = max((width for width in found if width < widest), default=1)
        least = max(below, widest - -(-(sum(found) - room) // len(several)), 1)
        for at in several:
            found[at] = least
    return found


def folded(text: str, width: int) -> list[str]:
    """A cell's text in lines of so many columns, between words where it can be; nothing of it is lost.

    >>> folded("who served whom", 10), folded("abcdef", 4)
    (['who served', 'whom'], ['abcd', 'ef'])
    """
    from textwrap import wrap  # here, as few terminals are too narrow

    if columns_of(text) <= width:
        return [text]
    return wrap(text, width if text.isascii() else max(1, width // 2), break_on_hyphens=False)


class TableLines:
    r"""A table whose rows come one by one, so its columns have their widths beforehand; longer cells push the rest on.

    >>> lines = TableLines({"rack": 4, "bytes": 6, "verdict": 0}, right=["bytes"])
    >>> print(lines.heading(), lines.line(["a", 17, "cross"]), sep="\n")
    rack   bytes  verdict
    a         17  cross
    """

    def __init__(self, widths: Mapping[str, int], *, right: Collection[str] = ()) -> None:
        self._widths = widths
        self._right = right

    def heading(self) -> str:
        return self.line(list(self._widths))

    def line(self, cells: Sequence[object]) -> str:
        aligned = (
            padded(cell(value), width, name in self._right)
            for value, (name, width) in zip(cells, self._widths.items(), strict=True)
        )
        return (" " * GAP).join(aligned).rstrip()


def padded(text: str, width: int, to_right: bool) -> str:
    blanks = " " * (width - columns_of(text))
    return blanks + text if to_right else text + blanks


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes; a sign of Chinese or Japanese takes two.

    >>> columns_of("rack"), columns_of("東京")
    (4, 4)
    """
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(letter) in "WF" else not combining(letter) for letter in text)


def cell(value: object) -> str:
    """One value: floats with four significant digits, nothing as a dash, control characters as escapes."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))


def terminal_columns() -> int:
    """The columns of the terminal, or those that COLUMNS sets; 80 without a terminal."""
    text = os.environ.get("COLUMNS", "")
    if text.isdigit() and int(text) > 0:
        return int(text)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80
