"""The suites of tests: what each runs, which changes concern it, and how a failed test counts.

    python -m tests.suites check [--all]              rules and the unit tests of what changed since the last commit
    python -m tests.suites test [PYTEST_ARGUMENT ...]  what a stranger runs to trust a clone; it repeats nothing
    python -m tests.suites nightly [SUITE ...]        all suites, or the named ones; the summary merges earlier runs
    python -m tests.suites ci [--since COMMIT]        rules, `test`, then the suites that the change concerns
    python -m tests.suites changed [--since COMMIT]   names those suites

In `ci` and `nightly` each failed test runs once more, alone. If it passes then, it is flaky: the run lists it and stays
green unless more than three are flaky. The log and the result of each suite are in build/suites.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from .changes import ROOT, base_of_change, changed_paths, unit_tests_of
from .runner import RESULTS, Result, Runner, summary, verdict
from .table import NIGHTLY, RULES, SUITES, TEST, concerned, pytest_suite


def run_test(arguments: Sequence[str]) -> int:
    load = os.getloadavg()[0]
    for need in TEST.needs:
        subprocess.run(["make", "--no-print-directory", need], cwd=ROOT, check=True)
    result = Runner(repeats_failed=False).run_one(TEST, *arguments, shows=True)
    print(f"{result.processor_s:.0f} s of processor time, {result.wall_s:.0f} s in all (load {load:.1f} at the start)")
    return result.exit_code


def run_nightly(names: Sequence[str]) -> int:
    """Run the named suites or all; the summary has what earlier runs left for the others."""
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        print(f"no suite {', '.join(unknown)}; suites are {', '.join(SUITES)}", file=sys.stderr)
        return 2
    Runner(repeats_failed=True).run([SUITES[name] for name in names] or [*RULES, TEST, *NIGHTLY])
    stored = [RESULTS / f"{name}.json" for name in SUITES]
    results = [Result(**json.loads(path.read_text(encoding="utf-8"))) for path in stored if path.exists()]
    missing = [path.stem for path in stored if not path.exists()]
    print(*summary(results), sep="\n")
    print(f"not run: {', '.join(missing)}" if missing else "every suite has run")
    return verdict(results)


def run_ci(since: str | None) -> int:
    base = base_of_change(since)
    suites = NIGHTLY if base is None else concerned(changed_paths(base))
    print(f"base of the change: {base or 'unknown'}; suites: {', '.join(suite.name for suite in suites) or 'none'}")
    chosen = [suite for suite in suites if not suite.at_night]
    results = Runner(repeats_failed=True).run([*RULES, TEST, *chosen])
    print(*summary(results), sep="\n")
    return verdict(results)


def run_check(*, whole: bool) -> int:
    paths = changed_paths("HEAD") or changed_paths("HEAD~1")
    tests = ["tests/unit", *("protocol", "kafka_rack", "mockbroker")] if whole else unit_tests_of(paths)
    units = pytest_suite("units", *tests, options=("--quiet",), workers=2 if whole else 0, needs=(), cores=2)
    results = Runner(repeats_failed=False).run([*RULES, *([units] if tests else [])])
    print(*summary(results), sep="\n")
    return verdict(results)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.suites", description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="run the rules and the unit tests of what changed")
    check.add_argument("--all", action="store_true", help="run all unit tests")
    commands.add_parser("test", help="run what a stranger runs to trust a clone; arguments go to pytest")
    nightly = commands.add_parser("nightly", help="run all suites, or the named ones")
    nightly.add_argument("suites", nargs="*", metavar="SUITE")
    for name, text in [("ci", "run what a change concerns"), ("changed", "name the suites that a change concerns")]:
        commands.add_parser(name, help=text).add_argument("--since", metavar="COMMIT", help="base of the change")
    given, rest = parser.parse_known_args(words)
    if rest and given.command != "test":
        parser.error(f"unknown: {' '.join(rest)}")
    if given.command == "changed":
        base = base_of_change(given.since)
        print(*(suite.name for suite in (NIGHTLY if base is None else concerned(changed_paths(base)))), sep="\n")
        return 0
    runs: dict[str, Callable[[], int]] = {
        "check": lambda: run_check(whole=given.all),
        "test": lambda: run_test(rest),
        "nightly": lambda: run_nightly(given.suites),
        "ci": lambda: run_ci(given.since),
    }
    return runs[given.command]()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
