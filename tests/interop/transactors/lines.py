"""What the Python programs here have in common: commands in by lines, "ok ..." or "error NAME ..." out."""

from __future__ import annotations

import sys
from collections.abc import Callable


def serve(command: Callable[[list[str]], object]) -> None:
    """Answer each line of standard input."""
    for line in sys.stdin:
        try:
            print(f"ok {command(line.split()) or ''}".strip(), flush=True)
        except Exception as problem:  # noqa: BLE001 - whatever a library raises is the answer
            print(f"error {name_of(problem)} {problem}".replace("\n", " "), flush=True)


def name_of(problem: BaseException) -> str:
    """An exception's name; for confluent-kafka that of the error in it."""
    inner = problem.args[0] if problem.args else None
    named = getattr(inner, "name", None)
    return str(named()) if callable(named) else type(problem).__name__
