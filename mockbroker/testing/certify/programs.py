"""The program under test as processes, one a rack. What it started ends with it, on Linux in other sessions too."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Self
from uuid import uuid4

from mockbroker.testing.clients.process import until

MARK = "KAFKA_RACK_CERTIFY_PROCESS"
LAST_LINES = 40
LINE_BYTES = 1 << 16
END_QUIET_S = 10.0
"""How long a process may take to end after SIGTERM before it is killed."""
LAST_WORDS_S = 1.0
"""How long the end of its output is waited for once it has ended; other holders of the pipe are not waited for."""
ABANDONED_QUIET_S = 1.0
"""The same where certify itself is given up, as by Ctrl-C."""


class ProgramError(Exception):
    """The program cannot be started, or has ended before it did anything; the text says what it said."""


class WorkerProcess:
    """One process. ``last_lines`` is the end of what it wrote, standard output and standard error together.

    Raises: ProgramError: it cannot be started.
    """

    def __init__(self, rack: str, command: Sequence[str], environment: dict[str, str]) -> None:
        self.rack = rack
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self.was_told_to_end = False
        self._mark = uuid4().hex
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own program
                command,
                env={**os.environ, **environment, MARK: self._mark},
                stdin=subprocess.PIPE,  # never written to, but open: some programs end when it does
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise ProgramError(f"program not found: {command[0]}") from None
        except OSError as error:
            raise ProgramError(f"{command[0]}: cannot be started: {error.strerror or error}") from None
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end(quiet_s=ABANDONED_QUIET_S if self.was_told_to_end else END_QUIET_S)

    @property
    def exit_code(self) -> int | None:
        """None while it runs; below 0 for a signal."""
        return self._process.poll()

    @property
    def failed(self) -> bool:
        """True if it has ended by itself with an error."""
        return not self.was_told_to_end and self.exit_code not in (None, 0)

    def interrupt(self) -> None:
        """Ask it to end, as a container's runtime does: SIGTERM for the whole process group."""
        self.was_told_to_end = True
        self._signal(signal.SIGTERM)

    async def end(self, quiet_s: float = END_QUIET_S) -> None:
        """Ask it to end and wait; kill what has not ended after ``quiet_s`` seconds."""
        if self.exit_code is None:
            if not self.was_told_to_end:
                self.interrupt()
            await until(lambda: self.exit_code is not None, lambda: None, quiet_s)
        self._signal(signal.SIGKILL)  # also what it left behind in its group
        kill_marked(self._mark)
        await until(lambda: self.exit_code is not None, lambda: None)
        if await until(lambda: not self._reader.is_alive(), lambda: None, LAST_WORDS_S):
            with self._process:  # its end closes the pipes
                pass

    def said(self, lines: int = 10) -> str:
        """Its last lines."""
        return "\n".join(list(self.last_lines)[-lines:])

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _read(self) -> None:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline(LINE_BYTES):
            self.last_lines.append(line.decode(errors="replace").rstrip())


def kill_marked(mark: str) -> None:
    """Kill the processes with this mark in their environment: those that left the group. Linux alone shows them."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)


def filled_in(command: Sequence[str], values: dict[str, str]) -> list[str]:
    """A command with its placeholders filled in.

    >>> filled_in(["./worker", "--brokers={bootstrap}"], {"bootstrap": "127.0.0.1:9092"})
    ['./worker', '--brokers=127.0.0.1:9092']
    """
    pattern = re.compile("|".join(re.escape("{" + name + "}") for name in values))
    return [pattern.sub(lambda found: values[found[0][1:-1]], word) for word in command]
