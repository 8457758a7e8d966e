"""What was found in captures, for people and for programs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from kafka_rack.printable import printable

if TYPE_CHECKING:
    from kafka_rack.consistency.captures import CheckedCapture

MAX_PROBLEMS = 5


def as_text(checked: list[CheckedCapture]) -> str:
    parts = []
    for one in checked:
        since = f" (times count from {one.started})" if one.report.counts else ""
        parts.append(f"{one.name}: {one.report}".replace("\n", f"{since}\n", 1))
    return "\n\n".join(parts)


def as_json(checked: list[CheckedCapture]) -> str:
    is_consistent = all(one.report.is_consistent for one in checked)
    return json.dumps(
        {"is_consistent": is_consistent, "captures": [one.as_json() for one in checked]},
        indent=2,
    )


def tell_problems(checked: list[CheckedCapture], command: str) -> None:
    """What could not be read, on stderr."""
    for one in checked:
        for problem in one.problems[:MAX_PROBLEMS]:
            sys.stderr.write(f"{command}: {problem.file}, byte {problem.offset}: {printable(problem.reason)}\n")
        if len(one.problems) > MAX_PROBLEMS:
            sys.stderr.write(f"{command}: and {len(one.problems) - MAX_PROBLEMS} more in {one.name}\n")
