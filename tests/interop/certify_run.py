"""``kafka-rack certify`` as a process, on a client's worker, with a capture."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop import fetched
from tests.interop.client_process import ROOT
from tests.progress import run

RACKS = ("a", "b", "c")
ANY_GRADE = ("--fail-below", "F")
LONG_ENOUGH = ("--for", "15m")
"""It ends when all was seen; on a busy machine that is late."""


@dataclass
class CertifyRun:
    """What it printed, and the capture of what was on the wire."""

    exit_code: int
    printed: dict[str, Any]
    complaints: str
    capture: Path

    @property
    def verdicts(self) -> dict[str, str]:
        return {check["check"]: check["verdict"] for check in self.printed["checks"]}

    def evidence(self, check: str) -> str:
        return next(one["evidence"] for one in self.printed["checks"] if one["check"] == check)


def certify(command: Sequence[str], folder: Path, *options: str) -> CertifyRun:
    capture = folder / "capture.jsonl"
    program = [sys.executable, "-m", "kafka_rack.cli", "certify", "--format", "json", "--capture", str(capture)]
    done = run(
        [*program, *LONG_ENOUGH, *ANY_GRADE, *options, "--", *command],
        cwd=ROOT,
        seen=lambda: capture.stat().st_size if capture.exists() else 0,
    )
    printed = json.loads(done.stdout) if done.stdout.strip() else {}
    return CertifyRun(done.returncode, printed, done.stderr, capture)


def built(command: Any, *arguments: str) -> list[str]:
    """A worker's command; the test is skipped where its language is missing."""
    with fetched.skipped_without_tools():
        return list(command(*arguments))
