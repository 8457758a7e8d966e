"""Plain tables for people, and files written whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from kafka_rack.cli import CommandError
from kafka_rack.cli.parser import terminal_columns
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


def write_whole(path: str, text: str) -> None:
    """Write a file so that it is there whole or not at all.

    Raises: CommandError: it cannot be written.
    """
    target = Path(path)
    try:
        with NamedTemporaryFile(
            "w", dir=target.parent, prefix=f".{target.name}.", delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        Path(file.name).chmod(0o666 & ~current_umask())
        Path(file.name).replace(target)
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}") from error


def current_umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
