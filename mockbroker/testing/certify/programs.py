"""The program under test as processes, one a rack. What it started ends with it, on Linux in other sessions too."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from mockbroker.testing.clients.process import ChildProcess, until

MARK = "KAFKA_RACK_CERTIFY_PROCESS"
END_QUIET_S = 10.0
"""How long a process may take to end after SIGTERM before it is killed."""
ABANDONED_QUIET_S = 1.0
"""The same where certify itself is given up, as by Ctrl-C."""


class ProgramError(Exception):
    """The program cannot be started, or has ended before it did anything; the text says what it said."""


class WorkerProcess(ChildProcess):
    """The program in one rack. Raises ProgramError: it cannot be started."""

    def __init__(self, rack: str, command: Sequence[str], environment: dict[str, str]) -> None:
        self.rack = rack
        self.was_told_to_end = False
        self._mark = uuid4().hex
        try:
            super().__init__(command, {**environment, MARK: self._mark})
        except OSError as error:
            raise ProgramError(f"{command[0]}: cannot be started: {error.strerror or error}") from None

    @property
    def failed(self) -> bool:
        """True if it has ended by itself with an error."""
        return not self.was_told_to_end and self.exit_code not in (None, 0)

    async def end(self, quiet_s: float = END_QUIET_S) -> None:
        """Ask it to end, as a container's runtime does, and wait; kill what has not ended after ``quiet_s`` seconds.

        SIGTERM and SIGKILL are for the whole process group.
        """
        if self.exit_code is None:
            self.was_told_to_end = True
            self._signal(signal.SIGTERM)
            await until(lambda: self.exit_code is not None, lambda: None, quiet_s)
        self._signal(signal.SIGKILL)  # also what it left behind in its group
        kill_marked(self._mark)
        await self.ended()

    def said(self, lines: int = 10) -> str:
        """Its last lines."""
        return "\n".join(list(self.last_lines)[-lines:])

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


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
