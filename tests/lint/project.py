"""The files of a checkout, each read and parsed once for all checks."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("protocol", "kafka_rack", "mockbroker")
NOT_SOURCE = {"__pycache__", "node_modules", "target"}


class Project:
    """A checkout. Paths are strings from its root, with slashes.

    Args:
        root: the folder; an empty one for a project that consists of ``texts`` alone.
        texts: path -> text, in place of the file or besides the files.
    """

    def __init__(self, root: Path = ROOT, texts: Mapping[str, str] | None = None) -> None:
        self.root = root
        self._own_texts = dict(texts or {})
        self._texts = dict(self._own_texts)
        self._trees: dict[str, ast.Module] = {}
        self._paths: dict[str, list[str]] = {}
        self._modules: dict[str, str] = {}

    def text(self, path: str) -> str:
        if path not in self._texts:
            self._texts[path] = (self.root / path).read_text(encoding="utf-8")
        return self._texts[path]

    def tree(self, path: str) -> ast.Module:
        if path not in self._trees:
            self._trees[path] = ast.parse(self.text(path))
        return self._trees[path]

    def exists(self, path: str) -> bool:
        path = path.rstrip("/")
        return (self.root / path).exists() or any(own == path or own.startswith(f"{path}/") for own in self._own_texts)

    def files(self, *folders: str, suffixes: Collection[str] = (".py",)) -> list[str]:
        """The files below the folders, sorted, without what tools leave there."""
        return sorted(
            path for folder in folders for path in self._files_below(folder) if path.endswith(tuple(suffixes))
        )

    def _files_below(self, folder: str) -> list[str]:
        if folder not in self._paths:
            found = {path for path in self._own_texts if path.startswith(f"{folder}/")}
            for place, folders, names in os.walk(self.root / folder):
                folders[:] = [name for name in folders if name not in NOT_SOURCE and not name.startswith(".")]
                found |= {(Path(place) / name).relative_to(self.root).as_posix() for name in names}
            self._paths[folder] = sorted(found)
        return self._paths[folder]

    def pages(self) -> list[str]:
        """The README and the pages of docs/."""
        readme = ["README.md"] if self.exists("README.md") else []
        return [*readme, *self.files("docs", suffixes=(".md",))]

    def modules(self) -> dict[str, str]:
        """Module name -> path, of the packages that are shipped."""
        if not self._modules:
            for path in self.files(*PACKAGES):
                self._modules[path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")] = path
        return self._modules


Check = Callable[[Project], Iterator[str]]


def set_differences(where: str, shown: Iterable[str], expected: Iterable[str], source: str) -> Iterator[str]:
    """
    >>> list(set_differences("docs/plan.md", ["x"], ["x", "y"], "settings.py"))
    ['docs/plan.md: lacks `y`, which settings.py has']
    """
    shown, expected = set(shown), set(expected)
    yield from (f"{where}: lacks `{name}`, which {source} has" for name in sorted(expected - shown))
    yield from (f"{where}: has `{name}`, which {source} lacks" for name in sorted(shown - expected))


def line_differences(where: str, shown: Iterable[str], expected: Iterable[str], source: str) -> Iterator[str]:
    """The first line that differs.

    >>> list(line_differences("docs/plan.md", ["| x | 1 |"], ["| x | 2 |"], "settings.py"))
    ["docs/plan.md: has '| x | 1 |', but settings.py makes it '| x | 2 |'"]
    """
    for found, right in zip_longest(shown, expected):
        if found != right:
            yield f"{where}: has {found!r}, but {source} makes it {right!r}"
            return


def missing_names(where: str, text: str, names: Iterable[str], source: str) -> Iterator[str]:
    """
    >>> list(missing_names("docs/plan.md", "`x` does this", ["x", "y"], "settings.py"))
    ['docs/plan.md: lacks `y`, which settings.py has']
    """
    yield from (f"{where}: lacks `{name}`, which {source} has" for name in names if f"`{name}`" not in text)


def first_cells(text: str, after: str = "") -> list[str]:
    """The first cells of the table rows in a text, or of the one table whose header begins with ``after``.

    >>> first_cells("| name | means |\\n|---|---|\\n| `a`, `b` | both |\\n\\n| c | d |", after="| name |")
    ['`a`, `b`']
    """
    table = text.partition(after)[2].partition("\n\n")[0] if after else text
    return re.findall(r"^\| ([^-].*?) \|", table.partition("|---")[2] if after else table, re.MULTILINE)


def in_backticks(texts: Iterable[str], pattern: str = r"[^`]+") -> set[str]:
    return {name for text in texts for name in re.findall(f"`({pattern})`", text)}
