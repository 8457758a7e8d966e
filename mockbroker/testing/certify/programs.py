"""The program under test as processes, one a rack. What it started ends with it, on Linux in other sessions too."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self
from uuid import uuid4

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
    """One process. ``last_lines`` is the end of what it wrote, standard output and standard error together."""

    def __init__(self, rack: str, command: Sequence[str], environment: dict[str, str]) -> None:
        self.rack, self.command, self.environment = rack, list(command), environment
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self.was_told_to_end = False
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._output: asyncio.ReadTransport | None = None
        self._stdin = -1
        self._mark = f"KAFKA_RACK_CERTIFY_PROCESS={uuid4()}"

    async def __aenter__(self) -> Self:
        """Start it. Raises ProgramError."""
        # Pipes of our own: asyncio waits for its own ones until all that hold them have ended.
        reading, writing = os.pipe()
        stdin, self._stdin = os.pipe()  # never written to, but open: some programs end when it does
        name, _, value = self._mark.partition("=")
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                env={**os.environ, **self.environment, name: value},
                stdin=stdin,
                stdout=writing,
                stderr=writing,
                start_new_session=True,
            )
        except OSError as error:
            os.close(reading)
            os.close(self._stdin)
            if isinstance(error, FileNotFoundError):
                raise ProgramError(f"program not found: {self.command[0]}") from None
            raise ProgramError(f"{self.command[0]}: cannot be started: {error.strerror or error}") from None
        finally:
            os.close(stdin)
            os.close(writing)
        stream = asyncio.StreamReader()
        self._output, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(reading, "rb", buffering=0)
        )
        self._reader = asyncio.create_task(self._read(stream))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end(quiet_s=ABANDONED_QUIET_S if self.was_told_to_end else END_QUIET_S)

    @property
    def exit_code(self) -> int | None:
        """None while it runs; below 0 for a signal."""
        return None if self._process is None else self._process.returncode

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
        if self._process is None:
            return
        if self._process.returncode is None:
            if not self.was_told_to_end:
                self.interrupt()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), quiet_s)
        self._signal(signal.SIGKILL)  # also what it left behind in its group
        kill_marked(self._mark)
        await self._process.wait()
        if self._reader is not None and self._output is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._reader, LAST_WORDS_S)
            self._output.close()
            self._output = None
            os.close(self._stdin)

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


def kill_marked(mark: str) -> None:
    """Kill the processes that have this in their environment: those that left the group. Linux alone shows them."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if mark.encode() in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)


def filled_in(command: Sequence[str], values: dict[str, str]) -> list[str]:
    """A command with its placeholders filled in.

    >>> filled_in(["./worker", "--brokers={bootstrap}"], {"bootstrap": "127.0.0.1:9092"})
    ['./worker', '--brokers=127.0.0.1:9092']
    """
    pattern = re.compile("|".join(re.escape("{" + name + "}") for name in values))
    return [pattern.sub(lambda found: values[found[0][1:-1]], word) for word in command]
