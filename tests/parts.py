"""Delete each optional part of the cluster in turn from a copy of the checkout, and run the unit tests of the rest.

``python -m tests.parts [PART...]``: without a name all of them. The tests of a part are its folder under ``tests/``,
and tests with the part's name as their marker; a file whose ``pytestmark`` has that name may import the part.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PARTS = ("access_control", "data_directories", "proxy", "share_groups", "streams_groups", "zookeeper")
TESTS = "tests/unit/mockbroker"


def main(parts: Sequence[str]) -> int:
    """Print how the tests end without each part; 1 if any failed."""
    outcomes = {part: outcome_without(part) for part in parts or PARTS}
    for part, outcome in outcomes.items():
        print(f"without {part}: {outcome}")
    return int(any("failed" in outcome or "error" in outcome for outcome in outcomes.values()))


def outcome_without(part: str) -> str:
    """The last line that pytest prints, after those of tests that failed."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        delete(part, copied(copy))
        command = (sys.executable, "-m", "pytest", "-q", "--no-header", "-m", f"not {part}", "-p", "no:cacheprovider")
        ended = subprocess.run(
            (*command, "--numprocesses=2", "--dist=loadscope", TESTS),
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            check=False,
            capture_output=True,
            text=True,
        )
        lines = re.findall(r"^(?:(?:FAILED|ERROR) .*|.*\d+ (?:passed|failed|error).*)$", ended.stdout, re.MULTILINE)
        return "\n".join(lines) if lines else f"error: pytest ended with {ended.returncode}: {ended.stderr[-2000:]}"


def copied(copy: Path) -> Path:
    """The files that git has in this checkout, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
    return copy


def delete(part: str, copy: Path) -> None:
    """Delete a part and the files of its tests."""
    shutil.rmtree(copy / "mockbroker" / part)
    for folder in [*(copy / "tests").rglob(part)]:
        shutil.rmtree(folder)
    marked = re.compile(rf"^pytestmark = .*\bpytest\.mark\.{part}\b", re.MULTILINE)
    for test in (copy / TESTS).rglob("*.py"):
        if marked.search(test.read_text(encoding="utf-8")):
            test.unlink()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
