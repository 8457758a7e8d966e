"""Output with colours where a terminal has them; texts of strangers are escaped, so they colour nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from kafka_rack.cli.output.tables import aligned, terminal_columns
from kafka_rack.printable import PrintableOutput, printable, printable_lines

PLAIN_WIDTH = 120
"""Columns of a table in a file or a pipe."""
STYLES: dict[str, dict[str, Any]] = {
    "bold": {"bold": True},
    "dim": {"dim": True},
    **{name: {"fg": name} for name in ("green", "red", "yellow")},
}


class Painted(NamedTuple):
    """A text in pieces, each with the name of a style or None."""

    pieces: tuple[tuple[str, str | None], ...]

    def __str__(self) -> str:
        return "".join(text for text, _ in self.pieces)

    def in_colours(self) -> str:
        return "".join(click.style(text, **STYLES[style]) if style else text for text, style in self.pieces)


Shown = str | Painted


def painted(*pieces: str | tuple[str, str]) -> Painted:
    r"""A text of pieces, each plain or with a style.

    >>> str(painted(("ok", "green"), " rack \x1b[2J"))
    'ok rack \\x1b[2J'
    """
    return Painted(
        tuple((printable(one), None) if isinstance(one, str) else (printable(one[0]), one[1]) for one in pieces)
    )


class Screen:
    """Standard output or standard error. ``width`` is that of the terminal, ``PLAIN_WIDTH`` without one."""

    def __init__(self, *, errors: bool = False) -> None:
        stream: Any = sys.stderr if errors else sys.stdout
        self._stream = stream.beneath if isinstance(stream, PrintableOutput) else stream
        is_terminal = self._stream is not None and self._stream.isatty()
        self.width = terminal_columns() if is_terminal else PLAIN_WIDTH
        self._has_colours = is_terminal and not os.environ.get("NO_COLOR")

    def print(self, *texts: Shown) -> None:
        """A line each; a text without any prints an empty line."""
        for text in texts or ("",):
            self._stream.write(self._shown(text) + "\n")
        self._stream.flush()

    def print_table(
        self, columns: Sequence[str], rows: Sequence[Sequence[Shown]], *, right: Sequence[int] = ()
    ) -> None:
        """Print a table with a line under its headings, its cells folded to the width.

        Args:
            right: the places of columns that are aligned to the right.
        """
        texts = [[str(one) if isinstance(one, Painted) else printable(one) for one in row] for row in rows]
        colours = [[self._shown(one) if isinstance(one, Painted) else None for one in row] for row in rows]
        to_right = [at in right for at in range(len(columns))]
        self._stream.write(aligned([printable(one) for one in columns], texts, to_right, self.width, colours) + "\n")

    def _shown(self, text: Shown) -> str:
        if isinstance(text, str):
            return printable_lines(text)
        return text.in_colours() if self._has_colours else str(text)
