"""Results of commands, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from kafka_rack.cli import DONE, FAILED
from kafka_rack.cli.command import say
from kafka_rack.cli.output.tables import table
from kafka_rack.plurals import counted


def show_as(form: str, found: Any, text: str) -> None:
    """Print a result as ``--format`` asks: JSON, or text."""
    print(json_text(found) if form == "json" else text)


def json_text(found: Any) -> str:
    return json.dumps(found, indent=2, ensure_ascii=False)


def first_rows(columns: Sequence[str], rows: Sequence[Sequence[object]], most: int, noun: str, where: str = "") -> str:
    """A table of the first rows, and a line that counts the others.

    >>> print(first_rows(["broker"], [[0], [1], [2]], 1, "broker", " in --format json"))
    broker
         0
    and 2 more brokers in --format json
    """
    more = len(rows) - most
    rest = f"\nand {counted(more, f'more {noun}')}{where}" if more > 0 else ""
    return table(columns, rows[:most]) + rest


def report_unread(names: Collection[str]) -> int:
    """Report inputs of which no frame could be read; returns the exit code."""
    for name in names:
        say(f"{name}: no frame could be read")
    return FAILED if names else DONE
