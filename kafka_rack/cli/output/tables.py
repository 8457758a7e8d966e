"""Plain tables for people, and files written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from kafka_rack.cli import CommandError
from kafka_rack.printable import printable


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns aligned: numbers to the right, text to the left.

    >>> print(table(["broker", "rack"], [[1, "a"], [12, None]]))
    broker  rack
         1  a
        12  -
    """
    texts = [[cell(value) for value in row] for row in rows]
    widths = [max(len(printable(name)), *(len(row[at]) for row in texts), 0) for at, name in enumerate(columns)]
    right = [all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(columns))]
    lines = [[printable(name) for name in columns], *texts]
    return "\n".join(
        "  ".join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


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
