"""``python -m tests.lint [NAME...]``: runs all checks, or those named. Prints faults; exits with 1 if there are any."""

from __future__ import annotations

import gc
import sys

from tests.lint import imports, outside_text, packaging, pages, paths, source, words
from tests.lint.project import Check, Project

CHECKS: dict[str, Check] = {
    check.__name__: check
    for module in (imports, source, outside_text, paths, pages, packaging, words)
    for check in module.CHECKS
}


def main(names: list[str]) -> int:
    if unknown := sorted(set(names) - set(CHECKS)):
        print(f"no check {', '.join(unknown)}; there are {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    gc.disable()  # it would walk over the syntax trees again and again, which all live to the end
    project = Project()
    faults = [fault for name in names or CHECKS for fault in CHECKS[name](project)]
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
