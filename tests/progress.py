"""Waiting as long as something still happens: a busy machine is slow, but it is not broken.

A wait is given up after a minute in which nothing that was looked at changed, and in which this process and those that
it started had next to no processor time, and did not wait for any. What works on without arriving is ended by pytest's
timeout, as a hang is.

>>> lines = iter(["one line", "two lines"])
>>> signs = SignsOfWork("the second line", lambda: next(lines, "two lines"), quiet_s=0.0)
>>> signs.check(), signs.check()
(None, None)
>>> signs.check()
Traceback (most recent call last):
tests.progress.NoProgressError: the second line: nothing has happened for 0 s; last seen: 'two lines'
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

QUIET_S = 60.0
STEP_S = 0.05  # between two looks at what is waited for
LOOK_S = 1.0  # between two looks for signs of work
PROCESSOR_LOOK_S = 5.0
WORKING_SHARE = 0.1  # of one processor; what idles and asks now and then takes less
PROCESSES = Path("/proc")
PARENT, USER_TICKS, CHILDRENS_SYSTEM_TICKS = 1, 11, 14
"""Places in a line of /proc/PID/stat, counted after the name of the program."""


class NoProgressError(AssertionError):
    """What was waited for did not come, and nothing went on any more."""


class SignsOfWork:
    """Looks whether something still happens.

    Args:
        what: what is waited for, for the error's text.
        seen: gives what is looked at; each change is a sign of work. The last of it is in the error's text.
        quiet_s: seconds without a sign; of a pause between two looks, as on a machine that sleeps, one second counts.
    """

    def __init__(self, what: str, seen: Callable[[], object] = lambda: None, quiet_s: float = QUIET_S) -> None:
        self._what, self._seen, self._most_quiet_s = what, seen, quiet_s
        self._last_seen: object = None
        self._quiet_s = 0.0
        self._looked = self._looked_at_processor = time.monotonic()
        self._processor_s: float | None = None  # it takes some reading, and most waits are over before

    def check(self) -> None:
        """Look. Raises NoProgressError: it has been quiet for too long."""
        now, found = time.monotonic(), self._seen()
        self._quiet_s += min(now - self._looked, LOOK_S)
        self._looked = now
        if found != self._last_seen or self._is_working(now):
            self._quiet_s, self._last_seen = 0.0, found
        elif self._quiet_s >= self._most_quiet_s:
            text = f"{self._what}: nothing has happened for {self._most_quiet_s:.0f} s; last seen: {found!r}"
            raise NoProgressError(text)

    def _is_working(self, now: float) -> bool:
        passed_s = now - self._looked_at_processor
        if passed_s < PROCESSOR_LOOK_S:
            return False
        before, self._processor_s, self._looked_at_processor = self._processor_s, processor_seconds(), now
        return before is not None and self._processor_s - before >= WORKING_SHARE * passed_s


def processor_seconds() -> float:
    """Processor time that this process and all below it have had or waited for; without /proc, what it has had."""
    if not PROCESSES.is_dir():
        return time.process_time()
    parents, ticks = {}, {}
    for folder in PROCESSES.glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents[int(folder.name)] = int(fields[PARENT])
        ticks[int(folder.name)] = sum(map(int, fields[USER_TICKS : CHILDRENS_SYSTEM_TICKS + 1]))
    ours = {os.getpid()}
    while below := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= below
    had_s = sum(ticks.get(process, 0) for process in ours) / os.sysconf("SC_CLK_TCK")
    return had_s + sum(map(waited_seconds, ours))


def waited_seconds(process: int) -> float:
    """How long its threads were ready to work while others had the processors; 0 where the kernel does not count that.

    On a busy machine it is the most of what they would work: who gets little of a processor is not idle.
    """
    waited_ns = 0
    with suppress(OSError):  # it has ended, or one of its threads has
        for thread in (PROCESSES / str(process) / "task").iterdir():
            waited_ns += int((thread / "schedstat").read_text().split()[1])
    return waited_ns / 1e9


def wait_until(
    done: Callable[[], object], what: str, seen: Callable[[], object] = lambda: None, quiet_s: float = QUIET_S
) -> None:
    """Wait until ``done()`` is true. Raises NoProgressError."""
    signs = SignsOfWork(what, seen, quiet_s)
    while not done():
        signs.check()
        time.sleep(STEP_S)


async def until(
    done: Callable[[], object], what: str, seen: Callable[[], object] = lambda: None, quiet_s: float = QUIET_S
) -> None:
    """Wait in a coroutine until ``done()`` is true. Raises NoProgressError."""
    signs = SignsOfWork(what, seen, quiet_s)
    while not done():
        signs.check()
        await asyncio.sleep(STEP_S)


@asynccontextmanager
async def while_it_works(
    what: str, seen: Callable[[], object] = lambda: None, quiet_s: float = QUIET_S
) -> AsyncIterator[None]:
    """Like ``asyncio.timeout``, but the time is up only when nothing happens any more. Raises NoProgressError."""
    signs = SignsOfWork(what, seen, quiet_s)
    given_up: list[NoProgressError] = []

    async def look() -> None:
        while not given_up:
            await asyncio.sleep(LOOK_S)
            try:
                signs.check()
            except NoProgressError as error:
                given_up.append(error)
        limit.reschedule(asyncio.get_running_loop().time())

    looking = None
    try:
        async with asyncio.timeout(None) as limit:
            looking = asyncio.create_task(look())
            yield
    except TimeoutError:
        if given_up:
            raise given_up[0] from None
        raise
    finally:
        if looking is not None:
            looking.cancel()


def end_of(
    process: subprocess.Popen[str],
    what: str,
    seen: Callable[[], object] = lambda: None,
    quiet_s: float = QUIET_S,
) -> tuple[str, str]:
    """Read a process to its end; gives what ``communicate`` does. Raises NoProgressError, having ended the process.

    What it prints is a sign of work too.
    """
    said: list[bytes | None] = []
    signs = SignsOfWork(what, lambda: (seen(), sum(len(part or b"") for part in said)), quiet_s)
    while True:
        try:
            return process.communicate(timeout=LOOK_S)
        except subprocess.TimeoutExpired as waited:
            said = [waited.output, waited.stderr]
            try:
                signs.check()
            except NoProgressError as error:
                process.kill()
                printed, complaints = process.communicate()
                error.add_note(f"printed: {(printed or '')[-1000:]!r}; complained: {(complaints or '')[-1000:]!r}")
                raise


def run(
    command: Sequence[str | Path],
    *,
    given: str = "",
    seen: Callable[[], object] = lambda: None,
    quiet_s: float = QUIET_S,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, as ``subprocess.run`` with ``capture_output`` and ``text``. Raises NoProgressError.

    ``given`` is its standard input: a file, as ``communicate`` does not write on after a timeout.
    """
    pipe, words = subprocess.PIPE, [str(word) for word in command]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as source:
        source.write(given)
        source.seek(0)
        with subprocess.Popen(words, stdin=source, stdout=pipe, stderr=pipe, text=True, **options) as process:
            printed, complaints = end_of(process, " ".join(words)[:200], seen, quiet_s)
    return subprocess.CompletedProcess(words, process.returncode, printed, complaints)
