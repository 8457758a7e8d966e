"""Counts the product: lines of Python without blanks, comments and docstrings, and files, for each package.

``python -m tests.lines`` counts the three packages and what is in them, ``python -m tests.lines PATH ..`` these.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("protocol", "kafka_rack", "mockbroker")
NO_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def code_lines(source: str) -> int:
    """Lines that hold code; a string that stands alone, as docstrings do, is none.

    >>> code_lines('def f():\\n    \"\"\"Says\\n    two lines.\"\"\"\\n\\n    return 1  # a comment\\n')
    2
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def count(place: Path) -> tuple[int, int]:
    """Lines of code and files at or below a path."""
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    return sum(code_lines(file.read_text()) for file in files), len(files)


def table(places: list[Path]) -> Iterator[str]:
    counts = {place: count(place) for place in places}
    total = (sum(lines for lines, _ in counts.values()), sum(files for _, files in counts.values()))
    yield f"{'lines':>7} {'files':>5}"
    for name, (lines, files) in [*((str(place), one) for place, one in counts.items()), ("in all", total)]:
        yield f"{lines:7,} {files:5} {name}"


def main(words: list[str]) -> None:
    if words:
        print(*table([Path(word) for word in words]), sep="\n")
        return
    for package in PACKAGES:
        folder = Path(package)
        inner = (path for path in (ROOT / folder).iterdir() if path.suffix == ".py" or [*path.rglob("*.py")])
        print(*table(sorted(path.relative_to(ROOT) for path in inner)), "", sep="\n")
    print(*table([Path(package) for package in PACKAGES]), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
