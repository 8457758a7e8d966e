"""The change that is tested: its base, its paths, and the unit tests of these."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ONE_CHANGE_S = 4 * 3600
"""Commits that are closer together belong to one change, unless the caller names its base."""


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def base_of_change(since: str | None) -> str | None:
    """The commit before the change: the named one or the newest that is hours older than HEAD; None if unknown."""
    if since:
        return git("rev-parse", since)
    newest_s = int(git("log", "-1", "--format=%ct"))
    return git("rev-list", "-1", f"--before={newest_s - ONE_CHANGE_S}", "HEAD") or None


def changed_paths(base: str) -> list[str]:
    """The paths that differ from the base, in commits and in the work tree."""
    untracked = git("ls-files", "--others", "--exclude-standard")
    return sorted({*git("diff", "--name-only", "--no-renames", base).split("\n"), *untracked.split("\n")} - {""})


def unit_tests_of(paths: Iterable[str]) -> list[str]:
    """The unit tests of these paths and the modules whose docstrings have examples; each exists.

    >>> unit_tests_of(["protocol/framing.py", "tests/unit/test_suites.py", "docs/faults.md"])
    ['protocol/framing.py', 'tests/unit/protocol/test_framing.py', 'tests/unit/test_suites.py']
    """
    chosen: set[Path] = set()
    for path in map(Path, paths):
        if path.suffix != ".py" or not (ROOT / path).exists():
            continue
        if path.parts[0] in ("protocol", "kafka_rack", "mockbroker"):
            mirror = Path("tests", "unit", *path.parts[:-1])
            named = sorted((ROOT / mirror).glob(f"test_{path.stem}*.py"))
            chosen |= {path, *(one.relative_to(ROOT) for one in named)} if named else {path, mirror}
        elif path.name.startswith("test_") and path.parts[:2] in {("tests", "unit"), ("tests", "property")}:
            chosen.add(path)
    return sorted(str(path) for path in chosen if (ROOT / path).exists())
