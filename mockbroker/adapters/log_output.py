"""Writes log lines to standard error without delaying the cluster, one line for each cause.

Lines for a pipe that is full are counted instead of written. Of the lines that one statement logs, one is written, and
every ``COUNT_S`` the number of the others. Control characters from the wire are escaped, and lines of a traceback are
indented, so that no text can look like another line.
"""

from __future__ import annotations

import logging
import os
import re
import select
import time
from contextlib import suppress

from kafka_rack.printable import printable, printable_lines

MAX_LINE_CHARACTERS = 4096
MAX_CAUSES = 1000
COUNT_S = 10.0
WRITE_BYTES = 4096
"""PIPE_BUF of Linux: a pipe that is ready for writing takes so many bytes at once."""
PLACEHOLDER = re.compile(r"%[-#0 +]*+[\d.]*+[a-z]")
"""The part of a line's text that differs between lines with the same cause."""
Cause = tuple[str, int, str]


class LogOutput(logging.Handler):
    """Writes log records to a file descriptor.

    Args:
        fd: it stays open.
        count_s: the seconds between counts of lines with the same cause, at the next line after them.
    """

    def __init__(self, fd: int, *, count_s: float = COUNT_S) -> None:
        super().__init__(logging.WARNING)
        self.fd, self.count_s = fd, count_s
        self._held_back: dict[Cause, int] = {}
        self._count_at = time.monotonic() + count_s
        self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it if one of its cause was written lately. Never waits for the reader."""
        if time.monotonic() >= self._count_at:
            self.write_counts()
        cause = cause_of(record)
        if cause in self._held_back:
            self._held_back[cause] += 1
            return
        if len(self._held_back) < MAX_CAUSES:
            self._held_back[cause] = 0
        self._write(line_of(record))

    def close(self) -> None:
        """Write the last counts."""
        self.write_counts()
        super().close()

    def write_counts(self) -> None:
        """Write the numbers of lines held back; a cause without any is forgotten, so that its next line is written."""
        self._count_at = time.monotonic() + self.count_s
        counted = {cause: count for cause, count in self._held_back.items() if count}
        self._held_back = dict.fromkeys(counted, 0)
        for (_, _, text), count in counted.items():
            times = "once" if count == 1 else f"{count} times"
            self._write(f"{times} more: {printable(PLACEHOLDER.sub('...', text))}\n".encode(errors="backslashreplace"))

    def _write(self, data: bytes) -> None:
        if self._left_out and self._is_ready():
            data = f"{self._left_out} log lines were left out: the lines before were not read in time\n".encode() + data
            self._left_out = 0
        with suppress(OSError):  # the reader has gone
            for at in range(0, len(data), WRITE_BYTES):
                if not self._is_ready():
                    self._left_out += 1
                    return
                os.write(self.fd, data[at : at + WRITE_BYTES])

    def _is_ready(self) -> bool:
        """True if a write does not wait."""
        if not hasattr(select, "poll"):  # Windows
            return True
        poll = select.poll()
        poll.register(self.fd, select.POLLOUT)
        return bool(poll.poll(0))


def cause_of(record: logging.LogRecord) -> Cause:
    """The statement that logged a line, by its text; asyncio's texts have more than one line."""
    text = record.msg if isinstance(record.msg, str) else str(record.msg)
    return record.name, record.levelno, text.partition("\n")[0][:200]


def line_of(record: logging.LogRecord) -> bytes:
    """A record's text on one line, and below it, indented, its exception."""
    text = shortened(printable(record.getMessage()))
    if record.exc_info and record.exc_info[0] is not None:
        raised = logging.Formatter().formatException(record.exc_info)
        text += "".join(f"\n    {shortened(line)}" for line in printable_lines(raised).splitlines())
    return f"{text}\n".encode(errors="backslashreplace")


def shortened(text: str) -> str:
    return text if len(text) <= MAX_LINE_CHARACTERS else f"{text[:MAX_LINE_CHARACTERS]}..."
