"""Processes of the program under test: how they are started, what they say, and that nothing of them stays."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mockbroker.testing.certify.programs import ProgramError, WorkerProcess, filled_in
from tests.progress import until

STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.signal(15, signal.SIG_IGN); signal.pause()"])
print(child.pid, flush=True)
signal.pause()
"""


@asynccontextmanager
async def program(code: str, **environment: str) -> AsyncIterator[WorkerProcess]:
    one = WorkerProcess("a", [sys.executable, "-c", code], environment)
    try:
        yield one
    finally:
        await one.end()


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


def test_placeholders_are_filled_in_wherever_they_stand_and_other_braces_stay():
    values = {"rack": "a", "bootstrap": "h:1,h:2"}
    assert filled_in(["-X{bootstrap}", "{rack}{rack}", '{"json": {}}', "{topic}"], values) == [
        "-Xh:1,h:2",
        "aa",
        '{"json": {}}',
        "{topic}",
    ]


def test_what_is_filled_in_is_not_filled_in_again():
    assert filled_in(["{rack}"], {"rack": "{bootstrap}", "bootstrap": "no"}) == ["{bootstrap}"]


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(ProgramError, match=r"^\./no-such-worker: cannot be started: No such file or directory$"):
        WorkerProcess("a", ["./no-such-worker"], {})


async def test_a_program_hears_its_environment_and_its_last_lines_are_kept():
    code = "import os, sys; print(os.environ['KAFKA_CLIENT_RACK']); sys.exit('no such option')"
    async with program(code, KAFKA_CLIENT_RACK="a") as one:
        await until(lambda: one.exit_code is not None, "the end of the program")
        assert (one.exit_code, one.failed) == (1, True)
        await until(lambda: len(one.last_lines) == 2, "its lines", lambda: list(one.last_lines))
    assert sorted(one.last_lines) == ["a", "no such option"]


async def test_a_program_that_will_not_end_is_killed_with_all_that_it_started():
    async with program(STUBBORN) as one:
        await until(lambda: one.last_lines, "its child")
        child = int(one.last_lines[0])
        await one.end(quiet_s=0.01)
    assert one.exit_code == -9
    await until(lambda: not runs(child), "the end of its child")
    assert not one.failed, "it was told to end"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows which environment a process has")
async def test_a_child_that_left_for_another_session_holds_nothing_up_and_is_killed():
    async with program(STUBBORN.replace('signal.pause()"])', 'signal.pause()"], start_new_session=True)')) as one:
        await until(lambda: one.last_lines, "its child")
        child = int(one.last_lines[0])
        assert os.getsid(child) == child
        await one.end(quiet_s=0.01)
        assert one.exit_code == -9
    await until(lambda: not runs(child), "the end of its child")
