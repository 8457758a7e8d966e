"""The waits of the tests: given up only when nothing happens any more."""

import asyncio
import os
import subprocess
import sys

import pytest

from tests import progress
from tests.progress import NoProgressError, SignsOfWork, end_of, run, until, wait_until, while_it_works


@pytest.fixture
def clock(monkeypatch):
    """A clock to set, and the processor time that was had: [seconds, seconds]."""
    times = [1_000.0, 0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: times[0])
    monkeypatch.setattr(progress, "processor_seconds", lambda: times[1])
    return times


def look_for(signs, clock, seconds, processor_share=0.0):
    for _ in range(seconds):
        clock[0] += 1.0
        clock[1] += processor_share
        signs.check()


def test_a_minute_without_a_sign_is_the_end_and_says_what_was_seen_last(clock):
    signs = SignsOfWork("three lines", lambda: "two lines")
    look_for(signs, clock, 60)
    with pytest.raises(NoProgressError, match="three lines: nothing has happened for 60 s; last seen: 'two lines'"):
        look_for(signs, clock, 2)


def test_each_change_starts_the_minute_anew(clock):
    seen = [0]
    signs = SignsOfWork("the end", lambda: tuple(seen))
    for _ in range(5):
        look_for(signs, clock, 50)
        seen[0] += 1
    with pytest.raises(NoProgressError):
        look_for(signs, clock, 70)


def test_who_works_is_waited_for_however_long_and_who_idles_is_not(clock):
    signs = SignsOfWork("the end", lambda: None)
    look_for(signs, clock, 3_000, processor_share=0.2)
    with pytest.raises(NoProgressError):
        look_for(signs, clock, 80, processor_share=0.01)


def test_who_waits_for_a_processor_that_others_have_is_not_idle(tmp_path, monkeypatch):
    process, threads = tmp_path / str(os.getpid()), ("1", "2")
    for thread in threads:
        (process / "task" / thread).mkdir(parents=True)
        (process / "task" / thread / "schedstat").write_text("7000000000 2500000000 3\n")  # ns had, ns waited, turns
    (process / "stat").write_text(f"{os.getpid()} (a program) S 1" + " 0" * 48)
    monkeypatch.setattr(progress, "PROCESSES", tmp_path)
    assert progress.processor_seconds() == 2.5 * len(threads)


class PrintingProcess:
    """In the place of one that prints a byte a second, up to a moment, and never ends by itself."""

    def __init__(self, clock, prints_s):
        self.clock, self.prints_s, self.printed, self.is_killed = clock, prints_s, b"", False

    def communicate(self, timeout=None):
        if self.is_killed:
            return "", ""
        self.clock[0] += timeout
        if len(self.printed) < self.prints_s:
            self.printed += b"."
        raise subprocess.TimeoutExpired([], timeout, output=self.printed)

    def kill(self):
        self.is_killed = True


def test_who_prints_is_waited_for_and_given_up_a_minute_after_the_last_word(clock):
    with pytest.raises(NoProgressError):
        end_of(PrintingProcess(clock, prints_s=500), "the end")
    assert clock[0] == pytest.approx(1_000.0 + 500 + 60, abs=2)


def test_a_machine_that_sleeps_is_no_sign_of_an_end(clock):
    signs = SignsOfWork("the end", lambda: None)
    for _ in range(5):
        clock[0] += 3_600.0
        signs.check()


def test_what_comes_is_waited_for():
    steps = iter(range(10))
    wait_until(lambda: next(steps) == 2, "the third step")
    asyncio.run(until(lambda: next(steps) == 5, "the sixth step"))
    with pytest.raises(NoProgressError, match="what never comes"):
        wait_until(lambda: False, "what never comes", quiet_s=0.0)


def test_a_coroutine_is_given_up_with_the_same_words_and_its_own_errors_stay():
    async def given_up():
        async with while_it_works("an answer", lambda: 5, quiet_s=0.0):
            await asyncio.Event().wait()

    async def fails():
        async with while_it_works("an answer"):
            raise TimeoutError("of the coroutine's own")

    with pytest.raises(NoProgressError, match="an answer: nothing has happened for 0 s; last seen: 5"):
        asyncio.run(given_up())
    with pytest.raises(TimeoutError, match="of the coroutine's own"):
        asyncio.run(fails())


def test_a_program_gets_all_of_its_input_and_one_that_idles_is_ended_with_what_it_said():
    done = run([sys.executable, "-c", "import sys; print(len(sys.stdin.read()))"], given="x" * 1_000_000)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1000000\n", "")
    idle = "import sys, threading; print('so far', flush=True); threading.Event().wait()"
    with pytest.raises(NoProgressError) as given_up:
        run([sys.executable, "-c", idle], quiet_s=1.0)
    assert given_up.value.__notes__[0].startswith("printed: ")
