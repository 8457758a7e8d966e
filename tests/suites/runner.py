"""Runs suites beside each other, repeats what failed, and adds their results up."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Condition, Thread, Timer
from time import monotonic

from .changes import ROOT, git
from .table import Suite

RESULTS = ROOT / "build" / "suites"
CORES = 2
MAX_FLAKY = 3
MAX_SUITE_S = 3600.0
"""Ends a deadlock that no single test's limit has ended."""
TESTS_FAILED = 1  # pytest's exit code when it ran to its end
CLOSING = re.compile(r"^=* ?((?:\d+ [a-z]+(?:, )?)+ in [\d.]+s(?: \([\d:]+\))?) ?=*$", re.MULTILINE)


@dataclass(slots=True)
class Result:
    """How a suite ended. ``closing`` is pytest's last line; times are in seconds."""

    suite: str
    commit: str
    exit_code: int = 0
    wall_s: float = 0.0
    processor_s: float = 0.0
    closing: str = ""
    failed: list[str] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """
        >>> Result("docs", "1f", exit_code=2).is_good, Result("test", "1f", 1, flaky=["test_a.py::test_b"]).is_good
        (False, True)
        """
        return self.exit_code == 0 or (self.exit_code == TESTS_FAILED and bool(self.flaky) and not self.failed)

    @property
    def outcome(self) -> str:
        if not self.is_good:
            return "FAILED"
        return f"ok, {len(self.flaky)} flaky" if self.flaky else "ok"


class Runner:
    """Runs suites beside each other, as far as the cores allow, and prints how each ends."""

    def __init__(self, *, repeats_failed: bool) -> None:
        self._repeats_failed = repeats_failed
        self._commit = git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain") else "")
        self._free_cores = CORES
        self._changed = Condition()
        self._running: set[int] = set()
        self.results: list[Result] = []

    def run(self, suites: Sequence[Suite]) -> list[Result]:
        """Run them in this order, each as soon as enough cores are free; returns results in the order of their ends."""
        for name in dict.fromkeys(need for suite in suites for need in suite.needs):
            subprocess.run(["make", "--no-print-directory", name], cwd=ROOT, check=True)
        threads = []
        try:
            for suite in suites:
                with self._changed:
                    self._changed.wait_for(lambda: self._free_cores >= suite.cores)  # noqa: B023
                    self._free_cores -= suite.cores
                threads.append(Thread(target=self._run_beside, args=[suite]))
                threads[-1].start()
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            for pid in list(self._running):
                end_group(pid)
            raise
        return self.results

    def _run_beside(self, suite: Suite) -> None:
        result = self.run_one(suite, shows=False)
        with self._changed:
            self._free_cores += suite.cores
            self.results.append(result)
            print_end(result)
            self._changed.notify_all()

    def run_one(self, suite: Suite, *arguments: str, shows: bool) -> Result:
        """Run one to its end; what it prints is shown at once, or goes to its log."""
        RESULTS.mkdir(parents=True, exist_ok=True)
        result = Result(suite.name, self._commit)
        cache = RESULTS / f"{suite.name}.cache"
        is_pytest = "pytest" in suite.command
        if is_pytest:
            shutil.rmtree(cache, ignore_errors=True)
            arguments = ("-o", f"cache_dir={cache}", *arguments)
        started = monotonic()
        print(f"== {suite.name}: {' '.join(suite.command)}", flush=True)
        log = log_of(suite.name)
        result.exit_code, result.processor_s = self._run_command(suite, arguments, None if shows else log)
        if is_pytest and not shows:
            result.closing = closing_of(log)
        if result.exit_code == TESTS_FAILED and is_pytest:
            result.failed = failed_tests(cache)
            if self._repeats_failed:
                self._repeat(suite, result)
        result.wall_s = monotonic() - started
        (RESULTS / f"{suite.name}.json").write_text(json.dumps(asdict(result), indent=1))
        return result

    def _repeat(self, suite: Suite, result: Result) -> None:
        """Run each failed test alone. With more failures than may be flaky the run is red anyway."""
        if len(result.failed) > MAX_FLAKY:
            return
        sharing_out = ("--numprocesses", "--dist")
        words = [word for word in suite.command if word not in suite.tests and not word.startswith(sharing_out)]
        alone = replace(suite, command=tuple(words))
        for test in list(result.failed):
            exit_code, _ = self._run_command(alone, (test,), log_of(f"{suite.name}.repeated"))
            if exit_code == 0:
                result.failed.remove(test)
                result.flaky.append(test)

    def _run_command(self, suite: Suite, arguments: Sequence[str], log: Path | None) -> tuple[int, float]:
        """The exit code, and the processor seconds of the process and of all below it that were waited for."""
        words = [sys.executable if word == "python" else word for word in suite.command]
        output = None if log is None else log.open("wb")
        process = subprocess.Popen(
            [*words, *arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
            start_new_session=output is not None,  # Ctrl-C reaches what is shown by itself
        )
        self._running.add(process.pid)
        limit = Timer(MAX_SUITE_S, end_group, [process.pid])
        limit.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            limit.cancel()
            self._running.discard(process.pid)
            if output is not None:
                output.close()
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, usage.ru_utime + usage.ru_stime


def end_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def log_of(name: str) -> Path:
    return RESULTS / f"{name}.log"


def closing_of(log: Path) -> str:
    """The last line of pytest's output that counts tests.

    >>> CLOSING.findall("1 failed in 1.00s\\n===== 2 passed, 1 skipped in 61.50s (0:01:01) =====\\n")
    ['1 failed in 1.00s', '2 passed, 1 skipped in 61.50s (0:01:01)']
    """
    found = CLOSING.findall(log.read_text(encoding="utf-8", errors="replace"))
    return found[-1] if found else ""


def failed_tests(cache: Path) -> list[str]:
    """The ids of the tests that failed in a run of pytest with this cache."""
    path = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else []


def print_end(result: Result) -> None:
    """One line; what failed with the end of its log, and what was skipped."""
    text = log_of(result.suite).read_text(encoding="utf-8", errors="replace")
    if not result.is_good:
        print(*text.splitlines()[-200:], sep="\n")
    else:
        print("".join(f"{line}\n" for line in re.findall(r"^SKIPPED .*$", text, re.MULTILINE)), end="")
    print(f"== {result.suite}: {result.outcome}, {result.wall_s:.0f} s; {result.closing}", flush=True)


def summary(results: Iterable[Result]) -> Iterator[str]:
    """A line a suite, then pytest's closing lines, the flaky tests and those that failed.

    >>> print(*summary([Result("docs", "1f2e", wall_s=30.4, processor_s=29.0)]), sep="\\n")
    suite           result        wall s  processor s  commit
    docs            ok                30           29  1f2e
    """
    entries = list(results)
    yield f"{'suite':<16}{'result':<14}{'wall s':>6}{'processor s':>13}  commit"
    for one in entries:
        yield f"{one.suite:<16}{one.outcome:<14}{one.wall_s:>6.0f}{one.processor_s:>13.0f}  {one.commit}"
    for one in entries:
        yield from [f"{one.suite}:", one.closing] if one.closing else []
        yield from (f"FAILED: {test}" for test in one.failed)
    yield from (f"FLAKY: {test}" for one in entries for test in one.flaky)


def verdict(results: Iterable[Result]) -> int:
    """The exit code of all: 0, or 1 where a suite failed or more than three tests were flaky."""
    entries = list(results)
    flaky = sum(len(one.flaky) for one in entries)
    if flaky > MAX_FLAKY:
        print(f"{flaky} tests are flaky; {MAX_FLAKY} may be")
    return 0 if all(one.is_good for one in entries) and flaky <= MAX_FLAKY else 1
