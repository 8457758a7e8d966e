"""The program under test as processes, one a rack, each in a group of its own so that all it starts ends with it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

LAST_LINES = 40
LINE_BYTES = 1 << 16
END_QUIET_S = 10.0
"""How long a process may take to end after SIGTERM before it is killed."""
ABANDONED_QUIET_S = 1.0
"""The same where certify itself is given up, as by Ctrl-C."""


class ProgramError(Exception):
    """The program cannot be started, or has ended before it did anything; the text says what it said."""


class WorkerProcess:
    """One process. ``last_lines`` is the end of what it wrote, standard output and standard error together."""

    def __init__(self, rack: str, command: Sequence[str], environment: dict[str, str]) -> None:
        self.rack, self.command, self.environment = rack, list(command), environment
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self.was_told_to_end = False
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        """Start it. Raises ProgramError."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                env={**os.environ, **self.environment},
                stdin=asyncio.subprocess.PIPE,  # never written to, but open: some programs end when it does
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise ProgramError(f"{self.command[0]}: expected a program behind --, found none of this name") from None
        except OSError as error:
            raise ProgramError(f"{self.command[0]}: cannot be started: {error.strerror or error}") from None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._readers = [
            asyncio.create_task(self._read(stream)) for stream in (self._process.stdout, self._process.stderr)
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end(quiet_s=ABANDONED_QUIET_S if self.was_told_to_end else END_QUIET_S)

    @property
    def exit_code(self) -> int | None:
        """None while it runs; below 0 for a signal."""
        return None if self._process is None else self._process.returncode

    @property
    def failed(self) -> bool:
        """Whether it has ended by itself and not well."""
        return not self.was_told_to_end and self.exit_code not in (None, 0)

    def interrupt(self) -> None:
        """Ask it to end, as a container's runtime does: SIGTERM for the whole process group."""
        self.was_told_to_end = True
        self._signal(signal.SIGTERM)

    async def end(self, quiet_s: float = END_QUIET_S) -> None:
        """Ask it to end and wait; kill what has not ended after ``quiet_s`` seconds."""
        if self._process is None:
            return
        if self._process.returncode is None:
            if not self.was_told_to_end:
                self.interrupt()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), quiet_s)
        self._signal(signal.SIGKILL)  # also what it left behind in its group
        await self._process.wait()
        for reader in self._readers:  # a grandchild that left the group may hold the pipes open
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)

    def said(self, lines: int = 10) -> str:
        """Its last lines."""
        return "\n".join(list(self.last_lines)[-lines:])

    def _signal(self, number: int) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read(self, stream: asyncio.StreamReader) -> None:
        line = b""
        while data := await stream.read(LINE_BYTES):
            *whole, line = (line + data).split(b"\n")
            line = line[-LINE_BYTES:]
            self.last_lines.extend(one.decode(errors="replace").rstrip() for one in whole)
        if line:
            self.last_lines.append(line.decode(errors="replace"))


def filled_in(command: Sequence[str], values: dict[str, str]) -> list[str]:
    """A command with its placeholders filled in.

    >>> filled_in(["./worker", "--brokers={bootstrap}"], {"bootstrap": "127.0.0.1:9092"})
    ['./worker', '--brokers=127.0.0.1:9092']
    """
    pattern = re.compile("|".join(re.escape("{" + name + "}") for name in values))
    return [pattern.sub(lambda found: values[found[0][1:-1]], word) for word in command]
