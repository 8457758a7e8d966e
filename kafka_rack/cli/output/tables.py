"""Plain tables for people: the one place where columns are aligned."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence

from kafka_rack.printable import printable

GAP = 2
"""Blanks between two columns."""
MAX_FOLDED = 1_000
"""Rows of a table that is fitted to the terminal, which takes about a millisecond a row; larger ones are as wide as
they are."""


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns aligned: numbers to the right, text to the left; on a terminal too narrow for them cells are folded.

    >>> print(table(["broker", "rack"], [[1, "a"], [12, None]]))
    broker  rack
         1  a
        12  -
    """
    texts = [[cell(value) for value in row] for row in rows]
    heading = [printable(name) for name in columns]
    widths = [max(columns_of(row[at]) for row in (heading, *texts)) for at in range(len(columns))]
    right = [all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(columns))]
    room = terminal_columns() if sys.stdout is not None and sys.stdout.isatty() else None
    if room is not None and sum(widths) + GAP * (len(widths) - 1) > room and len(rows) <= MAX_FOLDED:
        from kafka_rack.cli.output.console import folded  # rich is loaded where it has something to do

        return folded(heading, texts, right, room)
    return "\n".join(
        (" " * GAP).join(padded(*one) for one in zip(line, widths, right, strict=True)).rstrip()
        for line in (heading, *texts)
    )


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
    from rich.cells import cell_len

    return cell_len(text)


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
