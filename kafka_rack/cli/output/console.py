"""What is shown to people with colours, or fitted to a narrow terminal: rich, in one place.

Nothing that is shown is taken for markup, and control characters are escapes: racks, topics and client ids are what
strangers have written. ``tables.table`` is the way for everything that has no colours.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kafka_rack.printable import PrintableOutput, printable, printable_lines

PLAIN_WIDTH = 120
"""Columns of output that goes into a file or a pipe."""
Shown = str | Text


class PeoplesConsole(Console):
    """A console whose texts are what they say: no markup, no emoji codes, control characters as escapes."""

    def render_str(self, text: str, **details: Any) -> Text:
        return super().render_str(printable_lines(text), **(details | {"markup": False, "emoji": False}))


def console(*, errors: bool = False) -> PeoplesConsole:
    """The console on stdout, or on stderr; where that is no terminal it has ``PLAIN_WIDTH`` columns and no colours.

    NO_COLOR takes the colours away on a terminal too.
    """
    stream: Any = sys.stderr if errors else sys.stdout
    if isinstance(stream, PrintableOutput):
        stream = stream.beneath  # the console's own codes are to reach the terminal
    found = PeoplesConsole(file=stream, highlight=False, markup=False, emoji=False)
    if not found.is_terminal:
        found.width = PLAIN_WIDTH
    return found


def painted(*pieces: str | tuple[str, str]) -> Text:
    r"""A text of pieces, each plain or with a style of its own.

    >>> painted(("ok", "green"), " rack \x1b[2J").plain
    'ok rack \\x1b[2J'
    """
    return Text.assemble(
        *(printable(piece) if isinstance(piece, str) else (printable(piece[0]), piece[1]) for piece in pieces)
    )


def ruled_table(columns: Sequence[str], rows: Sequence[Sequence[Shown]], *, right: Sequence[int] = ()) -> Table:
    """A table with a line under its headings, whose cells are folded where the console is narrow, never cut off.

    Args:
        right: the places of columns that are aligned to the right.
    """
    made = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for at, name in enumerate(columns):
        made.add_column(name, justify="right" if at in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def folded(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], width: int) -> str:
    """A table without lines in so many columns of a terminal, its cells folded; as ``tables.table`` otherwise."""
    from io import StringIO

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, to_right in zip(columns, right, strict=True):
        made.add_column(Text(name), justify="right" if to_right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    found = Console(file=StringIO(), width=width, color_system=None, highlight=False)
    found.print(made)
    lines = found.file.getvalue().splitlines()  # type: ignore[attr-defined] # the StringIO of above
    return "\n".join(line.rstrip() for line in lines)
